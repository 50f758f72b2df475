//! Whether all ranks of a program have this library and the same wishes.
//!
//! To agree on a table takes all ranks. Those to which a launcher has not given the library, as may
//! happen with several programs in one launch, cannot be asked. They would be waited for silently, or
//! their first collective would be taken for our agreement. A nonblocking barrier meets no
//! blocking collective (MPI 4.0, section 6.12), and lets us say what we wait for.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use capi::warn;
use mpi::ffi;

/// How far ranks may be apart after `MPI_Init`.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a rank looks that does not find the others at once.
const NAP: Duration = Duration::from_millis(1);

/// Waits for all ranks of `MPI_COMM_WORLD`, and says so if it takes long, once a node. Collective.
pub(crate) fn gather(table: &Path) {
    let start = Instant::now();
    let (mut is_done, mut looks) = (0, 0_u32);
    // SAFETY: MPI is running; the results are written by the calls, and the request lives until it ends.
    unsafe {
        let mut request = ffi::RSMPI_REQUEST_NULL;
        if ffi::PMPI_Ibarrier(ffi::RSMPI_COMM_WORLD, &mut request) != 0 {
            return;
        }
        let mut speaker = None;
        while ffi::PMPI_Test(&mut request, &mut is_done, ffi::RSMPI_STATUS_IGNORE) == 0
            && is_done == 0
        {
            looks += 1;
            if looks > 1000 {
                std::thread::sleep(NAP);
            }
            if speaker.is_none() && start.elapsed() > PATIENCE {
                speaker = Some(Speaker::new(table));
            }
        }
    }
}

/// The one that speaks for the ranks of a node, as long as it is there.
struct Speaker {
    /// Held by at most one process.
    _lock: Option<File>,
}

impl Speaker {
    /// Speaks, unless another one does.
    fn new(table: &Path) -> Self {
        let lock = files::open(table).ok();
        let is_taken = lock
            .as_ref()
            .is_some_and(|file| matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)));
        if !is_taken {
            let seconds = PATIENCE.as_secs();
            warn(&format!(
                "waiting for other ranks for {seconds} s in MPI_Init: libcolltune.so and COLLTUNE_TABLE must be \
                 given to all ranks of the program, or to none"
            ));
        }
        Self { _lock: lock }
    }
}
