//! Versions of a table: the loaded one, and later contents of its file.

use std::sync::{Arc, Mutex};

use exec::ExecError;
use exec::constants::MPI_Comm;
use schedule::Collective;
use table::dispatch::CommunicatorRules;
use table::{Deployment, OperatorClass, Policy, Query, ShapeMatch, ShapeRules, Table};
use vocabulary::{Candidate, CommShape, RankOrder};

use crate::state::Reasons;
use crate::threads::lock;
use crate::watch::{Watch, agree_on_version};
use crate::{FallbackReason, Loaded};

/// A table, with the rules for the shapes of communicators seen so far.
#[derive(Debug)]
pub(crate) struct Version {
    /// The table as it was read.
    pub(crate) loaded: Loaded,
    /// The table as the policy deploys it, which decides about calls.
    pub(crate) deployed: Table,
    pub(crate) policy: Policy,
    /// The table's rules for nonblocking calls.
    pub(crate) nonblocking: Option<Box<Version>>,
    shapes: Mutex<Vec<Arc<CommunicatorRules>>>,
}

impl Version {
    pub(crate) fn new(loaded: Loaded, policy: Policy) -> Self {
        let section = loaded.table.nonblocking.as_deref();
        Self {
            deployed: loaded.table.deployed_by(policy).0,
            nonblocking: section
                .map(|section| Box::new(Self::new(Loaded::from(section.clone()), policy))),
            loaded,
            policy,
            shapes: Mutex::default(),
        }
    }

    /// Whether any rule for nonblocking calls chooses one of our algorithms.
    pub(crate) fn has_nonblocking_rules(&self) -> bool {
        self.nonblocking.as_ref().is_some_and(|section| {
            let mut rules = section.deployed.entries().flat_map(|entry| &entry.rules);
            rules.any(|rule| rule.candidate.is_ours())
        })
    }

    /// Whether rules may serve a communicator of this number of ranks, whatever its shape is.
    fn may_serve(&self, ranks: u32) -> bool {
        let mut entries = self.deployed.entries();
        // Entries with times of candidates are interpolated for other shapes.
        let may = |entry: &ShapeRules| entry.shape.ranks() == ranks || !entry.candidates.is_empty();
        self.policy.extrapolate || entries.any(may)
    }

    /// The rules for a shape and the order of ranks on it; `is_even` if all nodes have the same number of ranks.
    pub(crate) fn rules_for_shape(
        &self,
        shape: CommShape,
        order: RankOrder,
        is_even: bool,
    ) -> Arc<CommunicatorRules> {
        let mut shapes = lock(&self.shapes);
        let is_it = |rules: &&Arc<CommunicatorRules>| {
            (rules.shape(), rules.order(), rules.is_even()) == (shape, order, is_even)
        };
        if let Some(rules) = shapes.iter().find(is_it) {
            return Arc::clone(rules);
        }
        let rules = Arc::new(self.compile_rules(&self.deployed, shape, order, is_even));
        shapes.push(Arc::clone(&rules));
        rules
    }

    fn compile_rules(
        &self,
        table: &Table,
        shape: CommShape,
        order: RankOrder,
        is_even: bool,
    ) -> CommunicatorRules {
        let compile = if is_even {
            CommunicatorRules::new
        } else {
            CommunicatorRules::for_uneven
        };
        compile(table, shape, order, self.policy.extrapolate)
    }

    /// The additional time of the library's default for a call compared to these rules' choice, in seconds, from the
    /// table's times; 0 if it has none for the shape.
    pub(crate) fn gain_seconds(
        &self,
        rules: &CommunicatorRules,
        collective: Collective,
        operators: OperatorClass,
        bytes: u64,
    ) -> f64 {
        let query = colltune_query(rules, collective, operators, bytes);
        let decision = self.deployed.lookup(&query);
        let matched = rules.shape_match(collective, operators);
        match (decision.default_seconds, decision.expected_seconds) {
            (Some(default), Some(expected)) if !matched.is_stand_in() => default - expected,
            _ => 0.0,
        }
    }

    /// The reason why these rules leave a call to the library's default.
    pub(crate) fn why_default(
        &self,
        rules: &CommunicatorRules,
        collective: Collective,
        operators: OperatorClass,
        bytes: u64,
    ) -> FallbackReason {
        if rules.shape_match(collective, operators).is_stand_in() && !self.policy.extrapolate {
            return FallbackReason::Shape;
        }
        let query = colltune_query(rules, collective, operators, bytes);
        match self.loaded.table.lookup(&query).candidate {
            Candidate::Default => FallbackReason::Default,
            _ => FallbackReason::Withheld,
        }
    }

