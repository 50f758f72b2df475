//! Nonblocking collectives that our algorithms carry out, see `nonblocking.rs` of `runtime`.
//!
//! Hooks (`unserved.rs`) try to start them here before they call the library, and a function that Open MPI calls whenever it
//! makes progress takes their steps. Where the library calls no such function, calls that are given requests take steps
//! (`requests.rs`): those that test requests before they pass on, and those that wait in a loop of tests, so that no other
//! request waits for ours.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use exec::RawCall;
use exec::constants::{MPI_Datatype, MPI_Op, no_operator};
use mpi::ffi;
use runtime::{
    Dispatcher, NotNonblocking, advance_calls, are_calls_polled, calls_under_way, finish_calls,
    keep_freed_datatype, keep_freed_operator, keep_freed_request,
};
use schedule::Collective;

use crate::chain::{chained, function_of_library};
use crate::counts::{Requests, Word};
use crate::handle::Handle;
use crate::lifetime::dispatcher;
use crate::requests::library_function;

/// A function that the library calls when it makes progress; it returns the number of events.
type ProgressCallback = unsafe extern "C" fn() -> c_int;
/// Open MPI's functions that add and remove one.
type ChangeCallbacks = unsafe extern "C" fn(ProgressCallback) -> c_int;

/// The collective that a nonblocking one is served as; `None` if the library carries it out.
pub(crate) const fn served_collective(name: &str) -> Option<Collective> {
    match name.as_bytes() {
        b"ibcast" => Some(Collective::Bcast),
        b"iallreduce" => Some(Collective::Allreduce),
        b"ibarrier" => Some(Collective::Barrier),
        _ => None,
    }
}

/// Starts a collective by one of our algorithms; `None` if the library must carry it out. `words` are its arguments apart
/// from the request.
///
/// # Safety
///
/// As MPI asks of the call of this collective.
#[inline(always)]
pub(crate) unsafe fn start(
    collective: Option<Collective>,
    is_large: bool,
    words: &[Word],
    request: Word,
) -> Option<c_int> {
    let collective = collective?;
    let dispatcher = dispatcher()?;
    // SAFETY: the caller promises what MPI asks of the call.
    unsafe { start_by(dispatcher, collective, is_large, words, request) }
}

/// # Safety
///
/// As for [`start`].
#[inline(never)]
unsafe fn start_by(
    dispatcher: &Dispatcher,
    collective: Collective,
    is_large: bool,
    words: &[Word],
    request: Word,
) -> Option<c_int> {
    // A register's upper half has no meaning for an `int`.
    let int = |word: Word| word as c_int;
    let count = |word: Word| {
        if is_large {
            word as i64
        } else {
            i64::from(int(word))
        }
    };
    let input = std::ptr::with_exposed_provenance::<c_void>;
    let output = std::ptr::with_exposed_provenance_mut::<c_void>;
    let (call, on) = match (collective, words) {
        (Collective::Bcast, &[data, elements, datatype, root, on]) => {
            let datatype = Handle::from(datatype).datatype();
            let call = RawCall::new(
                collective,
                input(0),
                output(data),
                count(elements),
                datatype,
            );
            (call.with_root(int(root)), on)
        }
        (Collective::Allreduce, &[send, recv, elements, datatype, operator, on]) => {
            let datatype = Handle::from(datatype).datatype();
            let (send, recv) = (input(send), output(recv));
            let call = RawCall::new(collective, send, recv, count(elements), datatype);
            (call.with_operator(Handle::from(operator).operator()), on)
        }
        (Collective::Barrier, &[on]) => (RawCall::barrier(), on),
        _ => return None,
    };
    let on = Handle::from(on).communicator();
    let request = std::ptr::with_exposed_provenance_mut(request);
    // SAFETY: the caller promises what MPI asks of the call.
    unsafe { dispatcher.start_nonblocking(on, &call, request) }
}

/// Whether [`take_steps`] is among the functions that the library calls.
static IS_REGISTERED: AtomicBool = AtomicBool::new(false);

/// Called by Open MPI when it makes progress.
extern "C" fn take_steps() -> c_int {
    advance_calls() as c_int
}

