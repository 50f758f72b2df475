//! The policy that selects the rules of a table that are deployed.

use std::fmt;

use schedule::Collective;
use serde::{Serialize, Serializer};
use thiserror::Error;
use vocabulary::Candidate;

use crate::lookup::{Basis, rule_at};
use crate::numerics::{Lacks, add_numerical_lacks};
use crate::{
    Confidence, Decision, Deployment, Numerics, Provenance, Rule, RulePlace, ShapeMatch,
    ShapeRules, Table,
};

/// The selection of the rules that are deployed, that is, used at run time, in exported files and in deployed folders.
/// Other rules stay in their table for reports and [`Table::lookup`]; the library's default is used in their place.
///
/// The default policy deploys confirmed rules with at least the confidence that the table asks for, on measured shapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    /// The least confidence; `None` for the table's own ([`Provenance::min_confidence`]).
    pub min_confidence: Option<Confidence>,
    /// Whether to deploy rules that fresh launches have not confirmed: those of imported measurements, of the model, of
    /// campaigns with `confirmation: off`, of tables from before choices were confirmed, and of simulated machines; and
    /// rules interpolated for shapes between measured ones.
    pub unconfirmed: bool,
    /// Whether the nearest measured shape serves a shape that was not measured, where rules are not interpolated.
    pub extrapolate: bool,
    /// What the bits of reductions must not depend on; `None` for the table's own requirements ([`Provenance::numerics`]).
    pub numerics: Option<Numerics>,
}

impl Policy {
    /// What the bits of reductions by a table of this provenance must not depend on.
    pub fn numerics_for(self, provenance: &Provenance) -> Numerics {
        self.numerics.unwrap_or(provenance.numerics)
    }

    /// The requirement that a rule fails on the shape that it was made for, apart from those of [`Policy::numerics`];
    /// `None` if it fails none of them.
    pub fn lack_of_rule(self, rule: &Rule, provenance: &Provenance) -> Option<Lack> {
        if rule.candidate == Candidate::Default {
            None
        } else if rule.refuted {
            Some(Lack::Verdict)
        } else {
            self.lack_unless_refuted(rule.confirmed, rule.confidence, provenance)
        }
    }

    /// The requirements that the rules of a collective fail, for each of its entries.
    fn lacks_of_collective(
        self,
        collective: Collective,
        entries: &[ShapeRules],
        provenance: &Provenance,
    ) -> Vec<Lacks> {
        let of_entry = |entry: &ShapeRules| {
            let rules = entry.rules.iter();
            rules
                .filter_map(|rule| Some((rule.from_bytes, self.lack_of_rule(rule, provenance)?)))
                .collect()
        };
        let mut lacks: Vec<Lacks> = entries.iter().map(of_entry).collect();
        let numerics = self.numerics_for(provenance);
        if collective.is_reduction() && !numerics.is_none() {
            add_numerical_lacks(numerics, self.extrapolate, entries, &mut lacks);
        }
        lacks
    }

    /// The first requirement that a rule fails, if the rule replaces the default and no validation refuted it; `None` if
    /// it fails none.
    fn lack_unless_refuted(
        self,
        confirmed: bool,
        confidence: Confidence,
        provenance: &Provenance,
    ) -> Option<Lack> {
        let least = self.min_confidence.unwrap_or(provenance.min_confidence);
        if provenance.library.is_simulated() && !self.unconfirmed {
            // The rule stays simulated, whatever its confirmation and confidence.
            Some(Lack::Measurement)
        } else if !confirmed && !self.unconfirmed {
            Some(Lack::Confirmation)
        } else if confidence < least {
            Some(Lack::Confidence(confidence))
        } else {
            None
        }
    }

    /// Whether rules are deployed on shapes between measured ones: they count as rules of medium confidence that fresh
    /// launches have not confirmed.
    fn deploys_interpolated(self, provenance: &Provenance) -> bool {
        let lack = self.lack_unless_refuted(false, Confidence::Medium, provenance);
        lack.is_none()
    }
}

