//! Channels of shared memory between ranks of one node.
//!
//! When channels are opened, ranks agree that all have them, so that both ends of a message take the same way. After an
//! error messages may be left in the channels, which are therefore not used again.

use std::cell::{Cell, RefCell, RefMut};
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use channel::{Channels, SegmentError, SegmentLayout, SharedSegment, Ticket};
use mpi::ffi;
use thiserror::Error;

use crate::api::{byte_datatype, check_code};
use crate::{Communicator, ExecError};

/// The reason why a communicator has no channels; the same on all of its ranks. If there are several, the last one of
/// this list counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[repr(u64)]
pub enum NoChannels {
    /// Every rank is alone on its node.
    #[error("no two ranks share a node")]
    Alone = 1,
    /// The kernel refused the memory, or ranks of one node may not access each other's, for instance in different
    /// containers or for different users.
    #[error("ranks cannot share memory")]
    Refused = 2,
    /// The channels would exceed the memory that a rank may use.
    #[error("the limit of shared memory is reached")]
    Limit = 3,
    /// A rank may not use any shared memory.
    #[error("shared memory is switched off")]
    SwitchedOff = 4,
}

impl NoChannels {
    const ALL: [Self; 4] = [Self::Alone, Self::Refused, Self::Limit, Self::SwitchedOff];
}

/// The channels of one communicator take at most this fraction of a process's limit, unless they do not fit into it.
/// The fraction does not depend on other communicators, so that the channels are as large as the measured ones.
const PART: u64 = 4;

/// The size in bytes of all segments of this process.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// The channels from this rank to the others of its node, for one communicator, or for several with the same ranks
/// that are used one at a time.
#[derive(Debug)]
pub struct NodeChannels {
    /// `None` for a rank that is alone on its node.
    channels: Option<RefCell<Channels>>,
    /// For each rank of the communicator, its index on this rank's node; `None` for this rank and for ranks on other
    /// nodes.
    places: Box<[Option<u32>]>,
    taken: TakenMemory,
    is_crowded: bool,
    /// Whether an error has left messages in them, or on a communicator that uses them.
    pub(crate) is_lost: Rc<Cell<bool>>,
}

/// Memory that counts towards the limit while this value exists.
#[derive(Debug)]
struct TakenMemory(u64);

impl TakenMemory {
    /// Takes as much, if this process then has at most `limit` bytes. Other threads may have taken what was left.
    fn within_limit(bytes: u64, limit: u64) -> Option<Self> {
        let with_these = |taken: u64| taken.checked_add(bytes).filter(|all| *all <= limit);
        let taken = TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with_these);
        // A value that is made before it is known whether as much has been taken would give it back when it is dropped.
        taken.ok().map(|_| Self(bytes))
    }
}

impl Drop for TakenMemory {
    fn drop(&mut self) {
        TAKEN.fetch_sub(self.0, Ordering::Relaxed);
    }
}

impl NodeChannels {
    /// Opens channels between the ranks of each node of a communicator. Collective over it; either all ranks get
    /// channels, or all get the same reason why there are none.
    ///
    /// `node` has the ranks that share memory with this one, as returned by [`Communicator::node`]. All channels of
    /// this process together take at most `limit` bytes of memory. `is_crowded` says whether the ranks of this node
    /// outnumber its cores.
    ///
    /// # Errors
    ///
    /// If MPI reports an error.
    pub fn open(
        communicator: &Communicator,
        node: &Communicator,
        limit: u64,
        is_crowded: bool,
    ) -> Result<Result<Rc<Self>, NoChannels>, ExecError> {
        let places = gather_places(communicator, node)?;
        let opened = open_on_node(node, limit)?;
        let own_reason = opened.as_ref().err().map_or(0, |reason| *reason as u64);
        let shares = u64::from(node.size() > 1);
        let [worst, shares] = maxima_over_ranks(communicator, [own_reason, shares])?;
        let reason = match shares {
            0 => worst.max(NoChannels::Alone as u64),
            _ => worst,
        };
        let reason = NoChannels::ALL
            .into_iter()
            .find(|known| *known as u64 == reason);
        Ok(match (reason, opened) {
            (Some(reason), _) | (None, Err(reason)) => Err(reason),
            (None, Ok((channels, taken))) => Ok(Rc::new(Self {
                channels: channels.map(|mut channels| {
                    channels.close_file();
                    RefCell::new(channels)
                }),
                places,
                taken,
                is_crowded,
                is_lost: Rc::default(),
            })),
        })
    }

