//! The colours of a picture: one for each block, to show its path.

use std::collections::BTreeMap;

use crate::timeline::{Message, Timeline, Work};
use crate::{Action, Partition, Span};

/// Dark enough for text on white, and distinguishable for most people.
const FEW: [&str; 8] = [
    "#1d6fb8", "#c2410c", "#15803d", "#7c3aed", "#be185d", "#a16207", "#0e7490", "#57534e",
];

const NEUTRAL: &str = "#334155";

/// A colour, and the name of the arrowhead in it.
#[derive(Clone, Debug)]
pub(super) struct Paint {
    pub(super) id: String,
    pub(super) colour: String,
}

/// The colours in use.
#[derive(Clone, Debug)]
pub(super) struct Paints {
    neutral: Paint,
    paints: BTreeMap<(u64, u64), Paint>,
    longest: u64,
}

impl Paints {
    pub(super) fn new(timeline: &Timeline) -> Self {
        let spans = timeline.messages.iter().filter_map(|message| message.span);
        let work = timeline.work.iter().map(written_span);
        let mut paints = BTreeMap::new();
        for key in spans.chain(work).filter_map(|span| colour_key(&span)) {
            let id = format!("head{}-{}", key.0, key.1);
            let colour = block_colour(key);
            paints.entry(key).or_insert(Paint { id, colour });
        }
        let lengths = timeline.messages.iter().map(|message| message.units);
        Self {
            neutral: Paint {
                id: "head".to_owned(),
                colour: NEUTRAL.to_owned(),
            },
            paints,
            longest: lengths.max().unwrap_or(1).max(1),
        }
    }

    pub(super) fn all_paints(&self) -> impl Iterator<Item = &Paint> {
        [&self.neutral].into_iter().chain(self.paints.values())
    }

    /// The colour of signals and whole vectors.
    pub(super) fn neutral(&self) -> &Paint {
        &self.neutral
    }

    pub(super) fn of_message(&self, message: &Message) -> &Paint {
        self.of_span(message.span.as_ref())
    }

    pub(super) fn of_work(&self, work: &Work) -> &Paint {
        self.of_span(Some(&written_span(work)))
    }

    fn of_span(&self, span: Option<&Span>) -> &Paint {
        let paint = span
            .and_then(colour_key)
            .and_then(|key| self.paints.get(&key));
        paint.unwrap_or(&self.neutral)
    }

    /// The width of an arrow in pixels: longer messages have wider ones.
    pub(super) fn stroke_width(&self, message: &Message) -> u64 {
        2 + message.units.saturating_mul(3) / self.longest.saturating_mul(2)
    }
}

/// The span that a combination or copy writes.
fn written_span(work: &Work) -> Span {
    match work.action {
        Action::Combine { into, .. } | Action::Copy { into, .. } => into,
        Action::Send { span, .. } | Action::Recv { span, .. } => span,
        Action::Signal { .. } | Action::Await { .. } => Span::whole(crate::Buffer::Output),
    }
}

/// The first block of a span and the number of blocks; different divisions of the vector have different colours.
/// `None` for the whole vector.
fn colour_key(span: &Span) -> Option<(u64, u64)> {
    let all = span.partition.blocks();
    let is_whole = span.blocks.count == all && span.blocks.start == 0;
    (span.partition != Partition::WHOLE && !is_whole).then_some((span.blocks.start, all))
}

/// A colour that distinguishes a block from the others; around the colour wheel if there are many.
fn block_colour((block, all): (u64, u64)) -> String {
    match FEW.get(block as usize) {
        Some(colour) if all <= FEW.len() as u64 => (*colour).to_owned(),
        _ => {
            let hue = 360 * block / all.max(1);
            // Yellow and green look lighter than other hues.
            let lightness = if (40..200).contains(&hue) { 30 } else { 42 };
            format!("hsl({hue}, 75%, {lightness}%)")
        }
    }
}
