//! Requirements on the bits of reductions that round, and the rules that meet them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schedule::BracketedBy;
use thiserror::Error;
use vocabulary::Candidate;

use crate::{Lack, OperatorClass, Operators, Policy, ShapeRules};

/// The requirements that fail, by the `from_bytes` of an entry's rules.
pub(crate) type Lacks = BTreeMap<u64, Lack>;

/// What deployed rules for reductions must not let the bits of a rounded result depend on, besides the number of ranks,
/// the root, the operator and the contributions.
///
/// It holds among the calls that colltune carries out. How the library brackets contributions is unknown, so calls that
/// are left to it carry no promise. Ranks that get the same result always get the same bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Numerics {
    /// Not on the nodes that ranks are on, nor on their order there, for calls of one size.
    pub independent_of_placement: bool,
    /// Not on the size of the message, nor on an element's place in it, on one communicator.
    pub independent_of_size: bool,
}

/// A text that names no requirements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must be {}", Numerics::EXPECTED)]
pub struct UnknownNumerics;

impl Numerics {
    /// The texts that are read, in words.
    pub const EXPECTED: &str = "none, or some of same_on_all_ranks, independent_of_placement and independent_of_size, with \
                                commas between them";
    /// Is always true, and so requires nothing.
    const SAME_ON_ALL_RANKS: &str = "same_on_all_ranks";
    const PLACEMENT: &str = "independent_of_placement";
    const SIZE: &str = "independent_of_size";

    /// Whether all rules meet the requirements.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// The requirement that any rule of a reduction with this candidate fails.
    pub(crate) fn lack_of_candidate(self, candidate: &Candidate) -> Option<Lack> {
        if self.is_none() || *candidate == Candidate::Default {
            return None;
        }
        let Some(all) = candidate.bracketed_by() else {
            return Some(Lack::Bracketing);
        };
        let depends_on = |by: BracketedBy| all.contains(&by.name());
        if self.independent_of_placement && depends_on(BracketedBy::Nodes) {
            Some(Lack::Placement)
        } else if self.independent_of_size && depends_on(BracketedBy::Element) {
            Some(Lack::Size)
        } else {
            None
        }
    }
}

impl FromStr for Numerics {
    type Err = UnknownNumerics;

    fn from_str(text: &str) -> Result<Self, UnknownNumerics> {
        let mut numerics = Self::default();
        if text == "none" {
            return Ok(numerics);
        }
        for name in text.split(',') {
            match name.trim() {
                Self::SAME_ON_ALL_RANKS => {}
                Self::PLACEMENT => numerics.independent_of_placement = true,
                Self::SIZE => numerics.independent_of_size = true,
                _ => return Err(UnknownNumerics),
            }
        }
        Ok(numerics)
    }
}

/// Displays the requirements as they are read.
impl fmt::Display for Numerics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            match (self.independent_of_placement, self.independent_of_size) {
                (false, false) => "none",
                (true, false) => Self::PLACEMENT,
                (false, true) => Self::SIZE,
                (true, true) => "independent_of_placement,independent_of_size",
            },
        )
    }
}

/// Adds the rules of a reduction that fail a policy's [`Numerics`] to those that are not deployed for other reasons.
pub(crate) fn add_numerical_lacks(policy: Policy, entries: &[ShapeRules], lacks: &mut [Lacks]) {
    let numerics = policy.numerics;
    for (entry, of_entry) in entries.iter().zip(&mut *lacks) {
        for rule in &entry.rules {
            if let Some(lack) = numerics.lack_of_candidate(&rule.candidate) {
                of_entry.entry(rule.from_bytes).or_insert(lack);
            }
        }
    }
    // Entries that are left to the library as a whole stand in nobody's way on another placement.
    if numerics.independent_of_size {
        leave_entries_with_several_trees(entries, lacks);
    }
    if numerics.independent_of_placement {
        leave_rules_of_different_trees(policy, entries, lacks);
        // This may have left only some sizes of an entry to the library.
        if numerics.independent_of_size {
            leave_entries_with_several_trees(entries, lacks);
        }
    }
}

