//! Applies a table to calls with MPI's own handles.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use environment::force::Force;
use environment::shared_memory;
use exec::constants::MPI_Comm;
use exec::{Communicator, ExecError, NoChannels, RawCall, Wait, check_code};
use mpi::ffi;
use schedule::Collective;
use table::dispatch::CommunicatorRules;
use table::{Deployment, Numerics, Policy, Table, Usage};
use vocabulary::{CommShape, RankOrder};

use crate::agree::{is_first, is_same, maximum_over_ranks};
use crate::attach::SilencedCommunicator;
use crate::attribute::Attributes;
use crate::nonblocking::{Progress, time_in_steps};
use crate::place::{is_oversubscribed, world_ranks};
use crate::state::{
    AttachContext, Attached, CommunicatorMeans, NetworkCheck, Reasons, State, pass_on_all,
};
use crate::table_mismatch::{Host, TableMismatch};
use crate::threads::{BusyFlag, CallCounter, is_multiple, lock};
use crate::versions::Versions;
use crate::watch::Watch;
use crate::wrong::Answers;
use crate::{CallSummary, FallbackReason, Loaded, RuntimeError};

/// The default of [`Settings::attach_after_bytes`].
pub const ATTACH_AFTER_BYTES: u64 = 1 << 20;
/// What each call on a communicator counts for in addition to its data, see [`Settings::attach_after_bytes`].
pub const BYTES_OF_A_CALL: u64 = 4 << 10;

/// Settings for the use of a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The differences between this system and the table's, and the properties of programs, despite which the table is
    /// used. Must be the same on all ranks.
    pub force: Force,
    /// The rules that are deployed, and whether they are deployed on shapes that were not measured.
    pub policy: Policy,
    /// Check the table's file for changes whenever a communicator is attached.
    pub reload: bool,
    /// Called on one rank with warnings: a table made for another system is used, a changed table is not used, or the
    /// policy deploys no rule of the table (unless the summary reports that).
    pub warn: Option<fn(&str)>,
    /// Measure the time of every call, for the summary. Costs about 50 ns per call.
    pub timed: bool,
    /// The limit of memory in bytes that this process may share with others of its node, for all communicators
    /// together; [`environment::shared_memory::DEFAULT_BYTES`] if absent.
    pub shared_memory_bytes: Option<u64>,
    /// A communicator other than `MPI_COMM_WORLD` is attached at the call with which the sizes of its calls, each plus
    /// [`BYTES_OF_A_CALL`], add up to this many bytes; [`ATTACH_AFTER_BYTES`] if absent. The library carries out the
    /// calls before. Must be the same on all ranks.
    pub attach_after_bytes: Option<u64>,
}

/// A table in use: decides about calls, and carries them out or passes them on.
///
/// Threads may use it as MPI lets them call it: one at a time, and with `MPI_THREAD_MULTIPLE` at the same time on different
/// communicators. Since that is a promise of the program, unsafe code shares it by its address. The states of communicators
/// are freed with these, when MPI is finalised, and when the dispatcher is dropped. Dropping is collective over all
/// communicators that it was used on, and no thread uses it then.
#[derive(Debug)]
pub struct Dispatcher {
    pub(crate) versions: Versions,
    pub(crate) timed: bool,
    pub(crate) wait: Wait,
    pub(crate) means: CommunicatorMeans,
    attach_after: u64,
    host: Host,
    pub(crate) force: Force,
    /// How nonblocking calls advance; absent if they are left to the library. Set before the program's first call.
    pub(crate) nonblocking: Cell<Option<Progress>>,
    /// Prints warnings; set on the first rank of those that loaded the table.
    warn: Option<fn(&str)>,
    /// Whether the lack of channels has been reported.
    has_said: AtomicBool,
    /// Whether the lack of private communicators has been reported.
    has_said_communicators: AtomicBool,
    /// Whether other networks have been reported.
    has_said_networks: AtomicBool,
    /// Whether threads of the program may call MPI at the same time.
    pub(crate) is_multiple: bool,
    pub(crate) attributes: Rc<Attributes>,
    /// The number of calls carried out by our algorithms, on all communicators; not counted where threads call MPI at the
    /// same time.
    pub(crate) calls: AtomicU64,
    /// The number of the next communicator of the library that this process makes for our messages, from 1; its ranks agree
    /// on a greater one. Of use where one thread at a time calls MPI.
    pub(crate) next_private: Cell<c_int>,
    /// Shared by the private communicators of programs whose threads call MPI at the same time.
    pub(crate) private_users: Arc<()>,
    /// The ranks over which the table was loaded, by their ranks in `MPI_COMM_WORLD`, in ascending order.
    pub(crate) loaded_over: Vec<c_int>,
    /// The number of times that the program has created something that may need the library's communicators.
    pub(crate) creations: AtomicI32,
    pub(crate) busy: BusyFlag,
    pub(crate) summary: Mutex<CallSummary>,
    /// The numbers of calls, by rows of the summary, which does not include them.
    counters: Mutex<BTreeMap<usize, Arc<CallCounter>>>,
    /// What the library says about arguments.
    pub(crate) answers: Answers,
}

