//! The start of a recording, while the program starts MPI.

use std::ffi::{OsStr, c_int};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use capi::print_warning;
use channel::{SharedSegment, Ticket};
use exec::constants::MPI_Comm;
use exec::{ExecError, check_code};
use mpi::ffi;
use runtime::RequestTracker;

use super::clock::{ClockOffset, compare_clocks, node_now};
use super::communicators::{Communicators, UnknownOrigins};
use super::library::{broadcast, gather_from_all, largest_over_ranks, split, split_by_node};
use super::memory::{ROWS, Region, Regions};
use super::shapes::NamedHandles;
use super::{LOOK_EVERY, OwnState, Recorder, RowSampling, on_delete};
use crate::environment::Recording;
use crate::gathering::wait_for_all_ranks;
use crate::lifetime::{is_recordable, own_rank};

/// The ranks that share a segment of memory: those of a node, or each one alone where they cannot share any.
#[derive(Debug)]
pub(super) struct RankGroup {
    pub(super) regions: Regions,
    /// This rank's place.
    pub(super) place: usize,
    /// Their communicator.
    pub(super) communicator: MPI_Comm,
    /// The communicator of the first ranks of all groups; null on the other ranks.
    pub(super) leaders: MPI_Comm,
    /// The rank in `MPI_COMM_WORLD` of the group's first one.
    pub(super) first: u32,
    pub(super) facts: JobFacts,
    /// The difference of clocks at the start, on the first ranks of groups.
    pub(super) offset: ClockOffset,
}

/// What is known of the job.
#[derive(Debug)]
pub(super) struct JobFacts {
    /// The file of the whole job.
    pub(super) file: PathBuf,
    /// Whether parts are written beside it.
    pub(super) has_parts: bool,
    pub(super) identity: u64,
    pub(super) program: String,
    pub(super) library: String,
    /// In seconds since 1970.
    pub(super) started: u64,
    pub(super) ranks: u64,
    pub(super) nodes: u64,
}

impl JobFacts {
    /// The job's identity as text.
    pub(super) fn identity_text(&self) -> String {
        format!("{:016x}", self.identity)
    }

    /// The file of a part of the job, that of the ranks from this one on. Other jobs may have the same file, and leave parts
    /// or write them at the same time, so its name has the identity of the job.
    pub(super) fn part_path(&self, first: u32) -> PathBuf {
        let mut name = self.file.as_os_str().to_owned();
        name.push(format!(".{}.part-{first}", self.identity_text()));
        name.into()
    }
}

impl RankGroup {
    /// This rank's region.
    #[inline(always)]
    pub(super) fn own_region(&self) -> &Region {
        self.regions.region(self.place)
    }
}

/// Prepares to record if `COLLTUNE_RECORD` says so. Collective over `MPI_COMM_WORLD`.
pub(crate) fn prepare_recording() -> Option<Box<Recorder>> {
    let recording = Recording::from_process().filter(|_| is_recordable())?;
    let rank = own_rank();
    wait_for_all_ranks(&recording.file, "COLLTUNE_RECORD");
    // SAFETY: MPI has just been initialised, and all ranks have the same settings, for which they have waited.
    match unsafe { prepare(&recording, rank) } {
        Ok(recorder) => recorder,
        Err(error) => {
            if rank == 0 {
                print_warning(&format!("no profile is recorded: {error}"));
            }
            None
        }
    }
}

