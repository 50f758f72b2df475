//! The experiments of a campaign, which determine the machine's parameters.
//!
//! The driver makes them before anything else and again in every launch: ping-pongs of each level, bursts, messages to
//! late receivers, pairs that send at once, exchanges and shifts, combining and copying. Experiments whose messages go
//! through shared memory are included if candidates use it.

use schedule::Algorithm;
use vocabulary::{Cell, CommShape, Experiment, ExperimentKind, Through};

use crate::Campaign;

const MESSAGE_BYTES: (u64, u64) = (1, 4 << 20);
/// The size up to which messages are measured even if all vectors are shorter, since only long messages show bandwidth.
const LONG_MESSAGE_BYTES: u64 = 256 << 10;
/// The range of sizes in which protocols change, where ping-pongs have closer sizes.
const PROTOCOL_BYTES: (u64, u64) = (256, 256 << 10);
/// The sizes of bursts: the overhead is a visible part of the time only for small messages.
const BURST_BYTES: (u64, u64) = (1, 1 << 10);
/// The range in which eager limits are searched.
const LATE_BYTES: (u64, u64) = (1 << 10, 128 << 10);
/// The sizes at which only the time per byte matters.
const BANDWIDTH_BYTES: (u64, u64) = (16 << 10, LONG_MESSAGE_BYTES);
/// The sizes of the smallest and the largest vector that is combined and copied.
const VECTOR_BYTES: (u64, u64) = (1 << 10, 4 << 20);
const FACTOR: u64 = 4;
const CLOSE_FACTOR: u64 = 2;
/// The factor between sizes where a few suffice, and for exchanges and shifts, which are compared with ping-pongs of
/// the same size.
const WIDE_FACTOR: u64 = 16;
/// The number of partners of one rank, if there are enough ranks.
const PARTNERS: u32 = 4;

/// A kind of experiment, its ranks, and its sizes.
type Series = (ExperimentKind, CommShape, Vec<u64>);

impl Campaign {
    /// The experiments, on each level of the campaign. Between two ranks: messages in one direction, in both, many at
    /// once, and to a late receiver. With three or more: messages to one rank while receiving from another, and to and
    /// from several at once. The same through shared memory if candidates use it. If nodes have several ranks: messages
    /// of one pair and of the largest number of pairs between two nodes. On one rank: copying and, if the campaign has
    /// reductions, combining with its datatype and operator. Messages are not much longer than the longest vector,
    /// since on slow networks they would take longer than everything else.
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
        let mut series = self.series_on_level(within);
        series.extend(self.series_on_level(between));
        series.extend(self.injection_series());
        series.extend(self.combining_series(anywhere));
        series.push((
            ExperimentKind::Copy,
            anywhere,
            geometric_sizes(VECTOR_BYTES, WIDE_FACTOR),
        ));
        let mut shared = Vec::new();
        if self.transports().contains(&Through::Shared) && self.has_room(within(2)) {
            shared = self.series_on_level(within);
            shared.extend(self.combining_series(within(2)));
        }
        let all = [(Through::Mpi, series), (Through::Shared, shared)];
        let experiments = all.into_iter().flat_map(|(through, of_transport)| {
            of_transport
                .into_iter()
                .flat_map(move |(kind, shape, sizes)| {
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

    /// Whether one of the campaign's shapes contains the ranks of a shape.
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

    /// The experiments with messages among ranks of one level; `shape` places a number of ranks there.
    fn series_on_level(&self, shape_of: impl Fn(u32) -> CommShape) -> Vec<Series> {
        let pair = shape_of(2);
        if !self.has_room(pair) {
            return Vec::new();
        }
        let last = self.longest_message();
        let ping_pongs = ping_pong_sizes(last);
        let mut compared = geometric_sizes((MESSAGE_BYTES.0, last), WIDE_FACTOR);
        compared.retain(|bytes| ping_pongs.contains(bytes));
        let mut series = vec![
            (ExperimentKind::PingPong, pair, ping_pongs),
            (ExperimentKind::Exchange, pair, compared.clone()),
            (
                ExperimentKind::Burst,
                pair,
                geometric_sizes(BURST_BYTES, FACTOR),
            ),
            (
                ExperimentKind::Late,
                pair,
                geometric_sizes(LATE_BYTES, CLOSE_FACTOR),
            ),
        ];
        if self.has_room(shape_of(3)) {
            series.push((ExperimentKind::Shift, shape_of(3), compared));
        }
        let fan = (2..=PARTNERS).rev().map(|partners| shape_of(partners + 1));
        if let Some(shape) = fan.into_iter().find(|shape| self.has_room(*shape)) {
            let kinds = [ExperimentKind::FanOut, ExperimentKind::FanIn];
            series
                .extend(kinds.map(|kind| (kind, shape, geometric_sizes(BANDWIDTH_BYTES, FACTOR))));
        }
        series
    }

    /// One pair between two nodes, and as many pairs at once as possible: the difference shows the port that the pairs
    /// share. If a candidate knows nodes, bursts of these pairs show the port's gap. Campaigns without such candidates
    /// keep the experiments that they had in older versions.
    fn injection_series(&self) -> Vec<Series> {
        let pairs = |ppn| CommShape { nodes: 2, ppn };
        let several = self.shapes.iter().filter(|shape| shape.nodes > 1);
        let most = several.map(|shape| shape.ppn).max().unwrap_or(1);
        if most < 2 {
            return Vec::new();
        }
        let series = |count| {
            let sizes = geometric_sizes(BANDWIDTH_BYTES, FACTOR);
            (ExperimentKind::Injection, pairs(count), sizes)
        };
        let mut series = [1, most].map(series).to_vec();
        let mut collectives = self.sizes.keys();
        if collectives.any(|of| {
            self.selection
                .algorithms_for(*of)
                .any(Algorithm::knows_nodes)
        }) {
            let sizes = geometric_sizes(BURST_BYTES, FACTOR);
            series.push((ExperimentKind::Burst, pairs(most), sizes));
        }
        series
    }

    /// Combinations, if the campaign has reductions.
    fn combining_series(&self, shape: CommShape) -> Option<Series> {
        let combine = ExperimentKind::Combine {
            datatype: self.datatype,
            operator: self.operators[0],
        };
        let combines = self
            .sizes
            .keys()
            .any(|collective| collective.is_reduction());
        combines.then(|| (combine, shape, geometric_sizes(VECTOR_BYTES, FACTOR)))
    }
}

/// Sizes of ping-pongs up to `last`, which is at least the end of [`PROTOCOL_BYTES`].
fn ping_pong_sizes(last: u64) -> Vec<u64> {
    let (from, to) = PROTOCOL_BYTES;
    let mut all = geometric_sizes((MESSAGE_BYTES.0, from), WIDE_FACTOR);
    all.extend(geometric_sizes((from, to), CLOSE_FACTOR));
    all.extend(geometric_sizes((to, last), FACTOR));
    all.dedup();
    all
}

/// Sizes from `first` on, each `factor` times the one before, up to the first one that is at least `last`.
fn geometric_sizes((first, last): (u64, u64), factor: u64) -> Vec<u64> {
    let grid = std::iter::successors(Some(first), |bytes| Some(bytes * factor));
    grid.take_while(|bytes| *bytes < factor * last).collect()
}
