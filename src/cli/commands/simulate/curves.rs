//! A picture of times against bytes or ranks.

use std::collections::BTreeMap;
use std::fmt::Write;

use vocabulary::units::{format_bytes, format_seconds};

use super::SimulateError;
use super::point::Call;
use super::rows::Row;

const LEFT: f64 = 90.0;
const TOP: f64 = 60.0;
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 420.0;
const NAMES: f64 = 250.0;
pub(super) const MARGIN: f64 = 20.0;
const LINE: f64 = 17.0;

const COLOURS: [&str; 10] = [
    "#1d6fb8", "#c2410c", "#15803d", "#7c3aed", "#be185d", "#a16207", "#0e7490", "#57534e",
    "#4d7c0f", "#b91c1c",
];

/// The quantity on the horizontal axis.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Axis {
    Bytes,
    Ranks,
}

impl Axis {
    fn value(self, row: &Row) -> f64 {
        match self {
            Self::Bytes => row.bytes as f64,
            Self::Ranks => f64::from(row.ranks),
        }
    }

    fn label(self, value: f64) -> String {
        match self {
            Self::Bytes => format_bytes(value as u64),
            Self::Ranks => (value as u64).to_string(),
        }
    }
}

/// Draws a curve for each algorithm on logarithmic axes. If there are several sizes, the horizontal axis has sizes, and
/// each communicator has its own curves.
pub(super) fn render(call: &Call<'_>, rows: &[Row]) -> Result<String, SimulateError> {
    let varies = |axis: Axis| {
        let mut values = rows.iter().map(|row| axis.value(row));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    let (axis, is_several) = match (varies(Axis::Bytes), varies(Axis::Ranks)) {
        (true, several) => (Axis::Bytes, several),
        (false, true) => (Axis::Ranks, false),
        (false, false) => return Err(SimulateError::NoAxis),
    };
    let mut curves: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    // Logarithmic axes have no zero.
    for row in rows
        .iter()
        .filter(|row| row.seconds > 0.0 && axis.value(row) > 0.0)
    {
        let name = match is_several {
            true => format!("{} on {} ranks", row.algorithm.name(), row.ranks),
            false => row.algorithm.name(),
        };
        let curve = curves.entry(name).or_default();
        curve.push((axis.value(row), row.seconds));
    }
    let what = match axis {
        Axis::Bytes if is_several => "simulated time against bytes".to_owned(),
        Axis::Bytes => format!("simulated time against bytes on {} ranks", rows[0].ranks),
        Axis::Ranks => format!(
            "simulated time of {} bytes against ranks",
            format_bytes(rows[0].bytes)
        ),
    };
    let headline = format!(
        "{what}, {}, placement {}",
        call.machine.name, call.placement
    );
    Ok(draw(axis, &curves, &escaped(&headline)))
}

fn draw(axis: Axis, curves: &BTreeMap<String, Vec<(f64, f64)>>, headline: &str) -> String {
    let points = || curves.values().flatten();
    let range = |of: fn(&(f64, f64)) -> f64| {
        let low = points().map(of).fold(f64::INFINITY, f64::min);
        let high = points().map(of).fold(0.0, f64::max);
        (low.min(high), high.max(low * 1.01))
    };
    let (xs, ys) = (range(|point| point.0), range(|point| point.1));
    let along = |value: f64, (low, high): (f64, f64)| (value / low).ln() / (high / low).ln();
    let x = |value| LEFT + WIDTH * along(value, xs);
    let y = |value| TOP + HEIGHT * (1.0 - along(value, ys));
    let below = HEIGHT.max(LINE * curves.len() as f64);
    let (width, height) = (LEFT + WIDTH + NAMES + MARGIN, TOP + below + 50.0);
    let curve = ".curve { fill: none; stroke-width: 1.8 }\n";
    let mut svg = head([width, height], headline, curve);
    let (bottom, right) = (TOP + HEIGHT, LEFT + WIDTH);
    for value in powers(xs, axis == Axis::Bytes) {
        let x = x(value);
        let _ = writeln!(
            svg,
            r#"<line class="grid" x1="{x:.1}" y1="{TOP}" x2="{x:.1}" y2="{bottom}"/><text class="quiet" x="{x:.1}" y="{}" text-anchor="middle">{}</text>"#,
            bottom + 18.0,
            axis.label(value)
        );
    }
    for value in powers(ys, false) {
        let y = y(value);
        let _ = writeln!(
            svg,
            r#"<line class="grid" x1="{LEFT}" y1="{y:.1}" x2="{right}" y2="{y:.1}"/><text class="quiet" x="{}" y="{:.1}" text-anchor="end">{}</text>"#,
            LEFT - 8.0,
            y + 4.0,
            format_seconds(value)
        );
    }
    // The legend has the order in which the curves end, from slow to fast.
    let mut order: Vec<_> = curves.iter().collect();
    let last = |curve: &[(f64, f64)]| curve.last().map_or(0.0, |point| point.1);
    order.sort_by(|a, b| last(b.1).total_cmp(&last(a.1)));
    for (index, (name, curve)) in order.into_iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        // Curves with a repeated colour are dashed.
        let dash = match index / COLOURS.len() {
            0 => String::new(),
            again => format!(" stroke-dasharray=\"{} 3\"", 9 / again.min(4)),
        };
        let path: Vec<_> = curve
            .iter()
            .map(|point| format!("{:.1},{:.1}", x(point.0), y(point.1)))
            .collect();
        let line = TOP + LINE * (index as f64 + 0.5);
        let _ = writeln!(
            svg,
            "<polyline class=\"curve\" points=\"{}\" stroke=\"{colour}\"{dash}><title>{name}</title></polyline>\n\
             <line class=\"curve\" x1=\"{}\" y1=\"{line}\" x2=\"{}\" y2=\"{line}\" stroke=\"{colour}\"{dash}/>\
             <text x=\"{}\" y=\"{}\">{name}</text>",
            path.join(" "),
            right + 14.0,
            right + 40.0,
            right + 46.0,
            line + 4.0
        );
    }
    svg + "</svg>\n"
}

