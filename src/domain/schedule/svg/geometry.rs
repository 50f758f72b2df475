//! The geometry of a picture, in pixels.

use super::blocks_text;
use crate::Rank;
use crate::timeline::{Message, Timeline};

/// The margin around the picture.
pub(super) const MARGIN: u64 = 20;
/// The baseline of the headline.
pub(super) const HEADLINE: u64 = 32;
/// The top of the rows.
pub(super) const TOP: u64 = 76;
/// The length of a rank's line before the first step and after the last.
pub(super) const LEAD: u64 = 14;

/// The height of a rank's row.
pub(super) const ROW: u64 = 40;
/// The space between the edge of a step and its arrows, for marks.
const GAP: u64 = 9;
const LEGEND: u64 = 64;
/// The space between the end of an arrow and its label.
const HEAD: u64 = 4;

/// The dimensions of one picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    pub(super) width: u64,
    pub(super) height: u64,
    ranks: u64,
    left: u64,
    column: u64,
}

impl Geometry {
    pub(super) fn new(ranks: u32, timeline: &Timeline, headline: &str) -> Self {
        let spans = timeline.messages.iter().filter_map(|message| message.span);
        let label = spans.map(|span| text_width(&blocks_text(&span))).max();
        let column = (label.unwrap_or(0) + 46).max(72);
        let left = MARGIN + text_width("rank 000 (root)") + LEAD;
        let ranks = u64::from(ranks);
        let right = left + column * timeline.steps + LEAD + MARGIN;
        // The headline has larger letters, and the legend needs a minimum width.
        let least = (text_width(headline) * 5 / 4 + 2 * MARGIN).max(540);
        Self {
            width: right.max(least),
            height: TOP + ROW * ranks + LEGEND + MARGIN / 2,
            ranks,
            left,
            column,
        }
    }

    /// The end of a step.
    pub(super) fn step_x(&self, step: u64) -> u64 {
        self.left + self.column * step
    }

    /// The line of a rank.
    pub(super) fn rank_y(&self, rank: Rank) -> u64 {
        TOP + ROW * u64::from(rank) + ROW / 2
    }

    /// The lower edge of the rows.
    pub(super) fn bottom(&self) -> u64 {
        TOP + ROW * self.ranks
    }

    /// The middle of a line of the legend.
    pub(super) fn legend_y(&self, line: u64) -> u64 {
        self.bottom() + 26 + 22 * line
    }

    /// The two ends of a message's arrow.
    pub(super) fn arrow_ends(&self, message: &Message) -> [(u64, u64); 2] {
        let Message { step, from, to, .. } = *message;
        [
            (self.step_x(step - 1) + GAP, self.rank_y(from)),
            (self.step_x(step) - GAP, self.rank_y(to)),
        ]
    }

    /// The middle of the baseline of a message's label: next to its sender, or to its receiver if `near_head`, and
    /// within that rank's row, so that labels of crossing arrows do not overlap.
    pub(super) fn label_position(
        &self,
        message: &Message,
        text: &str,
        near_head: bool,
    ) -> (u64, u64) {
        let [start, end] = self.arrow_ends(message);
        let (near, far) = if near_head {
            (end.1, start.1)
        } else {
            (start.1, end.1)
        };
        let rows = near.abs_diff(far).max(1);
        let off = (rows / 3).min(ROW / 3);
        let along = ((end.0 - start.0) * off / rows).max(text_width(text) / 2 + HEAD);
        let x = if near_head {
            end.0 - along
        } else {
            start.0 + along
        };
        let y = if near < far { near + off } else { near - off };
        (x, y + 4)
    }
}

/// The approximate width of a text in the ordinary size.
pub(super) fn text_width(text: &str) -> u64 {
    7 * text.chars().count() as u64
}
