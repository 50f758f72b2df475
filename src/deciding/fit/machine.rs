//! The machine's parameters, estimated from experiments.
//!
//! A parameter that the data do not determine has a status instead of a value and is not used. A value on which most
//! launches agree is determined, whatever the others say, because a virtual machine changes when its processors are
//! moved.
//!
//! Messages through shared memory make a level of their own, whose link has a `gamma` too (`arrivals.rs`). Where one
//! line through all sizes leaves `alpha` or `beta` open, they are those of the first and of the last protocol segment
//! (`protocols.rs`). A link has lines by size (`lines.rs`): those of the protocol segments, or lines through
//! neighbouring sizes where these are off, with the factors of exchanges (`factors.rs`). Where there is but one segment
//! and no factor, the machine is what it was in version 0.1, so that fits reproduce simulated machines.

use std::collections::BTreeMap;

use model::{Level, Line, Link, Machine, PostAhead, Rates, Tiers};
use vocabulary::{Cell, Datatype, Operator, Placement, Through};

use crate::FitError;
use crate::arrivals::gammas_of_arrivals;
use crate::calibrate::Calibration;
use crate::eager::fit_eager_limit;
use crate::experiments::{Experiments, LevelMessages};
use crate::factors::{fan_factor, pattern_factors};
use crate::injection::{fit_injection_beta, fit_injection_gap};
use crate::line::OperationTime;
use crate::lines::{link_with_lines, rates_by_size};
use crate::overhead::fit_overhead;
use crate::parameters::line_parameters;
use crate::poor_predictions::find_poor_predictions;
use crate::prediction_cache::PredictionCache;
use crate::protocols::{mark_eager_limit_end, protocol_segments};
use results::{ParameterEstimate, PoorPrediction, ProtocolSegment, Summary};

/// The parameters of a machine, estimated from experiments.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineFit {
    /// The machine, as far as it is known; `None` if no level has both `alpha` and `beta`.
    pub machine: Option<Machine>,
    /// `gamma` of each combination that was measured and identified, in seconds per byte.
    pub gammas: BTreeMap<(Datatype, Operator), f64>,
    /// All parameters that experiments determine, whether used or not.
    pub parameters: Vec<ParameterEstimate>,
    /// The cost of combining by size, where it differs from `gamma`.
    pub combining: BTreeMap<(Datatype, Operator), Vec<Line>>,
    /// The lines that messages follow, by level and size.
    pub segments: Vec<ProtocolSegment>,
    /// Sizes at which the parameters do not reproduce the experiments.
    pub poor_predictions: Vec<PoorPrediction>,
    /// The changes to the machine from the times of collectives.
    pub calibration: Option<Box<Calibration>>,
    /// The placement of ranks on nodes that [`crate::predicted_seconds`] assumes.
    pub placement: Placement,
    /// The times that [`crate::predicted_seconds`] has computed.
    pub predictions: PredictionCache,
}

impl MachineFit {
    /// A machine that is assumed to be known, instead of fitted to measurements.
    pub fn from_known_machine(machine: Machine, placement: Placement) -> Self {
        Self {
            machine: Some(machine),
            gammas: BTreeMap::new(),
            parameters: Vec::new(),
            combining: BTreeMap::new(),
            segments: Vec::new(),
            poor_predictions: Vec::new(),
            calibration: None,
            placement,
            predictions: PredictionCache::default(),
        }
    }

    /// Whether the costs of messages through MPI on a cell's level are known.
    pub fn knows_level(&self, cell: &Cell) -> bool {
        self.message_rates(cell, Through::Mpi, cell.bytes).is_some()
    }

    /// The rates that hold for messages of a size in a cell, with the `gamma` of its datatype and operator
    /// where it is known and the machine's otherwise; `None` if the cell's level is unknown.
    pub fn message_rates(&self, cell: &Cell, through: Through, bytes: u64) -> Option<Rates> {
        Some(self.message_tiers(cell, through, bytes)?.network)
    }

