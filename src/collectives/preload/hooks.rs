//! Collectives that replace MPI's.
//!
//! Functions with large counts, such as `MPI_Bcast_c`, are defined in builds for libraries that have them. Their calls
//! are decided about like those with `int`, so that ranks may use either form.
//!
//! Hooks take handles as numbers as wide as a register, and ask the library's text for its name before anything else: a
//! build for another library then passes calls on instead of crashing.

use std::ffi::{c_int, c_void};

use exec::constants::MPI_Datatype;
use runtime::{KnownCommunicator, RawBlocks, RawCall, RawIrregularCall};
use schedule::Collective;

use crate::chain::chained;
use crate::handle::Handle;
use crate::lifetime::{at_work, dispatcher};
use crate::record::recorder;

// The kinds of arguments.
type Input = *const c_void;
type Output = *mut c_void;
type Int = c_int;
type Counts = *const c_int;
type Places = *const c_int;
type Root = c_int;
type Type = Handle;
type Types = *const MPI_Datatype;
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

/// The call that a function of this form makes.
#[inline(always)]
fn in_form(call: RawCall) -> RawCall {
    call
}

/// Defines functions with MPI's names, or with the further names given with them, see [`crate::chain`]. Calls that are known to be left to the library are passed on
/// immediately. Separate functions handle all others, and calls on communicators that were not used recently, so that the
/// former do not pay for what these need.
macro_rules! intercept {
    ($(
        $collective:ident $library:ident $ours:ident []
        ($($argument:ident: $kind:ident),*; $communicator:ident) $call:expr;
    )*) => {
        intercept! {
            $(
                $collective $library $ours [$collective $library]
                ($($argument: $kind),*; $communicator) $call;
            )*
        }
    };
    ($(
        $collective:ident $plain:ident $ours:ident [$name:ident $library:ident]
        ($($argument:ident: $kind:ident),*; $communicator:ident) $call:expr;
    )*) => {
        $(
            mod $ours {
                use super::*;

                #[inline(always)]
                fn raw($($argument: $kind),*) -> RawCall {
                    let ($($argument,)*) = ($(own!($kind $argument),)*);
                    in_form($call)
                }

                /// # Safety
                ///
                /// As MPI asks of the call; `dispatcher` has just returned the one at work, and `known` is the call's
                /// communicator there, which was found just now.
                #[inline(never)]
                unsafe extern "C" fn decide(
                    $($argument: $kind,)*
                    known: KnownCommunicator,
                ) -> c_int {
                    // SAFETY: the caller promises what MPI asks of the call, and that it has just found the dispatcher
                    // at work, and `known` there, which it finds only while no call of ours is under way.
                    unsafe { at_work().call_on(known, || raw($($argument),*)) }
                }

                /// # Safety
                ///
                /// As MPI asks of the call; `dispatcher` has just returned the one at work.
                #[cold]
                #[inline(never)]
                unsafe extern "C" fn first(
                    $($argument: $kind,)*
                    $communicator: Handle,
                ) -> c_int {
                    // SAFETY: the caller promises what MPI asks of the call, and that it has just found the dispatcher
                    // at work.
                    unsafe { at_work().call($communicator.communicator(), raw($($argument),*)) }
                }

                /// # Safety
                ///
                /// As MPI asks of the call; `library` is the MPI library's function for it.
                #[inline(always)]
                pub(super) unsafe extern "C" fn serve(
                    library: unsafe extern "C" fn($($kind,)* Handle) -> c_int,
                    $($argument: $kind,)*
                    $communicator: Handle,
                ) -> c_int {
                    // SAFETY: the caller promises what MPI asks of the call, and that `library` is its function in the
                    // library.
                    unsafe {
                        match recorder() {
                            None => pass(library, $($argument,)* $communicator),
                            Some(recorder) => recorder.make_regular_call(
                                $communicator,
                                raw($($argument),*),
                                || pass(library, $($argument,)* $communicator),
                            ),
                        }
                    }
                }

                /// # Safety
                ///
                /// As MPI asks of the call; `library` is the MPI library's function for it.
                #[inline(always)]
                unsafe extern "C" fn pass(
                    library: unsafe extern "C" fn($($kind,)* Handle) -> c_int,
                    $($argument: $kind,)*
                    $communicator: Handle,
                ) -> c_int {
                    // SAFETY: the caller promises what MPI asks of the call, and that `library` is its function in the
                    // library; `known` is the call's communicator, found in the dispatcher at work.
                    unsafe {
                        let Some(dispatcher) = dispatcher() else {
                            return library($($argument,)* $communicator);
                        };
                        match dispatcher.find_communicator($communicator.communicator()) {
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
            collective!($collective),
        )*];
    };
}

/// Defines the functions of irregular collectives in the same way. What they are given is looked at in each call, unless
/// all calls of the collective are left to the library.
macro_rules! intercept_irregular {
    ($(
        $collective:ident $library:ident $ours:ident []
        ($($argument:ident: $kind:ident),*; $communicator:ident) $call:expr;
    )*) => {
        intercept_irregular! {
            $(
                $collective $library $ours [$collective $library]
                ($($argument: $kind),*; $communicator) $call;
            )*
        }
    };
    ($(
        $collective:ident $plain:ident $ours:ident [$name:ident $library:ident]
        ($($argument:ident: $kind:ident),*; $communicator:ident) $call:expr;
    )*) => {
        $(
            mod $ours {
                use super::*;

                /// # Safety
                ///
                /// As MPI asks of the call; `dispatcher` has just returned the one at work, and `known` is the call's
                /// communicator there, which was found just now.
                #[inline(never)]
                unsafe extern "C" fn decide(
                    $($argument: $kind,)*
                    known: KnownCommunicator,
                ) -> c_int {
                    let ($($argument,)*) = ($(own!($kind $argument),)*);
                    // SAFETY: the caller promises what MPI asks of the call, and that it has just found the dispatcher
                    // at work, and `known` there, which it finds only while no call of ours is under way.
                    unsafe { at_work().call_irregular_on(known, &$call) }
                }

                /// # Safety
                ///
                /// As MPI asks of the call; `dispatcher` has just returned the one at work.
                #[cold]
                #[inline(never)]
                unsafe extern "C" fn first($($argument: $kind,)* $communicator: Handle) -> c_int {
                    let ($($argument,)*) = ($(own!($kind $argument),)*);
                    // SAFETY: the caller promises what MPI asks of the call, and that it has just found the dispatcher
                    // at work.
                    unsafe { at_work().call_irregular($communicator.communicator(), &$call) }
                }

                /// # Safety
                ///
                /// As MPI asks of the call; `library` is the MPI library's function for it.
                #[inline(always)]
                pub(super) unsafe extern "C" fn serve(
                    library: unsafe extern "C" fn($($kind,)* Handle) -> c_int,
                    $($argument: $kind,)*
                    $communicator: Handle,
                ) -> c_int {
                    // SAFETY: the caller promises what MPI asks of the call, and that `library` is its function in the
                    // library.
                    unsafe {
                        match recorder() {
                            None => pass(library, $($argument,)* $communicator),
                            Some(recorder) => {
                                let call = {
                                    let ($($argument,)*) = ($(own!($kind $argument),)*);
                                    $call
                                };
                                recorder.make_irregular_call($communicator, call, || {
                                    pass(library, $($argument,)* $communicator)
                                })
                            }
                        }
                    }
                }

                /// # Safety
                ///
                /// As MPI asks of the call; `library` is the MPI library's function for it.
                #[inline(always)]
                unsafe extern "C" fn pass(
                    library: unsafe extern "C" fn($($kind,)* Handle) -> c_int,
                    $($argument: $kind,)*
                    $communicator: Handle,
                ) -> c_int {
                    // SAFETY: the caller promises what MPI asks of the call, and that `library` is its function in the
                    // library; `known` is the call's communicator, found in the dispatcher at work.
                    unsafe {
                        let Some(dispatcher) = dispatcher() else {
                            return library($($argument,)* $communicator);
                        };
                        match dispatcher.find_communicator($communicator.communicator()) {
                            Some(known) if dispatcher.passes_on_all(known, collective!($collective)) => {
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
            IRREGULAR_LINKS:
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                $name $library ($($argument: $kind,)* $communicator: Handle) $ours::serve;
            )*
        }

        /// The collectives, in the order of [`IRREGULAR_LINKS`].
        const IRREGULAR: &[Collective] = &[$(
            collective!($collective),
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
    (MPI_Alltoall) => {
        Collective::Alltoall
    };
    (MPI_Barrier) => {
        Collective::Barrier
    };
    (MPI_Scan) => {
        Collective::Scan
    };
    (MPI_Exscan) => {
        Collective::Exscan
    };
    (MPI_Alltoallv) => {
        Collective::Alltoallv
    };
    (MPI_Alltoallw) => {
        Collective::Alltoallw
    };
    (MPI_Allgatherv) => {
        Collective::Allgatherv
    };
    (MPI_Gatherv) => {
        Collective::Gatherv
    };
    (MPI_Scatterv) => {
        Collective::Scatterv
    };
}

capi::for_each_collective!(intercept);
capi::for_each_irregular!(intercept_irregular);

/// Lets [`RawCall::forward`] call the library's functions instead of those of this library.
pub(crate) fn redirect_forwarding() {
    let regular = LINKS.iter().zip(COLLECTIVES);
    for (link, collective) in regular.chain(IRREGULAR_LINKS.iter().zip(IRREGULAR)) {
        if let Some(function) = link.found_function() {
            // SAFETY: the collective's function in the MPI library.
            unsafe { exec::redirect_collective(*collective, function) };
        }
    }
}

/// The same collectives with large counts, such as `MPI_Bcast_c` (MPI 4.0, section 2.5.8), if the library has them. They
/// are decided about like those with `int`, so ranks that use either form can take part in one call. A barrier has no
/// counts, and thus no such form.
#[cfg(large_counts)]
pub(crate) mod large {
    use super::*;
    use crate::chain::{Link, function, function_of_library, lacking};

    // `MPI_Count`.
    type Int = i64;
    type Counts = *const i64;
    // `MPI_Aint`, which is as wide.
    type Places = *const i64;

    #[inline(always)]
    fn in_form(call: RawCall) -> RawCall {
        call.with_large_counts()
    }

    capi::for_each_collective!(
        intercept,
        [MPI_Bcast_c PMPI_Bcast_c]
        [MPI_Reduce_c PMPI_Reduce_c]
        [MPI_Allreduce_c PMPI_Allreduce_c]
        [MPI_Gather_c PMPI_Gather_c]
        [MPI_Scatter_c PMPI_Scatter_c]
        [MPI_Allgather_c PMPI_Allgather_c]
        [MPI_Reduce_scatter_c PMPI_Reduce_scatter_c]
        [MPI_Reduce_scatter_block_c PMPI_Reduce_scatter_block_c]
        [MPI_Alltoall_c PMPI_Alltoall_c]
        [MPI_Scan_c PMPI_Scan_c]
        [MPI_Exscan_c PMPI_Exscan_c];
    );
    capi::for_each_irregular!(
        intercept_irregular,
        [MPI_Alltoallv_c PMPI_Alltoallv_c]
        [MPI_Alltoallw_c PMPI_Alltoallw_c]
        [MPI_Allgatherv_c PMPI_Allgatherv_c]
        [MPI_Gatherv_c PMPI_Gatherv_c]
        [MPI_Scatterv_c PMPI_Scatterv_c]
    );

    /// Finds the library's functions. Where the library has none for a regular collective, which a program can only call because this library
    /// defines their names, those with `int` take their place. A function of another MPI library, which this build needs,
    /// does not count.
    pub(crate) fn find_large_functions() {
        for link in LINKS.iter().chain(IRREGULAR_LINKS) {
            link.find_functions();
        }
        // Counts and displacements that are not significant must not be read, so these have none that take their place.
        for (link, collective) in IRREGULAR_LINKS.iter().zip(IRREGULAR) {
            let mut plain = super::IRREGULAR_LINKS.iter().zip(super::IRREGULAR);
            let plain = plain.find(|(_, known)| *known == collective);
            if !plain.is_some_and(|(plain, _)| link.is_beside(plain)) {
                link.replace(lacking as *const c_void);
            }
        }
        for ((link, collective), narrowing) in LINKS.iter().zip(COLLECTIVES).zip(narrowing()) {
            let plain = plain_link(*collective);
            if !plain.is_some_and(|plain| link.is_beside(plain)) {
                link.replace(narrowing);
            }
        }
    }

    /// The type of an argument of the function with `int`.
    macro_rules! plain {
        (Int) => {
            c_int
        };
        (Counts) => {
            *const c_int
        };
        ($kind:ident) => {
            $kind
        };
    }

    /// Converts an argument for the function with `int`, or ends the program if it does not fit.
    macro_rules! narrowed {
        (Int $argument:ident $communicator:ident) => {
            let Ok($argument) = c_int::try_from($argument) else {
                return lacking();
            };
        };
        (Counts $argument:ident $communicator:ident) => {
            // SAFETY: the caller of `narrow` promises as many counts as there are ranks, as MPI asks of
            // `MPI_Reduce_scatter_c`.
            let parts = unsafe { narrowed_parts($argument, $communicator) };
            let Some(parts) = parts else {
                return lacking();
            };
            let $argument = parts.as_ptr();
        };
        ($kind:ident $argument:ident $communicator:ident) => {};
    }

    /// Defines functions that call those with `int` in the same library.
    macro_rules! narrow {
        ($(
            $collective:ident $library:ident $ours:ident []
            ($($argument:ident: $kind:ident),*; $communicator:ident) $call:expr;
        )*) => {
            /// These functions, in the order of [`LINKS`].
            fn narrowing() -> [*const c_void; COLLECTIVES.len()] {
                [$({
                    /// # Safety
                    ///
                    /// As MPI asks of the call with large counts.
                    unsafe extern "C" fn narrow(
                        $($argument: $kind,)*
                        $communicator: Handle,
                    ) -> c_int {
                        $(narrowed!($kind $argument $communicator);)*
                        let function = plain_function(collective!($collective));
                        // SAFETY: the caller promises what MPI asks of the call, of which all numbers fit into `int`;
                        // the function has these arguments.
                        unsafe {
                            function!(function, ($(plain!($kind),)* Handle))($($argument,)* $communicator)
                        }
                    }
                    narrow as *const c_void
                }),*]
            }
        };
    }

    capi::for_each_collective!(narrow, [] [] [] [] [] [] [] [] [] [] [];);

    /// The link of the function with `int` for a collective.
    fn plain_link(collective: Collective) -> Option<&'static Link> {
        let mut links = super::LINKS.iter().zip(super::COLLECTIVES);
        let found = links.find(|(_, known)| **known == collective);
        found.map(|(link, _)| *link)
    }

    /// The library's function with `int` for a collective.
    fn plain_function(collective: Collective) -> *const c_void {
        plain_link(collective).map_or(lacking as *const c_void, Link::library)
    }

    /// The number of elements in each rank's part, if all fit into `int`.
    ///
    /// # Safety
    ///
    /// As MPI asks of `MPI_Reduce_scatter_c`: the communicator is valid, and `counts` has one count per rank, or is
    /// null.
    unsafe fn narrowed_parts(counts: Counts, communicator: Handle) -> Option<Vec<c_int>> {
        let size = function_of_library(c"PMPI_Comm_size").filter(|_| !counts.is_null())?;
        let mut ranks: c_int = 0;
        // SAFETY: the caller promises a valid communicator and as many counts as there are ranks; the function has
        // these arguments.
        unsafe {
            function!(size, (Handle, *mut c_int))(communicator, &raw mut ranks);
            let counts = std::slice::from_raw_parts(counts, usize::try_from(ranks).ok()?);
            counts
                .iter()
                .map(|count| c_int::try_from(*count).ok())
                .collect()
        }
    }

    /// Lets [`RawCall::forward`] call the library's functions, or those that take their place.
    pub(crate) fn redirect_large_functions() {
        let regular = LINKS.iter().zip(COLLECTIVES);
        for (link, collective) in regular.chain(IRREGULAR_LINKS.iter().zip(IRREGULAR)) {
            // SAFETY: the collective's function in the MPI library, or one with its arguments.
            unsafe { exec::redirect_large(*collective, link.library()) };
        }
    }
}