/// A communicator on which calls have been made before, with its known properties. Valid as long as the communicator.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct KnownCommunicator(NonNull<c_void>);

impl KnownCommunicator {
    #[inline(always)]
    pub(crate) fn state(self) -> *mut State {
        self.0.as_ptr().cast()
    }
}

impl Dispatcher {
    /// Starts using a table that each rank has tried to read. Collective over the communicator; the table may then be
    /// used on it and on its parts.
    ///
    /// # Errors
    ///
    /// On all ranks alike: if the table could not be read everywhere, if it, the settings or the thread level differ between
    /// ranks, or if it was made for another library.
    ///
    /// # Safety
    ///
    /// MPI is initialised, and `communicator` is a valid intracommunicator.
    pub unsafe fn new(
        loaded: Result<Loaded, RuntimeError>,
        communicator: MPI_Comm,
        settings: Settings,
    ) -> Result<Self, RuntimeError> {
        let library = exec::identify_library();
        let level = exec::provided_thread_level()?;
        let digest = loaded.as_ref().map_or(0, |loaded| loaded.digest);
        let Policy {
            min_confidence,
            unconfirmed,
            extrapolate,
            numerics,
        } = settings.policy;
        let Settings { force, reload, .. } = settings;
        let attach_after = attach_after(&settings);
        let flags = [
            loaded.is_ok(),
            reload,
            unconfirmed,
            extrapolate,
            numerics.is_some(),
            numerics.is_some_and(|required| required.independent_of_placement),
            numerics.is_some_and(|required| required.independent_of_size),
        ];
        let mut numbers = flags.map(u64::from).to_vec();
        let least = min_confidence.map_or(0, |least| 1 + least as u64);
        numbers.extend([
            force.difference_bits(),
            least,
            digest,
            u64::from(is_multiple(level)),
            attach_after,
        ]);
        // SAFETY: the caller promises that the communicator is a valid intracommunicator.
        let is_same = unsafe { is_same(communicator, &numbers)? };
        let loaded = loaded?;
        if !is_same {
            return Err(RuntimeError::Differs);
        }
        let host = Host::new(library);
        let of_systems = Force {
            nonblocking: false,
            progress: false,
            ..settings.force
        };
        if of_systems != Force::ALL || settings.warn.is_some() {
            // SAFETY: the caller promises that the communicator is a valid intracommunicator, and all ranks have the
            // same table and settings, as has just been checked.
            unsafe { check_mismatches(&host, &loaded.table, communicator, settings)? };
        }
        // SAFETY: the caller promises that MPI is initialised and that the communicator is a valid intracommunicator.
        let made = unsafe {
            Self::prepare_on_rank(loaded, communicator, settings, host, is_multiple(level))
        };
        let mut failed = [i32::from(made.is_err())];
        // SAFETY: the caller promises that the communicator is a valid intracommunicator.
        unsafe { maximum_over_ranks(communicator, &mut failed)? };
        match made {
            Ok(_) if failed != [0] => Err(RuntimeError::Differs),
            outcome => {
                let dispatcher = outcome?;
                // SAFETY: the caller promises that the communicator is a valid intracommunicator.
                unsafe { dispatcher.tell_if_unused(communicator, settings)? };
                Ok(dispatcher)
            }
        }
    }

