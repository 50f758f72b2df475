//! A table at work on MPI's own handles.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

use environment::shared_memory;
use exec::constants::MPI_Comm;
use exec::{ExecError, RawCall, Wait, check};
use mpi::ffi;
use table::dispatch::CommunicatorRules;
use table::{Deployment, Policy, Table, Usage};
use vocabulary::{CommShape, RankOrder};

use crate::agree::{greatest, is_first, is_same};
use crate::attach::{Means, State};
use crate::attribute::Attributes;
use crate::place::place;
use crate::table_mismatch::Host;
use crate::versions::Versions;
use crate::watch::Watch;
use crate::{CallSummary, Loaded, RuntimeError};

/// How a table is used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// Use a table that was made for another library, version or type of node too, and in programs that
    /// have loaded a driver of accelerators: no buffer of a collective is in their memory.
    pub force: bool,
    /// The rules of the table that are used, and whether they are used on shapes that were not measured.
    pub policy: Policy,
    /// Look at the table's file again where a communicator is used for the first time.
    pub reload: bool,
    /// Called on one rank with warnings: that such a table is used, why a changed one is not, or that the policy
    /// deploys no rule of a table, unless the summary says so.
    pub warn: Option<fn(&str)>,
    /// Take the time of every call, for the summary. Costs some 50 ns a call.
    pub timed: bool,
    /// Bytes of memory that this process may share with others of its node, all communicators together;
    /// [`environment::shared_memory::DEFAULT_BYTES`] if absent.
    pub shared_memory_bytes: Option<u64>,
}

/// A table at work: decides about calls, carries them out or passes them on.
///
/// For one thread at a time, as MPI itself below `MPI_THREAD_MULTIPLE`. What it keeps with
/// communicators is freed with them, when MPI is finalised, and when it is dropped; dropping it is
/// collective over all communicators that it was used on.
#[derive(Debug)]
pub struct Dispatcher {
    versions: Versions,
    pub(crate) timed: bool,
    pub(crate) wait: Wait,
    pub(crate) means: Means,
    /// The function that prints warnings, on the first rank of those that the table was loaded over.
    warn: Option<fn(&str)>,
    /// Whether it has been said that there are no channels.
    has_said: Cell<bool>,
    pub(crate) attributes: Rc<Attributes>,
    /// Calls of ours, on all communicators.
    pub(crate) calls: Cell<u64>,
    /// Whether a call of ours is under way.
    pub(crate) is_busy: Cell<bool>,
    pub(crate) summary: RefCell<CallSummary>,
    /// Calls that were passed on at once, which the summary does not have, by its rows.
    passed: RefCell<BTreeMap<usize, Rc<Cell<u64>>>>,
}

