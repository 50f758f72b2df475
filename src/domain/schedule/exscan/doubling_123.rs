//! Doubling at distances 1, 2, 3, 6, 12, ...: fewer combinations than any other exclusive scan in as few rounds.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::{Buffer, Collective, Rank, Room, Round, Shape, Span};

/// `q = ceil(log2(p - 1) + log2(4/3))` steps and `q` combinations one after the other, one of them before a send.
///
/// First a rank's vector goes to the next rank. Then what a rank has received, with its own vector, goes two ranks
/// further, so that every rank has the combination of the three ranks before it. From then on results are passed on as
/// they are, at distances that double.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Exscan,
    id: "doubling_123",
    summary: "results passed on at distances 1, 2, 3, 6, 12, ..., for any number of ranks",
    source: "Träff 2025, exclusive scan by 123-doubling",
    formula: "q (alpha + beta m + gamma m), q = ceil(log2(p-1) + log2(4/3))",
    scratch,
    program: |shape, rank| {
        Box::new(Doubling {
            rank,
            ranks: shape.ranks,
            in_place: shape.in_place,
        })
    },
    ..PLAIN
};

/// An arriving vector, the sum that leaves in the second step, and in place the result, as the output still holds the
/// rank's own vector.
fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    match (rank, shape.in_place) {
        (0, _) => Vec::new(),
        (_, false) => vec![Room::WHOLE; 2],
        (_, true) => vec![Room::WHOLE; 3],
    }
}

const ARRIVED: Buffer = Buffer::Scratch(0);
const SUM: Buffer = Buffer::Scratch(1);

struct Doubling {
    rank: Rank,
    ranks: u32,
    in_place: bool,
}

/// The distance of a step.
fn distance(step: u64) -> u64 {
    match step {
        0 => 1,
        1 => 2,
        _ => 3 << (step - 2),
    }
}

impl Doubling {
    /// The steps after which the last rank has combined the vectors of all others: before a step of distance `d >= 3` a
    /// rank has those of the last `d` ranks.
    fn steps(&self) -> u64 {
        let others = u64::from(self.ranks) - 1;
        match others {
            1 => 1,
            _ => 2 + (2..).take_while(|step| distance(*step) < others).count() as u64,
        }
    }

    /// The buffer of the result so far.
    fn result(&self) -> Span {
        Span::whole(if self.in_place {
            Buffer::Scratch(2)
        } else {
            Buffer::Output
        })
    }

    fn after(&self, step: u64) -> Option<Rank> {
        let after = u64::from(self.rank) + distance(step);
        (after < self.ranks.into()).then_some(after as Rank)
    }

    /// The rank from which something arrives in a step; rank 0 has a result in none, and sends only its own vector.
    fn before(&self, step: u64) -> Option<Rank> {
        let first_sender = u64::from(step > 1);
        let before = u64::from(self.rank).checked_sub(distance(step))?;
        (before >= first_sender).then_some(before as Rank)
    }

    /// The vector that leaves in a step.
    fn leaving(&self, step: u64) -> Option<Span> {
        match (step, self.rank) {
            (0, _) | (1, 0) => Some(Span::whole(Buffer::Input)),
            (1, _) => Some(Span::whole(SUM)),
            (_, 0) => None,
            _ => Some(self.result()),
        }
    }
}

impl Program for Doubling {
    fn rounds(&self) -> u64 {
        // In each step local work before the exchange, the exchange, and local work after it; at the end the copy of
        // the result to its place.
        3 * self.steps() + u64::from(self.in_place && self.rank > 0)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let (step, part) = (index / 3, index % 3);
        if step == self.steps() {
            return round.copy(self.result(), Span::whole(Buffer::Output));
        }
        let (after, before) = (self.after(step), self.before(step));
        let arrived = if step == 0 {
            self.result()
        } else {
            Span::whole(ARRIVED)
        };
        match part {
            0 => {
                if step == 1 && self.rank > 0 && after.is_some() {
                    let own = Span::whole(Buffer::Input);
                    round.combine(self.result(), own, Span::whole(SUM));
                }
            }
            1 => {
                if let (Some(after), Some(leaving)) = (after, self.leaving(step)) {
                    round.send(after, leaving);
                }
                if let Some(before) = before {
                    round.recv(before, arrived);
                }
            }
            _ => {
                if step > 0 && before.is_some() {
                    round.combine(arrived, self.result(), self.result());
                }
            }
        }
    }
}
