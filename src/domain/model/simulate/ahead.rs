//! Receives that are posted one round ahead, as the executor posts them.

use std::cell::LazyCell;

use schedule::{Action, Place, Rank, Round, Schedule, Span};
use vocabulary::is_posted_ahead;

use super::engine::{Engine, is_copied};
use super::prices::Prices;
use super::trace::Observer;
use crate::{Level, PostAhead};

impl<O: Observer> Engine<'_, O> {
    /// The time at which the receive of a message was posted, whose sender is ready and whose receiver has reached its
    /// round: with the round before it, if the executor posts it there. This is computed only where it makes a
    /// difference.
    pub(super) fn receive_posted_at(&mut self, from: Rank, to: Rank, ready: f64) -> f64 {
        let receiver = self.processes.get(to);
        let (began, before_began) = (receiver.began, receiver.before_began);
        if ready >= began || !receiver.could_receive_before() || !self.may_be_posted_ahead(from, to)
        {
            return began;
        }
        let is_posted_ahead = match receiver.is_posted_ahead {
            Some(known) => known,
            None => {
                let mut rounds = std::mem::take(&mut self.compared);
                let found = self.posts_round_ahead(self.processes.simulated_rank(to), &mut rounds);
                self.compared = rounds;
                self.process_mut(to).is_posted_ahead = Some(found);
                found
            }
        };
        if is_posted_ahead { before_began } else { began }
    }

    /// The receiver's round with which the receive of a started message was posted.
    pub(super) fn posted_round(&self, from: Rank, to: Rank) -> u64 {
        let receiver = self.processes.get(to);
        match receiver.is_posted_ahead {
            Some(true) if self.may_be_posted_ahead(from, to) => receiver.before,
            _ => receiver.next - 1,
        }
    }

    fn may_be_posted_ahead(&self, from: Rank, to: Rank) -> bool {
        may_be_posted_ahead(self.prices, from, to)
    }

    /// Whether the executor posts the receives of a rank's round with the round before it.
    fn posts_round_ahead(&self, rank: Rank, [before, this]: &mut [Round; 2]) -> bool {
        let process = self.processes.get(rank);
        let symmetry = self.symmetry;
        for (index, round) in [
            (process.before, &mut *before),
            (process.next - 1, &mut *this),
        ] {
            round.clear();
            process.program.round(index, round);
        }
        let bytes = process.recv_bytes;
        let may_be_ahead = |from| {
            let (from, to) = symmetry.simulated_ends(symmetry.number_of(from), rank);
            may_be_posted_ahead(self.prices, from, to)
        };
        let actual = symmetry.rank_of(rank);
        let rounds: [&Round; 2] = [before, this];
        executor_posts_ahead(
            self.schedule,
            self.prices,
            actual,
            rounds,
            bytes,
            may_be_ahead,
        )
    }
}

pub(super) fn may_be_posted_ahead(prices: &Prices<'_>, from: Rank, to: Rank) -> bool {
    match prices.machine.post_ahead {
        PostAhead::All => true,
        PostAhead::Network => prices.message_level(from, to) == Level::Network,
        PostAhead::None => false,
    }
}

/// Whether the executor posts the receives of a rank's round, of `recv_bytes` in all, with the round before it;
/// `may_be_ahead` says whether messages from a rank may be.
pub(super) fn executor_posts_ahead(
    schedule: &Schedule,
    prices: &Prices<'_>,
    rank: Rank,
    [before, this]: [&Round; 2],
    recv_bytes: u64,
    may_be_ahead: impl Fn(Rank) -> bool,
) -> bool {
    let arriving = this.actions().iter().filter_map(|action| match action {
        Action::Recv { from, span } => may_be_ahead(*from).then_some(span),
        _ => None,
    });
    let bytes = |span: &Span| prices.span_bytes(schedule, rank, span);
    let all = match prices.machine.post_ahead {
        PostAhead::All => recv_bytes,
        _ => arriving.clone().map(bytes).sum(),
    };
    let used = before.actions().iter().flat_map(|action| match action {
        Action::Send { span, .. } | Action::Recv { span, .. } => [Some(span), None, None],
        Action::Signal { .. } | Action::Await { .. } => [None; 3],
        Action::Combine { left, right, into } => [Some(left), Some(right), Some(into)],
        Action::Copy { from, into } => {
            if is_copied(schedule, rank, from, into, bytes(into)) {
                [Some(from), Some(into), None]
            } else {
                [None; 3]
            }
        }
    });
    // The names of buffers nearly always decide, in a fraction of the time.
    let layout = LazyCell::new(|| schedule.layout(rank));
    is_posted_ahead(all, used.flatten(), arriving, |a, b| {
        let meets = |place: Place| layout.locate(b).is_some_and(|b| place.overlaps(&b));
        !schedule.are_apart(a, b) && layout.locate(a).is_some_and(meets)
    })
}
