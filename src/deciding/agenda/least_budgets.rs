//! The budgets that a campaign needs at least, estimated before they are spent.
//!
//! `search` estimates what the stages take at least, from expected times of calls. The budgets made of that are shown
//! by `plan` and by the error about a budget that is too small.

use std::collections::BTreeSet;

use campaign::{Campaign, Family};
use fit::{FitError, MachineFit};
use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::{Candidate, Cell, Library, NativeAlgorithm, Subject};

use crate::History;
use crate::guided::GuidedSearch;
use crate::next_launch::has_separate_jobs;
use crate::search::{Expectation, ExpectedCell, StageTimes, stage_times};
use crate::spending::{least_exploring_seconds, starting_seconds};

/// The time for starting and ending a launch that is assumed before any was made, in seconds.
pub(crate) const LAUNCH_SECONDS: f64 = 1.0;

/// The least budgets of a campaign, estimated from the expected times of its calls.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct LeastBudgets {
    /// The smallest budget that measures each point of the campaign once, in seconds.
    pub once_seconds: f64,
    /// The smallest budget that can confirm a choice at each point, in seconds; null if the campaign confirms nothing.
    pub confirming_seconds: Option<f64>,
    /// The origin of the expected times.
    pub times: ExpectedTimes,
}

/// The origin of expected times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedTimes {
    /// The measurements in the store, and the machine that is fitted to them.
    Measured,
    /// The machine file of the simulated machine.
    SimulatedMachine,
    /// The reference machine, since the messages of this one were not measured yet.
    Assumed,
}

/// What times are expected from.
#[derive(Clone, Copy)]
pub struct ExpectedMachine<'a> {
    /// The fitted machine, or an assumed one.
    pub machine: &'a MachineFit,
    /// The origin of its parameters.
    pub times: ExpectedTimes,
    /// The times of the campaign's experiments on it, in seconds, as far as it knows them.
    pub experiment_seconds: &'a [f64],
}

/// Estimates the least budgets of a campaign for a library in which the algorithms `natives` can be forced.
///
/// The times of calls are those that were measured, or else those of closed forms on the expected machine. Candidates
/// are repeated no more often than they must be.
///
/// # Errors
/// Samples that cannot be fitted.
pub fn least_budgets(
    campaign: &Campaign,
    history: &History,
    library: &Library,
    natives: &[NativeAlgorithm],
    expected: ExpectedMachine<'_>,
) -> Result<LeastBudgets, FitError> {
    let cells = expected_cells(campaign, history, library, natives, expected.machine)?;
    let stages = stage_times(campaign, &cells, expected.experiment_seconds);
    let start = if campaign.is_simulated() {
        0.0
    } else if history.measured_launches > 0 {
        starting_seconds(history, library)
    } else {
        LAUNCH_SECONDS
    };
    let starts = start * f64::from(launches_per_round(campaign));
    Ok(budgets_for_stages(
        campaign,
        &stages,
        starts,
        expected.times,
    ))
}

/// The number of launches that measure all cells once: one for each number of nodes if these have jobs of their own.
fn launches_per_round(campaign: &Campaign) -> u32 {
    if !has_separate_jobs(campaign) {
        return 1;
    }
    let nodes: BTreeSet<u32> = campaign.shapes.iter().map(|shape| shape.nodes).collect();
    u32::try_from(nodes.len()).unwrap_or(u32::MAX)
}

/// The budgets whose shares for exploring and for confirming suffice for these stages, with `start` seconds for the
/// launches that measure all cells once.
fn budgets_for_stages(
    campaign: &Campaign,
    stages: &StageTimes,
    start: f64,
    times: ExpectedTimes,
) -> LeastBudgets {
    let exploring_share = campaign.exploring_seconds() / campaign.budget_seconds;
    let launches = f64::from(campaign.launches);
    // Experiments have a launch of their own.
    let once = (stages.once + 2.0 * start).max(least_exploring_seconds(campaign));
    let once_seconds = once / exploring_share;
    let explored = (stages.exploring + (launches + 1.0) * start) / exploring_share;
    let confirming_share = 1.0 - exploring_share;
    let confirmed = (stages.confirming + launches * start) / confirming_share;
    LeastBudgets {
        once_seconds,
        confirming_seconds: (confirming_share > 0.0)
            .then(|| explored.max(confirmed).max(once_seconds)),
        times,
    }
}

