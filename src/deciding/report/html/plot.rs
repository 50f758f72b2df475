//! Curves on logarithmic axes, as SVG.

use maud::{Markup, html};

use super::palette::{Look, Mark};
use super::picture::{PicturePart, picture_file};
use super::scale::{Quantity, Scale};

const WIDTH: f64 = 560.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 292.0;
/// The distance from the axis to the first line of the legend.
const BELOW: f64 = 56.0;
const LINE: f64 = 19.0;
/// The most names in a line of the legend.
const NAMES_IN_A_LINE: usize = 2;
/// The most characters of a name if there are two in a line, and if there is one; the table below has whole names.
const LONGEST_NAMES: [usize; 2] = [36, 72];

/// A measured or interpolated value.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    /// The ends of the interval of `y`.
    pub(super) interval: Option<[f64; 2]>,
    /// Whether the mark is hollow.
    pub(super) is_hollow: bool,
    /// Whether the mark has a ring.
    pub(super) is_chosen: bool,
}

impl Point {
    /// A value without an interval.
    pub(super) fn without_interval(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            interval: None,
            is_hollow: false,
            is_chosen: false,
        }
    }
}

/// Points of one kind, by ascending `x`.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) look: Look,
    pub(super) points: Vec<Point>,
    /// The model's predictions, drawn dashed.
    pub(super) expected: Vec<(f64, f64)>,
    /// The place of a vertical line, in the units of `x`.
    pub(super) vertical: Option<f64>,
}

/// The notes that explain the rings, bars, hollow marks and dashed lines in figures of times.
pub(super) fn notes_on_times(curves: &[Curve]) -> Vec<&'static str> {
    let any = |is: fn(&Point) -> bool| curves.iter().flat_map(|curve| &curve.points).any(is);
    let chosen = any(|point| point.is_chosen).then_some("ring: the table's choice");
    let bars = any(|point| point.interval.is_some());
    let hollow = any(|point| point.is_hollow);
    let dashed = curves.iter().any(|curve| curve.expected.len() > 1);
    let notes = [
        chosen,
        bars.then_some("bars: intervals of medians over launches"),
        hollow.then_some("hollow: interpolated between the measured sizes above and below"),
        dashed.then_some("dashed: the model's predictions for the same candidates"),
    ];
    notes.into_iter().flatten().collect()
}

/// An axis of a picture of curves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    pub(super) quantity: Quantity,
    pub(super) title: &'static str,
}

/// A picture of curves.
#[derive(Clone, Debug)]
pub(super) struct Plot {
    /// Unique on the page.
    pub(super) id: String,
    pub(super) title: String,
    /// The text for screen readers.
    pub(super) description: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) curves: Vec<Curve>,
    /// Explanations of marks and lines.
    pub(super) notes: Vec<&'static str>,
    /// The place of a horizontal line.
    pub(super) reference: Option<f64>,
}

impl Plot {
    /// Draws the plot; `None` if no point is positive.
    pub(super) fn draw(&self) -> Option<Markup> {
        let (height, content) = self.draw_content()?;
        let (title, description) = (format!("{}-title", self.id), format!("{}-desc", self.id));
        Some(html! {
            svg role="img" viewBox=(format!("0 0 {WIDTH} {height}"))
                aria-labelledby=(format!("{title} {description}")) {
                title id=(title) { (self.title) }
                desc id=(description) { (self.description) }
                (content)
            }
        })
    }

    /// The height and the contents of the plot.
    fn draw_content(&self) -> Option<(f64, Markup)> {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let expected = || self.curves.iter().flat_map(|curve| &curve.expected);
        let verticals = self.curves.iter().filter_map(|curve| curve.vertical);
        let xs = points().map(|point| point.x);
        let xs = xs.chain(expected().map(|point| point.0)).chain(verticals);
        let ys = points().flat_map(|point| {
            let interval = point.interval.into_iter().flatten();
            interval.chain([point.y])
        });
        let ys = ys
            .chain(expected().map(|point| point.1))
            .chain(self.reference);
        let x = Scale::new(self.x.quantity, xs, [LEFT, RIGHT])?;
        let y = Scale::new(self.y.quantity, ys, [BOTTOM, TOP])?;
        let lines = self.curves.len().div_ceil(self.names_in_a_line()) + self.notes.len();
        let height = BOTTOM + BELOW + LINE * lines as f64;
        let content = html! {
            (self.draw_axes(&x, &y))
            @for curve in &self.curves { (self.draw_curve(curve, &x, &y)) }
            (self.draw_legend())
        };
        Some((height, content))
    }

