//! Forecasts of the work and time that a campaign still needs.

use std::collections::BTreeMap;

use campaign::{Campaign, LauncherConfig};
use launcher::{Allocation, BatchOptions};
use results::DetectableGain;
use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::{CampaignProgress, Purpose};

use crate::confirming::decide_options;
use crate::least_budgets::LAUNCH_SECONDS;
use crate::spending::spent_seconds;
use crate::{Agenda, History};

/// The remaining work of an agenda, and an estimate of its time.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Forecast {
    /// The progress so far.
    #[serde(flatten)]
    pub progress: CampaignProgress,
    /// The number of launches left.
    pub launches_left: u32,
    /// The number of turns left, one per candidate, cell and launch; an estimate for a guided campaign.
    pub turns_left: u64,
    /// Whether the experiments for predicting block sizes have been made.
    pub calibrated: bool,
    /// The spent part of the budget: the time of all measurements of the library in this store.
    pub spent_seconds: f64,
    /// An estimated upper bound of the remaining time, no more than the rest of the budget; turns of precise
    /// candidates end early. Simulated time in simulations.
    #[serde(rename = "estimated_seconds")]
    pub seconds: f64,
    /// Node-hours for this time; null for a simulated machine.
    #[serde(rename = "estimated_node_hours")]
    pub node_hours: Option<f64>,
    /// The part of the estimated time that is kept for confirming launches.
    pub confirming_seconds: f64,
    /// The smallest budget that suffices to confirm all choices, by the times so far; null if no choice is to be
    /// confirmed yet or any more.
    pub needed_budget_seconds: Option<f64>,
    /// The smallest gains that are confirmed in four of five cases, for two assumed values of the noise between launches;
    /// null if nothing is confirmed.
    pub detectable_gains: Option<[DetectableGain; 2]>,
}

/// The noise between launches that a forecast assumes: of a quiet machine, and of a noisy one.
const ASSUMED_NOISES: [f64; 2] = [0.03, 0.1];

/// The smallest gains that a campaign confirms at the assumed noises; `None` if it confirms nothing.
fn detectable_gains(campaign: &Campaign, agenda: &Agenda) -> Option<[DetectableGain; 2]> {
    let options = decide_options(campaign);
    let patterns = campaign.confirming_patterns().len();
    let at_noise = |noise| DetectableGain {
        noise,
        gain: fit::detectable_gain(noise, patterns, &options),
    };
    agenda.keeps_time().then(|| ASSUMED_NOISES.map(at_noise))
}

impl Agenda {
    /// Forecasts the measurements that the history lacks.
    pub fn forecast(&self, campaign: &Campaign, history: &History) -> Forecast {
        let is_exploring = self.keeps_time() && self.next_purpose() == Purpose::Exploring;
        let spent_seconds = spent_seconds(history, campaign, None);
        let left = self.purpose_seconds_left(campaign, history).max(0.0);
        let unspent = (campaign.budget_seconds - spent_seconds).max(0.0);
        let confirming_seconds = if is_exploring {
            unspent.min(campaign.budget_seconds - campaign.exploring_seconds())
        } else {
            0.0
        };
        let slice = self.repetition_rule(campaign, &[], left).slice_seconds;
        let by_nodes = self.turns_left();
        let turns_left = by_nodes.values().sum();
        let turns = turns_left as f64;
        let calibrated = self.is_calibrated();
        let open = self.launches_left();
        // Experiments that were not made yet have a launch of their own.
        let launches_left = open + u32::from(open == self.launches && !calibrated);
        let starting = if campaign.is_simulated() {
            0.0
        } else {
            f64::from(launches_left) * LAUNCH_SECONDS
        };
        // Launches end with the budget.
        let now = (starting + turns * slice).min(left);
        let seconds = (now + confirming_seconds).min(unspent);
        let nodes = average_nodes_held(campaign, &by_nodes);
        Forecast {
            progress: self.count_progress(),
            launches_left,
            turns_left,
            calibrated,
            spent_seconds,
            seconds,
            node_hours: nodes.map(|nodes| nodes * seconds / 3600.0),
            confirming_seconds,
            needed_budget_seconds: self.needed_budget(campaign, history),
            detectable_gains: detectable_gains(campaign, self),
        }
    }
}

/// The average number of nodes that launches hold, from the turns by number of nodes.
fn average_nodes_held(campaign: &Campaign, turns: &BTreeMap<u32, u64>) -> Option<f64> {
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