impl Dispatcher {
    /// Puts a table to use that each rank has tried to read. Collective over the communicator, on
    /// which and on parts of which it may then be used.
    ///
    /// # Errors
    ///
    /// On all ranks alike: if it could not be read everywhere, it or the settings are not the same everywhere,
    /// it was made for another library, or threads may call MPI at the same time.
    ///
    /// # Safety
    ///
    /// MPI is initialised, and `communicator` is a valid intracommunicator.
    pub unsafe fn new(
        loaded: Result<Loaded, RuntimeError>,
        communicator: MPI_Comm,
        settings: Settings,
    ) -> Result<Self, RuntimeError> {
        let library = exec::library();
        let mut threads = 0;
        // SAFETY: the result is written by the call.
        check("MPI_Query_thread", unsafe {
            ffi::PMPI_Query_thread(&mut threads)
        })?;
        let digest = loaded.as_ref().map_or(0, |loaded| loaded.digest);
        let Policy {
            min_confidence,
            unconfirmed,
            extrapolate,
        } = settings.policy;
        let Settings { force, reload, .. } = settings;
        let flags = [loaded.is_ok(), force, reload, unconfirmed, extrapolate];
        let mut numbers = flags.map(u64::from).to_vec();
        let least = min_confidence.map_or(0, |least| 1 + least as u64);
        numbers.extend([least, digest, threads as u64]);
        // SAFETY: the caller's.
        let is_same = unsafe { is_same(communicator, &numbers)? };
        let loaded = loaded?;
        if !is_same {
            return Err(RuntimeError::Differs);
        }
        // SAFETY: a constant of the library.
        if threads == unsafe { ffi::RSMPI_THREAD_MULTIPLE } {
            return Err(RuntimeError::Threads);
        }
        let host = Host::new(library);
        if !settings.force || settings.warn.is_some() {
            // SAFETY: the caller's.
            unsafe { admit(&host, &loaded.table, communicator, settings)? };
        }
        // SAFETY: the caller's.
        let made = unsafe { Self::with(loaded, communicator, settings, host) };
        let mut failed = [i32::from(made.is_err())];
        // SAFETY: the caller's.
        unsafe { greatest(communicator, &mut failed)? };
        match made {
            Ok(_) if failed != [0] => Err(RuntimeError::Differs),
            made => {
                let dispatcher = made?;
                // SAFETY: the caller's.
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
        // SAFETY: the caller's.
        let is_first = unsafe { is_first(communicator)? };
        let speaks = is_first && !settings.timed && self.usage().is_nothing();
        if let (Some(warn), Some(unused)) = (settings.warn.filter(|_| speaks), self.unused()) {
            warn(&format!("nothing of the table is used: {unused}"));
        }
        Ok(())
    }

    /// What may fail on one rank and not on another.
    ///
    /// # Safety
    ///
    /// As in [`Dispatcher::new`].
    unsafe fn with(
        loaded: Loaded,
        communicator: MPI_Comm,
        settings: Settings,
        host: Host,
    ) -> Result<Self, ExecError> {
        // SAFETY: the caller's.
        let (node_ranks, is_first) =
            unsafe { (place(communicator)?.node_ranks, is_first(communicator)?) };
        let is_oversubscribed = is_oversubscribed(node_ranks);
        let memory = settings.shared_memory_bytes;
        Ok(Self {
            versions: Versions::new(loaded, settings.policy, |first| {
                let is_watched = settings.reload;
                is_watched.then(|| Watch::new(first, host, settings))
            }),
            timed: settings.timed,
            wait: wait(is_oversubscribed)?,
            means: Means {
                allows_devices: settings.force,
                shared_bytes: memory.unwrap_or(shared_memory::DEFAULT_BYTES),
                is_oversubscribed,
                channels: None,
            },
            warn: settings.warn.filter(|_| is_first),
            has_said: Cell::new(false),
            attributes: Attributes::open()?,
            calls: Cell::new(0),
            is_busy: Cell::new(false),
            summary: RefCell::default(),
            passed: RefCell::default(),
        })
    }

    /// The table that it was made with, as the policy deploys it: with the default in place of the rules that
    /// are not used.
    pub fn table(&self) -> &Table {
        &self.versions.first().deployed
    }

    /// What this table decides on communicators of a shape and order of ranks.
    pub fn rules(&self, shape: CommShape, order: RankOrder) -> Rc<CommunicatorRules> {
        self.versions.first().rules(shape, order)
    }

    /// Whether shapes that were not measured are served by the nearest one that was.
    pub fn extrapolates(&self) -> bool {
        self.versions.first().policy.extrapolate
    }

    /// How many rules the policy deploys of the table that this rank used last.
    fn usage(&self) -> Usage {
        let last = self.versions.last();
        last.loaded.table.usage(last.policy, Deployment::Colltune)
    }

    /// How many rules of the table the policy does not deploy, why, and what to do about it; `None` if it deploys
    /// all.
    pub fn unused(&self) -> Option<String> {
        let usage = self.usage();
        let mut text = match usage.unused() {
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
        Some(text)
    }

    /// How often a table read later has taken the place of the one before, on this rank.
    pub fn replacements(&self) -> u64 {
        self.versions.replacements()
    }

    /// What was decided and done so far, on this rank.
    pub fn summary(&self) -> CallSummary {
        let mut summary = self.summary.borrow().clone();
        for (row, calls) in self.passed.borrow().iter() {
            summary.rows[*row].calls += calls.get();
        }
        summary
    }

    /// Counts the calls that are passed on at once and belong to a row of the summary.
    pub(crate) fn passed_calls(&self, row: usize) -> Rc<Cell<u64>> {
        Rc::clone(self.passed.borrow_mut().entry(row).or_default())
    }

    /// Makes a call: by one of our algorithms, or the library's own. Returns MPI's error code;
    /// the communicator's error handler has been called then.
    ///
    /// # Safety
    ///
    /// As MPI asks of the call.
    #[inline(always)]
    pub unsafe fn call(&self, communicator: MPI_Comm, call: RawCall) -> c_int {
        // SAFETY: the caller's; a state lives as long as its communicator.
        unsafe {
            match self.state(communicator) {
                Some(state) => self.serve(state, communicator, call),
                None => call.forward(communicator),
            }
        }
    }

    /// # Safety
    ///
    /// The communicator is valid or null.
    #[inline(always)]
    unsafe fn state(&self, communicator: MPI_Comm) -> Option<*mut State> {
        // An operator of the application's that calls collectives is wrong, but shall not harm us.
        if self.is_busy.get() {
            return None;
        }
        let state = self.attributes.recent.get(communicator);
        match state.is_null() {
            false => Some(state),
            // SAFETY: the caller's.
            true => unsafe { self.attach(communicator) },
        }
    }

    /// The state of a communicator that is not among the recent ones.
    ///
    /// # Safety
    ///
    /// The communicator is valid or null.
    #[cold]
    #[inline(never)]
    unsafe fn attach(&self, communicator: MPI_Comm) -> Option<*mut State> {
        // SAFETY: constants of the library; the caller's.
        unsafe {
            let has_no_others =
                communicator == ffi::RSMPI_COMM_NULL || communicator == ffi::RSMPI_COMM_SELF;
            if has_no_others || self.attributes.is_closed() {
                return None;
            }
            let state = self.attributes.get(communicator);
            if !state.is_null() {
                return Some(state);
            }
        }
        let private = self.attributes.private();
        // SAFETY: the caller's.
        let state = unsafe {
            let calls = self.calls.get();
            State::new(communicator, &self.versions, private, calls, &self.means)
        };
        // An error here is one that the library has nothing to say about but to this rank.
        let mut state = Box::new(state.ok()?);
        self.make_room(&mut state).ok()?;
        self.tell_if_without_channels(&state);
        self.attributes.set(state).ok()
    }

    /// Warns, once, of rules that cannot be carried out for lack of channels.
    fn tell_if_without_channels(&self, state: &State) {
        let lacking = state.tuned.as_ref().ok().and_then(|tuned| tuned.lacking);
        if let (Some(warn), Some(reason)) = (self.warn, lacking)
            && !self.has_said.replace(true)
        {
            warn(&format!(
                "calls that the table's rules carry out through shared memory are left to the library: {reason}"
            ));
        }
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        self.attributes.close();
    }
}

/// Whether a table may be used on a communicator; all ranks come to the same. Collective.
///
/// # Safety
///
/// A valid intracommunicator, whose ranks have the same table and settings.
unsafe fn admit(
    host: &Host,
    table: &Table,
    communicator: MPI_Comm,
    settings: Settings,
) -> Result<(), RuntimeError> {
    // SAFETY: the caller's.
    let (misfits, is_first) = unsafe {
        let misfits = host.common_misfits(communicator, table)?;
        (misfits, is_first(communicator)?)
    };
    for misfit in misfits {
        if !settings.force {
            return Err(misfit.into());
        }
        if let Some(warn) = settings.warn.filter(|_| is_first) {
            warn(&format!("{misfit}; it is used all the same"));
        }
    }
    Ok(())
}

/// Whether the ranks of this node outnumber its cores.
fn is_oversubscribed(node_ranks: c_int) -> bool {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    node_ranks as usize > cores && !is_bound(cores)
}

/// How ranks wait in MPI: crowded ones give up their cores, unless the library does so.
fn wait(is_oversubscribed: bool) -> Result<Wait, ExecError> {
    Ok(match is_oversubscribed && !exec::leaves_core()? {
        true => Wait::Yield,
        false => Wait::Block,
    })
}

/// Whether the launcher has given this rank few of the node's cores, which then are its own.
fn is_bound(cores: usize) -> bool {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let last = list.trim().rsplit([',', '-']).next();
    let online = last.and_then(|last| last.parse::<usize>().ok());
    online.is_some_and(|last| cores < last + 1)
}
