//! What libraries do not tell about their own algorithms.

use schedule::Collective;

/// Whether one of a library's own algorithms combines in the order of ranks, and is thereby right for
/// operators that do not commute; true where nothing is combined.
///
/// `library` is a [`crate::Library`]'s name, `id` the algorithm's without its collective. From the
/// sources of Open MPI 4.1 and MPICH 4.0. An algorithm that is not known there counts as unordered.
pub fn combines_in_order(library: &str, collective: Collective, id: &str) -> bool {
    if !collective.is_reduction() {
        return true;
    }
    match library {
        "openmpi" => open_mpi(collective, id),
        "mpich" => mpich(collective, id),
        _ => false,
    }
}

/// Also those that leave such operators to another, ordered algorithm.
fn open_mpi(collective: Collective, id: &str) -> bool {
    match collective {
        Collective::Allreduce => matches!(
            id,
            "basic_linear" | "nonoverlapping" | "recursive_doubling" | "rabenseifner"
        ),
        Collective::Reduce => matches!(id, "linear" | "in-order_binary" | "rabenseifner"),
        Collective::ReduceScatter => matches!(id, "non-overlapping" | "butterfly"),
        Collective::ReduceScatterBlock => matches!(
            id,
            "basic_linear" | "recursive_doubling" | "recursive_halving" | "butterfly"
        ),
        _ => matches!(id, "linear" | "recursive_doubling"),
    }
}

/// The others are wrong, or refuse operators that are not built in.
fn mpich(collective: Collective, id: &str) -> bool {
    match collective {
        Collective::Reduce => id == "binomial",
        Collective::ReduceScatter | Collective::ReduceScatterBlock => {
            matches!(id, "noncommutative" | "recursive_doubling")
        }
        _ => id == "recursive_doubling",
    }
}
