//! The measurements that show the machine's own parameters.

use wire::{Cell, CommShape, Experiment, ExperimentKind};

use crate::Campaign;

const MESSAGE_BYTES: (u64, u64) = (1, 4 << 20);
/// Up to here messages are measured even where all vectors are shorter: bandwidth shows only there.
const LONG_MESSAGE_BYTES: u64 = 256 << 10;
/// Only in small messages what starting one costs is a visible part of the time.
const BURST_BYTES: (u64, u64) = (1, 1 << 10);
/// Where eager limits are looked for, more closely than by [`FACTOR`].
const LATE_BYTES: (u64, u64) = (256, 64 << 10);
const LATE_FACTOR: u64 = 2;
/// Where the time per byte is all that is asked for.
const BANDWIDTH_BYTES: (u64, u64) = (16 << 10, LONG_MESSAGE_BYTES);
/// Of vectors that are combined and copied.
const VECTOR_BYTES: (u64, u64) = (1 << 10, 4 << 20);
const FACTOR: u64 = 4;
/// Of shifts, which are compared with ping-pongs size by size.
const SHIFT_FACTOR: u64 = 16;
/// Partners of one rank, if there are as many.
const PARTNERS: u32 = 4;

/// What is measured among the ranks of a shape, at which sizes.
type Series = (ExperimentKind, CommShape, Vec<u64>);

impl Campaign {
    /// The experiments, on each level that the campaign has: messages one way, both ways, many at
    /// once and to a receiver that is late between two ranks; if there are three, to one while receiving from another, and to and
    /// from several at once. If nodes have several ranks, as many pairs between two nodes as powers of
    /// two and the most there can be. On one rank copying and, where anything is reduced, combining in
    /// the campaign's datatype and operator. Messages are not much longer than the longest vector: on
    /// slow networks they would take longer than all else.
    pub fn experiments(&self) -> Vec<Experiment> {
        let within = |ranks| CommShape {
            nodes: 1,
            ppn: ranks,
        };
        let between = |ranks| CommShape {
            nodes: ranks,
            ppn: 1,
        };
        let anywhere = match (self.has_room(within(2)), self.has_room(between(2))) {
            (false, true) => between(2),
            _ => within(2),
        };
        let mut series = self.on_level(within);
        series.extend(self.on_level(between));
        series.extend(self.injections());
        series.extend(self.on_one_rank(anywhere));
        let sizes = series.into_iter().flat_map(|(kind, shape, sizes)| {
            let experiment = move |bytes| Experiment { kind, shape, bytes };
            sizes.into_iter().map(experiment)
        });
        sizes.collect()
    }

    /// Whether the ranks of a shape are among those of one of the campaign's.
    fn has_room(&self, shape: CommShape) -> bool {
        self.shapes
            .iter()
            .any(|room| shape.nodes <= room.nodes && shape.ppn <= room.ppn)
    }

    /// The longest messages.
    fn longest_message(&self) -> u64 {
        let (_, last) = MESSAGE_BYTES;
        let longest = self.cells().iter().map(Cell::vector_bytes).max();
        longest.unwrap_or(last).clamp(LONG_MESSAGE_BYTES, last)
    }

    /// Messages among ranks of one level, of which `shape` tells where so many stand.
    fn on_level(&self, shape: impl Fn(u32) -> CommShape) -> Vec<Series> {
        let pair = shape(2);
        if !self.has_room(pair) {
            return Vec::new();
        }
        let (first, last) = (MESSAGE_BYTES.0, self.longest_message());
        let messages = sizes((first, last), FACTOR);
        let mut series = vec![
            (ExperimentKind::PingPong, pair, messages.clone()),
            (ExperimentKind::Exchange, pair, messages),
            (ExperimentKind::Burst, pair, sizes(BURST_BYTES, FACTOR)),
            (ExperimentKind::Late, pair, sizes(LATE_BYTES, LATE_FACTOR)),
        ];
        if self.has_room(shape(3)) {
            let mut shifts = sizes((first, last), SHIFT_FACTOR);
            shifts.retain(|bytes| *bytes <= last);
            series.push((ExperimentKind::Shift, shape(3), shifts));
        }
        let fan = (2..=PARTNERS).rev().map(|partners| shape(partners + 1));
        if let Some(shape) = fan.into_iter().find(|shape| self.has_room(*shape)) {
            let kinds = [ExperimentKind::FanOut, ExperimentKind::FanIn];
            series.extend(kinds.map(|kind| (kind, shape, sizes(BANDWIDTH_BYTES, FACTOR))));
        }
        series
    }

    /// One pair between two nodes, and more at once.
    fn injections(&self) -> Vec<Series> {
        let pairs = |ppn| CommShape { nodes: 2, ppn };
        let several = self.shapes.iter().filter(|shape| shape.nodes > 1);
        let most = several.map(|shape| shape.ppn).max().unwrap_or(1);
        if most < 2 {
            return Vec::new();
        }
        let powers = std::iter::successors(Some(1), |pairs| Some(pairs * 2));
        let counts = powers.take_while(|pairs| *pairs < most).chain([most]);
        counts
            .map(|count| {
                let sizes = sizes(BANDWIDTH_BYTES, FACTOR);
                (ExperimentKind::Injection, pairs(count), sizes)
            })
            .collect()
    }

    fn on_one_rank(&self, anywhere: CommShape) -> Vec<Series> {
        let combine = ExperimentKind::Combine {
            datatype: self.datatype,
            operator: self.operator,
        };
        let combines = self
            .sizes
            .keys()
            .any(|collective| collective.is_reduction());
        let kinds = combines.then_some(combine).into_iter();
        kinds
            .chain([ExperimentKind::Copy])
            .map(|kind| (kind, anywhere, sizes(VECTOR_BYTES, FACTOR)))
            .collect()
    }
}

/// Sizes from the first on, until one is not below the last.
fn sizes((first, last): (u64, u64), factor: u64) -> Vec<u64> {
    let grid = std::iter::successors(Some(first), |bytes| Some(bytes * factor));
    grid.take_while(|bytes| *bytes < factor * last).collect()
}
