//! Collectives that replace MPI's.

use std::ffi::{c_int, c_void};

use runtime::{KnownCommunicator, RawCall};
use schedule::Collective;

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

/// Defines functions with MPI's names. Calls that are known to be left to the library are passed on immediately.
/// Separate functions handle all others, and calls on communicators that were not used recently, so that the former do
/// not pay for what these need.
macro_rules! intercept {
    ($(
        $name:ident $library:ident $ours:ident []
        ($($argument:ident: $kind:ident),*; $communicator:ident) $call:expr;
    )*) => {$(
        unsafe extern "C" {
            fn $library($($argument: $kind,)* $communicator: Handle) -> c_int;
        }

        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        ///
        /// MPI's own conditions.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind,)* $communicator: Handle) -> c_int {
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

            // SAFETY: the caller's.
            unsafe {
                let Some(dispatcher) = dispatcher() else {
                    return $library($($argument,)* $communicator);
                };
                match dispatcher.find($communicator.communicator()) {
                    Some(known) if dispatcher.passes_on(known, &raw($($argument),*)) => {
                        $library($($argument,)* $communicator)
                    }
                    Some(known) => decide($($argument,)* known),
                    None => first($($argument,)* $communicator),
                }
            }
        }
    )*};
}

capi::for_each_collective!(intercept);
