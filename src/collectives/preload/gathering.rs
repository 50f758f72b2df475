//! Checks that all ranks of a program have this library and the same settings.
//!
//! All ranks must agree on a table. But a launcher may not have given the library to some of them, for instance if one
//! launch starts several programs. Other ranks would wait for them silently, or mistake their first collective for our
//! agreement. A nonblocking barrier does not match a blocking collective (MPI 4.0, section 6.12), and lets us report
//! what we wait for.

use std::ffi::c_int;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::{Duration, Instant};

use capi::print_warning;
use exec::constants::MPI_Comm;
use mpi::ffi;

use crate::chain::{function, function_of_library};

/// The delay after `MPI_Init` at which a warning is printed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The interval at which a rank polls for the others.
const NAP: Duration = Duration::from_millis(1);

/// Waits for all ranks of `MPI_COMM_WORLD`, which have a file in the same variable. If this takes long, one rank per node reports it. Collective.
pub(crate) fn wait_for_all_ranks(file: &Path, variable: &str) {
    let start = Instant::now();
    let (mut is_done, mut looks) = (0, 0_u32);
    // This library defines their names, too.
    let functions = [c"PMPI_Ibarrier", c"PMPI_Test"].map(function_of_library);
    let [Some(barrier), Some(test)] = functions else {
        return;
    };
    // SAFETY: MPI is running; the functions have these arguments; the results are written by the calls, and the request
    // lives until it ends.
    unsafe {
        let barrier = function!(barrier, (MPI_Comm, *mut ffi::MPI_Request));
        let test = function!(
            test,
            (*mut ffi::MPI_Request, *mut c_int, *mut ffi::MPI_Status)
        );
        let mut request = ffi::RSMPI_REQUEST_NULL;
        if barrier(ffi::RSMPI_COMM_WORLD, &raw mut request) != 0 {
            return;
        }
        let mut speaker = None;
        while test(&raw mut request, &raw mut is_done, ffi::RSMPI_STATUS_IGNORE) == 0
            && is_done == 0
        {
            looks += 1;
            if looks > 1000 {
                std::thread::sleep(NAP);
            }
            if speaker.is_none() && start.elapsed() > PATIENCE {
                speaker = Some(Speaker::new(file, variable));
            }
        }
    }
}

/// The process that reports for the ranks of a node, while it exists.
struct Speaker {
    /// The lock, held by at most one process.
    _lock: Option<File>,
}

impl Speaker {
    /// Becomes the speaker, unless another process of this user with the same file is.
    ///
    /// The lock is not on the file: every user may read that, and could keep all processes silent.
    fn new(file: &Path, variable: &str) -> Self {
        let mut name = DefaultHasher::new();
        file.hash(&mut name);
        let lock = files::open_temporary_lock(&format!("{:016x}", name.finish())).ok();
        let is_taken = lock
            .as_ref()
            .is_some_and(|lock| matches!(lock.try_lock(), Err(std::fs::TryLockError::WouldBlock)));
        if !is_taken {
            let seconds = PATIENCE.as_secs();
            print_warning(&format!(
                "waiting for other ranks for {seconds} s in MPI_Init: libcolltune.so and {variable} must be \
                 given to all ranks of the program, or to none"
            ));
        }
        Self { _lock: lock }
    }
}
