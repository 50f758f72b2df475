//! The profile of a group of ranks, from what they have recorded.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::c_int;

use exec::ExecError;
use exec::constants::MPI_Comm;
use profile::{CallCost, CallShape, CommunicatorClass, ComparedRanks, Profile, RecordedJob, Time};

use super::clock::GlobalClock;
use super::library::{broadcast, receive_bytes, send_bytes};
use super::memory::{ReadSample, Region};
use super::shapes::unpack;
use super::starting::RankGroup;

/// The most calls whose arrivals are compared over all ranks.
const MOST_COMPARED: usize = 1 << 16;

/// What is known of the arrivals of ranks at one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arrival {
    /// The number of ranks whose arrivals are known, and that of the communicator.
    known: u32,
    ranks: u32,
    /// The last arrival, in global time.
    latest: i64,
}

impl Arrival {
    fn add_ranks(&mut self, other: &Self) {
        self.known = self.known.saturating_add(other.known);
        self.latest = self.latest.max(other.latest);
    }
}

/// The arrivals at sampled calls, by the numbers of the calls.
#[derive(Debug, Default)]
pub(super) struct ComparedArrivals(BTreeMap<u64, Arrival>);

/// The length of an entry as bytes.
const ENTRY: usize = 24;

impl ComparedArrivals {
    /// Those of a group of ranks.
    pub(super) fn of_group(group: &RankGroup, clock: &GlobalClock) -> Self {
        let mut all = Self::default();
        for region in group.regions.iterate() {
            for sample in region.read_samples() {
                let arrival = Arrival {
                    known: 1,
                    ranks: sample.ranks,
                    latest: clock.global_time(sample.arrival),
                };
                all.add_arrival(sample.call, &arrival);
            }
        }
        all
    }

    fn add_arrival(&mut self, call: u64, arrival: &Arrival) {
        match self.0.get_mut(&call) {
            Some(known) => known.add_ranks(arrival),
            None => {
                self.0.insert(call, *arrival);
            }
        }
    }

    /// Keeps as many as ranks may exchange; all ranks choose the same.
    fn bound(&mut self) {
        while self.0.len() > MOST_COMPARED {
            self.0.pop_last();
        }
    }

    /// Keeps those at which several ranks of a group have arrived: nothing is known of one that is alone on its node.
    pub(super) fn keep_those_of_several(&mut self) {
        self.0.retain(|_, arrival| arrival.known > 1);
    }

    /// Keeps those that all ranks of the communicator have arrived at.
    fn keep_complete(&mut self) {
        self.0.retain(|_, arrival| arrival.known == arrival.ranks);
    }

    fn to_bytes(&self) -> Vec<u8> {
        let entries = self.0.iter();
        entries
            .flat_map(|(call, arrival)| {
                let ranks = u64::from(arrival.known) << 32 | u64::from(arrival.ranks);
                [*call, ranks, arrival.latest as u64]
            })
            .flat_map(u64::to_ne_bytes)
            .collect()
    }

    fn add_bytes(&mut self, bytes: &[u8]) {
        for entry in bytes.chunks_exact(ENTRY) {
            let word = |place: usize| {
                let rest = entry.get(8 * place..).and_then(|rest| rest.first_chunk());
                rest.map_or(0, |word| u64::from_ne_bytes(*word))
            };
            let arrival = Arrival {
                known: (word(1) >> 32) as u32,
                ranks: word(1) as u32,
                latest: word(2) as i64,
            };
            self.add_arrival(word(0), &arrival);
        }
    }

    /// Compares the arrivals of all groups, so that each has the last one of all ranks. Collective.
    ///
    /// # Safety
    ///
    /// The communicator is a valid intracommunicator with these ranks, of which this one is `rank`.
    pub(super) unsafe fn compare_groups(
        &mut self,
        on: MPI_Comm,
        rank: c_int,
        ranks: c_int,
    ) -> Result<(), ExecError> {
        self.bound();
        // SAFETY: the caller promises a valid intracommunicator with these ranks.
        unsafe {
            merge_in_tree(on, rank, ranks, self, Self::to_bytes, |own, bytes| {
                own.add_bytes(bytes);
                own.bound();
            })?;
            if rank == 0 {
                self.keep_complete();
            }
            let mut bytes = self.to_bytes();
            let mut length = (bytes.len() as u64).to_ne_bytes();
            broadcast(on, &mut length)?;
            bytes.resize(u64::from_ne_bytes(length) as usize, 0);
            broadcast(on, &mut bytes)?;
            *self = Self::default();
            self.add_bytes(&bytes);
        }
        Ok(())
    }