/// A rule that is not deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    /// Its place in the table.
    pub place: RulePlace,
    /// Whether it is for nonblocking calls.
    pub is_nonblocking: bool,
    /// Its choice.
    pub candidate: Candidate,
    /// The requirement that it fails.
    pub lack: Lack,
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_nonblocking {
            f.write_str("nonblocking ")?;
        }
        write!(f, "{}: {} {}", self.place, self.candidate, self.lack)
    }
}

/// Serialized as it is displayed.
impl Serialize for Withheld {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The requirement that a rule fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Lack {
    /// `colltune validate` found it slower than the default, or failing.
    #[error("was found slower than the default, or failing, by `colltune validate`")]
    Verdict,
    /// Fresh launches have not confirmed it.
    #[error("is not confirmed")]
    Confirmation,
    /// The rule's confidence, given here, is below that of the policy.
    #[error("has {0} confidence")]
    Confidence(Confidence),
    /// It was simulated, not measured.
    #[error("is simulated")]
    Measurement,
    /// Its bits depend on the placement of ranks.
    #[error("gives other bits on another placement of as many ranks")]
    Placement,
    /// Its bits depend on the size of the message.
    #[error("gives other bits at another size")]
    Size,
    /// It is not known how it brackets contributions, as it is not an algorithm of ours.
    #[error("is the library's own algorithm, whose bits may depend on everything")]
    Bracketing,
}

impl Lack {
    /// Whether it is one of [`Policy::numerics`].
    pub const fn is_numerical(self) -> bool {
        matches!(self, Self::Placement | Self::Size | Self::Bracketing)
    }

    /// The reason, to follow a colon, as in `not confirmed`, `low confidence` or `validate found it slower or failing`.
    pub fn reason(self) -> String {
        match self {
            Self::Verdict => "validate found it slower or failing".to_owned(),
            Self::Confirmation => "not confirmed".to_owned(),
            Self::Confidence(confidence) => format!("{confidence} confidence"),
            Self::Measurement => "simulated".to_owned(),
            Self::Placement => "other bits on another placement".to_owned(),
            Self::Size => "other bits at another size".to_owned(),
            Self::Bracketing => "bits of the library's own algorithm are unknown".to_owned(),
        }
    }
}

impl Table {
    /// The table as a policy deploys it. The default, with low confidence, replaces the withheld rules, which are
    /// returned in the order of the table, those for nonblocking calls last. Deploying the result again changes nothing.
    pub fn deployed_by(&self, policy: Policy) -> (Self, Vec<Withheld>) {
        let mut table = self.clone();
        let mut withheld = Vec::new();
        let interpolates = policy.deploys_interpolated(&self.provenance);
        let numerics = policy.numerics_for(&self.provenance);
        let mut lacks = self.lacks_by_entry(policy).into_iter();
        for (collective, entries) in &mut table.collectives {
            // Between measured shapes, the choice follows size and placement.
            let follows_numerics = collective.is_reduction() && !numerics.is_none();
            for entry in entries {
                if !interpolates || follows_numerics {
                    entry.candidates.clear();
                }
                // What is slower on this shape is not interpolated to others.
                let rules = &entry.rules;
                let is_refuted = |candidate: &Candidate| {
                    let mut refuted = rules.iter().filter(|rule| rule.refuted);
                    refuted.any(|rule| rule.candidate == *candidate)
                };
                entry
                    .candidates
                    .retain(|times| !is_refuted(&times.candidate));
                let of_entry = lacks.next().unwrap_or_default();
                entry.withhold_rules(*collective, &of_entry, &mut withheld);
            }
        }
        if let Some(section) = &mut table.nonblocking {
            let (deployed, of_section) = section.deployed_by(policy);
            **section = deployed;
            withheld.extend(of_section.into_iter().map(|rule| Withheld {
                is_nonblocking: true,
                ..rule
            }));
        }
        (table, withheld)
    }

    /// The requirements that the rules of an entry for a collective fail.
    pub fn lacks_of_entry(
        &self,
        collective: Collective,
        entry: &ShapeRules,
        policy: Policy,
    ) -> Lacks {
        let entries = self.collectives.get(&collective);
        let entries = entries.map_or(&[][..], Vec::as_slice);
        let lacks = policy.lacks_of_collective(collective, entries, &self.provenance);
        let mut all = entries.iter().zip(lacks);
        let found = all.find(|(other, _)| std::ptr::eq(*other, entry) || *other == entry);
        found.map_or_else(Lacks::new, |(_, of_entry)| of_entry)
    }

