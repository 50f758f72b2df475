//! Recursive doubling: partners at distances 1, 2, 4, ... exchange the totals of their groups.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::shape::log2_ceil;
use crate::{Buffer, Collective, Rank, Room, Round, Shape, Span};

/// The ranks whose vectors a result combines; the exchange is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Of the ranks up to this one.
    Inclusive,
    /// Of the ranks before this one.
    Exclusive,
}

/// `L` steps, with two combinations in a step for the ranks of the upper half of a group: one for the group's total,
/// which the last step does not need, and one for the result.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Scan,
    id: "recursive_doubling",
    summary: "totals of groups exchanged at distances 1, 2, 4, ..., for any number of ranks",
    source: "MPICH's and Open MPI's recursive doubling",
    formula: "L (alpha + beta m) + (2L-1) gamma m, at most unless p = 2^L",
    scratch,
    program: |shape, rank| program(Extent::Inclusive, shape, rank),
    ..PLAIN
};

/// The total of the rank's group, and the arriving one.
pub(crate) fn scratch(_: &Shape, _: Rank) -> Vec<Room> {
    vec![Room::WHOLE; 2]
}

/// The program of a rank.
pub(crate) fn program(extent: Extent, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    Box::new(Doubling {
        extent,
        rank,
        ranks: shape.ranks,
    })
}

struct Doubling {
    extent: Extent,
    rank: Rank,
    ranks: u32,
}

impl Doubling {
    /// Whether the total of a rank's group after a step reaches higher ranks in a later one: of its own partners, or of
    /// those of the lower ranks that it tells before, whose numbers lack the bits in between.
    fn needs_total_after(&self, rank: Rank, step: u64) -> bool {
        let told = |later: u64| rank & !((1 << later) - (2 << step));
        let reaches = |later: u64| {
            let has_higher_partner = rank >> later & 1 == 0;
            has_higher_partner && u64::from(told(later)) + (1 << later) < self.ranks.into()
        };
        (step + 1..log2_ceil(self.ranks).into()).any(reaches)
    }

    fn partner(&self, step: u64) -> Option<Rank> {
        Some(self.rank ^ (1 << step)).filter(|partner| *partner < self.ranks)
    }

    /// The total of the rank's group before a step: its own vector until the first exchange.
    fn total_before(&self, step: u64) -> Span {
        let is_alone = (0..step).all(|earlier| self.partner(earlier).is_none());
        Span::whole(if is_alone {
            Buffer::Input
        } else {
            Buffer::Scratch(0)
        })
    }

    /// Whether a step is the first one with data of lower ranks.
    fn is_first_from_below(&self, step: u64) -> bool {
        u64::from(self.rank.trailing_zeros()) == step
    }
}

impl Program for Doubling {
    fn rounds(&self) -> u64 {
        // In each step an exchange, the total and the result: in place, the result is written where the rank's own
        // vector was, which the total still needs.
        3 * u64::from(log2_ceil(self.ranks))
    }

    fn round(&self, index: u64, round: &mut Round) {
        let [input, output] = [Buffer::Input, Buffer::Output].map(Span::whole);
        let [total, arrived] = [0, 1].map(|scratch| Span::whole(Buffer::Scratch(scratch)));
        let step = index / 3;
        let has_result = self.extent == Extent::Inclusive;
        if index == 0 && has_result {
            round.copy(input, output);
        }
        let Some(partner) = self.partner(step) else {
            return;
        };
        let is_lower = partner < self.rank;
        let of_group = self.total_before(step);
        match index % 3 {
            0 => {
                if !is_lower || self.needs_total_after(partner, step) {
                    round.send(partner, of_group);
                }
                if is_lower || self.needs_total_after(self.rank, step) {
                    round.recv(partner, arrived);
                }
            }
            1 => {
                if self.needs_total_after(self.rank, step) {
                    round.combine_by_rank(is_lower, arrived, of_group, total);
                }
            }
            _ => {
                if !is_lower {
                    return;
                }
                if has_result || !self.is_first_from_below(step) {
                    round.combine(arrived, output, output);
                } else {
                    round.copy(arrived, output);
                }
            }
        }
    }
}
