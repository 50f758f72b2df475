//! The times of experiments, by the rules of [`model::simulate()`] in closed form.
//!
//! A message of `n` bytes occupies the ports of both its ranks for `overhead + beta n`, and is there
//! after `alpha + beta n`. Ranks are full duplex. Between nodes `beta` is the port's that the ranks of
//! a node share, if that is slower, and the port's gap keeps messages apart that pass the same rail.

use model::{Level, Line, Link, Machine, SimulationError};
use thiserror::Error;
use vocabulary::{CommShape, Experiment, ExperimentKind, Through};

/// Why an experiment has no time.
#[derive(Debug, Error)]
pub(crate) enum NoTime {
    /// The machine does not say what messages or combinations cost.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// It does not say what copies cost: they are free, which cannot be measured.
    #[error("the machine `{machine}` does not say what copying costs: there is no `copy`")]
    NoCopy { machine: String },
}

/// What a repetition of an experiment takes.
pub(crate) fn seconds(machine: &Machine, experiment: &Experiment) -> Result<f64, NoTime> {
    let &Experiment {
        kind, shape, bytes, ..
    } = experiment;
    let bytes = bytes as f64;
    let costs = || costs(machine, level(experiment));
    Ok(match kind {
        ExperimentKind::PingPong => one_way(&costs()?, bytes),
        // In both directions each message has ports of its own.
        ExperimentKind::Exchange | ExperimentKind::Shift => {
            let link = costs()?;
            let exchange = link.line(experiment.bytes).exchange.unwrap_or(1.0);
            let factor = match kind {
                ExperimentKind::Shift => link.shift.unwrap_or(exchange),
                _ => exchange,
            };
            one_way(&link, bytes) * factor
        }
        ExperimentKind::Burst => {
            let link = costs()?;
            // One of as many ranks as send through their node's port has it once in so many messages.
            let turns = if experiment.is_among_nodes() {
                shape.ppn
            } else {
                1
            };
            let port = f64::from(turns) * port_seconds(machine, experiment);
            several(&link, ExperimentKind::BURST, bytes, link.fan_out, port)
                / f64::from(ExperimentKind::BURST)
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
            let line = costs.line(experiment.bytes);
            waiting + line.overhead.unwrap_or(line.alpha) + line.beta * bytes
        }
        ExperimentKind::FanOut | ExperimentKind::FanIn => {
            let link = costs()?;
            let fan = match kind {
                ExperimentKind::FanOut => link.fan_out,
                _ => link.fan_in,
            };
            let port = port_seconds(machine, experiment);
            several(&link, shape.ranks().saturating_sub(1), bytes, fan, port)
        }
        ExperimentKind::Injection => {
            let link = costs()?;
            let line = link.line(experiment.bytes);
            let gap = machine.injection_gap.unwrap_or(0.0);
            let on_port = machine.injection_beta.unwrap_or(0.0) * bytes;
            let rails = machine.rails.unwrap_or(1).max(1);
            // As many as there are rails pass together; what they bring is answered in this order.
            let mut answered = f64::NEG_INFINITY;
            for before in 0..shape.ppn.div_ceil(rails) {
                let passed = f64::from(before) * (on_port + gap) + on_port;
                let delivered = line.alpha + (line.beta * bytes).max(passed);
                answered = delivered.max(answered + gap);
            }
            answered + one_way(&link, 0.0)
        }
        ExperimentKind::Combine { .. } if !experiment.through.is_mpi() => {
            let link = costs()?;
            let gamma = link.gamma.or(machine.gamma);
            one_way(&link, bytes) + gamma.ok_or_else(|| no_gamma(machine))? * bytes
        }
        ExperimentKind::Combine { .. } => match Line::of(&machine.combining, experiment.bytes) {
            Some(line) => line.seconds(experiment.bytes),
            None => machine.gamma.ok_or_else(|| no_gamma(machine))? * bytes,
        },
        ExperimentKind::Copy => match Line::of(&machine.copying, experiment.bytes) {
            Some(line) => line.seconds(experiment.bytes),
            None => machine.copy.ok_or_else(|| no_copy(machine))? * bytes,
        },
    })
}

/// The level that the messages of an experiment pass.
fn level(experiment: &Experiment) -> Level {
    let CommShape { nodes, ppn } = experiment.shape;
    match experiment.kind {
        _ if experiment.through == Through::Shared => Level::Shared,
        ExperimentKind::Injection => Level::Network,
        _ if experiment.is_among_nodes() => Level::Network,
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
    let mut link = link.clone();
    let betas = link.lines.iter_mut().map(|line| &mut line.beta);
    for beta in betas.chain([&mut link.beta]) {
        *beta = beta.max(shared.unwrap_or(0.0));
    }
    Ok(link)
}

fn one_way(link: &Link, bytes: f64) -> f64 {
    link.line(bytes as u64).seconds(bytes as u64)
}

/// What each of many messages to or from one rank takes of the port that the ranks of its node share, if that lets
/// messages pass with a gap between them.
fn port_seconds(machine: &Machine, experiment: &Experiment) -> f64 {
    let gap = machine.injection_gap;
    let Some(gap) = gap.filter(|_| level(experiment) == Level::Network) else {
        return 0.0;
    };
    let beta = machine.injection_beta.unwrap_or(0.0);
    (beta * experiment.bytes as f64 + gap) / f64::from(machine.rails.unwrap_or(1).max(1))
}

/// Messages that a rank sends at once, and the answer to the last, or messages that a rank asks
/// for at once. One of its ports, or the one that its node shares, lets them pass one after the other. Empty ones take the other
/// ports, and never wait there longer than the next message takes.
fn several(link: &Link, messages: u32, bytes: f64, fan: Option<f64>, port: f64) -> f64 {
    let others = f64::from(messages.saturating_sub(1));
    let line = link.line(bytes as u64);
    let busy = line.overhead.unwrap_or(line.alpha) + line.beta * bytes * fan.unwrap_or(1.0);
    others * busy.max(port) + one_way(link, bytes) + one_way(link, 0.0)
}
