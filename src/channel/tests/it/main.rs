//! Channels within one process, among several, and under loom.

#![expect(clippy::unwrap_used, reason = "tests panic")]

mod exhaustively;
mod messages;
mod processes;
mod segments;

use channel::{Channels, Layout, Segment};

/// The channels of two ranks of this process.
fn two(limit: usize) -> [Channels; 2] {
    let layout = Layout::within(2, limit).unwrap();
    let segment = Segment::create(layout.bytes()).unwrap();
    let opened = Segment::open(&segment.ticket()).unwrap();
    [
        Channels::new(segment, layout, 0).unwrap(),
        Channels::new(opened, layout, 1).unwrap(),
    ]
}