/// Withholds all rules of the entries that do not have one tree of combinations for all sizes. Sizes that are left to the
/// library have an unknown one.
fn leave_entries_with_several_trees(entries: &[ShapeRules], lacks: &mut [Lacks]) {
    for (entry, of_entry) in entries.iter().zip(lacks) {
        let deployed = deployed_rules(entry, of_entry);
        let has_one_tree = deployed.len() == entry.rules.len()
            && deployed.windows(2).all(|pair| match pair {
                [one, other] => one.candidate.without_blocks() == other.candidate.without_blocks(),
                _ => true,
            });
        if !has_one_tree {
            for rule in deployed {
                of_entry.insert(rule.from_bytes, Lack::Size);
            }
        }
    }
}

/// Withholds the rules that have another tree of combinations than a rule for the same sizes on another placement of as
/// many ranks.
fn leave_rules_of_different_trees(policy: Policy, entries: &[ShapeRules], lacks: &mut [Lacks]) {
    let mut different = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let others = entries.iter().enumerate().filter(|(_, other)| {
            // With extrapolation, an entry also serves other numbers of ranks.
            let may_have_as_many = policy.extrapolate || entry.shape.ranks() == other.shape.ranks();
            may_have_as_many
                && (entry.shape, entry.order) != (other.shape, other.order)
                && share_operators(entries, entry, other)
        });
        for (other_at, other) in others {
            let (Some(own_lacks), Some(other_lacks)) = (lacks.get(at), lacks.get(other_at)) else {
                continue;
            };
            let others_rules = deployed_rules(other, other_lacks);
            let clashing = deployed_rules(entry, own_lacks).into_iter().filter(|rule| {
                others_rules.iter().any(|of_other| {
                    rule.from_bytes < of_other.end_bytes
                        && of_other.from_bytes < rule.end_bytes
                        && rule.candidate.without_blocks() != of_other.candidate.without_blocks()
                })
            });
            different.extend(clashing.map(|rule| (at, rule.from_bytes)));
        }
    }
    for (at, from_bytes) in different {
        if let Some(of_entry) = lacks.get_mut(at) {
            of_entry.entry(from_bytes).or_insert(Lack::Placement);
        }
    }
}

/// A rule of ours with the sizes that it holds for.
struct DeployedRule<'a> {
    from_bytes: u64,
    /// The first larger size that it does not hold for.
    end_bytes: u64,
    candidate: &'a Candidate,
}

/// The rules of an entry that replace the default and lack nothing.
fn deployed_rules<'a>(entry: &'a ShapeRules, lacks: &Lacks) -> Vec<DeployedRule<'a>> {
    let ends = entry.rules.iter().skip(1).map(|rule| rule.from_bytes);
    let rules = entry.rules.iter().zip(ends.chain([u64::MAX]));
    let deployed = rules.filter(|(rule, _)| {
        rule.candidate != Candidate::Default && !lacks.contains_key(&rule.from_bytes)
    });
    deployed
        .map(|(rule, end_bytes)| DeployedRule {
            from_bytes: rule.from_bytes,
            end_bytes,
            candidate: &rule.candidate,
        })
        .collect()
}

/// Whether two entries serve calls with the same operators.
fn share_operators(entries: &[ShapeRules], one: &ShapeRules, other: &ShapeRules) -> bool {
    let mut classes = OperatorClass::ALL.into_iter();
    classes.any(|class| serves(entries, one, class) && serves(entries, other, class))
}

/// Whether an entry serves calls with operators of a class: not if another one for the same ranks takes precedence.
fn serves(entries: &[ShapeRules], entry: &ShapeRules, class: OperatorClass) -> bool {
    let takes_precedence = |other: &ShapeRules| {
        entry.operators == Operators::Any
            && other.operators == Operators::from(class)
            && (other.shape, other.order) == (entry.shape, entry.order)
            && other.deployments == entry.deployments
    };
    entry.operators.hold_for(class) && !entries.iter().any(takes_precedence)
}