    /// The size of the channels' memory on this node in bytes, for all of its ranks.
    pub fn memory_bytes(&self) -> u64 {
        self.taken.0
    }

    /// For each rank of the communicator, its index on this rank's node.
    pub(crate) fn places(&self) -> &[Option<u32>] {
        &self.places
    }

    /// The largest unit that is never split; 0 for a rank that is alone on its node.
    pub(crate) fn largest_unit(&self) -> usize {
        self.borrow()
            .map_or(0, |channels| channels.layout().largest_unit())
    }

    /// Whether the ranks of this node outnumber its cores.
    pub(crate) fn are_crowded(&self) -> bool {
        self.is_crowded
    }

    /// This rank's ends of the channels; `None` if it is alone on its node.
    // The compiler does not inline `RefCell::borrow_mut` where it is passed as a function.
    #[inline(always)]
    pub(crate) fn borrow(&self) -> Option<RefMut<'_, Channels>> {
        self.channels.as_ref().map(|channels| channels.borrow_mut())
    }
}

type OpenedChannels = (Option<Channels>, TakenMemory);

/// Opens the channels of one node. Collective over its ranks, which may get different results.
fn open_on_node(
    node: &Communicator,
    limit: u64,
) -> Result<Result<OpenedChannels, NoChannels>, ExecError> {
    let left = limit.saturating_sub(TAKEN.load(Ordering::Relaxed));
    // The minimum of each, computed as the complement of the maximum of complements.
    let least = maxima_over_ranks(node, [!limit, !left])?;
    let [node_limit, node_left] = least.map(|complement| !complement);
    if node_limit == 0 {
        return Ok(Err(NoChannels::SwitchedOff));
    }
    let ranks = node.size() as usize;
    if ranks == 1 {
        return Ok(Ok((None, TakenMemory(0))));
    }
    let within = |bytes: u64| {
        SegmentLayout::within_limit(ranks, usize::try_from(bytes).unwrap_or(usize::MAX))
    };
    let layout = within(node_limit / PART).or_else(|| within(node_limit));
    let Some(layout) = layout.filter(|layout| layout.bytes() as u64 <= node_left) else {
        return Ok(Err(NoChannels::Limit));
    };
    let taken = take_in_turn(node, layout.bytes() as u64, limit)?;
    let mut segment: Result<SharedSegment, Option<SegmentError>> = Err(None);
    let mut ticket = [0; Ticket::BYTES];
    if node.rank() == 0 {
        segment = SharedSegment::create(layout.bytes()).map_err(Some);
        if let Ok(segment) = &segment {
            ticket = segment.ticket().to_bytes();
        }
    }
    broadcast_from_first(node, &mut ticket)?;
    if node.rank() > 0 {
        segment = SharedSegment::open(&Ticket::from_bytes(ticket)).map_err(Some);
    }
    let Some(taken) = taken else {
        return Ok(Err(NoChannels::Limit));
    };
    let channels = segment
        .and_then(|segment| Channels::new(segment, layout, node.rank() as usize).map_err(Some));
    Ok(match channels {
        Ok(channels) => Ok((Some(channels), taken)),
        Err(_) => Err(NoChannels::Refused),
    })
}

// The following functions call MPI by its profiling names, as a program's calls of the others may be intercepted by
// ours.

