//! What of a table is deployed.

use std::fmt;

use schedule::Collective;
use serde::{Serialize, Serializer};
use thiserror::Error;
use vocabulary::Candidate;

use crate::lookup::rule_at;
use crate::{
    Confidence, Decision, Deployment, Provenance, Rule, RulePlace, ShapeMatch, ShapeRules, Table,
};

/// What a rule needs to be used where calls are decided: at run time, in exported files and in
/// deployed folders. Rules that lack it stay in their table, for reports and for [`Table::lookup`], and the
/// library's default takes their place. By default: confirmed rules of the confidence that the table asks for, on the
/// shapes that were measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    /// The least confidence; the table's own if absent ([`Provenance::min_confidence`]).
    pub min_confidence: Option<Confidence>,
    /// Whether rules are used that no fresh launches confirmed: those of imported and simulated
    /// measurements, of the model, and of tables from before choices were confirmed.
    pub unconfirmed: bool,
    /// Whether a shape that was not measured is served by the nearest one that was.
    pub extrapolate: bool,
}

impl Policy {
    /// What a rule of a table lacks to be deployed on the shape that it was made for; nothing if it is deployed.
    pub fn lack(self, rule: &Rule, of: &Provenance) -> Option<Lack> {
        let least = self.min_confidence.unwrap_or(of.min_confidence);
        match rule.candidate {
            Candidate::Default => None,
            _ if !rule.confirmed && !self.unconfirmed => Some(Lack::Confirmation),
            _ if rule.confidence < least => Some(Lack::Confidence(rule.confidence)),
            _ => None,
        }
    }
}

/// A rule that is not deployed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Withheld {
    /// Where it stands.
    pub place: RulePlace,
    /// What it chooses.
    pub candidate: Candidate,
    /// What it lacks.
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

/// What a rule lacks to be deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Lack {
    /// No fresh launches confirmed it.
    #[error("is not confirmed")]
    Confirmation,
    /// It is not certain enough.
    #[error("has {0} confidence")]
    Confidence(Confidence),
}

impl Lack {
    /// The reason in words that stand behind a colon: `not confirmed`, `low confidence`.
    pub fn reason(self) -> String {
        match self {
            Self::Confirmation => "not confirmed".to_owned(),
            Self::Confidence(confidence) => format!("{confidence} confidence"),
        }
    }
}

impl Table {
    /// The table as a policy deploys it: with the default, of low confidence, in place of the rules that it
    /// withholds, which are listed in the order of the table. A deployed table, deployed again, stays as it is.
    pub fn deployed(&self, policy: Policy) -> (Self, Vec<Withheld>) {
        let mut table = self.clone();
        let mut withheld = Vec::new();
        for (collective, entries) in &mut table.collectives {
            for entry in entries {
                entry.withhold(
                    *collective,
                    |rule| policy.lack(rule, &self.provenance),
                    &mut withheld,
                );
            }
        }
        (table, withheld)
    }
}

/// How many rules of a table a policy deploys, and how many not. The default's rules do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Usage {
    /// Rules that are deployed.
    pub used: usize,
    /// Rules that no fresh launches confirmed.
    pub unconfirmed: usize,
    /// Confirmed rules, or such that need not be, that are not certain enough.
    pub uncertain: usize,
}

impl Usage {
    /// How many rules are not deployed.
    pub const fn unused(self) -> usize {
        self.unconfirmed + self.uncertain
    }

    /// Whether there are rules, and none is deployed.
    pub const fn is_nothing(self) -> bool {
        self.used == 0 && self.unused() > 0
    }
}

/// As in `3 of 5 rules are not used: 2 are not confirmed, 1 lacks confidence`.
impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = |count, one: &'static str, many| if count == 1 { one } else { many };
        let (unused, all) = (self.unused(), self.used + self.unused());
        write!(f, "{unused} of {all} {} ", verb(all, "rule", "rules"))?;
        write!(f, "{} not used", verb(unused, "is", "are"))?;
        let lacks = [
            (self.unconfirmed, "is not confirmed", "are not confirmed"),
            (self.uncertain, "lacks confidence", "lack confidence"),
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
    /// How many of the rules that hold for a deployment a policy uses.
    pub fn usage(&self, policy: Policy, deployment: Deployment) -> Usage {
        let entries = self.entries();
        let entries = entries.filter(|entry| entry.deployments.cover(deployment));
        let mut usage = Usage::default();
        let rules = entries.flat_map(|entry| &entry.rules);
        // Programs that use colltune leave the library's own algorithms to the library.
        let counts = |rule: &&Rule| match deployment {
            Deployment::Colltune => matches!(rule.candidate, Candidate::Ours { .. }),
            Deployment::Library => true,
        };
        for rule in rules.filter(counts) {
            match policy.lack(rule, &self.provenance) {
                Some(Lack::Confirmation) => usage.unconfirmed += 1,
                Some(Lack::Confidence(_)) => usage.uncertain += 1,
                None if rule.candidate == Candidate::Default => {}
                None => usage.used += 1,
            }
        }
        usage
    }
}

impl Decision<'_> {
    /// Why a policy does not deploy what was decided, in words that stand behind a colon; nothing if it
    /// does, and where the default was decided.
    pub fn withheld(&self, policy: Policy) -> Option<String> {
        let (rule, of) = self
            .decider
            .filter(|(rule, _)| rule.candidate != Candidate::Default)?;
        let of_rule = policy.lack(rule, of).map(Lack::reason);
        let of_shape = match self.matched {
            _ if policy.extrapolate => None,
            ShapeMatch::Nearest(_) => Some("the shape was not measured"),
            ShapeMatch::OtherOrder(..) => {
                Some("the shape was not measured with ranks in this order")
            }
            ShapeMatch::Measured | ShapeMatch::Model | ShapeMatch::Absent => None,
        };
        of_rule.or_else(|| of_shape.map(str::to_owned))
    }
}

impl ShapeRules {
    /// Puts the default in place of the rules that a policy withholds, also where they were measured, and adds
    /// them to a list.
    fn withhold(
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
            let place = self.place(collective, rule.from_bytes);
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
