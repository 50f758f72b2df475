//! Requirements on the bits of reductions that round, and the rules that meet them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schedule::BracketedBy;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use thiserror::Error;
use vocabulary::Candidate;
use vocabulary::units::{format_bytes, format_counted};

use crate::lookup::rule_at;
use crate::{
    Deployment, Lack, OperatorClass, Operators, Policy, Rule, RulePlace, ShapeRules, Table,
};

/// The requirements that fail, by the `from_bytes` of an entry's rules.
pub type Lacks = BTreeMap<u64, Lack>;

/// What deployed rules for reductions must not let the bits of a rounded result depend on, besides the number of ranks,
/// the root, the operator and the contributions.
///
/// It holds among the calls that colltune carries out. How the library brackets contributions is unknown, so calls that
/// are left to it carry no promise. Ranks that get the same result always get the same bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    /// The words of campaigns, with what each requires.
    pub const WORDS: [(&str, Self); 4] = [
        ("none", Self::NONE),
        (Self::SAME_ON_ALL_RANKS, Self::NONE),
        (
            Self::PLACEMENT,
            Self {
                independent_of_placement: true,
                ..Self::NONE
            },
        ),
        (
            Self::SIZE,
            Self {
                independent_of_size: true,
                ..Self::NONE
            },
        ),
    ];
    const NONE: Self = Self {
        independent_of_placement: false,
        independent_of_size: false,
    };
    /// Is always true, and so requires nothing.
    const SAME_ON_ALL_RANKS: &str = "same_on_all_ranks";
    const PLACEMENT: &str = "independent_of_placement";
    const SIZE: &str = "independent_of_size";

    /// Whether all rules meet the requirements.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// Both requirements together.
    #[must_use]
    pub const fn combined_with(self, other: Self) -> Self {
        Self {
            independent_of_placement: self.independent_of_placement
                || other.independent_of_placement,
            independent_of_size: self.independent_of_size || other.independent_of_size,
        }
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

/// Reads the text that is displayed.
impl<'de> Deserialize<'de> for Numerics {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse()
            .map_err(|_| D::Error::custom(format!("`{text}` must be {}", Self::EXPECTED)))
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

/// Adds the rules of a reduction that fail requirements to those that are not deployed for other reasons. With
/// `extrapolate`, an entry also serves other numbers of ranks.
pub(crate) fn add_numerical_lacks(
    numerics: Numerics,
    extrapolate: bool,
    entries: &[ShapeRules],
    lacks: &mut [Lacks],
) {
    for (entry, of_entry) in entries.iter().zip(&mut *lacks) {
        for rule in &entry.rules {
            if let Some(lack) = numerics.lack_of_candidate(&rule.candidate) {
                of_entry.entry(rule.from_bytes).or_insert(lack);
            }
        }
    }
    // Sizes come first: a rule that is withheld for its size is carried out on no placement, so the bits of other placements
    // need not equal its bits.
    if numerics.independent_of_size {
        for (entry, of_entry) in entries.iter().zip(&mut *lacks) {
            leave_all_trees_but_one(entry, extrapolate, of_entry);
        }
    }
    if numerics.independent_of_placement {
        leave_rules_of_different_trees(extrapolate, entries, lacks);
    }
}

/// Rules of an entry that have the same tree.
struct RulesOfTree {
    tree: Tree,
    /// The sizes from which they hold.
    from_bytes: Vec<u64>,
    /// The sum of their gains.
    gain: f64,
}

/// Withholds the rules of an entry that have another tree of combinations than those that gain most together.
fn leave_all_trees_but_one(entry: &ShapeRules, extrapolate: bool, lacks: &mut Lacks) {
    let mut groups: Vec<RulesOfTree> = Vec::new();
    for rule in deployed_rules(entry, extrapolate, lacks) {
        let known = groups.iter_mut().find(|group| group.tree == rule.tree);
        if let Some(group) = known {
            group.from_bytes.push(rule.from_bytes);
            group.gain += rule.gain;
        } else {
            groups.push(RulesOfTree {
                tree: rule.tree,
                from_bytes: vec![rule.from_bytes],
                gain: rule.gain,
            });
        }
    }
    // Of equal gains, the tree that begins at the smallest size stays.
    groups.sort_by(|one, other| other.gain.total_cmp(&one.gain));
    for group in groups.iter().skip(1) {
        let sizes = group.from_bytes.iter();
        lacks.extend(sizes.map(|from_bytes| (*from_bytes, Lack::Size)));
    }
}

/// Withholds the rules that have another tree of combinations than a rule for the same sizes on another placement of as
/// many ranks.
fn leave_rules_of_different_trees(extrapolate: bool, entries: &[ShapeRules], lacks: &mut [Lacks]) {
    let deployed: Vec<Vec<DeployedRule>> = entries
        .iter()
        .zip(&*lacks)
        .map(|(entry, of_entry)| deployed_rules(entry, extrapolate, of_entry))
        .collect();
    for ((entry, rules), of_entry) in entries.iter().zip(&deployed).zip(lacks) {
        let others = entries.iter().zip(&deployed).filter(|(other, _)| {
            let may_have_as_many = extrapolate || entry.shape.ranks() == other.shape.ranks();
            may_have_as_many
                && (entry.shape, entry.order) != (other.shape, other.order)
                && share_operators(entries, entry, other)
        });
        for other in others.flat_map(|(_, others_rules)| others_rules) {
            let clashing = rules.iter().filter(|rule| {
                rule.from_bytes < other.end_bytes
                    && other.from_bytes < rule.end_bytes
                    && rule.tree != other.tree
            });
            for rule in clashing {
                of_entry.entry(rule.from_bytes).or_insert(Lack::Placement);
            }
        }
    }
}

/// A rule of ours with the sizes that it holds for.
struct DeployedRule {
    from_bytes: u64,
    /// The first larger size that it does not hold for.
    end_bytes: u64,
    tree: Tree,
    /// The shares of the default's time that it saves at measured sizes, added up; without such sizes, that of the rule.
    /// Ranks with different processors compute the same number.
    gain: f64,
}

/// What two candidates have in common that give the same bits on as many ranks, for vectors of one length.
#[derive(Clone, Debug, PartialEq)]
enum Tree {
    /// The candidate; without its blocks where these make no difference.
    OfCandidate(Candidate),
    /// The tree of every element, for all operators that the rule serves.
    OfEach(u64),
}

impl Tree {
    /// With `extrapolate`, candidates must have the same tree on any number of ranks.
    fn of_rule(entry: &ShapeRules, candidate: &Candidate, extrapolate: bool) -> Self {
        let by_element = |by: Vec<&'static str>| by.contains(&BracketedBy::Element.name());
        if candidate.bracketed_by().is_none_or(by_element) {
            return Self::OfCandidate(candidate.clone());
        }
        let by_name = Self::OfCandidate(candidate.without_blocks());
        if extrapolate {
            return by_name;
        }
        let classes = OperatorClass::ALL.into_iter();
        let served = classes.filter(|class| entry.operators.hold_for(*class));
        let mut trees = served.map(|class| {
            let commutes = class == OperatorClass::Commutative;
            candidate.combining_tree(entry.shape.ranks(), commutes)
        });
        match trees.next().flatten() {
            Some(tree) if trees.all(|other| other == Some(tree)) => Self::OfEach(tree),
            _ => by_name,
        }
    }
}

/// The rules of an entry that replace the default and lack nothing.
fn deployed_rules(entry: &ShapeRules, extrapolate: bool, lacks: &Lacks) -> Vec<DeployedRule> {
    let ends = entry.rules.iter().skip(1).map(|rule| rule.from_bytes);
    let rules = entry.rules.iter().zip(ends.chain([u64::MAX]));
    let deployed = rules.filter(|(rule, _)| {
        rule.candidate != Candidate::Default && !lacks.contains_key(&rule.from_bytes)
    });
    deployed
        .map(|(rule, end_bytes)| {
            let is_inside = |bytes: u64| rule.from_bytes <= bytes && bytes < end_bytes;
            let points = entry.measured.iter().filter(|point| is_inside(point.bytes));
            let saved_share = |speedup: f64| 1.0 - 1.0 / speedup;
            let gains: Vec<f64> = points.map(|point| saved_share(point.speedup)).collect();
            let own_gain = || rule.speedup.map_or(0.0, saved_share);
            DeployedRule {
                from_bytes: rule.from_bytes,
                end_bytes,
                tree: Tree::of_rule(entry, &rule.candidate, extrapolate),
                gain: if gains.is_empty() {
                    own_gain()
                } else {
                    gains.iter().sum()
                },
            }
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

/// The loss by requirements on bits, in one deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct NumericsCost {
    /// The requirements.
    pub numerics: Numerics,
    /// The deployment.
    pub deployment: Deployment,
    /// The rules that are left to the library's default for these requirements alone.
    pub rules: usize,
    /// The measured sizes at which these rules would be used.
    pub points: usize,
    /// The default's time divided by that of these rules at these sizes: the geometric mean. 1 without such sizes.
    pub mean_factor: f64,
    /// The largest of these factors, and where it is.
    pub largest: Option<LargestLoss>,
}

/// The size at which requirements cost most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LargestLoss {
    /// The default's time divided by that of the rule.
    pub factor: f64,
    /// The rule.
    pub rule: RulePlace,
    /// The size.
    pub bytes: u64,
}

impl fmt::Display for NumericsCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            numerics,
            deployment,
            rules,
            points,
            mean_factor,
            largest,
        } = self;
        let through = match deployment {
            Deployment::Colltune => "libcolltune.so",
            Deployment::Library => "the library's own settings",
        };
        let rules = format_counted(*rules, "rule");
        write!(
            f,
            "`numerics: {numerics}` leaves {rules} to the library's default, through {through}"
        )?;
        let Some(LargestLoss {
            factor,
            rule,
            bytes,
        }) = largest
        else {
            return f.write_str("; what that costs was not measured");
        };
        let sizes = format_counted(*points, "measured size");
        write!(
            f,
            "; at {sizes} calls take {mean_factor:.2} times as long as with them in geometric mean, at most {factor:.2} \
             times (at {} bytes by the rule for {rule})",
            format_bytes(*bytes)
        )
    }
}

