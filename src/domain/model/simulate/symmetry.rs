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
//! 2. the n-th message of a rank to ranks that are alike is also its receiver's n-th message from such ranks.
//!
//! Suppose that up to some time alike ranks have done the same at the same times. A rank that begins a round then has
//! messages for ranks that, by 2, receive them in rounds with the same number on all groups, so they meet at the same
//! times; by 1, they cost the same. Messages that need the same port of a rank or of a node at the same time come in the
//! order of their senders' places in their groups, rounds, and order in the round. By 1 and 2 these differ for any two of
//! them: if the senders of two messages are alike, or the same, and so are the rounds and the orders, then by 1 the
//! receivers are alike, so for a port of a rank or of its node they are one rank, for which by 2 they are messages of
//! different numbers. So the order is the same on all groups, and alike ranks end the round at the same time.
//!
//! Mostly all programs are compared. In an alltoall that takes longer than a simulation of one group, and rows of such
//! algorithms say that their programs are the same under renumberings of the ranks ([`schedule::Translation`]). If these
//! take the first group to any other one, 1 holds, and 2 is examined for the first group alone.
//!
//! Under cyclic placement a node's ranks are not neighbours. Only renumberings are used there, and ranks are numbered
//! group by group while one of them is simulated ([`Symmetry::number_of`]).

use std::hash::Hasher;

use rustc_hash::FxHasher;
use schedule::{Action, Rank, Round, Schedule, Translation};
use vocabulary::AHEAD_BYTES;

use super::GoOn;
use super::ahead::{executor_posts_ahead, may_be_posted_ahead};
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
    /// Whether neighbours are in different groups.
    is_cyclic: bool,
}

impl Symmetry {
    /// All ranks are simulated.
    pub(super) fn without_groups(schedule: &Schedule) -> Self {
        Self {
            ranks: schedule.shape().ranks,
            groups: 1,
            is_cyclic: false,
        }
    }

    /// One group is simulated if all are alike.
    pub(super) fn of_alike_groups(
        schedule: &Schedule,
        prices: &Prices<'_>,
        course: &Course<'_>,
        go_on: GoOn<'_>,
    ) -> Self {
        if !course.starts.is_empty() {
            return Self::without_groups(schedule);
        }
        if let Some(symmetry) = Self::by_translation(schedule, prices)
            && TranslationCheck::new(schedule, symmetry, go_on).are_messages_matched()
        {
            return symmetry;
        }
        let all = schedule.shape().ranks;
        match prices.group_size(all) {
            Some(ranks) if Comparison::new(schedule, prices, ranks, go_on).are_alike() => Self {
                ranks,
                groups: all / ranks,
                is_cyclic: false,
            },
            _ => Self::without_groups(schedule),
        }
    }

    /// The groups to which renumberings that the schedule admits take the first one, if they are all.
    pub(super) fn by_translation(schedule: &Schedule, prices: &Prices<'_>) -> Option<Self> {
        let translation = schedule.translation()?;
        let shape = schedule.shape();
        let all = shape.ranks;
        let (ranks, is_cyclic) = match prices.group_size(all) {
            Some(ranks) => (ranks, false),
            None => (prices.cyclic_group_size(all)?, true),
        };
        let symmetry = Self {
            ranks,
            groups: all / ranks,
            is_cyclic,
        };
        let takes_groups_to_groups = match translation {
            // Across the end of the ranks, a rank of another place would take its place.
            Translation::Ranks => !is_cyclic,
            Translation::Bits => ranks.is_power_of_two() && symmetry.groups.is_power_of_two(),
            Translation::Nodes => (0..all).all(|number| {
                let place = (number / ranks, number % ranks);
                shape.nodes.place_of_rank(symmetry.rank_of(number)) == place
            }),
        };
        takes_groups_to_groups.then_some(symmetry)
    }

    /// Whether the ranks are numbered node by node instead of as the topology has them.
    pub(super) fn numbers_by_nodes(self) -> bool {
        self.is_cyclic
    }

    /// The number of a rank by which it is simulated: groups come one after the other.
    pub(super) fn number_of(self, rank: Rank) -> Rank {
        if self.is_cyclic {
            rank % self.groups * self.ranks + rank / self.groups
        } else {
            rank
        }
    }

    /// The rank with a number.
    pub(super) fn rank_of(self, number: Rank) -> Rank {
        if self.is_cyclic {
            number % self.ranks * self.groups + number / self.ranks
        } else {
            number
        }
    }

