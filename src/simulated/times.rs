//! Times without noise.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use model::{Level, Machine, Placement, Setting, Topology, expected_messages, simulate};
use schedule::{Request, Schedule};
use thiserror::Error;
use wire::{Candidate, Cell, CommShape, Experiment, ExperimentKind, Subject};

use crate::rules::{Rules, RulesError};

/// A candidate that sends more messages is left out: it would be simulated for minutes.
const MOST_MESSAGES: f64 = 5e8;

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
    known: Mutex<HashMap<(Subject, Candidate), Time>>,
}

impl Times {
    pub(crate) fn new(machine: Machine, placement: Placement) -> Result<Self, RulesError> {
        Ok(Self {
            machine,
            placement,
            rules: Rules::published()?,
            known: Mutex::default(),
        })
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The time of a candidate of a subject in seconds.
    pub(crate) fn of(&self, subject: Subject, candidate: &Candidate) -> Time {
        let key = (subject, candidate.clone());
        let known = |times: &Self| times.lock().get(&key).cloned();
        if let Some(time) = known(self) {
            return time;
        }
        let time = match &subject {
            Subject::Cell(cell) => self.of_cell(cell, candidate),
            Subject::Experiment(experiment) => self.of_experiment(experiment),
        };
        self.lock().insert(key, time.clone());
        time
    }

    /// Finds the times of several candidates on all cores, until `is_over`.
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
        thread::scope(|scope| {
            for _ in 1..cores.min(candidates.len()) {
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
        let chosen = match candidate {
            Candidate::Default => self.rules.choice(cell).map_err(refused)?,
            Candidate::Ours { .. } => candidate.clone(),
        };
        let parameters = chosen.parameters();
        let request = cell.request(&parameters);
        self.simulate(
            chosen.algorithm(),
            &request,
            cell.shape,
            cell.datatype.size_bytes(),
        )
    }

    /// One message is what a broadcast to one other rank sends. Ranks are full duplex: an exchange
    /// takes no longer.
    fn of_experiment(&self, experiment: &Experiment) -> Time {
        let &Experiment { kind, shape, bytes } = experiment;
        match kind {
            ExperimentKind::PingPong | ExperimentKind::Exchange => {
                let request = Request {
                    units: bytes,
                    ..Request::ranks(2)
                };
                // The first two ranks of a launch share a node if they can.
                let ppn = shape.ppn.min(2);
                let pair = CommShape {
                    nodes: 2 / ppn,
                    ppn,
                };
                self.simulate("bcast/binomial", &request, pair, 1)
            }
            ExperimentKind::Combine { .. } => match self.machine.gamma {
                Some(gamma) => Ok(gamma * bytes as f64),
                None => Err(Refusal(format!(
                    "the machine `{}` does not say what combining costs: there is no `gamma`",
                    self.machine.name
                ))),
            },
        }
    }

    fn simulate(
        &self,
        name: &str,
        request: &Request<'_>,
        shape: CommShape,
        unit_bytes: u64,
    ) -> Time {
        let unknown = || Refusal(format!("there is no algorithm {name}"));
        let algorithm = schedule::find(name).ok_or_else(unknown)?;
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
