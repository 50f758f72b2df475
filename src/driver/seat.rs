//! A candidate in a contest, and how it may fail.

use benchmarking::Race;
use exec::{Communicator, ExecError, Runner};
use wire::{FailureKind, Measurement};

use crate::error::failure_kind;
use crate::synchronise::{Pace, Taken};

/// A candidate in the contest.
pub(crate) struct Seat {
    /// Its place among the task's candidates.
    pub(crate) index: u32,
    pub(crate) runner: Runner,
    /// Its own, so that what a failed candidate left under way meets nobody.
    pub(crate) communicator: Communicator,
    /// All repetitions, in the order in which they were taken, and which of them are not valid.
    pub(crate) raw: Vec<f64>,
    pub(crate) invalid: Vec<u32>,
    pub(crate) pace: Pace,
    /// Of a call, by the last turn of warming up.
    pub(crate) call_seconds: f64,
    /// Of a repetition, its common start included.
    pub(crate) estimate_seconds: f64,
    pub(crate) warmup: u32,
    /// Calls in a repetition.
    pub(crate) batch: u32,
}

impl Seat {
    /// Keeps a turn as it was.
    pub(crate) fn keep(&mut self, taken: Taken) {
        let before = self.raw.len() as u32;
        let places = taken.invalid.iter().map(|place| before + place);
        self.invalid.extend(places);
        self.raw.extend(taken.seconds);
    }
}

/// What the candidates gave that did not fail. `indices` are those of the entrants.
pub(crate) fn measurements(
    seats: Vec<Option<Seat>>,
    indices: &[u32],
    race: Race,
    residual_seconds: Option<f64>,
) -> Vec<Measurement> {
    let results = seats.into_iter().zip(race.into_results(indices));
    results
        .filter_map(|(seat, (_, left))| {
            let seat = seat?;
            Some(Measurement {
                candidate: seat.index,
                warmup: seat.warmup,
                batch: seat.batch,
                seconds: seat.raw,
                invalid: seat.invalid,
                residual_seconds,
                left,
            })
        })
        .collect()
}

/// A failure that all ranks know of.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
}

impl Failure {
    /// For a candidate that its cell cannot afford.
    pub(crate) fn too_slow(seconds: f64, fastest_seconds: f64) -> Self {
        Self {
            kind: FailureKind::TooSlow,
            message: benchmarking::too_slow(seconds, fastest_seconds),
        }
    }

    pub(crate) fn of(error: &ExecError) -> Self {
        Self {
            kind: failure_kind(error),
            message: error.to_string(),
        }
    }
}
