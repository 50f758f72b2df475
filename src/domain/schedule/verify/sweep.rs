//! Proofs of one algorithm on a grid of calls.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use thiserror::Error;

use super::{Grid, Proof};
use crate::{Algorithm, Fault, Request, Schedule, Unsupported, text};

/// The result of proving an algorithm.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Shapes that were proved.
    pub shapes: u64,
    /// Whether some of these calls had to combine in rank order, which was proved too.
    pub ordered: bool,
    /// Whether some of these calls did not have to combine in rank order.
    pub unordered: bool,
    /// The longest chain of messages.
    pub most_steps: u64,
    /// The number of rank counts that it does not support.
    pub skipped: u64,
    /// The fault on the fewest ranks.
    pub fault: Option<Refutation>,
}

/// A shape on which an algorithm is wrong.
#[derive(Debug)]
pub struct Refutation {
    /// Ranks of the communicator.
    pub ranks: u32,
    /// The call, in words.
    pub call: String,
    /// The fault.
    pub fault: Fault,
}

/// The reason why a grid cannot be proved.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unprovable {
    /// The algorithm cannot serve a call, for another reason than the number of ranks.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// A proof of a call would keep more than [`Grid::MOST_UNITS`].
    #[error(
        "{call} cannot be proved: a proof keeps at most {} values",
        Grid::MOST_UNITS
    )]
    TooLarge {
        /// The call, in words.
        call: String,
    },
}

/// The way a schedule is proved.
pub type Verify = dyn Fn(&Schedule) -> Result<Proof, Fault> + Sync;

impl Grid {
    /// The most units, in the vectors of all ranks together, of a call that is proved: a proof
    /// keeps a value for each. Without data, the most words of the sets of ranks that a proof keeps.
    pub const MOST_UNITS: u64 = 1 << 26;

    /// Proves an algorithm on all calls of the grid, on all cores.
    ///
    /// # Errors
    /// If a call cannot be proved. Numbers of ranks that the algorithm does not serve are skipped.
    pub fn prove_algorithm(
        &self,
        algorithm: &'static Algorithm,
        verify: &Verify,
    ) -> Result<Verdict, Unprovable> {
        let next = AtomicU32::new(0);
        let (first, last) = (*self.ranks.start(), *self.ranks.end());
        let work = || {
            let mut verdict = Verdict::default();
            // The largest communicators take longest and come first.
            while let Some(ranks) = last
                .checked_sub(next.fetch_add(1, Ordering::Relaxed))
                .filter(|ranks| *ranks >= first)
            {
                let proved = self.visit_requests(algorithm, ranks, |request| {
                    let schedule = match Schedule::new(algorithm, request) {
                        // The algorithm does not support these nodes.
                        Err(
                            Unsupported::UnlikeNodes { .. } | Unsupported::TooManyLeaders { .. },
                        ) => return Ok(()),
                        schedule => schedule?,
                    };
                    check_size(&schedule, request)?;
                    verdict.add_proof(&schedule, request, verify);
                    Ok(())
                });
                match proved {
                    Err(Unprovable::Unsupported(Unsupported::OddRanks { .. })) => {
                        verdict.skipped += 1;
                    }
                    _ => proved?,
                }
            }
            Ok(verdict)
        };
        let workers = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
            let own = work();
            let joined = others
                .into_iter()
                .map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            joined.fold(own, |all, other| Ok(all?.merge_with(other?)))
        })
    }
}

fn check_size(schedule: &Schedule, request: &Request<'_>) -> Result<(), Unprovable> {
    let ranks = u64::from(schedule.shape().ranks);
    let kept = if schedule.algorithm().collective.has_data() {
        schedule.vector_units().saturating_mul(ranks)
    } else {
        // For every rank, two sets of the ranks that it has heard of, in words of 64 bits.
        2 * ranks * ranks.div_ceil(64)
    };
    if kept <= Grid::MOST_UNITS {
        return Ok(());
    }
    let call = describe_call(schedule, request);
    Err(Unprovable::TooLarge { call })
}

impl Verdict {
    fn add_proof(&mut self, schedule: &Schedule, request: &Request<'_>, verify: &Verify) {
        let ranks = schedule.shape().ranks;
        if self
            .fault
            .as_ref()
            .is_some_and(|known| known.ranks <= ranks)
        {
            return;
        }
        match verify(schedule) {
            Ok(proof) => {
                self.shapes += 1;
                self.ordered |= schedule.is_ordered();
                self.unordered |= !schedule.is_ordered();
                self.most_steps = self.most_steps.max(proof.tally.steps);
            }
            Err(fault) => {
                let call = describe_call(schedule, request);
                self.fault = Some(Refutation { ranks, call, fault });
            }
        }
    }

    fn merge_with(self, other: Self) -> Self {
        let faults = self.fault.into_iter().chain(other.fault);
        Self {
            shapes: self.shapes + other.shapes,
            ordered: self.ordered || other.ordered,
            unordered: self.unordered || other.unordered,
            most_steps: self.most_steps.max(other.most_steps),
            skipped: self.skipped + other.skipped,
            fault: faults.min_by_key(|fault| fault.ranks),
        }
    }
}

/// A call in words.
fn describe_call(schedule: &Schedule, request: &Request<'_>) -> String {
    let uneven = match request.counts {
        Some(_) => " in uneven parts",
        None => "",
    };
    format!(
        "{}, {} units{uneven}",
        text::schedule_headline(schedule),
        schedule.units()
    )
}
