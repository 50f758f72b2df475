//! Collectives that replace MPI's.

use std::ffi::{c_int, c_void};

use runtime::{KnownCommunicator, RawCall};
use schedule::Collective;

use crate::chain::chained;
use crate::handle::Handle;
use crate::lifetime::{at_work, dispatcher};

// The kinds of arguments.
type Input = *const c_void;
type Output = *mut c_void;
type Int = c_int;
type Counts = *const c_int;
type Type = Handle;
type Operator = Handle;

/// Converts an argument to the type of this build's library.
macro_rules! own {
    (Type $argument:ident) => {
        $argument.datatype()
    };
    (Operator $argument:ident) => {
        $argument.operator()
    };
    ($kind:ident $argument:ident) => {
        $argument
    };
}

/// Defines functions with MPI's names, see [`crate::chain`]. Calls that are known to be left to the library are passed on
/// immediately. Separate functions handle all others, and calls on communicators that were not used recently, so that the
/// former do not pay for what these need.
macro_rules! intercept {
    ($(
        $name:ident $library:ident $ours:ident []
        ($($argument:ident: $kind:ident),*; $communicator:ident) $call:expr;
    )*) => {
        $(
            mod $ours {
                use super::*;

                #[inline(always)]
                fn raw($($argument: $kind),*) -> RawCall {
                    let ($($argument,)*) = ($(own!($kind $argument),)*);
                    $call
                }

                #[inline(never)]
                unsafe extern "C" fn decide(
                    $($argument: $kind,)*
                    known: KnownCommunicator,
                ) -> c_int {
                    // SAFETY: the caller's; it has found the table at work.
                    unsafe { at_work().call_on(known, || raw($($argument),*)) }
                }

                #[cold]
                #[inline(never)]
                unsafe extern "C" fn first(
                    $($argument: $kind,)*
                    $communicator: Handle,
                ) -> c_int {
                    // SAFETY: the caller's; it has found the table at work.
                    unsafe { at_work().call($communicator.communicator(), raw($($argument),*)) }
                }

                #[inline(always)]
                pub(super) unsafe extern "C" fn serve(
                    library: unsafe extern "C" fn($($kind,)* Handle) -> c_int,
                    $($argument: $kind,)*
                    $communicator: Handle,
                ) -> c_int {
                    // SAFETY: the caller's.
                    unsafe {
                        let Some(dispatcher) = dispatcher() else {
                            return library($($argument,)* $communicator);
                        };
                        match dispatcher.find($communicator.communicator()) {
                            Some(known) if dispatcher.passes_on(known, &raw($($argument),*)) => {
                                library($($argument,)* $communicator)
                            }
                            Some(known) => decide($($argument,)* known),
                            None => first($($argument,)* $communicator),
                        }
                    }
                }
            }
        )*

        chained! {
            LINKS:
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                $name $library ($($argument: $kind,)* $communicator: Handle) $ours::serve;
            )*
        }

        /// The collectives, in the order of [`LINKS`].
        const COLLECTIVES: &[Collective] = &[$(
            collective!($name),
        )*];
    };
}

/// The collective with one of MPI's names.
macro_rules! collective {
    (MPI_Bcast) => {
        Collective::Bcast
    };
    (MPI_Reduce) => {
        Collective::Reduce
    };
    (MPI_Allreduce) => {
        Collective::Allreduce
    };
    (MPI_Gather) => {
        Collective::Gather
    };
    (MPI_Scatter) => {
        Collective::Scatter
    };
    (MPI_Allgather) => {
        Collective::Allgather
    };
    (MPI_Reduce_scatter) => {
        Collective::ReduceScatter
    };
    (MPI_Reduce_scatter_block) => {
        Collective::ReduceScatterBlock
    };
}

capi::for_each_collective!(intercept);

/// Lets [`RawCall::forward`] call the library's functions instead of those of this library.
pub(crate) fn redirect() {
    for (link, collective) in LINKS.iter().zip(COLLECTIVES) {
        if !link.library().is_null() {
            // SAFETY: the collective's function in the MPI library.
            unsafe { exec::redirect(*collective, link.library()) };
        }
    }
}
