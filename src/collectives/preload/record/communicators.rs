//! What is known of the program's communicators.
//!
//! Each has a record as an attribute, which MPI deletes with the communicator (MPI 4.0, section 7.7).
//!
//! # Identities
//!
//! A number that all ranks of a communicator give it without messages tells it apart from others with the same ranks. Threads
//! make communicators in an order that differs between ranks, but calls on one communicator have the same order on all of its
//! ranks, and so have those of `MPI_Comm_create_group` with the same group and tag. So a communicator is identified by the one
//! that it was made of, by its ranks, and by how many of these ranks were made of that before.
//!
//! Communicators that came into being in another way (by `MPI_Comm_idup`, or out of groups of several) are numbered by their
//! ranks, in the order of the first blocking collectives on them, if the program's threads take turns. Otherwise nothing tells
//! which is which, and calls on these are not sampled.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{c_int, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};

use exec::constants::MPI_Comm;
use exec::{ExecError, check_code};
use mpi::ffi;
use profile::{CommunicatorClass, MadeBy};
use vocabulary::RankOrder;

use super::memory::{CLASSES, OTHER_CLASS, Region};

/// The most groups of ranks whose communicators are numbered, among those made of one, and among those of unknown origin;
/// calls on those of further groups are not sampled.
const MOST_GROUPS: usize = 4096;

/// The places for communicators that were used recently.
const RECENT: usize = 16;

/// A communicator.
#[derive(Debug)]
pub(super) struct CommunicatorRecord {
    pub(super) class: u8,
    pub(super) rank: c_int,
    pub(super) ranks: c_int,
    /// Whether it has two groups: then MPI ignores arguments by the side of the root, and arrays have an entry for each
    /// rank of the other group.
    pub(super) is_inter: bool,
    /// The hash of its ranks of `MPI_COMM_WORLD`.
    group: u64,
    identity: Identity,
    /// What was made of it.
    made: GroupNumbers,
    /// The blocking collectives so far, which are the same on all ranks.
    pub(super) calls: u64,
}

/// What tells a communicator apart from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    /// A number that no other one has, the same on all ranks.
    Known(u64),
    /// The first blocking collective determines it.
    Open,
    /// Calls are not sampled.
    Absent,
}

impl Identity {
    /// The identity with which all ranks have numbered a communicator in the same way.
    fn of_numbers(numbers: impl Hash) -> Self {
        Self::Known(hash_of(numbers))
    }
}

/// The numbers of communicators so far, by groups of ranks or what else tells them apart.
#[derive(Debug, Default)]
struct GroupNumbers(HashMap<u64, u64>);

impl GroupNumbers {
    /// The number of the next communicator of a group; `None` if there are too many groups.
    fn next_number(&mut self, group: u64) -> Option<u64> {
        let is_full = self.0.len() >= MOST_GROUPS;
        if is_full && !self.0.contains_key(&group) {
            return None;
        }
        let number = self.0.entry(group).or_default();
        *number += 1;
        Some(*number)
    }
}

/// Communicators that were made in a way that tells nothing of the order.
#[derive(Debug)]
pub(super) struct UnknownOrigins {
    /// Whether threads may use them for the first time in an order that differs between ranks.
    has_threads: bool,
    numbers: GroupNumbers,
}

impl UnknownOrigins {
    pub(super) fn new(has_threads: bool) -> Self {
        Self {
            has_threads,
            numbers: GroupNumbers::default(),
        }
    }

    fn identify(&mut self, group: u64) -> Identity {
        let number = (!self.has_threads).then(|| self.numbers.next_number(group));
        match number.flatten() {
            Some(number) => Identity::of_numbers(("unknown", group, number)),
            None => Identity::Absent,
        }
    }
}

/// How the program made a communicator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) made_by: MadeBy,
    /// The communicator that the call was on.
    pub(crate) parent: MPI_Comm,
    /// The tag, if the call was collective over a group only.
    pub(crate) tag: Option<c_int>,
}

