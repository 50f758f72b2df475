//! What measuring would come to.

use std::collections::BTreeMap;

use campaign::{Campaign, LauncherConfig};
use launcher::{Allocation, BatchOptions};
use store::{Lock, Store};
use vocabulary::{Library, Purpose};

use crate::agenda::{Coverage, left_seconds, repetition, spent_seconds};
use crate::{Agenda, CampaignProgress, MeasurementContext, TunerError};

/// Wall-clock time that starting and ending a launch takes beside its tasks.
const LAUNCH_SECONDS: f64 = 1.0;

/// What is left to do of an agenda, and about how long that takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// What is done and what is to be done in all.
    pub progress: CampaignProgress,
    /// Launches to come.
    pub launches_left: u32,
    /// Turns to come, one a candidate, cell and launch; of a guided campaign about as many, by what is known
    /// now.
    pub turns_left: u64,
    /// Whether the experiments have been made that block sizes are predicted from.
    pub calibrated: bool,
    /// What of the budget is spent: what measuring the library into this store has cost.
    pub spent_seconds: f64,
    /// Time to come, that of the simulated machine in simulations, at most about this, and no more than is left of
    /// the budget: precise candidates end their turns early; 0 if the budget is spent.
    pub seconds: f64,
    /// Nodes held times `seconds`, in hours; `None` for a simulated machine.
    pub node_hours: Option<f64>,
    /// The part of `seconds` that is kept for confirming choices, in further launches.
    pub confirming_seconds: f64,
}

impl Agenda {
    /// What is left after what `store` has of a library; everything if there is no store.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn forecast(
        &self,
        campaign: &Campaign,
        store: Option<&Store>,
        library: &Library,
    ) -> Result<Forecast, TunerError> {
        let is_exploring = self.keeps_time() && self.purpose() == Purpose::Exploring;
        let (stock, spent_seconds, left) = match store {
            Some(store) => (
                Coverage::of(store, library, self.pattern)?,
                spent_seconds(store, campaign, library, None)?,
                left_seconds(store, campaign, library, self)?,
            ),
            None if is_exploring => (Coverage::default(), 0.0, campaign.exploring_seconds()),
            None => (Coverage::default(), 0.0, campaign.budget_seconds),
        };
        let left = left.max(0.0);
        let unspent = (campaign.budget_seconds - spent_seconds).max(0.0);
        let confirming_seconds = match is_exploring {
            true => unspent.min(campaign.budget_seconds - campaign.exploring_seconds()),
            false => 0.0,
        };
        let slice = repetition(campaign, self, &stock, &[], left).slice_seconds;
        let by_nodes = self.turns_left(&stock);
        let turns_left = by_nodes.values().sum();
        let turns = turns_left as f64;
        let calibrated = self.is_calibrated(&stock);
        let open = self.launches_left(&stock);
        // Experiments that were never made have a launch of their own.
        let launches_left = open + u32::from(open == self.launches && !calibrated);
        let starting = match campaign.is_simulated() {
            true => 0.0,
            false => f64::from(launches_left) * LAUNCH_SECONDS,
        };
        // Launches end with the budget, whatever is left to do.
        let now = (starting + turns * slice).min(left);
        let seconds = (now + confirming_seconds).min(unspent);
        let nodes = nodes_held(campaign, &by_nodes);
        Ok(Forecast {
            progress: self.progress(&stock),
            launches_left,
            turns_left,
            calibrated,
            spent_seconds,
            seconds,
            node_hours: nodes.map(|nodes| nodes * seconds / 3600.0),
            confirming_seconds,
        })
    }
}

/// The average number of nodes that are held while turns are taken, from the turns by number of nodes.
fn nodes_held(campaign: &Campaign, turns: &BTreeMap<u32, u64>) -> Option<f64> {
    let most = || campaign.shapes.iter().map(|shape| shape.nodes).max();
    let all: u64 = turns.values().sum();
    match &campaign.launcher {
        LauncherConfig::Simulated(_) => None,
        LauncherConfig::Batch(BatchOptions {
            allocation: Allocation::Shared,
            ..
        }) => most().map(f64::from),
        _ if all == 0 => most().map(f64::from),
        _ => {
            let weighed = turns
                .iter()
                .map(|(&nodes, &turns)| f64::from(nodes) * turns as f64);
            Some(weighed.sum::<f64>() / all as f64)
        }
    }
}

/// Forgets the failures that the campaign's store has recorded of the library, so that the
/// candidates are tried again; returns how many there were. Without a store there are none.
///
/// # Errors
/// If another process measures into the store, or it cannot be written.
pub fn forget_failures(at: &MeasurementContext) -> Result<usize, TunerError> {
    let path = at.store();
    if !path.exists() {
        return Ok(0);
    }
    let _lock = Lock::acquire(path)?;
    Ok(Store::open(path)?.forget_failures(&at.library)?)
}
