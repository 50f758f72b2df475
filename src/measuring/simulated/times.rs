//! Times without noise.

use std::collections::HashMap;
use std::num::NonZero;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use model::{
    Level, Machine, Setting, SimulationError, Topology, expected_messages, simulate, simulate_from,
    simulate_repeated,
};
use schedule::{Request, Schedule};
use thiserror::Error;
use vocabulary::{Candidate, Cell, CommShape, Pattern, Placement, Subject, Through, out_of_order};

use crate::experiments;
use crate::rules::Rules;

/// The most messages of a candidate; more would take minutes to simulate.
const MOST_MESSAGES: f64 = 5e8;
/// The most ranks in all concurrent simulations: each takes about 200 bytes of memory, and as much again for every
/// message under way.
const MOST_RANKS: u32 = 1 << 22;

/// The numbers of repeated calls that are simulated before the timed ones, and of the timed ones: in a steady state
/// longer blocks give the same time per call.
const BEFORE: u32 = 4;
const TIMED: u32 = 8;

/// The reason why a candidate cannot be simulated.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{0}")]
pub(crate) struct Refusal(String);

type Time = Result<f64, Refusal>;

/// The key of a time.
type TimeKey = (Subject, Candidate, Pattern);

/// The times of all queries, each simulated once.
pub(crate) struct Times {
    machine: Machine,
    placement: Placement,
    rules: Rules,
    /// Algorithms that take longer than simulated, with the factor.
    slowed: Vec<(String, f64)>,
    known: Mutex<HashMap<TimeKey, Time>>,
}

impl Times {
    pub(crate) fn new(machine: Machine, placement: Placement, rules: Rules) -> Self {
        Self {
            machine,
            placement,
            rules,
            slowed: Vec::new(),
            known: Mutex::default(),
        }
    }

    /// The same times with an algorithm that takes `factor` times as long.
    pub(crate) fn with_slowed_algorithm(&self, algorithm: &str, factor: f64) -> Self {
        let mut slowed = self.slowed.clone();
        slowed.push((algorithm.to_owned(), factor));
        Self {
            machine: self.machine.clone(),
            placement: self.placement,
            rules: self.rules.clone(),
            slowed,
            known: Mutex::default(),
        }
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    pub(crate) fn placement(&self) -> Placement {
        self.placement
    }

    /// The time of a candidate's call in seconds, of a single call or, in a repeated pattern, among others; or the time
    /// of an experiment.
    pub(crate) fn undisturbed_seconds(
        &self,
        subject: Subject,
        candidate: &Candidate,
        pattern: Pattern,
    ) -> Time {
        let key = (
            subject,
            self.candidate_to_simulate(&subject, candidate)?,
            pattern,
        );
        let known = self.lock_known().get(&key).cloned();
        known.unwrap_or_else(|| {
            let time = catch_panics(|| match &key {
                (Subject::Cell(cell), simulated, Pattern::Repeated) => {
                    self.simulate_candidate(cell, simulated, BEFORE + TIMED, |schedule, setting| {
                        simulate_repeated(schedule, setting, BEFORE, TIMED)
                    })
                }
                // Campaigns on simulated machines have no nonblocking calls.
                (Subject::Cell(cell), simulated, _) => {
                    self.simulate_candidate(cell, simulated, 1, |schedule, setting| {
                        Ok(simulate(schedule, setting)?.seconds)
                    })
                }
                (Subject::Experiment(experiment), ..) => {
                    experiments::experiment_seconds(&self.machine, experiment).map_err(refusal_from)
                }
            });
            self.lock_known().insert(key, time.clone());
            time
        })
    }

    /// The time of a candidate's call from the last rank's arrival to the last rank's end, in seconds, if ranks arrive
    /// at these times.
    pub(crate) fn skewed_seconds(
        &self,
        cell: &Cell,
        candidate: &Candidate,
        starts: &[f64],
    ) -> Time {
        let candidate = self.candidate_to_simulate(&Subject::Cell(*cell), candidate)?;
        let last = starts.iter().copied().fold(0.0, f64::max);
        catch_panics(|| {
            self.simulate_candidate(cell, &candidate, 1, |schedule, setting| {
                Ok(simulate_from(schedule, setting, starts)?.seconds - last)
            })
        })
    }

    /// The candidate to simulate; for the default, its choice for commutative operators.
    fn candidate_to_simulate(
        &self,
        subject: &Subject,
        candidate: &Candidate,
    ) -> Result<Candidate, Refusal> {
        match (subject, candidate) {
            (Subject::Cell(cell), Candidate::Default | Candidate::Placebo) => {
                self.rules.choose_candidate(cell).map_err(refusal_from)
            }
            (
                Subject::Cell(cell),
                Candidate::Ours {
                    algorithm,
                    parameters,
                },
            ) if !cell.commutes() => {
                let found = schedule::find_algorithm(algorithm);
                let found = found.and_then(|known_algorithm| {
                    if known_algorithm.knows_nodes()
                        && self.placement == Placement::Cyclic
                        && cell.shape.has_orders()
                    {
                        Some(known_algorithm.name())
                    } else {
                        out_of_order(known_algorithm, parameters)
                    }
                });
                match found {
                    Some(unordered) => Err(Refusal(format!(
                        "{unordered} combines out of rank order: wrong for {cell}"
                    ))),
                    None => Ok(candidate.clone()),
                }
            }
            _ => Ok(candidate.clone()),
        }
    }

    /// Computes the times of several candidates in parallel, until `is_over`: on all cores, unless as many simulations
    /// of this many ranks might exceed the memory.
    pub(crate) fn compute_in_parallel(
        &self,
        subject: Subject,
        candidates: &[Candidate],
        pattern: Pattern,
        is_over: &(dyn Fn() -> bool + Sync),
    ) {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(candidate) = candidates.get(next.fetch_add(1, Ordering::Relaxed)) {
                if is_over() {
                    return;
                }
                // The result is kept in the cache.
                let _ = self.undisturbed_seconds(subject, candidate, pattern);
            }
        };
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let room = (MOST_RANKS / subject.shape().ranks().max(1)).max(1) as usize;
        thread::scope(|scope| {
            for _ in 1..cores.min(room).min(candidates.len()) {
                scope.spawn(work);
            }
            work();
        });
    }

