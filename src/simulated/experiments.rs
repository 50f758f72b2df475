//! The times of experiments, by the rules of [`model::simulate()`] in closed form.
//!
//! A message of `n` bytes occupies the ports of both its ranks for `overhead + beta n`, and is there
//! after `alpha + beta n`. Ranks are full duplex. Between nodes `beta` is the port's that the ranks of
//! a node share, if that is slower.

use model::{Level, Link, Machine, SimulationError};
use thiserror::Error;
use wire::{CommShape, Experiment, ExperimentKind};

/// Why an experiment has no time.
#[derive(Debug, Error)]
pub(crate) enum NoTime {
    /// The machine does not say what messages or combinations cost.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// It does not say what copies cost: they are free, which cannot be measured.
    #[error("the machine `{machine}` does not say what copying costs: there is no `copy`")]
    NoCopy {
        /// The name of the machine.
        machine: String,
    },
}

/// What a repetition of an experiment takes.
pub(crate) fn seconds(machine: &Machine, experiment: &Experiment) -> Result<f64, NoTime> {
    let &Experiment { kind, shape, bytes } = experiment;
    let bytes = bytes as f64;
    Ok(match kind {
        // In an exchange each message has ports of its own.
        ExperimentKind::PingPong | ExperimentKind::Exchange => {
            let Costs { alpha, beta, .. } = Costs::new(machine, shape)?;
            alpha + beta * bytes
        }
        ExperimentKind::Burst => Costs::new(machine, shape)?.burst(bytes),
        ExperimentKind::Combine { .. } => machine.gamma.ok_or_else(|| no_gamma(machine))? * bytes,
        ExperimentKind::Copy => machine.copy.ok_or_else(|| no_copy(machine))? * bytes,
    })
}

fn no_gamma(machine: &Machine) -> SimulationError {
    SimulationError::NoGamma {
        machine: machine.name.clone(),
    }
}

fn no_copy(machine: &Machine) -> NoTime {
    NoTime::NoCopy {
        machine: machine.name.clone(),
    }
}

/// What messages cost on the level of an experiment.
struct Costs {
    alpha: f64,
    overhead: f64,
    beta: f64,
}

impl Costs {
    /// Of a shape's messages: those of two nodes with one rank each pass the network.
    fn new(machine: &Machine, shape: CommShape) -> Result<Self, SimulationError> {
        let level = Level::of_nodes(if shape.ppn > 1 { 1 } else { shape.nodes });
        let Some(link) = machine.link(level) else {
            let machine = machine.name.clone();
            return Err(SimulationError::NoLink { machine, level });
        };
        let shared = machine
            .injection_beta
            .filter(|_| level == Level::Network)
            .unwrap_or(0.0);
        let &Link { alpha, beta, .. } = link;
        Ok(Self {
            alpha,
            overhead: link.overhead.unwrap_or(alpha),
            beta: beta.max(shared),
        })
    }

    /// All messages are ready at once and the ports let them pass one after the other; the answer,
    /// which waits for the last, has the other ports.
    fn burst(&self, bytes: f64) -> f64 {
        let messages = f64::from(ExperimentKind::BURST);
        let last_begins = (messages - 1.0) * (self.overhead + self.beta * bytes);
        (last_begins + self.alpha + self.beta * bytes + self.alpha) / messages
    }
}
