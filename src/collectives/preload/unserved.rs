//! Collectives that tables do not decide about: calls go to the library, and the summary and recordings count them.
//!
//! A row has the collective's name in the summary and the reason; the arguments, which are passed on as they are, the last
//! one after a semicolon; the function's names, and those of the function with large counts, if there is one. To serve a
//! blocking collective, remove its row; otherwise its names are defined twice. Nonblocking ones that are served keep theirs,
//! as some of their calls are left to the library.

use std::ffi::c_int;

use runtime::{UnservedCollective, UnservedReason};
use schedule::Collective;

use crate::chain::{Link, chained};
use crate::counts::{Word, counts};
use crate::nonblocking::{served_collective, start};
use crate::record::{Positions, UnservedCall, positions_of, recorder};

/// Defines the functions of collectives of one form, whose calls a method of [`crate::counts::Counts`] and one of the
/// recorder make.
macro_rules! unserved {
    (
        $form:ident by $method:ident:
        $(
            $ours:ident $reason:ident $arguments:tt $names:tt $([$large:ident $large_profiling:ident])?;
        )*
    ) => {
        $(
            mod $ours {
                use super::*;

                const COLLECTIVE: UnservedCollective = UnservedCollective {
                    name: stringify!($ours),
                    reason: UnservedReason::$reason,
                };

                const POSITIONS: Positions = positions_of(stringify!($ours));

                serve_by!($form $method false $arguments);
                functions!($names $arguments);

                $(
                    #[cfg(large_counts)]
                    pub(super) mod large {
                        use super::*;

                        const POSITIONS: Positions = super::POSITIONS.with_large_counts();

                        serve_by!($form $method true $arguments);
                        functions!([$large $large_profiling] $arguments);
                    }
                )?
            }
        )*

        /// The functions of each collective.
        pub(crate) static LINKS: &[&&[&Link]] = &[$(
            &$ours::LINKS,
            $(
                #[cfg(large_counts)]
                second!($large &$ours::large::LINKS),
            )?
        )*];
    };
}

/// Defines the function that makes a call of one collective, which may have large counts.
macro_rules! serve_by {
    ($form:ident $method:ident $is_large:literal ($($argument:ident)*; $last:ident)) => {
        /// # Safety
        ///
        /// As MPI asks of the call; `library` is the MPI library's function for it.
        #[inline(always)]
        unsafe extern "C" fn serve(
            library: unsafe extern "C" fn($(word!($argument),)* Word) -> c_int,
            $($argument: Word,)*
            $last: Word,
        ) -> c_int {
            // SAFETY: the caller promises what MPI asks of the call, so a request that is not null is written by it,
            // and that `library` is the function for it.
            unsafe {
                let count_and_pass = || match counts() {
                    None => library($($argument,)* $last),
                    Some(counts) => counts.$method(COLLECTIVE, $last, || library($($argument,)* $last)),
                };
                let start_or_pass = || start_or!(
                    $form $is_large ([$($argument),*] $last) count_and_pass()
                );
                let Some(recorder) = recorder() else {
                    return start_or_pass();
                };
                let call = UnservedCall {
                    positions: POSITIONS,
                    words: &[$($argument),*],
                };
                recorder.$method(&call, $last, start_or_pass)
            }
        }
    };
}

/// Starts a nonblocking collective by one of our algorithms, or does something else.
macro_rules! start_or {
    (nonblocking $is_large:literal ($words:tt $request:ident) $otherwise:expr) => {{
        const SERVED: Option<Collective> = served_collective(COLLECTIVE.name);
        match start(SERVED, $is_large, &$words, $request) {
            Some(code) => code,
            None => $otherwise,
        }
    }};
    ($form:ident $is_large:literal $arguments:tt $otherwise:expr) => {
        $otherwise
    };
}

/// Defines both names of one function.
macro_rules! functions {
    ([$name:ident $profiling:ident] ($($argument:ident)*; $last:ident)) => {
        chained! {
            LINKS:
            #[doc = concat!("`", stringify!($name), "`.")]
            $name $profiling ($($argument: Word,)* $last: Word) serve;
        }
    };
}

/// The type of an argument.
macro_rules! word {
    ($argument:ident) => {
        Word
    };
}

/// The second of two.
#[cfg(large_counts)]
macro_rules! second {
    ($first:tt $second:expr) => {
        $second
    };
}

unserved! {
    blocking by make_blocking_call:
    neighbor_allgather Neighbourhood (a b c d e f; on) [MPI_Neighbor_allgather PMPI_Neighbor_allgather]
        [MPI_Neighbor_allgather_c PMPI_Neighbor_allgather_c];
    neighbor_allgatherv Neighbourhood (a b c d e f g; on) [MPI_Neighbor_allgatherv PMPI_Neighbor_allgatherv]
        [MPI_Neighbor_allgatherv_c PMPI_Neighbor_allgatherv_c];
    neighbor_alltoall Neighbourhood (a b c d e f; on) [MPI_Neighbor_alltoall PMPI_Neighbor_alltoall]
        [MPI_Neighbor_alltoall_c PMPI_Neighbor_alltoall_c];
    neighbor_alltoallv Neighbourhood (a b c d e f g h; on) [MPI_Neighbor_alltoallv PMPI_Neighbor_alltoallv]
        [MPI_Neighbor_alltoallv_c PMPI_Neighbor_alltoallv_c];
    neighbor_alltoallw Neighbourhood (a b c d e f g h; on) [MPI_Neighbor_alltoallw PMPI_Neighbor_alltoallw]
        [MPI_Neighbor_alltoallw_c PMPI_Neighbor_alltoallw_c];
}

