//! The policy that selects the rules of a table that are deployed.

use std::fmt;

use schedule::Collective;
use serde::{Serialize, Serializer};
use thiserror::Error;
use vocabulary::Candidate;

use crate::lookup::{Basis, rule_at};
use crate::{
    Confidence, Decision, Deployment, Provenance, Rule, RulePlace, ShapeMatch, ShapeRules, Table,
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
}

impl Policy {
    /// The requirement that a rule fails on the shape that it was made for; `None` if it is deployed.
    pub fn lack_of_rule(self, rule: &Rule, provenance: &Provenance) -> Option<Lack> {
        if rule.candidate == Candidate::Default {
            None
        } else if rule.refuted {
            Some(Lack::Verdict)
        } else {
            self.lack_unless_refuted(rule.confirmed, rule.confidence, provenance)
        }
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
    /// Its choice.
    pub candidate: Candidate,
    /// The requirement that it fails.
    pub lack: Lack,
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
}

impl Lack {
    /// The reason, to follow a colon: `not confirmed`, `low confidence`, `simulated`, `validate found it slower or
    /// failing`.
    pub fn reason(self) -> String {
        match self {
            Self::Verdict => "validate found it slower or failing".to_owned(),
            Self::Confirmation => "not confirmed".to_owned(),
            Self::Confidence(confidence) => format!("{confidence} confidence"),
            Self::Measurement => "simulated".to_owned(),
        }
    }
}

impl Table {
    /// The table as a policy deploys it. The default, with low confidence, replaces the withheld rules; those for blocking
    /// calls are returned in the order of the table. Deploying the result again changes nothing.
    pub fn deployed_by(&self, policy: Policy) -> (Self, Vec<Withheld>) {
        let mut table = self.clone();
        let mut withheld = Vec::new();
        let interpolates = policy.deploys_interpolated(&self.provenance);
        for (collective, entries) in &mut table.collectives {
            for entry in entries {
                if !interpolates {
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
                entry.withhold_rules(
                    *collective,
                    |rule| policy.lack_of_rule(rule, &self.provenance),
                    &mut withheld,
                );
            }
        }
        let section = table.nonblocking.as_deref();
        table.nonblocking = section.map(|section| Box::new(section.deployed_by(policy).0));
        (table, withheld)
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
}

impl Usage {
    /// The number of rules that are not deployed.
    pub const fn unused_rules(self) -> usize {
        self.unconfirmed + self.uncertain + self.simulated + self.refuted
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
    /// Counts the rules for a deployment by whether a policy deploys them.
    pub fn count_usage(&self, policy: Policy, deployment: Deployment) -> Usage {
        let entries = self.entries();
        let entries = entries.filter(|entry| entry.deployments.hold_for(deployment));
        let mut usage = Usage::default();
        let rules = entries.flat_map(|entry| &entry.rules);
        // Programs that use colltune leave the library's own algorithms to the library.
        let counts = |rule: &&Rule| match deployment {
            Deployment::Colltune => rule.candidate.is_ours(),
            Deployment::Library => true,
        };
        for rule in rules.filter(counts) {
            match policy.lack_of_rule(rule, &self.provenance) {
                Some(Lack::Verdict) => usage.refuted += 1,
                Some(Lack::Confirmation) => usage.unconfirmed += 1,
                Some(Lack::Confidence(_)) => usage.uncertain += 1,
                Some(Lack::Measurement) => usage.simulated += 1,
                None if rule.candidate == Candidate::Default => {}
                None => usage.used += 1,
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
        } = self
            .basis
            .filter(|_| *self.candidate != Candidate::Default)?;
        let of_rule = if refuted {
            Some(Lack::Verdict)
        } else {
            policy.lack_unless_refuted(confirmed, confidence, provenance)
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
}

impl ShapeRules {
    /// Replaces the withheld rules by the default, in the measured points too, and appends them to `withheld`.
    fn withhold_rules(
        &mut self,
        collective: Collective,
        lack: impl Fn(&Rule) -> Option<Lack>,
        withheld: &mut Vec<Withheld>,
    ) {
        for point in &mut self.measured {
            let rule = rule_at(&self.rules, point.bytes);
            if rule.is_some_and(|rule| lack(rule).is_some()) {
                point.seconds = point.default_seconds;
                point.speedup = 1.0;
            }
        }
        for at in 0..self.rules.len() {
            let rule = &self.rules[at];
            let Some(lack) = lack(rule) else {
                continue;
            };
            let place = self.rule_place(collective, rule.from_bytes);
            let default = Rule::new(rule.from_bytes, Candidate::Default, None, Confidence::Low);
            let candidate = std::mem::replace(&mut self.rules[at], default).candidate;
            withheld.push(Withheld {
                place,
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