    /// The reason why these rules leave all calls of a collective to the library's default; `otherwise` if the table
    /// chooses the default.
    pub(crate) fn why_all_default(
        &self,
        rules: &CommunicatorRules,
        collective: Collective,
        otherwise: FallbackReason,
    ) -> FallbackReason {
        let (shape, order) = (rules.shape(), rules.order());
        let read = self.compile_rules(&self.loaded.table, shape, order, rules.is_even());
        let is_withheld = |class| {
            let (read, deployed) = (
                read.choices(collective, class),
                rules.choices(collective, class),
            );
            read.iter()
                .any(|choice| choice.candidate != Candidate::Default)
                && deployed
                    .iter()
                    .all(|choice| choice.candidate == Candidate::Default)
        };
        let is_native = |class| {
            let mut choices = rules.choices(collective, class).iter();
            choices.any(|choice| choice.candidate != Candidate::Default)
        };
        let matched = OperatorClass::ALL.map(|class| rules.shape_match(collective, class));
        let answers =
            |of_class: &ShapeMatch| !of_class.is_stand_in() && *of_class != ShapeMatch::Absent;
        let is_measured = matched.iter().any(answers);
        let has_stand_in = matched.iter().any(|matched| matched.is_stand_in());
        let mut classes = OperatorClass::ALL.into_iter();
        if !self.policy.extrapolate && has_stand_in && !is_measured {
            FallbackReason::Shape
        } else if classes.clone().any(is_withheld) {
            FallbackReason::Withheld
        } else if classes.any(is_native) {
            FallbackReason::Native
        } else {
            otherwise
        }
    }
}

fn colltune_query(
    rules: &CommunicatorRules,
    collective: Collective,
    operators: OperatorClass,
    bytes: u64,
) -> Query {
    Query {
        collective,
        shape: rules.shape(),
        order: rules.order(),
        bytes,
        operators,
        deployment: Deployment::Colltune,
    }
}

/// The loaded table, and its successors.
#[derive(Debug)]
pub(crate) struct Versions {
    /// The loaded table, which is the same on all ranks.
    first: Arc<Version>,
    watch: Option<Mutex<Watch>>,
}

impl Versions {
    /// With a `watch`, the table's file is checked for changes for each communicator.
    pub(crate) fn new(
        loaded: Loaded,
        policy: Policy,
        watch: impl FnOnce(&Arc<Version>) -> Option<Watch>,
    ) -> Self {
        let first = Arc::new(Version::new(loaded, policy));
        let watch = watch(&first).map(Mutex::new);
        Self { first, watch }
    }

    /// The table that was loaded.
    pub(crate) fn first(&self) -> &Version {
        &self.first
    }

    /// Whether the table has rules of ours for nonblocking calls, or a later content of its file may have some.
    pub(crate) fn may_have_nonblocking_rules(&self) -> bool {
        self.watch.is_some() || self.first.has_nonblocking_rules()
    }

    /// The table that this rank used last.
    pub(crate) fn last(&self) -> Arc<Version> {
        let watch = self.watch.as_ref();
        let last = watch.map(|watch| Arc::clone(lock(watch).current()));
        last.unwrap_or_else(|| Arc::clone(&self.first))
    }

    /// The number of times that this rank has changed to another table.
    pub(crate) fn replacements(&self) -> u64 {
        let watch = self.watch.as_ref();
        watch.map_or(0, |watch| lock(watch).replacements())
    }

    /// The reasons why the table leaves all calls on communicators of this number of ranks to the library, by collective.
    /// `None` if this depends on their shape, or if the table's file is checked for changes, which ranks may see at
    /// different times. Otherwise all ranks get the same without communication, as they use the same table. Its rules for
    /// nonblocking calls count if these are served.
    pub(crate) fn why_none(&self, ranks: u32, serves_nonblocking: bool) -> Option<Reasons> {
        let section = self.first.nonblocking.as_ref();
        let has_nonblocking = || section.is_some_and(|section| section.may_serve(ranks));
        if self.watch.is_some()
            || self.first.may_serve(ranks)
            || serves_nonblocking && has_nonblocking()
        {
            return None;
        }
        let collectives = &self.first.deployed.collectives;
        let reasons = Collective::ALL.map(|collective| {
            if collectives
                .get(&collective)
                .is_some_and(|shapes| !shapes.is_empty())
            {
                FallbackReason::Shape
            } else {
                FallbackReason::NoRules
            }
        });
        Some(Box::new(reasons))
    }

    /// The table for a communicator, the same on all of its ranks. Collective.
    ///
    /// # Safety
    ///
    /// `communicator` is a valid intracommunicator.
    pub(crate) unsafe fn agree_on_version(
        &self,
        communicator: MPI_Comm,
    ) -> Result<Arc<Version>, ExecError> {
        match &self.watch {
            None => Ok(Arc::clone(&self.first)),
            // SAFETY: the caller promises that the communicator is a valid intracommunicator.
            Some(watch) => unsafe { agree_on_version(watch, communicator, &self.first) },
        }
    }
}

#[cfg(test)]
mod tests {
    use schedule::Collective;
    use table::{OperatorClass, Policy};
    use vocabulary::{Candidate, CommShape, RankOrder};

