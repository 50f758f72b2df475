//! Groups of ranks on which the same happens.
//!
//! In recursive doubling, rings, dissemination, and most algorithms by leaders or lanes, the ranks of each node do what
//! those of the first node do, with other partners. Then the same happens at the same times on all nodes, and only the
//! first one is simulated. If all messages cost the same, this holds for single ranks instead of nodes.
//!
//! A *group* is a node, or a single rank. Two ranks are *alike* if they have the same place in their groups. All groups
//! are alike if
//!
//! 1. ranks that are alike have the same rounds: the same kinds of actions on as many bytes, in the same order, whose
//!    partners are alike, and in the rank's own group or in another one;
//! 2. the n-th message of a rank to ranks that are alike is also its receiver's n-th message from such ranks;
//! 3. no rank sends or receives more than one message in a round.
//!
//! Suppose that up to some time alike ranks have done the same at the same times. A rank that begins a round then has
//! messages for ranks that, by 2, receive them in rounds with the same number on all groups, so they meet at the same
//! times; by 1, they cost the same. By 3 no two messages wait for the same port of a rank because of their numbers, and
//! those that share the port of a node come in the order of their senders' places. So alike ranks end the round at the
//! same time.

use std::hash::Hasher;

use rustc_hash::FxHasher;
use schedule::{Action, Rank, Round, Schedule};
use vocabulary::AHEAD_BYTES;

use super::GoOn;
use super::ahead::executor_posts_ahead;
use super::course::Course;
use super::engine::{ACTIONS_UNASKED, is_copied};
use super::prices::Prices;
use crate::PostAhead;

/// The groups of a simulation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symmetry {
    /// The number of ranks that are simulated: those of the first group, or all.
    pub(super) ranks: Rank,
    /// The number of groups, if they are alike; otherwise 1.
    pub(super) groups: u32,
}

impl Symmetry {
    /// All ranks are simulated.
    pub(super) fn without_groups(schedule: &Schedule) -> Self {
        Self {
            ranks: schedule.shape().ranks,
            groups: 1,
        }
    }

    /// One group is simulated if all are alike.
    pub(super) fn of_alike_groups(
        schedule: &Schedule,
        prices: &Prices<'_>,
        course: &Course<'_>,
        go_on: GoOn<'_>,
    ) -> Self {
        let all = schedule.shape().ranks;
        let ranks = prices.group_size(all).filter(|_| course.starts.is_empty());
        match ranks {
            Some(ranks) if Comparison::new(schedule, prices, ranks, go_on).are_alike() => Self {
                ranks,
                groups: all / ranks,
            },
            _ => Self::without_groups(schedule),
        }
    }

    /// The sender and the receiver of a message as ranks of the first group, or of the second for the receiver of a
    /// message between groups.
    pub(super) fn simulated_ends(self, from: Rank, to: Rank) -> (Rank, Rank) {
        match self.groups {
            1 => (from, to),
            _ => {
                let own = from % self.ranks;
                (own, alike_rank(from - own, to, self.ranks))
            }
        }
    }
}

/// The rank alike to a partner: in the first group if it is in the group that begins with rank `first`, otherwise in the
/// second.
fn alike_rank(first: Rank, partner: Rank, group: Rank) -> Rank {
    if (first..first + group).contains(&partner) {
        partner - first
    } else {
        partner % group + group
    }
}

/// A comparison of all groups with the first one.
struct Comparison<'a> {
    schedule: &'a Schedule,
    prices: &'a Prices<'a>,
    /// The ranks of a group.
    group: Rank,
    /// The first rank of the group that is being compared.
    first: Rank,
    /// For each partner, as [`alike_rank`] numbers them: the rank whose messages were counted last, and the numbers of
    /// messages sent and received.
    counts: Vec<(Rank, [u64; 2])>,
    /// The sum of the hashes of all messages as their senders number them, minus that as their receivers do.
    unmatched: u64,
    /// Asked from time to time; if the simulation has to stop, the groups count as different.
    go_on: GoOn<'a>,
    /// Actions since it was asked.
    unasked: usize,
}

impl<'a> Comparison<'a> {
    fn new(schedule: &'a Schedule, prices: &'a Prices<'a>, group: Rank, go_on: GoOn<'a>) -> Self {
        Self {
            schedule,
            prices,
            group,
            first: 0,
            counts: vec![(Rank::MAX, [0; 2]); 2 * group as usize],
            unmatched: 0,
            go_on,
            unasked: 0,
        }
    }

    fn are_alike(&mut self) -> bool {
        let mut rounds = [Round::default(), Round::default()];
        let first = (0..self.group).map(|rank| self.hash_rank(rank, &mut rounds));
        let Some(first) = first.collect::<Option<Vec<u64>>>() else {
            return false;
        };
        // The last ranks are the most likely ones to differ.
        let others = (self.group..self.schedule.shape().ranks).rev();
        let mut pairs = others.zip(first.iter().rev().cycle());
        pairs.all(|(rank, hash)| self.hash_rank(rank, &mut rounds) == Some(*hash))
            && self.unmatched == 0
    }

    /// A hash of what must be the same for alike ranks; `None` if a round has several messages in one direction, or if
    /// the simulation has to stop.
    fn hash_rank(&mut self, rank: Rank, [this, before]: &mut [Round; 2]) -> Option<u64> {
        self.first = rank - rank % self.group;
        let program = self.schedule.program(rank);
        let mut hasher = FxHasher::default();
        before.clear();
        for index in 0..program.rounds() {
            this.clear();
            program.round(index, this);
            self.unasked += 1 + this.actions().len();
            if self.unasked >= ACTIONS_UNASKED {
                self.unasked = 0;
                if !(self.go_on)() {
                    return None;
                }
            }
            let moves = self.hash_round(rank, this, before, &mut hasher)?;
            if moves {
                std::mem::swap(this, before);
            }
        }
        Some(hasher.finish())
    }

