//! Proofs of one algorithm on many shapes.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use schedule::verify::Proof;
use schedule::{Algorithm, Fault, Request, Schedule, Unsupported, text};

use super::sweep::Sweep;
use crate::error::CliError;

/// What proving an algorithm came to.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Shapes that were proved.
    pub(super) shapes: u64,
    /// Whether some of them are to combine in rank order: these were seen to.
    pub(super) ordered: bool,
    /// Whether some of them need not.
    pub(super) unordered: bool,
    /// The longest chain of messages.
    pub(super) most_steps: u64,
    /// How many numbers of ranks it does not serve.
    pub(super) skipped: u64,
    /// The fault on the fewest ranks.
    pub(super) fault: Option<Refutation>,
}

/// A shape on which an algorithm is wrong.
#[derive(Debug)]
pub(super) struct Refutation {
    /// Ranks of the communicator.
    pub(super) ranks: u32,
    /// The call, in words.
    pub(super) call: String,
    /// What is wrong.
    pub(super) fault: Fault,
}

/// How a schedule is proved.
pub(super) type Verify = dyn Fn(&Schedule) -> Result<Proof, Fault> + Sync;

impl Sweep {
    /// Proves an algorithm on all shapes, on all cores.
    ///
    /// # Errors
    /// If the algorithm cannot serve one of them for another reason than the number of ranks.
    pub(super) fn prove(
        &self,
        algorithm: &'static Algorithm,
        verify: &Verify,
    ) -> Result<Verdict, CliError> {
        let next = AtomicU32::new(0);
        let (first, last) = (*self.ranks.start(), *self.ranks.end());
        let work = || {
            let mut verdict = Verdict::default();
            // The largest communicators take longest and come first.
            while let Some(ranks) = last
                .checked_sub(next.fetch_add(1, Ordering::Relaxed))
                .filter(|ranks| *ranks >= first)
            {
                let proved = self.requests(algorithm, ranks, |request| {
                    let schedule = Schedule::new(algorithm, request)?;
                    check_size(&schedule, request)?;
                    verdict.add(&schedule, request, verify);
                    Ok(())
                });
                match proved {
                    Err(CliError::Unsupported(Unsupported::OddRanks { .. })) => {
                        verdict.skipped += 1;
                    }
                    proved => proved?,
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
            joined.fold(own, |all, other| Ok(all?.join(other?)))
        })
    }
}

/// A proof takes memory for every unit of every rank.
fn check_size(schedule: &Schedule, request: &Request<'_>) -> Result<(), CliError> {
    let values = schedule
        .vector_units()
        .saturating_mul(schedule.shape().ranks.into());
    if values <= CliError::MOST_TO_PROVE {
        return Ok(());
    }
    let schedule = describe(schedule, request);
    Err(CliError::TooLargeToProve { schedule })
}

impl Verdict {
    fn add(&mut self, schedule: &Schedule, request: &Request<'_>, verify: &Verify) {
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
                self.ordered |= schedule.ordered();
                self.unordered |= !schedule.ordered();
                self.most_steps = self.most_steps.max(proof.tally.steps);
            }
            Err(fault) => {
                let call = describe(schedule, request);
                self.fault = Some(Refutation { ranks, call, fault });
            }
        }
    }

    fn join(self, other: Self) -> Self {
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
fn describe(schedule: &Schedule, request: &Request<'_>) -> String {
    let uneven = match request.counts {
        Some(_) => " in uneven parts",
        None => "",
    };
    format!(
        "{}, {} units{uneven}",
        text::headline(schedule),
        schedule.units()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prove(name: &str, ranks: std::ops::RangeInclusive<u32>, verify: &Verify) -> Verdict {
        let algorithm = schedule::find(name).expect("registered");
        let sweep = Sweep {
            ranks,
            blocks: vec![1, 2],
        };
        sweep.prove(algorithm, verify).expect("supported")
    }

    #[test]
    fn the_fault_on_the_fewest_ranks_is_reported() {
        let sound = prove("bcast/chain", 1..=9, &schedule::verify::verify);
        assert!(sound.fault.is_none());
        // Two lengths for each of two block counts and of 45 roots.
        assert_eq!(sound.shapes, 180);

        let refuse = |schedule: &Schedule| match schedule.shape() {
            shape if shape.ranks >= 3 && shape.root == 2 => Err(Fault::Deadlock(Vec::new())),
            _ => schedule::verify::verify(schedule),
        };
        let fault = prove("bcast/chain", 1..=9, &refuse).fault.expect("refuted");
        let call = "bcast/chain on 3 ranks, root 2, 1 block, 0 units";
        assert_eq!(fault.call, call);
    }

    #[test]
    fn numbers_of_ranks_that_are_not_served_are_counted() {
        let even = schedule::ALGORITHMS.iter().filter(|a| a.even_ranks);
        for algorithm in even {
            let verdict = prove(&algorithm.name(), 1..=9, &schedule::verify::verify);
            // 3, 5, 7 and 9: alone there is nobody to pair with.
            assert_eq!(verdict.skipped, 4, "{algorithm}");
            assert!(verdict.shapes > 0 && verdict.fault.is_none());
        }
        let verdict = prove("allgather/ring", 1..=9, &schedule::verify::verify);
        assert_eq!(verdict.skipped, 0);
        // Two lengths, in place and not, of 9 communicators.
        assert_eq!(verdict.shapes, 36);
    }

    #[test]
    fn calls_with_uneven_parts_say_so() {
        let refuse = |_: &Schedule| Err(Fault::Deadlock(Vec::new()));
        let algorithm = schedule::find("reduce_scatter/ring").expect("registered");
        let counts = [0, 3];
        let request = Request {
            units: 3,
            in_place: true,
            counts: Some(&counts),
            ..Request::ranks(2)
        };
        let schedule = Schedule::new(algorithm, &request).expect("supported");
        let mut verdict = Verdict::default();
        verdict.add(&schedule, &request, &refuse);
        let call = verdict.fault.map(|fault| fault.call);
        let expected = "reduce_scatter/ring on 2 ranks, in place, 3 units in uneven parts";
        assert_eq!(call.as_deref(), Some(expected));
    }
}
