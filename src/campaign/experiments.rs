//! The measurements that show the machine's own parameters.

use vocabulary::{Cell, CommShape, Experiment, ExperimentKind, Through};

use crate::Campaign;

const MESSAGE_BYTES: (u64, u64) = (1, 4 << 20);
/// Up to here messages are measured even where all vectors are shorter: bandwidth shows only there.
const LONG_MESSAGE_BYTES: u64 = 256 << 10;
/// Between these, where protocols change, sizes of ping-pongs stand more closely.
const PROTOCOL_BYTES: (u64, u64) = (256, 256 << 10);
/// Only in small messages what starting one costs is a visible part of the time.
const BURST_BYTES: (u64, u64) = (1, 1 << 10);
/// Where eager limits are looked for.
const LATE_BYTES: (u64, u64) = (1 << 10, 128 << 10);
/// Where the time per byte is all that is asked for.
const BANDWIDTH_BYTES: (u64, u64) = (16 << 10, LONG_MESSAGE_BYTES);
/// The smallest and the largest vector that is combined and copied.
const VECTOR_BYTES: (u64, u64) = (1 << 10, 4 << 20);
const FACTOR: u64 = 4;
const CLOSE_FACTOR: u64 = 2;
/// Where a few sizes tell enough; also those of exchanges and shifts, which are compared with ping-pongs
/// size by size.
const WIDE_FACTOR: u64 = 16;
/// Partners of one rank, if there are as many.
const PARTNERS: u32 = 4;

/// What is measured among the ranks of a shape, at which sizes.
type Series = (ExperimentKind, CommShape, Vec<u64>);

impl Campaign {
    /// The experiments, on each level that the campaign has: between two ranks messages one way, both
    /// ways, many at once and to a receiver that is late; if there are three, to one while receiving
    /// from another, and to and from several at once; the same through shared memory, if candidates use that.
    /// If nodes have several ranks, one pair and the most
    /// there can be between two nodes. On one rank copying and, where anything is reduced, combining in
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
        series.extend(self.combining(anywhere));
        series.push((
            ExperimentKind::Copy,
            anywhere,
            sizes(VECTOR_BYTES, WIDE_FACTOR),
        ));
        let mut shared = Vec::new();
        if self.transports().contains(&Through::Shared) && self.has_room(within(2)) {
            shared = self.on_level(within);
            shared.extend(self.combining(within(2)));
        }
        let all = [(Through::Mpi, series), (Through::Shared, shared)];
        let experiments = all.into_iter().flat_map(|(through, series)| {
            series.into_iter().flat_map(move |(kind, shape, sizes)| {
                let experiment = move |bytes| Experiment {
                    kind,
                    shape,
                    bytes,
                    through,
                };
                sizes.into_iter().map(experiment)
            })
        });
        experiments.collect()
    }

    /// Whether the ranks of a shape are among those of one of the campaign's.
    fn has_room(&self, shape: CommShape) -> bool {
        self.shapes
            .iter()
            .any(|room| shape.nodes <= room.nodes && shape.ppn <= room.ppn)
    }

    /// The size of the longest messages.
    fn longest_message(&self) -> u64 {
        let (_, last) = MESSAGE_BYTES;
        let longest = self.cells().iter().map(Cell::vector_bytes).max();
        longest.unwrap_or(last).clamp(LONG_MESSAGE_BYTES, last)
    }

    /// Messages among ranks of one level; `shape` places a number of ranks there.
    fn on_level(&self, shape: impl Fn(u32) -> CommShape) -> Vec<Series> {
        let pair = shape(2);
        if !self.has_room(pair) {
            return Vec::new();
        }
        let last = self.longest_message();
        let ping_pongs = ping_pongs(last);
        let mut compared = sizes((MESSAGE_BYTES.0, last), WIDE_FACTOR);
        compared.retain(|bytes| ping_pongs.contains(bytes));
        let mut series = vec![
            (ExperimentKind::PingPong, pair, ping_pongs),
            (ExperimentKind::Exchange, pair, compared.clone()),
            (ExperimentKind::Burst, pair, sizes(BURST_BYTES, FACTOR)),
            (ExperimentKind::Late, pair, sizes(LATE_BYTES, CLOSE_FACTOR)),
        ];
        if self.has_room(shape(3)) {
            series.push((ExperimentKind::Shift, shape(3), compared));
        }
        let fan = (2..=PARTNERS).rev().map(|partners| shape(partners + 1));
        if let Some(shape) = fan.into_iter().find(|shape| self.has_room(*shape)) {
            let kinds = [ExperimentKind::FanOut, ExperimentKind::FanIn];
            series.extend(kinds.map(|kind| (kind, shape, sizes(BANDWIDTH_BYTES, FACTOR))));
        }
        series
    }

    /// One pair between two nodes, and as many at once as there can be: the port that they share shows
    /// in the difference. So do bursts of as many, beside those of one pair.
    fn injections(&self) -> Vec<Series> {
        let pairs = |ppn| CommShape { nodes: 2, ppn };
        let several = self.shapes.iter().filter(|shape| shape.nodes > 1);
        let most = several.map(|shape| shape.ppn).max().unwrap_or(1);
        if most < 2 {
            return Vec::new();
        }
        let series = |count| {
            let sizes = sizes(BANDWIDTH_BYTES, FACTOR);
            (ExperimentKind::Injection, pairs(count), sizes)
        };
        let bursts = (
            ExperimentKind::Burst,
            pairs(most),
            sizes(BURST_BYTES, FACTOR),
        );
        [1, most].map(series).into_iter().chain([bursts]).collect()
    }

    /// Combinations, where anything is reduced.
    fn combining(&self, shape: CommShape) -> Option<Series> {
        let combine = ExperimentKind::Combine {
            datatype: self.datatype,
            operator: self.operators[0],
        };
        let combines = self
            .sizes
            .keys()
            .any(|collective| collective.is_reduction());
        combines.then(|| (combine, shape, sizes(VECTOR_BYTES, FACTOR)))
    }
}

/// Sizes of ping-pongs up to `last`, which is [`PROTOCOL_BYTES`]' end at least.
fn ping_pongs(last: u64) -> Vec<u64> {
    let (from, to) = PROTOCOL_BYTES;
    let mut all = sizes((MESSAGE_BYTES.0, from), WIDE_FACTOR);
    all.extend(sizes((from, to), CLOSE_FACTOR));
    all.extend(sizes((to, last), FACTOR));
    all.dedup();
    all
}

/// Sizes from the first on, until one is not below the last.
fn sizes((first, last): (u64, u64), factor: u64) -> Vec<u64> {
    let grid = std::iter::successors(Some(first), |bytes| Some(bytes * factor));
    grid.take_while(|bytes| *bytes < factor * last).collect()
}
