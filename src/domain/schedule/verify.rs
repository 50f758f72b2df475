//! The proof that a schedule does what its collective promises.
//!
//! Every unit of memory holds the tree of combinations that made its value: which ranks' contributions it combines, in
//! which order, and how they are bracketed. The programs of all ranks are run together on such values; every error is a
//! [`Fault`]. A schedule that passes is correct on this shape for all data, and for every operator, or for every
//! commutative one if the algorithm is not ordered. All ranks that end with a unit have made it by the same tree, so
//! their results are identical even if the operator rounds, as MPI requires (MPI 4.0, section 6.9.6), except in scans,
//! where each rank has its own result. In a barrier a chain of messages from every rank must reach every rank. No rank
//! writes what is an input to MPI, which may be in memory that cannot be written: its input, and the buffer of a
//! broadcast's root. A [`Grid`] holds the shapes on which an algorithm is proved.

mod bracketing;
mod grid;
mod sweep;
mod told;

use std::rc::Rc;

use rustc_hash::FxHashMap;

pub use self::bracketing::Bracketing;
use self::bracketing::{BracketingRecord, Brackets};
pub use self::grid::Grid;
pub use self::sweep::{Refutation, Unprovable, Verdict, Verify};

use crate::engine::{Domain, Engine, Tally};
use crate::fault::{Fault, Misdeed};
use crate::program::Program;
use crate::{Algorithm, Blocks, BracketedBy, Buffer, Held, Rank, Request, Schedule};

/// The observations of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Whether every combination joined adjacent ranges of ranks, lower ranks on the left.
    pub ordered: bool,
    /// Messages, rounds, units.
    pub tally: Tally,
    /// How contributions were combined; `None` if no element of a result combines any.
    pub bracketing: Option<Bracketing>,
}

/// Proves a schedule correct.
///
/// An algorithm that is registered as ordered must combine in order. Takes time and memory proportional to ranks x
/// units.
pub fn verify_schedule(schedule: &Schedule) -> Result<Proof, Fault> {
    verify_programs(schedule, &|rank| schedule.program(rank))
}

/// Verifies the given programs instead of the schedule's own, to show that faulty algorithms are caught.
pub fn verify_programs(
    schedule: &Schedule,
    programs: &dyn Fn(Rank) -> Box<dyn Program>,
) -> Result<Proof, Fault> {
    let mut engine = Engine::new(schedule, Trees::for_schedule(schedule), programs);
    let tally = engine.run_programs()?;
    told::check_told_sizes(schedule, programs)?;
    let mut first = FxHashMap::default();
    for rank in 0..schedule.shape().ranks {
        check_result(schedule, rank, &engine, &mut first)?;
    }
    Ok(Proof {
        ordered: engine.domain().ordered,
        tally,
        bracketing: record_bracketing(schedule, &engine),
    })
}

/// How a schedule brackets the contributions to its results: [`Proof::bracketing`], observed on as short a vector as has
/// the trees of all elements, with the same ranks, root, nodes and number of blocks.
///
/// `None` if it combines nothing, as on one rank, if that vector is so long on so many ranks that it would take more
/// than [`MOST_OBSERVED_UNITS`], or if the schedule is not correct. Parts have one size.
pub fn observe_bracketing(schedule: &Schedule) -> Option<Bracketing> {
    observe_bracketing_within(schedule, MOST_OBSERVED_UNITS)
}

/// The depth of a call's trees ([`Bracketing::depth`]) for vectors of any length in any number of blocks; 0 on one rank.
///
/// `None` if the algorithm combines nothing or cannot serve the call, or if a vector with all of its trees would take so
/// many units, in the vectors of all ranks together, that answers about tables would take long.
pub fn observe_depth(algorithm: &'static Algorithm, request: &Request<'_>) -> Option<u32> {
    let bracketed_by = algorithm.bracketed_by(&request.parameters)?;
    if request.ranks == 1 {
        return Some(0);
    }
    observe_any_length(algorithm, request, &bracketed_by).map(|bracketing| bracketing.depth)
}

/// A fingerprint of the tree by which every element of every result is made ([`Bracketing::of_each`]), whatever the length
/// of the vector, the number of blocks and the root.
///
/// `None` if the element's place or the root decides the tree, or if [`observe_depth`] would not answer.
pub fn observe_tree(algorithm: &'static Algorithm, request: &Request<'_>) -> Option<u64> {
    let bracketed_by = algorithm.bracketed_by(&request.parameters)?;
    let differs = [BracketedBy::Element, BracketedBy::Root];
    if differs.iter().any(|by| bracketed_by.contains(by)) {
        return None;
    }
    observe_any_length(algorithm, request, &bracketed_by)?.of_each
}

