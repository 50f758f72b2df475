//! From a choice of a table's rules to one of our algorithms.

use schedule::{Algorithm, Collective};
use table::OperatorClass;
use table::dispatch::{Choice, CommunicatorRules};
use vocabulary::{Candidate, Parameters};

use crate::versions::Version;
use crate::{By, FallbackReason};

/// The rules for calls of one kind, and the size of a call.
#[derive(Clone, Copy)]
pub(crate) struct AskedRules<'a> {
    pub(crate) version: &'a Version,
    pub(crate) rules: &'a CommunicatorRules,
    pub(crate) collective: Collective,
    pub(crate) class: OperatorClass,
    pub(crate) bytes: u64,
}

/// One of our algorithms that rules have chosen for a call.
pub(crate) struct ChosenAlgorithm<'a> {
    asked: AskedRules<'a>,
    choice: &'a Choice,
    pub(crate) algorithm: &'static Algorithm,
    pub(crate) parameters: &'a Parameters,
}

impl<'a> AskedRules<'a> {
    /// What the rules choose.
    pub(crate) fn choice(&self) -> &'a Choice {
        self.rules.decide(self.collective, self.class, self.bytes)
    }

    /// The algorithm of a choice of these rules for the call, or the reason why the library carries it out.
    pub(crate) fn find_algorithm(
        self,
        choice: &'a Choice,
    ) -> Result<ChosenAlgorithm<'a>, FallbackReason> {
        let (name, parameters) = match &choice.candidate {
            Candidate::Ours {
                algorithm,
                parameters,
            } => (algorithm, parameters),
            Candidate::Default => {
                let (collective, class) = (self.collective, self.class);
                let version = self.version;
                return Err(version.why_default(self.rules, collective, class, self.bytes));
            }
            _ => return Err(FallbackReason::Native),
        };
        Ok(ChosenAlgorithm {
            asked: self,
            choice,
            algorithm: schedule::find_algorithm(name).ok_or(FallbackReason::Unsuited)?,
            parameters,
        })
    }
}

impl ChosenAlgorithm<'_> {
    /// What the summary says of it, and the kind of rule that has chosen it.
    pub(crate) fn describe(&self) -> (String, By) {
        let AskedRules {
            rules,
            collective,
            class,
            ..
        } = self.asked;
        let matched = rules.shape_match(collective, class);
        let candidate = &self.choice.candidate;
        if matched.is_stand_in() {
            (format!("{candidate} ({matched})"), By::Nearest)
        } else {
            (candidate.to_string(), By::Table)
        }
    }

    /// The expected additional time of the library's default for the call in seconds.
    pub(crate) fn gain_seconds(&self) -> f64 {
        let AskedRules {
            version,
            rules,
            collective,
            class,
            bytes,
        } = self.asked;
        version.gain_seconds(rules, collective, class, bytes)
    }
}
