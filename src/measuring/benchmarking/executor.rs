//! The interface to calls of candidates.

use vocabulary::Candidate;

use crate::{Calls, Failure, Samples};

/// The result of a candidate's action: the inner error is its failure, the outer one ends the launch.
pub type Attempt<T, E> = Result<Result<T, Failure>, E>;

/// Carries out the calls of a task's candidates: on MPI, on a simulated machine, or by the script of a test.
///
/// If several ranks measure, each runs the same [`crate::CellBenchmark`] with its own executor. They stay in step
/// because methods return the same on all of them: the time of the slowest rank, and a [`Failure`] if any rank has one.
pub trait Executor {
    /// A candidate that can be called.
    type Prepared;
    /// An error that ends the launch.
    type Error;

    /// Begins a candidate's turn: any failure until the next turn is attributed to it.
    fn begin_turn(&mut self, candidate: u32) -> Result<(), Self::Error>;

    /// Records the failure of a candidate, which is left out from now on.
    fn record_failure(&mut self, candidate: u32, failure: Failure) -> Result<(), Self::Error>;

    /// Prepares a candidate for calls. `index` is its place among the task's candidates.
    fn prepare(
        &mut self,
        index: u32,
        candidate: &Candidate,
    ) -> Attempt<Self::Prepared, Self::Error>;

    /// Calls a candidate for the first time and checks its result; returns the time of the call in seconds.
    fn first_call(&mut self, prepared: &mut Self::Prepared) -> Attempt<f64, Self::Error>;

    /// The times of a candidate if they are known in advance, as on a simulated machine. Otherwise it is warmed up, and
    /// its times are expected to be those of the turn before.
    fn known_times(&self, _prepared: &Self::Prepared) -> Option<KnownTimes> {
        None
    }

    /// The most repetitions of one call of [`Executor::repeat`].
    fn most_repetitions(&self, _prepared: &Self::Prepared) -> usize {
        usize::MAX
    }

    /// Repeats a candidate. Each repetition is a common start followed by these calls; its time is that of all timed
    /// calls.
    fn repeat(
        &mut self,
        prepared: &mut Self::Prepared,
        repetitions: usize,
        calls: Calls,
    ) -> Attempt<Samples, Self::Error>;

    /// The largest disagreement of the ranks' clocks, in seconds; `None` without a global clock.
    fn residual_seconds(&mut self) -> Result<Option<f64>, Self::Error>;

    /// The time since the task began, in seconds, by the clock of the calls.
    fn elapsed_seconds(&self) -> f64;
}

/// The times of a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownTimes {
    /// The time of a call, in the task's pattern if calls overlap.
    pub call_seconds: f64,
    /// The time of a repetition of one call, common start included.
    pub repetition_seconds: f64,
}