/// Nonblocking collectives.
pub(crate) mod nonblocking {
    use super::*;

    unserved! {
        nonblocking by make_nonblocking_call:
        ibarrier Nonblocking (a; request) [MPI_Ibarrier PMPI_Ibarrier];
        ibcast Nonblocking (a b c d e; request) [MPI_Ibcast PMPI_Ibcast] [MPI_Ibcast_c PMPI_Ibcast_c];
        igather Nonblocking (a b c d e f g h; request) [MPI_Igather PMPI_Igather] [MPI_Igather_c PMPI_Igather_c];
        igatherv Nonblocking (a b c d e f g h i; request) [MPI_Igatherv PMPI_Igatherv] [MPI_Igatherv_c PMPI_Igatherv_c];
        iscatter Nonblocking (a b c d e f g h; request) [MPI_Iscatter PMPI_Iscatter] [MPI_Iscatter_c PMPI_Iscatter_c];
        iscatterv Nonblocking (a b c d e f g h i; request) [MPI_Iscatterv PMPI_Iscatterv]
            [MPI_Iscatterv_c PMPI_Iscatterv_c];
        iallgather Nonblocking (a b c d e f g; request) [MPI_Iallgather PMPI_Iallgather]
            [MPI_Iallgather_c PMPI_Iallgather_c];
        iallgatherv Nonblocking (a b c d e f g h; request) [MPI_Iallgatherv PMPI_Iallgatherv]
            [MPI_Iallgatherv_c PMPI_Iallgatherv_c];
        ialltoall Nonblocking (a b c d e f g; request) [MPI_Ialltoall PMPI_Ialltoall] [MPI_Ialltoall_c PMPI_Ialltoall_c];
        ialltoallv Nonblocking (a b c d e f g h i; request) [MPI_Ialltoallv PMPI_Ialltoallv]
            [MPI_Ialltoallv_c PMPI_Ialltoallv_c];
        ialltoallw Nonblocking (a b c d e f g h i; request) [MPI_Ialltoallw PMPI_Ialltoallw]
            [MPI_Ialltoallw_c PMPI_Ialltoallw_c];
        ireduce Nonblocking (a b c d e f g; request) [MPI_Ireduce PMPI_Ireduce] [MPI_Ireduce_c PMPI_Ireduce_c];
        iallreduce Nonblocking (a b c d e f; request) [MPI_Iallreduce PMPI_Iallreduce] [MPI_Iallreduce_c PMPI_Iallreduce_c];
        ireduce_scatter_block Nonblocking (a b c d e f; request) [MPI_Ireduce_scatter_block PMPI_Ireduce_scatter_block]
            [MPI_Ireduce_scatter_block_c PMPI_Ireduce_scatter_block_c];
        ireduce_scatter Nonblocking (a b c d e f; request) [MPI_Ireduce_scatter PMPI_Ireduce_scatter]
            [MPI_Ireduce_scatter_c PMPI_Ireduce_scatter_c];
        iscan Nonblocking (a b c d e f; request) [MPI_Iscan PMPI_Iscan] [MPI_Iscan_c PMPI_Iscan_c];
        iexscan Nonblocking (a b c d e f; request) [MPI_Iexscan PMPI_Iexscan] [MPI_Iexscan_c PMPI_Iexscan_c];
        ineighbor_allgather Neighbourhood (a b c d e f g; request) [MPI_Ineighbor_allgather PMPI_Ineighbor_allgather]
            [MPI_Ineighbor_allgather_c PMPI_Ineighbor_allgather_c];
        ineighbor_allgatherv Neighbourhood (a b c d e f g h; request) [MPI_Ineighbor_allgatherv PMPI_Ineighbor_allgatherv]
            [MPI_Ineighbor_allgatherv_c PMPI_Ineighbor_allgatherv_c];
        ineighbor_alltoall Neighbourhood (a b c d e f g; request) [MPI_Ineighbor_alltoall PMPI_Ineighbor_alltoall]
            [MPI_Ineighbor_alltoall_c PMPI_Ineighbor_alltoall_c];
        ineighbor_alltoallv Neighbourhood (a b c d e f g h i; request) [MPI_Ineighbor_alltoallv PMPI_Ineighbor_alltoallv]
            [MPI_Ineighbor_alltoallv_c PMPI_Ineighbor_alltoallv_c];
        ineighbor_alltoallw Neighbourhood (a b c d e f g h i; request) [MPI_Ineighbor_alltoallw PMPI_Ineighbor_alltoallw]
            [MPI_Ineighbor_alltoallw_c PMPI_Ineighbor_alltoallw_c];
    }
}