    /// Warns if the policy deploys no rule of the table.
    ///
    /// # Safety
    ///
    /// As in [`Dispatcher::new`].
    unsafe fn tell_if_unused(
        &self,
        communicator: MPI_Comm,
        settings: Settings,
    ) -> Result<(), ExecError> {
        // SAFETY: the caller promises that the communicator is valid.
        let is_first = unsafe { is_first(communicator)? };
        let speaks = is_first && !settings.timed && self.rule_usage().is_all_unused();
        if let (Some(warn), Some(unused)) =
            (settings.warn.filter(|_| speaks), self.report_unused_rules())
        {
            warn(&format!("no rule of the table is used: {unused}"));
        }
        Ok(())
    }

    /// The steps that may fail on single ranks.
    ///
    /// # Safety
    ///
    /// As in [`Dispatcher::new`].
    unsafe fn prepare_on_rank(
        loaded: Loaded,
        communicator: MPI_Comm,
        settings: Settings,
        host: Host,
        is_multiple: bool,
    ) -> Result<Self, ExecError> {
        // SAFETY: the caller promises that the communicator is a valid intracommunicator.
        let (is_oversubscribed, is_first) =
            unsafe { (is_oversubscribed(communicator)?, is_first(communicator)?) };
        let memory = settings.shared_memory_bytes;
        // SAFETY: the caller promises that the communicator is a valid intracommunicator.
        let mut loaded_over = unsafe { world_ranks(communicator)? };
        loaded_over.sort_unstable();
        let attributes = Attributes::open()?;
        if is_multiple {
            *lock(&attributes.alone) = Some(communicator_alone()?);
        }
        Ok(Self {
            versions: Versions::new(loaded, settings.policy, |first| {
                let is_watched = settings.reload;
                is_watched.then(|| Watch::new(first, host.clone(), settings))
            }),
            host,
            force: settings.force,
            nonblocking: Cell::new(None),
            timed: settings.timed,
            wait: wait_mode(is_oversubscribed)?,
            means: CommunicatorMeans {
                allows_devices: settings.force.accelerators,
                shared_bytes: memory.unwrap_or(shared_memory::DEFAULT_BYTES),
                is_oversubscribed,
                channels: None,
            },
            attach_after: attach_after(&settings),
            warn: settings.warn.filter(|_| is_first),
            has_said: AtomicBool::new(false),
            has_said_communicators: AtomicBool::new(false),
            has_said_networks: AtomicBool::new(false),
            is_multiple,
            attributes,
            calls: AtomicU64::new(0),
            next_private: Cell::new(1),
            private_users: Arc::default(),
            loaded_over,
            creations: AtomicI32::new(0),
            busy: BusyFlag::new(is_multiple),
            summary: Mutex::default(),
            counters: Mutex::default(),
            answers: Answers::default(),
        })
    }

    /// The table in use, as the policy deploys it: with the default in place of rules that are not deployed.
    pub fn table(&self) -> &Table {
        &self.versions.first().deployed
    }

    /// The rules of this table for communicators of a shape and order of ranks, with as many ranks on each node.
    pub fn rules_for_shape(&self, shape: CommShape, order: RankOrder) -> Arc<CommunicatorRules> {
        self.versions.first().rules_for_shape(shape, order, true)
    }

    /// Whether shapes that were not measured use the rules of the nearest measured one.
    pub fn is_extrapolating(&self) -> bool {
        self.versions.first().policy.extrapolate
    }

    /// The number of rules that the policy deploys of the table that this rank used last.
    fn rule_usage(&self) -> Usage {
        let last = self.versions.last();
        last.loaded
            .table
            .count_usage(last.policy, Deployment::Colltune)
    }

    /// Whether any rule of the table is deployed that one of our algorithms carries out.
    pub fn uses_rules(&self) -> bool {
        self.rule_usage().used > 0
    }