impl CommunicatorRecord {
    /// The number that identifies it, in a blocking collective on it; `None` if calls are not sampled.
    #[inline(always)]
    pub(super) fn identify(&mut self, unknown: &mut UnknownOrigins) -> Option<u64> {
        if self.identity == Identity::Open {
            self.identity = unknown.identify(self.group);
        }
        match self.identity {
            Identity::Known(number) => Some(number),
            Identity::Open | Identity::Absent => None,
        }
    }

    /// Identifies a communicator that has just been made of this one.
    fn identify_made(&mut self, made: &mut Self, tag: Option<c_int>, unknown: &mut UnknownOrigins) {
        if made.identity != Identity::Open {
            return;
        }
        // A call over a group is not one of all ranks of this communicator, so it must not number that.
        let parent = if tag.is_some() && self.identity == Identity::Open {
            None
        } else {
            self.identify(unknown)
        };
        let kind = hash_of((made.group, tag));
        let number = parent.and_then(|_| self.made.next_number(kind));
        made.identity = match (parent, number) {
            (Some(parent), Some(number)) => Identity::of_numbers(("made", parent, kind, number)),
            _ => Identity::Absent,
        };
    }
}

fn hash_of(hashed: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    hashed.hash(&mut hasher);
    hasher.finish()
}

/// The communicators of this rank.
#[derive(Debug)]
pub(super) struct Communicators {
    keyval: c_int,
    /// For each rank of `MPI_COMM_WORLD`, the first rank on its node.
    nodes: Vec<u32>,
    recent: [(MPI_Comm, *mut CommunicatorRecord); RECENT],
    classes: Vec<CommunicatorClass>,
}

impl Communicators {
    /// Begins without any. The address is given to MPI, with which the records are deleted.
    pub(super) fn new(nodes: Vec<u32>) -> Self {
        // SAFETY: a constant of the library.
        let vacant = (unsafe { ffi::RSMPI_COMM_NULL }, std::ptr::null_mut());
        Self {
            keyval: 0,
            nodes,
            recent: [vacant; RECENT],
            classes: Vec::new(),
        }
    }

    /// Creates the key of the records; `extra` is given to `on_delete`.
    pub(super) fn create_key(
        &mut self,
        on_delete: unsafe extern "C" fn(MPI_Comm, c_int, *mut c_void, *mut c_void) -> c_int,
        extra: *mut c_void,
    ) -> Result<(), ExecError> {
        // SAFETY: MPI is running; the callbacks have the types that MPI gives them, and the result is written by the call.
        let code = unsafe {
            ffi::PMPI_Comm_create_keyval(
                Some(do_not_copy),
                Some(on_delete),
                &mut self.keyval,
                extra,
            )
        };
        check_code("MPI_Comm_create_keyval", code)
    }

    /// The record of a communicator; `None` if there can be none.
    ///
    /// # Safety
    ///
    /// The communicator is valid, and not null.
    #[inline]
    pub(super) unsafe fn find_record(
        &mut self,
        communicator: MPI_Comm,
        region: &Region,
    ) -> Option<&mut CommunicatorRecord> {
        let place = place_of(communicator);
        let (known, record) = self.recent[place];
        let record = if known == communicator && !record.is_null() {
            record
        } else {
            // SAFETY: the caller promises that the communicator is valid and not null.
            let found = unsafe { self.find_or_add(communicator, MadeBy::Unknown, region)? };
            self.recent[place] = (communicator, found);
            found
        };
        // SAFETY: records live until MPI deletes them, and are then no longer among the recent ones.
        unsafe { record.as_mut() }
    }

