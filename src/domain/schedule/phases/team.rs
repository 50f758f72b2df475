//! The ranks that carry out a phase together, and their parts of the call's vector.

use super::{About, Among, Phase};
use crate::{BlockRange, Collective, Nodes, Partition, Rank, Room, Shape};

/// A block of the vector, in a phase that is carried out block by block.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) of: u32,
    pub(super) number: u32,
}

impl Piece {
    /// The whole vector.
    pub(super) const ALL: Self = Self { of: 1, number: 0 };
}

/// Ranks that carry out a phase together.
#[derive(Clone)]
pub(super) struct Team {
    pub(super) among: Among,
    about: About,
    nodes: Nodes,
    /// The root of the call, its node and its group.
    root: Rank,
    root_place: (u32, u32),
    /// Whether the last rank of each group leads, which has the combination of all of them after a scan.
    is_led_by_last: bool,
    /// Leaders of each node.
    leaders: u32,
    /// The node, of those that are on one.
    node: u32,
    /// The number of the leader, of a group and of a lane.
    lane: u32,
    /// The local rank that is the first of a group.
    first: u32,
    size: u32,
}

impl Team {
    /// The team of a rank, and the rank's number in it; `None` if it takes no part.
    pub(super) fn of_rank(phase: &Phase, shape: &Shape, rank: Rank) -> Option<(Self, Rank)> {
        let Shape {
            nodes,
            root,
            leaders,
            ..
        } = shape;
        let place = |either| {
            let (node, local) = nodes.place_of_rank(either);
            (
                node,
                local,
                group_of_local(nodes.node_size(node), *leaders, local),
            )
        };
        let (node, local, lane) = place(rank);
        let (root_node, _, root_lane) = place(*root);
        let first = group_start(nodes.node_size(node), *leaders, lane);
        let next = group_start(nodes.node_size(node), *leaders, lane + 1);
        let is_led_by_last = shape.parts.of.collective.is_prefix_reduction();
        let leads = if is_led_by_last {
            local + 1 == next
        } else if (root_node, root_lane) == (node, lane) {
            rank == *root
        } else {
            local == first
        };
        let (takes_part, member, size) = match phase.among {
            Among::Group => (true, local - first, next - first),
            Among::Node => (leads, lane, *leaders),
            Among::RootNode => (leads && node == root_node, lane, *leaders),
            Among::Lane => (leads, node, nodes.node_count()),
        };
        let team = || Self {
            among: phase.among,
            about: phase.about,
            nodes: nodes.clone(),
            root: *root,
            root_place: (root_node, root_lane),
            is_led_by_last,
            leaders: *leaders,
            node,
            lane,
            first,
            size,
        };
        (takes_part && size > 1).then(|| (team(), member))
    }

    /// All ranks of a call, for local work on whole vectors.
    pub(super) fn of_call(shape: &Shape) -> Self {
        Self {
            among: Among::Group,
            about: About::All,
            nodes: shape.nodes.clone(),
            root: 0,
            root_place: (0, 0),
            is_led_by_last: false,
            leaders: 1,
            node: 0,
            lane: 0,
            first: 0,
            size: shape.ranks,
        }
    }

    pub(super) fn size(&self) -> u32 {
        self.size
    }

    /// The team's number of the call's root, or of its representative.
    pub(super) fn root_member(&self) -> Rank {
        let (node, lane) = self.root_place;
        match self.among {
            Among::Group if self.is_led_by_last => self.size - 1,
            Among::Lane => node,
            _ if node != self.node => 0,
            Among::Node | Among::RootNode => lane,
            Among::Group if lane == self.lane => self.nodes.place_of_rank(self.root).1 - self.first,
            Among::Group => 0,
        }
    }

    /// The rank of a member.
    pub(super) fn rank_of_member(&self, member: Rank) -> Rank {
        match self.among {
            Among::Group => self.nodes.rank_at(self.node, self.first + member),
            Among::Node | Among::RootNode => self.group_leader(self.node, member),
            Among::Lane => self.group_leader(member, self.lane),
        }
    }

    /// The leader of a group: the root, or the first rank, or the last one.
    fn group_leader(&self, node: u32, group: u32) -> Rank {
        if self.is_led_by_last {
            let next = group_start(self.nodes.node_size(node), self.leaders, group + 1);
            return self.nodes.rank_at(node, next - 1);
        }
        if self.root_place == (node, group) {
            return self.root;
        }
        let first = group_start(self.nodes.node_size(node), self.leaders, group);
        self.nodes.rank_at(node, first)
    }

