//! Intercepted functions that start, complete or free requests: of nonblocking and persistent collectives, for which they
//! take time, and of messages, which are passed on.

use std::ffi::{CStr, c_int, c_void};

use mpi::ffi;
use runtime::{advance_calls, calls_under_way};

use crate::chain::{Link, chained, function};
use crate::counts::{Completed, Requests, Word, counts};
use crate::handle::Handle;
use crate::nonblocking::{self, takes_steps};
use crate::record::recorder;

/// Defines functions that are given requests. What follows the arguments is the method of the counts that makes the call,
/// if any collective's requests are there, and then how the library is called while nonblocking collectives of ours are
/// under way.
macro_rules! given_requests {
    ($(
        $name:ident $profiling:ident $ours:ident ($($argument:ident: $kind:ty),*) $method:ident($($with:expr),*)
        $how:ident $($by:ident)?;
    )*) => {
        $(
            /// # Safety
            ///
            /// As MPI asks of the call; `library` is the MPI library's function for it.
            #[inline(always)]
            unsafe extern "C" fn $ours(
                library: unsafe extern "C" fn($($kind),*) -> c_int,
                $($argument: $kind,)*
            ) -> c_int {
                /// The same, apart from the path on which nothing is done, which would pay for what this stores.
                ///
                /// # Safety
                ///
                /// Likewise.
                #[inline(never)]
                unsafe extern "C" fn watched(
                    library: unsafe extern "C" fn($($kind),*) -> c_int,
                    $($argument: $kind,)*
                ) -> c_int {
                    // SAFETY: the caller promises what MPI asks of the call, so there are as many valid requests as it
                    // says, and that `library` is the function for it.
                    unsafe {
                        let pass = || call_library!($how $($by)? (library $($argument)*));
                        let count_and_pass = || match counts().filter(|counts| counts.expect_requests()) {
                            None => pass(),
                            Some(counts) => counts.$method($($with,)* pass),
                        };
                        match recorder().filter(|recorder| recorder.expect_requests()) {
                            None => count_and_pass(),
                            Some(recorder) => recorder.$method($($with,)* count_and_pass),
                        }
                    }
                }

                let is_watched = calls_under_way() > 0 || counts().is_some() || recorder().is_some();
                // SAFETY: the caller promises what MPI asks of the call, and that `library` is the function for it.
                unsafe {
                    if is_watched {
                        watched(library, $($argument),*)
                    } else {
                        library($($argument),*)
                    }
                }
            }
        )*

        chained! {
            LINKS:
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                $name $profiling ($($argument: $kind),*) $ours;
            )*
        }
    };
}

/// How the library is called while nonblocking collectives of ours are under way.
macro_rules! call_library {
    // As it is.
    (passed ($library:ident $($argument:ident)*)) => {
        $library($($argument),*)
    };
    // After steps, if these are not taken by the library.
    (tested ($library:ident $($argument:ident)*)) => {{
        if takes_steps() {
            advance_calls();
        }
        $library($($argument),*)
    }};
    // By a function that takes steps while it waits, likewise.
    (waiting $by:ident ($library:ident $($argument:ident)*)) => {
        if takes_steps() {
            nonblocking::$by($library, $($argument),*)
        } else {
            $library($($argument),*)
        }
    };
    // By a function that looks whether it concerns them.
    (freed $by:ident ($library:ident $($argument:ident)*)) => {
        nonblocking::$by($library, $($argument),*)
    };
}

given_requests! {
    MPI_Wait PMPI_Wait wait (requests: Requests, status: Word) make_completing_call(1, requests, Completed::All) waiting wait;
    MPI_Waitany PMPI_Waitany wait_any (count: c_int, requests: Requests, index: Word, status: Word)
        make_completing_call(count, requests, Completed::One { index }) waiting wait_any;
    MPI_Waitall PMPI_Waitall wait_all (count: c_int, requests: Requests, statuses: Word)
        make_completing_call(count, requests, Completed::All) waiting wait_all;
    MPI_Waitsome PMPI_Waitsome wait_some
        (count: c_int, requests: Requests, completed: Word, indices: Word, statuses: Word)
        make_completing_call(count, requests, Completed::Some { count: completed, indices }) waiting wait_some;
    MPI_Test PMPI_Test test (requests: Requests, flag: Word, status: Word)
        make_completing_call(1, requests, Completed::AllIf { flag }) tested;
    MPI_Testany PMPI_Testany test_any (count: c_int, requests: Requests, index: Word, flag: Word, status: Word)
        make_completing_call(count, requests, Completed::OneIf { index, flag }) tested;
    MPI_Testall PMPI_Testall test_all (count: c_int, requests: Requests, flag: Word, statuses: Word)
        make_completing_call(count, requests, Completed::AllIf { flag }) tested;
    MPI_Testsome PMPI_Testsome test_some
        (count: c_int, requests: Requests, completed: Word, indices: Word, statuses: Word)
        make_completing_call(count, requests, Completed::Some { count: completed, indices }) tested;
    MPI_Request_get_status PMPI_Request_get_status get_status (request: Handle, flag: Word, status: Word) make_testing_call(request) tested;
    MPI_Request_free PMPI_Request_free free (request: Requests) make_freeing_call(request) freed free_request;
    MPI_Start PMPI_Start start (request: Requests) make_starting_call(1, request) passed;
    MPI_Startall PMPI_Startall start_all (count: c_int, requests: Requests) make_starting_call(count, requests) passed;
}

/// The address of the MPI library's function with this name for profiling, if it has been found.
pub(crate) fn library_function(name: &CStr) -> Option<*const c_void> {
    let mut links = LINKS.iter();
    let link = links.find(|link| link.name() == name)?;
    Link::found_function(link)
}

/// Whether the library says that the operation of a request has ended. The request stays as it is.
///
/// # Safety
///
/// The request is valid.
pub(crate) unsafe fn has_ended(request: ffi::MPI_Request) -> bool {
    let Some(get_status) = library_function(c"PMPI_Request_get_status") else {
        return false;
    };
    let mut flag = 0;
    // SAFETY: the library's function with this name has these arguments; the caller promises a valid request. A status
    // that is ignored is a constant that the library has set before `main`.
    unsafe {
        let get_status = function!(
            get_status,
            (ffi::MPI_Request, *mut c_int, *mut ffi::MPI_Status)
        );
        get_status(request, &raw mut flag, ffi::RSMPI_STATUS_IGNORE) == 0 && flag != 0
    }
}

/// Lets `exec` complete its messages by the library's functions, since neither tools nor counts may see them.
pub(crate) fn redirect_exec() {
    let found = [c"PMPI_Wait", c"PMPI_Waitall", c"PMPI_Testall"].map(library_function);
    if let [Some(wait_one), Some(wait_all), Some(test_all)] = found {
        // SAFETY: the library's functions with these names.
        unsafe { exec::redirect_completion(wait_one, wait_all, test_all) };
    }
}
