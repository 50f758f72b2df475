//! Datatypes and operators of the program's own in calls that come again.

use exec::constants::{MPI_Op, minloc};
use exec::{ExecError, OperatorHandle, RawCall, is_named};
use mpi::ffi;

use crate::datatypes::{Datatypes, HandleLiveness};

/// What the program may take away from a plan: it can free what is not MPI's own, and make another
/// that gets the same handle.
///
/// Operators have no attributes, and `MPI_Op_free` can be called by names that are not intercepted. So
/// of an operator of the program's own a plan has only the handle, which means whatever it
/// means when the plan is carried out, and whether it commutes, which is asked again each time.
#[derive(Debug)]
pub(crate) struct UserHandles {
    datatypes: [Option<HandleLiveness>; 2],
    operator: Option<OperatorHandle>,
}

impl UserHandles {
    /// The handles of a call whose insignificant arguments are blank; `None` if all are MPI's.
    ///
    /// # Safety
    ///
    /// The handles are valid, or blank.
    pub(crate) unsafe fn of(
        call: &RawCall,
        datatypes: &Datatypes,
    ) -> Result<Option<Box<Self>>, ExecError> {
        // SAFETY: a constant of the library; the caller's.
        let life = |datatype| unsafe {
            match datatype == ffi::RSMPI_DATATYPE_NULL || is_named(datatype)? {
                true => Ok::<_, ExecError>(None),
                false => datatypes.life(datatype).map(Some),
            }
        };
        let datatypes = [life(call.send_type)?, life(call.recv_type)?];
        let operator = match call.collective.is_reduction() {
            // SAFETY: the caller's.
            true => Some(unsafe { OperatorHandle::new(call.operator)? }),
            false => None,
        };
        let operator = operator.filter(|operator| !is_built_in(operator));
        let is_own = operator.is_some() || datatypes.iter().any(Option::is_some);
        Ok(is_own.then(|| {
            Box::new(Self {
                datatypes,
                operator,
            })
        }))
    }

    /// Whether the handles mean what they meant, as far as it matters.
    pub(crate) fn is_there(&self) -> bool {
        let are_alive = self.datatypes.iter().flatten().all(|life| life.get());
        are_alive && self.operator.is_none_or(commutes_as_before)
    }
}

fn commutes_as_before(before: OperatorHandle) -> bool {
    // SAFETY: what the call names is valid, and this is of the same name.
    let now = unsafe { OperatorHandle::new(before.raw()) };
    now.is_ok_and(|now| now.is_commutative() == before.is_commutative())
}

fn is_built_in(operator: &OperatorHandle) -> bool {
    let raw: MPI_Op = operator.raw();
    operator.built_in().is_some() || raw == minloc()
}