    /// The rates within and between nodes; unknown rates within nodes are taken from those between nodes.
    pub(crate) fn message_tiers(&self, cell: &Cell, through: Through, bytes: u64) -> Option<Tiers> {
        let machine = self.machine_for_cell(cell, through, self.machine.as_ref()?)?;
        let line = machine
            .link(Level::of_nodes(cell.shape.nodes))?
            .line_for_size(bytes);
        Some(tiers_of_line(&machine, cell, line, bytes))
    }

    /// The longest message in bytes that is sent eagerly on the slowest level of a cell, if there is a limit.
    pub(crate) fn eager_limit(&self, cell: &Cell, through: Through) -> Option<u64> {
        let machine = self.machine_for_cell(cell, through, self.machine.as_ref()?)?;
        machine.link(Level::of_nodes(cell.shape.nodes))?.eager_limit
    }

    /// The rates of each of the lines that messages may follow in a cell.
    pub(crate) fn rates_of_lines(&self, cell: &Cell, through: Through) -> Vec<Tiers> {
        let machine = self.machine.as_ref();
        let Some(machine) =
            machine.and_then(|machine| self.machine_for_cell(cell, through, machine))
        else {
            return Vec::new();
        };
        let Some(link) = machine.link(Level::of_nodes(cell.shape.nodes)) else {
            return Vec::new();
        };
        let straight = [link.line_for_size(0)];
        let lines = if link.lines.is_empty() {
            &straight[..]
        } else {
            &link.lines
        };
        let tiers = |line: &Line| tiers_of_line(&machine, cell, *line, line.from);
        lines.iter().map(tiers).collect()
    }

    /// The machine with the rates for combining and for messages that apply in a cell; `None` if these are unknown.
    pub(crate) fn machine_for_cell(
        &self,
        cell: &Cell,
        through: Through,
        machine: &Machine,
    ) -> Option<Machine> {
        let own = cell.operator.map(|operator| (cell.datatype, operator));
        let own = own.and_then(|own| self.combining.get(&own));
        let machine = Machine {
            gamma: self.gamma(cell),
            combining: own.cloned().unwrap_or_default(),
            ..machine.clone()
        };
        match through {
            Through::Mpi => Some(machine),
            Through::Shared => machine.through_shared(),
        }
    }

    /// The `gamma` of a cell's datatype and operator, or else the machine's.
    pub(crate) fn gamma(&self, cell: &Cell) -> Option<f64> {
        let own = cell.operator.map(|operator| (cell.datatype, operator));
        let own = own.and_then(|own| self.gammas.get(&own)).copied();
        own.or_else(|| self.machine.as_ref()?.gamma)
    }
}

/// The rates of messages of about this length: those of a line at the slowest level that a cell uses, and those within
/// nodes.
fn tiers_of_line(machine: &Machine, cell: &Cell, line: Line, bytes: u64) -> Tiers {
    let slowest = rates_on_line(machine, line);
    let several = Level::of_nodes(cell.shape.nodes) == Level::Network;
    let within = machine.link(Level::Node).filter(|_| several);
    let within = within.map(|link| rates_on_line(machine, link.line_for_size(bytes)));
    machine.tiers_with_rates(within.unwrap_or(slowest), slowest)
}

/// The rates of messages whose time follows the line `alpha + beta m`: start-up time and the part of it in which
/// ports are busy, in seconds, and seconds per byte sent and combined.
fn rates_on_line(machine: &Machine, line: Line) -> Rates {
    Rates {
        alpha: line.alpha,
        overhead: line.overhead.unwrap_or(line.alpha),
        beta: line.beta,
        gamma: machine.gamma,
    }
}

