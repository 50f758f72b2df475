//! Blocks relayed along a tree, towards its root or away from it.
//!
//! Children are served in the order of their list. In reductions the subtrees must be ranges of ranks adjacent to
//! their parents', and a child's side determines which operand it is.

use crate::program::Program;
use crate::{Buffer, Partition, Rank, Room, Round, Shape, Span};

/// One rank's neighbours in a tree.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Node {
    pub(crate) parent: Option<Rank>,
    /// The children in the order in which they are served, without gaps.
    pub(crate) children: [Option<Rank>; 3],
}

impl Node {
    /// Appends a child.
    pub(crate) fn adopt(&mut self, child: Rank) {
        if let Some(place) = self.children.iter_mut().find(|place| place.is_none()) {
            *place = Some(child);
        }
    }

    pub(crate) fn child_count(&self) -> u64 {
        self.children.iter().flatten().count() as u64
    }
}

/// The buffers of arriving blocks to be combined: two scratch buffers of one block each, used by receives in turn, so
/// that a block can arrive while the previous one is combined. They alternate with every receive and not with every
/// block, since several children send a block `j`.
#[derive(Clone, Copy)]
pub(crate) struct Arrivals {
    /// The first of the two scratch buffers.
    pub(crate) first: u8,
}

impl Arrivals {
    /// The scratch buffers of a rank that receives `receives` blocks in all.
    pub(crate) fn rooms(blocks: u32, receives: u64) -> impl Iterator<Item = Room> {
        let window = Room::window(Partition::Even(blocks), 1);
        std::iter::repeat_n(window, receives.min(2) as usize)
    }

    /// The buffer of an arriving block after `earlier` others.
    pub(crate) fn buffer(self, earlier: u64) -> Buffer {
        Buffer::Scratch(self.first + (earlier % 2) as u8)
    }
}

/// One rank's part in a pipelined reduction towards the root of a tree.
///
/// Turn `j` of an inner rank: `{Recv first child j, Send parent j-1} {Combine} {Recv second child
/// j} {Combine}` and so on; a leaf sends a block a turn.
pub(crate) struct Gathering {
    pub(crate) rank: Rank,
    pub(crate) node: Node,
    pub(crate) blocks: u32,
    /// The buffer of partial results; two blocks suffice.
    pub(crate) partial: Buffer,
    /// Whether the first child's blocks arrive in the buffer of partial results and are combined there, see
    /// [`first_joins_partial`].
    pub(crate) first_joins_partial: bool,
    /// The buffers of the other children's blocks.
    pub(crate) arrivals: Arrivals,
}

/// Whether the first child's blocks can arrive where partial results are combined: in the output, unless it holds the
/// input as well. The output is written once anyway, and a block need not pass through scratch memory first.
pub(crate) fn first_joins_partial(partial: Buffer, shape: &Shape) -> bool {
    partial == Buffer::Output && !shape.in_place
}

impl Gathering {
    /// The scratch buffers of a rank's arriving blocks.
    pub(crate) fn arrival_rooms(
        node: &Node,
        partial: Buffer,
        shape: &Shape,
    ) -> impl Iterator<Item = Room> {
        let joining = u64::from(first_joins_partial(partial, shape));
        let others = node.child_count().saturating_sub(joining);
        Arrivals::rooms(shape.blocks, others * u64::from(shape.blocks))
    }

    fn block(&self, buffer: Buffer, block: u64) -> Span {
        Span::block(buffer, Partition::Even(self.blocks), block)
    }

    fn turn(&self) -> u64 {
        2 * self.node.child_count()
    }
}

impl Program for Gathering {
    fn rounds(&self) -> u64 {
        let blocks = u64::from(self.blocks);
        match self.turn() {
            0 => blocks,
            // The last block goes to the parent in the turn after it was completed.
            turn => turn * blocks + u64::from(self.node.parent.is_some()),
        }
    }

    fn round(&self, index: u64, round: &mut Round) {
        if self.turn() == 0 {
            if let Some(parent) = self.node.parent {
                round.send(parent, self.block(Buffer::Input, index));
            }
            return;
        }
        let (j, place) = (index / self.turn(), index % self.turn());
        let in_range = j < u64::from(self.blocks);
        let child = self.node.children[(place / 2) as usize].filter(|_| in_range);
        if let Some(child) = child {
            let joining = u64::from(self.first_joins_partial);
            let partial = self.block(self.partial, j);
            let received = match (place / 2).checked_sub(joining) {
                None => partial,
                Some(number) => {
                    let earlier = j * (self.node.child_count() - joining) + number;
                    self.block(self.arrivals.buffer(earlier), j)
                }
            };
            let own = if place < 2 {
                self.block(Buffer::Input, j)
            } else {
                partial
            };
            match place % 2 {
                0 => round.recv(child, received),
                _ if child < self.rank => round.combine(received, own, partial),
                _ => round.combine(own, received, partial),
            }
        }
        if let (0, Some(parent), Some(complete)) = (place, self.node.parent, j.checked_sub(1)) {
            round.send(parent, self.block(self.partial, complete));
        }
    }
}

/// One rank's part in a pipelined broadcast from the root of a tree.
///
/// First `{Recv parent 0}`, then for each block `{Send first child j} ... {Send last child j, Recv
/// parent j+1}`.
pub(crate) struct Spreading {
    pub(crate) node: Node,
    /// The blocks that pass.
    pub(crate) passing: Span,
}

impl Spreading {
    /// The whole vector in this many blocks.
    pub(crate) fn vector(node: Node, blocks: u32) -> Self {
        let passing = Span::blocks(Buffer::Output, Partition::Even(blocks), 0, blocks.into());
        Self { node, passing }
    }
}

impl Program for Spreading {
    fn rounds(&self) -> u64 {
        let children = self.node.child_count();
        let receives = u64::from(self.node.parent.is_some());
        self.passing.blocks.count * children.max(receives) + receives * u64::from(children > 0)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let block = |j: u64| self.passing.nth_block(j);
        let turn = self.node.child_count().max(1);
        let (j, place) = (index / turn, index % turn);
        // Below the root a block is sent to the first child in the round after it has arrived.
        let send = match (self.node.parent, place.checked_sub(1)) {
            (None, _) => Some((place, j)),
            (Some(_), Some(number)) => Some((number, j)),
            (Some(_), None) => j.checked_sub(1).map(|before| (turn - 1, before)),
        };
        if let Some((number, sent)) = send
            && let Some(child) = self.node.children[number as usize]
        {
            round.send(child, block(sent));
        }
        if let Some(parent) = self.node.parent
            && place == 0
            && j < self.passing.blocks.count
        {
            round.recv(parent, block(j));
        }
    }
}
