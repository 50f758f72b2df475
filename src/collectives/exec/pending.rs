//! Nonblocking collectives under way.

use std::ffi::c_int;
use std::marker::PhantomData;

use mpi::ffi;
use schedule::Collective;

use crate::{Communicator, ExecError, LibraryCall, check_code};

/// A nonblocking collective that has been started. It borrows the buffers, which MPI uses until the call has ended; dropping it
/// waits for that.
#[derive(Debug)]
pub struct PendingCall<'b> {
    request: ffi::MPI_Request,
    buffers: PhantomData<&'b mut [u8]>,
}

impl LibraryCall {
    /// Starts the library's nonblocking collective of this name, such as `MPI_Ibcast`.
    ///
    /// # Errors
    ///
    /// If MPI reports an error, or if the collective is not among [`vocabulary::NONBLOCKING`].
    ///
    /// # Panics
    ///
    /// If a buffer is too short for the call.
    #[inline]
    pub fn start<'b>(
        &self,
        communicator: &Communicator,
        input: &'b [u8],
        output: &'b mut [u8],
    ) -> Result<PendingCall<'b>, ExecError> {
        let call = self.arguments_on(input, output);
        let (elements, on) = (call.recv_count as c_int, communicator.raw());
        // SAFETY: a constant of the library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        // SAFETY: the buffers hold what the call says on this rank, do not overlap and are borrowed until the call has ended; the
        // request is written by the call.
        let code = unsafe {
            match call.collective {
                Collective::Bcast => ffi::MPI_Ibcast(
                    call.recv,
                    elements,
                    call.recv_type,
                    call.root,
                    on,
                    &mut request,
                ),
                Collective::Allreduce => ffi::MPI_Iallreduce(
                    call.send,
                    call.recv,
                    elements,
                    call.recv_type,
                    call.operator,
                    on,
                    &mut request,
                ),
                Collective::Barrier => ffi::MPI_Ibarrier(on, &mut request),
                other => return Err(ExecError::NotNonblocking(other)),
            }
        };
        check_code("a nonblocking collective", code)?;
        // SAFETY: made by the call on these buffers.
        Ok(unsafe { PendingCall::from_request(request) })
    }
}

impl PendingCall<'_> {
    /// # Safety
    ///
    /// The request is that of a call on buffers which are borrowed for the value's lifetime, and nothing else completes it.
    pub unsafe fn from_request(request: ffi::MPI_Request) -> Self {
        Self {
            request,
            buffers: PhantomData,
        }
    }

    /// Whether the call has ended (`MPI_Test`).
    ///
    /// # Errors
    ///
    /// That of the call.
    #[inline]
    pub fn test(&mut self) -> Result<bool, ExecError> {
        let mut has_ended = 0;
        // SAFETY: the request is ours, or null; the result is written by the call.
        let code =
            unsafe { ffi::MPI_Test(&mut self.request, &mut has_ended, ffi::RSMPI_STATUS_IGNORE) };
        check_code("MPI_Test", code)?;
        Ok(has_ended != 0)
    }

    /// Waits until the call has ended (`MPI_Wait`).
    ///
    /// # Errors
    ///
    /// That of the call.
    #[inline]
    pub fn wait(mut self) -> Result<(), ExecError> {
        self.complete()
    }

    fn complete(&mut self) -> Result<(), ExecError> {
        // SAFETY: the request is ours, or null, which is completed at once.
        let code = unsafe { ffi::MPI_Wait(&mut self.request, ffi::RSMPI_STATUS_IGNORE) };
        check_code("MPI_Wait", code)
    }
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        // SAFETY: a constant of the library.
        if self.request != unsafe { ffi::RSMPI_REQUEST_NULL } {
            // An error has been or will be reported by other calls on the communicator.
            let _ = self.complete();
        }
    }
}
