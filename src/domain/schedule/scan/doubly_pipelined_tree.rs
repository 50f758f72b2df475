//! An in-order tree: totals of subtrees go up while combinations of all ranks before a subtree go down.
//!
//! The left subtree of a rank has the ranks before it, the right subtree those after it. In turn `j` a rank receives block
//! `j` of the total of its left subtree, in the same exchange sends that subtree an earlier block of what comes before it,
//! does the same with its right subtree, which gets the rank's result, and then with its parent (Sanders, Träff 2006).

use std::ops::Range;

use crate::program::Program;
use crate::registry::{Algorithm, PLAIN};
use crate::{Buffer, Collective, Parameter, Partition, Rank, Room, Round, Shape, Span};

/// About `4 H + 3 b` steps, where the chain takes `p - 2 + b`: for long vectors on many ranks. Of the three combinations
/// for a block, two are done while other blocks move.
pub(crate) const ALGORITHM: Algorithm = Algorithm {
    collective: Collective::Scan,
    id: "doubly_pipelined_tree",
    summary: "doubly pipelined: totals of subtrees go up one in-order tree while results go down",
    source: "Sanders, Träff 2006",
    formula: "about (4H + 3b) (alpha + beta m/b) + (2H + b) gamma m/b",
    parameters: &[Parameter::Blocks],
    scratch,
    program: |shape, rank| Box::new(InOrder::new(shape, rank)),
    ..PLAIN
};

/// Blocks of the left and the right subtree's total, of the total that goes up, and of what comes before the subtree.
fn scratch(shape: &Shape, rank: Rank) -> Vec<Room> {
    let names = Names::new(&InOrder::new(shape, rank));
    let rooms = names.rooms.into();
    vec![Room::window(Partition::Even(shape.blocks), 1); rooms]
}

/// The scratch buffers of a rank, of which it may need none.
struct Names {
    from_left: Buffer,
    from_right: Buffer,
    total: Buffer,
    before: Buffer,
    /// The number of scratch buffers.
    rooms: u8,
}

impl Names {
    fn new(node: &InOrder) -> Self {
        let mut rooms = 0;
        let mut next = |is_needed| {
            let name = Buffer::Scratch(rooms);
            rooms += u8::from(is_needed);
            name
        };
        let sums_up_right = node.right.is_some() && node.sends_total();
        let scratch = next(node.left.is_some() && node.in_place);
        Self {
            // Block j of the output is free until it is combined there, unless it is the input as well.
            from_left: if node.in_place {
                scratch
            } else {
                Buffer::Output
            },
            from_right: next(sums_up_right),
            total: next(sums_up_right),
            before: next(node.has_before()),
            rooms,
        }
    }
}

/// A rank's place in the tree, by which it meets the same ranks in inclusive and in exclusive scans.
pub(crate) struct InOrder {
    rank: Rank,
    pub(crate) parent: Option<Rank>,
    pub(crate) left: Option<Rank>,
    pub(crate) right: Option<Rank>,
    /// Edges to the root.
    pub(crate) depth: u64,
    /// The ranks of its subtree.
    subtree: Range<Rank>,
    ranks: u32,
    blocks: u32,
    pub(crate) in_place: bool,
}

/// The root of the subtree of these ranks, if there are any.
fn root_of(ranks: Range<Rank>) -> Option<Rank> {
    (!ranks.is_empty()).then(|| ranks.start + (ranks.end - ranks.start) / 2)
}

impl InOrder {
    /// The rank is found from the root in O(log p).
    pub(crate) fn new(shape: &Shape, rank: Rank) -> Self {
        let mut node = Self {
            rank,
            parent: None,
            left: None,
            right: None,
            depth: 0,
            subtree: 0..shape.ranks,
            ranks: shape.ranks,
            blocks: shape.blocks,
            in_place: shape.in_place,
        };
        while let Some(root) = root_of(node.subtree.clone()).filter(|root| *root != rank) {
            node.parent = Some(root);
            node.depth += 1;
            node.subtree = if rank < root {
                node.subtree.start..root
            } else {
                root + 1..node.subtree.end
            };
        }
        node.left = root_of(node.subtree.start..rank);
        node.right = root_of(rank + 1..node.subtree.end);
        node
    }

