//! Rabenseifner's reduce-scatter: halves of the vector are exchanged at doubling distances.
//!
//! Neighbours are combined first, so every combination joins adjacent ranges of ranks, unless they are Bine's. The
//! blocks end up on the ranks in another order, which does not matter to an algorithm that gathers them by running
//! the exchanges backwards.

use crate::program::Program;
use crate::tree::fold::{Fold, Role};
use crate::tree::pairing::Pairing;
use crate::{Buffer, Partition, Rank, Room, Round, Shape, Span};

const RECEIVED: Buffer = Buffer::Scratch(0);
const PARTIAL: Buffer = Buffer::Scratch(1);

/// The way in which ranks beyond a power of two are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folding {
    /// The two of a pair combine a half of the vector each (Kurnosov 2017).
    Balanced,
    /// One of the two combines the whole vector.
    Unbalanced,
}

/// The ranks that need the combined vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Root(Rank),
    /// On all ranks, by exchanges of such partners.
    Everywhere(Pairing),
}

/// The scratch buffers: for arriving data, and for partial results if there is no output.
pub(crate) fn scratch(target: Target, rank: Rank) -> Vec<Room> {
    match target {
        Target::Root(root) if rank != root => vec![Room::WHOLE, Room::WHOLE],
        _ => vec![Room::WHOLE],
    }
}

/// The program of a rank among at least two: folding, halving, gathering and, where all ranks get the result,
/// unfolding.
pub(crate) fn program(
    folding: Folding,
    target: Target,
    shape: &Shape,
    rank: Rank,
) -> Box<dyn Program> {
    // The root must stay active, so its neighbour is folded instead.
    let (root, wanted, pairing) = match target {
        Target::Root(root) => (root, rank == root, Pairing::Binary),
        Target::Everywhere(pairing) => (0, true, pairing),
    };
    let fold = Fold::new(shape.ranks, root);
    let unfolds = matches!(target, Target::Everywhere(_));
    let common = Common {
        rank,
        partition: Partition::Even(fold.positions()),
        folding,
        partial: if wanted { Buffer::Output } else { PARTIAL },
        unfolds,
    };
    match fold.role_of_rank(rank) {
        Role::Away { neighbour } => Box::new(FoldedAway { common, neighbour }),
        Role::GoesOn {
            position,
            stands_for,
        } => Box::new(Halving {
            common,
            fold,
            pairing,
            position,
            stands_for,
            wanted_at: (!unfolds).then(|| fold.position_of_rank(root)),
        }),
    }
}

/// The data that both members of a pair know.
struct Common {
    rank: Rank,
    partition: Partition,
    folding: Folding,
    partial: Buffer,
    unfolds: bool,
}

impl Common {
    fn span(&self, buffer: Buffer, first: u64, count: u64) -> Span {
        Span::blocks(buffer, self.partition, first, count)
    }

    /// The half that the lower or the upper rank of a pair combines.
    fn half(&self, buffer: Buffer, upper: bool) -> Span {
        let count = self.partition.blocks() / 2;
        self.span(buffer, if upper { count } else { 0 }, count)
    }

    /// The rounds in which a rank exchanges halves with a neighbour and combines its own.
    fn exchange_halves(&self, index: u64, neighbour: Rank, round: &mut Round) {
        let upper = self.rank > neighbour;
        let kept = self.half(RECEIVED, upper);
        if index == 0 {
            round.send(neighbour, self.half(Buffer::Input, !upper));
            round.recv(neighbour, kept);
        } else {
            let (own, into) = (kept.in_buffer(Buffer::Input), kept.in_buffer(self.partial));
            round.combine_by_rank(upper, kept, own, into);
        }
    }
}

struct FoldedAway {
    common: Common,
    neighbour: Rank,
}

impl Program for FoldedAway {
    fn rounds(&self) -> u64 {
        let handing_in = match self.common.folding {
            Folding::Balanced => 3,
            Folding::Unbalanced => 1,
        };
        handing_in + u64::from(self.common.unfolds)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let Self { common, neighbour } = self;
        match (common.folding, index) {
            _ if common.unfolds && index + 1 == self.rounds() => {
                round.recv(*neighbour, Span::whole(Buffer::Output));
            }
            (Folding::Unbalanced, _) => round.send(*neighbour, Span::whole(Buffer::Input)),
            (Folding::Balanced, 0 | 1) => common.exchange_halves(index, *neighbour, round),
            (Folding::Balanced, _) => {
                let combined = common.half(common.partial, common.rank > *neighbour);
                round.send(*neighbour, combined);
            }
        }
    }
}

