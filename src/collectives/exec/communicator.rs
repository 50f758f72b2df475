//! Communicators with checked calls, and the driver's needs besides collectives.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::time::Duration;

use mpi::ffi;
use schedule::Nodes;

use crate::api::{byte_datatype, check_code, is_finalized, mpi_count};
use crate::forward::{comm_create, comm_split_type};
use crate::tool::Tool;
use crate::{ExecError, NodeChannels};

/// MPI, initialised.
///
/// Finalising waits for all ranks. It is done by [`Universe::finish`] and not on drop, because after an error other
/// ranks may not finalise.
pub struct Universe {
    world: Communicator,
    /// Kept open, so that no other instance is the last one to close.
    tool: Tool,
}

impl Universe {
    /// Initialises MPI with `MPI_Init`, that is `MPI_THREAD_SINGLE`, as most programs do: with `MPI_THREAD_FUNNELED`
    /// Open MPI 4.1.4 takes 40 % longer for a short message. The level says that only one thread executes; the
    /// driver's watchdog is a second one, but calls no MPI function.
    ///
    /// # Errors
    ///
    /// If the library refuses.
    pub fn start() -> Result<Self, ExecError> {
        // SAFETY: null arguments are allowed; called once, before any other MPI call.
        let code = unsafe { ffi::MPI_Init(std::ptr::null_mut(), std::ptr::null_mut()) };
        check_code("MPI_Init", code)?;
        // SAFETY: a constant of the initialised library.
        let world = unsafe { ffi::RSMPI_COMM_WORLD };
        Ok(Self {
            tool: Tool::open()?,
            world: Communicator::duplicate_of(world)?,
        })
    }

    /// All ranks of the launch.
    pub fn world(&self) -> &Communicator {
        &self.world
    }

    /// Finalises MPI. Collective; communicators that still exist must not be used afterwards, and runners of the
    /// library's own algorithms must have been dropped.
    ///
    /// # Errors
    ///
    /// If the library reports an error.
    pub fn finish(self) -> Result<(), ExecError> {
        self.world.owned.free();
        drop(self.tool);
        // SAFETY: MPI is initialised, this is the last call.
        check_code("MPI_Finalize", unsafe { ffi::MPI_Finalize() })
    }
}

/// Ends this process at once without finalising MPI, for watchdogs of ranks that may hang inside MPI. The launcher
/// then ends the other ranks.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process; nothing of ours runs after it.
    unsafe { libc::_exit(code) }
}

/// A communicator of our own: errors are returned, and its messages cannot be confused with those of the application
/// or of another candidate.
#[derive(Debug)]
pub struct Communicator {
    /// The handle that `owned` frees.
    raw: ffi::MPI_Comm,
    /// The library's communicator, which several of ours may use, each with a tag of its own.
    owned: Rc<OwnedHandle>,
    tag: c_int,
    rank: u32,
    size: u32,
    /// For each of its ranks, the rank in the library's communicator; absent if these are the same.
    members: Option<Rc<[c_int]>>,
    nodes: Nodes,
    channels: Option<Rc<NodeChannels>>,
    /// Whether an error has left messages on it; the same flag as that of its channels.
    is_lost: Rc<Cell<bool>>,
}

/// A communicator of the library, freed with the last [`Communicator`] that uses it.
#[derive(Debug)]
struct OwnedHandle(Cell<ffi::MPI_Comm>);

impl OwnedHandle {
    fn free(&self) {
        // SAFETY: the handle is ours; a null handle has been freed.
        unsafe {
            let mut raw = self.0.replace(ffi::RSMPI_COMM_NULL);
            if raw != ffi::RSMPI_COMM_NULL {
                ffi::MPI_Comm_free(&mut raw);
            }
        }
    }
}

/// A rank's number in the library's communicator, of which the ranks may be a part.
pub(crate) fn library_rank(members: Option<&Rc<[c_int]>>, rank: u32) -> c_int {
    members.map_or(rank as c_int, |members| members[rank as usize])
}