/// Persistent collectives, which not every library has.
#[cfg(persistent)]
pub(crate) mod persistent {
    use super::*;

    unserved! {
        persistent by make_persistent_call:
        barrier_init Persistent (a b; request) [MPI_Barrier_init PMPI_Barrier_init];
        bcast_init Persistent (a b c d e f; request) [MPI_Bcast_init PMPI_Bcast_init] [MPI_Bcast_init_c PMPI_Bcast_init_c];
        gather_init Persistent (a b c d e f g h i; request) [MPI_Gather_init PMPI_Gather_init]
            [MPI_Gather_init_c PMPI_Gather_init_c];
        gatherv_init Persistent (a b c d e f g h i j; request) [MPI_Gatherv_init PMPI_Gatherv_init]
            [MPI_Gatherv_init_c PMPI_Gatherv_init_c];
        scatter_init Persistent (a b c d e f g h i; request) [MPI_Scatter_init PMPI_Scatter_init]
            [MPI_Scatter_init_c PMPI_Scatter_init_c];
        scatterv_init Persistent (a b c d e f g h i j; request) [MPI_Scatterv_init PMPI_Scatterv_init]
            [MPI_Scatterv_init_c PMPI_Scatterv_init_c];
        allgather_init Persistent (a b c d e f g h; request) [MPI_Allgather_init PMPI_Allgather_init]
            [MPI_Allgather_init_c PMPI_Allgather_init_c];
        allgatherv_init Persistent (a b c d e f g h i; request) [MPI_Allgatherv_init PMPI_Allgatherv_init]
            [MPI_Allgatherv_init_c PMPI_Allgatherv_init_c];
        alltoall_init Persistent (a b c d e f g h; request) [MPI_Alltoall_init PMPI_Alltoall_init]
            [MPI_Alltoall_init_c PMPI_Alltoall_init_c];
        alltoallv_init Persistent (a b c d e f g h i j; request) [MPI_Alltoallv_init PMPI_Alltoallv_init]
            [MPI_Alltoallv_init_c PMPI_Alltoallv_init_c];
        alltoallw_init Persistent (a b c d e f g h i j; request) [MPI_Alltoallw_init PMPI_Alltoallw_init]
            [MPI_Alltoallw_init_c PMPI_Alltoallw_init_c];
        reduce_init Persistent (a b c d e f g h; request) [MPI_Reduce_init PMPI_Reduce_init]
            [MPI_Reduce_init_c PMPI_Reduce_init_c];
        allreduce_init Persistent (a b c d e f g; request) [MPI_Allreduce_init PMPI_Allreduce_init]
            [MPI_Allreduce_init_c PMPI_Allreduce_init_c];
        reduce_scatter_block_init Persistent (a b c d e f g; request) [MPI_Reduce_scatter_block_init PMPI_Reduce_scatter_block_init]
            [MPI_Reduce_scatter_block_init_c PMPI_Reduce_scatter_block_init_c];
        reduce_scatter_init Persistent (a b c d e f g; request) [MPI_Reduce_scatter_init PMPI_Reduce_scatter_init]
            [MPI_Reduce_scatter_init_c PMPI_Reduce_scatter_init_c];
        scan_init Persistent (a b c d e f g; request) [MPI_Scan_init PMPI_Scan_init] [MPI_Scan_init_c PMPI_Scan_init_c];
        exscan_init Persistent (a b c d e f g; request) [MPI_Exscan_init PMPI_Exscan_init]
            [MPI_Exscan_init_c PMPI_Exscan_init_c];
        neighbor_allgather_init Neighbourhood (a b c d e f g h; request) [MPI_Neighbor_allgather_init PMPI_Neighbor_allgather_init]
            [MPI_Neighbor_allgather_init_c PMPI_Neighbor_allgather_init_c];
        neighbor_allgatherv_init Neighbourhood (a b c d e f g h i; request) [MPI_Neighbor_allgatherv_init PMPI_Neighbor_allgatherv_init]
            [MPI_Neighbor_allgatherv_init_c PMPI_Neighbor_allgatherv_init_c];
        neighbor_alltoall_init Neighbourhood (a b c d e f g h; request) [MPI_Neighbor_alltoall_init PMPI_Neighbor_alltoall_init]
            [MPI_Neighbor_alltoall_init_c PMPI_Neighbor_alltoall_init_c];
        neighbor_alltoallv_init Neighbourhood (a b c d e f g h i j; request) [MPI_Neighbor_alltoallv_init PMPI_Neighbor_alltoallv_init]
            [MPI_Neighbor_alltoallv_init_c PMPI_Neighbor_alltoallv_init_c];
        neighbor_alltoallw_init Neighbourhood (a b c d e f g h i j; request) [MPI_Neighbor_alltoallw_init PMPI_Neighbor_alltoallw_init]
            [MPI_Neighbor_alltoallw_init_c PMPI_Neighbor_alltoallw_init_c];
    }
}
