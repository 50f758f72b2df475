//! This rank's clock, and what it knows of the global one.

use std::cell::Cell;
use std::time::Duration;

use benchmarking::clocks::{Clock, Exchange, Learning, Lesson, Nanoseconds, Offset};
use exec::Communicator;
use nix::time::ClockId;
use wire::RankClock;

use crate::error::DriverError;

/// Exchanges of a batch, the shortest of which counts.
const BATCH: usize = 20;

/// The pause between two batches of a lesson: a lesson must last for a drift to show.
const PAUSE: Duration = Duration::from_millis(25);

/// Messages of a pupil, as long as the teacher's answers.
const ASK: [u8; 8] = [1; 8];
const THANKS: [u8; 8] = [0; 8];

/// What this rank's monotonic clock shows.
pub(crate) fn now() -> Result<Nanoseconds, DriverError> {
    let time = ClockId::CLOCK_MONOTONIC.now().map_err(DriverError::Clock)?;
    Ok(time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}

/// The time on rank 0's clock, as this rank has learned it. It is kept for the world's rank: any
/// communicator that has rank 0 as its first can use it.
#[derive(Debug)]
pub(crate) struct GlobalClock {
    mine: Cell<Clock>,
}

/// What a look at all ranks' clocks has shown; the same on all ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// The largest possible difference between the global times of a rank and of rank 0, going by the way
    /// that the global time has come.
    pub(crate) residual_seconds: f64,
    /// Whether a rank must learn anew.
    pub(crate) is_stale: bool,
    /// The largest error of the drift of a rank's clock.
    pub(crate) drift_error: f64,
}

impl GlobalClock {
    /// Learns it. Collective over all that the lessons name.
    pub(crate) fn learn(
        communicator: &Communicator,
        lessons: &[Vec<Lesson>],
    ) -> Result<Self, DriverError> {
        let clock = Self {
            mine: Cell::new(Clock::GLOBAL),
        };
        clock.learn_anew(communicator, lessons)?;
        Ok(clock)
    }

    /// Learns it anew.
    pub(crate) fn learn_anew(
        &self,
        communicator: &Communicator,
        lessons: &[Vec<Lesson>],
    ) -> Result<(), DriverError> {
        let rank = communicator.rank();
        for Lesson { teacher, pupil } in lessons.iter().flatten() {
            if rank == *teacher {
                answer(communicator, *pupil, now)?;
                communicator.send_bytes(&self.mine.get().to_bytes(), *pupil)?;
            } else if rank == *pupil {
                self.mine.set(take_lesson(communicator, *teacher)?);
            }
        }
        Ok(())
    }

    /// Compares all clocks along the lessons' ways, with the clocks as they are learned.
    pub(crate) fn look(
        &self,
        communicator: &Communicator,
        lessons: &[Vec<Lesson>],
    ) -> Result<Look, DriverError> {
        let (rank, mine) = (communicator.rank(), self.mine.get());
        let (mut residual_seconds, mut is_stale) = (0.0, false);
        for Lesson { teacher, pupil } in lessons.iter().flatten() {
            if rank == *teacher {
                answer(communicator, *pupil, || self.now())?;
                communicator.send_bytes(&f64::to_le_bytes(residual_seconds), *pupil)?;
            } else if rank == *pupil {
                let exchanges = ask(communicator, *teacher)?;
                communicator.send_bytes(&THANKS, *teacher)?;
                let mut word = [0; 8];
                communicator.recv_bytes(&mut word, *teacher)?;
                let teachers_seconds = f64::from_le_bytes(word);
                if let Some(fresh) = Offset::by_shortest(&exchanges) {
                    residual_seconds = mine.residual_seconds(&fresh) + teachers_seconds;
                    is_stale = mine.is_stale(&fresh, teachers_seconds);
                }
            }
        }
        let mut all = [
            residual_seconds,
            f64::from(u8::from(is_stale)),
            mine.drift_error(),
        ];
        communicator.maximum(&mut all)?;
        Ok(Look {
            residual_seconds: all[0],
            is_stale: all[1] > 0.0,
            drift_error: all[2],
        })
    }

    /// The global time.
    pub(crate) fn now(&self) -> Result<Nanoseconds, DriverError> {
        Ok(self.mine.get().global(now()?))
    }

    /// What this rank's clock shows at a global time.
    pub(crate) fn local(&self, global: Nanoseconds) -> Nanoseconds {
        self.mine.get().local(global)
    }

    /// The global time when this rank's clock shows so much.
    pub(crate) fn global(&self, local: Nanoseconds) -> Nanoseconds {
        self.mine.get().global(local)
    }

    /// What all ranks have learned, by rank. Collective.
    pub(crate) fn describe(
        &self,
        communicator: &Communicator,
    ) -> Result<Vec<RankClock>, DriverError> {
        let mine = self.mine.get();
        let local = now()?;
        let numbers = [
            mine.offset_seconds(local),
            mine.drift(),
            mine.error_seconds(local),
        ];
        let mut all = vec![f64::NEG_INFINITY; 3 * communicator.size() as usize];
        let place = 3 * communicator.rank() as usize;
        all[place..place + 3].copy_from_slice(&numbers);
        communicator.maximum(&mut all)?;
        let ranks = all.chunks_exact(3).map(|numbers| RankClock {
            offset_seconds: numbers[0],
            drift: numbers[1],
            error_seconds: numbers[2],
        });
        Ok(ranks.collect())
    }
}

/// A batch of exchanges, by this rank's own clock.
fn ask(communicator: &Communicator, teacher: u32) -> Result<Vec<Exchange>, DriverError> {
    let mut exchanges = Vec::with_capacity(BATCH);
    for _ in 0..BATCH {
        let mut word = [0; 8];
        let sent = now()?;
        communicator.send_bytes(&ASK, teacher)?;
        communicator.recv_bytes(&mut word, teacher)?;
        exchanges.push(Exchange {
            sent,
            answered: Nanoseconds::from_le_bytes(word),
            received: now()?,
        });
    }
    Ok(exchanges)
}

/// Tells a pupil the time until it has had enough.
fn answer(
    communicator: &Communicator,
    pupil: u32,
    time: impl Fn() -> Result<Nanoseconds, DriverError>,
) -> Result<(), DriverError> {
    let mut question = THANKS;
    loop {
        communicator.recv_bytes(&mut question, pupil)?;
        if question == THANKS {
            return Ok(());
        }
        communicator.send_bytes(&time()?.to_le_bytes(), pupil)?;
    }
}

fn take_lesson(communicator: &Communicator, teacher: u32) -> Result<Clock, DriverError> {
    let mut learning = Learning::default();
    learning.add(&ask(communicator, teacher)?);
    while learning.is_unfinished() {
        std::thread::sleep(PAUSE);
        learning.add(&ask(communicator, teacher)?);
    }
    communicator.send_bytes(&THANKS, teacher)?;
    let mut bytes = [0; 40];
    communicator.recv_bytes(&mut bytes, teacher)?;
    let teachers = Clock::from_bytes(&bytes);
    Ok(learning
        .clock()
        .map_or(teachers, |clock| clock.then(&teachers)))
}
