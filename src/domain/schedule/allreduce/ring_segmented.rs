//! The ring with parts cut into segments: combining overlaps with the next transfer.

use super::ring;
use crate::program::{Program, Sequence};
use crate::registry::Algorithm;
use crate::{Buffer, Collective, Parameter, Partition, Rank, Room, Round, Shape, Span, allgather};

/// `(p - 1) b` exchanges of segments of `m/(p b)` bytes, each beside the combination of the segment
/// before, then the ring's allgather of whole parts. With one block it is `ring`.
///
/// `b` is the number of segments of each of the p parts.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "ring_segmented",
    summary: "the ring with p parts of several segments, combining one while the next is moved",
    source: "Open MPI's segmented ring",
    formula: "(p-1) (b+1) alpha + 2 (p-1)/p beta m, gamma m hidden where it is less than beta m",
    parameters: &[Parameter::Blocks],
    cost: |_| None,
    scratch: |shape, _| vec![Room::window(partition(shape), 1); 2],
    program,
    ..ring::ALGORITHM
};

fn partition(shape: &Shape) -> Partition {
    Partition::PerRank {
        ranks: shape.ranks,
        chunks: shape.blocks,
    }
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let Shape { ranks, blocks, .. } = *shape;
    match blocks {
        // With one segment nothing overlaps.
        1 => (ring::ALGORITHM.program)(shape, rank),
        _ => Box::new(Sequence(
            Box::new(Segmented {
                rank,
                ranks,
                segments: blocks.into(),
                partition: partition(shape),
            }),
            ring::gathering(&allgather::ring::ALGORITHM, shape, rank),
        )),
    }
}

/// The reduce-scatter in segments. In step `k` a rank passes on the part `k + 1` ranks before its
/// own, segment by segment, and receives the one before that.
struct Segmented {
    rank: Rank,
    ranks: u32,
    /// At least 2, so that a segment is combined before its turn to be sent comes.
    segments: u64,
    partition: Partition,
}

impl Segmented {
    fn transfers(&self) -> u64 {
        u64::from(self.ranks - 1) * self.segments
    }

    /// The segment that arrives in a round.
    fn arriving(&self, index: u64) -> Span {
        let buffer = Buffer::Scratch((index % 2) as u8);
        self.segment(buffer, index / self.segments + 2, index % self.segments)
    }

    fn segment(&self, buffer: Buffer, distance: u64, segment: u64) -> Span {
        let ranks = u64::from(self.ranks);
        let part = (u64::from(self.rank) + 2 * ranks - distance) % ranks;
        Span::block(buffer, self.partition, part * self.segments + segment)
    }
}

impl Program for Segmented {
    fn rounds(&self) -> u64 {
        self.transfers() + 1
    }

    fn round(&self, index: u64, round: &mut Round) {
        if index < self.transfers() {
            let own = if index < self.segments {
                Buffer::Input
            } else {
                Buffer::Output
            };
            let leaving = self.segment(own, index / self.segments + 1, index % self.segments);
            round.send((self.rank + 1) % self.ranks, leaving);
            let left = (self.rank + self.ranks - 1) % self.ranks;
            round.recv(left, self.arriving(index));
        }
        if let Some(before) = index.checked_sub(1) {
            let received = self.arriving(before);
            round.combine(
                received,
                received.in_buffer(Buffer::Input),
                received.in_buffer(Buffer::Output),
            );
        }
    }
}
