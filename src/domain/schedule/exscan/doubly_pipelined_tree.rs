//! An in-order tree: totals of subtrees go up while combinations of all ranks before a subtree go down.
//!
//! The tree and its messages are those of the inclusive scan (`scan/doubly_pipelined_tree.rs`). A rank's result combines
//! what comes before its subtree with the total of its left subtree; what it sends to its right subtree has its own vector
//! as well.

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::scan::doubly_pipelined_tree::{InOrder, exchange};
use crate::{Buffer, Collective, Parameter, Partition, Rank, Room, Round, Shape, Span};

/// About `4 H + 3 b` steps, where the chain takes `p - 2 + b`: for long vectors on many ranks. Of the four combinations for
/// a block, three are done while other blocks move.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Exscan,
    id: "doubly_pipelined_tree",
    summary: "doubly pipelined: totals of subtrees go up one in-order tree while results go down",
    source: "Sanders, Träff 2006",
    formula: "about (4H + 3b) (alpha + beta m/b) + (2H + b) gamma m/b",
    parameters: &[Parameter::Blocks],
    scratch,
    program: |shape, rank| Box::new(Member::new(shape, rank, &mut Vec::new())),
    ..PLAIN
};

fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    let mut rooms = Vec::new();
    Member::new(shape, rank, &mut rooms);
    rooms
}

/// A rank with its buffers for blocks. One that it does not need has the name of another one.
struct Member {
    node: InOrder,
    /// Of the left subtree's total.
    from_left: Buffer,
    /// Of the combination of the subtree's ranks up to this one.
    up_to_own: Buffer,
    from_right: Buffer,
    /// Of the subtree's total.
    total: Buffer,
    /// Of the combination of all ranks before the subtree.
    before: Buffer,
    /// Of the combination of all ranks up to this one, for the right subtree.
    for_right: Buffer,
}

/// Whether a rank's own vector is part of a total or of what its right subtree gets: except on the last rank.
fn needs_own_vector(node: &InOrder) -> bool {
    node.sends_total() || node.right.is_some()
}

impl Member {
    /// Adds the scratch memory that the rank needs to `rooms`.
    fn new(shape: &Shape, rank: Rank, rooms: &mut Vec<Room>) -> Self {
        let node = InOrder::new(shape, rank);
        let (is_leaf, needs_own) = (node.left.is_none(), needs_own_vector(&node));
        let mut add_room = |slots| {
            rooms.push(Room::window(Partition::Even(shape.blocks), slots));
            Buffer::Scratch(rooms.len() as u8 - 1)
        };
        // In place, the output holds the rank's own vector until that has been combined.
        let from_left = if node.in_place && !is_leaf && needs_own {
            add_room(1)
        } else {
            Buffer::Output
        };
        let up_to_own = if is_leaf {
            Buffer::Input
        } else if needs_own {
            // The right subtree gets a block `depth + 1` turns after it was combined, while the next one is.
            let turns = node.right.map_or(0, |_| node.depth + 1);
            let slots = u32::try_from(turns + 1).unwrap_or(u32::MAX);
            add_room(slots.min(shape.blocks))
        } else {
            Buffer::Output
        };
        let [from_right, total] = if node.right.is_some() && node.sends_total() {
            [add_room(1), add_room(1)]
        } else {
            [up_to_own; 2]
        };
        // What arrives at a leaf is its result; the block of its own vector left in an earlier turn.
        let before = if node.has_before() && !is_leaf {
            add_room(1)
        } else {
            Buffer::Output
        };
        let for_right = if node.has_before() && node.right.is_some() {
            add_room(1)
        } else {
            up_to_own
        };
        Self {
            node,
            from_left,
            up_to_own,
            from_right,
            total,
            before,
            for_right,
        }
    }

    /// The block of what came from the parent in the turn before, if ranks come before the subtree.
    fn arrived_before(&self, turn: u64) -> Option<Span> {
        let block = self.node.block(self.before, turn, self.node.depth + 1);
        block.filter(|_| self.node.has_before())
    }

    fn meet_left(&self, turn: u64, round: &mut Round) {
        let Some(left) = self.node.left else {
            return;
        };
        let before = self.arrived_before(turn);
        exchange(
            round,
            left,
            before,
            self.node.block(self.from_left, turn, 0),
        );
        if let Some(before) = before.filter(|_| self.node.right.is_some()) {
            let [up_to_own, for_right] =
                [self.up_to_own, self.for_right].map(|buffer| before.in_buffer(buffer));
            round.combine(before, up_to_own, for_right);
        }
    }

    fn meet_right(&self, turn: u64, round: &mut Round) {
        if let Some(right) = self.node.right {
            let leaving = self.node.block(self.for_right, turn, self.node.depth + 1);
            let total = self
                .node
                .block(self.from_right, turn, 0)
                .filter(|_| self.node.sends_total());
            exchange(round, right, leaving, total);
        }
        if self.node.left.is_none() {
            return;
        }
        if let Some(arrived) = self.node.block(self.from_left, turn, 0)
            && needs_own_vector(&self.node)
        {
            let [own, up_to_own] =
                [Buffer::Input, self.up_to_own].map(|buffer| arrived.in_buffer(buffer));
            round.combine(arrived, own, up_to_own);
        }
        if let Some(before) = self.arrived_before(turn) {
            let result = before.in_buffer(Buffer::Output);
            round.combine(before, result, result);
        }
    }

    fn sum_up(&self, turn: u64, round: &mut Round) {
        if self.node.right.is_some()
            && self.node.sends_total()
            && let Some(arrived) = self.node.block(self.from_right, turn, 0)
        {
            let [up_to_own, total] =
                [self.up_to_own, self.total].map(|buffer| arrived.in_buffer(buffer));
            round.combine(up_to_own, arrived, total);
        }
    }

    fn meet_parent(&self, turn: u64, round: &mut Round) {
        if let Some(parent) = self.node.parent {
            let total = self.node.block(self.total, turn, 0);
            let before = self.node.block(self.before, turn, self.node.depth);
            exchange(
                round,
                parent,
                total.filter(|_| self.node.sends_total()),
                before.filter(|_| self.node.has_before()),
            );
        }
        // The rank's own block has been combined, and its place is free.
        if self.from_left != Buffer::Output
            && let Some(of_left) = self.node.block(self.from_left, turn, 0)
        {
            round.copy(of_left, of_left.in_buffer(Buffer::Output));
        }
    }
}

impl Program for Member {
    fn rounds(&self) -> u64 {
        self.node.rounds()
    }

    fn round(&self, index: u64, round: &mut Round) {
        let turn = index / 4;
        match index % 4 {
            0 => self.meet_left(turn, round),
            1 => self.meet_right(turn, round),
            2 => self.sum_up(turn, round),
            _ => self.meet_parent(turn, round),
        }
    }
}
