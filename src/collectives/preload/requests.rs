//! Intercepted functions that start, complete or free requests: of nonblocking and persistent collectives, for which they
//! take time, and of messages, which are passed on.

use std::ffi::{CStr, c_int};

use crate::chain::{Link, chained};
use crate::counts::{Requests, Word, counts};
use crate::handle::Handle;

/// Defines functions that are given requests. What follows the arguments is the method of the counts that makes the call,
/// if any collective's requests are there.
macro_rules! given_requests {
    ($(
        $name:ident $profiling:ident $ours:ident ($($argument:ident: $kind:ty),*) $method:ident($($with:expr),*);
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
                // SAFETY: the caller promises what MPI asks of the call, so there are as many valid requests as it
                // says, and that `library` is the function for it.
                unsafe {
                    match counts().filter(|counts| counts.expect_requests()) {
                        None => library($($argument),*),
                        Some(counts) => counts.$method($($with,)* || library($($argument),*)),
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

given_requests! {
    MPI_Wait PMPI_Wait wait (requests: Requests, status: Word) complete(1, requests);
    MPI_Waitany PMPI_Waitany wait_any (count: c_int, requests: Requests, index: Word, status: Word)
        complete(count, requests);
    MPI_Waitall PMPI_Waitall wait_all (count: c_int, requests: Requests, statuses: Word) complete(count, requests);
    MPI_Waitsome PMPI_Waitsome wait_some
        (count: c_int, requests: Requests, completed: Word, indices: Word, statuses: Word) complete(count, requests);
    MPI_Test PMPI_Test test (requests: Requests, flag: Word, status: Word) complete(1, requests);
    MPI_Testany PMPI_Testany test_any (count: c_int, requests: Requests, index: Word, flag: Word, status: Word)
        complete(count, requests);
    MPI_Testall PMPI_Testall test_all (count: c_int, requests: Requests, flag: Word, statuses: Word)
        complete(count, requests);
    MPI_Testsome PMPI_Testsome test_some
        (count: c_int, requests: Requests, completed: Word, indices: Word, statuses: Word) complete(count, requests);
    MPI_Request_get_status PMPI_Request_get_status get_status (request: Handle, flag: Word, status: Word) test(request);
    MPI_Request_free PMPI_Request_free free (request: Requests) free(request);
    MPI_Start PMPI_Start start (request: Requests) start(1, request);
    MPI_Startall PMPI_Startall start_all (count: c_int, requests: Requests) start(count, requests);
}

/// Lets `exec` complete its messages by the library's functions, since neither tools nor counts may see them.
pub(crate) fn redirect_exec() {
    let address = |name: &CStr| {
        let mut links = LINKS.iter();
        let link = links.find(|link| link.name() == name)?;
        Link::found_function(link)
    };
    let found = [c"PMPI_Wait", c"PMPI_Waitall", c"PMPI_Testall"].map(address);
    if let [Some(wait_one), Some(wait_all), Some(test_all)] = found {
        // SAFETY: the library's functions with these names.
        unsafe { exec::redirect_completion(wait_one, wait_all, test_all) };
    }
}