    /// The time that a rank waited in a call for the last one, if that is known.
    fn waiting(&self, sample: &ReadSample, clock: &GlobalClock) -> Option<u64> {
        let arrival = self.0.get(&sample.call)?;
        let ahead = arrival.latest - clock.global_time(sample.arrival);
        Some(u64::try_from(ahead).unwrap_or(0).min(sample.nanoseconds))
    }
}

/// Merges something of all ranks into that of rank 0, in a binomial tree. Collective.
///
/// # Safety
///
/// The communicator is a valid intracommunicator with these ranks, of which this one is `rank`.
pub(super) unsafe fn merge_in_tree<T>(
    on: MPI_Comm,
    rank: c_int,
    ranks: c_int,
    own: &mut T,
    to_bytes: impl Fn(&T) -> Vec<u8>,
    add: impl Fn(&mut T, &[u8]),
) -> Result<(), ExecError> {
    let mut step = 1;
    while step < ranks {
        // SAFETY: the caller promises a valid intracommunicator with these ranks, all of which do the same.
        unsafe {
            if rank & step != 0 {
                let bytes = to_bytes(own);
                send_bytes(on, rank - step, &(bytes.len() as u64).to_ne_bytes())?;
                return send_bytes(on, rank - step, &bytes);
            }
            if step < ranks - rank {
                let mut length = [0; 8];
                receive_bytes(on, rank + step, &mut length)?;
                let mut bytes = vec![0; u64::from_ne_bytes(length) as usize];
                receive_bytes(on, rank + step, &mut bytes)?;
                add(own, &bytes);
            }
        }
        step *= 2;
    }
    Ok(())
}

/// The profile of the ranks of a group.
pub(super) fn profile_of_group(
    group: &RankGroup,
    arrivals: &ComparedArrivals,
    clock: &GlobalClock,
    compared: ComparedRanks,
    part: Option<u32>,
) -> Profile {
    let mut profile = Profile::default();
    let (mut longest, mut rank_time, mut ranks) = (0, Time::default(), 0);
    for region in group.regions.iterate() {
        let elapsed = region.seen.get().saturating_sub(region.started.get());
        longest = longest.max(elapsed);
        rank_time += Time::from_nanoseconds(elapsed);
        ranks += 1;
        for (shape, tally) in tallies(region, arrivals, clock) {
            profile.add_calls(shape, &tally);
        }
    }
    let facts = &group.facts;
    let job = RecordedJob {
        program: facts.program.clone(),
        library: facts.library.clone(),
        started: facts.started,
        ranks,
        all_ranks: facts.ranks,
        nodes: facts.nodes,
        time: Time::from_nanoseconds(longest),
        rank_time,
        parts: part.map(u64::from).into_iter().collect::<BTreeSet<u64>>(),
        arrivals: compared,
    };
    profile.jobs.insert(facts.identity_text(), job);
    profile.bound(profile::MOST_SHAPES);
    profile
}

/// The rows of one rank with their shapes.
fn tallies(
    region: &Region,
    arrivals: &ComparedArrivals,
    clock: &GlobalClock,
) -> Vec<(CallShape, CallCost)> {
    // What is sampled, by row.
    let mut sampled: HashMap<usize, CallCost> = HashMap::new();
    for sample in region.read_samples() {
        if let Some(waiting) = arrivals.waiting(&sample, clock) {
            let tally = sampled.entry(sample.row).or_default();
            tally.sampled_calls += 1;
            tally.sampled += Time::from_nanoseconds(sample.nanoseconds);
            tally.waiting += Time::from_nanoseconds(waiting);
        }
    }
    let count = (region.class_count.get() as usize).min(region.classes.len());
    let classes: Vec<CommunicatorClass> = region.classes[..count]
        .iter()
        .map(super::memory::ClassRecord::load)
        .collect();
    let rows = region.rows.iter().enumerate();
    rows.filter(|(_, row)| row.calls.get() > 0 || row.nanoseconds.get() > 0)
        .map(|(place, row)| {
            let shape = match row.key.get() {
                0 => CallShape::other(),
                key => unpack(key, &classes),
            };
            let mut tally = sampled.remove(&place).unwrap_or_default();
            tally.longest = Time::from_nanoseconds(row.longest.get());
            // Another rank may be in the middle of recording a call.
            let time = Time::from_nanoseconds(row.nanoseconds.get());
            tally.calls = row.calls.get().max(tally.sampled_calls);
            tally.time = time.max(tally.sampled).max(tally.longest);
            tally.bytes = row.bytes.get();
            (shape, tally)
        })
        .collect()
}
