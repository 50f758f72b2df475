//! Which table decides on a communicator: the one that was loaded, or what its file has become.

use std::cell::RefCell;
use std::rc::Rc;

use exec::ExecError;
use exec::constants::MPI_Comm;
use schedule::Collective;
use table::dispatch::CommunicatorRules;
use table::{Deployment, OperatorClass, Query, Table};
use vocabulary::{CommShape, RankOrder};

use crate::Loaded;
use crate::watch::Watch;

/// A table, with the rules for the communicators of each shape that has been seen.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) loaded: Loaded,
    shapes: RefCell<Vec<Rc<CommunicatorRules>>>,
}

impl Version {
    pub(crate) fn new(loaded: Loaded) -> Self {
        Self {
            loaded,
            shapes: RefCell::default(),
        }
    }

    /// The rules for a shape and the order of ranks on it.
    pub(crate) fn rules(&self, shape: CommShape, order: RankOrder) -> Rc<CommunicatorRules> {
        let mut shapes = self.shapes.borrow_mut();
        let is_it =
            |rules: &&Rc<CommunicatorRules>| (rules.shape(), rules.order()) == (shape, order);
        if let Some(rules) = shapes.iter().find(is_it) {
            return Rc::clone(rules);
        }
        let rules = Rc::new(CommunicatorRules::new(
            &self.loaded.table,
            shape,
            order,
            true,
        ));
        shapes.push(Rc::clone(&rules));
        rules
    }

    /// How much longer the library's default takes for a call than what these rules choose, in seconds, by
    /// the times that the table has; 0 where it has none.
    pub(crate) fn gain_seconds(
        &self,
        rules: &CommunicatorRules,
        collective: Collective,
        operators: OperatorClass,
        bytes: u64,
    ) -> f64 {
        let decision = self.loaded.table.lookup(&Query {
            collective,
            shape: rules.shape(),
            order: rules.order(),
            bytes,
            operators,
            deployment: Deployment::Colltune,
        });
        match (decision.default_seconds, decision.expected_seconds) {
            (Some(default), Some(expected)) => default - expected,
            _ => 0.0,
        }
    }
}

/// The table that was loaded, and its successors.
#[derive(Debug)]
pub(crate) struct Versions {
    /// The same on all ranks that it was loaded over.
    first: Rc<Version>,
    watch: Option<RefCell<Watch>>,
}

impl Versions {
    /// With a `watch`, the table's file is looked at again for each communicator.
    pub(crate) fn new(loaded: Loaded, watch: impl FnOnce(&Rc<Version>) -> Option<Watch>) -> Self {
        let first = Rc::new(Version::new(loaded));
        let watch = watch(&first).map(RefCell::new);
        Self { first, watch }
    }

    /// The table that was loaded.
    pub(crate) fn first(&self) -> &Table {
        &self.first.loaded.table
    }

    /// How often this rank has gone over to another table.
    pub(crate) fn replacements(&self) -> u64 {
        let watch = self.watch.as_ref();
        watch.map_or(0, |watch| watch.borrow().replacements())
    }

    /// The table for a communicator, the same on all of its ranks. Collective.
    ///
    /// # Safety
    ///
    /// `communicator` is a valid intracommunicator.
    pub(crate) unsafe fn agree(&self, communicator: MPI_Comm) -> Result<Rc<Version>, ExecError> {
        match &self.watch {
            None => Ok(Rc::clone(&self.first)),
            // SAFETY: the caller's.
            Some(watch) => unsafe { watch.borrow_mut().agree(communicator, &self.first) },
        }
    }
}

#[cfg(test)]
mod tests {
    use schedule::Collective;
    use table::OperatorClass;
    use vocabulary::{Candidate, CommShape, RankOrder};

    use super::Version;
    use crate::Loaded;

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
          - {from: 4K, candidate: allreduce/ring, speedup: 2, confidence: high}
          - {from: 1M, candidate: default, confidence: high}
        measured:
          bytes:                [8, 4K,  32K, 1M]
          microseconds:         [1, 2.5, 7,   90]
          default_microseconds: [1, 5,   12,  90]
";
        let text = testkit::tables::yaml("gain", "openmpi", "4.1.4", of_allreduce);
        let version = Version::new(Loaded::from(testkit::tables::parsed(&text)));
        let shape = CommShape { nodes: 1, ppn: 2 };
        let rules = version.rules(shape, RankOrder::Block);
        let gain = |bytes| {
            let operators = OperatorClass::Commutative;
            version.gain_seconds(&rules, Collective::Allreduce, operators, bytes)
        };
        assert!((gain(32 << 10) - 5e-6).abs() < 1e-12, "{}", gain(32 << 10));
        assert!((gain(4 << 10) - 2.5e-6).abs() < 1e-12, "{}", gain(4 << 10));
        for bytes in (3..22).map(|power| 1_u64 << power) {
            let choice = rules.decide(Collective::Allreduce, OperatorClass::Commutative, bytes);
            let is_default = choice.candidate == Candidate::Default;
            assert_eq!(gain(bytes) == 0.0, is_default, "{bytes}");
        }
    }
}
