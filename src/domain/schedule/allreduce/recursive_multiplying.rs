//! Recursive multiplying: ranks with numbers that differ in one digit of radix k exchange whole vectors.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::tree::digits::digits;
use crate::tree::fold::{Away, Fold, Role};
use crate::{Buffer, Collective, Parameter, Rank, Room, Round, Shape, Span};

/// One step per digit, with `d - 1` messages at once and `d - 1` combinations for a digit of radix `d`, with `d <= k`.
/// With radix 2 it is `recursive_doubling`.
///
/// If p is a product of numbers up to k, these are the radices of the digits. Otherwise the ranks fold to `d k^t`
/// positions, `d < k`: odd ones of the first ranks send their vector to the left neighbour before, and receive the
/// result from it after. The vectors of all that differ in a digit are combined from the lowest digit up, by every one
/// of them, so that all results are identical for rounding operators too. Neighbours come first, so every combination
/// joins adjacent ranges. A rank needs scratch memory for up to `k - 1` vectors.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Allreduce,
    id: "recursive_multiplying",
    summary: "whole vectors exchanged at once among all that differ in a digit of radix k, neighbours first",
    source: "Ruefenacht, Bull, Booth 2017, Generalisation of recursive doubling for allreduce",
    formula: "ceil(log_k p) (alpha + (k-1) (beta + gamma) m) if p = k^t, else with other digits up to k or two messages more",
    parameters: &[Parameter::Radix],
    scratch: |shape, rank| scratch(shape.radix, shape, rank),
    program: |shape, rank| program(shape.radix, shape, rank),
    ..PLAIN
};

/// The scratch buffers: one for each of the vectors that arrive at once.
pub(super) fn scratch(radix: u32, shape: &Shape, rank: Rank) -> Vec<Room> {
    let digits = digits(radix, shape.ranks);
    match fold(&digits, shape).role_of_rank(rank) {
        Role::GoesOn { .. } => {
            let most = digits.iter().max().map_or(0, |digit| digit - 1);
            vec![Room::WHOLE; most as usize]
        }
        Role::Away { .. } => vec![],
    }
}

/// The program of a rank.
pub(super) fn program(radix: u32, shape: &Shape, rank: Rank) -> Box<dyn Program> {
    let digits = digits(radix, shape.ranks);
    let fold = fold(&digits, shape);
    match fold.role_of_rank(rank) {
        Role::Away { neighbour } => Box::new(Away {
            neighbour,
            result: Span::whole(Buffer::Output),
        }),
        Role::GoesOn {
            position,
            stands_for,
        } => Box::new(Multiplying {
            fold,
            digits,
            position,
            stands_for,
        }),
    }
}

fn fold(digits: &[u32], shape: &Shape) -> Fold {
    Fold::to_positions(digits.iter().product(), shape.ranks)
}

fn received(place: u32) -> Span {
    Span::whole(Buffer::Scratch(place as u8))
}

/// A rank that takes part in the exchanges.
struct Multiplying {
    fold: Fold,
    digits: Vec<u32>,
    position: u32,
    /// The right neighbour that is folded away.
    stands_for: Option<Rank>,
}

/// The positions that differ in one digit only.
struct Group {
    /// The position with the digit 0.
    first: u32,
    /// The distance between neighbours.
    distance: u32,
    count: u32,
    /// The digit of the rank itself.
    own: u32,
}

impl Multiplying {
    fn exchange(&self, group: &Group, own: Span, round: &mut Round) {
        let Group { count, .. } = *group;
        let rank = |digit: u32| {
            self.fold
                .rank_at_position(group.first + digit * group.distance)
        };
        for distance in 1..count {
            let to = (group.own + distance) % count;
            let from = (group.own + (count - distance)) % count;
            round.send(rank(to), own);
            round.recv(rank(from), group.received(from));
        }
    }
}

impl Group {
    /// The scratch buffer for the vector of the position with this digit.
    fn received(&self, digit: u32) -> Span {
        received(digit - u32::from(digit > self.own))
    }

    /// Combines the vector of a digit, from 1, with those of all lower digits. `own` is the rank's own vector.
    fn combine(&self, digit: u32, own: Span, round: &mut Round) {
        // Lower digits than the rank's own are combined in scratch memory.
        let combined = |last: u32| {
            if last < self.own {
                received(0)
            } else {
                Span::whole(Buffer::Output)
            }
        };
        let vector = |of_digit: u32| {
            if of_digit == self.own {
                own
            } else {
                self.received(of_digit)
            }
        };
        let lower = match digit {
            1 => vector(0),
            _ => combined(digit - 1),
        };
        round.combine(lower, vector(digit), combined(digit));
    }
}

impl Program for Multiplying {
    fn rounds(&self) -> u64 {
        let folding = if self.stands_for.is_some() { 3 } else { 0 };
        folding + self.digits.iter().copied().map(u64::from).sum::<u64>()
    }

    fn round(&self, index: u64, round: &mut Round) {
        let [input, result] = [Buffer::Input, Buffer::Output].map(Span::whole);
        let index = match self.stands_for {
            Some(away) if index == 0 => return round.recv(away, received(0)),
            Some(_) if index == 1 => return round.combine(input, received(0), result),
            Some(away) if index + 1 == self.rounds() => return round.send(away, result),
            Some(_) => index - 2,
            None => index,
        };
        let (mut turn, mut distance) = (index as u32, 1);
        for &count in &self.digits {
            if turn < count {
                let digit = self.position / distance % count;
                let group = Group {
                    first: self.position - digit * distance,
                    distance,
                    count,
                    own: digit,
                };
                let own = if distance == 1 && self.stands_for.is_none() {
                    input
                } else {
                    result
                };
                return match turn {
                    0 => self.exchange(&group, own, round),
                    _ => group.combine(turn, own, round),
                };
            }
            turn -= count;
            distance *= count;
        }
    }
}
