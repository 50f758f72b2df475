//! What tables did for jobs: a line of JSON from each, and sums of many.
//!
//! `libcolltune.so` writes a line ([`JobUsage`], `usage/line.rs`) when a job ends that was given a table, also if the table
//! was not used. It counts the calls of each collective by what carried them out ([`CarriedOutBy`], `usage/carried.rs`); all
//! names are known beforehand, so that ranks add up numbers by one reduction and a service keeps a bounded number of rows.
//! [`UsageSum`] (`usage/sum.rs`) adds up lines by table; each job counts once, in any order. [`UsageOverview`]
//! (`usage/overview.rs`) has the shares.

mod carried;
mod line;
mod overview;
mod sum;

pub use carried::{CarriedOutBy, TableCoverage};
pub use line::{
    JobOutcome, JobUsage, MOST_LINE_BYTES, TableOfJob, USAGE_VERSION, UsageCalls, UsageError,
    UsageFormat,
};
pub use overview::{
    CarriedCalls, CollectiveUsage, CoverageOverview, TableUsageOverview, UsageOverview,
};
pub use sum::{CountedCalls, TableIdentity, TableUsage, UsageSum};

/// MPI's names of the blocking collectives in lower case.
const BLOCKING: [&str; 22] = [
    "barrier",
    "bcast",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "exscan",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
];

/// The number of collectives, in all forms.
pub const COLLECTIVES: usize = 3 * BLOCKING.len();

/// The number of a collective by its name in lower case, such as `bcast`, `ibcast` or `bcast_init`: less than
/// [`COLLECTIVES`]. `None` if MPI has none of the name.
#[must_use]
pub fn collective_number(name: &str) -> Option<usize> {
    let place = |blocking: &str| BLOCKING.iter().position(|known| *known == blocking);
    if let Some(place) = place(name) {
        return Some(place);
    }
    if let Some(place) = name.strip_prefix('i').and_then(place) {
        return Some(BLOCKING.len() + place);
    }
    let place = name.strip_suffix("_init").and_then(place)?;
    Some(2 * BLOCKING.len() + place)
}

/// The name of a collective by its number.
#[must_use]
pub fn collective_name(number: usize) -> Option<String> {
    let blocking = BLOCKING.get(number % BLOCKING.len())?;
    match number / BLOCKING.len() {
        0 => Some((*blocking).to_owned()),
        1 => Some(format!("i{blocking}")),
        2 => Some(format!("{blocking}_init")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{COLLECTIVES, collective_name, collective_number};

    #[test]
    fn collectives_are_found_by_name_and_by_number() {
        for number in 0..COLLECTIVES {
            let name = collective_name(number).expect("a name");
            assert_eq!(collective_number(&name), Some(number), "{name}");
        }
        assert_eq!(collective_name(COLLECTIVES), None);
        for unknown in ["", "i", "_init", "ibcast_init", "iibcast", "Bcast", "send"] {
            assert_eq!(collective_number(unknown), None, "{unknown}");
        }
    }
}