    fn draw_axes(&self, x: &Scale, y: &Scale) -> Markup {
        html! {
            rect.frame x=(px(LEFT)) y=(px(TOP)) width=(px(RIGHT - LEFT)) height=(px(BOTTOM - TOP)) {}
            @for (at, name) in x.ticks() {
                line.grid x1=(px(at)) y1=(px(TOP)) x2=(px(at)) y2=(px(BOTTOM)) {}
                text.tick x=(px(at)) y=(px(BOTTOM + 16.0)) text-anchor="middle" { (name) }
            }
            @for (at, name) in y.ticks() {
                line.grid x1=(px(LEFT)) y1=(px(at)) x2=(px(RIGHT)) y2=(px(at)) {}
                text.tick x=(px(LEFT - 7.0)) y=(px(at + 4.0)) text-anchor="end" { (name) }
            }
            @if let Some(at) = self.reference.map(|value| y.pixel_of(value)) {
                line.reference x1=(px(LEFT)) y1=(px(at)) x2=(px(RIGHT)) y2=(px(at)) {}
            }
            text.axis x=(px((LEFT + RIGHT) / 2.0)) y=(px(BOTTOM + 35.0)) text-anchor="middle" { (self.x.title) }
            text.axis x="0" y="0" text-anchor="middle"
                transform=(format!("translate(13 {}) rotate(-90)", px((TOP + BOTTOM) / 2.0))) { (self.y.title) }
        }
    }

    fn draw_curve(&self, curve: &Curve, x: &Scale, y: &Scale) -> Markup {
        let colour = curve.look.colour;
        let path = |points: &mut dyn Iterator<Item = (f64, f64)>| -> String {
            let places = points
                .map(|(at, value)| format!("{},{}", px(x.pixel_of(at)), px(y.pixel_of(value))));
            places.collect::<Vec<_>>().join(" ")
        };
        let measured = path(&mut curve.points.iter().map(|point| (point.x, point.y)));
        let expected = path(&mut curve.expected.iter().copied());
        html! {
            g stroke=(colour) {
                @if let Some(at) = curve.vertical.map(|value| x.pixel_of(value)) {
                    line.lemma x1=(px(at)) y1=(px(TOP)) x2=(px(at)) y2=(px(BOTTOM)) {}
                }
                @if curve.expected.len() > 1 { polyline.expected points=(expected) {} }
                polyline.curve points=(measured) {}
                @for point in &curve.points {
                    (self.draw_point(curve, point, x.pixel_of(point.x), &|value| y.pixel_of(value)))
                }
            }
        }
    }

    fn draw_point(&self, curve: &Curve, point: &Point, x: f64, y: &dyn Fn(f64) -> f64) -> Markup {
        let at = y(point.y);
        let interval = point.interval.map(|ends| ends.map(y));
        let range = point.interval.map(|[low, high]| {
            let [low, high] = [low, high].map(|end| self.y.quantity.format(end));
            format!(" ({low} .. {high})")
        });
        let title = format!(
            "{} at {}: {}{}",
            curve.name,
            self.x.quantity.format(point.x),
            self.y.quantity.format(point.y),
            range.unwrap_or_default()
        );
        html! {
            g {
                title { (title) }
                @if let Some([low, high]) = interval {
                    path.interval d=(format!(
                        "M{0} {1}h6m-3 0V{2}m-3 0h6", px(x - 3.0), px(low), px(high)
                    )) {}
                }
                @if point.is_chosen { circle.chosen cx=(px(x)) cy=(px(at)) r="7.5" {} }
                path.mark.hollow[point.is_hollow] d=(mark_path(curve.look.mark, x, at)) fill=(curve.look.colour) {}
            }
        }
    }

    /// The names in a line of the legend: one if a name needs the whole line.
    fn names_in_a_line(&self) -> usize {
        let is_long = |curve: &Curve| curve.name.chars().count() > LONGEST_NAMES[0];
        if self.curves.iter().any(is_long) {
            1
        } else {
            NAMES_IN_A_LINE
        }
    }

