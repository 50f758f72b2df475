//! Pending messages, and waiting for them.

use std::ffi::c_int;

use mpi::ffi;

use crate::ExecError;
use crate::api::{check_code, library_text, status_ignore};
use crate::forward::{test_all, wait_all, wait_one};
use crate::tool::Tool;

/// The way a rank waits for messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Ranks wait in the library's blocking calls, which usually spin: the fastest way if each rank has a core.
    #[default]
    Block,
    /// Ranks poll and yield the core in between: for oversubscribed nodes where the library spins nevertheless
    /// ([`leaves_core`]).
    Yield,
}

/// Whether the library yields the core while it waits in blocking calls, as Open MPI does if its launcher knows that
/// ranks outnumber cores. Polling is then useless and takes 1.5 times as long (4 ranks on 2 cores).
///
/// # Errors
/// [`ExecError`] if the library's tool interface fails.
pub fn leaves_core() -> Result<bool, ExecError> {
    let library = libraries::described_by(&library_text());
    let Some(name) = library.and_then(|library| library.facts().yielding_variable) else {
        return Ok(false);
    };
    let tool = Tool::open()?;
    let variable = tool.find_variable(name)?;
    let value = variable
        .map(|variable| variable.read_number())
        .transpose()?;
    Ok(value.is_some_and(|value| value != 0))
}

/// Requests that were started together.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    started: Vec<ffi::MPI_Request>,
}

impl Requests {
    /// Reserves memory for `requests` more.
    pub(crate) fn reserve(&mut self, requests: usize) {
        self.started.reserve(requests);
    }

    /// Reserves memory for `requests` in all, those under way included.
    pub(crate) fn reserve_in_all(&mut self, requests: usize) {
        self.started
            .reserve(requests.saturating_sub(self.started.len()));
    }

    pub(crate) fn len(&self) -> usize {
        self.started.len()
    }

    pub(crate) fn push(&mut self, request: ffi::MPI_Request) {
        self.started.push(request);
    }

    /// Waits for all of them; after an error of this rank, cancels them instead, as peers may never send or receive.
    pub(crate) fn finish_or_cancel(
        &mut self,
        outcome: Result<(), Box<ExecError>>,
        wait: Wait,
    ) -> Result<(), ExecError> {
        let outcome = outcome.and_then(|()| Ok(self.complete_all(wait)?));
        if outcome.is_err() {
            self.cancel_all();
        }
        Ok(outcome?)
    }

    fn complete_all(&mut self, wait: Wait) -> Result<(), ExecError> {
        match (wait, &mut self.started[..]) {
            (_, []) => return Ok(()),
            (Wait::Block, [only]) => wait_for_one(only),
            (Wait::Block, _) => self.wait_for_all(),
            (Wait::Yield, _) => self.poll_all(),
        }?;
        self.started.clear();
        Ok(())
    }

    fn wait_for_all(&mut self) -> Result<(), ExecError> {
        // SAFETY: the requests are valid and as many as passed; completed ones become null.
        let code = unsafe {
            wait_all()(
                self.started.len() as c_int,
                self.started.as_mut_ptr(),
                ffi::RSMPI_STATUSES_IGNORE,
            )
        };
        check_code("MPI_Waitall", code)
    }

    fn poll_all(&mut self) -> Result<(), ExecError> {
        while !self.test_all()? {
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Whether all of them have completed. They are then forgotten, since testing completed ones lets Open MPI make no
    /// progress.
    pub(crate) fn test_all(&mut self) -> Result<bool, Box<ExecError>> {
        let mut done = 0;
        // SAFETY: as in `wait_for_all`.
        let code = unsafe {
            test_all()(
                self.started.len() as c_int,
                self.started.as_mut_ptr(),
                &mut done,
                ffi::RSMPI_STATUSES_IGNORE,
            )
        };
        check_code("MPI_Testall", code)?;
        if done != 0 {
            self.started.clear();
        }
        Ok(done != 0)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.started.is_empty()
    }

    /// Cancels those that have not completed. Open MPI completes sends nevertheless.
    pub(crate) fn cancel_all(&mut self) {
        for request in &mut self.started {
            // SAFETY: a valid request, or null if it has completed. Cancelling is local and lets the wait end.
            unsafe {
                if *request != ffi::RSMPI_REQUEST_NULL && ffi::MPI_Cancel(request) == 0 {
                    wait_one()(request, status_ignore());
                }
            }
        }
        self.started.clear();
    }
}

fn wait_for_one(request: &mut ffi::MPI_Request) -> Result<(), ExecError> {
    // SAFETY: a valid request, which becomes null when it has ended, or null.
    let code = unsafe { wait_one()(request, status_ignore()) };
    check_code("MPI_Wait", code)
}