/// # Safety
///
/// MPI is initialised. All ranks call it.
unsafe fn prepare(recording: &Recording, rank: c_int) -> Result<Option<Box<Recorder>>, ExecError> {
    // SAFETY: the caller promises that MPI is initialised and that all ranks do the same; the world is a valid
    // intracommunicator, and so are those that are made of it.
    unsafe {
        let world = ffi::RSMPI_COMM_WORLD;
        let mut ranks = 0;
        check_code("MPI_Comm_size", ffi::PMPI_Comm_size(world, &mut ranks))?;
        let Some(start) = agree_on_start(recording, world, rank)? else {
            return Ok(None);
        };
        let node = split_by_node(world, rank)?;
        let mut node_ranks = 0;
        check_code("MPI_Comm_size", ffi::PMPI_Comm_size(node, &mut node_ranks))?;
        let mut lowest = (rank as u32).to_ne_bytes();
        broadcast(node, &mut lowest)?;
        let first_on_node = u32::from_ne_bytes(lowest);
        let firsts = gather_from_all(world, first_on_node, ranks)?;
        let mut distinct = firsts.clone();
        distinct.sort_unstable();
        distinct.dedup();
        // Ranks that cannot share memory are groups of one.
        let memory = match share_memory(node, node_ranks)? {
            Some((regions, place)) => Some((node, regions, place)),
            None => own_memory().map(|regions| (ffi::RSMPI_COMM_SELF, regions, 0)),
        };
        let lack = largest_over_ranks(world, c_int::from(memory.is_none()))?;
        let Some((communicator, regions, place)) = memory.filter(|_| lack == 0) else {
            if rank == 0 {
                print_warning("no profile is recorded: a rank has no memory for it");
            }
            return Ok(None);
        };
        let is_leader = place == 0;
        let first = if communicator == node {
            first_on_node
        } else {
            rank as u32
        };
        let leaders = split(world, is_leader, rank)?;
        let offset = if is_leader {
            let (mut own, mut count) = (0, 0);
            check_code("MPI_Comm_rank", ffi::PMPI_Comm_rank(leaders, &mut own))?;
            check_code("MPI_Comm_size", ffi::PMPI_Comm_size(leaders, &mut count))?;
            compare_clocks(leaders, own, count)?
        } else {
            ClockOffset::default()
        };
        let facts = JobFacts {
            file: name_file(recording, &start),
            has_parts: start.has_parts,
            identity: start.identity,
            program: program_name(),
            library: exec::identify_library().to_string(),
            started: start.seconds,
            ranks: ranks as u64,
            nodes: distinct.len() as u64,
        };
        let group = RankGroup {
            regions,
            place,
            communicator,
            leaders,
            first,
            facts,
            offset,
        };
        recorder_of(group, firsts)
    }
}

/// The recorder of this rank.
///
/// # Safety
///
/// MPI is initialised.
unsafe fn recorder_of(
    group: RankGroup,
    nodes: Vec<u32>,
) -> Result<Option<Box<Recorder>>, ExecError> {
    let now = node_now();
    let region = group.own_region();
    region.started.set(now);
    region.seen.set(now);
    group.regions.written().store(now, Ordering::Relaxed);
    let mut threads = 0;
    // SAFETY: the caller promises that MPI is initialised; the result is written by the call, and the level is a constant
    // of the library.
    let has_threads = unsafe {
        let code = ffi::PMPI_Query_thread(&mut threads);
        check_code("MPI_Query_thread", code)?;
        threads == ffi::RSMPI_THREAD_MULTIPLE
    };
    let mut recorder = Box::new(Recorder {
        group,
        has_threads,
        is_locked: AtomicBool::new(false),
        own: std::cell::UnsafeCell::new(OwnState {
            communicators: Communicators::new(nodes),
            unknown: UnknownOrigins::new(has_threads),
            named: NamedHandles::new(),
            sampling: Box::new([RowSampling::default(); ROWS]),
            requests: RequestTracker::default(),
        }),
        next_look: AtomicU64::new(now.saturating_add(LOOK_EVERY)),
        expects_requests: AtomicBool::new(false),
    });
    let address = (&raw const *recorder).cast_mut().cast();
    let own = recorder.own.get_mut();
    own.communicators.create_key(on_delete, address)?;
    Ok(Some(recorder))
}

/// What the first rank says about the recording.
struct Start {
    identity: u64,
    seconds: u64,
    has_parts: bool,
}

