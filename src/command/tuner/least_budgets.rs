//! The machine by which a campaign's least budgets are estimated.

use agenda::{ExpectedMachine, ExpectedTimes, History, LeastBudgets, fitted_machine};
use campaign::{Campaign, LauncherConfig};
use fit::MachineFit;
use model::{Machine, MachineError};
use simulated::SimulatedLauncher;
use vocabulary::Placement;

use crate::machine::load_machine;
use crate::{MeasurementContext, TunerError};

/// Estimates the least budgets of a campaign.
///
/// The times of calls are those that were measured, or else those of closed forms on the fitted machine, before any
/// measurement on an assumed one.
///
/// # Errors
/// Samples that cannot be fitted; a simulated machine's file.
pub fn least_budgets(
    at: &MeasurementContext,
    history: &History,
) -> Result<LeastBudgets, TunerError> {
    let (campaign, library) = (&at.campaign, &at.library);
    let fitted = fitted_machine(campaign, history)?;
    let mut campaign_cells = campaign.cells().into_iter();
    let (machine, times) = if campaign_cells.all(|cell| fitted.knows_level(&cell)) {
        (fitted, ExpectedTimes::Measured)
    } else {
        let usual = history.orders_with_usual(Some(campaign)).usual;
        let assumed = assumed_machine(campaign)?;
        (
            MachineFit::from_known_machine(assumed, Placement::for_order(usual)),
            assumed_times(campaign),
        )
    };
    let expected = ExpectedMachine {
        machine: &machine,
        times,
        experiment_seconds: &expected_experiments(campaign, &machine)?,
    };
    let least = agenda::least_budgets(campaign, history, library, &at.natives, expected);
    Ok(least?)
}

/// The simulated machine, or the reference machine.
fn assumed_machine(campaign: &Campaign) -> Result<Machine, MachineError> {
    match &campaign.launcher {
        LauncherConfig::Simulated(options) => load_machine(options.machine.as_deref()),
        LauncherConfig::Local(_) | LauncherConfig::Batch(_) => load_machine(None),
    }
}

/// The origin of times on [`assumed_machine`].
fn assumed_times(campaign: &Campaign) -> ExpectedTimes {
    if campaign.is_simulated() {
        ExpectedTimes::SimulatedMachine
    } else {
        ExpectedTimes::Assumed
    }
}

/// The expected times of a campaign's experiments, in seconds; those whose level the machine lacks are left out.
fn expected_experiments(campaign: &Campaign, machine: &MachineFit) -> Result<Vec<f64>, TunerError> {
    let Some(known) = machine.machine.clone() else {
        return Ok(Vec::new());
    };
    let simulated = SimulatedLauncher::new(known, machine.placement)?;
    let experiments = campaign.experiments().into_iter();
    let seconds = experiments.filter_map(|experiment| simulated.experiment_seconds(experiment));
    Ok(seconds.collect())
}
