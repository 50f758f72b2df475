//! The clock of this rank, and its relation to the global clock.
//!
//! `benchmarking::clocks` has the method; here messages are sent and clocks are read. Clocks are compared before each
//! task, every half second, and when many repetitions fail. If they differ by more than the uncertainty of a round
//! trip, they are learned again; the difference is the measurement's residual.

use std::cell::Cell;
use std::time::Duration;

use benchmarking::clocks::{Clock, ClockLearning, ClockPair, Exchange, Nanoseconds, Offset};
use exec::Communicator;
use nix::time::ClockId;
use wire::RankClock;

use crate::error::DriverError;

/// The number of exchanges in a batch; the shortest one counts.
const BATCH: usize = 20;

/// The pause between two batches of exchanges of a pair, which must last long enough to show a drift.
const PAUSE: Duration = Duration::from_millis(25);

/// Messages of a client, of the same length as the reference's answers: a request, and the end of the exchanges.
const REQUEST: [u8; 8] = [1; 8];
const END: [u8; 8] = [0; 8];

/// The time of this rank's monotonic clock.
pub(crate) fn monotonic_now() -> Result<Nanoseconds, DriverError> {
    let time = ClockId::CLOCK_MONOTONIC.now().map_err(DriverError::Clock)?;
    Ok(time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}

/// The conversion between this rank's clock and the global time, which is the clock of rank 0. It is learned for the
/// world's ranks, and valid in every communicator with the world's first rank as its own.
#[derive(Debug)]
pub(crate) struct GlobalClock {
    mine: Cell<Clock>,
}

/// The result of comparing the clocks of all ranks; the same on all ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClockComparison {
    /// The largest possible difference between the global times of a rank and of rank 0, summed along the chain of
    /// references.
    pub(crate) residual_seconds: f64,
    /// Whether a rank must learn its clock again.
    pub(crate) is_stale: bool,
    /// The largest error of a clock's drift.
    pub(crate) drift_error: f64,
}

impl GlobalClock {
    /// Learns the clocks. Collective over the ranks that the pairs name.
    pub(crate) fn learn(
        communicator: &Communicator,
        pairs: &[Vec<ClockPair>],
    ) -> Result<Self, DriverError> {
        let clock = Self {
            mine: Cell::new(Clock::GLOBAL),
        };
        clock.learn_again(communicator, pairs)?;
        Ok(clock)
    }

    /// Learns the clocks again.
    pub(crate) fn learn_again(
        &self,
        communicator: &Communicator,
        pairs: &[Vec<ClockPair>],
    ) -> Result<(), DriverError> {
        let rank = communicator.rank();
        for ClockPair { reference, client } in pairs.iter().flatten() {
            if rank == *reference {
                answer_requests(communicator, *client, monotonic_now)?;
                communicator.send_bytes(&self.mine.get().to_bytes(), *client)?;
            } else if rank == *client {
                self.mine
                    .set(learn_from_reference(communicator, *reference)?);
            }
        }
        Ok(())
    }

    /// Compares all clocks, along the chain of references, with the learned ones.
    pub(crate) fn compare_clocks(
        &self,
        communicator: &Communicator,
        pairs: &[Vec<ClockPair>],
    ) -> Result<ClockComparison, DriverError> {
        let (rank, mine) = (communicator.rank(), self.mine.get());
        let (mut residual_seconds, mut is_stale) = (0.0, false);
        for ClockPair { reference, client } in pairs.iter().flatten() {
            if rank == *reference {
                answer_requests(communicator, *client, || self.global_now())?;
                communicator.send_bytes(&f64::to_le_bytes(residual_seconds), *client)?;
            } else if rank == *client {
                let exchanges = measure_exchanges(communicator, *reference)?;
                communicator.send_bytes(&END, *reference)?;
                let mut word = [0; 8];
                communicator.recv_bytes(&mut word, *reference)?;
                let reference_seconds = f64::from_le_bytes(word);
                if let Some(fresh) = Offset::by_shortest(&exchanges) {
                    residual_seconds = mine.residual_seconds(&fresh) + reference_seconds;
                    is_stale = mine.is_stale(&fresh, reference_seconds);
                }
            }
        }
        let mut all = [
            residual_seconds,
            f64::from(u8::from(is_stale)),
            mine.drift_error(),
        ];
        communicator.maximum_over_ranks(&mut all)?;
        Ok(ClockComparison {
            residual_seconds: all[0],
            is_stale: all[1] > 0.0,
            drift_error: all[2],
        })
    }

