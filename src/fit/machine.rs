//! The machine's parameters, from the experiments on it.

use std::collections::BTreeMap;

use model::{Level, Link, Machine, Rates};
use serde::Serialize;
use wire::{Cell, CommShape, Datatype, Experiment, ExperimentKind, Operator, Subject};

use crate::estimate::{Estimate, ParameterEstimate, Status};
use crate::line::Point;
use crate::parameters::line_parameters;
use crate::{CONFIDENCE, FitError, Summary};

/// What the experiments say about the machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MachineFit {
    /// The machine, as far as it is known; absent if no level's `alpha` and `beta` both are.
    pub machine: Option<Machine>,
    /// `gamma` of each combination that was measured and identified, in seconds per byte.
    pub gammas: Vec<(Datatype, Operator, f64)>,
    /// Every parameter that there were experiments for, used or not.
    pub parameters: Vec<ParameterEstimate>,
}

impl MachineFit {
    /// The rates that hold for a cell, with the `gamma` of its datatype and operator where it is
    /// known and the machine's otherwise; `None` if the cell's level is unknown.
    pub fn rates(&self, cell: &Cell) -> Option<Rates> {
        let machine = self.machine.as_ref()?;
        let rates = machine.rates(Level::of_nodes(cell.shape.nodes))?;
        let own = |(datatype, operator, gamma): &(Datatype, Operator, f64)| {
            (*datatype == cell.datatype && Some(*operator) == cell.operator).then_some(*gamma)
        };
        Some(Rates {
            gamma: self.gammas.iter().find_map(own).or(rates.gamma),
            ..rates
        })
    }
}

/// Estimates the machine's parameters from the summaries of experiments; others are ignored.
///
/// `alpha` and `beta` come from ping-pongs. An exchange is compared with the ping-pong of its
/// turn and size, apart for the sizes below `alpha / beta` (`exchange_latency`) and from there
/// on (`exchange_bandwidth`): a ratio of 1 means that both directions are really used at once, of
/// 2 that they take turns. `gamma` is the time per byte of a combination; the machine's own is the
/// median over datatypes and operators.
///
/// The statistical unit is the turn: the first launch of every experiment, the second, and so on. That
/// is the launch, unless one was interrupted; then it and the one that made up for it are one turn. A
/// line is fitted to each turn that measured enough sizes, a parameter is the median of what these
/// lines say, and its interval is that of this median, at the coverage that so many turns attain. A
/// single one is enough for a parameter to be identified, since block sizes are to be predicted after
/// the first launch; its interval is then the value alone and covers nothing.
///
/// # Errors
/// Only if a search cannot be carried out; what the samples do not determine has a [`Status`].
pub fn fit_machine(name: &str, summaries: &[Summary]) -> Result<MachineFit, FitError> {
    let experiments = Experiments::new(summaries);
    let mut parameters = Vec::new();
    let mut links = BTreeMap::new();
    for (level, points) in &experiments.ping_pongs {
        let [alpha, beta] = line_parameters(
            points,
            [
                (format!("{}.alpha", level.name()), "s"),
                (format!("{}.beta", level.name()), "s/byte"),
            ],
        )?;
        if let (Some(alpha), Some(beta)) = (alpha.value(), beta.value()) {
            links.insert(
                *level,
                Link {
                    alpha,
                    overhead: None,
                    beta,
                    eager_limit: None,
                },
            );
        }
        parameters.extend([alpha, beta]);
    }
    for (level, points) in &experiments.exchanges {
        let ping_pongs = experiments
            .ping_pongs
            .get(level)
            .map_or(&[][..], Vec::as_slice);
        parameters.extend(exchange_factors(
            *level,
            points,
            ping_pongs,
            links.get(level),
        ));
    }
    let mut gammas = Vec::new();
    for ((datatype, operator), points) in &experiments.combines {
        let name = format!("gamma.{}.{}", datatype.name(), operator.name());
        let [_, gamma] = line_parameters(points, [(String::new(), "s"), (name, "s/byte")])?;
        gammas.extend(gamma.value().map(|gamma| (*datatype, *operator, gamma)));
        parameters.push(gamma);
    }
    let machine = (!links.is_empty()).then(|| Machine {
        name: name.to_owned(),
        ranks_per_node: experiments.ranks_per_node,
        network: links.get(&Level::Network).copied(),
        node: links.get(&Level::Node).copied(),
        injection_beta: None,
        gamma: statistics::median(&gammas.iter().map(|(.., gamma)| *gamma).collect::<Vec<_>>()),
        copy: None,
        noise: None,
    });
    Ok(MachineFit {
        machine,
        gammas,
        parameters,
    })
}

