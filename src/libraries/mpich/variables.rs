//! MPICH's variables: control variables are set by environment variables of the same name.

/// What control variables begin with, also Intel MPI's, which derives from MPICH.
const CONTROLLING: [&str; 2] = ["MPIR_CVAR_", "I_MPI_"];

/// Thresholds and algorithms are variables about a collective; each has one of these words, also
/// where parts differ in size, for neighbours, and where a scan excludes the rank itself.
const COLLECTIVES: [&str; 8] = [
    "BCAST", "REDUCE", "GATHER", "SCATTER", "ALLTOALL", "BARRIER", "SCAN", "COLL",
];

/// Intel MPI's.
const ADJUSTING: &str = "I_MPI_ADJUST_";

pub(super) fn is_setting(name: &str) -> bool {
    CONTROLLING.iter().any(|begin| name.starts_with(begin))
}

pub(super) fn decides(name: &str) -> bool {
    let about = name.strip_prefix(CONTROLLING[0]).unwrap_or_default();
    COLLECTIVES.iter().any(|word| about.contains(word)) || name.starts_with(ADJUSTING)
}
