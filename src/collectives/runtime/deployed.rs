//! A single algorithm of ours, called in the same way as by programs with a table.
//!
//! The driver measures our candidates with it: a dispatcher with a table of one rule, and channels as large as those of
//! a program's communicator. If it would leave the call to the library, the candidate has failed.
//!
//! Nonblocking calls are started and completed as in programs with `libcolltune.so`, too ([`crate::nonblocking`]).

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

use environment::force::Force;
use exec::{Call, Communicator, ExecError, LibraryCall, NodeChannels, PendingCall, check_code};
use mpi::ffi;
use table::{
    Confidence, Deployments, Numerics, Operators, Policy, Provenance, Rule, RuleSource, ShapeRules,
    Table,
};
use vocabulary::{Candidate, CommShape, Pattern, RankOrder};

use crate::nonblocking::{advance_calls, are_calls_polled};
use crate::progress::register_steps;
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
        let table = single_candidate_table(candidate, call, Pattern::Together);
        let mut deployed = Self::with_table(table, call, communicator)?;
        deployed.dispatcher.means.channels = channels.cloned();
        Ok(deployed)
    }

    /// Prepares nonblocking calls, see [`Self::start`]. They go on whenever the library makes progress, if it calls functions of
    /// others then, otherwise in [`test_pending`] and [`wait_for_pending`]. Likewise collective.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn new_nonblocking(
        candidate: &Candidate,
        call: &Call,
        communicator: &Communicator,
    ) -> Result<Self, RuntimeError> {
        if let Some((algorithm, parameters)) = candidate.as_ours() {
            call.schedule_with(algorithm, parameters, communicator.nodes())?;
        }
        let section = single_candidate_table(candidate, call, Pattern::Nonblocking);
        let table = section.join_with_replaced(None);
        let deployed = Self::with_table(table, call, communicator)?;
        let is_called = register_steps();
        // SAFETY: the communicator is valid, and nothing has been called.
        let served = unsafe {
            deployed
                .dispatcher
                .serve_nonblocking(communicator.raw(), is_called)
        };
        // Only threads stand in the way, as progress is forced.
        served.map_err(|_| ExecError::NotNonblocking(call.collective))?;
        Ok(deployed)
    }

    fn with_table(
        table: Table,
        call: &Call,
        communicator: &Communicator,
    ) -> Result<Self, RuntimeError> {
        let prepared = LibraryCall::new(call, communicator.rank(), communicator.size())?;
        let settings = Settings {
            force: Force {
                progress: true,
                ..Force::ALL
            },
            policy: Policy {
                min_confidence: Some(Confidence::Low),
                unconfirmed: true,
                extrapolate: true,
                numerics: Some(Numerics::default()),
            },
            attach_after_bytes: Some(0),
            ..Settings::default()
        };
        let loaded = Loaded::from(table);
        // SAFETY: MPI runs as long as there are communicators of ours.
        let dispatcher = unsafe { Dispatcher::new(Ok(loaded), communicator.raw(), settings)? };
        Ok(Self {
            dispatcher,
            call: prepared,
        })
    }

    /// Starts a nonblocking call, as the hooks of `preload` do; `None` if it would be left to the library. The sizes of the
    /// buffers are as for [`Self::call`].
    ///
    /// # Errors
    ///
    /// If MPI reports an error.
    ///
    /// # Panics
    ///
    /// If a buffer is too short.
    #[inline]
    pub fn start<'b>(
        &self,
        communicator: &Communicator,
        input: &'b [u8],
        output: &'b mut [u8],
    ) -> Result<Option<PendingCall<'b>>, ExecError> {
        let arguments = self.call.arguments_on(input, output);
        // SAFETY: a constant of the library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        // SAFETY: the buffers are as long as the call says, do not overlap, and are borrowed until the call has ended.
        let started = unsafe {
            self.dispatcher
                .start_nonblocking(communicator.raw(), &arguments, &mut request)
        };
        let Some(code) = started else {
            return Ok(None);
        };
        check_code("a nonblocking collective", code)?;
        // SAFETY: made by the call on these buffers.
        Ok(Some(unsafe { PendingCall::from_request(request) }))
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

/// Tests a nonblocking call, of ours or of the library, as the hooks of `preload` do.
///
/// # Errors
///
/// That of the call.
#[inline]
pub fn test_pending(pending: &mut PendingCall<'_>) -> Result<bool, ExecError> {
    if are_calls_polled() {
        advance_calls();
    }
    pending.test()
}

/// Waits for a nonblocking call in the same way.
///
/// # Errors
///
/// That of the call.
#[inline]
pub fn wait_for_pending(mut pending: PendingCall<'_>) -> Result<(), ExecError> {
    while are_calls_polled() {
        advance_calls();
        if pending.test()? {
            return Ok(());
        }
        // The other ranks of the node may need the core.
        std::thread::yield_now();
    }
    pending.wait()
}

/// A table that chooses the candidate for every shape and size.
fn single_candidate_table(candidate: &Candidate, call: &Call, pattern: Pattern) -> Table {
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
            pattern,
            distributions: Vec::new(),
            min_confidence: Confidence::default(),
            numerics: Numerics::default(),
            warnings: Vec::new(),
        },
        collectives: BTreeMap::from([(call.collective, vec![entry])]),
        verdicts: Vec::new(),
        nonblocking: None,
    }
}
