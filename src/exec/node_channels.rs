//! Channels of shared memory between ranks of one node.

use std::cell::{Cell, RefCell, RefMut};
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use channel::{Channels, SegmentError, SegmentLayout, SharedSegment, Ticket};
use mpi::ffi;
use thiserror::Error;

use crate::api::{byte, check};
use crate::{Communicator, ExecError};

/// Why a communicator has no channels; the same on all of its ranks. Of several reasons the last of these counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[repr(u64)]
pub enum NoChannels {
    /// Every rank is alone on its node.
    #[error("no two ranks share a node")]
    Alone = 1,
    /// The kernel refused memory, or ranks of one node may not look at each other's, as those of different
    /// containers or users.
    #[error("ranks cannot share memory")]
    Refused = 2,
    /// Channels would take more memory than a rank may use, beside what it uses already.
    #[error("the limit of shared memory is reached")]
    Limit = 3,
    /// A rank may use no shared memory at all.
    #[error("shared memory is switched off")]
    SwitchedOff = 4,
}

impl NoChannels {
    const ALL: [Self; 4] = [Self::Alone, Self::Refused, Self::Limit, Self::SwitchedOff];
}

/// One communicator's channels take this part of a process's limit at most, unless they do not fit into it. That does
/// not depend on what others have taken: channels are to be as large as those that were measured.
const PART: u64 = 4;

/// Bytes of all segments that this process has.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Channels of shared memory from this rank to the others of its node, for one communicator, or for several of the
/// same ranks that are used one after the other.
#[derive(Debug)]
pub struct NodeChannels {
    /// None for a rank that is alone on its node.
    channels: Option<RefCell<Channels>>,
    /// For each rank of the communicator its place on this rank's node; `None` for this rank and those elsewhere.
    places: Box<[Option<u32>]>,
    taken: Taken,
    is_crowded: bool,
    is_lost: Cell<bool>,
}

/// Memory that counts towards the limit as long as this exists.
#[derive(Debug)]
struct Taken(u64);

impl Taken {
    fn new(bytes: u64) -> Self {
        TAKEN.fetch_add(bytes, Ordering::Relaxed);
        Self(bytes)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        TAKEN.fetch_sub(self.0, Ordering::Relaxed);
    }
}

impl NodeChannels {
    /// Opens channels between the ranks of each node of a communicator. Collective over it; all ranks get channels,
    /// or the same reason why there are none.
    ///
    /// `node` has the ranks that share memory with this one, as [`Communicator::node`]. All channels of this process
    /// together take `limit` bytes of memory at most. `is_crowded` says whether the ranks of this node outnumber its
    /// cores.
    ///
    /// # Errors
    ///
    /// If MPI reports one.
    pub fn open(
        communicator: &Communicator,
        node: &Communicator,
        limit: u64,
        is_crowded: bool,
    ) -> Result<Result<Rc<Self>, NoChannels>, ExecError> {
        let places = places(communicator, node)?;
        let opened = open_on(node, limit)?;
        let reason = opened.as_ref().err().map_or(0, |reason| *reason as u64);
        let shares = u64::from(node.size() > 1);
        let [worst, shares] = greatest(communicator, [reason, shares])?;
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
                is_lost: Cell::new(false),
            })),
        })
    }

    /// Bytes of memory that they take on this node, those of the other ranks included.
    pub fn bytes(&self) -> u64 {
        self.taken.0
    }

    /// For each rank of the communicator its place on this rank's node.
    pub(crate) fn places(&self) -> &[Option<u32>] {
        &self.places
    }

    /// The largest unit that is never cut in two; 0 for a rank that is alone on its node.
    pub(crate) fn largest_unit(&self) -> usize {
        self.borrow()
            .map_or(0, |channels| channels.layout().largest_unit())
    }

    /// Whether the ranks of this node outnumber its cores.
    pub(crate) fn are_crowded(&self) -> bool {
        self.is_crowded
    }

    /// The ends of this rank; `None` if it is alone on its node.
    pub(crate) fn borrow(&self) -> Option<RefMut<'_, Channels>> {
        self.channels.as_ref().map(RefCell::borrow_mut)
    }

    /// After an error messages may have been left behind: nothing is sent or received any more.
    pub(crate) fn lose(&self) {
        self.is_lost.set(true);
    }

    /// # Errors
    ///
    /// If they have been lost.
    pub(crate) fn check(&self) -> Result<(), ExecError> {
        match self.is_lost.get() {
            true => Err(ExecError::ChannelsLost),
            false => Ok(()),
        }
    }
}

