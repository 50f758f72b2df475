//! One algorithm in one call.

use model::{
    BlocksBy, ExpectedSize, GoOn, Level, Machine, Prediction, Setting, Simulation, Tiers, Topology,
    Trace, best_blocks_while, expected_size, predict, predict_best, simulate_traced,
    simulate_while,
};
use schedule::{Algorithm, Blocks, Parameter, Parameters, Rank, Request, Schedule};

use vocabulary::{CommShape, Placement};

use super::super::schedule::call::CountsArgs;
use super::super::schedule::{LengthOption, whole_units};
use super::SimulateError;
use super::rows::SimulationRow;

/// The most messages that a simulation carries.
const MOST_MESSAGES: f64 = 5e8;
/// The most messages that are under way at once, which fit into the memory of a laptop.
const MOST_AT_ONCE: f64 = 17e6;
/// The most ranks, which fit into the memory of a laptop.
const MOST_RANKS: u32 = 1 << 24;
/// The most messages, combinations and copies that are recorded.
const MOST_RECORDED: usize = 200_000;

/// An algorithm, a communicator and a length.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimulationPoint {
    pub(super) algorithm: &'static Algorithm,
    pub(super) ranks: u64,
    pub(super) ppn: u32,
    pub(super) topology: Topology,
    /// The size, as the collective counts it.
    pub(super) bytes: u64,
}

impl SimulationPoint {
    /// The nodes, and the ranks on the fullest.
    pub(super) fn shape(&self) -> CommShape {
        let ranks = u32::try_from(self.ranks).unwrap_or(u32::MAX);
        CommShape {
            nodes: self.topology.nodes(),
            ppn: self.ppn.min(ranks),
        }
    }
}

/// The part of a call that all points have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommonCall<'a> {
    pub(super) machine: &'a Machine,
    pub(super) placement: Placement,
    pub(super) root: Rank,
    pub(super) element_bytes: u64,
    /// The parameters, which apply to algorithms that take them.
    pub(super) parameters: Parameters<'a>,
    /// The size of blocks, unless their number is given.
    pub(super) block_bytes: Option<u64>,
    /// The counts, or their distribution.
    pub(super) counts: &'a CountsArgs,
}

/// The simulation of one algorithm in one call, with its trace.
pub(super) struct TracedSimulation {
    pub(super) row: SimulationRow,
    pub(super) schedule: Schedule,
    pub(super) simulation: Simulation,
    pub(super) trace: Trace,
}

