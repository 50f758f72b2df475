//! Running ranks.

use schedule::{Program, Rank};
use vocabulary::AHEAD_BYTES;

use super::symmetry::Symmetry;

pub(super) const NO_RANK: Rank = Rank::MAX;

/// The value for no round.
const NO_ROUND: u64 = u64::MAX;

/// A rank whose program is running.
pub(super) struct Process {
    pub(super) program: Box<dyn Program>,
    pub(super) rounds: u64,
    /// The round after the current one.
    pub(super) next: u64,
    /// The time at which the current round began, and the end of the part that has ended.
    pub(super) began: f64,
    pub(super) ends: f64,
    /// Whether the current round moves data.
    pub(super) moves: bool,
    /// The last earlier round of the same call that moves data, and its start; [`NO_ROUND`] if there is none.
    pub(super) before: u64,
    pub(super) before_began: f64,
    /// Whether the receives of the current round were posted with that one, if already determined, and their bytes.
    pub(super) is_posted_ahead: Option<bool>,
    pub(super) recv_bytes: u64,
    pub(super) send_free: f64,
    pub(super) recv_free: f64,
    /// Transfers of the current round that have not ended.
    pub(super) waiting: u32,
    /// The only rank that has sent something to it; [`NO_RANK`] before the first message.
    pub(super) source: Rank,
    /// Sends and receives of the current round. A single unmatched one is stored here, several among the offers.
    pub(super) sends: u32,
    pub(super) recvs: u32,
    pub(super) send_bytes: u64,
    pub(super) send_to: Rank,
    pub(super) recv_from: Rank,
    /// Whether the transfers of the current round have several partners.
    pub(super) has_several_partners: bool,
    /// Whether data was received or combined in the call before the current round, and whether it is in this one.
    pub(super) has_fresh: bool,
    pub(super) makes_fresh: bool,
}

impl Process {
    fn new(program: Box<dyn Program>, start: f64) -> Self {
        Self {
            rounds: program.rounds(),
            program,
            next: 0,
            began: start,
            ends: start,
            moves: false,
            before: NO_ROUND,
            before_began: start,
            is_posted_ahead: None,
            recv_bytes: 0,
            send_free: 0.0,
            recv_free: 0.0,
            waiting: 0,
            source: NO_RANK,
            sends: 0,
            recvs: 0,
            send_bytes: 0,
            send_to: NO_RANK,
            recv_from: NO_RANK,
            has_several_partners: false,
            has_fresh: false,
            makes_fresh: false,
        }
    }

    /// Begins the next round; `is_first` if it is the first of a call.
    pub(super) fn begin_round(&mut self, is_first: bool) {
        if is_first {
            self.before = NO_ROUND;
        } else if self.moves {
            (self.before, self.before_began) = (self.next - 1, self.began);
        }
        self.has_fresh = !is_first && (self.has_fresh || self.makes_fresh);
        self.is_posted_ahead = None;
        self.next += 1;
        self.began = self.ends;
    }

    /// Whether the receives of the current round may have been posted with the one before it, and whether that makes a
    /// difference: it does not if the port for receiving was busy until the end of that round.
    pub(super) fn could_receive_before(&self) -> bool {
        self.recv_bytes >= AHEAD_BYTES
            && self.before != NO_ROUND
            && self.before_began.max(self.recv_free) < self.began
    }

    /// Whether it both sends and receives in the current round.
    pub(super) fn is_both_ways(&self) -> bool {
        self.sends > 0 && self.recvs > 0
    }

    /// Whether it has messages in both directions, of which one is with a third rank.
    pub(super) fn is_shifting(&self) -> bool {
        self.is_both_ways() && self.has_several_partners
    }

    /// The last round that has ended, and its end.
    pub(super) fn last_round(&self) -> Option<(u64, f64)> {
        self.next.checked_sub(1).map(|round| (round, self.ends))
    }

    /// Ends one of the round's transfers; returns whether it was the last.
    pub(super) fn end_transfer(&mut self, time: f64) -> bool {
        self.ends = self.ends.max(time);
        self.waiting -= 1;
        self.waiting == 0
    }
}

/// Values in place of an index: the rank has not been called, it has been called and not started, its program has
/// ended.
const UNCALLED: u32 = u32::MAX;
const CALLED: u32 = u32::MAX - 1;
const ENDED: u32 = u32::MAX - 2;

/// All simulated ranks, of which few are running at any time: a tree of a million ranks is simulated in the memory of its
/// paths. Ranks of the second group stand for those of the first one ([`super::symmetry`]).
pub(super) struct Processes {
    /// The number of simulated ranks.
    ranks: u32,
    /// The index of each rank among the running ones, for the first group and, if there is one, the second.
    places: Vec<u32>,
    running: Vec<Process>,
    free: Vec<u32>,
    /// The number of ranks that have not been called.
    uncalled: u32,
}

impl Processes {
    pub(super) fn new(symmetry: Symmetry) -> Self {
        let Symmetry { ranks, groups, .. } = symmetry;
        Self {
            ranks,
            places: vec![UNCALLED; ranks as usize * groups.min(2) as usize],
            running: Vec::new(),
            free: Vec::new(),
            uncalled: ranks,
        }
    }

    /// The rank of the first group that is alike.
    pub(super) fn simulated_rank(&self, rank: Rank) -> Rank {
        if rank < self.ranks {
            rank
        } else {
            rank - self.ranks
        }
    }

    /// Sets the index of a rank of the first group, and of the rank of the second one that is alike.
    fn set_index(&mut self, rank: Rank, place: u32) {
        let alike = self.places[rank as usize..].iter_mut();
        alike
            .step_by(self.ranks as usize)
            .for_each(|of_rank| *of_rank = place);
    }

    /// Whether all ranks have been called.
    pub(super) fn are_all_called(&self) -> bool {
        self.uncalled == 0
    }

    /// Calls a rank; returns whether it has to be started, once.
    pub(super) fn call_rank(&mut self, rank: Rank) -> bool {
        let is_first = self.places[rank as usize] == UNCALLED;
        if is_first {
            self.set_index(rank, CALLED);
            self.uncalled -= 1;
        }
        is_first
    }

    /// Whether a rank has been called and not yet started.
    pub(super) fn is_called(&self, rank: Rank) -> bool {
        self.places[rank as usize] == CALLED
    }

    pub(super) fn start_rank(&mut self, rank: Rank, program: Box<dyn Program>, start: f64) {
        let process = Process::new(program, start);
        let place = match self.free.pop() {
            Some(place) => {
                self.running[place as usize] = process;
                place
            }
            None => {
                self.running.push(process);
                self.running.len() as u32 - 1
            }
        };
        self.set_index(rank, place);
    }

    /// Ends a rank and frees its place.
    pub(super) fn end_rank(&mut self, rank: Rank) {
        self.free.push(self.places[rank as usize]);
        self.set_index(rank, ENDED);
    }

    /// A rank that is running.
    pub(super) fn get_mut(&mut self, rank: Rank) -> &mut Process {
        let place = self.places[rank as usize];
        &mut self.running[place as usize]
    }

    /// A rank that is running.
    pub(super) fn get(&self, rank: Rank) -> &Process {
        &self.running[self.places[rank as usize] as usize]
    }

    /// A rank if it is running.
    pub(super) fn find_running(&self, rank: Rank) -> Option<&Process> {
        self.running.get(self.places[rank as usize] as usize)
    }

    /// A rank if it is running.
    pub(super) fn find_running_mut(&mut self, rank: Rank) -> Option<&mut Process> {
        let place = self.places[rank as usize];
        self.running.get_mut(place as usize)
    }
}