struct Halving {
    common: Common,
    fold: Fold,
    pairing: Pairing,
    position: u32,
    stands_for: Option<Rank>,
    /// The only position that needs the result; all positions if absent.
    wanted_at: Option<u32>,
}

impl Halving {
    /// The blocks that a position holds after `halvings` halvings.
    fn held(&self, buffer: Buffer, position: u32, halvings: u32) -> Span {
        let count = self.fold.positions() >> halvings;
        let first = self.pairing.block_of_position(position, self.fold.steps()) & !(count - 1);
        self.common.span(buffer, first.into(), count.into())
    }

    fn partner(&self, step: u32) -> u32 {
        let steps = self.fold.steps();
        self.pairing.partner_position(self.position, step, steps)
    }

    fn folding_rounds(&self) -> u64 {
        match (self.stands_for, self.common.folding) {
            (None, _) => 0,
            (Some(_), Folding::Balanced) => 3,
            (Some(_), Folding::Unbalanced) => 2,
        }
    }

    fn fold(&self, away: Rank, index: u64, round: &mut Round) {
        let common = &self.common;
        let [received, partial] = [RECEIVED, common.partial].map(Span::whole);
        let own = Span::whole(Buffer::Input);
        match (common.folding, index) {
            (Folding::Unbalanced, 0) => round.recv(away, received),
            (Folding::Unbalanced, _) => {
                round.combine_by_rank(away < common.rank, received, own, partial);
            }
            (Folding::Balanced, 0 | 1) => common.exchange_halves(index, away, round),
            (Folding::Balanced, _) => {
                round.recv(away, common.half(common.partial, away > common.rank));
            }
        }
    }

    fn halve(&self, step: u32, combine: bool, own: Buffer, round: &mut Round) {
        let position = self.partner(step);
        let kept = self.held(RECEIVED, self.position, step + 1);
        if combine {
            let into = kept.in_buffer(self.common.partial);
            round.combine_by_rank(position < self.position, kept, kept.in_buffer(own), into);
        } else {
            let partner = self.fold.rank_at_position(position);
            round.send(partner, self.held(own, position, step + 1));
            round.recv(partner, kept);
        }
    }

    /// The number of gathering steps of this position: all, or those until it has sent.
    fn gathering_rounds(&self) -> u32 {
        match self.wanted_at {
            Some(root) if root != self.position => {
                (self.position ^ root).leading_zeros() + 1 + self.fold.steps() - u32::BITS
            }
            _ => self.fold.steps(),
        }
    }

    fn gather(&self, step: u32, round: &mut Round) {
        let position = self.partner(step);
        let partner = self.fold.rank_at_position(position);
        let own = self.held(self.common.partial, self.position, step + 1);
        let other = self.held(self.common.partial, position, step + 1);
        let (sends, receives) = match self.wanted_at {
            None => (true, true),
            Some(root) => {
                let receives = (self.position ^ root) >> step & 1 == 0;
                (!receives, receives)
            }
        };
        if sends {
            round.send(partner, own);
        }
        if receives {
            round.recv(partner, other);
        }
    }
}

impl Program for Halving {
    fn rounds(&self) -> u64 {
        let unfolding = self.common.unfolds && self.stands_for.is_some();
        self.folding_rounds()
            + 2 * u64::from(self.fold.steps())
            + u64::from(self.gathering_rounds())
            + u64::from(unfolding)
    }

    fn round(&self, index: u64, round: &mut Round) {
        let (folding, steps) = (self.folding_rounds(), self.fold.steps());
        let Some(index) = index.checked_sub(folding) else {
            if let Some(away) = self.stands_for {
                self.fold(away, index, round);
            }
            return;
        };
        let index = index as u32;
        if index < 2 * steps {
            let untouched = folding == 0 && index < 2;
            let own = if untouched {
                Buffer::Input
            } else {
                self.common.partial
            };
            self.halve(index / 2, index % 2 == 1, own, round);
        } else if index - 2 * steps < self.gathering_rounds() {
            self.gather(3 * steps - 1 - index, round);
        } else if let Some(away) = self.stands_for {
            round.send(away, Span::whole(self.common.partial));
        }
    }
}
