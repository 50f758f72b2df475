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
    /// The root of the call.
    root: Rank,
    /// Leaders of each node.
    leaders: u32,
    /// The node, of those that are on one.
    node: u32,
    /// The number of the leader, of a group and of a lane.
    lane: u32,
}

impl Team {
    /// The team of a rank, and the rank's number in it; `None` if it takes no part.
    pub(super) fn of(phase: &Phase, shape: &Shape, rank: Rank) -> Option<(Self, Rank)> {
        let (node, local) = shape.nodes.place(rank);
        let mut team = Self {
            among: phase.among,
            about: phase.about,
            nodes: shape.nodes.clone(),
            root: shape.root,
            leaders: shape.leaders,
            node,
            lane: 0,
        };
        team.lane = team.group(node, local);
        let leads = team.leader(node, team.lane) == rank;
        let is_at_root = shape.nodes.place(shape.root).0 == node;
        let (takes_part, member) = match phase.among {
            Among::Group => (true, local - team.start(node, team.lane)),
            Among::Node => (leads, team.lane),
            Among::RootNode => (leads && is_at_root, team.lane),
            Among::Lane => (leads, node),
        };
        (takes_part && team.size() > 1).then_some((team, member))
    }

    pub(super) fn size(&self) -> u32 {
        match self.among {
            Among::Group => self.start(self.node, self.lane + 1) - self.start(self.node, self.lane),
            Among::Node | Among::RootNode => self.leaders,
            Among::Lane => self.nodes.count(),
        }
    }

    /// The team's number of the call's root, or of its representative.
    pub(super) fn head(&self) -> Rank {
        let (node, local) = self.nodes.place(self.root);
        let lane = self.group(node, local);
        match self.among {
            Among::Lane => node,
            _ if node != self.node => 0,
            Among::Node | Among::RootNode => lane,
            Among::Group if lane == self.lane => local - self.start(node, lane),
            Among::Group => 0,
        }
    }

    /// The rank of a member.
    pub(super) fn rank(&self, member: Rank) -> Rank {
        match self.among {
            Among::Group => {
                let first = self.start(self.node, self.lane);
                self.nodes.rank(self.node, first + member)
            }
            Among::Node | Among::RootNode => self.leader(self.node, member),
            Among::Lane => self.leader(member, self.lane),
        }
    }

    /// The local rank that is the first of a group.
    fn start(&self, node: u32, group: u32) -> u32 {
        let size = u64::from(self.nodes.size(node));
        (u64::from(group) * size / u64::from(self.leaders)) as u32
    }

    /// The group of a local rank.
    fn group(&self, node: u32, local: u32) -> u32 {
        let size = u64::from(self.nodes.size(node));
        (((u64::from(local) + 1) * u64::from(self.leaders) - 1) / size) as u32
    }

    /// The leader of a group: the root, or the first rank.
    fn leader(&self, node: u32, group: u32) -> Rank {
        let (of_root, local) = self.nodes.place(self.root);
        match of_root == node && self.group(node, local) == group {
            true => self.root,
            false => self.nodes.rank(node, self.start(node, group)),
        }
    }

    /// The blocks of the call's vector that are a member's part, member after member, and the number of blocks before
    /// them; `None` if the phase's algorithm itself determines the partition.
    fn parts(&self) -> Option<(Partition, u64)> {
        let (nodes, lanes) = (self.nodes.count(), self.nodes.largest());
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
        let first = self.rank(0);
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
                (Partition::Columns { rows, columns }, 0)
            }
        })
    }

    /// The place of a member's blocks in the call's vector.
    pub(super) fn cut(
        &self,
        partition: Partition,
        blocks: BlockRange,
        piece: Piece,
    ) -> (Partition, BlockRange) {
        if let Some((parts, before)) = self.parts() {
            let count = match partition {
                // All blocks.
                Partition::Even(_) => self.size().into(),
                _ => blocks.count,
            };
            let start = before + blocks.start;
            return (parts, BlockRange { start, count });
        }
        let (parts, part) = match self.about {
            About::Even if self.leaders > 1 => (self.leaders, self.lane),
            _ => (piece.of, piece.number),
        };
        let (pieces, chunks) = match partition {
            Partition::Even(_) if parts == 1 => return (partition, blocks),
            Partition::Even(blocks) => (blocks, 1),
            Partition::PerRank { ranks, chunks } => (ranks, chunks),
            // No algorithm that is used in phases has another partition.
            _ => return (partition, blocks),
        };
        let within = Partition::Within {
            parts,
            part,
            pieces,
            chunks,
        };
        (within, blocks)
    }

    pub(super) fn room(&self, room: Room) -> Room {
        match room {
            Room::Blocks { partition, blocks } => {
                let (partition, blocks) = self.cut(partition, blocks, Piece::ALL);
                Room::Blocks { partition, blocks }
            }
            Room::Window {
                partition,
                first,
                slots,
            } => {
                let block = BlockRange {
                    start: first,
                    count: 1,
                };
                let (partition, block) = self.cut(partition, block, Piece::ALL);
                Room::Window {
                    partition,
                    first: block.start,
                    slots,
                }
            }
        }
    }

    /// The room for a member's result of a phase.
    pub(super) fn result(&self, collective: Collective, member: Rank) -> Room {
        let size = self.size();
        self.room(match collective.has_part_only() {
            true => Room::part(size, member),
            false => Room::parts(size, 0, size),
        })
    }
}
