//! The program's own datatypes and operators in repeated calls.

use std::sync::atomic::Ordering;

use exec::constants::is_predefined;
use exec::{ExecError, OperatorHandle, RawCall, is_named};
use mpi::ffi;

use crate::datatypes::{Datatypes, HandleLiveness};

/// The handles that a plan depends on and that the program may free and reuse for something else. Predefined handles
/// are not included.
///
/// Operators have no attributes, and `MPI_Op_free` can be called by names that are not intercepted. So a plan uses an
/// operator's handle with the meaning that it has at the time of the call, and checks each time whether it still
/// commutes.
#[derive(Debug)]
pub(crate) struct UserHandles {
    datatypes: [Option<HandleLiveness>; 2],
    operator: Option<OperatorHandle>,
}

impl UserHandles {
    /// The program's own handles of a call with blanked insignificant arguments; `None` if all are predefined.
    ///
    /// # Safety
    ///
    /// The handles are valid, or blank.
    pub(crate) unsafe fn from_call(
        call: &RawCall,
        known_datatypes: &Datatypes,
    ) -> Result<Option<Box<Self>>, ExecError> {
        // SAFETY: the caller promises that datatypes are valid or blank; the blank one is a constant of the library.
        let life = |datatype| unsafe {
            if datatype == ffi::RSMPI_DATATYPE_NULL || is_named(datatype)? {
                Ok::<_, ExecError>(None)
            } else {
                known_datatypes.liveness_of(datatype).map(Some)
            }
        };
        let datatypes = [life(call.send_type)?, life(call.recv_type)?];
        let operator = if call.collective.is_reduction() {
            // SAFETY: the caller promises that the handles are valid, and a reduction's operator is never blank.
            Some(unsafe { OperatorHandle::new(call.operator)? })
        } else {
            None
        };
        let operator = operator.filter(|operator| !is_predefined(operator.raw()));
        let is_own = operator.is_some() || datatypes.iter().any(Option::is_some);
        Ok(is_own.then(|| {
            Box::new(Self {
                datatypes,
                operator,
            })
        }))
    }

    /// Whether the handles are still valid for the plan.
    pub(crate) fn is_there(&self) -> bool {
        let mut datatypes = self.datatypes.iter().flatten();
        let are_alive = datatypes.all(|life| life.load(Ordering::Acquire));
        are_alive && self.operator.is_none_or(commutes_as_before)
    }
}

fn commutes_as_before(before: OperatorHandle) -> bool {
    // SAFETY: the call names this handle, and its handles are valid.
    let now = unsafe { OperatorHandle::new(before.raw()) };
    now.is_ok_and(|now| now.is_commutative() == before.is_commutative())
}