/// Takes memory for channels of a node, one rank after the other in the order of their processes, which is the same in all
/// communicators; none on the ranks after one that has too little. Collective.
///
/// Threads may open channels of different communicators at the same time. If all ranks took at once, one thread might get the
/// last memory of this process and the other one that of the next process, and both would do without. So the one that is
/// ahead in the last process for which they compete gets it.
fn take_in_turn(
    node: &Communicator,
    bytes: u64,
    limit: u64,
) -> Result<Option<TakenMemory>, ExecError> {
    let processes = gather_numbers(node, std::process::id())?;
    let mut order: Vec<usize> = (0..processes.len()).collect();
    order.sort_by_key(|rank| (processes.get(*rank).copied(), *rank));
    let found = order.iter().position(|rank| *rank == node.rank() as usize);
    let place = found.unwrap_or(0);
    let rank_at = |turn: Option<usize>| c_int::try_from(*order.get(turn?)?).ok();
    let (before, after) = (rank_at(place.checked_sub(1)), rank_at(place.checked_add(1)));
    let mut have_all = 1_u8;
    if let Some(before) = before {
        // SAFETY: one byte, which is written by the call; a status that is ignored is a constant of the library.
        check_code("MPI_Recv", unsafe {
            let data = (&raw mut have_all).cast();
            let ignored = ffi::RSMPI_STATUS_IGNORE;
            ffi::PMPI_Recv(data, 1, byte_datatype(), before, 0, node.raw(), ignored)
        })?;
    }
    let taken = (have_all == 1).then(|| TakenMemory::within_limit(bytes, limit));
    let taken = taken.flatten();
    if let Some(after) = after {
        have_all = u8::from(taken.is_some());
        // SAFETY: one byte.
        check_code("MPI_Send", unsafe {
            let data = (&raw const have_all).cast();
            ffi::PMPI_Send(data, 1, byte_datatype(), after, 0, node.raw())
        })?;
    }
    Ok(taken)
}

/// A number of each rank. Collective.
fn gather_numbers(communicator: &Communicator, own: u32) -> Result<Vec<u32>, ExecError> {
    let mut numbers = vec![0_u32; communicator.size() as usize];
    // SAFETY: each rank gives one number, and there is room for one of each.
    check_code("MPI_Allgather", unsafe {
        ffi::PMPI_Allgather(
            (&raw const own).cast(),
            1,
            ffi::RSMPI_UINT32_T,
            numbers.as_mut_ptr().cast(),
            1,
            ffi::RSMPI_UINT32_T,
            communicator.raw(),
        )
    })?;
    Ok(numbers)
}

/// For each rank of a communicator, its index on this rank's node. Collective over the node.
fn gather_places(
    communicator: &Communicator,
    node: &Communicator,
) -> Result<Box<[Option<u32>]>, ExecError> {
    let mine = communicator.rank();
    let members = gather_numbers(node, mine)?;
    let mut places = vec![None; communicator.size() as usize];
    for (place, rank) in (0..).zip(members) {
        if rank != mine {
            places[rank as usize] = Some(place);
        }
    }
    Ok(places.into())
}

/// The maximum of each number over all ranks. Collective.
fn maxima_over_ranks(
    communicator: &Communicator,
    numbers: [u64; 2],
) -> Result<[u64; 2], ExecError> {
    let mut most = numbers;
    // SAFETY: both hold two numbers.
    check_code("MPI_Allreduce", unsafe {
        ffi::PMPI_Allreduce(
            numbers.as_ptr().cast(),
            most.as_mut_ptr().cast(),
            2,
            ffi::RSMPI_UINT64_T,
            ffi::RSMPI_MAX,
            communicator.raw(),
        )
    })?;
    Ok(most)
}

/// Broadcasts the first rank's bytes. Collective.
fn broadcast_from_first(communicator: &Communicator, bytes: &mut [u8]) -> Result<(), ExecError> {
    let length = bytes.len() as c_int;
    // SAFETY: as many bytes as there are.
    check_code("MPI_Bcast", unsafe {
        let data = bytes.as_mut_ptr().cast();
        ffi::PMPI_Bcast(data, length, byte_datatype(), 0, communicator.raw())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::{TAKEN, TakenMemory};

    #[test]
    fn what_was_not_taken_is_not_given_back() {
        let first = TakenMemory::within_limit(10, 15);
        assert!(first.is_some());
        for _ in 0..2 {
            assert!(TakenMemory::within_limit(10, 15).is_none());
            assert_eq!(TAKEN.load(Ordering::Relaxed), 10);
        }
        drop(first);
        assert_eq!(TAKEN.load(Ordering::Relaxed), 0);
    }
}
