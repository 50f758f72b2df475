//! Schedules as pictures: ranks downwards, steps to the right, an arrow for each message.
//!
//! The picture is a self-contained SVG file with a title and a description for screen readers. All lengths are whole
//! pixels.

use std::fmt::Write;

use crate::timeline::{Message, Timeline, TooMuch, Work};
use crate::{Action, Rank, Schedule, Span, text};

mod geometry;
mod paint;

use geometry::Geometry;
use paint::{Paint, Paints};

/// The most messages, pieces of work, or ranks times steps that are drawn; more would not be readable.
pub const LIMIT: u64 = 4096;

/// Draws a schedule. With `only`, everything that does not concern that rank is faint.
///
/// A message is drawn in the step in which it is under way if each takes one step once both ends are ready. Empty
/// blocks are not moved, so the vector should be long enough.
///
/// # Errors
/// If more than [`LIMIT`] would have to be drawn.
pub fn render_svg(schedule: &Schedule, only: Option<Rank>) -> Result<String, TooMuch> {
    let timeline = Timeline::new(schedule, LIMIT)?;
    let headline = text::schedule_headline(schedule);
    let picture = Picture {
        schedule,
        geometry: Geometry::new(schedule.shape().ranks, &timeline, &headline),
        paints: Paints::new(&timeline),
        timeline,
        headline,
        only,
    };
    Ok(picture.draw())
}

/// The blocks of a span in its text form, without buffer and partition: `2..4`. `None` if the span is the whole
/// vector.
fn blocks_text(span: &Span) -> String {
    let text = span.to_string();
    let range = text.split_once(' ').map_or("", |(_, range)| range);
    let range = range.split_once('/').map_or(range, |(range, _)| range);
    range.to_owned()
}

struct Picture<'a> {
    schedule: &'a Schedule,
    timeline: Timeline,
    headline: String,
    geometry: Geometry,
    paints: Paints,
    only: Option<Rank>,
}