    /// The values of all ranks, of which those of the simulated ones are given.
    pub(super) fn repeat_values(self, values: &[f64]) -> Vec<f64> {
        if self.is_cyclic {
            let of_all = values
                .iter()
                .flat_map(|value| std::iter::repeat_n(*value, self.groups as usize));
            of_all.collect()
        } else {
            values.repeat(self.groups as usize)
        }
    }

    /// The sender and the receiver of a message, by their numbers, as ranks of the first group, or of the second for the
    /// receiver of a message between groups.
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

/// Examines whether the messages of alike ranks have the same numbers at both ends, where renumberings take the first
/// group to every other one.
///
/// A renumbering takes a message between the first group and another one to a message of the first group in the other
/// direction. So it is enough to compare what the first group sends with what it receives.
struct TranslationCheck<'a> {
    schedule: &'a Schedule,
    symmetry: Symmetry,
    /// For each place, the rank whose messages were counted last, and the numbers of messages sent and received.
    counts: Vec<(Rank, [u64; 2])>,
    /// The sum of the hashes of all messages that are sent, minus that of those that are received.
    unmatched: u64,
    go_on: GoOn<'a>,
}

impl<'a> TranslationCheck<'a> {
    fn new(schedule: &'a Schedule, symmetry: Symmetry, go_on: GoOn<'a>) -> Self {
        Self {
            schedule,
            symmetry,
            counts: vec![(Rank::MAX, [0; 2]); 2 * symmetry.ranks as usize],
            unmatched: 0,
            go_on,
        }
    }

    fn are_messages_matched(&mut self) -> bool {
        let (mut round, mut unasked) = (Round::default(), 0);
        for place in 0..self.symmetry.ranks {
            let program = self.schedule.program(self.symmetry.rank_of(place));
            for index in 0..program.rounds() {
                round.clear();
                program.round(index, &mut round);
                unasked += 1 + round.actions().len();
                if unasked >= ACTIONS_UNASKED {
                    unasked = 0;
                    if !(self.go_on)() {
                        return false;
                    }
                }
                for action in round.actions() {
                    match *action {
                        Action::Send { to, .. } | Action::Signal { to } => {
                            self.count_message(place, 0, to);
                        }
                        Action::Recv { from, .. } | Action::Await { from } => {
                            self.count_message(place, 1, from);
                        }
                        Action::Combine { .. } | Action::Copy { .. } => {}
                    }
                }
            }
        }
        self.unmatched == 0
    }

    /// Counts a message that a rank of the first group sends (direction 0) or receives (1).
    fn count_message(&mut self, place: u32, direction: usize, partner: Rank) {
        let Symmetry { ranks, groups, .. } = self.symmetry;
        let partner = self.symmetry.number_of(partner);
        let (group, partner_place) = (partner / ranks, partner % ranks);
        let alike = partner_place + if group == 0 { 0 } else { ranks };
        let (counted, counts) = &mut self.counts[alike as usize];
        if *counted != place {
            (*counted, *counts) = (place, [0; 2]);
        }
        counts[direction] += 1;
        let number = counts[direction];
        if direction == 0 {
            let hash = hash_message(place, group * ranks + partner_place, number);
            self.unmatched = self.unmatched.wrapping_add(hash);
        } else {
            // The group to which the renumbering that takes the sender's group to the first one takes this one.
            let receiver_group = match self.schedule.translation() {
                Some(Translation::Bits) => group,
                _ => (groups - group) % groups,
            };
            let hash = hash_message(partner_place, receiver_group * ranks + place, number);
            self.unmatched = self.unmatched.wrapping_sub(hash);
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

    /// A hash of what must be the same for alike ranks; `None` if the simulation has to stop.
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
            let moves = self.hash_round(rank, this, before, &mut hasher);
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
    ) -> bool {
        let (mut recv_bytes, mut moves) = (0, false);
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
                recv_bytes += bytes * direction as u64;
                hasher.write_u32(self.count_message(rank, direction, partner));
            }
        }
        let may_be_ahead = self.prices.machine.post_ahead != PostAhead::None;
        if may_be_ahead && recv_bytes >= AHEAD_BYTES && !before.actions().is_empty() {
            let posts_ahead_from = |from| may_be_posted_ahead(self.prices, from, rank);
            let rounds = [before, this];
            let admits = executor_posts_ahead(
                self.schedule,
                self.prices,
                rank,
                rounds,
                recv_bytes,
                posts_ahead_from,
            );
            hasher.write_u8(admits.into());
        }
        // The end of the round.
        hasher.write_u64(u64::MAX);
        moves
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
    use schedule::{ALGORITHMS, Parameter, Parameters, Request, Schedule};
    use vocabulary::Placement;

