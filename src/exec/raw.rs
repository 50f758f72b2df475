//! A collective as MPI's C interface has it.

use std::ffi::{c_int, c_void};

use mpi::ffi;
use schedule::Collective;

use crate::constants::{MPI_Datatype, MPI_Op};

/// A collective's arguments but for the communicator, as one rank passes them.
///
/// Where a collective has one count and datatype, or one buffer, these are the receiving ones.
#[derive(Clone, Copy, Debug)]
pub struct RawCall {
    /// What is called.
    pub collective: Collective,
    /// The buffer that is only read.
    pub send: *const c_void,
    /// The buffer that is written, by a broadcast's root read.
    pub recv: *mut c_void,
    /// Elements sent, of a scatter to one rank.
    pub send_count: c_int,
    /// Their type.
    pub send_type: MPI_Datatype,
    /// Elements received, of a gather from one rank.
    pub recv_count: c_int,
    /// Their type.
    pub recv_type: MPI_Datatype,
    /// For `MPI_Reduce_scatter`, the elements of each rank's part.
    pub counts: *const c_int,
    /// Where data is combined.
    pub operator: MPI_Op,
    /// Where there is one, otherwise 0.
    pub root: c_int,
}

impl RawCall {
    /// A collective with one count and datatype.
    ///
    /// An operator and a root are set with [`RawCall::by`] and [`RawCall::at`].
    #[inline(always)]
    pub fn new(
        collective: Collective,
        send: *const c_void,
        recv: *mut c_void,
        count: c_int,
        datatype: MPI_Datatype,
    ) -> Self {
        // SAFETY: constants that the library has set before `main`.
        let (nothing, operator) = unsafe { (ffi::RSMPI_DATATYPE_NULL, ffi::RSMPI_SUM) };
        Self {
            collective,
            send,
            recv,
            send_count: 0,
            send_type: nothing,
            recv_count: count,
            recv_type: datatype,
            counts: std::ptr::null(),
            operator,
            root: 0,
        }
    }

    /// Sets the root.
    #[inline(always)]
    pub fn at(self, root: c_int) -> Self {
        Self { root, ..self }
    }

    /// Sets the operator.
    #[inline(always)]
    pub fn by(self, operator: MPI_Op) -> Self {
        Self { operator, ..self }
    }

    /// Sets the number and the datatype of the elements that are sent.
    #[inline(always)]
    pub fn sending(self, send_count: c_int, send_type: MPI_Datatype) -> Self {
        Self {
            send_count,
            send_type,
            ..self
        }
    }

    /// Sets the parts of an `MPI_Reduce_scatter`.
    #[inline(always)]
    pub fn parts(self, counts: *const c_int) -> Self {
        Self { counts, ..self }
    }

    /// Whether both buffers are one, which MPI forbids.
    #[inline(always)]
    pub fn is_aliased(&self) -> bool {
        !self.recv.is_null() && self.send == self.recv
    }
}
