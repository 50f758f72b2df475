//! What of a table is deployed.

use std::fmt;
use std::ops::Range;

use vocabulary::Candidate;

use crate::{Confidence, Decision, Rule, RulePlace, ShapeMatch, ShapeRules, Table};

/// What a rule needs to be used where calls are decided: at run time, in exported files and in
/// deployed folders. Rules that lack it stay in their table, for reports and for [`Table::lookup`], and the
/// library's default takes their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// The least confidence.
    pub min_confidence: Confidence,
    /// Whether rules are used that no fresh launches confirmed: those of imported and simulated
    /// measurements, of the model, and of tables from before choices were confirmed.
    pub unconfirmed: bool,
    /// Whether a shape that was not measured is served by the nearest one that was.
    pub extrapolate: bool,
}

impl Default for Policy {
    /// Confirmed rules of medium confidence, on the shapes that were measured.
    fn default() -> Self {
        Self {
            min_confidence: Confidence::Medium,
            unconfirmed: false,
            extrapolate: false,
        }
    }
}

impl Policy {
    /// What a rule lacks to be deployed on the shape that it was made for; nothing if it is deployed.
    pub fn lack(self, rule: &Rule) -> Option<Lack> {
        match rule.candidate {
            Candidate::Default => None,
            _ if !rule.confirmed && !self.unconfirmed => Some(Lack::Confirmation),
            _ if rule.confidence < self.min_confidence => Some(Lack::Confidence(rule.confidence)),
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

/// What a rule lacks to be deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lack {
    /// No fresh launches confirmed it.
    Confirmation,
    /// It is not certain enough.
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

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Confirmation => f.write_str("is not confirmed"),
            Self::Confidence(confidence) => write!(f, "has {confidence} confidence"),
        }
    }
}

impl Table {
    /// The table as a policy deploys it: with the default in place of the rules that it withholds,
    /// which are listed in the order of the table.
    pub fn deployed(&self, policy: Policy) -> (Self, Vec<Withheld>) {
        let mut table = self.clone();
        let mut withheld = Vec::new();
        for (collective, entries) in &mut table.collectives {
            for entry in entries {
                for (sizes, rule) in entry.withheld(policy) {
                    let place = entry.place(*collective, sizes.start);
                    let (candidate, lack) = rule;
                    withheld.push(Withheld {
                        place,
                        candidate,
                        lack,
                    });
                    entry.turn_back(&sizes, Confidence::Low);
                }
            }
        }
        (table, withheld)
    }
}

impl Decision<'_> {
    /// Why a policy does not deploy what was decided, in words that stand behind a colon; nothing if it
    /// does, and where the default was decided.
    pub fn withheld(&self, policy: Policy) -> Option<String> {
        let rule = self
            .decider
            .filter(|rule| rule.candidate != Candidate::Default)?;
        let of_rule = policy.lack(rule).map(Lack::reason);
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
    /// The rules that a policy withholds, each with the sizes that it holds for.
    fn withheld(&self, policy: Policy) -> Vec<(Range<u64>, (Candidate, Lack))> {
        let lacking = self.ranges().filter_map(|(sizes, rule)| {
            let lack = policy.lack(rule)?;
            Some((sizes, (rule.candidate.clone(), lack)))
        });
        lacking.collect()
    }
}