    use super::{Course, Prices, Symmetry, TranslationCheck};
    use crate::{Machine, Setting, Topology};

    /// The number of ranks that are simulated.
    fn simulated(name: &str, nodes: u32, per_node: u32, units: u64) -> u32 {
        simulated_of(
            name,
            Topology::new(nodes, per_node, Placement::Block),
            units,
        )
    }

    const MACHINE: &str = "name: any\nranks_per_node: 4\nnetwork: {alpha: 3, beta: 0.25}\n\
                           node: {alpha: 1, beta: 0.125}\ninjection_beta: 0.125\ngamma: 0.25\n";

    fn simulated_of(name: &str, topology: Topology, units: u64) -> u32 {
        let setting = Setting {
            machine: &Machine::from_yaml(MACHINE).expect("a machine"),
            topology,
            unit_bytes: 8,
        };
        let request = Request {
            units,
            placed: topology.placed(),
            ..Request::among_ranks(topology.ranks() as u32)
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
        for id in [
            "linear",
            "pairwise",
            "bruck",
            "bruck_modified",
            "lanes",
            "leaders",
        ] {
            let name = format!("alltoall/{id}");
            assert_eq!(simulated(&name, 6, 4, 1), 4, "{name}");
        }
        assert_eq!(simulated("allgather/ring", 7, 1, 1), 1);
        // On one node, each rank is a group.
        assert_eq!(simulated("allgather/ring", 1, 7, 1), 1);
    }

    /// The expected size of a simulation relies on that, without an examination.
    #[test]
    fn messages_are_matched_wherever_renumberings_take_groups_to_groups() {
        let machine = Machine::from_yaml(MACHINE).expect("a machine");
        let mut examined = 0;
        let shapes = [
            (1, 8),
            (2, 2),
            (3, 4),
            (4, 4),
            (6, 2),
            (7, 3),
            (8, 4),
            (9, 1),
        ];
        let topologies = shapes.into_iter().flat_map(|(nodes, per_node)| {
            Placement::ALL.map(|placement| Topology::new(nodes, per_node, placement))
        });
        for topology in topologies {
            let setting = Setting {
                machine: &machine,
                topology,
                unit_bytes: 8,
            };
            for algorithm in ALGORITHMS {
                for number in [None, Some(2), Some(3)] {
                    let of = |parameter| number.filter(|_| algorithm.takes(parameter));
                    let request = Request {
                        units: 1536,
                        parameters: Parameters {
                            radix: of(Parameter::Radix),
                            max_requests: of(Parameter::MaxRequests),
                            ..Parameters::default()
                        },
                        placed: topology.placed(),
                        ..Request::among_ranks(topology.ranks() as u32)
                    };
                    let Ok(schedule) = Schedule::new(algorithm, &request) else {
                        continue;
                    };
                    let prices = Prices::new(&schedule, &setting).expect("valid");
                    if let Some(symmetry) = Symmetry::by_translation(&schedule, &prices) {
                        let mut check = TranslationCheck::new(&schedule, symmetry, &|| true);
                        assert!(check.are_messages_matched(), "{schedule:?} on {topology:?}");
                        examined += 1;
                    }
                }
            }
        }
        assert!(examined > 200, "{examined}");
    }

    #[test]
    fn so_are_nodes_whose_ranks_are_not_neighbours() {
        let simulated = |name, nodes, per_node| {
            let topology = Topology::new(nodes, per_node, Placement::Cyclic);
            simulated_of(name, topology, 1)
        };
        assert_eq!(simulated("alltoall/lanes", 6, 4), 4);
        assert_eq!(simulated("alltoall/leaders", 6, 4), 4);
        assert_eq!(simulated("alltoall/pairwise", 8, 4), 4);
        // Partners would have other places on their nodes.
        assert_eq!(simulated("alltoall/pairwise", 6, 4), 24);
        assert_eq!(simulated("alltoall/bruck", 8, 4), 32);
    }

    #[test]
    fn others_are_simulated_whole() {
        // A root.
        assert_eq!(simulated("bcast/binomial", 8, 4, 96), 32);
        // Blocks of different lengths.
        assert_eq!(simulated("allreduce/ring", 8, 4, 95), 32);
        // Ranks beyond the largest power of two.
        assert_eq!(simulated("allreduce/recursive_doubling", 9, 1, 96), 9);
        assert_eq!(simulated("bcast/linear_nonblocking", 2, 4, 96), 8);
    }
}