impl Drop for OwnedHandle {
    fn drop(&mut self) {
        if !is_finalized() {
            self.free();
        }
    }
}

impl Communicator {
    /// A communicator with the ranks of an application's, but with its own messages. Collective. Copies nothing else:
    /// `MPI_Comm_dup` would call the copy functions of the application's attributes.
    ///
    /// # Safety
    ///
    /// MPI is initialised, and `raw` is a valid intracommunicator.
    pub unsafe fn duplicate_of_raw(raw: ffi::MPI_Comm) -> Result<Self, ExecError> {
        // SAFETY: the handles are written by the calls; the caller promises that MPI is initialised and that `raw` is a
        // valid intracommunicator.
        let copy = unsafe {
            let mut group = ffi::RSMPI_GROUP_NULL;
            check_code("MPI_Comm_group", ffi::MPI_Comm_group(raw, &mut group))?;
            let mut copy = ffi::RSMPI_COMM_NULL;
            let code = comm_create()(raw, group, &mut copy);
            ffi::MPI_Group_free(&mut group);
            check_code("MPI_Comm_create", code)?;
            copy
        };
        Self::from_owned_raw(copy)
    }

    /// A communicator of a group of ranks of one of the application's, in the group's order. Collective over the group.
    ///
    /// # Safety
    ///
    /// MPI is initialised, and `raw` is a valid intracommunicator that contains the group, to which this process
    /// belongs.
    pub unsafe fn of_group(raw: ffi::MPI_Comm, group: ffi::MPI_Group) -> Result<Self, ExecError> {
        // SAFETY: the handle is written by the call; the caller promises that MPI is initialised, and that `raw` is a
        // valid intracommunicator that contains the group, to which this process belongs.
        let made = unsafe {
            let mut made = ffi::RSMPI_COMM_NULL;
            let code = ffi::PMPI_Comm_create_group(raw, group, 0, &mut made);
            check_code("MPI_Comm_create_group", code)?;
            made
        };
        Self::from_owned_raw(made)
    }

    fn duplicate_of(raw: ffi::MPI_Comm) -> Result<Self, ExecError> {
        // SAFETY: the handle is written by the call; `raw` is a valid communicator.
        let copy = unsafe {
            let mut copy = ffi::RSMPI_COMM_NULL;
            check_code("MPI_Comm_dup", ffi::MPI_Comm_dup(raw, &mut copy))?;
            copy
        };
        Self::from_owned_raw(copy)
    }