/// The trees of vectors of any length in any number of blocks.
fn observe_any_length(
    algorithm: &'static Algorithm,
    request: &Request<'_>,
    bracketed_by: &[BracketedBy],
) -> Option<Bracketing> {
    let mut parameters = request.parameters;
    if parameters.blocks.is_some() {
        // Where all elements have one tree, blocks change nothing; elsewhere, a few blocks have all trees.
        let blocks = if bracketed_by.contains(&BracketedBy::Element) {
            BLOCKS_WITH_ALL_DEPTHS
        } else {
            1
        };
        parameters.blocks = Some(Blocks::Count(blocks));
    }
    let request = Request {
        units: u64::from(request.ranks) * u64::from(BLOCKS_WITH_ALL_DEPTHS),
        parameters,
        counts: None,
        ..*request
    };
    let schedule = Schedule::new(algorithm, &request).ok()?;
    observe_bracketing_within(&schedule, MOST_DEPTH_UNITS)
}

/// The number of blocks from which on more of them make no tree deeper.
const BLOCKS_WITH_ALL_DEPTHS: u32 = 4;

/// The most units, in the vectors of all ranks together, on which [`observe_depth`] runs a schedule.
const MOST_DEPTH_UNITS: u64 = 1 << 20;

fn observe_bracketing_within(schedule: &Schedule, most_units: u64) -> Option<Bracketing> {
    let bracketed_by = schedule.bracketed_by()?;
    let shape = schedule.shape();
    let ranks = u64::from(shape.ranks);
    let elements = if bracketed_by.contains(&BracketedBy::Element) {
        // There is at most a piece for each rank, and each piece is cut into blocks.
        ranks.saturating_mul(shape.blocks.into())
    } else {
        1
    };
    let is_sized_by_part = schedule.algorithm().collective.is_sized_by_part();
    let units = if is_sized_by_part {
        elements.div_ceil(ranks)
    } else {
        elements
    };
    // The vector of a rank has as many units as the parts of all ranks.
    let in_vector = if is_sized_by_part {
        units.saturating_mul(ranks)
    } else {
        units
    };
    if in_vector.saturating_mul(ranks) > most_units {
        return None;
    }
    let proof = verify_schedule(&schedule.with_units(units)).ok()?;
    proof.bracketing
}

/// The most units, in the vectors of all ranks together, on which [`observe_bracketing`] runs a schedule.
pub const MOST_OBSERVED_UNITS: u64 = 1 << 22;

/// The trees of a reduction's results, which have been checked.
fn record_bracketing(schedule: &Schedule, engine: &Engine<'_, Trees>) -> Option<Bracketing> {
    let collective = schedule.algorithm().collective;
    if !collective.is_reduction() {
        return None;
    }
    let trees = engine.domain();
    let mut record = BracketingRecord::default();
    for rank in 0..schedule.shape().ranks {
        if collective.postcondition(schedule.shape(), rank) == Held::Undefined {
            continue;
        }
        if collective.is_prefix_reduction() {
            record.begin_result();
        }
        for (element, value) in engine.output_values(rank) {
            if let Some(value) = value {
                record.add_element(element, trees.brackets[value.tree as usize]);
            }
        }
    }
    record.to_bracketing()
}

/// `first` has the first rank that ended with a unit, and the unit's tree there.
fn check_result(
    schedule: &Schedule,
    rank: Rank,
    engine: &Engine<'_, Trees>,
    first: &mut FxHashMap<u64, (Rank, Tree)>,
) -> Result<(), Fault> {
    let collective = schedule.algorithm().collective;
    let held = collective.postcondition(schedule.shape(), rank);
    if !collective.has_data() {
        let unheard = engine.first_unheard(rank);
        return unheard.map_or(Ok(()), |other| Err(Fault::NotAwaited { rank, other }));
    }
    let trees = engine.domain();
    for (unit, value) in engine.output_values(rank) {
        let (ranks, expected_unit) = match held {
            Held::Undefined => return Ok(()),
            Held::Ranks(lowest, last) => (Ranks::Range(lowest, last), unit),
            Held::Parts => {
                let owner = engine.layout(rank).part_owner(unit);
                (Ranks::Range(owner, owner), unit)
            }
            Held::PartsForRank => {
                let layout = engine.layout(rank);
                let owner = layout.part_owner(unit);
                let within = unit - layout.part_start(Buffer::Output, owner);
                let start = engine.layout(owner).part_start(Buffer::Input, rank);
                (Ranks::Range(owner, owner), start + within)
            }
        };
        let tree = match value {
            Some(value)
                if value.unit == expected_unit && *trees.tree_ranks(value.tree) == ranks =>
            {
                value.tree
            }
            _ => {
                let found = value.map_or_else(
                    || "nothing".to_owned(),
                    |value| trees.describe_contribution(value),
                );
                return Err(Fault::WrongResult { rank, unit, found });
            }
        };
        if !collective.is_reduction() || collective.is_prefix_reduction() {
            // Nothing is combined, or every rank has a result of its own.
            continue;
        }
        let (other, expected) = *first.entry(unit).or_insert((rank, tree));
        if tree != expected {
            return Err(Fault::Inconsistent { rank, other, unit });
        }
    }
    Ok(())
}