    /// The requirements that rules fail, for each entry in the order of [`Table::entries`].
    pub(crate) fn lacks_by_entry(&self, policy: Policy) -> Vec<Lacks> {
        let of_collective = |(collective, entries): (&Collective, &Vec<ShapeRules>)| {
            policy.lacks_of_collective(*collective, entries, &self.provenance)
        };
        self.collectives.iter().flat_map(of_collective).collect()
    }
}

/// The numbers of rules of a table that a policy deploys and withholds. The default's rules do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Usage {
    /// Rules that are deployed.
    pub used: usize,
    /// Rules that fresh launches have not confirmed.
    pub unconfirmed: usize,
    /// Rules that lack only confidence.
    pub uncertain: usize,
    /// Rules of a simulated machine.
    pub simulated: usize,
    /// Rules that `colltune validate` found slower than the default, or failing.
    pub refuted: usize,
    /// Rules for reductions that fail [`Policy::numerics`].
    pub numerics: usize,
}

impl Usage {
    /// The number of rules that are not deployed.
    pub const fn unused_rules(self) -> usize {
        self.unconfirmed + self.uncertain + self.simulated + self.refuted + self.numerics
    }

    /// Adds the rules of another part of the table.
    fn add_usage(&mut self, other: Self) {
        self.used += other.used;
        self.unconfirmed += other.unconfirmed;
        self.uncertain += other.uncertain;
        self.simulated += other.simulated;
        self.refuted += other.refuted;
        self.numerics += other.numerics;
    }

    /// Whether there are rules but none is deployed.
    pub const fn is_all_unused(self) -> bool {
        self.used == 0 && self.unused_rules() > 0
    }
}

/// Displays the usage, as in `3 of 5 rules are not used: 2 are not confirmed, 1 lacks confidence`.
impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = |count, one: &'static str, many| if count == 1 { one } else { many };
        let (unused, all) = (self.unused_rules(), self.used + self.unused_rules());
        write!(f, "{unused} of {all} {} ", verb(all, "rule", "rules"))?;
        write!(f, "{} not used", verb(unused, "is", "are"))?;
        let lacks = [
            (
                self.refuted,
                "was found slower or failing by `colltune validate`",
                "were found slower or failing by `colltune validate`",
            ),
            (self.unconfirmed, "is not confirmed", "are not confirmed"),
            (self.uncertain, "lacks confidence", "lack confidence"),
            (self.simulated, "is simulated", "are simulated"),
            (
                self.numerics,
                "gives bits that depend on what `numerics` excludes",
                "give bits that depend on what `numerics` excludes",
            ),
        ];
        let lacks = lacks.into_iter().filter(|(count, ..)| *count > 0);
        for (place, (count, one, many)) in lacks.enumerate() {
            let mark = if place == 0 { ": " } else { ", " };
            write!(f, "{mark}{count} {}", verb(count, one, many))?;
        }
        Ok(())
    }
}

impl Table {
    /// Counts the rules for a deployment by whether a policy deploys them. Those for nonblocking calls count for
    /// [`Deployment::Colltune`], as no library can be given them.
    pub fn count_usage(&self, policy: Policy, deployment: Deployment) -> Usage {
        let mut usage = self.count_own_usage(policy, deployment);
        if deployment == Deployment::Colltune
            && let Some(section) = &self.nonblocking
        {
            usage.add_usage(section.count_own_usage(policy, deployment));
        }
        usage
    }

    fn count_own_usage(&self, policy: Policy, deployment: Deployment) -> Usage {
        let lacks = self.lacks_by_entry(policy);
        let entries = self.entries().zip(&lacks);
        let entries = entries.filter(|(entry, _)| entry.deployments.hold_for(deployment));
        let mut usage = Usage::default();
        // Programs that use colltune leave the library's own algorithms to the library.
        let counts = |rule: &&Rule| match deployment {
            Deployment::Colltune => rule.candidate.is_ours(),
            Deployment::Library => true,
        };
        for (entry, of_entry) in entries {
            for rule in entry.rules.iter().filter(counts) {
                match of_entry.get(&rule.from_bytes) {
                    Some(Lack::Verdict) => usage.refuted += 1,
                    Some(Lack::Confirmation) => usage.unconfirmed += 1,
                    Some(Lack::Confidence(_)) => usage.uncertain += 1,
                    Some(Lack::Measurement) => usage.simulated += 1,
                    Some(Lack::Placement | Lack::Size | Lack::Bracketing) => usage.numerics += 1,
                    None if rule.candidate == Candidate::Default => {}
                    None => usage.used += 1,
                }
            }
        }
        usage
    }
}