    fn from_owned_raw(raw: ffi::MPI_Comm) -> Result<Self, ExecError> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: `raw` is a valid communicator that is freed only here.
        unsafe {
            let code = ffi::MPI_Comm_set_errhandler(raw, ffi::RSMPI_ERRORS_RETURN);
            check_code("MPI_Comm_set_errhandler", code)?;
            check_code("MPI_Comm_rank", ffi::MPI_Comm_rank(raw, &mut rank))?;
            check_code("MPI_Comm_size", ffi::MPI_Comm_size(raw, &mut size))?;
        }
        Ok(Self {
            raw,
            owned: Rc::new(OwnedHandle(Cell::new(raw))),
            tag: 0,
            rank: rank as u32,
            size: size as u32,
            members: None,
            nodes: Nodes::one_node(size as u32),
            channels: None,
            is_lost: Rc::default(),
        })
    }

    /// The library's handle, valid as long as this value exists.
    #[inline]
    pub fn raw(&self) -> ffi::MPI_Comm {
        self.raw
    }

    /// The tag of its messages, see [`Communicator::share_with_tag`].
    #[inline]
    pub fn tag(&self) -> c_int {
        self.tag
    }

    /// A communicator of the same ranks that takes nothing more of the library: both use one of its communicators, which
    /// is freed with the last of them. All ranks pass the same tag, which keeps their messages apart; it must not be
    /// that of another communicator that shares it. Not collective.
    pub fn share_with_tag(&self, tag: c_int) -> Self {
        Self {
            raw: self.raw,
            owned: Rc::clone(&self.owned),
            tag,
            rank: self.rank,
            size: self.size,
            members: self.members.clone(),
            nodes: Nodes::one_node(self.size),
            channels: None,
            is_lost: Rc::default(),
        }
    }

    /// The same for some of the ranks: `members` are their ranks in the library's communicator, in their order here. On
    /// such a communicator ranks only exchange messages; it cannot be duplicated or divided. Not collective.
    ///
    /// # Errors
    ///
    /// If this process is not one of them.
    pub fn communicator_of_members(
        &self,
        tag: c_int,
        members: &[c_int],
    ) -> Result<Self, ExecError> {
        let own = self.library_rank(self.rank);
        let rank = members.iter().position(|member| *member == own);
        // As MPI reports a rank that is not in the communicator.
        let code = if rank.is_some() { 0 } else { ffi::MPI_ERR_RANK };
        check_code("MPI_Comm_rank", code as c_int)?;
        let size = members.len() as u32;
        let is_whole = self.members.is_none()
            && size == self.size
            && (0..).zip(members).all(|(place, member)| place == *member);
        Ok(Self {
            rank: rank.unwrap_or_default() as u32,
            size,
            members: (!is_whole).then(|| members.into()),
            nodes: Nodes::one_node(size),
            ..self.share_with_tag(tag)
        })
    }

    /// The same communicator for the messages of a call that is carried out step by step beside others: with another tag and
    /// without channels. An error in one of both disables both. Not collective.
    pub fn share_for_call(&self, tag: c_int) -> Self {
        Self {
            members: self.members.clone(),
            is_lost: Rc::clone(&self.is_lost),
            ..self.share_with_tag(tag)
        }
    }

    /// Whether its ranks differ from those of the library's communicator, see [`Communicator::communicator_of_members`].
    pub fn is_part(&self) -> bool {
        self.members.is_some()
    }

    /// The ranks in the library's communicator, if they differ from its own.
    pub(crate) fn members(&self) -> Option<&Rc<[c_int]>> {
        self.members.as_ref()
    }

    /// A rank's number in the library's communicator.
    pub(crate) fn library_rank(&self, rank: u32) -> c_int {
        library_rank(self.members(), rank)
    }

    /// Whether both use the same communicator of the library.
    pub fn shares_with(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.owned, &other.owned)
    }

    /// This process's rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The nodes of its ranks, as set by [`Communicator::set_nodes`]; a single node by default.
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// Sets which of its ranks share a node, for algorithms that know nodes. All ranks must set the same.
    pub fn set_nodes(&mut self, nodes: Nodes) {
        self.nodes = nodes;
    }

    /// Gives calls on this communicator channels of shared memory, opened for the same ranks. Calls on all
    /// communicators with the same channels must have the same order on all ranks, and an error disables all of them.
    pub fn set_channels(&mut self, channels: Rc<NodeChannels>) {
        if self.is_lost.get() {
            channels.is_lost.set(true);
        }
        self.is_lost = Rc::clone(&channels.is_lost);
        self.channels = Some(channels);
    }

    /// Makes calls on this communicator work without channels.
    pub fn close_channels(&mut self) {
        self.channels = None;
    }

    /// Its channels, if it has any.
    pub fn channels(&self) -> Option<&Rc<NodeChannels>> {
        self.channels.as_ref()
    }

    /// Disables it and its channels after an error, which may have left messages in them.
    pub(crate) fn mark_lost(&self) {
        self.is_lost.set(true);
    }

    /// # Errors
    ///
    /// If it has been lost.
    #[inline]
    pub(crate) fn check_usable(&self) -> Result<(), ExecError> {
        if self.is_lost.get() {
            Err(ExecError::CommunicatorLost)
        } else {
            Ok(())
        }
    }

    /// A communicator of the same ranks with its own messages. Collective.
    pub fn duplicate(&self) -> Result<Self, ExecError> {
        Self::duplicate_of(self.raw)
    }

    /// A communicator of the ranks that call this with `member`, in rank order; `None` on the others. Collective.
    pub fn subset(&self, member: bool) -> Result<Option<Self>, ExecError> {
        // SAFETY: the handle is written by the call; MPI_UNDEFINED yields the null communicator.
        unsafe {
            let mut part = ffi::RSMPI_COMM_NULL;
            let color = if member { 0 } else { ffi::RSMPI_UNDEFINED };
            check_code(
                "MPI_Comm_split",
                ffi::MPI_Comm_split(self.raw, color, 0, &mut part),
            )?;
            if member {
                Self::from_owned_raw(part).map(Some)
            } else {
                Ok(None)
            }
        }
    }

    /// A communicator of the ranks that share memory with this one (a node), in rank order. Collective.
    pub fn node(&self) -> Result<Self, ExecError> {
        // SAFETY: the handle is written by the call.
        unsafe {
            let mut node = ffi::RSMPI_COMM_NULL;
            let code = comm_split_type()(
                self.raw,
                ffi::RSMPI_COMM_TYPE_SHARED,
                0,
                ffi::RSMPI_INFO_NULL,
                &mut node,
            );
            check_code("MPI_Comm_split_type", code)?;
            Self::from_owned_raw(node)
        }
    }

    /// Our own dissemination barrier: `ceil(log2 p)` exchanges of empty messages, the same for
    /// every size and library (Hensgen, Finkel, Manber 1988).
    pub fn dissemination_barrier(&self) -> Result<(), ExecError> {
        let mut distance = 1;
        while distance < self.size {
            let to = (self.rank + distance) % self.size;
            let from = (self.rank + self.size - distance) % self.size;
            self.exchange_bytes(&[], to, &mut [], from)?;
            distance *= 2;
        }
        Ok(())
    }

    /// Waits for all ranks without using a core, for ranks that have nothing to measure. Every rank of the
    /// communicator calls it, so late ranks find no other rank spinning.
    pub fn sleeping_barrier(&self, nap: Duration) -> Result<(), ExecError> {
        // SAFETY: the request is written by the first call and owned by this function until the
        // test reports it complete.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            check_code("MPI_Ibarrier", ffi::MPI_Ibarrier(self.raw, &mut request))?;
            loop {
                let mut done = 0;
                let code = ffi::MPI_Test(&mut request, &mut done, ffi::RSMPI_STATUS_IGNORE);
                check_code("MPI_Test", code)?;
                if done != 0 {
                    return Ok(());
                }
                std::thread::sleep(nap);
            }
        }
    }

    /// Computes the element-wise maximum over all ranks, on all ranks. Collective.
    pub fn maximum_over_ranks(&self, values: &mut [f64]) -> Result<(), ExecError> {
        let mine = values.to_vec();
        let length = mpi_count(values.len() as u64)?;
        // SAFETY: both vectors hold `length` doubles and do not overlap.
        let code = unsafe {
            ffi::MPI_Allreduce(
                mine.as_ptr().cast(),
                values.as_mut_ptr().cast(),
                length,
                ffi::RSMPI_DOUBLE,
                ffi::RSMPI_MAX,
                self.raw,
            )
        };
        check_code("MPI_Allreduce", code)
    }

    /// Broadcasts the root's bytes to all ranks; only the root needs to know the length. Collective.
    pub fn broadcast_bytes(&self, bytes: &mut Vec<u8>, root: u32) -> Result<(), ExecError> {
        let mut length = bytes.len() as u64;
        let raw_length: *mut u64 = &mut length;
        self.broadcast_raw(raw_length.cast(), size_of::<u64>() as u64, root)?;
        bytes.resize(length as usize, 0);
        self.broadcast_raw(bytes.as_mut_ptr().cast(), length, root)
    }

    fn broadcast_raw(&self, data: *mut c_void, bytes: u64, root: u32) -> Result<(), ExecError> {
        let length = mpi_count(bytes)?;
        // SAFETY: both calls in `broadcast_bytes` pass writable memory of `bytes` bytes.
        let code =
            unsafe { ffi::MPI_Bcast(data, length, byte_datatype(), root as c_int, self.raw) };
        check_code("MPI_Bcast", code)
    }
}
