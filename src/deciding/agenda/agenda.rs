//! The agenda of a campaign: the measurements that it asks for, and those that are left.

use campaign::{Campaign, Family, Strategy};
use fit::{ExhaustiveCampaign, FitError};
use vocabulary::{Candidate, Cell, Library, NativeAlgorithm, Pattern, Purpose};

use crate::History;
use crate::confirming::{Confirming, confirms_choices};
use crate::coverage::Coverage;
use crate::guided::GuidedSearch;
use crate::machine::{LatestFit, MachineExpectation, fitted_machine, predicted_block};
use crate::scope::{CampaignScope, Merged};
use crate::spending::has_no_exploring_time;

/// Everything that a campaign measures, and what is left of it.
///
/// Candidates that are carried out alike are asked for once; the scope keeps their other names, under which older stores
/// may have times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agenda {
    /// Everything that the campaign may measure.
    pub scope: CampaignScope,
    /// The number of launches of each measurement; in a guided campaign, of those that decisions rest on.
    pub launches: u32,
    /// The pattern of calls in cells.
    pub pattern: Pattern,
    /// The requests of the search, if the campaign is guided.
    pub(crate) search: Option<GuidedSearch>,
    /// The choices to confirm; `None` while launches explore, or if exploring launches decide.
    pub(crate) confirming: Option<Confirming>,
    /// Whether time is kept for confirming choices.
    pub(crate) keeps_time: bool,
    /// The launches that have measured its items.
    pub(crate) coverage: Coverage,
}

impl Agenda {
    /// The agenda of a campaign on a library in which the algorithms `natives` can be forced. When there is nothing
    /// left to explore, or no time for it, choices are confirmed. Block sizes are predicted from the first measurement
    /// of each experiment, so that further ones do not change the agenda; before experiments are made none are
    /// predicted.
    ///
    /// # Errors
    /// Samples that cannot be fitted.
    pub fn new(
        campaign: &Campaign,
        history: &History,
        library: &Library,
        natives: &[NativeAlgorithm],
    ) -> Result<Self, FitError> {
        Self::with_latest_fit(&LatestFit::default(), campaign, history, library, natives)
    }

    /// The same, for one agenda after another of a campaign: the predictions made with the latest machine are kept as
    /// long as new measurements do not change it.
    ///
    /// # Errors
    /// Those of [`Agenda::new`].
    pub fn with_latest_fit(
        latest: &LatestFit,
        campaign: &Campaign,
        history: &History,
        library: &Library,
        natives: &[NativeAlgorithm],
    ) -> Result<Self, FitError> {
        let agenda = Self::to_explore(latest, campaign, history, library, natives)?;
        if history.has_store && agenda.has_explored(campaign, history) {
            agenda.into_confirming(campaign, history, library)
        } else {
            Ok(agenda)
        }
    }

    /// The agenda with the choices to confirm, if the campaign asks for that, even if exploring is not done.
    ///
    /// # Errors
    /// Those of [`Agenda::new`].
    pub fn into_confirming(
        self,
        campaign: &Campaign,
        history: &History,
        library: &Library,
    ) -> Result<Self, FitError> {
        let confirming = if self.keeps_time {
            Some(Confirming::from_history(
                campaign,
                history,
                library,
                &self.scope,
                &self.coverage,
            )?)
        } else {
            None
        };
        Ok(Self { confirming, ..self })
    }

    /// Whether exploring is done or has no time left.
    fn has_explored(&self, campaign: &Campaign, history: &History) -> bool {
        let is_late = self.keeps_time && has_no_exploring_time(history, campaign);
        is_late || self.next_tasks().is_empty()
    }

    /// The agenda for exploring.
    fn to_explore(
        latest: &LatestFit,
        given: &Campaign,
        history: &History,
        library: &Library,
        natives: &[NativeAlgorithm],
    ) -> Result<Self, FitError> {
        let campaign = &history.campaign_on_machine(given.clone());
        let machine = latest.reuse_if_equal(fitted_machine(campaign, history)?);
        let others = |cell: &Cell| campaign.foreign_candidates(cell, library, natives);
        // Block sizes are tried around those that the machine predicts.
        let (mut cells, mut merged) = (Vec::new(), Merged::new());
        for cell in campaign.cells() {
            let predicted = |family: &Family| predicted_block(&machine, &cell, family);
            let mut candidates = campaign.candidates(&cell, &predicted);
            candidates.distinct.extend(others(&cell));
            cells.push((cell, candidates.distinct));
            if !candidates.merged.is_empty() {
                merged.insert(cell, candidates.merged);
            }
        }
        let search = match campaign.strategy {
            Strategy::Exhaustive => None,
            Strategy::Guided => {
                let expectation = MachineExpectation(&machine);
                Some(GuidedSearch::from_history(
                    campaign,
                    history,
                    library,
                    &expectation,
                    &others,
                )?)
            }
        };
        Ok(Self {
            scope: CampaignScope {
                experiments: campaign.experiments(),
                cells,
                merged,
                is_guided: search.is_some(),
            },
            launches: campaign.launches,
            pattern: campaign.pattern,
            search,
            confirming: None,
            keeps_time: confirms_choices(campaign, history),
            coverage: Coverage::from_history(history),
        })
    }

    /// An agenda of these cells alone, each with all its candidates in `launches` launches.
    pub fn for_cells(
        cells: &[(Cell, Vec<Candidate>)],
        launches: u32,
        pattern: Pattern,
        history: &History,
    ) -> Self {
        Self {
            scope: CampaignScope {
                cells: cells.to_vec(),
                ..CampaignScope::default()
            },
            launches,
            pattern,
            coverage: Coverage::from_history(history),
            ..Self::default()
        }
    }

    /// Whether time is kept for confirming choices.
    pub fn keeps_time(&self) -> bool {
        self.keeps_time
    }

    /// The purpose of the next launch.
    pub fn next_purpose(&self) -> Purpose {
        match self.confirming {
            Some(_) => Purpose::Confirming,
            None => Purpose::Exploring,
        }
    }

    /// The number of turns in a launch, one per experiment and per candidate of a cell; an average for a guided
    /// campaign.
    pub(crate) fn launch_turns(&self) -> usize {
        let cells = match &self.search {
            None => self.scope.candidate_count(),
            Some(_) => GuidedSearch::turns_per_launch(&self.scope.cells),
        };
        self.scope.experiments.len() + cells
    }

    /// The number of turns for measuring everything in every launch.
    pub fn exhaustive_turns(&self) -> u64 {
        u64::from(self.launches)
            * (self.scope.experiments.len() + self.scope.candidate_count()) as u64
    }

    /// The measurements that a guided campaign would make without its search.
    pub fn work_without_search(&self, campaign: &Campaign) -> Option<ExhaustiveCampaign> {
        let cells = || self.scope.cells.iter().map(|(cell, of)| (*cell, of.len()));
        self.scope.is_guided.then(|| ExhaustiveCampaign {
            cells: cells().collect(),
            launches: self.launches,
            nodes: campaign.largest_shape().nodes,
        })
    }
}
