//! Up and down a binomial tree.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::scan::binomial::{Exchange, UpAndDown};
use crate::{Buffer, Collective, Rank, Room, Round, Shape, Span};

/// The messages of the inclusive scan of the same name, at most `2 L - 1` of them one after the other. A rank keeps its own
/// vector apart from those of the ranks before it, and adds it to what it sends.
///
/// On the way up, at distances `d = 1, 2, 4, ...`, the last rank of every group of `2 d` combines what the first half has
/// with what the ranks before it in the second half have. On the way down the last rank of every complete group passes the
/// combination up to its own vector to the last one of the next group's first half.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Exscan,
    id: "binomial",
    summary: "up a binomial tree to partial results, and down to the results of all ranks",
    source: "Brent, Kung 1982; Blelloch 1989",
    formula: "about (2L-1) (alpha + beta m) + 3L gamma m, fewer messages than doubling",
    scratch: |shape, rank| Member::new(shape, rank).rooms(),
    program: |shape, rank| Box::new(Member::new(shape, rank)),
    ..PLAIN
};

/// A rank, which ends a group of `2^level` ranks on the way up.
struct Member {
    tree: UpAndDown,
    rank: Rank,
    ranks: u32,
    in_place: bool,
    level: u64,
}

impl Member {
    fn new(shape: &Shape, rank: Rank) -> Self {
        Self {
            tree: UpAndDown::new(shape, rank),
            rank,
            ranks: shape.ranks,
            in_place: shape.in_place,
            level: (u64::from(rank) + 1).trailing_zeros().into(),
        }
    }

    /// Whether it ends a group of one rank, so that nothing arrives on the way up and its own vector is all that it sends.
    fn is_alone(&self) -> bool {
        self.level == 0
    }

    /// Whether its group has other ranks and ranks come after it, which need the group's total with its own vector.
    fn has_total(&self) -> bool {
        !self.is_alone() && self.rank + 1 < self.ranks
    }

    /// Whether ranks come before its group. Their combination arrives on the way down.
    fn has_earlier(&self) -> bool {
        (u64::from(self.rank) + 1) >> self.level > 1
    }

    /// Whether the result so far needs memory of its own, as the output still holds the rank's own vector.
    fn keeps_result_apart(&self) -> bool {
        self.in_place && self.has_total()
    }

    /// Whether something arrives besides what becomes the result so far.
    fn has_arrivals(&self) -> bool {
        !self.is_alone() && (self.level > 1 || self.has_earlier())
    }

    fn rooms(&self) -> Vec<Room> {
        let needed = [
            self.has_arrivals(),
            self.has_total(),
            self.keeps_result_apart(),
        ];
        let rooms = needed.into_iter().filter(|is_needed| *is_needed);
        rooms.map(|_| Room::WHOLE).collect()
    }

    /// The combination of the ranks before this one in its group; on the way down, that of all before it.
    fn result(&self) -> Span {
        Span::whole(if self.keeps_result_apart() {
            Buffer::Scratch(1 + u8::from(self.has_arrivals()))
        } else {
            Buffer::Output
        })
    }

    /// The combination of its group up to its own vector; on the way down, that of all ranks up to this one.
    fn total(&self) -> Span {
        Span::whole(if self.is_alone() {
            Buffer::Input
        } else {
            Buffer::Scratch(self.has_arrivals().into())
        })
    }

    /// The memory for what arrives in a step.
    fn arrival_span(&self, step: u64) -> Span {
        if self.is_alone() {
            // Its own vector has left, and nothing has to be combined.
            Span::whole(Buffer::Output)
        } else if step == 0 {
            self.result()
        } else {
            Span::whole(Buffer::Scratch(0))
        }
    }

    /// The messages of a step, and the work that can be done meanwhile.
    fn meet(&self, step: u64, round: &mut Round) {
        match self.tree.exchange(step) {
            Exchange::SendTo(rank) => round.send(rank, self.total()),
            Exchange::CombineFrom(rank) => round.recv(rank, self.arrival_span(step)),
            Exchange::Nothing => {}
        }
        let output = Span::whole(Buffer::Output);
        if self.is_first_step_down(step) && self.has_earlier() {
            // Others wait for the total, which was combined before.
            round.combine(self.arrival_span(step), self.result(), output);
        } else if self.is_first_step_down(step) && self.keeps_result_apart() {
            round.copy(self.result(), output);
        }
    }

    /// Whether a step follows the one in which the combination of the earlier ranks arrives, if there are any.
    fn is_first_step_down(&self, step: u64) -> bool {
        !self.is_alone() && step + self.level == self.tree.steps()
    }

    /// What others need of what has arrived in a step.
    fn combine_arrived(&self, step: u64, round: &mut Round) {
        let has_arrived = matches!(self.tree.exchange(step), Exchange::CombineFrom(_));
        if !has_arrived || self.is_alone() || step == 0 {
            return;
        }
        let arrived = self.arrival_span(step);
        if step < self.level {
            round.combine(arrived, self.result(), self.result());
        } else if self.has_total() {
            round.combine(arrived, self.total(), self.total());
        }
    }
}

impl Program for Member {
    fn rounds(&self) -> u64 {
        // In each step the total before the exchange, the exchange, and what others need of what arrived.
        3 * self.tree.steps()
    }

    fn round(&self, index: u64, round: &mut Round) {
        let step = index / 3;
        match index % 3 {
            0 => {
                if step == self.level && self.has_total() {
                    let own = Span::whole(Buffer::Input);
                    round.combine(self.result(), own, self.total());
                }
            }
            1 => self.meet(step, round),
            _ => self.combine_arrived(step, round),
        }
    }
}