impl Picture<'_> {
    fn draw(&self) -> String {
        let mut svg = String::new();
        self.draw_frame(&mut svg);
        self.draw_grid(&mut svg);
        for message in &self.timeline.messages {
            self.draw_message(&mut svg, message);
        }
        // Above all arrows, which would otherwise cross them out.
        for message in &self.timeline.messages {
            self.draw_label(&mut svg, message);
        }
        let mut marks = Vec::new();
        for work in &self.timeline.work {
            let place = (work.rank, work.after);
            let before = marks.iter().filter(|known| **known == place).count();
            marks.push(place);
            self.draw_mark(&mut svg, work, before as u64);
        }
        self.draw_legend(&mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    fn draw_frame(&self, svg: &mut String) {
        let Geometry { width, height, .. } = self.geometry;
        let Timeline {
            steps, messages, ..
        } = &self.timeline;
        let messages = messages.len();
        let headline = &self.headline;
        let _ = write!(
            svg,
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-labelledby="title desc">
<title id="title">{headline}</title>
<desc id="desc">Ranks from top to bottom, steps from left to right. {messages} messages in {steps} steps, each an arrow from the line of its sender to that of its receiver. A message takes one step once both ends are ready.</desc>
<style>
text {{ font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #1e293b }}
.headline {{ font-size: 15px; font-weight: 600 }}
.quiet {{ fill: #64748b }}
.label {{ font-size: 11px; font-weight: 600; text-anchor: middle; paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round }}
.row {{ stroke: #cbd5e1; stroke-width: 1.5 }}
.column {{ fill: #f1f5f9 }}
.message {{ fill: none; stroke-linecap: round }}
.signal {{ stroke-dasharray: 2 5 }}
.faint {{ opacity: 0.15 }}
</style>
<defs>
"##
        );
        for paint in self.paints.all_paints() {
            // SVG needs arrowheads for every colour.
            let _ = writeln!(
                svg,
                r#"<marker id="{}" markerUnits="userSpaceOnUse" markerWidth="11" markerHeight="9" refX="10" refY="4.5" orient="auto"><path d="M0 0 11 4.5 0 9z" fill="{}"/></marker>"#,
                paint.id, paint.colour
            );
        }
        let _ = writeln!(
            svg,
            "</defs>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
             <text class=\"headline\" x=\"{}\" y=\"{}\">{headline}</text>",
            geometry::MARGIN,
            geometry::HEADLINE
        );
    }

    /// Bands behind the ranks, with a colour for each node, if there are several nodes with several ranks.
    fn draw_bands(&self, svg: &mut String) {
        let (geometry, nodes) = (&self.geometry, &self.schedule.shape().nodes);
        let several = if nodes.are_levels() { nodes.ranks() } else { 0 };
        let left = geometry::MARGIN / 2;
        let width = geometry.step_x(self.timeline.steps) + geometry::LEAD - left;
        for rank in 0..several {
            let (node, local) = nodes.place_of_rank(rank);
            let hue = 360 * u64::from(node) / u64::from(nodes.node_count());
            let _ = writeln!(
                svg,
                r#"<rect x="{left}" y="{}" width="{width}" height="{}" fill="hsl({hue}, 75%, 42%)" fill-opacity="0.12"><title>node {node}, local rank {local}</title></rect>"#,
                geometry.rank_y(rank) - geometry::ROW / 2,
                geometry::ROW
            );
        }
    }

    /// The lines of the ranks, and stripes for the steps.
    fn draw_grid(&self, svg: &mut String) {
        let geometry = &self.geometry;
        let shape = self.schedule.shape();
        for step in 1..=self.timeline.steps {
            let (left, right) = (geometry.step_x(step - 1), geometry.step_x(step));
            if step % 2 == 1 {
                let _ = writeln!(
                    svg,
                    r#"<rect class="column" x="{left}" y="{}" width="{}" height="{}"/>"#,
                    geometry::TOP,
                    right - left,
                    geometry.bottom() - geometry::TOP
                );
            }
            let _ = writeln!(
                svg,
                r#"<text class="quiet" x="{}" y="{}" text-anchor="middle">step {step}</text>"#,
                left.midpoint(right),
                geometry::TOP - 8
            );
        }
        self.draw_bands(svg);
        let is_rooted = self.schedule.algorithm().collective.is_rooted();
        for rank in 0..shape.ranks {
            let y = geometry.rank_y(rank);
            let root = if is_rooted && rank == shape.root {
                " (root)"
            } else {
                ""
            };
            let _ = writeln!(
                svg,
                r#"<line class="row" x1="{}" y1="{y}" x2="{}" y2="{y}"/><text x="{}" y="{}">rank {rank}{root}</text>"#,
                geometry.step_x(0) - geometry::LEAD,
                geometry.step_x(self.timeline.steps) + geometry::LEAD,
                geometry::MARGIN,
                y + 4
            );
        }
    }

    fn draw_message(&self, svg: &mut String, message: &Message) {
        let [start, end] = self.geometry.arrow_ends(message);
        let paint = self.paints.of_message(message);
        let mut class = String::from("message");
        if message.span.is_none() {
            class.push_str(" signal");
        }
        if self.is_faint(&[message.from, message.to]) {
            class.push_str(" faint");
        }
        let Message { step, from, to, .. } = message;
        let what = match &message.span {
            Some(span) => format!("sends {span} to"),
            None => "signals".to_owned(),
        };
        let _ = writeln!(
            svg,
            r#"<path class="{class}" d="M{} {} {} {}" stroke="{}" stroke-width="{}" marker-end="url(#{})"><title>step {step}: {from} {what} {to}</title></path>"#,
            start.0,
            start.1,
            end.0,
            end.1,
            paint.colour,
            self.paints.stroke_width(message),
            paint.id
        );
    }

    fn draw_label(&self, svg: &mut String, message: &Message) {
        let Some(span) = &message.span else { return };
        let text = blocks_text(span);
        if text.is_empty() || self.is_faint(&[message.from, message.to]) {
            return;
        }
        let fan = |of: fn(&Message) -> Rank| {
            let same = |other: &&Message| other.step == message.step && of(other) == of(message);
            self.timeline.messages.iter().filter(same).count()
        };
        // Arrows that start at one sender are far apart only near their heads.
        let near_head = fan(|other| other.from) > fan(|other| other.to);
        let (x, y) = self.geometry.label_position(message, &text, near_head);
        let colour = &self.paints.of_message(message).colour;
        let _ = writeln!(
            svg,
            r#"<text class="label" x="{x}" y="{y}" style="fill:{colour}" aria-hidden="true">{text}</text>"#
        );
    }

    /// A dot where a rank combines, a square where it copies; `before` is the number of marks that are already there.
    fn draw_mark(&self, svg: &mut String, work: &Work, before: u64) {
        let Work { after, rank, .. } = *work;
        let x = self.geometry.step_x(after) + before * 4;
        let y = self.geometry.rank_y(rank);
        let faint = if self.is_faint(&[rank]) {
            r#" class="faint""#
        } else {
            ""
        };
        let colour = &self.paints.of_work(work).colour;
        let action = work.action;
        let _ = writeln!(
            svg,
            "<g{faint}><title>rank {rank}: {action}</title>{}</g>",
            match action {
                Action::Copy { .. } => square_mark(x, y, colour),
                _ => dot_mark(x, y, colour),
            }
        );
    }

    fn draw_legend(&self, svg: &mut String) {
        let Paint { id, colour } = self.paints.neutral();
        let arrow = |class, x, y| {
            format!(
                r#"<path class="message{class}" d="M{x} {y}h24" stroke="{colour}" stroke-width="2" marker-end="url(#{id})"/>"#
            )
        };
        let mut entry = |x, line, symbol: &dyn Fn(u64, u64) -> String, words: &str| {
            let y = self.geometry.legend_y(line);
            let _ = writeln!(
                svg,
                r#"{}<text class="quiet" x="{}" y="{}">{words}</text>"#,
                symbol(x, y),
                x + 34,
                y + 4
            );
            x + 34 + geometry::text_width(words) + 20
        };
        let mut entry_x = geometry::MARGIN;
        let words = "a message of the blocks named (2..4: 2 and 3), or else of the whole vector";
        entry(entry_x, 0, &|x, y| arrow("", x, y), words);
        let Timeline { messages, work, .. } = &self.timeline;
        if messages.iter().any(|message| message.span.is_none()) {
            entry_x = entry(entry_x, 1, &|x, y| arrow(" signal", x, y), "a signal");
        }
        let combines = |item: &Work| matches!(item.action, Action::Combine { .. });
        if work.iter().any(combines) {
            entry_x = entry(entry_x, 1, &|x, y| dot_mark(x + 16, y, colour), "combines");
        }
        if !work.iter().all(combines) {
            entry(entry_x, 1, &|x, y| square_mark(x + 16, y, colour), "copies");
        }
    }

    fn is_faint(&self, concerned: &[Rank]) -> bool {
        self.only.is_some_and(|only| !concerned.contains(&only))
    }
}

fn dot_mark(x: u64, y: u64, colour: &str) -> String {
    format!(r##"<circle cx="{x}" cy="{y}" r="5" fill="{colour}" stroke="#ffffff"/>"##)
}

fn square_mark(x: u64, y: u64, colour: &str) -> String {
    let (x, y) = (x - 4, y - 4);
    format!(
        r##"<rect x="{x}" y="{y}" width="8" height="8" fill="#ffffff" stroke="{colour}" stroke-width="1.5"/>"##
    )
}
