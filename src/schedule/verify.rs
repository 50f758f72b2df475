//! The proof that a schedule does what its collective promises.
//!
//! Every unit of memory holds the set of ranks whose contributions it combines, and whether they were combined in
//! rank order. The programs of all ranks are run together on such values; every error is a [`Fault`]. A schedule that
//! passes is correct on this shape for all data, and for every operator, or for every commutative one if the
//! algorithm is not ordered. A [`Grid`] holds the shapes on which an algorithm is proved.

mod grid;
mod sweep;

use std::rc::Rc;

pub use self::grid::Grid;
pub use self::sweep::{Refutation, Unprovable, Verdict, Verify};

use crate::engine::{Domain, Engine, Tally};
use crate::fault::{Fault, Misdeed};
use crate::program::Program;
use crate::{Held, Rank, Schedule};

/// The observations of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Whether every combination joined adjacent ranges of ranks, lower ranks on the left.
    pub ordered: bool,
    /// Messages, rounds, units.
    pub tally: Tally,
}

/// Proves a schedule correct.
///
/// An algorithm that is registered as ordered must combine in order. Takes time and memory proportional to ranks x
/// units.
pub fn verify(schedule: &Schedule) -> Result<Proof, Fault> {
    verify_programs(schedule, &|rank| schedule.program(rank))
}

/// Verifies the given programs instead of the schedule's own, to show that faulty algorithms are caught.
pub fn verify_programs(
    schedule: &Schedule,
    programs: &dyn Fn(Rank) -> Box<dyn Program>,
) -> Result<Proof, Fault> {
    let must_be_ordered = schedule.ordered();
    let mut engine = Engine::new(
        schedule,
        Contributions {
            must_be_ordered,
            ordered: true,
            last: None,
        },
        programs,
    );
    let tally = engine.run()?;
    for rank in 0..schedule.shape().ranks {
        check_result(schedule, rank, &engine)?;
    }
    Ok(Proof {
        ordered: engine.into_domain().ordered,
        tally,
    })
}

fn check_result(
    schedule: &Schedule,
    rank: Rank,
    engine: &Engine<'_, Contributions>,
) -> Result<(), Fault> {
    let collective = schedule.algorithm().collective;
    let held = collective.after(schedule.shape(), rank);
    for (unit, value) in engine.output(rank) {
        let ranks = match held {
            Held::Undefined => return Ok(()),
            Held::Ranks(first, last) => Ranks::Range(first, last),
            Held::Parts => {
                let owner = engine.owner(unit);
                Ranks::Range(owner, owner)
            }
        };
        let expected = Contribution { unit, ranks };
        if value != Some(&expected) {
            let found = match value {
                None => "nothing".to_owned(),
                Some(value) => value.to_string(),
            };
            return Err(Fault::WrongResult { rank, unit, found });
        }
    }
    Ok(())
}

/// The combined contributions of some ranks to one unit of the vector.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Contribution {
    unit: u64,
    ranks: Ranks,
}

/// A set of ranks: first and last of each run of consecutive ones, ascending, not adjacent.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ranks {
    Range(Rank, Rank),
    Runs(Rc<[(Rank, Rank)]>),
}

impl Ranks {
    /// Whether two sets are equal without comparing their runs.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Range(..), Self::Range(..)) => self == other,
            (Self::Runs(own), Self::Runs(other)) => Rc::ptr_eq(own, other),
            _ => false,
        }
    }

    fn runs(&self) -> impl Iterator<Item = (Rank, Rank)> {
        let (range, runs) = match self {
            Self::Range(first, last) => (Some((*first, *last)), &[][..]),
            Self::Runs(runs) => (None, &runs[..]),
        };
        range.into_iter().chain(runs.iter().copied())
    }

    /// The union of disjoint sets, or a rank that is in both.
    fn union(&self, other: &Self) -> Result<Self, Rank> {
        let (mut own, mut others) = (self.runs().peekable(), other.runs().peekable());
        let mut merged: Vec<(Rank, Rank)> = Vec::new();
        loop {
            let next = match (own.peek(), others.peek()) {
                (Some(run), Some(other)) if run <= other => own.next(),
                (Some(_), None) => own.next(),
                _ => others.next(),
            };
            let Some((first, last)) = next else {
                break;
            };
            match merged.last_mut() {
                Some((_, end)) if first <= *end => return Err(first),
                Some((_, end)) if first == *end + 1 => *end = last,
                _ => merged.push((first, last)),
            }
        }
        Ok(match merged[..] {
            [(first, last)] => Self::Range(first, last),
            _ => Self::Runs(merged.into()),
        })
    }
}

impl std::fmt::Display for Contribution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "unit {} of ranks", self.unit)?;
        for (first, last) in self.ranks.runs() {
            write!(f, " {first}..={last}")?;
        }
        Ok(())
    }
}

struct Contributions {
    must_be_ordered: bool,
    ordered: bool,
    /// Two sets and their union, cached, as most units of a span hold the same sets.
    last: Option<[Ranks; 3]>,
}

impl Contributions {
    fn union(&mut self, left: &Ranks, right: &Ranks) -> Result<Ranks, Rank> {
        if let Some([first, second, union]) = &self.last
            && first.is(left)
            && second.is(right)
        {
            return Ok(union.clone());
        }
        let union = left.union(right)?;
        self.last = Some([left.clone(), right.clone(), union.clone()]);
        Ok(union)
    }
}

impl Domain for Contributions {
    type Value = Contribution;

    fn initial(&self, rank: Rank, unit: u64) -> Contribution {
        Contribution {
            unit,
            ranks: Ranks::Range(rank, rank),
        }
    }

    fn combine(
        &mut self,
        left: &Contribution,
        right: &Contribution,
    ) -> Result<Contribution, Misdeed> {
        if left.unit != right.unit {
            return Err(Misdeed::Mixed(left.unit, right.unit));
        }
        let unit = left.unit;
        let ranks = match (&left.ranks, &right.ranks) {
            (Ranks::Range(first, end), Ranks::Range(begin, last)) if end + 1 == *begin => {
                Ranks::Range(*first, *last)
            }
            (left, right) => {
                let union = self.union(left, right).map_err(Misdeed::Doubled)?;
                if self.must_be_ordered {
                    let end = left.runs().last().map_or(0, |run| run.1);
                    let begin = right.runs().next().map_or(0, |run| run.0);
                    return Err(Misdeed::Misordered(end, begin));
                }
                self.ordered = false;
                union
            }
        };
        Ok(Contribution { unit, ranks })
    }
}
