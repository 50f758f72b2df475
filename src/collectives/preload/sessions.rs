//! Intercepted `MPI_Session_init`. Programs that use sessions alone have no `MPI_COMM_WORLD`, over which ranks agree on a
//! table; the summary says so.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::chain::chained;
use crate::handle::Handle;

/// Whether the program has started a session.
static USED: AtomicBool = AtomicBool::new(false);

chained! {
    LINKS:
    /// `MPI_Session_init`.
    MPI_Session_init PMPI_Session_init (info: Handle, errors: Handle, session: *mut Handle) open;
}

/// # Safety
///
/// As MPI asks of the call; `library` is the MPI library's function for it.
unsafe fn open(
    library: unsafe extern "C" fn(Handle, Handle, *mut Handle) -> c_int,
    info: Handle,
    errors: Handle,
    session: *mut Handle,
) -> c_int {
    USED.store(true, Ordering::Relaxed);
    // SAFETY: the caller promises that `library` is the function for this call, with arguments as MPI asks.
    unsafe { library(info, errors, session) }
}

/// Whether the program has started a session.
pub(crate) fn are_used() -> bool {
    USED.load(Ordering::Relaxed)
}
