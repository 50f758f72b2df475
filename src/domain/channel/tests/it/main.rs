//! Channels within one process, among several, and under loom.

#![expect(clippy::unwrap_used, reason = "tests panic")]

mod elsewhere;
mod exhaustively;
mod messages;
mod processes;
mod segments;

use channel::{Channels, SegmentLayout, SharedSegment};

/// The channels of some ranks of this process.
fn several(ranks: usize, limit: usize) -> Vec<Channels> {
    let layout = SegmentLayout::within_limit(ranks, limit).unwrap();
    let segment = SharedSegment::create(layout.bytes()).unwrap();
    let opened = |rank| {
        let segment = SharedSegment::open(&segment.ticket()).unwrap();
        Channels::new(segment, layout, rank).unwrap()
    };
    (0..ranks).map(opened).collect()
}

fn two(limit: usize) -> [Channels; 2] {
    several(2, limit).try_into().unwrap()
}