/// The beginning of a picture with its headline, and `styles` in addition to the common ones.
pub(super) fn head([width, height]: [f64; 2], headline: &str, styles: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{headline}</title>\n<style>\n\
         text {{ font: 12px system-ui, \"DejaVu Sans\", sans-serif; fill: #1e293b }}\n\
         .headline {{ font-size: 15px; font-weight: 600 }}\n.quiet {{ fill: #64748b }}\n\
         .grid {{ stroke: #e2e8f0 }}\n{styles}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text class=\"headline\" x=\"{MARGIN}\" y=\"32\">{headline}</text>\n"
    )
}

/// Round numbers within a range, at constant ratios: powers of two for bytes, else of ten.
fn powers((low, high): (f64, f64), is_binary: bool) -> Vec<f64> {
    let base: f64 = if is_binary { 2.0 } else { 10.0 };
    let [first, last] = [low.log(base).ceil(), high.log(base).floor()];
    let step = ((last - first) / 8.0).ceil().max(1.0);
    let count = ((last - first) / step).floor().max(-1.0) + 1.0;
    let inside = (0..count as u32).map(|index| base.powf(first + step * f64::from(index)));
    let inside: Vec<f64> = inside
        .map(|value| if value >= 1.0 { value.round() } else { value })
        .collect();
    match inside.len() {
        0 | 1 => vec![low, high],
        _ => inside,
    }
}

/// About `count` round numbers from `low` to `high`.
pub(super) fn ticks(low: f64, high: f64, count: u32) -> Vec<f64> {
    let rough = (high - low) / f64::from(count);
    if rough <= 0.0 {
        return vec![low];
    }
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let step = steps
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    let ticks = (high - low) / step;
    (0..=ticks as u32)
        .map(|index| low + step * f64::from(index))
        .collect()
}

/// The text with XML's special characters escaped, since names of machines may contain them.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