impl CommonCall<'_> {
    fn setting_at(&self, point: SimulationPoint) -> Setting<'_> {
        Setting {
            machine: self.machine,
            topology: point.topology,
            unit_bytes: self.unit_bytes(point.algorithm),
        }
    }

    fn unit_bytes(&self, algorithm: &Algorithm) -> u64 {
        if algorithm.collective.is_reduction() {
            self.element_bytes
        } else {
            1
        }
    }

    /// The given parameters that an algorithm takes, without blocks.
    fn parameters_taken_by(&self, algorithm: &Algorithm) -> Parameters<'_> {
        let takes = |parameter| algorithm.takes(parameter);
        let given = &self.parameters;
        Parameters {
            blocks: None,
            radix: given.radix.filter(|_| takes(Parameter::Radix)),
            reduce: given.reduce.filter(|_| takes(Parameter::Reduce)),
            bcast: given.bcast.filter(|_| takes(Parameter::Bcast)),
            node: given.node.filter(|_| takes(Parameter::Node)),
            network: given.network.filter(|_| takes(Parameter::Network)),
            leaders: given.leaders.filter(|_| takes(Parameter::Leaders)),
            max_requests: given.max_requests.filter(|_| takes(Parameter::MaxRequests)),
        }
    }

    /// Simulates a point, as long as `go_on` says so.
    pub(super) fn simulate(
        &self,
        point: SimulationPoint,
        go_on: GoOn<'_>,
    ) -> Result<SimulationRow, SimulateError> {
        let (schedule, by) = self.build_schedule(point, go_on)?;
        let simulation = simulate_while(&schedule, &self.setting_at(point), go_on)?;
        Ok(self.result_row(point, &schedule, by, &simulation))
    }

    pub(super) fn simulate_traced(
        &self,
        point: SimulationPoint,
    ) -> Result<TracedSimulation, SimulateError> {
        let (schedule, by) = self.build_schedule(point, &|| true)?;
        let (simulation, trace) =
            simulate_traced(&schedule, &self.setting_at(point), MOST_RECORDED)?;
        Ok(TracedSimulation {
            row: self.result_row(point, &schedule, by, &simulation),
            schedule,
            simulation,
            trace,
        })
    }

    /// The request with the given parameters.
    fn build_request(&self, point: SimulationPoint) -> Result<Request<'_>, SimulateError> {
        let SimulationPoint {
            algorithm, bytes, ..
        } = point;
        let ranks = match u32::try_from(point.ranks) {
            Ok(ranks) if ranks <= MOST_RANKS => ranks,
            _ => {
                let (ranks, limit) = (point.ranks, MOST_RANKS);
                return Err(SimulateError::TooManyRanks { ranks, limit });
            }
        };
        let unit_bytes = self.unit_bytes(algorithm);
        let units = whole_units(bytes, unit_bytes)?;
        let size = self.block_bytes.map(|block_bytes| match block_bytes {
            0 => Blocks::Size(0),
            _ => Blocks::Size((block_bytes / unit_bytes).max(1)),
        });
        let blocks = self.parameters.blocks.or(size);
        let given = Parameters {
            blocks: blocks.filter(|_| algorithm.takes(Parameter::Blocks)),
            ..self.parameters_taken_by(algorithm)
        };
        Ok(self.counts.divide(Request {
            root: self.root,
            units,
            parameters: given,
            placed: point.topology.placed(),
            ..Request::among_ranks(ranks)
        }))
    }

    /// The closed form's time; `None` if there is none, or the call is not supported.
    pub(super) fn closed_form_seconds(&self, point: SimulationPoint) -> Option<f64> {
        Some(self.predict_closed_form(point)?.seconds)
    }

    /// The closed form's prediction with the given number of blocks or the best one.
    fn predict_closed_form(&self, point: SimulationPoint) -> Option<Prediction> {
        let request = self.build_request(point).ok()?;
        let call = model::Call {
            ranks: request.ranks,
            bytes: point.bytes,
            unit_bytes: self.unit_bytes(point.algorithm),
            parameters: request.parameters,
            placed: request.placed,
        };
        let schedule = Schedule::new(point.algorithm, &request).ok()?;
        let tiers = self.closed_form_tiers(point, schedule.shape().root)?;
        match request.parameters.blocks {
            Some(_) => predict(point.algorithm, tiers, &call),
            None => predict_best(point.algorithm, tiers, &call),
        }
    }

    /// The rates of a point's messages for closed forms, which have root 0.
    fn closed_form_tiers(&self, point: SimulationPoint, root: Rank) -> Option<Tiers> {
        let ranks = u32::try_from(point.ranks).ok()?;
        let only = point.topology.only_level(ranks);
        let rates = self.machine.rates(only.unwrap_or(Level::Network));
        let rates = rates.filter(|_| root == 0)?;
        let within = self.machine.rates(Level::Node);
        let within = within.filter(|_| only.is_none_or(|only| only == Level::Network));
        Some(
            self.machine
                .tiers_with_rates(within.unwrap_or(rates), rates),
        )
    }

    /// About the number of messages that a point's simulation carries; `None` if the call is not supported.
    pub(super) fn expected_messages(&self, point: SimulationPoint) -> Option<f64> {
        let mut request = self.build_request(point).ok()?;
        let takes_blocks = point.algorithm.takes(Parameter::Blocks);
        if request.parameters.blocks.is_none() && takes_blocks {
            let best = self.predict_closed_form(point);
            request.parameters.blocks = best.map(|best| Blocks::Count(best.blocks));
        }
        let schedule = Schedule::new(point.algorithm, &request).ok()?;
        Some(expected_size(&schedule, &self.setting_at(point)).messages)
    }

    /// The schedule, and the source of its number of blocks. Searches for that number as long as `go_on` says so.
    fn build_schedule(
        &self,
        point: SimulationPoint,
        go_on: GoOn<'_>,
    ) -> Result<(Schedule, Option<&'static str>), SimulateError> {
        let algorithm = point.algorithm;
        let mut request = self.build_request(point)?;
        let length_by = self.counts.length_option(LengthOption::Bytes);
        let unsupported = |source| SimulateError::Unsupported { source, length_by };
        let schedule = Schedule::new(algorithm, &request).map_err(unsupported)?;
        let setting = self.setting_at(point);
        refuse_large_simulation(&schedule, &setting)?;
        if request.parameters.blocks.is_some() {
            return Ok((schedule, Some("given")));
        }
        let Some(best) = best_blocks_while(algorithm, &request, &setting, go_on)? else {
            return Ok((schedule, None));
        };
        request.parameters.blocks = Some(Blocks::Count(best.blocks));
        let best_schedule = Schedule::new(algorithm, &request).map_err(unsupported)?;
        refuse_large_simulation(&best_schedule, &setting)?;
        let by = match best.by {
            BlocksBy::Lemma => "lemma",
            BlocksBy::Search => "search",
        };
        Ok((best_schedule, Some(by)))
    }

    fn result_row(
        &self,
        point: SimulationPoint,
        schedule: &Schedule,
        by: Option<&'static str>,
        simulation: &Simulation,
    ) -> SimulationRow {
        let SimulationPoint {
            algorithm,
            topology,
            bytes,
            ..
        } = point;
        let unit_bytes = self.unit_bytes(algorithm);
        let shape = schedule.shape();
        let takes = |parameter| algorithm.takes(parameter);
        let call = model::Call {
            ranks: shape.ranks,
            bytes,
            unit_bytes,
            parameters: Parameters {
                blocks: by.map(|_| Blocks::Count(shape.blocks)),
                radix: takes(Parameter::Radix).then_some(shape.radix),
                reduce: takes(Parameter::Reduce).then_some(shape.parts.reduce.id),
                bcast: takes(Parameter::Bcast).then_some(shape.parts.bcast.id),
                ..self.parameters_taken_by(algorithm)
            },
            placed: topology.placed(),
        };
        let tiers = self.closed_form_tiers(point, shape.root);
        let closed_form = tiers.and_then(|tiers| predict(algorithm, tiers, &call));
        let block_bytes = model::requested_blocks(algorithm, &call).map(|(_, size)| size);
        SimulationRow {
            algorithm,
            collective: algorithm.collective.name(),
            shape: point.shape(),
            ranks: shape.ranks,
            bytes,
            blocks: by.map(|_| shape.blocks),
            block_bytes: by.map(|_| block_bytes.unwrap_or(bytes)),
            blocks_by: by,
            seconds: simulation.seconds,
            closed_form_seconds: closed_form.map(|found| found.seconds),
            messages: simulation.messages,
        }
    }
}

/// Refuses simulations that would take very long, or too much memory.
fn refuse_large_simulation(
    schedule: &Schedule,
    setting: &Setting<'_>,
) -> Result<(), SimulateError> {
    let ExpectedSize { messages, at_once } = expected_size(schedule, setting);
    let name = || schedule.algorithm().name();
    let ranks = schedule.shape().ranks;
    if messages > MOST_MESSAGES {
        return Err(SimulateError::TooLong {
            name: name(),
            ranks,
            messages: format!("{messages:.0e}"),
            limit: format!("{MOST_MESSAGES:.0e}"),
        });
    }
    if at_once > MOST_AT_ONCE {
        return Err(SimulateError::TooManyAtOnce {
            name: name(),
            ranks,
            messages: format!("{at_once:.0e}"),
            limit: format!("{MOST_AT_ONCE:.0e}"),
        });
    }
    Ok(())
}
