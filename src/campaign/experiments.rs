//! The measurements that show the machine's own parameters.

use wire::{Cell, CommShape, Experiment, ExperimentKind};

use crate::Campaign;

const MESSAGE_BYTES: (u64, u64) = (1, 4 << 20);
/// Up to here messages are measured even where all vectors are shorter: bandwidth shows only there.
const LONG_MESSAGE_BYTES: u64 = 256 << 10;
/// Only in small messages what starting one costs is a visible part of the time.
const BURST_BYTES: (u64, u64) = (1, 1 << 10);
/// Of vectors that are combined and copied.
const VECTOR_BYTES: (u64, u64) = (1 << 10, 4 << 20);
const FACTOR: u64 = 4;

/// What is measured among the ranks of a shape, from the first size to the last.
type Series = (ExperimentKind, CommShape, (u64, u64));

impl Campaign {
    /// The experiments: messages one way, both ways and many at once between two ranks of a node and
    /// of two nodes, as far as the campaign has either; copying; and, where anything is reduced,
    /// combining in the campaign's datatype and operator. Messages are not much longer than the
    /// longest vector: on slow networks they would take longer than all else.
    pub fn experiments(&self) -> Vec<Experiment> {
        let within = CommShape { nodes: 1, ppn: 2 };
        let between = CommShape { nodes: 2, ppn: 1 };
        let pairs: Vec<CommShape> = [within, between]
            .into_iter()
            .filter(|shape| self.has_room(*shape))
            .collect();
        let anywhere = pairs.first().copied().unwrap_or(within);
        let messages = pairs.iter().flat_map(|&pair| self.between_two(pair));
        messages
            .chain(self.on_one_rank(anywhere))
            .flat_map(|(kind, shape, (first, last))| {
                std::iter::successors(Some(first), |bytes| Some(bytes * FACTOR))
                    .take_while(move |bytes| *bytes < FACTOR * last)
                    .map(move |bytes| Experiment { kind, shape, bytes })
            })
            .collect()
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

    fn between_two(&self, pair: CommShape) -> [Series; 3] {
        let bytes = (MESSAGE_BYTES.0, self.longest_message());
        [
            (ExperimentKind::PingPong, pair, bytes),
            (ExperimentKind::Exchange, pair, bytes),
            (ExperimentKind::Burst, pair, BURST_BYTES),
        ]
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
            .map(|kind| (kind, anywhere, VECTOR_BYTES))
            .collect()
    }
}