    /// Adds a round; returns whether it moves data. `before` is the last round that did.
    fn hash_round(
        &mut self,
        rank: Rank,
        this: &Round,
        before: &Round,
        hasher: &mut FxHasher,
    ) -> Option<bool> {
        let (mut messages, mut recv_bytes, mut moves) = ([0, 0], 0, false);
        for action in this.actions() {
            let bytes = |span| self.prices.span_bytes(self.schedule, rank, span);
            let (kind, bytes, partner) = match action {
                Action::Send { to, span } => (0, bytes(span), Some((0, *to))),
                Action::Recv { from, span } => (1, bytes(span), Some((1, *from))),
                Action::Signal { to } => (2, 0, Some((0, *to))),
                Action::Await { from } => (3, 0, Some((1, *from))),
                Action::Combine { into, .. } => (4, bytes(into), None),
                Action::Copy { from, into } => {
                    let bytes = bytes(into);
                    let is_copied = is_copied(self.schedule, rank, from, into, bytes);
                    (5, if is_copied { bytes } else { 0 }, None)
                }
            };
            // Empty messages are not sent.
            if bytes == 0 && !matches!(kind, 2 | 3) {
                continue;
            }
            moves = true;
            hasher.write_u64(kind);
            hasher.write_u64(bytes);
            if let Some((direction, partner)) = partner {
                messages[direction] += 1;
                recv_bytes += bytes * direction as u64;
                hasher.write_u32(self.count_message(rank, direction, partner));
            }
        }
        let may_be_ahead = self.prices.machine.post_ahead != PostAhead::None;
        if may_be_ahead && recv_bytes >= AHEAD_BYTES && !before.actions().is_empty() {
            let admits =
                executor_posts_ahead(self.schedule, self.prices, rank, [before, this], recv_bytes);
            hasher.write_u8(admits.into());
        }
        // The end of the round.
        hasher.write_u64(u64::MAX);
        messages.iter().all(|count| *count <= 1).then_some(moves)
    }

    /// Counts a message that a rank sends (direction 0) or receives (1); returns its partner, see [`alike_rank`].
    fn count_message(&mut self, rank: Rank, direction: usize, partner: Rank) -> Rank {
        let alike = alike_rank(self.first, partner, self.group);
        let (counted, counts) = &mut self.counts[alike as usize];
        if *counted != rank {
            (*counted, *counts) = (rank, [0; 2]);
        }
        counts[direction] += 1;
        let number = counts[direction];
        self.unmatched = match direction {
            0 => self
                .unmatched
                .wrapping_add(hash_message(rank, partner, number)),
            _ => self
                .unmatched
                .wrapping_sub(hash_message(partner, rank, number)),
        };
        alike
    }
}

/// A hash of a message, whose bits are mixed so well that sums of hashes are equal only if the messages are (the
/// finaliser of MurmurHash3).
fn hash_message(from: Rank, to: Rank, number: u64) -> u64 {
    let mix = |hash: u64| {
        let hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ hash >> 33
    };
    mix(mix(u64::from(from) << 32 | u64::from(to)).wrapping_add(number))
}

#[cfg(test)]
mod tests {
    use schedule::{Request, Schedule};
    use vocabulary::Placement;

    use super::{Course, Prices, Symmetry};
    use crate::{Machine, Setting, Topology};

    /// The number of ranks that are simulated.
    fn simulated(name: &str, nodes: u32, per_node: u32, units: u64) -> u32 {
        let machine = "name: any\nranks_per_node: 4\nnetwork: {alpha: 3, beta: 0.25}\n\
                       node: {alpha: 1, beta: 0.125}\ninjection_beta: 0.125\ngamma: 0.25\n";
        let topology = Topology::new(nodes, per_node, Placement::Block);
        let setting = Setting {
            machine: &Machine::from_yaml(machine).expect("a machine"),
            topology,
            unit_bytes: 8,
        };
        let request = Request {
            units,
            placed: topology.placed(),
            ..Request::among_ranks(nodes * per_node)
        };
        let algorithm = schedule::find_algorithm(name).expect("registered");
        let schedule = Schedule::new(algorithm, &request).expect("supported");
        let prices = Prices::new(&schedule, &setting).expect("valid");
        Symmetry::of_alike_groups(&schedule, &prices, &Course::ONCE, &|| true).ranks
    }

    #[test]
    fn groups_that_are_alike_are_simulated_once() {
        for name in ["leaders", "lanes", "recursive_doubling", "ring"] {
            let name = format!("allreduce/{name}");
            assert_eq!(simulated(&name, 8, 4, 96), 4, "{name}");
        }
        assert_eq!(simulated("allgather/ring", 7, 1, 1), 1);
        // On one node, each rank is a group.
        assert_eq!(simulated("allgather/ring", 1, 7, 1), 1);
    }

    #[test]
    fn others_are_simulated_whole() {
        // A root.
        assert_eq!(simulated("bcast/binomial", 8, 4, 96), 32);
        // Blocks of different lengths.
        assert_eq!(simulated("allreduce/ring", 8, 4, 95), 32);
        // Ranks beyond the largest power of two.
        assert_eq!(simulated("allreduce/recursive_doubling", 9, 1, 96), 9);
        // Several messages in a round.
        assert_eq!(simulated("bcast/linear_nonblocking", 2, 4, 96), 8);
    }
}