    /// Whether its parent needs the subtree's total, for itself or for its own parent: unless no ranks follow.
    pub(crate) fn sends_total(&self) -> bool {
        self.subtree.end < self.ranks
    }

    /// Whether there are ranks before the subtree, whose combination comes from the parent.
    pub(crate) fn has_before(&self) -> bool {
        self.subtree.start > 0
    }

    /// The block that is `delay` turns behind a turn, if there is such a block.
    pub(crate) fn block(&self, buffer: Buffer, turn: u64, delay: u64) -> Option<Span> {
        let block = turn.checked_sub(delay)?;
        (block < self.blocks.into())
            .then(|| Span::block(buffer, Partition::Even(self.blocks), block))
    }

    /// The buffer of the combination of the subtree's ranks up to this one.
    fn up_to_own(&self) -> Buffer {
        if self.left.is_some() {
            Buffer::Output
        } else {
            Buffer::Input
        }
    }

    fn meet_left(&self, names: &Names, turn: u64, round: &mut Round) {
        let later = self.depth + 1;
        if turn == 0 && self.rank == 0 {
            round.copy(Span::whole(Buffer::Input), Span::whole(Buffer::Output));
        }
        let before = self
            .block(names.before, turn, later)
            .filter(|_| self.has_before());
        if let Some(left) = self.left {
            exchange(round, left, before, self.block(names.from_left, turn, 0));
        }
        // What came from the parent in the turn before.
        if let Some(before) = before {
            let in_buffer = |buffer| before.in_buffer(buffer);
            round.combine(
                before,
                in_buffer(self.up_to_own()),
                in_buffer(Buffer::Output),
            );
        }
    }

    fn meet_right(&self, names: &Names, turn: u64, round: &mut Round) {
        if let Some(right) = self.right {
            let result = self.block(Buffer::Output, turn, self.depth + 1);
            let total = self
                .block(names.from_right, turn, 0)
                .filter(|_| self.sends_total());
            exchange(round, right, result, total);
        }
        if self.left.is_some()
            && let Some(arrived) = self.block(names.from_left, turn, 0)
        {
            let [own, up_to_own] =
                [Buffer::Input, Buffer::Output].map(|buffer| arrived.in_buffer(buffer));
            round.combine(arrived, own, up_to_own);
        }
    }

    fn sum_up(&self, names: &Names, turn: u64, round: &mut Round) {
        if self.right.is_some()
            && self.sends_total()
            && let Some(arrived) = self.block(names.from_right, turn, 0)
        {
            let [up_to_own, total] =
                [self.up_to_own(), names.total].map(|buffer| arrived.in_buffer(buffer));
            round.combine(up_to_own, arrived, total);
        }
    }

    fn meet_parent(&self, names: &Names, turn: u64, round: &mut Round) {
        let Some(parent) = self.parent else {
            return;
        };
        let total = if self.right.is_some() {
            names.total
        } else {
            self.up_to_own()
        };
        let total = self.block(total, turn, 0).filter(|_| self.sends_total());
        let before = self
            .block(names.before, turn, self.depth)
            .filter(|_| self.has_before());
        exchange(round, parent, total, before);
    }
}

/// Both messages between two ranks, as far as there are any.
pub(crate) fn exchange(round: &mut Round, peer: Rank, send: Option<Span>, recv: Option<Span>) {
    if let Some(span) = send {
        round.send(peer, span);
    }
    if let Some(span) = recv {
        round.recv(peer, span);
    }
}

impl Program for InOrder {
    fn rounds(&self) -> u64 {
        // In the last turn the last block goes to the children.
        4 * (u64::from(self.blocks) + self.depth + 1)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let names = Names::new(self);
        let turn = index / 4;
        match index % 4 {
            0 => self.meet_left(&names, turn, round),
            1 => self.meet_right(&names, turn, round),
            2 => self.sum_up(&names, turn, round),
            _ => self.meet_parent(&names, turn, round),
        }
    }
}