    /// The global time.
    pub(crate) fn global_now(&self) -> Result<Nanoseconds, DriverError> {
        Ok(self.mine.get().global_time(monotonic_now()?))
    }

    /// The time of this rank's clock at a global time.
    pub(crate) fn to_local(&self, global: Nanoseconds) -> Nanoseconds {
        self.mine.get().local_time(global)
    }

    /// The global time at a time of this rank's clock.
    pub(crate) fn global(&self, local: Nanoseconds) -> Nanoseconds {
        self.mine.get().global_time(local)
    }

    /// The learned clocks of all ranks, by rank. Collective.
    pub(crate) fn clocks_of_ranks(
        &self,
        communicator: &Communicator,
    ) -> Result<Vec<RankClock>, DriverError> {
        let mine = self.mine.get();
        let local = monotonic_now()?;
        let numbers = [
            mine.offset_seconds(local),
            mine.drift(),
            mine.error_seconds(local),
        ];
        let mut all = vec![f64::NEG_INFINITY; 3 * communicator.size() as usize];
        let place = 3 * communicator.rank() as usize;
        all[place..place + 3].copy_from_slice(&numbers);
        communicator.maximum_over_ranks(&mut all)?;
        let ranks = all.chunks_exact(3).map(|of_rank| RankClock {
            offset_seconds: of_rank[0],
            drift: of_rank[1],
            error_seconds: of_rank[2],
        });
        Ok(ranks.collect())
    }
}

/// Makes a batch of exchanges, timed with this rank's own clock.
fn measure_exchanges(
    communicator: &Communicator,
    reference: u32,
) -> Result<Vec<Exchange>, DriverError> {
    let mut exchanges = Vec::with_capacity(BATCH);
    for _ in 0..BATCH {
        let mut word = [0; 8];
        let sent = monotonic_now()?;
        communicator.send_bytes(&REQUEST, reference)?;
        communicator.recv_bytes(&mut word, reference)?;
        exchanges.push(Exchange {
            sent,
            answered: Nanoseconds::from_le_bytes(word),
            received: monotonic_now()?,
        });
    }
    Ok(exchanges)
}

/// Answers a client's requests for the time until the client ends the exchanges.
fn answer_requests(
    communicator: &Communicator,
    client: u32,
    time: impl Fn() -> Result<Nanoseconds, DriverError>,
) -> Result<(), DriverError> {
    let mut question = END;
    loop {
        communicator.recv_bytes(&mut question, client)?;
        if question == END {
            return Ok(());
        }
        communicator.send_bytes(&time()?.to_le_bytes(), client)?;
    }
}

fn learn_from_reference(communicator: &Communicator, reference: u32) -> Result<Clock, DriverError> {
    let mut learning = ClockLearning::default();
    learning.add_batch(&measure_exchanges(communicator, reference)?);
    while learning.is_unfinished() {
        std::thread::sleep(PAUSE);
        learning.add_batch(&measure_exchanges(communicator, reference)?);
    }
    communicator.send_bytes(&END, reference)?;
    let mut bytes = [0; 40];
    communicator.recv_bytes(&mut bytes, reference)?;
    let global = Clock::from_bytes(&bytes);
    Ok(learning
        .learned_clock()
        .map_or(global, |clock| clock.composed_with(&global)))
}
