//! Collectives that replace MPI's.

use std::ffi::{c_int, c_void};

use runtime::RawCall;
use schedule::Collective;

use crate::handle::Handle;
use crate::lifetime::dispatcher;

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
/// Separate functions handle all others, so that the former do not pay for what these need.
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
                $communicator: Handle,
            ) -> c_int {
                // SAFETY: the caller's.
                unsafe {
                    match dispatcher() {
                        Some(dispatcher) => {
                            dispatcher.call($communicator.communicator(), raw($($argument),*))
                        }
                        None => $library($($argument,)* $communicator),
                    }
                }
            }

            // SAFETY: the caller's.
            unsafe {
                match dispatcher() {
                    Some(dispatcher)
                        if !dispatcher
                            .passes_on($communicator.communicator(), &raw($($argument),*)) =>
                    {
                        decide($($argument,)* $communicator)
                    }
                    _ => $library($($argument,)* $communicator),
                }
            }
        }
    )*};
}

capi::for_each_collective!(intercept);
