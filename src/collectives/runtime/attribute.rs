//! States kept with communicators, as attributes (MPI 4.0, section 7.7).
//!
//! MPI deletes an attribute when the communicator is freed, and that frees its state. An attribute of `MPI_COMM_SELF`
//! frees everything else when MPI ends. Threads store and find states, and free them with their communicators, at the same
//! time; see [`crate::threads`].

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use exec::constants::MPI_Comm;
use exec::{Communicator, ExecError, check_code};
use mpi::ffi;

use crate::datatypes::Datatypes;
use crate::recent::RecentStates;
use crate::state::{PrivateCommunicator, State};
use crate::threads::lock;

/// The states of communicators: found by handle, and freed with the communicator or when MPI ends.
#[derive(Debug)]
pub(crate) struct Attributes {
    /// The key of the states. It and the next one are set before threads share this value.
    keyval: Cell<c_int>,
    /// The key of an attribute of `MPI_COMM_SELF`, which MPI deletes before it ends (MPI 4.0, section 11.2.4).
    ending: Cell<c_int>,
    is_closed: AtomicBool,
    /// Owned by the attributes of live communicators, in the order of their creation.
    live_states: Mutex<Vec<*mut State>>,
    /// A communicator of this process alone, on which the library is asked questions; `MPI_COMM_SELF` if absent. The
    /// program's threads may use that one at the same time.
    pub(crate) alone: Mutex<Option<Communicator>>,
    /// Whether the library may report errors of calls on that to the handler of `MPI_COMM_WORLD`.
    pub(crate) reports_to_world: bool,
    /// The library's communicator for our messages on all of the program's, once there is one; never in programs whose
    /// threads call MPI at the same time.
    pub(crate) base: RefCell<Option<PrivateCommunicator>>,
    /// The states of recently used communicators.
    pub(crate) recent: RecentStates,
    /// The attributes of datatypes.
    pub(crate) datatypes: Datatypes,
}

impl Attributes {
    /// Creates the keys.
    ///
    /// The library keeps the address of the result until [`Attributes::close`].
    pub(crate) fn open() -> Result<Rc<Self>, ExecError> {
        let attributes = Rc::new(Self {
            keyval: Cell::new(0),
            ending: Cell::new(0),
            is_closed: AtomicBool::new(false),
            live_states: Mutex::default(),
            alone: Mutex::default(),
            reports_to_world: exec::reports_to_world(),
            base: RefCell::default(),
            recent: RecentStates::new(),
            datatypes: Datatypes::open()?,
        });
        attributes.keyval.set(attributes.create_keyval(on_delete)?);
        attributes.ending.set(attributes.create_keyval(on_end)?);
        // SAFETY: a valid communicator and a keyval of it.
        check_code("MPI_Comm_set_attr", unsafe {
            ffi::PMPI_Comm_set_attr(
                ffi::RSMPI_COMM_SELF,
                attributes.ending.get(),
                std::ptr::null_mut(),
            )
        })?;
        Ok(attributes)
    }

    fn create_keyval(self: &Rc<Self>, on_delete: OnDelete) -> Result<c_int, ExecError> {
        let mut keyval = 0;
        let extra = Rc::as_ptr(self).cast_mut().cast();
        // SAFETY: the callbacks have the types that MPI gives them.
        check_code("MPI_Comm_create_keyval", unsafe {
            ffi::PMPI_Comm_create_keyval(Some(do_not_copy), Some(on_delete), &mut keyval, extra)
        })?;
        Ok(keyval)
    }

    /// Whether the attributes can no longer be used.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// The state of a communicator, or null. It lives as long as the communicator does.
    ///
    /// # Safety
    ///
    /// The communicator is valid, and not null.
    pub(crate) unsafe fn find_state(&self, communicator: MPI_Comm) -> *mut State {
        let (mut value, mut flag) = (std::ptr::null_mut::<State>(), 0);
        // SAFETY: the caller promises that the communicator is valid and not null; what was set is a state's address.
        let code = unsafe {
            ffi::PMPI_Comm_get_attr(
                communicator,
                self.keyval.get(),
                (&raw mut value).cast(),
                &mut flag,
            )
        };
        if code != 0 || flag == 0 {
            return std::ptr::null_mut();
        }
        self.recent.add_state(communicator, value);
        value
    }

    /// Stores a state with its communicator.
    pub(crate) fn store_state(&self, state: Box<State>) -> Result<*mut State, ExecError> {
        let communicator = state.communicator;
        let state = Box::into_raw(state);
        // SAFETY: a valid communicator; the address is taken back by `on_delete`, or here.
        unsafe {
            let code = ffi::PMPI_Comm_set_attr(communicator, self.keyval.get(), state.cast());
            if let Err(error) = check_code("MPI_Comm_set_attr", code) {
                drop(Box::from_raw(state));
                return Err(error);
            }
        }
        lock(&self.live_states).push(state);
        self.recent.add_state(communicator, state);
        Ok(state)
    }

    /// All states in the order of their creation, which is the same on all ranks that two communicators share. Unless one
    /// thread at a time calls MPI, others may use and free them.
    pub(crate) fn live(&self) -> Vec<*mut State> {
        lock(&self.live_states).clone()
    }

    /// Frees all states and the keys. Collective over all communicators that have a state.
    pub(crate) fn close(&self) {
        if self.is_closed() {
            return;
        }
        let mut ending = self.ending.get();
        // SAFETY: ours; `on_end` frees everything.
        unsafe {
            ffi::PMPI_Comm_delete_attr(ffi::RSMPI_COMM_SELF, ending);
            ffi::PMPI_Comm_free_keyval(&mut ending);
        }
        self.free_states();
    }

    fn free_states(&self) {
        if self.is_closed.swap(true, Ordering::AcqRel) {
            return;
        }
        for state in self.live() {
            // SAFETY: live, so that its communicator is; `on_delete` frees it.
            unsafe { ffi::PMPI_Comm_delete_attr((*state).communicator, self.keyval.get()) };
        }
        self.base.replace(None);
        let alone = lock(&self.alone).take();
        drop(alone);
        let mut keyval = self.keyval.get();
        // SAFETY: ours.
        unsafe { ffi::PMPI_Comm_free_keyval(&mut keyval) };
        self.datatypes.close();
    }
}

type OnDelete = unsafe extern "C" fn(MPI_Comm, c_int, *mut c_void, *mut c_void) -> c_int;

/// Called when MPI ends, or when the table is no longer used.
unsafe extern "C" fn on_end(_: MPI_Comm, _: c_int, _: *mut c_void, extra: *mut c_void) -> c_int {
    // SAFETY: given to MPI by `open`, and not freed before `close`.
    unsafe { (*extra.cast::<Attributes>()).free_states() };
    0
}

/// Attributes are not copied to a duplicate, which gets its own when it is used.
pub(crate) unsafe extern "C" fn do_not_copy<Handle>(
    _: Handle,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI's.
    unsafe { *flag = 0 };
    0
}

/// Called when a communicator is freed, or the program ends.
unsafe extern "C" fn on_delete(
    _: MPI_Comm,
    _: c_int,
    value: *mut c_void,
    extra: *mut c_void,
) -> c_int {
    // SAFETY: the values that were given to MPI by `open` and `store_state`.
    unsafe {
        let attributes = &*extra.cast::<Attributes>();
        let state = value.cast::<State>();
        attributes.recent.forget_state(state);
        lock(&attributes.live_states).retain(|other| *other != state);
        // Not under the lock: this calls the library.
        drop(Box::from_raw(state));
    }
    0
}
