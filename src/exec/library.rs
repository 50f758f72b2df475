//! The library's own collectives.

use std::ffi::c_int;

use mpi::ffi;
use schedule::Collective;

use crate::api::{check, count, datatype, operator};
use crate::{Call, Communicator, ExecError};

/// A collective as the library carries it out by itself.
#[derive(Debug)]
pub struct LibraryCall {
    collective: Collective,
    bytes: usize,
    count: c_int,
    datatype: ffi::MPI_Datatype,
    operator: Option<ffi::MPI_Op>,
    root: c_int,
}

impl LibraryCall {
    /// Prepares the call.
    pub(crate) fn new(call: &Call) -> Result<Self, ExecError> {
        let operator = call.operator.map(operator);
        if call.collective.is_reduction() && operator.is_none() {
            return Err(ExecError::NoOperator);
        }
        Ok(Self {
            collective: call.collective,
            bytes: call.bytes as usize,
            count: count(call.bytes / call.datatype.size_bytes())?,
            datatype: datatype(call.datatype),
            operator,
            root: call.root as c_int,
        })
    }

    /// Makes the call.
    ///
    /// # Panics
    ///
    /// If a buffer is shorter than the call's bytes.
    pub(crate) fn call(
        &mut self,
        communicator: &Communicator,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), ExecError> {
        let Self {
            count,
            datatype,
            root,
            ..
        } = *self;
        let raw = communicator.raw();
        assert!(output.len() >= self.bytes);
        let output = output.as_mut_ptr().cast();
        let Some(operator) = self.operator else {
            // SAFETY: `output` holds `count` elements of the datatype.
            return check("MPI_Bcast", unsafe {
                ffi::MPI_Bcast(output, count, datatype, root, raw)
            });
        };
        assert!(input.len() >= self.bytes);
        let input = input.as_ptr().cast();
        // SAFETY: both buffers hold `count` elements of the datatype and do not overlap.
        unsafe {
            match self.collective {
                Collective::Reduce => check(
                    "MPI_Reduce",
                    ffi::MPI_Reduce(input, output, count, datatype, operator, root, raw),
                ),
                _ => check(
                    "MPI_Allreduce",
                    ffi::MPI_Allreduce(input, output, count, datatype, operator, raw),
                ),
            }
        }
    }
}
