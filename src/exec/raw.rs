//! Collectives in terms of MPI's C interface.

use std::ffi::{c_int, c_void};

use mpi::ffi;
use schedule::Collective;

use crate::constants::{MPI_Datatype, MPI_Op};

/// A collective's arguments on one rank, except for the communicator.
///
/// A collective's only count, datatype or buffer is stored as the receiving one.
#[derive(Clone, Copy, Debug)]
pub struct RawCall {
    /// The collective.
    pub collective: Collective,
    /// The input buffer.
    pub send: *const c_void,
    /// The output buffer; a broadcast's root reads it.
    pub recv: *mut c_void,
    /// The number of elements sent; in a scatter, to each rank.
    pub send_count: c_int,
    /// Their type.
    pub send_type: MPI_Datatype,
    /// The number of elements received; in a gather, from each rank.
    pub recv_count: c_int,
    /// Their type.
    pub recv_type: MPI_Datatype,
    /// The number of elements in each rank's part, for `MPI_Reduce_scatter`.
    pub counts: *const c_int,
    /// The operator of a reduction.
    pub operator: MPI_Op,
    /// The root; 0 if there is none.
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

    /// Sets the number and the datatype of the sent elements.
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

    /// Whether both buffers are the same, which MPI forbids.
    #[inline(always)]
    pub fn is_aliased(&self) -> bool {
        !self.recv.is_null() && self.send == self.recv
    }
}