/// The index of a tree of combinations; that of a single contribution is its rank.
type Tree = u32;

/// The combined contributions to one unit of the vector.
#[derive(Clone, Copy, Debug)]
struct Contribution {
    unit: u64,
    tree: Tree,
}

/// A set of ranks: first and last of each run of consecutive ones, ascending, not adjacent.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ranks {
    Range(Rank, Rank),
    Runs(Rc<[(Rank, Rank)]>),
}

impl Ranks {
    fn runs(&self) -> impl Iterator<Item = (Rank, Rank)> {
        let (range, runs) = match self {
            Self::Range(first, last) => (Some((*first, *last)), &[][..]),
            Self::Runs(runs) => (None, &runs[..]),
        };
        range.into_iter().chain(runs.iter().copied())
    }

    /// The union of disjoint sets, or a rank that is in both.
    fn union_with(&self, other: &Self) -> Result<Self, Rank> {
        let (mut own, mut others) = (self.runs().peekable(), other.runs().peekable());
        let mut merged: Vec<(Rank, Rank)> = Vec::new();
        loop {
            let next = match (own.peek(), others.peek()) {
                (Some(run), Some(other_run)) if run <= other_run => own.next(),
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

/// All trees of combinations in a schedule, each once.
struct Trees {
    must_be_ordered: bool,
    ordered: bool,
    /// The contributing ranks of each tree.
    ranks: Vec<Ranks>,
    /// The shape of each tree.
    brackets: Vec<Brackets>,
    /// The tree of each combination of two.
    combined: FxHashMap<(Tree, Tree), Tree>,
    /// The last of these, as most units of a span have the same trees.
    last: Option<((Tree, Tree), Tree)>,
}

impl Trees {
    fn for_schedule(schedule: &Schedule) -> Self {
        let ranks = 0..schedule.shape().ranks;
        Self {
            must_be_ordered: schedule.is_ordered(),
            ordered: true,
            brackets: ranks.clone().map(Brackets::of_rank).collect(),
            ranks: ranks.map(|rank| Ranks::Range(rank, rank)).collect(),
            combined: FxHashMap::default(),
            last: None,
        }
    }

    fn tree_ranks(&self, tree: Tree) -> &Ranks {
        &self.ranks[tree as usize]
    }

    fn describe_contribution(&self, value: &Contribution) -> String {
        let runs = self.tree_ranks(value.tree).runs();
        let runs = runs.map(|(first, last)| format!(" {first}..={last}"));
        format!("unit {} of ranks{}", value.unit, runs.collect::<String>())
    }

    /// The ranks of a combination that has not been made before.
    fn combined_ranks(&mut self, left: Tree, right: Tree) -> Result<Ranks, Misdeed> {
        let (left, right) = (self.tree_ranks(left), self.tree_ranks(right));
        if let (Ranks::Range(first, end), Ranks::Range(begin, last)) = (left, right)
            && end + 1 == *begin
        {
            return Ok(Ranks::Range(*first, *last));
        }
        let union = left.union_with(right).map_err(Misdeed::Doubled)?;
        if self.must_be_ordered {
            let end = left.runs().last().map_or(0, |run| run.1);
            let begin = right.runs().next().map_or(0, |run| run.0);
            return Err(Misdeed::Misordered(end, begin));
        }
        self.ordered = false;
        Ok(union)
    }
}

impl Domain for Trees {
    type Value = Contribution;

    fn initial_value(&self, rank: Rank, unit: u64) -> Contribution {
        Contribution { unit, tree: rank }
    }

    fn combine_values(
        &mut self,
        left: &Contribution,
        right: &Contribution,
    ) -> Result<Contribution, Misdeed> {
        if left.unit != right.unit {
            return Err(Misdeed::Mixed(left.unit, right.unit));
        }
        let pair = (left.tree, right.tree);
        let known = match self.last {
            Some((last, tree)) if last == pair => Some(tree),
            _ => self.combined.get(&pair).copied(),
        };
        let tree = match known {
            Some(tree) => tree,
            None => {
                let ranks = self.combined_ranks(left.tree, right.tree)?;
                self.ranks.push(ranks);
                let [left, right] = [left, right].map(|side| self.brackets[side.tree as usize]);
                self.brackets.push(left.join(right));
                (self.ranks.len() - 1) as Tree
            }
        };
        if known.is_none() {
            self.combined.insert(pair, tree);
        }
        self.last = Some((pair, tree));
        Ok(Contribution {
            unit: left.unit,
            tree,
        })
    }
}