/// Estimates the machine's parameters from the summaries of experiments; other summaries are ignored.
///
/// - `alpha` and `beta` come from ping-pongs.
/// - `overhead` is the time of a message of a burst without its bytes and its share of the answer, which requires
///   `alpha`.
/// - `eager_limit` is the largest measured message that was sent without waiting for its receiver; it requires the
///   line.
/// - `injection_beta` is the time per byte in the port that the ranks of a node share, if the experiments show sharing.
///   `injection_gap` is the time per message there, from bursts of one rank and of all ranks of a node.
/// - `gamma` is the time per byte of a combination; the machine's own is the median over datatypes and operators.
///   `copy` is that of a copy.
/// - Messages through shared memory have the same parameters (`shared.alpha`) and a `gamma` of their own: the
///   additional time per byte of data that is combined as it arrives.
///
/// An exchange is compared with the ping-pong of its turn and size, separately for the sizes below `alpha / beta`
/// (`exchange_latency`) and from there on (`exchange_bandwidth`): a ratio of 1 means that both directions are used at
/// once, 2 that they take turns. A shift, in which the two partners are different ranks, is compared in the same way.
/// The time per byte to or from `k` partners at once is divided by `k beta`: 1 means that the messages of a rank take
/// turns, `1 / k` that they share nothing.
///
/// The statistical unit is the turn: the first launch of every experiment, the second, and so on. A turn is a launch,
/// or an interrupted launch together with the one that replaced it. A line is fitted to each turn that measured enough
/// sizes. A parameter is the median over these lines, and its interval is that of this median, at the coverage that the
/// number of turns attains. A single turn is enough to identify a parameter, since block sizes are to be predicted
/// after the first launch; its interval is then the value alone, with coverage 0.
///
/// # Errors
/// A search cannot be carried out. Parameters that the samples do not determine have a [`results::Status`] instead.
///
/// The placement of ranks is block; set another one before the first prediction.
pub fn fit_machine(name: &str, summaries: &[Summary]) -> Result<MachineFit, FitError> {
    let experiments = Experiments::from_summaries(summaries);
    let (mut parameters, mut segments) = (Vec::new(), Vec::new());
    let mut links = BTreeMap::new();
    // Lines of single messages come first: all other experiments are explained by them.
    for (level, messages) in &experiments.messages {
        let mut found = protocol_segments(*level, &messages.ping_pongs)?;
        let (link, of_link) = fit_link(*level, messages, &found)?;
        if let Some(link) = link {
            mark_eager_limit_end(&mut found, link.eager_limit);
            links.insert(*level, link_with_lines(*level, link, messages, &found)?);
        }
        segments.extend(found);
        parameters.extend(of_link);
    }
    // Exchanges, shifts, fans and late receivers are factors on these lines, or gaps beside them.
    for (level, messages) in &experiments.messages {
        parameters.extend(fit_patterns(*level, messages, links.get(level))?);
        let gammas = gammas_of_arrivals(*level, messages, links.get(level));
        let known: Vec<f64> = gammas.iter().filter_map(ParameterEstimate::value).collect();
        parameters.extend(gammas);
        if let Some(link) = links.get_mut(level) {
            link.gamma = statistics::median(&known);
        }
    }
    // What the ranks of a node share when they send at once shows only in experiments of several ranks.
    let injection = fit_injection_beta(&experiments.injections)?;
    let injection_beta = injection.as_ref().and_then(ParameterEstimate::value);
    parameters.extend(injection);
    let of_network = parameters
        .iter()
        .find(|found| found.name == "network.alpha");
    let alpha = of_network.and_then(ParameterEstimate::usable_estimate);
    let overhead = links.get(&Level::Network).and_then(|link| link.overhead);
    let gap = fit_injection_gap(&experiments.crowded_bursts, alpha, overhead)?;
    let injection_gap = gap.as_ref().and_then(ParameterEstimate::value);
    parameters.extend(gap);
    // Combining and copying take time on a rank alone, for each byte.
    let (mut gammas, mut combining) = (BTreeMap::new(), BTreeMap::new());
    for (key @ (datatype, operator), points) in &experiments.combines {
        let gamma_name = format!("gamma.{}.{}", datatype.name(), operator.name());
        let gamma = fit_rate_per_byte(points, gamma_name)?;
        gammas.extend(gamma.value().map(|gamma| (*key, gamma)));
        parameters.push(gamma);
        let lines = rates_by_size(points);
        if !lines.is_empty() {
            combining.insert(*key, lines);
        }
    }
    let mut copy = None;
    if !experiments.copies.is_empty() {
        let found = fit_rate_per_byte(&experiments.copies, "copy".to_owned())?;
        copy = found.value();
        parameters.push(found);
    }
    // Without any message there is no machine to predict with, but the parameters are reported all the same.
    let machine = (!links.is_empty()).then(|| Machine {
        name: name.to_owned(),
        ranks_per_node: experiments.ranks_per_node,
        network: links.get(&Level::Network).cloned(),
        node: links.get(&Level::Node).cloned(),
        shared: links.get(&Level::Shared).cloned(),
        injection_beta,
        injection_gap,
        rails: None,
        post_ahead: PostAhead::None,
        gamma: statistics::median(&gammas.values().copied().collect::<Vec<_>>()),
        copy,
        combining: Vec::new(),
        copying: rates_by_size(&experiments.copies),
        cache: None,
        noise: None,
    });
    let mut fit = MachineFit {
        machine,
        gammas,
        combining,
        parameters,
        segments,
        poor_predictions: Vec::new(),
        calibration: None,
        placement: Placement::default(),
        predictions: PredictionCache::default(),
    };
    fit.poor_predictions = find_poor_predictions(&fit, &experiments);
    Ok(fit)
}