    /// Reports the rules of the table that the policy does not deploy, with reasons and remedies; `None` if it
    /// deploys all.
    pub fn report_unused_rules(&self) -> Option<String> {
        let usage = self.rule_usage();
        let mut text = match usage.unused_rules() {
            0 => return None,
            _ => usage.to_string(),
        };
        if usage.unconfirmed > 0 {
            text += "; `colltune validate --confirm` confirms those that hold, COLLTUNE_UNCONFIRMED=1 (`colltune run \
                     --unconfirmed`) uses unconfirmed rules as well";
        }
        if usage.simulated > 0 {
            text += "; COLLTUNE_UNCONFIRMED=1 (`colltune run --unconfirmed`) uses simulated rules as well";
        }
        if usage.uncertain > 0 {
            text += "; more launches give more confidence, COLLTUNE_MIN_CONFIDENCE=low (`colltune run \
                     --min-confidence low`) uses rules of low confidence as well";
        }
        if usage.numerics > 0 {
            text += "; COLLTUNE_NUMERICS=none (`colltune run --numerics none`) uses them as well";
        }
        Some(text)
    }

    /// The SHA-256 of the file of the table that this rank used last, in hexadecimal digits.
    pub fn table_sha256(&self) -> String {
        self.versions.last().loaded.sha256.clone()
    }

    /// Whether the table that this rank used last has any rules for a collective.
    pub fn has_rules_for(&self, collective: Collective) -> bool {
        let last = self.versions.last();
        let shapes = last.loaded.table.collectives.get(&collective);
        shapes.is_some_and(|shapes| !shapes.is_empty())
    }

    /// What the bits of reductions do not depend on that the rules of the table that this rank used last carry out.
    pub fn required_numerics(&self) -> Numerics {
        let last = self.versions.last();
        last.policy.numerics_for(&last.loaded.table.provenance)
    }

    /// The number of times that this rank has replaced the table by a changed one.
    pub fn replacements(&self) -> u64 {
        self.versions.replacements()
    }

    /// The calls so far on this rank, with what carried them out.
    pub fn summary(&self) -> CallSummary {
        let mut summary = lock(&self.summary).clone();
        for (row, counter) in lock(&self.counters).iter() {
            // Other threads may have added rows meanwhile.
            if let Some(row) = summary.rows.get_mut(*row) {
                row.calls = counter.calls();
            }
        }
        for (row, time) in time_in_steps() {
            if let Some(row) = summary.rows.get_mut(row) {
                row.time += time;
            }
        }
        summary
    }

    /// The number of calls of a row of the summary.
    pub(crate) fn row_counter(&self, row: usize) -> Arc<CallCounter> {
        let mut counters = lock(&self.counters);
        let counter = counters.entry(row);
        Arc::clone(counter.or_insert_with(|| Arc::new(CallCounter::new(self.is_multiple))))
    }

    /// Counts a call that is carried out by one of our algorithms, on a communicator that was `used` last at the call of
    /// this number.
    #[inline(always)]
    pub(crate) fn count_own_call(&self, used: &Cell<u64>) {
        if self.is_multiple {
            return;
        }
        let calls = self.calls.load(Ordering::Relaxed) + 1;
        self.calls.store(calls, Ordering::Relaxed);
        used.set(calls);
    }

    /// Carries out a call, by one of our algorithms or by the library. Returns MPI's error code; in case of an error
    /// the communicator's error handler has been called.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call.
    #[inline(always)]
    pub unsafe fn call(&self, communicator: MPI_Comm, call: RawCall) -> c_int {
        // SAFETY: the caller promises what MPI asks of the call; `find_communicator` finds the known one of this
        // communicator, and none while a call of ours is under way.
        unsafe {
            match self.find_communicator(communicator) {
                Some(known) => self.call_known(known, communicator, call),
                None => self.call_first(communicator, call),
            }
        }
    }

