//! Proofs of one algorithm on many shapes.

use std::ops::RangeInclusive;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use schedule::verify::Proof;
use schedule::{
    Algorithm, Blocks, Collective, Fault, Parameter, Parameters, Request, Schedule, Unsupported,
};

/// The shapes on which an algorithm is to be proved.
pub(super) struct Sweep {
    /// Ranks of the communicator.
    pub(super) ranks: RangeInclusive<u32>,
    /// Block counts of pipelined algorithms.
    pub(super) blocks: Vec<u32>,
}

/// What proving an algorithm came to.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Shapes that were proved.
    pub(super) shapes: u64,
    /// Whether it combined out of rank order on some of them.
    pub(super) unordered: bool,
    /// The longest chain of messages.
    pub(super) most_steps: u64,
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
    /// If the algorithm cannot serve one of them.
    pub(super) fn prove(
        &self,
        algorithm: &'static Algorithm,
        verify: &Verify,
    ) -> Result<Verdict, Unsupported> {
        let next = AtomicU32::new(0);
        let (first, last) = (*self.ranks.start(), *self.ranks.end());
        let work = || {
            let mut verdict = Verdict::default();
            // The largest communicators take longest and come first.
            while let Some(ranks) = last
                .checked_sub(next.fetch_add(1, Ordering::Relaxed))
                .filter(|ranks| *ranks >= first)
            {
                for request in self.requests(algorithm, ranks) {
                    verdict.add(&Schedule::new(algorithm, &request)?, verify);
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

    /// Every call on a communicator of this size.
    fn requests(&self, algorithm: &Algorithm, ranks: u32) -> Vec<Request<'static>> {
        let collective = algorithm.collective;
        let roots = if collective.is_rooted() { ranks } else { 1 };
        let places = if collective.is_reduction() {
            &[false, true][..]
        } else {
            &[false]
        };
        let mut requests = Vec::new();
        for parameters in self.parameters(algorithm) {
            let blocks = match parameters.blocks {
                Some(Blocks::Count(blocks)) => blocks,
                _ => algorithm.fixed_blocks(ranks).unwrap_or(1),
            };
            for units in lengths(blocks) {
                for root in 0..roots {
                    requests.extend(places.iter().map(|&in_place| Request {
                        ranks,
                        root,
                        in_place,
                        units,
                        parameters,
                    }));
                }
            }
        }
        requests
    }

    /// Every block count with every composition.
    fn parameters(&self, algorithm: &Algorithm) -> Vec<Parameters<'static>> {
        let blocks: Vec<Option<Blocks>> = if algorithm.takes(Parameter::Blocks) {
            self.blocks
                .iter()
                .map(|b| Some(Blocks::Count(*b)))
                .collect()
        } else {
            vec![None]
        };
        let reduces = parts(algorithm, Parameter::Reduce, Collective::Reduce);
        let bcasts = parts(algorithm, Parameter::Bcast, Collective::Bcast);
        let mut all = Vec::new();
        for &blocks in &blocks {
            for &reduce in &reduces {
                all.extend(bcasts.iter().map(|&bcast| Parameters {
                    blocks,
                    reduce,
                    bcast,
                }));
            }
        }
        all
    }
}

/// The algorithms that may be a part of a composition.
fn parts(
    algorithm: &Algorithm,
    parameter: Parameter,
    collective: Collective,
) -> Vec<Option<&'static str>> {
    if algorithm.takes(parameter) {
        schedule::of(collective).map(|part| Some(part.id)).collect()
    } else {
        vec![None]
    }
}

/// Lengths that leave a block empty, and blocks uneven.
fn lengths(blocks: u32) -> [u64; 2] {
    let blocks = u64::from(blocks);
    [blocks - 1, 2 * blocks + 1]
}

impl Verdict {
    fn add(&mut self, schedule: &Schedule, verify: &Verify) {
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
                self.unordered |= !proof.ordered;
                self.most_steps = self.most_steps.max(proof.tally.steps);
            }
            Err(fault) => {
                let call = describe(schedule);
                self.fault = Some(Refutation { ranks, call, fault });
            }
        }
    }

    fn join(self, other: Self) -> Self {
        let faults = self.fault.into_iter().chain(other.fault);
        Self {
            shapes: self.shapes + other.shapes,
            unordered: self.unordered || other.unordered,
            most_steps: self.most_steps.max(other.most_steps),
            fault: faults.min_by_key(|fault| fault.ranks),
        }
    }
}

fn describe(schedule: &Schedule) -> String {
    let (algorithm, shape) = (schedule.algorithm(), schedule.shape());
    let mut words = vec![
        format!("ranks {}", shape.ranks),
        format!("units {}", schedule.units()),
    ];
    if algorithm.collective.is_rooted() {
        words.push(format!("root {}", shape.root));
    }
    if algorithm.takes(Parameter::Blocks) {
        words.push(format!("blocks {}", shape.blocks));
    }
    if algorithm.takes(Parameter::Reduce) {
        words.push(shape.parts.reduce.name());
    }
    if algorithm.takes(Parameter::Bcast) {
        words.push(shape.parts.bcast.name());
    }
    if shape.in_place {
        words.push("in place".to_owned());
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fault_on_the_fewest_ranks_is_reported() {
        let algorithm = schedule::find("bcast/chain").expect("registered");
        let sweep = Sweep {
            ranks: 1..=9,
            blocks: vec![1, 2],
        };
        let sound = sweep
            .prove(algorithm, &schedule::verify::verify)
            .expect("supported");
        assert!(sound.fault.is_none());
        // Two lengths for each of two block counts and of 45 roots.
        assert_eq!(sound.shapes, 180);

        let refuse = |schedule: &Schedule| match schedule.shape() {
            shape if shape.ranks >= 3 && shape.root == 2 => Err(Fault::Deadlock(Vec::new())),
            _ => schedule::verify::verify(schedule),
        };
        let broken = sweep.prove(algorithm, &refuse).expect("supported");
        let fault = broken.fault.expect("refuted");
        assert_eq!(fault.call, "ranks 3, units 0, root 2, blocks 1");
    }

    #[test]
    fn lengths_leave_blocks_empty_and_uneven() {
        for (blocks, expected) in [(1, [0, 3]), (3, [2, 7])] {
            assert_eq!(lengths(blocks), expected);
        }
    }
}