/// One of Open MPI's functions for callbacks.
fn change_callbacks(name: &CStr) -> Option<ChangeCallbacks> {
    let address = function_of_library(name)?;
    // SAFETY: Open MPI's functions of these names have this type in all releases (opal/runtime/opal_progress.h).
    Some(unsafe { std::mem::transmute::<*const c_void, ChangeCallbacks>(address) })
}

/// Serves nonblocking collectives from now on, if the table has rules for them or the settings ask for that. Collective over
/// `MPI_COMM_WORLD`.
///
/// # Errors
///
/// The reason why they are left to the library, on all ranks alike.
pub(crate) fn serve_nonblocking(dispatcher: &Dispatcher) -> Result<(), NotNonblocking> {
    let register = change_callbacks(c"opal_progress_register");
    // SAFETY: MPI has just been initialised, and no call has been made; a constant of the library.
    unsafe { dispatcher.serve_nonblocking(ffi::RSMPI_COMM_WORLD, register.is_some())? };
    if let Some(register) = register.filter(|_| dispatcher.serves_nonblocking()) {
        // SAFETY: the library is initialised; the function stays until `stop_serving`.
        unsafe { register(take_steps) };
        IS_REGISTERED.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Ends all calls that are under way, before MPI is finalised.
pub(crate) fn stop_serving() {
    finish_calls();
    if IS_REGISTERED.swap(false, Ordering::Relaxed)
        && let Some(remove) = change_callbacks(c"opal_progress_unregister")
    {
        // SAFETY: has been registered; this is not called by it.
        unsafe { remove(take_steps) };
    }
}

// Calls that are given requests.

/// Whether calls that are given requests must take steps of calls under way.
#[inline(always)]
pub(crate) fn takes_steps() -> bool {
    are_calls_polled()
}

/// A call that waits, which a call that tests takes the place of while calls of ours are under way. Returns `None` when there
/// are none any more, and the code of the test when that has ended.
fn wait_by_tests(mut test: impl FnMut() -> (c_int, bool)) -> Option<c_int> {
    while takes_steps() {
        advance_calls();
        let (code, has_ended) = test();
        if code != 0 || has_ended {
            return Some(code);
        }
        // The other ranks of the node may need the core.
        std::thread::yield_now();
    }
    None
}

/// Declares the library's function with a name for profiling, or returns what `otherwise` does if it lacks that.
macro_rules! library_test {
    ($name:literal ($($kind:ty),*) $otherwise:expr) => {
        match library_function($name) {
            Some(address) => crate::chain::function!(address, ($($kind),*)),
            None => return $otherwise,
        }
    };
}

/// `MPI_Wait`.
///
/// # Safety
///
/// As MPI asks of the call; `library` is the MPI library's function for it.
#[cold]
pub(crate) unsafe fn wait(
    library: unsafe extern "C" fn(Requests, Word) -> c_int,
    request: Requests,
    status: Word,
) -> c_int {
    // SAFETY: the caller promises what MPI asks of the call; a test has these arguments.
    unsafe {
        let test =
            library_test!(c"PMPI_Test" (Requests, *mut c_int, Word) library(request, status));
        let ended = wait_by_tests(|| {
            let mut flag = 0;
            let code = test(request, &raw mut flag, status);
            (code, flag != 0)
        });
        ended.unwrap_or_else(|| library(request, status))
    }
}

/// `MPI_Waitall`.
///
/// # Safety
///
/// As MPI asks of the call; `library` is the MPI library's function for it.
#[cold]
pub(crate) unsafe fn wait_all(
    library: unsafe extern "C" fn(c_int, Requests, Word) -> c_int,
    count: c_int,
    requests: Requests,
    statuses: Word,
) -> c_int {
    // SAFETY: as in `wait`.
    unsafe {
        let test = library_test!(
            c"PMPI_Testall" (c_int, Requests, *mut c_int, Word) library(count, requests, statuses)
        );
        let ended = wait_by_tests(|| {
            let mut flag = 0;
            let code = test(count, requests, &raw mut flag, statuses);
            (code, flag != 0)
        });
        ended.unwrap_or_else(|| library(count, requests, statuses))
    }
}

/// `MPI_Waitany`.
///
/// # Safety
///
/// As MPI asks of the call; `library` is the MPI library's function for it.
#[cold]
pub(crate) unsafe fn wait_any(
    library: unsafe extern "C" fn(c_int, Requests, Word, Word) -> c_int,
    count: c_int,
    requests: Requests,
    index: Word,
    status: Word,
) -> c_int {
    // SAFETY: as in `wait`.
    unsafe {
        let test = library_test!(
            c"PMPI_Testany" (c_int, Requests, Word, *mut c_int, Word) library(count, requests, index, status)
        );
        let ended = wait_by_tests(|| {
            let mut flag = 0;
            let code = test(count, requests, index, &raw mut flag, status);
            (code, flag != 0)
        });
        ended.unwrap_or_else(|| library(count, requests, index, status))
    }
}

/// `MPI_Waitsome`.
///
/// # Safety
///
/// As MPI asks of the call; `library` is the MPI library's function for it.
#[cold]
pub(crate) unsafe fn wait_some(
    library: unsafe extern "C" fn(c_int, Requests, Word, Word, Word) -> c_int,
    count: c_int,
    requests: Requests,
    completed: Word,
    indices: Word,
    statuses: Word,
) -> c_int {
    let number = std::ptr::with_exposed_provenance::<c_int>(completed);
    // SAFETY: as in `wait`; a test that has succeeded has written the number of those that it has completed.
    unsafe {
        let test = library_test!(
            c"PMPI_Testsome" (c_int, Requests, Word, Word, Word)
            library(count, requests, completed, indices, statuses)
        );
        let ended = wait_by_tests(|| {
            let code = test(count, requests, completed, indices, statuses);
            (code, code == 0 && *number != 0)
        });
        ended.unwrap_or_else(|| library(count, requests, completed, indices, statuses))
    }
}

/// `MPI_Request_free`.
///
/// # Safety
///
/// As MPI asks of the call; `library` is the MPI library's function for it.
#[inline(always)]
pub(crate) unsafe fn free_request(
    library: unsafe extern "C" fn(Requests) -> c_int,
    request: Requests,
) -> c_int {
    // SAFETY: the caller promises what MPI asks of the call, so an address that is not null is that of a request.
    unsafe {
        if calls_under_way() > 0
            && let Some(given) = request.as_mut()
            && keep_freed_request(*given)
        {
            *given = ffi::RSMPI_REQUEST_NULL;
            return 0;
        }
        library(request)
    }
}

chained! {
    LINKS:
    /// `MPI_Type_free`.
    MPI_Type_free PMPI_Type_free (datatype: *mut MPI_Datatype) free_datatype;
    /// `MPI_Op_free`.
    MPI_Op_free PMPI_Op_free (operator: *mut MPI_Op) free_operator;
}

/// A datatype that a call under way uses is freed when that has ended.
///
/// # Safety
///
/// As MPI asks of the call; `library` is the MPI library's function for it.
#[inline(always)]
unsafe fn free_datatype(
    library: unsafe extern "C" fn(*mut MPI_Datatype) -> c_int,
    datatype: *mut MPI_Datatype,
) -> c_int {
    // SAFETY: the caller promises what MPI asks of the call, so an address that is not null is that of a datatype.
    unsafe {
        if calls_under_way() > 0
            && let Some(given) = datatype.as_mut()
            && keep_freed_datatype(*given)
        {
            *given = ffi::RSMPI_DATATYPE_NULL;
            return 0;
        }
        library(datatype)
    }
}

/// The same for an operator.
///
/// # Safety
///
/// As MPI asks of the call; `library` is the MPI library's function for it.
#[inline(always)]
unsafe fn free_operator(
    library: unsafe extern "C" fn(*mut MPI_Op) -> c_int,
    operator: *mut MPI_Op,
) -> c_int {
    // SAFETY: the caller promises what MPI asks of the call, so an address that is not null is that of an operator.
    unsafe {
        if calls_under_way() > 0
            && let Some(given) = operator.as_mut()
            && keep_freed_operator(*given)
        {
            *given = no_operator();
            return 0;
        }
        library(operator)
    }
}