type Opened = (Option<Channels>, Taken);

/// Opens the channels of one node. Collective over its ranks, which may come to different results.
fn open_on(node: &Communicator, limit: u64) -> Result<Result<Opened, NoChannels>, ExecError> {
    let left = limit.saturating_sub(TAKEN.load(Ordering::Relaxed));
    // The least of each, as the complement of the greatest complement.
    let least = greatest(node, [!limit, !left])?;
    let [limit, left] = least.map(|complement| !complement);
    if limit == 0 {
        return Ok(Err(NoChannels::SwitchedOff));
    }
    let ranks = node.size() as usize;
    if ranks == 1 {
        return Ok(Ok((None, Taken::new(0))));
    }
    let within =
        |bytes: u64| SegmentLayout::within(ranks, usize::try_from(bytes).unwrap_or(usize::MAX));
    let layout = within(limit / PART).or_else(|| within(limit));
    let Some(layout) = layout.filter(|layout| layout.bytes() as u64 <= left) else {
        return Ok(Err(NoChannels::Limit));
    };
    let mut segment: Result<SharedSegment, Option<SegmentError>> = Err(None);
    let mut ticket = [0; Ticket::BYTES];
    if node.rank() == 0 {
        segment = SharedSegment::create(layout.bytes()).map_err(Some);
        if let Ok(segment) = &segment {
            ticket = segment.ticket().to_bytes();
        }
    }
    share(node, &mut ticket)?;
    if node.rank() > 0 {
        segment = SharedSegment::open(&Ticket::from_bytes(ticket)).map_err(Some);
    }
    let taken = Taken::new(layout.bytes() as u64);
    let channels = segment
        .and_then(|segment| Channels::new(segment, layout, node.rank() as usize).map_err(Some));
    Ok(match channels {
        Ok(channels) => Ok((Some(channels), taken)),
        Err(_) => Err(NoChannels::Refused),
    })
}

// What follows calls MPI by its other names, since a program's calls of these may be intercepted by ours.

/// For each rank of a communicator its place on this rank's node. Collective over the node.
fn places(
    communicator: &Communicator,
    node: &Communicator,
) -> Result<Box<[Option<u32>]>, ExecError> {
    let mine = communicator.rank();
    let mut members = vec![0_u32; node.size() as usize];
    // SAFETY: each rank gives one number, and there is room for one of each.
    check("MPI_Allgather", unsafe {
        ffi::PMPI_Allgather(
            (&raw const mine).cast(),
            1,
            ffi::RSMPI_UINT32_T,
            members.as_mut_ptr().cast(),
            1,
            ffi::RSMPI_UINT32_T,
            node.raw(),
        )
    })?;
    let mut places = vec![None; communicator.size() as usize];
    for (place, rank) in (0..).zip(members) {
        if rank != mine {
            places[rank as usize] = Some(place);
        }
    }
    Ok(places.into())
}

/// The greatest of each number over all ranks. Collective.
fn greatest(communicator: &Communicator, numbers: [u64; 2]) -> Result<[u64; 2], ExecError> {
    let mut most = numbers;
    // SAFETY: both hold two numbers.
    check("MPI_Allreduce", unsafe {
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

/// The first rank's bytes, on all ranks. Collective.
fn share(communicator: &Communicator, bytes: &mut [u8]) -> Result<(), ExecError> {
    let length = bytes.len() as c_int;
    // SAFETY: as many bytes as there are.
    check("MPI_Bcast", unsafe {
        let data = bytes.as_mut_ptr().cast();
        ffi::PMPI_Bcast(data, length, byte(), 0, communicator.raw())
    })
}
