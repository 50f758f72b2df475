//! A single algorithm of ours, called in the same way as by programs with a table.
//!
//! The driver measures our candidates with it: a dispatcher with a table of one rule, and channels as large as those of
//! a program's communicator. If it would leave the call to the library, the candidate has failed.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

use environment::force::Force;
use exec::{Call, Communicator, ExecError, LibraryCall, NodeChannels, check_code};
use table::{
    Confidence, Deployments, Numerics, Operators, Policy, Provenance, Rule, RuleSource, ShapeRules,
    Table,
};
use vocabulary::{Candidate, CommShape, Pattern, RankOrder};

use crate::{Dispatcher, KnownCommunicator, Loaded, RuntimeError, Settings};

/// A candidate of ours for a call, carried out in the same way as by `libcolltune.so`: it looks up the communicator's
/// state, recognises the call, and runs its plan on a private communicator.
///
/// So a call costs the same as in a program that uses a table. Dropping the value is collective.
#[derive(Debug)]
pub struct DeployedCall {
    dispatcher: Dispatcher,
    call: LibraryCall,
}

impl DeployedCall {
    /// Prepares the call. Collective over the communicator, which must outlive the value. A candidate that uses
    /// shared memory uses the given channels, which must have been opened for the same ranks, or opens its own.
    ///
    /// # Errors
    ///
    /// On all ranks alike: as [`Dispatcher::new`], if the algorithm cannot serve the call, or if the call is too
    /// large for MPI.
    pub fn new(
        candidate: &Candidate,
        call: &Call,
        communicator: &Communicator,
        channels: Option<&Rc<NodeChannels>>,
    ) -> Result<Self, RuntimeError> {
        if let Some((algorithm, parameters)) = candidate.as_ours() {
            // Report this error now: a table would silently leave such a call to the library.
            call.schedule_with(algorithm, parameters, communicator.nodes())?;
        }
        let prepared = LibraryCall::new(call, communicator.rank(), communicator.size())?;
        let settings = Settings {
            force: Force::ALL,
            policy: Policy {
                min_confidence: Some(Confidence::Low),
                unconfirmed: true,
                extrapolate: true,
                numerics: Some(Numerics::default()),
            },
            attach_after_bytes: Some(0),
            ..Settings::default()
        };
        let loaded = Loaded::from(single_candidate_table(candidate, call));
        // SAFETY: MPI runs as long as there are communicators of ours.
        let mut dispatcher = unsafe { Dispatcher::new(Ok(loaded), communicator.raw(), settings)? };
        dispatcher.means.channels = channels.cloned();
        Ok(Self {
            dispatcher,
            call: prepared,
        })
    }

    /// Carries out the collective. The sizes of `input` and `output` are [`Call::input_bytes`] and
    /// [`Call::output_bytes`] for this rank.
    ///
    /// # Errors
    ///
    /// If MPI reports an error.
    ///
    /// # Panics
    ///
    /// If a buffer is too short.
    #[inline]
    pub fn call(
        &self,
        communicator: &Communicator,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), ExecError> {
        if let Some(irregular) = self.call.irregular_on(input, output) {
            // SAFETY: the buffers are as long as the call says and do not overlap.
            let code = unsafe {
                self.dispatcher
                    .call_irregular(communicator.raw(), &irregular)
            };
            return check_code(self.call.name(), code);
        }
        // As in the hooks of `preload`: calls that are known to be left to the library are passed on at once, and a
        // separate function handles all others.
        let arguments = self.call.arguments_on(input, output);
        let (dispatcher, raw) = (&self.dispatcher, communicator.raw());
        // SAFETY: the buffers are as long as the call says and do not overlap.
        check_code(self.call.name(), unsafe {
            match dispatcher.find_communicator(raw) {
                Some(known) if dispatcher.passes_on(known, &arguments) => arguments.forward(raw),
                Some(known) => self.serve_known(known, input, output),
                None => dispatcher.call(raw, arguments),
            }
        })
    }

    /// # Safety
    ///
    /// The buffers are as long as the call says and do not overlap, `known` is the call's communicator, and no call of
    /// ours is under way.
    #[inline(never)]
    unsafe fn serve_known(
        &self,
        known: KnownCommunicator,
        input: &[u8],
        output: &mut [u8],
    ) -> c_int {
        let arguments = self.call.arguments_on(input, output);
        // SAFETY: the caller promises that the buffers are as long as the call says and do not overlap, that `known` is
        // the call's communicator, and that no call of ours is under way.
        unsafe { self.dispatcher.call_on(known, || arguments) }
    }

    /// The reason why the library carried out the last kind of call instead of the candidate; `None` if the candidate
    /// did. Valid after the first call.
    pub fn passed_on(&self) -> Option<String> {
        let summary = self.dispatcher.summary();
        match summary.rows.last() {
            Some(row) if row.is_ours() => None,
            Some(row) => Some(row.decision.clone()),
            None => Some("nothing can be kept with the communicator".to_owned()),
        }
    }
}

/// A table that chooses the candidate for every shape and size.
fn single_candidate_table(candidate: &Candidate, call: &Call) -> Table {
    let entry = ShapeRules {
        shape: CommShape { nodes: 1, ppn: 1 },
        order: RankOrder::Unknown,
        operators: Operators::Any,
        deployments: Deployments::Colltune,
        source: RuleSource::Measured,
        rules: vec![Rule::new(0, candidate.clone(), None, Confidence::High)],
        measured: Vec::new(),
        candidates: Vec::new(),
    };
    Table {
        name: candidate.to_string(),
        provenance: Provenance {
            campaign: String::new(),
            store: String::new(),
            library: exec::identify_library(),
            colltune: env!("CARGO_PKG_VERSION").to_owned(),
            date: String::new(),
            hosts: Vec::new(),
            cpu: Provenance::ANY_CPU.to_owned(),
            networks: Vec::new(),
            launches: 0,
            pattern: Pattern::default(),
            distributions: Vec::new(),
            min_confidence: Confidence::default(),
            numerics: Numerics::default(),
            warnings: Vec::new(),
        },
        collectives: BTreeMap::from([(call.collective, vec![entry])]),
        verdicts: Vec::new(),
    }
}