impl Decision<'_> {
    /// The reason why a policy does not deploy the decision, to follow a colon; `None` if it does, or if the decision
    /// is the default.
    pub fn reason_withheld(&self, policy: Policy) -> Option<String> {
        let Basis {
            confirmed,
            confidence,
            refuted,
            provenance,
            ..
        } = self
            .basis
            .filter(|_| *self.candidate != Candidate::Default)?;
        let of_rule = if refuted {
            Some(Lack::Verdict)
        } else {
            let other = policy.lack_unless_refuted(confirmed, confidence, provenance);
            other.or_else(|| self.numerical_lack(policy))
        };
        let of_shape = match self.matched {
            _ if policy.extrapolate => None,
            ShapeMatch::Nearest(_) => Some("the shape was not measured"),
            ShapeMatch::OtherOrder(..) => {
                Some("the shape was not measured with ranks in this order")
            }
            ShapeMatch::Measured
            | ShapeMatch::Model
            | ShapeMatch::Interpolated(..)
            | ShapeMatch::Absent => None,
        };
        let of_rule = of_rule.map(Lack::reason);
        of_rule.or_else(|| of_shape.map(str::to_owned))
    }

    /// The requirement on bits that the decision's rule fails, by itself or beside the other rules of its collective. What
    /// is interpolated between shapes follows size and placement.
    fn numerical_lack(&self, policy: Policy) -> Option<Lack> {
        let Basis {
            provenance,
            entries,
            ..
        } = self.basis?;
        let (numerics, collective) = (policy.numerics_for(provenance), self.query.collective);
        if numerics.is_none() || !collective.is_reduction() {
            return None;
        }
        if matches!(self.matched, ShapeMatch::Interpolated(..)) {
            return Some(if numerics.independent_of_size {
                Lack::Size
            } else {
                Lack::Placement
            });
        }
        let RulePlace::Rule { from_bytes, .. } = self.rule else {
            return None;
        };
        let lacks = policy.lacks_of_collective(collective, entries, provenance);
        let mut of_entries = entries.iter().zip(lacks);
        let (_, of_entry) =
            of_entries.find(|(entry, _)| entry.rule_place(collective, from_bytes) == self.rule)?;
        of_entry
            .get(&from_bytes)
            .copied()
            .filter(|lack| lack.is_numerical())
    }
}

impl ShapeRules {
    /// Replaces the withheld rules by the default, in the measured points too, and appends them to `withheld`.
    fn withhold_rules(
        &mut self,
        collective: Collective,
        lacks: &Lacks,
        withheld: &mut Vec<Withheld>,
    ) {
        for point in &mut self.measured {
            let rule = rule_at(&self.rules, point.bytes);
            if rule.is_some_and(|rule| lacks.contains_key(&rule.from_bytes)) {
                point.seconds = point.default_seconds;
                point.speedup = 1.0;
            }
        }
        for at in 0..self.rules.len() {
            let rule = &self.rules[at];
            let Some(&lack) = lacks.get(&rule.from_bytes) else {
                continue;
            };
            let place = self.rule_place(collective, rule.from_bytes);
            let default = Rule::new(rule.from_bytes, Candidate::Default, None, Confidence::Low);
            let candidate = std::mem::replace(&mut self.rules[at], default).candidate;
            withheld.push(Withheld {
                place,
                is_nonblocking: false,
                candidate,
                lack,
            });
        }
        self.rules.dedup_by(|next, before| {
            let from_bytes = before.from_bytes;
            let next = next.clone();
            next.candidate == Candidate::Default && *before == Rule { from_bytes, ..next }
        });
    }
}
