//! The times of experiments, by the rules of [`model::simulate()`] in closed form.
//!
//! A message of `n` bytes occupies the ports of both its ranks for `overhead + beta n`, and is delivered after `alpha +
//! beta n`. Ranks are full duplex. Between nodes `beta` is that of the port that the ranks of a node share, if that is
//! slower, and the port's gap separates messages on the same rail.
//!
//! As these are the simulator's own rules, a fit of a simulated machine must give that machine back.

use model::{Level, Line, Link, Machine, SimulationError};
use thiserror::Error;
use vocabulary::{Experiment, ExperimentKind};

/// A reason why an experiment has no time.
#[derive(Debug, Error)]
pub(crate) enum NoTime {
    /// The cost of messages or combinations is unknown.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The cost of copies is unknown: they are free and cannot be measured.
    #[error("the machine `{machine}` has no `copy`: the cost of copying is unknown")]
    NoCopy { machine: String },
}

/// The time of a repetition of an experiment.
pub(crate) fn experiment_seconds(
    machine: &Machine,
    experiment: &Experiment,
) -> Result<f64, NoTime> {
    let &Experiment {
        kind, shape, bytes, ..
    } = experiment;
    let bytes = bytes as f64;
    let costs = || link_costs(machine, Level::of_experiment(experiment));
    Ok(match kind {
        ExperimentKind::PingPong => one_way_seconds(&costs()?, bytes),
        // Each direction has its own ports.
        ExperimentKind::Exchange | ExperimentKind::Shift => {
            let link = costs()?;
            let exchange = link.line_for_size(experiment.bytes).exchange.unwrap_or(1.0);
            let factor = match kind {
                ExperimentKind::Shift => link.shift.unwrap_or(exchange),
                _ => exchange,
            };
            one_way_seconds(&link, bytes) * factor
        }
        ExperimentKind::Burst => {
            let link = costs()?;
            // The ranks of a node take turns at its port: a rank's next message waits until each of them has sent one.
            let turns = if experiment.is_among_nodes() {
                shape.ppn
            } else {
                1
            };
            let port = f64::from(turns) * port_seconds(machine, experiment);
            several_messages_seconds(&link, ExperimentKind::BURST, bytes, link.fan_out, port)
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
            let line = costs.line_for_size(experiment.bytes);
            waiting + line.overhead.unwrap_or(line.alpha) + line.beta * bytes
        }
        ExperimentKind::FanOut | ExperimentKind::FanIn => {
            let link = costs()?;
            let fan = match kind {
                ExperimentKind::FanOut => link.fan_out,
                _ => link.fan_in,
            };
            let port = port_seconds(machine, experiment);
            several_messages_seconds(&link, shape.ranks().saturating_sub(1), bytes, fan, port)
        }
        ExperimentKind::Injection => {
            let link = costs()?;
            let line = link.line_for_size(experiment.bytes);
            let gap = machine.injection_gap.unwrap_or(0.0);
            let on_port = machine.injection_beta.unwrap_or(0.0) * bytes;
            let rails = machine.rails.unwrap_or(1).max(1);
            // As many messages as there are rails pass at once; their answers follow in this order.
            let mut answered = f64::NEG_INFINITY;
            for before in 0..shape.ppn.div_ceil(rails) {
                let passed = f64::from(before) * (on_port + gap) + on_port;
                let delivered = line.alpha + (line.beta * bytes).max(passed);
                answered = delivered.max(answered + gap);
            }
            answered + one_way_seconds(&link, 0.0)
        }
        ExperimentKind::Combine { .. } if !experiment.through.is_mpi() => {
            let link = costs()?;
            let gamma = link.gamma.or(machine.gamma);
            one_way_seconds(&link, bytes) + gamma.ok_or_else(|| no_gamma(machine))? * bytes
        }
        ExperimentKind::Combine { .. } => {
            match Line::for_size(&machine.combining, experiment.bytes) {
                Some(line) => line.seconds(experiment.bytes),
                None => machine.gamma.ok_or_else(|| no_gamma(machine))? * bytes,
            }
        }
        ExperimentKind::Copy => match Line::for_size(&machine.copying, experiment.bytes) {
            Some(line) => line.seconds(experiment.bytes),
            None => machine.copy.ok_or_else(|| no_copy(machine))? * bytes,
        },
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

/// The costs of messages on a level, including those of the port that the ranks of a node share.
fn link_costs(machine: &Machine, level: Level) -> Result<Link, SimulationError> {
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

fn one_way_seconds(link: &Link, bytes: f64) -> f64 {
    link.line_for_size(bytes as u64).seconds(bytes as u64)
}

/// The time that each of many messages to or from one rank occupies the port that the ranks of its node share, if that
/// port has a gap.
fn port_seconds(machine: &Machine, experiment: &Experiment) -> f64 {
    let gap = machine.injection_gap;
    let Some(gap) = gap.filter(|_| Level::of_experiment(experiment) == Level::Network) else {
        return 0.0;
    };
    let beta = machine.injection_beta.unwrap_or(0.0);
    (beta * experiment.bytes as f64 + gap) / f64::from(machine.rails.unwrap_or(1).max(1))
}

/// The time of several messages that a rank sends at once, with the answer to the last one, or that a rank requests at
/// once. They pass one of its ports, or its node's shared port, one after the other. Empty messages use the other
/// ports, where they never wait longer than the next message takes.
fn several_messages_seconds(
    link: &Link,
    messages: u32,
    bytes: f64,
    fan: Option<f64>,
    port: f64,
) -> f64 {
    let others = f64::from(messages.saturating_sub(1));
    let line = link.line_for_size(bytes as u64);
    let busy = line.overhead.unwrap_or(line.alpha) + line.beta * bytes * fan.unwrap_or(1.0);
    others * busy.max(port) + one_way_seconds(link, bytes) + one_way_seconds(link, 0.0)
}