    use super::{Version, Versions};
    use crate::{FallbackReason, Loaded};

    const TWO: CommShape = CommShape { nodes: 1, ppn: 2 };
    const THREE: CommShape = CommShape { nodes: 1, ppn: 3 };

    fn version(rules: &str, policy: Policy) -> Version {
        let text = testkit::tables::table_yaml("gain", "openmpi", "4.1.4", rules);
        Version::new(Loaded::from(testkit::tables::parse_table(&text)), policy)
    }

    #[test]
    fn a_gain_is_what_the_table_says_of_one_call() {
        let of_allreduce = "  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        operators: commutative
        rules:
          - {from: 0,  candidate: default, confidence: high}
          - {from: 4K, candidate: allreduce/ring, speedup: 2, confidence: high, confirmed: true}
          - {from: 1M, candidate: default, confidence: high}
        measured:
          bytes:                [8, 4K,  32K, 1M]
          microseconds:         [1, 2.5, 7,   90]
          default_microseconds: [1, 5,   12,  90]
";
        let extrapolating = Policy {
            extrapolate: true,
            ..Policy::default()
        };
        let version = version(of_allreduce, extrapolating);
        let gain_on = |shape, bytes| {
            let operators = OperatorClass::Commutative;
            let rules = version.rules_for_shape(shape, RankOrder::Block, true);
            version.gain_seconds(&rules, Collective::Allreduce, operators, bytes)
        };
        let gain = |bytes| gain_on(TWO, bytes);
        let rules = version.rules_for_shape(TWO, RankOrder::Block, true);
        assert!((gain(32 << 10) - 5e-6).abs() < 1e-12, "{}", gain(32 << 10));
        assert!((gain(4 << 10) - 2.5e-6).abs() < 1e-12, "{}", gain(4 << 10));
        for bytes in (3..22).map(|power| 1_u64 << power) {
            let choice = rules.decide(Collective::Allreduce, OperatorClass::Commutative, bytes);
            let is_default = choice.candidate == Candidate::Default;
            assert_eq!(gain(bytes) == 0.0, is_default, "{bytes}");
            // The table expects no gain there.
            assert_eq!(gain_on(THREE, bytes), 0.0, "{bytes}");
        }
    }

    #[test]
    fn calls_are_left_to_the_library_for_a_reason() {
        let of_two = "  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        operators: commutative
        rules:
          - {from: 0,  candidate: default, confidence: high}
          - {from: 4K, candidate: allreduce/ring, speedup: 2, confidence: high}
          - {from: 1M, candidate: allreduce/ring, speedup: 2, confidence: high, confirmed: true}
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        rules:
          - {from: 0, candidate: bcast/linear, speedup: 2, confidence: low, confirmed: true}
      - nodes: 1
        ppn: 3
        rules:
          - {from: 0, candidate: default, confidence: high}
";
        use Collective::{Allreduce, Bcast, Gather};
        let policy = Policy::default();
        let version = version(of_two, policy);
        let why = |shape, collective, bytes| {
            let rules = version.rules_for_shape(shape, RankOrder::Block, true);
            let operators = OperatorClass::Commutative;
            version.why_default(&rules, collective, operators, bytes)
        };
        assert_eq!(why(TWO, Allreduce, 8), FallbackReason::Default);
        assert_eq!(why(TWO, Allreduce, 4096), FallbackReason::Withheld);
        assert_eq!(why(THREE, Allreduce, 4096), FallbackReason::Shape);
        assert_eq!(why(THREE, Bcast, 8), FallbackReason::Default);
        assert_eq!(why(TWO, Gather, 8), FallbackReason::Default);
        for extrapolate in [false, true] {
            let policy = Policy {
                extrapolate,
                ..policy
            };
            let loaded = version.loaded.clone();
            let versions = Versions::new(loaded, policy, |_| None);
            for ranks in [2, 3] {
                assert!(versions.why_none(ranks, false).is_none());
            }
            let reasons_for_none = versions.why_none(4, false);
            assert_eq!(reasons_for_none.is_none(), extrapolate);
            for (collective, reason) in Collective::ALL
                .into_iter()
                .zip(reasons_for_none.into_iter().flat_map(|reasons| *reasons))
            {
                let expected = match collective {
                    Allreduce | Bcast => FallbackReason::Shape,
                    _ => FallbackReason::NoRules,
                };
                assert_eq!(reason, expected, "{collective}");
            }
        }
        let why_all = |shape, collective| {
            let rules = version.rules_for_shape(shape, RankOrder::Block, true);
            version.why_all_default(&rules, collective, FallbackReason::NoRules)
        };
        assert_eq!(why_all(TWO, Bcast), FallbackReason::Withheld);
        assert_eq!(why_all(THREE, Bcast), FallbackReason::NoRules);
        assert_eq!(why_all(THREE, Allreduce), FallbackReason::Shape);
        assert_eq!(why_all(THREE, Gather), FallbackReason::NoRules);
    }
}
