//! Allgathers in which every rank has one send and one receive in every round.

use super::{contribution, gathered};
use crate::Rank;
use crate::program::Program;
use crate::{Round, Shape, Span};

/// A rank of an allgather among at least two.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) rank: Rank,
    pub(super) ranks: u32,
}

impl Place {
    /// The rank `distance` before this one, cyclically.
    pub(super) fn before(self, distance: u32) -> Rank {
        (self.rank + self.ranks - distance) % self.ranks
    }

    /// The rank `distance` after this one, cyclically.
    pub(super) fn after(self, distance: u32) -> Rank {
        (self.rank + distance) % self.ranks
    }

    /// The contribution of this rank.
    pub(super) fn own(self) -> Span {
        contribution(self.rank, self.ranks)
    }

    /// The contributions of `count` ranks from `first`, cyclically.
    pub(super) fn gathered(self, first: Rank, count: u32) -> Span {
        gathered(first, count, self.ranks)
    }
}

/// The program of a rank that exchanges as `exchange` says in each of its rounds.
pub(super) fn program(
    rounds: impl Fn(u32) -> u32,
    exchange: impl Fn(Place, u32, &mut Round) + Send + Sync + 'static,
    shape: &Shape,
    rank: Rank,
) -> Box<dyn Program> {
    let ranks = shape.ranks;
    Box::new(Exchanging {
        place: Place { rank, ranks },
        rounds: rounds(ranks).into(),
        exchange,
    })
}

struct Exchanging<F> {
    place: Place,
    rounds: u64,
    exchange: F,
}

impl<F: Fn(Place, u32, &mut Round) + Send + Sync> Program for Exchanging<F> {
    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn round(&self, index: u64, round: &mut Round) {
        let place = self.place;
        if index == 0 {
            round.copy(place.own(), place.gathered(place.rank, 1));
        }
        (self.exchange)(place, index as u32, round);
    }
}