    fn draw_legend(&self) -> Markup {
        let in_a_line = self.names_in_a_line();
        let column = (RIGHT - 16.0) / in_a_line as f64;
        let place = |index: usize| {
            let line = (index / in_a_line) as f64;
            let x = 16.0 + column * (index % in_a_line) as f64;
            (x, BOTTOM + BELOW + LINE * line)
        };
        let names = self.curves.len().div_ceil(in_a_line);
        html! {
            @for (index, curve) in self.curves.iter().enumerate() {
                @let (x, y) = place(index);
                @let colour = curve.look.colour;
                line.curve stroke=(colour) x1=(px(x)) y1=(px(y)) x2=(px(x + 28.0)) y2=(px(y)) {}
                path.mark stroke=(colour) fill=(colour) d=(mark_path(curve.look.mark, x + 14.0, y)) {}
                text.name x=(px(x + 35.0)) y=(px(y + 4.0)) { (shorten_name(&curve.name)) }
            }
            @for (index, note) in self.notes.iter().enumerate() {
                text.note x="16" y=(px(BOTTOM + BELOW + 4.0 + LINE * (names + index) as f64)) { (note) }
            }
        }
    }
}

/// A picture of times against bytes or ranks on logarithmic axes, as an SVG file; `None` without points. Each curve has
/// a name and positive points by ascending `x`.
pub fn render_times(
    title: &str,
    horizontal: Quantity,
    curves: impl IntoIterator<Item = (String, Vec<(f64, f64)>)>,
) -> Option<String> {
    let curves = curves.into_iter().enumerate();
    let curve = |(index, (name, points)): (usize, (String, Vec<(f64, f64)>))| Curve {
        name,
        look: Look::numbered(index),
        points: points
            .into_iter()
            .map(|(x, y)| Point::without_interval(x, y))
            .collect(),
        expected: Vec::new(),
        vertical: None,
    };
    let plot = Plot {
        id: String::new(),
        title: title.to_owned(),
        description: String::new(),
        x: Axis {
            quantity: horizontal,
            title: match horizontal {
                Quantity::Ranks => "ranks",
                _ => "bytes",
            },
        },
        y: Axis {
            quantity: Quantity::Seconds,
            title: "time",
        },
        curves: curves.map(curve).collect(),
        notes: Vec::new(),
        reference: None,
    };
    let (height, content) = plot.draw_content()?;
    let part = PicturePart {
        heading: title.to_owned(),
        extent: [WIDTH, height],
        content,
    };
    Some(picture_file(title, "", &[part]))
}

/// A coordinate, rounded to a tenth of a pixel.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A name for the legend. A very long one is shortened in its middle, since its end has its parameters.
pub(super) fn shorten_name(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    let most = LONGEST_NAMES[1];
    if characters.len() <= most {
        return name.to_owned();
    }
    let (start, end) = (most / 2, characters.len() - (most - most / 2 - 1));
    let shown = characters[..start].iter().chain(&['…']);
    shown.chain(&characters[end..]).collect()
}

/// The path of a mark around a point.
pub(super) fn mark_path(mark: Mark, x: f64, y: f64) -> String {
    let start = |dx: f64, dy: f64| format!("M{} {}", px(x + dx), px(y + dy));
    match mark {
        Mark::Circle => start(-3.5, 0.0) + "a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z",
        Mark::Square => start(-3.3, -3.3) + "h6.6v6.6h-6.6z",
        Mark::Triangle => start(0.0, -4.4) + "l4.4 7.6h-8.8z",
        Mark::Inverted => start(0.0, 4.4) + "l4.4 -7.6h-8.8z",
        Mark::Diamond => start(0.0, -4.8) + "l4.3 4.8l-4.3 4.8l-4.3 -4.8z",
        Mark::Cross => start(-1.3, -4.2) + "h2.6v2.9h2.9v2.6h-2.9v2.9h-2.6v-2.9h-2.9v-2.6h2.9z",
        Mark::Hexagon => start(-2.2, -3.9) + "h4.4l2.2 3.9l-2.2 3.9h-4.4l-2.2 -3.9z",
    }
}
