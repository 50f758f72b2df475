//! The numbers of collectives and algorithms in rules files, and their measure of messages.

use libraries::LibraryName;
use libraries::openmpi::COLLECTIVES;
use schedule::Collective;

use crate::Native;
use crate::file_sizes::FileSizes;

/// The number of a collective.
pub(super) fn collective_number(collective: Collective) -> Option<u32> {
    let mut known = COLLECTIVES.iter();
    known
        .find(|(known, _)| *known == collective)
        .map(|(_, number)| *number)
}

/// The ids of a collective's algorithms, numbered from 1.
pub(super) fn algorithm_ids(collective: Collective) -> Vec<&'static str> {
    let algorithms = LibraryName::OpenMpi.facts().algorithms.iter();
    let known = algorithms.filter(|known| known.collective == collective);
    known.map(|known| known.id).collect()
}

/// The quantity by which the component distinguishes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// The message size as tables define it.
    Message,
    /// The table's size times the number of ranks.
    AllRanks,
    /// No usable quantity, so there may be only one row. Gather and scatter use a size that is significant at the root
    /// only, so ranks of a correct program would choose differently; scan uses the size of the type, not the count; a
    /// barrier has no size; an alltoallv always counts as 0 bytes; the mean of an allgatherv's contributions is rounded.
    Nothing,
}

pub(super) fn message_measure(collective: Collective) -> Measure {
    match collective {
        Collective::Bcast
        | Collective::Reduce
        | Collective::Allreduce
        | Collective::ReduceScatter => Measure::Message,
        Collective::Allgather | Collective::ReduceScatterBlock | Collective::Alltoall => {
            Measure::AllRanks
        }
        Collective::Gather
        | Collective::Scatter
        | Collective::Scan
        | Collective::Exscan
        | Collective::Barrier
        | Collective::Alltoallv
        | Collective::Alltoallw
        | Collective::Allgatherv
        | Collective::Gatherv
        | Collective::Scatterv => Measure::Nothing,
    }
}

/// The largest size that the library reads, a C `long` in classic files.
pub(super) const LARGEST: u64 = i64::MAX.unsigned_abs();

/// The library's measure of messages, for files.
pub(super) fn sizes_in_files(collective: Collective) -> FileSizes {
    FileSizes {
        of_all_ranks: message_measure(collective) == Measure::AllRanks,
        largest: LARGEST,
    }
}

/// The fanout that a rule must give: the library's own if none is forced.
pub(super) fn required_fanout(collective: Collective, native: &Native) -> u32 {
    const INITIAL: u32 = 4;
    match (collective, native.id.as_str()) {
        (Collective::Bcast | Collective::Reduce, "chain") => native.fanout.unwrap_or(INITIAL),
        _ => 0,
    }
}