/// The time per byte of combining or copying.
fn fit_rate_per_byte(
    points: &[OperationTime],
    name: String,
) -> Result<ParameterEstimate, FitError> {
    let [_, rate] = line_parameters(points, [(String::new(), "s"), (name, "s/byte")])?;
    Ok(rate)
}

/// The link of a level, if its `alpha` and `beta` are known, and its parameters.
///
/// Both come from the line through all sizes. If messages follow several lines and this leaves a parameter
/// undetermined, it comes from the segments: `alpha` from that of the smallest messages, `beta` from that of the
/// largest.
fn fit_link(
    level: Level,
    messages: &LevelMessages,
    segments: &[ProtocolSegment],
) -> Result<(Option<Link>, Vec<ParameterEstimate>), FitError> {
    let name = |parameter| format!("{}.{parameter}", level.name());
    let mut parameters = Vec::new();
    let (mut usable_alpha, mut known_beta) = (None, None);
    if !messages.ping_pongs.is_empty() {
        let names = [(name("alpha"), "s"), (name("beta"), "s/byte")];
        let mut found = line_parameters(&messages.ping_pongs, names)?;
        let ends = [
            segments.first().map(|segment| &segment.alpha),
            segments.last().map(|segment| &segment.beta),
        ];
        for (parameter, end) in found.iter_mut().zip(ends) {
            let known = end.filter(|end| parameter.value().is_none() && end.value().is_some());
            *parameter = known.unwrap_or(parameter).clone();
        }
        (usable_alpha, known_beta) = (found[0].usable_estimate(), found[1].value());
        parameters.extend(found);
    }
    let mut overhead = None;
    if !messages.bursts.is_empty() {
        let found = fit_overhead(level, &messages.bursts, usable_alpha)?;
        overhead = found.value();
        parameters.push(found);
    }
    let line = usable_alpha.map(|known| known.value).zip(known_beta);
    let mut eager_limit = None;
    if !messages.lates.is_empty() {
        let found = fit_eager_limit(level, &messages.lates, line);
        eager_limit = found.value().map(|bytes| bytes as u64);
        parameters.push(found);
    }
    let link = line.map(|(alpha, beta)| Link {
        alpha,
        overhead,
        beta,
        eager_limit,
        ..Link::default()
    });
    Ok((link, parameters))
}

/// The times of several messages at once relative to one.
fn fit_patterns(
    level: Level,
    messages: &LevelMessages,
    link: Option<&Link>,
) -> Result<Vec<ParameterEstimate>, FitError> {
    let mut parameters = Vec::new();
    let patterns = [
        ("exchange", &messages.exchanges),
        ("shift", &messages.shifts),
    ];
    for (pattern, points) in patterns {
        if !points.is_empty() {
            let factors = pattern_factors(pattern, level, points, &messages.ping_pongs, link);
            parameters.extend(factors);
        }
    }
    let fans = [
        ("fan_out", &messages.fan_outs),
        ("fan_in", &messages.fan_ins),
    ];
    for (pattern, by_partners) in fans {
        for (partners, points) in by_partners {
            parameters.push(fan_factor(pattern, level, (*partners, points), link)?);
        }
    }
    Ok(parameters)
}