    /// Adds a communicator that the program has just made.
    ///
    /// # Safety
    ///
    /// The communicator is valid, and not null, and so is its parent.
    pub(super) unsafe fn add_made(
        &mut self,
        made: MPI_Comm,
        origin: Origin,
        unknown: &mut UnknownOrigins,
        region: &Region,
    ) -> Option<()> {
        // SAFETY: the caller promises that both communicators are valid and not null. Records live until MPI deletes them;
        // those of different communicators are different, and nothing else uses them.
        unsafe {
            let made = self.find_or_add(made, origin.made_by, region)?.as_mut()?;
            // Each of the groups has a parent of its own.
            if origin.made_by != MadeBy::Intercommunicator {
                let parent = self.find_or_add(origin.parent, MadeBy::Unknown, region)?;
                parent.as_mut()?.identify_made(made, origin.tag, unknown);
            }
        }
        Some(())
    }

    /// The record of a communicator, added if there is none.
    ///
    /// # Safety
    ///
    /// The communicator is valid, and not null.
    #[cold]
    #[inline(never)]
    unsafe fn find_or_add(
        &mut self,
        communicator: MPI_Comm,
        made_by: MadeBy,
        region: &Region,
    ) -> Option<*mut CommunicatorRecord> {
        let (mut value, mut is_there) = (std::ptr::null_mut::<CommunicatorRecord>(), 0);
        // SAFETY: the caller promises that the communicator is valid; what was set is a record's address.
        let code = unsafe {
            ffi::PMPI_Comm_get_attr(
                communicator,
                self.keyval,
                (&raw mut value).cast(),
                &mut is_there,
            )
        };
        if code != 0 {
            return None;
        }
        if is_there != 0 {
            return Some(value);
        }
        // SAFETY: the caller promises that the communicator is valid.
        let record = unsafe { self.describe(communicator, made_by, region).ok()? };
        let record = Box::into_raw(Box::new(record));
        // SAFETY: the caller promises that the communicator is valid; MPI gives the address to `on_delete`.
        let set_code = unsafe { ffi::PMPI_Comm_set_attr(communicator, self.keyval, record.cast()) };
        if set_code != 0 {
            // SAFETY: made above, and not stored.
            drop(unsafe { Box::from_raw(record) });
            return None;
        }
        Some(record)
    }

    /// What is known of a communicator without messages.
    ///
    /// # Safety
    ///
    /// The communicator is valid.
    unsafe fn describe(
        &mut self,
        communicator: MPI_Comm,
        made_by: MadeBy,
        region: &Region,
    ) -> Result<CommunicatorRecord, ExecError> {
        let (mut rank, mut ranks, mut has_two_groups) = (0, 0, 0);
        // SAFETY: the caller promises that the communicator is valid; the results are written by the calls, and the group
        // is freed again.
        let members = unsafe {
            check_code(
                "MPI_Comm_rank",
                ffi::PMPI_Comm_rank(communicator, &mut rank),
            )?;
            check_code(
                "MPI_Comm_size",
                ffi::PMPI_Comm_size(communicator, &mut ranks),
            )?;
            let code = ffi::PMPI_Comm_test_inter(communicator, &mut has_two_groups);
            check_code("MPI_Comm_test_inter", code)?;
            world_ranks(communicator, ranks)?
        };
        let is_inter = has_two_groups != 0;
        // SAFETY: constants of the library.
        let is_predefined = unsafe {
            communicator == ffi::RSMPI_COMM_WORLD || communicator == ffi::RSMPI_COMM_SELF
        };
        let way = match made_by {
            _ if is_inter => MadeBy::Intercommunicator,
            _ if is_predefined => MadeBy::Predefined,
            _ => made_by,
        };
        let class = self.classify(&members, way);
        let is_sampled = !is_inter && ranks > 1 && class.nodes.is_some();
        let identity = match way {
            _ if !is_sampled => Identity::Absent,
            MadeBy::Predefined => Identity::of_numbers("world"),
            _ => Identity::Open,
        };
        Ok(CommunicatorRecord {
            class: self.number_of_class(class, region),
            rank,
            ranks,
            is_inter,
            group: hash_of(&members),
            identity,
            made: GroupNumbers::default(),
            calls: 0,
        })
    }

