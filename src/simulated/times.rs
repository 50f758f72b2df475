//! Times without noise.

use std::collections::HashMap;
use std::num::NonZero;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use model::{Level, Machine, Placement, Setting, Topology, expected_messages, simulate};
use schedule::{Algorithm, Request, Schedule};
use thiserror::Error;
use vocabulary::{Candidate, Cell, CommShape, Subject};

use crate::experiments;
use crate::rules::Rules;

/// A candidate that sends more messages is left out: it would be simulated for minutes.
const MOST_MESSAGES: f64 = 5e8;
/// Ranks in all simulations that run at once: some 200 bytes of memory each, and as much again for
/// every message under way.
const MOST_RANKS: u32 = 1 << 22;

/// Why a candidate has no time. All say that it cannot be simulated here.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{0}")]
pub(crate) struct Refusal(String);

type Time = Result<f64, Refusal>;

/// The times of everything that was asked for, each simulated once.
pub(crate) struct Times {
    machine: Machine,
    placement: Placement,
    rules: Rules,
    /// Algorithms that take so many times longer than the simulator finds.
    slowed: Vec<(String, f64)>,
    known: Mutex<HashMap<(Subject, Candidate), Time>>,
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

    /// The same with an algorithm that takes so many times longer.
    pub(crate) fn slowed(&self, algorithm: &str, factor: f64) -> Self {
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

    /// The time of a candidate of a subject in seconds.
    pub(crate) fn of(&self, subject: Subject, candidate: &Candidate) -> Time {
        // The default is simulated as what it chooses.
        let candidate = match (&subject, candidate) {
            (Subject::Cell(cell), Candidate::Default | Candidate::Placebo) => {
                self.rules.choice(cell).map_err(refused)?
            }
            _ => candidate.clone(),
        };
        let key = (subject, candidate);
        let known = self.lock().get(&key).cloned();
        known.unwrap_or_else(|| {
            // A mistake in the simulator must not take the whole campaign down.
            let found = panic::catch_unwind(AssertUnwindSafe(|| match &key {
                (Subject::Cell(cell), candidate) => self.of_cell(cell, candidate),
                (Subject::Experiment(experiment), _) => {
                    let seconds = experiments::seconds(&self.machine, experiment);
                    seconds.map_err(refused)
                }
            }));
            let failed = |_| Err(Refusal("the simulator failed, which is a bug".to_owned()));
            let time = found.unwrap_or_else(failed);
            self.lock().insert(key, time.clone());
            time
        })
    }

    /// Finds the times of several candidates at once, until `is_over`: on all cores, unless that many
    /// simulations of so many ranks might not fit into memory.
    pub(crate) fn prepare(
        &self,
        subject: Subject,
        candidates: &[Candidate],
        is_over: &(dyn Fn() -> bool + Sync),
    ) {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(candidate) = candidates.get(next.fetch_add(1, Ordering::Relaxed)) {
                if is_over() {
                    return;
                }
                // What comes of it is remembered.
                let _ = self.of(subject, candidate);
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

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(Subject, Candidate), Time>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of_cell(&self, cell: &Cell, candidate: &Candidate) -> Time {
        if !matches!(candidate, Candidate::Ours { .. }) {
            return Err(Refusal(format!("{candidate} cannot be simulated")));
        }
        let name = candidate.algorithm();
        let unknown = || Refusal(format!("there is no algorithm {name}"));
        let algorithm = schedule::find(name).ok_or_else(unknown)?;
        let parameters = candidate.parameters();
        let request = cell.request(&parameters);
        let slowed = self.slowed.iter().filter(|(slowed, _)| slowed == name);
        let factor: f64 = slowed.map(|(_, factor)| factor).product();
        let seconds = self.simulate(algorithm, &request, cell.shape, cell.datatype.size_bytes())?;
        Ok(seconds * factor)
    }

    fn simulate(
        &self,
        algorithm: &'static Algorithm,
        request: &Request<'_>,
        shape: CommShape,
        unit_bytes: u64,
    ) -> Time {
        let schedule = Schedule::new(algorithm, request).map_err(refused)?;
        let messages = expected_messages(&schedule);
        if messages > MOST_MESSAGES {
            return Err(Refusal(format!(
                "about {messages:.0e} messages are too many to be simulated in a campaign"
            )));
        }
        let setting = Setting {
            machine: &self.machine,
            topology: Topology::new(shape.nodes, shape.ppn, self.placement),
            unit_bytes,
        };
        let simulation = simulate(&schedule, &setting).map_err(refused)?;
        Ok(simulation.seconds)
    }
}

fn refused(error: impl std::error::Error) -> Refusal {
    Refusal(error.to_string())
}