    /// # Safety
    ///
    /// As MPI asks of the call; `known` is the call's communicator, and no call of ours is under way.
    #[inline(always)]
    unsafe fn call_known(
        &self,
        known: KnownCommunicator,
        communicator: MPI_Comm,
        call: RawCall,
    ) -> c_int {
        // SAFETY: the caller promises what MPI asks of the call, that `known` is its communicator, and that no call of
        // ours is under way.
        unsafe {
            if self.passes_on(known, &call) {
                call.forward(communicator)
            } else {
                self.call_on(known, || call)
            }
        }
    }

    /// A call on a communicator that is not among the recent ones, or in the middle of another.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call.
    #[cold]
    #[inline(never)]
    unsafe fn call_first(&self, communicator: MPI_Comm, call: RawCall) -> c_int {
        // An application's operator must not call collectives, but if it does, this must not fail.
        let is_busy = self.busy.is_set();
        // SAFETY: the caller promises what MPI asks of the call, so the communicator is valid or null; the state is
        // that of this communicator, and is looked for only if no call of ours is under way.
        unsafe {
            let state = (!is_busy).then(|| self.state_of(communicator)).flatten();
            match state.and_then(NonNull::new) {
                Some(state) => self.call_known(KnownCommunicator(state.cast()), communicator, call),
                None if self.timed && !is_busy && communicator == ffi::RSMPI_COMM_SELF => {
                    self.call_alone(communicator, call)
                }
                None => call.forward(communicator),
            }
        }
    }

    /// A communicator that calls have been made on before; `None` if it is not among the recent ones, and while a call
    /// of ours is under way.
    #[inline(always)]
    pub fn find_communicator(&self, communicator: MPI_Comm) -> Option<KnownCommunicator> {
        if self.busy.is_set() {
            return None;
        }
        let state = NonNull::new(self.attributes.recent.find_state(communicator))?;
        Some(KnownCommunicator(state.cast()))
    }

    /// The state of a communicator that was not used recently.
    ///
    /// # Safety
    ///
    /// The communicator is valid or null.
    pub(crate) unsafe fn state_of(&self, communicator: MPI_Comm) -> Option<*mut State> {
        // SAFETY: the caller promises that the communicator is valid or null, and null ones return first; the others
        // are constants of the library.
        unsafe {
            let has_no_others =
                communicator == ffi::RSMPI_COMM_NULL || communicator == ffi::RSMPI_COMM_SELF;
            if has_no_others || self.attributes.is_closed() {
                return None;
            }
            let state = self.attributes.find_state(communicator);
            if !state.is_null() {
                return Some(state);
            }
        }
        // SAFETY: the caller promises that the communicator is valid if it is not null, which has just been checked.
        let state = unsafe {
            State::new(
                communicator,
                &self.versions,
                self.attach_after,
                self.serves_nonblocking(),
            )
        };
        // Errors here concern only this rank, and should not occur: the other ranks count the call, this one does not.
        self.attributes.store_state(Box::new(state.ok()?)).ok()
    }

    /// Attaches a communicator: its ranks agree on the rules for its calls. Collective, with the same outcome on all
    /// ranks; errors concern only this rank, which then leaves all calls to the library.
    ///
    /// # Safety
    ///
    /// A valid intracommunicator with all ranks in `MPI_COMM_WORLD`.
    pub(crate) unsafe fn attach_communicator(
        &self,
        communicator: MPI_Comm,
    ) -> Result<Attached, Reasons> {
        let networks = NetworkCheck {
            host: &self.host,
            is_forced: self.force.networks,
            found: RefCell::default(),
        };
        let common = AttachContext {
            versions: &self.versions,
            means: &self.means,
            serves_nonblocking: self.serves_nonblocking(),
            networks: &networks,
            calls: self.calls.load(Ordering::Relaxed),
        };
        let attached = self.with_library_collectives(|| {
            // SAFETY: the caller promises a valid intracommunicator with all ranks in `MPI_COMM_WORLD`.
            unsafe {
                SilencedCommunicator::new(communicator)
                    .and_then(|silenced| silenced.attach(&common))
            }
        });
        if let Some(found) = networks.found.take() {
            self.tell_of_networks(&found);
        }
        attached.unwrap_or_else(|_| pass_on_all(FallbackReason::NoCommunicator))
    }