impl Table {
    /// The loss by the requirements on bits of a policy, or of the table, in each deployment in which rules are not used
    /// for them alone. Simulated rules count as if they had been measured.
    pub fn costs_of_numerics(&self, policy: Policy) -> Vec<NumericsCost> {
        let numerics = policy.numerics_for(&self.provenance);
        if numerics.is_none() {
            return Vec::new();
        }
        let policy = Policy {
            unconfirmed: policy.unconfirmed || self.provenance.library.is_simulated(),
            ..policy
        };
        let unrestricted = Policy {
            numerics: Some(Numerics::NONE),
            ..policy
        };
        let (free, bound) = (
            self.lacks_by_entry(unrestricted),
            self.lacks_by_entry(policy),
        );
        let of_deployment = |deployment| {
            let mut cost = NumericsCost {
                numerics,
                deployment,
                rules: 0,
                points: 0,
                mean_factor: 1.0,
                largest: None,
            };
            let mut logarithms = 0.0;
            let entries = self.collectives.iter().flat_map(|(collective, entries)| {
                entries.iter().map(move |entry| (*collective, entry))
            });
            let lacks = free.iter().zip(&bound);
            for ((collective, entry), (lacks_when_free, lacks_when_bound)) in entries.zip(lacks) {
                if !entry.deployments.hold_for(deployment) {
                    continue;
                }
                let is_used = |candidate: &Candidate| match deployment {
                    Deployment::Colltune => candidate.is_ours(),
                    Deployment::Library => deployment.offers(candidate),
                };
                let is_lost = |rule: &&Rule| {
                    is_used(&rule.candidate)
                        && lacks_when_bound.contains_key(&rule.from_bytes)
                        && !lacks_when_free.contains_key(&rule.from_bytes)
                };
                cost.rules += entry.rules.iter().filter(is_lost).count();
                for point in &entry.measured {
                    let Some(rule) =
                        rule_at(&entry.rules, point.bytes).filter(|rule| is_lost(rule))
                    else {
                        continue;
                    };
                    cost.points += 1;
                    logarithms += point.speedup.ln();
                    if cost
                        .largest
                        .is_none_or(|largest| largest.factor < point.speedup)
                    {
                        cost.largest = Some(LargestLoss {
                            factor: point.speedup,
                            rule: entry.rule_place(collective, rule.from_bytes),
                            bytes: point.bytes,
                        });
                    }
                }
            }
            if cost.points > 0 {
                cost.mean_factor = (logarithms / cost.points as f64).exp();
            }
            cost
        };
        let costs = Deployment::ALL.into_iter().map(of_deployment);
        costs.filter(|cost| cost.rules > 0).collect()
    }
}
