//! What earlier launches have left: all that an agenda depends on beside the campaign.

use std::collections::{BTreeMap, BTreeSet};

use campaign::Campaign;
use fit::Orders;
use vocabulary::{Candidate, Cell, CommShape, Pattern, Purpose, RankOrder, Sample, Subject};
use wire::PlannedTask;

/// What the launches of one library have left in a campaign's store, as it is read once for a launch.
///
/// Without a store it is the default: nothing was measured.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Whether there is a store. A campaign without one explores, however small its budget is.
    pub has_store: bool,
    /// The number of launches that have measured anything, in any pattern of calls.
    pub measured_launches: usize,
    /// Whether any launch was made before launches had a purpose. Then exploring launches decide.
    pub has_launch_without_purpose: bool,
    /// Whether the ranks of a node have memory in common, as the last launch that knows it reports.
    pub shared_memory: Option<bool>,
    /// The orders of ranks on nodes that launches recorded, by shape.
    pub rank_orders: BTreeMap<CommShape, RankOrder>,
    /// The samples of exploring launches: of experiments, and of cells in the campaign's pattern of calls.
    pub explored: Vec<Sample>,
    /// The confirming launches in each pattern of calls in which the campaign confirms choices; empty if it confirms
    /// none.
    pub confirmed: Vec<ConfirmedPattern>,
    /// The candidates that failed in any pattern of calls and for any purpose, and where.
    pub failures: Vec<(Subject, Candidate)>,
    /// The tasks that the campaign's last launch has left undone, in the order of its plan; empty if it confirmed
    /// choices.
    pub unfinished_tasks: Vec<PlannedTask>,
    /// The time that all launches took.
    pub spent: SpentTime,
    /// The time that exploring launches took.
    pub spent_exploring: SpentTime,
    /// The time that confirming launches took.
    pub spent_confirming: SpentTime,
}

/// The measurements of confirming launches in one pattern of calls.
#[derive(Clone, Debug, Default)]
pub struct ConfirmedPattern {
    /// The pattern.
    pub pattern: Pattern,
    /// The samples.
    pub samples: Vec<Sample>,
    /// The time of a candidate's turn in each task of a cell, in seconds.
    pub turn_seconds: BTreeMap<Cell, Vec<f64>>,
}

/// The time that launches took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpentTime {
    /// The time of their completed tasks, in seconds, of wall clocks or simulated.
    pub measuring_seconds: f64,
    /// The time of the launches as a whole, in seconds, start and failures included; what counts against a budget, except
    /// on simulated machines.
    pub launch_seconds: f64,
}

impl History {
    /// The time that launches took, all or those for one purpose.
    pub(crate) fn spent_for(&self, purpose: Option<Purpose>) -> SpentTime {
        match purpose {
            None => self.spent,
            Some(Purpose::Exploring) => self.spent_exploring,
            Some(Purpose::Confirming) => self.spent_confirming,
        }
    }

    /// The measurements of confirming launches in a pattern of calls.
    pub(crate) fn confirmed_in(&self, pattern: Pattern) -> Option<&ConfirmedPattern> {
        let mut confirmed = self.confirmed.iter();
        confirmed.find(|confirmed| confirmed.pattern == pattern)
    }

    /// The campaign on the machine of the launches, where ranks may have no memory in common.
    pub fn campaign_on_machine(&self, campaign: Campaign) -> Campaign {
        if self.shared_memory == Some(false) {
            campaign.without_shared_memory()
        } else {
            campaign
        }
    }

    /// The recorded orders of ranks, and the order for predictions: that of all launches if they agree, or else the one
    /// that follows from the launcher's options.
    pub fn orders_with_usual(&self, campaign: Option<&Campaign>) -> Orders {
        let telling = self.rank_orders.iter();
        let telling = telling.filter(|(shape, _)| shape.has_orders());
        let launched: BTreeSet<RankOrder> = telling.map(|(_, order)| *order).collect();
        let usual = match launched.first().filter(|_| launched.len() == 1) {
            Some(order) => *order,
            None => campaign.map_or(RankOrder::Unknown, Campaign::rank_order),
        };
        Orders {
            recorded: self.rank_orders.clone(),
            usual,
        }
    }

    /// The samples of each experiment from the first exploring launch that made it.
    pub(crate) fn first_experiments(&self) -> Vec<Sample> {
        let mut first: BTreeMap<Subject, &Sample> = BTreeMap::new();
        let experiments = self.explored.iter();
        for sample in experiments.filter(|sample| sample.subject.cell().is_none()) {
            let known = first.entry(sample.subject).or_insert(sample);
            if sample.launch < known.launch {
                *known = sample;
            }
        }
        first.into_values().cloned().collect()
    }
}