    /// Warns once that the table was made on other networks.
    fn tell_of_networks(&self, found: &TableMismatch) {
        let Some(warn) = self.warn else { return };
        if self.has_said_networks.swap(true, Ordering::Relaxed) {
            return;
        }
        if found.is_forced(self.force) {
            return warn(&format!("{found}; it is used anyway"));
        }
        warn(&format!(
            "{found}: calls on communicators over several nodes are left to the library; set COLLTUNE_FORCE={}, or \
             COLLTUNE_FORCE=1 for all differences, to use the table there anyway",
            found.forcing()
        ));
    }

    /// Does something during which all collectives are the library's: those by which ranks agree may be intercepted, too.
    pub(crate) fn with_library_collectives<T>(&self, does: impl FnOnce() -> T) -> T {
        let was_busy = self.busy.is_set();
        self.busy.set(true);
        let done = does();
        self.busy.set(was_busy);
        done
    }

    /// Warns once about rules that cannot be carried out because there are no channels.
    pub(crate) fn tell_if_without_channels(&self, lacking: Option<NoChannels>) {
        if let (Some(warn), Some(reason)) = (self.warn, lacking)
            && !self.has_said.swap(true, Ordering::Relaxed)
        {
            warn(&format!(
                "calls that the table's rules carry out through shared memory are left to the library: {reason}"
            ));
        }
    }

    /// Warns once about calls that are left to the library because there is no private communicator for them.
    #[cold]
    pub(crate) fn tell_of_lacking_communicator(&self) {
        let Some(warn) = self.warn else { return };
        if self.has_said_communicators.swap(true, Ordering::Relaxed) {
            return;
        }
        let order = if self.is_multiple {
            "make the important ones, and call a collective of the table on each, before others"
        } else {
            "call a collective of the table on MPI_COMM_WORLD first, whose private communicator serves all others"
        };
        warn(&format!(
            "calls on some communicators are left to the library, as there is no private communicator for them: free \
             communicators as soon as the program no longer needs them, and {order}"
        ));
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        self.attributes.close();
    }
}

/// Checks that a table may be used on a communicator; the same outcome on all ranks. Collective.
///
/// # Safety
///
/// `communicator` is a valid intracommunicator, and its ranks have the same table and settings.
unsafe fn check_mismatches(
    host: &Host,
    table: &Table,
    communicator: MPI_Comm,
    settings: Settings,
) -> Result<(), RuntimeError> {
    // SAFETY: the caller promises that the communicator is a valid intracommunicator whose ranks have the same table.
    let (mismatches, is_first) = unsafe {
        let mismatches = host.common_mismatches(communicator, table)?;
        (mismatches, is_first(communicator)?)
    };
    for mismatch in mismatches {
        if !mismatch.is_forced(settings.force) {
            return Err(mismatch.into());
        }
        if let Some(warn) = settings.warn.filter(|_| is_first) {
            warn(&format!("{mismatch}; it is used anyway"));
        }
    }
    Ok(())
}

/// A communicator of this process alone. Not by a collective on `MPI_COMM_SELF`, which another thread may make at the same
/// time.
fn communicator_alone() -> Result<Communicator, ExecError> {
    // SAFETY: MPI is initialised, as the caller of `Dispatcher::new` promises; constants of the library, of which one group
    // is written by the calls and freed.
    unsafe {
        let alone = ffi::RSMPI_COMM_SELF;
        let mut group = ffi::RSMPI_GROUP_NULL;
        check_code("MPI_Comm_group", ffi::PMPI_Comm_group(alone, &mut group))?;
        let made = Communicator::of_group(alone, group);
        ffi::PMPI_Group_free(&mut group);
        made
    }
}

fn attach_after(settings: &Settings) -> u64 {
    let after = settings.attach_after_bytes;
    after.unwrap_or(ATTACH_AFTER_BYTES)
}

/// The way ranks wait in MPI: oversubscribed ones yield their cores, unless the library does so itself.
fn wait_mode(is_oversubscribed: bool) -> Result<Wait, ExecError> {
    Ok(if is_oversubscribed && !exec::leaves_core()? {
        Wait::Yield
    } else {
        Wait::Block
    })
}
