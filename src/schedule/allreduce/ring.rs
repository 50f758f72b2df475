//! The ring: a bucket reduce-scatter followed by a bucket allgather.

use crate::program::{Program, alone};
use crate::registry::Algorithm;
use crate::{Buffer, Collective, Partition, PipelineCost, Rank, Round, Scratch, Shape, Span};

/// Cost `2 (p-1) alpha + 2 (p-1)/p beta m + (p-1)/p gamma m`: least bytes of all.
///
/// The vector is cut into p blocks. Block `k` travels once around from rank `k`, collecting
/// contributions, and is complete on rank `k - 1`; then all complete blocks travel around. A
/// block's contributions are combined starting at its own rank and so cyclically, not in order.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "ring",
    summary: "bucket reduce-scatter and bucket allgather along a ring, p blocks",
    source: "Chan, Heimlich, Purkayastha, van de Geijn 2007",
    parameters: &[],
    ordered: false,
    cost,
    fixed_blocks: |ranks| ranks,
    scratch,
    program,
};

fn cost(_: u32) -> Option<PipelineCost> {
    Some(PipelineCost {
        c1: -2,
        c2: 2,
        g1: -1,
        g2: 1,
    })
}

fn scratch(shape: &Shape) -> Vec<Scratch> {
    vec![Scratch::Window {
        partition: Partition::Even(shape.ranks),
        slots: 1,
    }]
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    if shape.ranks == 1 {
        return alone(shape.in_place);
    }
    Box::new(Ring {
        rank,
        ranks: shape.ranks,
        source: shape.source(),
    })
}

struct Ring {
    rank: Rank,
    ranks: u32,
    source: Buffer,
}

impl Ring {
    /// The rank, or block, `distance` before this one on the ring.
    fn before(&self, distance: u32) -> u32 {
        (self.rank + self.ranks - distance % self.ranks) % self.ranks
    }

    fn span(&self, buffer: Buffer, block: u32) -> Span {
        Span::block(buffer, Partition::Even(self.ranks), block)
    }
}

impl Program for Ring {
    fn rounds(&self) -> u64 {
        // An exchange and a combination a step, then an exchange a step.
        3 * u64::from(self.ranks - 1)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let (left, right) = (self.before(1), (self.rank + 1) % self.ranks);
        let collecting = 2 * (self.ranks - 1);
        let Some(step) = (index as u32).checked_sub(collecting) else {
            let step = index as u32 / 2;
            let (block, arriving) = (self.before(step), self.before(step + 1));
            let received = self.span(Buffer::Scratch(0), arriving);
            if index.is_multiple_of(2) {
                let own = if step == 0 {
                    self.source
                } else {
                    Buffer::Output
                };
                round.send(right, self.span(own, block));
                round.recv(left, received);
            } else {
                round.combine(
                    received,
                    received.of(self.source),
                    received.of(Buffer::Output),
                );
            }
            return;
        };
        let complete = self.before(self.ranks - 1 + step);
        let arriving = self.before(self.ranks + step);
        round.send(right, self.span(Buffer::Output, complete));
        round.recv(left, self.span(Buffer::Output, arriving));
    }
}