    /// The class of a communicator of these ranks of `MPI_COMM_WORLD`.
    fn classify(&self, members: &[c_int], made_by: MadeBy) -> CommunicatorClass {
        let mut by_node: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut are_known = true;
        for (rank, member) in (0..).zip(members) {
            let node = usize::try_from(*member).ok();
            match node.and_then(|known| self.nodes.get(known)) {
                Some(node) => by_node.entry(*node).or_default().push(rank),
                None => are_known = false,
            }
        }
        let mut nodes: Vec<Vec<u32>> = by_node.into_values().collect();
        // Nodes are numbered by their first ranks in this communicator.
        nodes.sort_unstable();
        let ppn = nodes.first().map(|ranks| ranks.len() as u32);
        let is_even = nodes.iter().all(|ranks| Some(ranks.len() as u32) == ppn);
        CommunicatorClass {
            ranks: members.len() as u32,
            nodes: are_known.then_some(nodes.len() as u32),
            ppn: ppn.filter(|_| are_known && is_even),
            order: if are_known {
                RankOrder::from_nodes(&nodes)
            } else {
                RankOrder::Unknown
            },
            made_by,
        }
    }

    /// The number of a class, which is stored for readers if it is new.
    fn number_of_class(&mut self, class: CommunicatorClass, region: &Region) -> u8 {
        if let Some(known) = self.classes.iter().position(|known| *known == class) {
            return known as u8;
        }
        let number = self.classes.len();
        if number == CLASSES {
            return OTHER_CLASS;
        }
        region.classes[number].store(&class);
        region.class_count.set(number as u64 + 1);
        self.classes.push(class);
        number as u8
    }

    /// Forgets a record that is about to be freed.
    pub(super) fn forget(&mut self, record: *mut CommunicatorRecord) {
        for (_, recent) in &mut self.recent {
            if *recent == record {
                *recent = std::ptr::null_mut();
            }
        }
    }
}

/// For each rank of a communicator, its rank in `MPI_COMM_WORLD`, or `MPI_UNDEFINED`. Of an intercommunicator, the ranks of
/// this rank's group.
///
/// # Safety
///
/// The communicator is valid and has this many ranks.
unsafe fn world_ranks(communicator: MPI_Comm, ranks: c_int) -> Result<Vec<c_int>, ExecError> {
    let numbers: Vec<c_int> = (0..ranks).collect();
    let mut members = vec![0; numbers.len()];
    // SAFETY: the caller promises that the communicator is valid and has as many ranks as there is room for; the groups are
    // written by the calls, and freed again.
    unsafe {
        let (mut own, mut world) = (ffi::RSMPI_GROUP_NULL, ffi::RSMPI_GROUP_NULL);
        let code = ffi::PMPI_Comm_group(communicator, &mut own);
        check_code("MPI_Comm_group", code)?;
        let world_code = ffi::PMPI_Comm_group(ffi::RSMPI_COMM_WORLD, &mut world);
        check_code("MPI_Comm_group", world_code)?;
        let translated = ffi::PMPI_Group_translate_ranks(
            own,
            ranks,
            numbers.as_ptr(),
            world,
            members.as_mut_ptr(),
        );
        ffi::PMPI_Group_free(&mut own);
        ffi::PMPI_Group_free(&mut world);
        check_code("MPI_Group_translate_ranks", translated)?;
    }
    Ok(members)
}

/// The place of a communicator among the recent ones.
#[inline(always)]
fn place_of(communicator: MPI_Comm) -> usize {
    let mut number = 0_u64;
    const { assert!(size_of::<MPI_Comm>() <= size_of::<u64>()) };
    // SAFETY: handles are plain integers or addresses, no longer than the number.
    unsafe {
        (&raw mut number).cast::<MPI_Comm>().write(communicator);
    }
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as usize
}

/// Records are not copied to a duplicate, which gets its own.
unsafe extern "C" fn do_not_copy(
    _: MPI_Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI gives the address of its flag.
    unsafe { *flag = 0 };
    0
}