    /// The time of a dissemination barrier of empty messages between all ranks of a shape.
    pub(crate) fn barrier_seconds(&self, shape: CommShape) -> f64 {
        let link = self.machine.link(Level::of_nodes(shape.nodes));
        let rounds = shape.ranks().max(1).next_power_of_two().ilog2();
        link.map_or(0.0, |link| link.alpha * f64::from(rounds))
    }

    fn lock_known(&self) -> std::sync::MutexGuard<'_, HashMap<TimeKey, Time>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of `run` for a candidate's schedule, simulating `calls` calls.
    fn simulate_candidate(
        &self,
        cell: &Cell,
        candidate: &Candidate,
        calls: u32,
        run: impl Fn(&Schedule, &Setting<'_>) -> Result<f64, SimulationError>,
    ) -> Time {
        if !matches!(candidate, Candidate::Ours { .. }) {
            return Err(Refusal(format!("{candidate} cannot be simulated")));
        }
        let through_shared = match candidate.parameters().through {
            Through::Mpi => None,
            Through::Shared => Some(self.machine.through_shared().ok_or_else(|| {
                refusal_from(SimulationError::NoLink {
                    machine: self.machine.name.clone(),
                    level: Level::Shared,
                })
            })?),
        };
        let name = candidate.algorithm();
        let unknown = || Refusal(format!("there is no algorithm {name}"));
        let algorithm = schedule::find_algorithm(name).ok_or_else(unknown)?;
        let parameters = candidate.parameters();
        let topology = Topology::new(cell.shape.nodes, cell.shape.ppn, self.placement);
        // The order in which contributions are combined does not affect the time.
        let request = Request {
            commutative: true,
            placed: topology.placed(),
            ..cell.schedule_request(&parameters)
        };
        let schedule = Schedule::new(algorithm, &request).map_err(refusal_from)?;
        let messages = f64::from(calls) * expected_messages(&schedule);
        if messages > MOST_MESSAGES {
            return Err(Refusal(format!(
                "about {messages:.0e} messages are too many to be simulated in a campaign"
            )));
        }
        let setting = Setting {
            machine: through_shared.as_ref().unwrap_or(&self.machine),
            topology,
            unit_bytes: cell.datatype.size_bytes(),
        };
        let slowed = self.slowed.iter().filter(|(slowed, _)| slowed == name);
        let factor: f64 = slowed.map(|(_, factor)| factor).product();
        Ok(run(&schedule, &setting).map_err(refusal_from)? * factor)
    }
}

/// Catches panics, because a defect of the simulator must not end the whole campaign.
fn catch_panics(find: impl FnOnce() -> Time) -> Time {
    let failed = |_| Err(Refusal("the simulator failed, which is a bug".to_owned()));
    panic::catch_unwind(AssertUnwindSafe(find)).unwrap_or_else(failed)
}

fn refusal_from(error: impl std::error::Error) -> Refusal {
    Refusal(error.to_string())
}
