//! The machine that is fitted to the experiments, and its predictions.

use std::cell::RefCell;
use std::rc::Rc;

use campaign::{Campaign, Family};
use fit::{FitError, MachineFit};
use model::Level;
use vocabulary::{Candidate, Cell, Placement};

use crate::History;
use crate::search::Expectation;

/// The machine with which the latest agenda of a campaign was made. It holds the predictions that were made with it, so
/// that the next agenda need not make them again as long as the machine stays equal.
#[derive(Default)]
pub struct LatestFit(RefCell<Option<Rc<MachineFit>>>);

impl LatestFit {
    /// The latest machine if it equals this one; otherwise this one, which becomes the latest.
    pub(crate) fn reuse_if_equal(&self, machine: MachineFit) -> Rc<MachineFit> {
        let mut latest = self.0.borrow_mut();
        match &*latest {
            Some(latest) if **latest == machine => Rc::clone(latest),
            _ => Rc::clone(latest.insert(Rc::new(machine))),
        }
    }
}

/// The machine that is fitted to the first measurement of each experiment, so that further ones do not change it.
///
/// # Errors
/// Samples that cannot be fitted.
pub fn fitted_machine(campaign: &Campaign, history: &History) -> Result<MachineFit, FitError> {
    let summaries = fit::summarise_samples(&history.first_experiments(), campaign.pattern)?;
    let mut machine = fit::fit_machine(&campaign.name, &summaries)?;
    machine.placement = Placement::for_order(history.orders_with_usual(Some(campaign)).usual);
    Ok(machine)
}

/// Predictions from the fitted machine.
pub(crate) struct MachineExpectation<'a>(pub(crate) &'a MachineFit);

impl Expectation for MachineExpectation<'_> {
    fn seconds(&self, cell: &Cell, candidate: &Candidate) -> Option<f64> {
        if fit::parameters_hold(self.0, cell, candidate) {
            fit::predicted_seconds(self.0, cell, candidate)
        } else {
            None
        }
    }

    fn block_bytes(&self, cell: &Cell, family: &Family) -> Option<u64> {
        predicted_block(self.0, cell, family)
    }

    fn eager_limit(&self, cell: &Cell) -> Option<u64> {
        let machine = self.0.machine.as_ref()?;
        machine.link(Level::of_nodes(cell.shape.nodes))?.eager_limit
    }
}

/// The block size that is predicted to be best, in bytes; `None` if it is unknown or the machine's parameters do not
/// hold.
pub(crate) fn predicted_block(machine: &MachineFit, cell: &Cell, family: &Family) -> Option<u64> {
    let (algorithm, parameters) = (family.algorithm, &family.parameters);
    let bytes = fit::predicted_block_bytes(machine, cell, algorithm, parameters)?;
    let member = family.candidate_with_blocks(cell, bytes)?;
    fit::parameters_hold(machine, cell, &member).then_some(bytes)
}