/// The launches' medians of all experiments, sorted by what they tell about.
struct Experiments {
    ping_pongs: BTreeMap<Level, Vec<Point>>,
    exchanges: BTreeMap<Level, Vec<Point>>,
    combines: BTreeMap<(Datatype, Operator), Vec<Point>>,
    ranks_per_node: u32,
}

impl Experiments {
    fn new(summaries: &[Summary]) -> Self {
        let (mut ping_pongs, mut exchanges) = (BTreeMap::new(), BTreeMap::new());
        let mut combines = BTreeMap::new();
        for summary in summaries {
            let Subject::Experiment(Experiment { kind, shape, bytes }) = summary.subject else {
                continue;
            };
            let points: &mut Vec<Point> = match kind {
                ExperimentKind::PingPong => ping_pongs.entry(level(shape)).or_default(),
                ExperimentKind::Exchange => exchanges.entry(level(shape)).or_default(),
                ExperimentKind::Combine { datatype, operator } => {
                    combines.entry((datatype, operator)).or_default()
                }
            };
            // The number of the turn.
            let bytes = bytes as f64;
            let medians = summary.launch_medians.iter().zip(1..);
            points.extend(medians.map(|(&(_, seconds), launch)| Point {
                launch,
                bytes,
                seconds,
            }));
        }
        let ranks_per_node = summaries
            .iter()
            .map(|summary| summary.subject.shape().ppn)
            .max();
        let ranks_per_node = ranks_per_node.unwrap_or(1).max(1);
        Self {
            ping_pongs,
            exchanges,
            combines,
            ranks_per_node,
        }
    }
}

/// The level that the first two ranks of a launch talk on: launchers fill a node before the next.
fn level(shape: CommShape) -> Level {
    if shape.nodes > 1 && shape.ppn == 1 {
        Level::Network
    } else {
        Level::Node
    }
}

fn exchange_factors(
    level: Level,
    exchanges: &[Point],
    ping_pongs: &[Point],
    link: Option<&Link>,
) -> [ParameterEstimate; 2] {
    let names = ["latency", "bandwidth"].map(|part| format!("{}.exchange_{part}", level.name()));
    let Some(link) = link else {
        let parameter = format!("{}.alpha or beta", level.name());
        return names.map(|name| {
            ParameterEstimate::unknown(
                name,
                "1",
                Status::Needs {
                    parameter: parameter.clone(),
                },
            )
        });
    };
    let boundary = link.alpha / link.beta;
    let (small, large): (Vec<Point>, Vec<Point>) = exchanges
        .iter()
        .copied()
        .partition(|point| point.bytes < boundary);
    let [latency, bandwidth] = names;
    [(latency, small), (bandwidth, large)].map(|(name, exchanges)| {
        exchange_factor(name.clone(), &exchanges, ping_pongs).unwrap_or_else(|| {
            ParameterEstimate::unknown(
                name,
                "1",
                Status::TooFewSizes {
                    sizes: 0,
                    needed: 1,
                },
            )
        })
    })
}

/// The median over launches of the launch's median ratio over sizes.
fn exchange_factor(
    name: String,
    exchanges: &[Point],
    ping_pongs: &[Point],
) -> Option<ParameterEstimate> {
    let mut ratios: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for exchange in exchanges {
        let same = |p: &&Point| (p.launch, p.bytes) == (exchange.launch, exchange.bytes);
        if let Some(ping_pong) = ping_pongs.iter().find(same) {
            ratios
                .entry(exchange.launch)
                .or_default()
                .push(exchange.seconds / ping_pong.seconds);
        }
    }
    let medians: Vec<f64> = ratios
        .values()
        .filter_map(|of| statistics::median(of))
        .collect();
    let value = statistics::median(&medians)?;
    let interval = statistics::median_interval(&medians, CONFIDENCE)?;
    let errors: Vec<f64> = ratios
        .values()
        .flatten()
        .map(|r| (value / r - 1.0).abs())
        .collect();
    let estimate = Estimate {
        value,
        low: interval.low,
        high: interval.high,
        coverage: interval.coverage,
        residual: statistics::median(&errors)?,
    };
    Some(ParameterEstimate::judged(name, "1", estimate))
}
