//! What carries out the calls that are measured.

use vocabulary::Candidate;

use crate::{Calls, Failure, Samples};

/// What became of something that a candidate did: how it failed stands inside, what ends the launch
/// outside.
pub type Attempt<T, E> = Result<Result<T, Failure>, E>;

/// What carries out the calls of a task's candidates: MPI, a simulated machine, or the script of a test.
///
/// Where several ranks measure, each runs the same [`crate::CellBenchmark`] with an executor of its own.
/// They stay together because methods tell all of them the same: the time of the slowest, and one
/// [`Failure`] where any rank has one.
pub trait Executor {
    /// A candidate that can be called.
    type Prepared;
    /// What ends the launch.
    type Error;

    /// A candidate's turn begins: whatever happens until the next one begins is its doing.
    fn begin_turn(&mut self, candidate: u32) -> Result<(), Self::Error>;

    /// A candidate failed, and is left out from now on.
    fn record_failure(&mut self, candidate: u32, failure: Failure) -> Result<(), Self::Error>;

    /// Gets a candidate ready to be called. `index` is its place among the task's candidates.
    fn prepare(
        &mut self,
        index: u32,
        candidate: &Candidate,
    ) -> Attempt<Self::Prepared, Self::Error>;

    /// Calls a candidate for the first time and checks its result; gives the time of the call in
    /// seconds.
    fn first_call(&mut self, prepared: &mut Self::Prepared) -> Attempt<f64, Self::Error>;

    /// The times of a candidate that need not be found out, as on a simulated machine. Without them it is
    /// warmed up, and its times are expected to be what they were in the turn before.
    fn known_times(&self, _prepared: &Self::Prepared) -> Option<KnownTimes> {
        None
    }

    /// The most repetitions that [`Executor::repeat`] should be asked for at a time.
    fn most_repetitions(&self, _prepared: &Self::Prepared) -> usize {
        usize::MAX
    }

    /// Repeats a candidate. Each repetition is a common start followed by these calls; its time is that of
    /// all that are timed.
    fn repeat(
        &mut self,
        prepared: &mut Self::Prepared,
        repetitions: usize,
        calls: Calls,
    ) -> Attempt<Samples, Self::Error>;

    /// The largest disagreement of the ranks' clocks, in seconds; `None` without a global clock.
    fn residual_seconds(&mut self) -> Result<Option<f64>, Self::Error>;

    /// The time since work on the task began, in seconds, by whatever clock the calls take their time.
    fn elapsed_seconds(&self) -> f64;
}

/// What a candidate takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownTimes {
    /// A call, in the task's pattern where calls overlap.
    pub call_seconds: f64,
    /// A repetition of one call, its common start included.
    pub repetition_seconds: f64,
}