/// The expected times in all cells of a campaign, with the candidates that are measured first.
fn expected_cells(
    campaign: &Campaign,
    history: &History,
    library: &Library,
    natives: &[NativeAlgorithm],
    machine: &MachineFit,
) -> Result<Vec<ExpectedCell>, FitError> {
    let expectation = ClosedForms(machine);
    let others = |cell: &Cell| campaign.foreign_candidates(cell, library, natives);
    let measured = fit::summarise_samples(&history.explored, campaign.pattern)?;
    let default_in = |cell: &Cell| {
        let subject = Subject::Cell(*cell);
        let mut of_default = measured
            .iter()
            .filter(|of| of.candidate == Candidate::Default);
        of_default
            .find(|of| of.subject == subject)
            .map(|of| of.median_seconds)
    };
    // What a search would measure first.
    let search = match campaign.strategy {
        campaign::Strategy::Exhaustive => None,
        campaign::Strategy::Guided => Some(GuidedSearch::from_history(
            campaign,
            &History::default(),
            library,
            &expectation,
            &others,
        )?),
    };
    let mut cells = Vec::new();
    for cell in campaign.cells() {
        let call_seconds = default_in(&cell)
            .or_else(|| expectation.fastest_seconds(campaign, &cell))
            .unwrap_or_else(|| one_to_all_seconds(machine, &cell));
        let candidates = match &search {
            None => {
                let block = |family: &Family| expectation.block_bytes(&cell, family);
                let mut all = campaign.candidates(&cell, &block).distinct;
                all.extend(others(&cell));
                all
            }
            Some(search) => {
                let mut requests = search.requests.iter();
                let request = requests.find(|request| request.cell == cell);
                request.map_or_else(Vec::new, |request| request.candidates.clone())
            }
        };
        let seconds = |candidate: &Candidate| {
            let expected = expectation.seconds(&cell, candidate);
            expected.unwrap_or(call_seconds)
        };
        cells.push(ExpectedCell {
            cell,
            call_seconds,
            first: candidates.iter().map(seconds).collect(),
        });
    }
    Ok(cells)
}

/// The time in seconds in which one rank sends its vector to each of the others: a rough time of collectives for which
/// only the library's algorithms can be compared.
fn one_to_all_seconds(machine: &MachineFit, cell: &Cell) -> f64 {
    let through = vocabulary::Through::Mpi;
    let rates = machine.message_rates(cell, through, cell.bytes);
    let message = rates.map_or(0.0, |rates| rates.alpha + rates.beta * cell.bytes as f64);
    message * f64::from(cell.shape.ranks().saturating_sub(1))
}

/// Predictions from closed forms, which take no time.
struct ClosedForms<'a>(&'a MachineFit);

impl ClosedForms<'_> {
    /// The time of the fastest algorithm of ours in a cell.
    fn fastest_seconds(&self, campaign: &Campaign, cell: &Cell) -> Option<f64> {
        let families = campaign.families(cell).into_iter();
        let seconds = families.filter_map(|family| {
            let best = fit::best_blocks(self.0, cell, family.algorithm, &family.parameters)?;
            Some(best.seconds)
        });
        seconds.min_by(f64::total_cmp)
    }
}

impl Expectation for ClosedForms<'_> {
    fn seconds(&self, cell: &Cell, candidate: &Candidate) -> Option<f64> {
        fit::closed_form_seconds(self.0, cell, candidate)
    }

    fn block_bytes(&self, cell: &Cell, family: &Family) -> Option<u64> {
        let best = fit::best_blocks(self.0, cell, family.algorithm, &family.parameters)?;
        Some(best.block_bytes)
    }

    fn eager_limit(&self, _: &Cell) -> Option<u64> {
        None
    }
}
