//! The two-tree broadcast run backwards.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::relay::Arrivals;
use crate::tree::timetable::{Edge, Timetable, broadcast_latency};
use crate::{
    BracketedBy, Buffer, Collective, Cost, Parameter, Partition, Rank, Room, Round, Shape, Span,
};

/// About `2 log2 p + b` steps, and as many combinations.
///
/// Subtrees are ranges of ranks, so it is in rank order if the root, which is outside both trees, is
/// the first or the last rank.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Reduce,
    id: "two_tree",
    summary: "pipeline up two binary trees at once, each rank a leaf in one of them",
    source: "Sanders, Speck, Träff 2009",
    formula: "about (2 log2 p + b) (alpha + beta m/b + gamma m/b)",
    parameters: &[Parameter::Blocks],
    cost,
    ordered: false,
    ordered_at_ends: true,
    brackets_by: &[BracketedBy::Element, BracketedBy::Root],
    scratch,
    program,
    ..PLAIN
};

fn cost(ranks: u32) -> Option<Cost> {
    let (fill, exact) = broadcast_latency(ranks);
    // With three ranks one rank waits for the other without combining anything.
    let combinations = fill - i64::from(ranks == 3);
    Some(Cost::pipelined_where(exact, [fill, 1], [combinations, 1]))
}

/// For a rank with edges upwards and downwards, a block that is being combined; then arriving blocks.
fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    let timetable = Timetable::new(shape, rank);
    let receives = timetable.passing_down();
    let is_inner = receives > 0 && !timetable.above.is_empty();
    let partial = is_inner.then(|| Room::window(Partition::Even(shape.blocks), 1));
    let arrivals = Arrivals::rooms(shape.blocks, receives);
    partial.into_iter().chain(arrivals).collect()
}

fn program(shape: &Shape, rank: Rank) -> Box<dyn Program> {
    Box::new(TwoTree {
        rank,
        timetable: Timetable::new(shape, rank),
        partition: Partition::Even(shape.blocks),
    })
}

struct TwoTree {
    rank: Rank,
    timetable: Timetable,
    partition: Partition,
}

impl TwoTree {
    fn span(&self, buffer: Buffer, block: u64) -> Span {
        Span::block(buffer, self.partition, block)
    }

    /// The buffer in which blocks are combined: the root has no upward edge.
    fn partial(&self) -> Buffer {
        match self.timetable.above[..] {
            [] => Buffer::Output,
            _ => Buffer::Scratch(0),
        }
    }

    /// The buffers of arriving blocks.
    fn arrivals(&self) -> Arrivals {
        let first = u8::from(!self.timetable.above.is_empty());
        Arrivals { first }
    }

    /// The buffer of a tree's block to be sent: of combined blocks if the rank is inner.
    fn leaving(&self, edge: &Edge) -> Buffer {
        let is_inner = |below: &Edge| below.second == edge.second;
        if self.timetable.below.iter().any(is_inner) {
            self.partial()
        } else {
            Buffer::Input
        }
    }

    /// The buffer that is combined with a block from an edge; the edge that the broadcast uses last comes first.
    fn own(&self, edge: usize) -> Buffer {
        let below = &self.timetable.below;
        let later = &below[edge + 1..];
        if later.iter().any(|later| later.second == below[edge].second) {
            self.partial()
        } else {
            Buffer::Input
        }
    }
}

impl Program for TwoTree {
    fn rounds(&self) -> u64 {
        let rounds = self.timetable.rounds();
        2 * (rounds.end - rounds.start)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let now = self.timetable.rounds().end - 1 - index / 2;
        let transfers = index.is_multiple_of(2);
        for edge in self.timetable.above.iter().filter(|_| transfers) {
            if let Some(block) = self.timetable.block_in_round(edge, now) {
                round.send(edge.peer, self.span(self.leaving(edge), block));
            }
        }
        for (number, edge) in self.timetable.below.iter().enumerate() {
            let Some(block) = self.timetable.block_in_round(edge, now) else {
                continue;
            };
            // The last rounds of the broadcast come first, one block in each.
            let earlier = self.timetable.passing_down_after(now);
            let received = self.span(self.arrivals().buffer(earlier), block);
            if transfers {
                round.recv(edge.peer, received);
            } else {
                let own = self.span(self.own(number), block);
                let into = self.span(self.partial(), block);
                round.combine_by_rank(edge.peer < self.rank, received, own, into);
            }
        }
    }
}
