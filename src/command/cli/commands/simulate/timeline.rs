//! A picture of every rank's activity over time.

use std::collections::HashSet;
use std::fmt::Write;

use model::{Event, Labour, Level};
use vocabulary::units::{format_bytes, format_seconds};

use super::SimulateError;
use super::point::TracedSimulation;
use super::trace::labour_verb;

/// The most ranks in a picture.
const MOST_RANKS: u32 = 96;
const MOST_EVENTS: usize = 4000;

const MARGIN: f64 = 20.0;
const LEFT: f64 = 90.0;
const TOP: f64 = 70.0;
const WIDTH: f64 = 1000.0;
/// The height of a rank's row: sending above, receiving in the middle, work below.
const ROW: f64 = 34.0;
const LANE: f64 = 9.0;

const STYLES: &str = "\
.row { stroke: #cbd5e1 }
.round { stroke: #94a3b8 }
.send { fill: #1d6fb8 }
.recv { fill: #15803d }
.combine { fill: #c2410c }
.copy { fill: #a16207 }
.near { opacity: 0.55 }
.arrow { stroke: #94a3b8; stroke-width: 0.8 }
.critical { stroke: #be185d; stroke-width: 2 }
";

/// Draws a row for each rank, with bars for sending, receiving and work, lines from sender to receiver, and marks at
/// the ends of rounds. The bars of the critical path are framed.
pub(super) fn draw_timeline(traced: &TracedSimulation) -> Result<String, SimulateError> {
    let trace = &traced.trace;
    let ranks = traced.row.ranks;
    let events = trace.messages.len() + trace.work.len();
    if ranks > MOST_RANKS || events > MOST_EVENTS {
        return Err(SimulateError::TooLargeToDraw {
            what: traced.row.algorithm.name(),
            ranks,
            events,
        });
    }
    let picture = Picture {
        traced,
        scale: WIDTH / traced.simulation.seconds.max(f64::MIN_POSITIVE),
    };
    Ok(picture.draw())
}

struct Picture<'a> {
    traced: &'a TracedSimulation,
    /// Pixels per second.
    scale: f64,
}

impl Picture<'_> {
    fn time_to_x(&self, time: f64) -> f64 {
        LEFT + time * self.scale
    }

    fn draw(&self) -> String {
        let trace = &self.traced.trace;
        let row = &self.traced.row;
        let bottom = TOP + ROW * f64::from(row.ranks);
        let (width, height) = (LEFT + WIDTH + MARGIN, bottom + 60.0);
        let headline = format!(
            "{}, {} bytes: {}",
            schedule::text::schedule_headline(&self.traced.schedule),
            format_bytes(row.bytes),
            format_seconds(row.seconds)
        );
        let mut svg = svg_head([width, height], &headline);
        self.draw_grid(&mut svg, bottom);
        let critical: HashSet<Event> = {
            let path = trace.critical_path();
            path.into_iter().map(|segment| segment.event).collect()
        };
        for index in 0..trace.messages.len() {
            self.draw_message(&mut svg, index, critical.contains(&Event::Message(index)));
        }
        for index in 0..trace.work.len() {
            self.draw_work(&mut svg, index, critical.contains(&Event::Work(index)));
        }
        draw_legend(&mut svg, bottom + 40.0);
        svg + "</svg>\n"
    }

    fn draw_grid(&self, svg: &mut String, bottom: f64) {
        for time in axis_ticks(self.traced.simulation.seconds) {
            let x = self.time_to_x(time);
            let _ = writeln!(
                svg,
                r#"<line class="grid" x1="{x:.1}" y1="{TOP}" x2="{x:.1}" y2="{bottom}"/><text class="quiet" x="{x:.1}" y="{}" text-anchor="middle">{}</text>"#,
                TOP - 8.0,
                format_seconds(time)
            );
        }
        for (rank, rounds) in self.traced.trace.rounds.iter().enumerate() {
            let top = TOP + ROW * rank as f64;
            let middle = top + ROW / 2.0;
            let _ = writeln!(
                svg,
                r#"<line class="row" x1="{LEFT}" y1="{middle}" x2="{}" y2="{middle}"/><text x="{MARGIN}" y="{}">rank {rank}</text>"#,
                LEFT + WIDTH,
                middle + 4.0
            );
            for end in rounds {
                let x = self.time_to_x(*end);
                let _ = writeln!(
                    svg,
                    r#"<line class="round" x1="{x:.1}" y1="{}" x2="{x:.1}" y2="{}"/>"#,
                    top + 2.0,
                    top + ROW - 2.0
                );
            }
        }
    }

    fn draw_message(&self, svg: &mut String, index: usize, is_critical: bool) {
        let message = &self.traced.trace.messages[index];
        let title = format!(
            "{} sends {} bytes to {}: {} to {}",
            message.from,
            format_bytes(message.bytes),
            message.to,
            format_seconds(message.start),
            format_seconds(message.delivered)
        );
        let near = if message.level == Level::Node {
            " near"
        } else {
            ""
        };
        let lane = |rank: u32, lane: f64| TOP + ROW * f64::from(rank) + 3.0 + lane * (LANE + 1.0);
        let (from, to) = (lane(message.from, 0.0), lane(message.to, 1.0));
        let _ = writeln!(
            svg,
            r#"<line class="arrow" x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}"/>"#,
            self.time_to_x(message.start),
            from + LANE / 2.0,
            self.time_to_x(message.delivered),
            to + LANE / 2.0
        );
        let send = (message.start, message.freed);
        self.draw_bar(svg, &format!("send{near}"), send, from, is_critical, &title);
        let recv = (message.start, message.delivered);
        self.draw_bar(svg, &format!("recv{near}"), recv, to, is_critical, &title);
    }

    fn draw_work(&self, svg: &mut String, index: usize, is_critical: bool) {
        let work = &self.traced.trace.work[index];
        let class = match work.labour {
            Labour::Combine => "combine",
            Labour::Copy => "copy",
        };
        let title = format!(
            "{} {} {} bytes: {} to {}",
            work.rank,
            labour_verb(work.labour),
            format_bytes(work.bytes),
            format_seconds(work.start),
            format_seconds(work.end)
        );
        let y = TOP + ROW * f64::from(work.rank) + 3.0 + 2.0 * (LANE + 1.0);
        self.draw_bar(svg, class, (work.start, work.end), y, is_critical, &title);
    }

    fn draw_bar(
        &self,
        svg: &mut String,
        class: &str,
        (start, end): (f64, f64),
        y: f64,
        is_critical: bool,
        title: &str,
    ) {
        let (x, width) = (self.time_to_x(start), ((end - start) * self.scale).max(0.5));
        let critical = if is_critical { " critical" } else { "" };
        let _ = writeln!(
            svg,
            r#"<rect class="{class}{critical}" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{LANE}"><title>{title}</title></rect>"#
        );
    }
}

fn draw_legend(svg: &mut String, y: f64) {
    let mut x = MARGIN;
    for (class, words) in [
        ("send", "sends"),
        ("recv", "receives"),
        ("combine", "combines"),
        ("copy", "copies"),
        ("recv near", "paler: within a node"),
        ("recv critical", "framed: the critical path"),
    ] {
        let _ = writeln!(
            svg,
            r#"<rect class="{class}" x="{x}" y="{}" width="24" height="{LANE}"/><text class="quiet" x="{}" y="{y}">{words}</text>"#,
            y - LANE,
            x + 32.0
        );
        x += 60.0 + 7.0 * words.len() as f64;
    }
}

/// The beginning of a picture with its headline.
fn svg_head([width, height]: [f64; 2], headline: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{headline}</title>\n<style>\n\
         text {{ font: 12px system-ui, \"DejaVu Sans\", sans-serif; fill: #1e293b }}\n\
         .headline {{ font-size: 15px; font-weight: 600 }}\n.quiet {{ fill: #64748b }}\n\
         .grid {{ stroke: #e2e8f0 }}\n{STYLES}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text class=\"headline\" x=\"{MARGIN}\" y=\"32\">{headline}</text>\n"
    )
}

/// About eight round times from 0 to `end`.
fn axis_ticks(end: f64) -> Vec<f64> {
    let rough = end / 8.0;
    if rough <= 0.0 {
        return vec![0.0];
    }
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let step = steps.into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let ticks = 0..=(end / step) as u32;
    ticks.map(|index| step * f64::from(index)).collect()
}
