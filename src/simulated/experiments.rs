//! The times of experiments, by the rules of [`model::simulate()`] in closed form.
//!
//! A message of `n` bytes occupies the ports of both its ranks for `overhead + beta n`, and is there
//! after `alpha + beta n`. Ranks are full duplex. Between nodes `beta` is the port's that the ranks of
//! a node share, if that is slower.

use model::{Level, Link, Machine, SimulationError};
use thiserror::Error;
use vocabulary::{CommShape, Experiment, ExperimentKind};

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
    let costs = || costs(machine, level(experiment));
    Ok(match kind {
        // In both directions each message has ports of its own.
        ExperimentKind::PingPong | ExperimentKind::Exchange | ExperimentKind::Shift => {
            one_way(&costs()?, bytes)
        }
        ExperimentKind::Burst => {
            several(&costs()?, ExperimentKind::BURST, bytes) / f64::from(ExperimentKind::BURST)
        }
        ExperimentKind::Late => {
            let costs = costs()?;
            let is_eager = costs
                .eager_limit
                .is_some_and(|limit| experiment.bytes <= limit);
            let waiting = if is_eager {
                0.0
            } else {
                ExperimentKind::LATE_SECONDS
            };
            waiting + costs.overhead_seconds() + costs.beta * bytes
        }
        ExperimentKind::FanOut | ExperimentKind::FanIn => {
            several(&costs()?, shape.ranks().saturating_sub(1), bytes)
        }
        ExperimentKind::Injection => {
            let injected = machine.injection_beta.unwrap_or(0.0) * f64::from(shape.ppn);
            let Link { alpha, beta, .. } = costs()?;
            2.0 * alpha + beta.max(injected) * bytes
        }
        ExperimentKind::Combine { .. } => machine.gamma.ok_or_else(|| no_gamma(machine))? * bytes,
        ExperimentKind::Copy => machine.copy.ok_or_else(|| no_copy(machine))? * bytes,
    })
}

/// The level that the messages of an experiment pass.
fn level(experiment: &Experiment) -> Level {
    let CommShape { nodes, ppn } = experiment.shape;
    match experiment.kind {
        ExperimentKind::Injection => Level::Network,
        _ if ppn > 1 => Level::Node,
        _ => Level::of_nodes(nodes),
    }
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

/// What messages cost on a level, with the port that the ranks of a node share.
fn costs(machine: &Machine, level: Level) -> Result<Link, SimulationError> {
    let Some(link) = machine.link(level) else {
        let machine = machine.name.clone();
        return Err(SimulationError::NoLink { machine, level });
    };
    let shared = machine.injection_beta.filter(|_| level == Level::Network);
    Ok(Link {
        beta: link.beta.max(shared.unwrap_or(0.0)),
        ..*link
    })
}

fn one_way(link: &Link, bytes: f64) -> f64 {
    link.alpha + link.beta * bytes
}

/// Messages that a rank sends at once, and the answer to the last, or messages that a rank asks
/// for at once. One of its ports lets them pass one after the other. Empty ones take the other
/// ports, and never wait there longer than the next message takes.
fn several(link: &Link, messages: u32, bytes: f64) -> f64 {
    let others = f64::from(messages.saturating_sub(1));
    let busy = link.overhead_seconds() + link.beta * bytes;
    others * busy + one_way(link, bytes) + link.alpha
}