/// Lets the first rank decide whether to record. Collective.
///
/// # Safety
///
/// The communicator is a valid intracommunicator, of which this is a rank.
unsafe fn agree_on_start(
    recording: &Recording,
    world: MPI_Comm,
    rank: c_int,
) -> Result<Option<Start>, ExecError> {
    let mut words = [0_u64; 4];
    if rank == 0 {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = seconds.unwrap_or_default();
        let identity = super::mix(since.as_nanos() as u64 ^ u64::from(std::process::id()) << 40);
        let is_writable = may_write(recording);
        let has_parts = !files::is_special(&recording.file);
        words = [
            u64::from(is_writable),
            identity,
            since.as_secs(),
            u64::from(has_parts),
        ];
    }
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    // SAFETY: the caller promises a valid intracommunicator; all ranks have as many bytes.
    unsafe { broadcast(world, &mut bytes)? };
    let word = |place: usize| {
        let bytes = bytes.get(8 * place..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    };
    Ok((word(0) == 1).then(|| Start {
        identity: word(1),
        seconds: word(2),
        has_parts: word(3) == 1,
    }))
}

/// Whether the profile can be written; otherwise warns.
fn may_write(recording: &Recording) -> bool {
    let file = &recording.file;
    if let Some(table) = &recording.table
        && files::is_same(file, table)
    {
        print_warning(
            "COLLTUNE_RECORD names the table, so no profile is recorded: name another file",
        );
        return false;
    }
    let probed = if file.is_dir() {
        file.join("probe")
    } else {
        file.clone()
    };
    match files::check_writable(&probed) {
        Ok(()) => true,
        Err(error) => {
            let file = file.display();
            print_warning(&format!(
                "no profile is recorded: COLLTUNE_RECORD: {file}: {error}"
            ));
            false
        }
    }
}

/// The file of the job: the given one, or one in the given folder.
fn name_file(recording: &Recording, start: &Start) -> PathBuf {
    let file = &recording.file;
    if file.is_dir() {
        file.join(format!("{}-{:016x}.json", program_name(), start.identity))
    } else {
        file.clone()
    }
}

/// The name of the program's file.
pub(crate) fn program_name() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let name = program.file_name().unwrap_or(OsStr::new("unknown"));
    name.to_string_lossy().into_owned()
}

/// Memory that the ranks of a node share, and this rank's place; `None` on all of them if one cannot. Collective over the
/// node.
///
/// # Safety
///
/// The communicator is a valid intracommunicator with as many ranks.
unsafe fn share_memory(
    node: MPI_Comm,
    ranks: c_int,
) -> Result<Option<(Regions, usize)>, ExecError> {
    let mut rank = 0;
    let count = ranks as usize;
    // SAFETY: the caller promises a valid intracommunicator; the result is written by the call.
    let code = unsafe { ffi::PMPI_Comm_rank(node, &mut rank) };
    check_code("MPI_Comm_rank", code)?;
    let place = rank as usize;
    let mut segment = None;
    let mut ticket = [0; Ticket::BYTES];
    if rank == 0 {
        segment = SharedSegment::create(Regions::bytes(count)).ok();
        ticket = segment
            .as_ref()
            .map_or(ticket, |segment| segment.ticket().to_bytes());
    }
    // SAFETY: the caller promises a valid intracommunicator; all ranks have as many bytes.
    unsafe { broadcast(node, &mut ticket)? };
    if rank != 0 {
        segment = SharedSegment::open(&Ticket::from_bytes(ticket)).ok();
    }
    let regions = segment.map(|segment| Regions::new(segment, count));
    let reserved = regions.filter(|regions| regions.reserve(place).is_ok());
    // SAFETY: the caller promises a valid intracommunicator.
    let failed = unsafe { largest_over_ranks(node, c_int::from(reserved.is_none()))? };
    Ok(reserved.filter(|_| failed == 0).map(|mut shared| {
        shared.close_file();
        (shared, place)
    }))
}

/// Memory of this rank alone.
fn own_memory() -> Option<Regions> {
    let segment = SharedSegment::create(Regions::bytes(1)).ok()?;
    let regions = Regions::new(segment, 1);
    regions.reserve(0).ok()?;
    Some(regions)
}