    /// The blocks of the call's vector that are a member's part, member after member, and the number of blocks before
    /// them; `None` if the phase's algorithm itself determines the partition.
    fn member_parts(&self) -> Option<(Partition, u64)> {
        // This is asked for every span, and the common answer needs no division.
        if let About::All | About::Even = self.about {
            return None;
        }
        let (nodes, lanes) = (self.nodes.node_count(), self.nodes.largest_node_size());
        let size = self.size();
        // Ranks are arranged in rows: the nodes in block order, the lanes in cyclic order.
        let stand_together = match (self.among, self.about) {
            (Among::Lane, About::Own) | (_, About::Lanes) => self.nodes.are_cyclic(),
            _ => self.nodes.are_consecutive(),
        };
        let (place, others) = match self.among {
            Among::Lane => (self.lane, lanes),
            _ => (self.node, nodes),
        };
        let first = self.rank_of_member(0);
        Some(match (self.about, stand_together) {
            (About::All | About::Even, _) | (About::Lanes, true) => return None,
            (About::Nodes, true) => (Partition::OfNodes { nodes: size }, 0),
            (About::Own, true) => (Partition::OfRanks { first, ranks: size }, 0),
            (About::Own, false) => {
                let (ranks, chunks) = (size, others);
                let before = u64::from(place) * u64::from(size);
                (Partition::ByChunk { ranks, chunks }, before)
            }
            (About::Lanes | About::Nodes, false) => {
                let (rows, columns) = match self.about {
                    About::Lanes => (nodes, lanes),
                    _ => (lanes, nodes),
                };
                (
                    Partition::Columns {
                        vectors: 1,
                        rows,
                        columns,
                    },
                    0,
                )
            }
        })
    }

    /// Replaces a member's partition and blocks by those of the call's vector.
    pub(super) fn cut_span(
        &self,
        partition: &mut Partition,
        blocks: &mut BlockRange,
        piece: Piece,
    ) {
        if let Some((parts, before)) = self.member_parts() {
            if let Partition::Even(_) = partition {
                // All blocks.
                blocks.count = self.size().into();
            }
            blocks.start += before;
            *partition = parts;
            return;
        }
        let (parts, part) = match self.about {
            About::Even if self.leaders > 1 => (self.leaders, self.lane),
            _ => (piece.of, piece.number),
        };
        let (pieces, chunks) = match *partition {
            Partition::Even(_) if parts == 1 => return,
            Partition::Even(count) => (count, 1),
            Partition::PerRank { ranks, chunks } => (ranks, chunks),
            // No algorithm that is used in phases has another partition.
            _ => return,
        };
        *partition = Partition::Within {
            parts,
            part,
            pieces,
            chunks,
        };
    }

    pub(super) fn room_in_call(&self, mut room: Room) -> Room {
        match &mut room {
            Room::Blocks { partition, blocks } => self.cut_span(partition, blocks, Piece::ALL),
            Room::Window {
                partition, first, ..
            } => {
                let mut block = BlockRange {
                    start: *first,
                    count: 1,
                };
                self.cut_span(partition, &mut block, Piece::ALL);
                *first = block.start;
            }
        }
        room
    }

    /// The room for a member's result of a phase.
    pub(super) fn result_room(&self, collective: Collective, member: Rank) -> Room {
        let size = self.size();
        self.room_in_call(if collective.has_part_only() {
            Room::part(size, member)
        } else {
            Room::parts(size, 0, size)
        })
    }
}

/// The local rank that is the first of a group, on a node of this many ranks.
fn group_start(size: u32, leaders: u32, group: u32) -> u32 {
    match leaders {
        1 => group * size,
        _ if leaders == size => group,
        _ => (u64::from(group) * u64::from(size) / u64::from(leaders)) as u32,
    }
}

/// The group of a local rank, on a node of this many ranks.
fn group_of_local(size: u32, leaders: u32, local: u32) -> u32 {
    match leaders {
        1 => 0,
        _ if leaders == size => local,
        _ => (((u64::from(local) + 1) * u64::from(leaders) - 1) / u64::from(size)) as u32,
    }
}
