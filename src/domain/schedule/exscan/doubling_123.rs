//! Doubling at distances 1, 2, 3, 6, 12, ...: fewer combinations than any other exclusive scan in as few rounds.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::{Buffer, Collective, Rank, Room, Round, Shape, Span};

/// `q = ceil(log2(p - 1) + log2(4/3))` steps, with `q - 1` combinations for the result, and one before the second send;
/// fewer for `p <= 3`.
///
/// First a rank's vector goes to the next rank. Then what a rank has received, with its own vector, goes two ranks
/// further, so that every rank has the combination of the three ranks before it. From then on results are passed on as
/// they are, at distances that double.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Exscan,
    id: "doubling_123",
    summary: "results passed on at distances 1, 2, 3, 6, 12, ..., for any number of ranks",
    source: "Träff 2025, exclusive scan by 123-doubling, arXiv 2507.04785",
    formula: "q (alpha + beta m) + (q-1) gamma m for the result + gamma m before the second send, less for p <= 3; \
              q = ceil(log2(p-1) + log2(4/3))",
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

/// An arriving vector, in place the result, as the output still holds the rank's own vector, and the sum that leaves in
/// the second step, which the last two ranks do not send.
fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    if rank == 0 {
        return Vec::new();
    }
    let has_sum = u64::from(rank) + distance(1) < shape.ranks.into();
    vec![Room::WHOLE; 1 + usize::from(shape.in_place) + usize::from(has_sum)]
}

const ARRIVED: Buffer = Buffer::Scratch(0);

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
            Buffer::Scratch(1)
        } else {
            Buffer::Output
        })
    }

    /// The buffer of the sum that leaves in the second step.
    fn sum(&self) -> Span {
        Span::whole(Buffer::Scratch(1 + u8::from(self.in_place)))
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
            (1, _) => Some(self.sum()),
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
                    round.combine(self.result(), own, self.sum());
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
