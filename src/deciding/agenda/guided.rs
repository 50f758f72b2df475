//! The agenda of a guided campaign.
//!
//! A campaign makes an agenda before each launch. As long as the fitted machine stays equal, all agendas use the same
//! one, with its predictions.

use std::collections::BTreeMap;

use campaign::Campaign;
use fit::FitError;
use schedule::Collective;
use table::{Deployment, Operators};
use vocabulary::{Candidate, Cell, CommShape, Library, Pattern, Subject};
use wire::{PlannedTask, PlannedWork};

use crate::History;
use crate::search::{
    Expectation, Guide, KnownMeasurements, MeasurementRequest, SHARE_OF_CELLS, TURNS_PER_ROUND,
};

/// The requests of a search at its present state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GuidedSearch {
    /// The measurements that may change a decision.
    pub(crate) requests: Vec<MeasurementRequest>,
    /// Tasks left over from an interrupted launch, which come first so that the search takes the same course as without
    /// the interrupt.
    pub(crate) undone: Vec<PlannedTask>,
    /// The number of measurements, each of a cell in a launch, of cells that are in no request any more.
    pub(crate) finished_measurements: u64,
    /// The shares of the default's times that are at stake by the measurements so far, by collective and shape, weighted
    /// by the traffic that the campaign is for.
    pub(crate) stakes: BTreeMap<(Collective, CommShape), f64>,
}

impl GuidedSearch {
    /// Continues the search from the measurements of earlier launches.
    pub(crate) fn from_history(
        campaign: &Campaign,
        history: &History,
        library: &Library,
        expectation: &dyn Expectation,
        others: &dyn Fn(&Cell) -> Vec<Candidate>,
    ) -> Result<Self, FitError> {
        let known = known_measurements(history, campaign.pattern)?;
        let of_library = |_: &Cell, candidate: &Candidate| Deployment::Library.offers(candidate);
        let for_all = |cell: &Cell, candidate: &Candidate| {
            fit::can_use_candidate(&library.name, cell, candidate, Operators::Any)
        };
        let of_library_for_all = |cell: &Cell, candidate: &Candidate| {
            of_library(cell, candidate) && for_all(cell, candidate)
        };
        let guide = Guide {
            campaign,
            known: &known,
            expectation,
            others,
            classes: &[&for_all, &of_library, &of_library_for_all],
            target: campaign.target_regret,
        };
        let requests = guide.next_requests();
        let is_open = |cell: &Cell| requests.iter().any(|request| request.cell == *cell);
        let closed = known.measured_cells().filter(|cell| !is_open(cell));
        let finished_measurements = closed.map(|cell| u64::from(known.launch_count(cell))).sum();
        let mut undone = history.unfinished_tasks.clone();
        // `shapes: auto` may have meant other shapes on the machine that the store comes from.
        let largest = campaign.largest_shape();
        undone.retain(|task| match &task.work {
            PlannedWork::Compare { cell, .. } => campaign.shapes.contains(&cell.shape),
            PlannedWork::Experiment(experiment) => {
                let CommShape { nodes, ppn } = experiment.shape;
                let has_transport = campaign.transports().contains(&experiment.through);
                has_transport && nodes <= largest.nodes && ppn <= largest.ppn
            }
        });
        Ok(Self {
            requests,
            undone,
            finished_measurements,
            stakes: known.stakes_by_kind(
                |cell| (cell.collective, cell.shape),
                |cell| campaign.stake_weight(cell),
            ),
        })
    }

    /// The estimated average number of turns in a launch.
    pub(crate) fn turns_per_launch(cells: &[(Cell, Vec<Candidate>)]) -> usize {
        let turns = |candidates: &Vec<Candidate>| TURNS_PER_ROUND.min(candidates.len() as f64);
        let all: f64 = cells.iter().map(|(_, candidates)| turns(candidates)).sum();
        (all * SHARE_OF_CELLS).ceil() as usize
    }

    /// The estimated number of turns of a cell in `launches` launches, the first of them with `candidates` candidates.
    pub(crate) fn estimate_turns(&self, launches: u64, candidates: u64) -> u64 {
        let later = launches.saturating_sub(1) as f64 * TURNS_PER_ROUND.min(candidates as f64);
        candidates + later.ceil() as u64
    }
}

/// The measurements of cells in one pattern of calls.
fn known_measurements(history: &History, pattern: Pattern) -> Result<KnownMeasurements, FitError> {
    let samples = &history.explored;
    let mut known = KnownMeasurements::default();
    for sample in samples {
        if let Subject::Cell(cell) = sample.subject {
            known.add_attempt(cell, &sample.candidate, sample.launch);
        }
    }
    for summary in fit::summarise_samples(samples, pattern)? {
        if let Subject::Cell(cell) = summary.subject {
            for (launch, seconds) in &summary.launch_medians {
                known.add_time(cell, &summary.candidate, *launch, *seconds);
            }
        }
    }
    for (subject, candidate) in &history.failures {
        if let Subject::Cell(cell) = subject {
            known.add_failure(*cell, candidate);
        }
    }
    Ok(known)
}
