//! The analysis of a store's samples, computed again each time.

pub(crate) mod stored;

use std::collections::{BTreeMap, BTreeSet};

use agenda::{Agenda, confirming_samples, decide_options, launching_seconds};
use campaign::Campaign;
use fit::{DecideOptions, FreshMeasurements, Measurements};
use import::ImportRecord;
use results::{CellDecision, MeasuringCost, SplitScores, Starts, Verdict};
use schedule::Collective;
use store::{LaunchRow, Store};
use table::{Deployment, Deployments, MeasuredPoint, Provenance, ShapeRules, Table, TurnedBack};
use vocabulary::units::format_duration_up;
use vocabulary::{Candidate, Cell, CommShape, Library, Pattern, Purpose, Subject, Warning};
use wire::{Environment, FailureRecord};

use self::stored::{
    campaign_row_of_launch, check_measured, choose_library, name_from_store_path,
    parse_campaign_row, reported_natives, spending_shares,
};
use crate::history::{read_history, read_measurements};
use crate::overlap::{HiddenShare, find_hidden_shares};
use crate::recorded::recorded_digest;
use crate::verdicts::{binding_verdicts, verdicts_kept_in_file};
use crate::{SampleOrigin, TunerError};

/// Options of decisions that override those of the campaign.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DecisionOverrides {
    /// The regret that a shorter table may cost ([`DecideOptions::max_regret`]).
    pub max_regret: Option<f64>,
    /// Whether exploring launches decide, without confirmation.
    pub unconfirmed: bool,
    /// The verdicts of the table that is to be replaced.
    pub verdicts: Vec<table::Verdict>,
}

/// Summaries, fits and decisions of one library in one store.
#[derive(Clone, Debug)]
pub struct CampaignAnalysis {
    /// The origin of the samples.
    pub origin: SampleOrigin,
    /// The results.
    pub found: fit::Analysis,
    /// Candidates that failed.
    pub failures: Vec<FailureRecord>,
    /// How much of nonblocking calls computation hides; empty for blocking ones.
    pub hidden_shares: Vec<HiddenShare>,
    /// The verdicts, in the store and of [`DecisionOverrides::verdicts`], that no newer launches overrule.
    pub standing: Vec<table::Verdict>,
    /// Those of [`DecisionOverrides::verdicts`] that the table keeps.
    kept: Vec<table::Verdict>,
    /// The smallest budget in seconds that suffices to confirm all choices, estimated from the times so far; `None` if
    /// none is left to confirm.
    pub needed_budget: Option<f64>,
}

impl CampaignAnalysis {
    /// Analyses a store's samples of a library.
    ///
    /// The library is optional if the store has only one. `campaign`, or else the campaign last launched into the
    /// store, determines the options, the pattern of calls, and which measurements are used.
    ///
    /// # Errors
    /// [`TunerError::NothingMeasured`], [`TunerError::SeveralLibraries`]; samples that cannot be fitted.
    pub fn from_store(
        store: &Store,
        library: Option<&Library>,
        campaign: Option<&Campaign>,
    ) -> Result<Self, TunerError> {
        Self::with_options(store, library, campaign, DecisionOverrides::default())
    }

    /// Like [`CampaignAnalysis::from_store`], with other options of decisions than the campaign's.
    ///
    /// # Errors
    /// Those of [`CampaignAnalysis::from_store`].
    pub fn with_options(
        store: &Store,
        library: Option<&Library>,
        campaign: Option<&Campaign>,
        deciding: DecisionOverrides,
    ) -> Result<Self, TunerError> {
        let library = choose_library(store, library)?;
        let measured = store.measured_launches(&library)?;
        let mut launches = store.launches()?;
        launches.retain(|launch| measured.contains(&launch.number));
        let last = launches.last();
        // The digest of the row, since a stored campaign may mean other shapes on this machine.
        let digest = match campaign {
            Some(campaign) => recorded_digest(store, campaign)?,
            None => last.map_or_else(String::new, |launch| launch.campaign.clone()),
        };
        let row = campaign_row_of_launch(store, last)?;
        let stored = row.as_ref().map(parse_campaign_row).transpose()?.flatten();
        let imported = row
            .as_ref()
            .and_then(ImportRecord::from_campaign_row)
            .map(|record| DecideOptions {
                materiality: record.materiality(),
                ..DecideOptions::default()
            });
        let mut environments = store.environments(&library)?;
        let campaign = campaign.cloned().or(stored);
        let pattern = campaign
            .as_ref()
            .map_or_else(Pattern::default, |campaign| campaign.pattern);
        let history = match &campaign {
            Some(campaign) => read_history(Some(store), &library, campaign)?,
            None => read_measurements(store, &library, pattern)?,
        };
        let campaign = campaign.map(|campaign| history.campaign_on_machine(campaign));
        let campaign = campaign.as_ref();
        let samples = &history.explored;
        check_measured(samples, store, &library)?;
        let used: BTreeSet<u32> = samples.iter().map(|sample| sample.launch).collect();
        let confirms = |launch: &LaunchRow| launch.purpose == Some(Purpose::Confirming);
        let confirming: BTreeSet<u32> = launches
            .iter()
            .filter(|launch| confirms(launch))
            .map(|launch| launch.number)
            .collect();
        let used_or_confirming = &used | &confirming;
        let natives = reported_natives(&environments);
        let agenda = campaign
            .map(|campaign| Agenda::new(campaign, &history, &library, natives))
            .transpose()?;
        let progress = agenda.as_ref().map(Agenda::count_progress);
        let needed_budget = agenda
            .as_ref()
            .zip(campaign)
            .and_then(|(agenda, campaign)| agenda.needed_budget(campaign, &history));
        let asked = campaign.map(decide_options).or(imported);
        let mut options = asked.unwrap_or_default();
        options.max_regret = deciding.max_regret.unwrap_or(options.max_regret);
        let is_confirmed = !deciding.unconfirmed && agenda.as_ref().is_some_and(Agenda::keeps_time);
        let name = campaign.map_or_else(
            || name_from_store_path(store.path()),
            |campaign| campaign.name.clone(),
        );
        let failures = store.failures(&library)?;
        environments.retain(|(launch, _)| used_or_confirming.contains(launch));
        let asks_for = |subject: &Subject, candidate: &Candidate| {
            let agenda = agenda.as_ref();
            agenda.is_none_or(|agenda| agenda.scope.asks_for(subject, candidate))
        };
        let failed = &history.failures;
        let binding = binding_verdicts(store, &library, campaign, pattern, &deciding.verdicts)?;
        let mut verdicts = binding.clone();
        let fresh = match agenda.as_ref().zip(campaign).filter(|_| is_confirmed) {
            Some((agenda, campaign)) => {
                let fresh_samples = confirming_samples(campaign, &history, &agenda.scope);
                verdicts =
                    fit::remove_overruled_verdicts(verdicts, &fresh_samples, failed, &options)?;
                Some(FreshMeasurements::from_samples(
                    &fresh_samples,
                    failed,
                    &options,
                )?)
            }
            None => None,
        };
        let kept = verdicts_kept_in_file(deciding.verdicts, &binding, &verdicts);
        let not_measured = agenda.as_ref().map_or_else(BTreeMap::new, |agenda| {
            let mut subjects: BTreeSet<Subject> = samples.iter().map(|s| s.subject).collect();
            subjects.extend(failed.iter().map(|(subject, _)| *subject));
            find_unmeasured_shapes(&agenda.scope.grid(), &subjects)
        });
        let everything = agenda
            .as_ref()
            .zip(campaign)
            .and_then(|(agenda, campaign)| agenda.work_without_search(campaign));
        let found = fit::Analysis::from_measurements(Measurements {
            name: &name,
            library: &library.name,
            samples,
            orders: history.orders_with_usual(campaign),
            pattern,
            failures: failed.clone(),
            cost: MeasuringCost {
                seconds: history.spent.measuring_seconds,
                confirming_seconds: history.spent_confirming.measuring_seconds,
                launching_seconds: launching_seconds(&history, &library),
                launches: launches.len(),
                shares: spending_shares(store, &library)?,
                ..MeasuringCost::default()
            },
            asks_for: &asks_for,
            options,
            extend_to: &campaign.map_or_else(Vec::new, Campaign::extended_shapes),
            merged: agenda.as_ref().map(|agenda| &agenda.scope.merged),
            everything,
            fresh: fresh.as_ref(),
            grid: &agenda
                .as_ref()
                .map_or_else(Vec::new, |agenda| agenda.scope.grid()),
            verdicts: &verdicts,
        })?;
        Ok(Self {
            origin: SampleOrigin {
                name,
                campaign: digest,
                store: store.path().to_owned(),
                library,
                starts: environments.into_iter().map(|(_, start)| start).collect(),
                progress,
                not_measured,
                started_unix_seconds: last.map(|launch| launch.started_unix_seconds),
                min_confidence: campaign.map_or_else(Default::default, |c| c.min_confidence),
                numerics: campaign.map_or_else(Default::default, |c| c.numerics),
                is_imported: imported.is_some(),
            },
            hidden_shares: find_hidden_shares(&history, &found.decisions)?,
            found,
            failures,
            standing: verdicts,
            kept,
            needed_budget,
        })
    }

    /// The decision table.
    ///
    /// # Errors
    /// [`TunerError::NothingToDecide`] if no default was measured.
    pub fn table(&self) -> Result<Table, TunerError> {
        let mut table = self.found.to_table(&self.origin.name, self.provenance());
        table.verdicts.clone_from(&self.kept);
        if table.collectives.is_empty() {
            return Err(TunerError::NothingToDecide {
                store: self.origin.store.clone(),
            });
        }
        Ok(table)
    }

    /// The regrets of decisions at measured points that are held out from them.
    ///
    /// # Errors
    /// [`TunerError::NothingToHoldOut`] if there are too few sizes and shapes.
    pub fn score_held_out_points(&self) -> Result<Vec<SplitScores>, TunerError> {
        let scores = self.found.score_held_out(&self.provenance());
        if !scores.is_empty() {
            Ok(scores)
        } else {
            Err(TunerError::NothingToHoldOut {
                store: self.origin.store.clone(),
                library: self.origin.library.clone(),
            })
        }
    }

    /// The regrets of a table that was made from other measurements.
    ///
    /// # Errors
    /// [`TunerError::NothingToJudge`] if there is no point with a choice.
    pub fn score_table(
        &self,
        table: &Table,
        deployment: Deployment,
    ) -> Result<Vec<SplitScores>, TunerError> {
        let scores = self.found.score_table(table, deployment);
        if !scores.is_empty() {
            Ok(scores)
        } else {
            Err(TunerError::NothingToJudge {
                store: self.origin.store.clone(),
                library: self.origin.library.clone(),
                deployment,
            })
        }
    }

    /// Whether a table has the same rules and times as one made from these measurements.
    pub fn agrees_with(&self, table: &Table) -> bool {
        let mut table = table.clone();
        table.verdicts.clear();
        table.mark_refuted();
        let now = || {
            self.found
                .to_table(&table.name, self.provenance())
                .collectives
        };
        // Tables of earlier versions have no deployments, or no speed-ups at measured sizes.
        let is_old = table
            .entries()
            .all(|entry| entry.deployments == Deployments::Colltune);
        let of_colltune = || {
            let found = &self.found;
            let (decisions, extended) = (&found.decisions, &found.extended);
            fit::build_table(&table.name, self.provenance(), decisions, &[], extended).collectives
        };
        let mut points = table.entries().flat_map(|entry| &entry.measured);
        let knows_times_alone = points.all(MeasuredPoint::is_ratio_of_times);
        let agrees = |mut collectives: BTreeMap<_, Vec<ShapeRules>>| {
            let entries = collectives.values_mut().flatten();
            for point in entries.flat_map(|entry| &mut entry.measured) {
                if knows_times_alone {
                    *point = MeasuredPoint::new(point.bytes, point.seconds, point.default_seconds);
                }
            }
            collectives == table.collectives
        };
        agrees(now()) || (is_old && agrees(of_colltune()))
    }

    /// Whether decisions rest on enough launches: all measurements of the campaign are made, no choice is unconfirmed,
    /// and no default is replaced without confirming launches.
    pub fn has_enough_launches(&self) -> bool {
        let found = &self.found;
        let is_confirmed = |decision: &CellDecision| {
            !decision.replaces_default() || decision.verdict == Verdict::Confirmed
        };
        let mut decisions = found.decisions.iter().chain(&found.library_decisions);
        self.origin.describe_incompleteness().is_none()
            && found.unconfirmed_choices() == 0
            && decisions.all(is_confirmed)
    }

    /// The way in which ranks were given common starts; `None` for imported times, where it is unknown.
    pub fn common_starts(&self) -> Option<Starts> {
        (!self.origin.is_imported).then_some(self.found.starts)
    }

    /// The provenance of a table with these decisions.
    pub fn provenance(&self) -> Provenance {
        let origin = &self.origin;
        let last = self.last_environment();
        let budget = self.needed_budget.map(format_duration_up);
        Provenance {
            campaign: origin.campaign.clone(),
            store: origin.store.display().to_string(),
            library: origin.library.clone(),
            colltune: env!("CARGO_PKG_VERSION").to_owned(),
            date: origin.last_launch_date(),
            hosts: last.hosts.clone(),
            cpu: last.cpu.clone(),
            networks: self.networks_between_nodes(),
            launches: self.found.most_launches(),
            pattern: self.found.pattern,
            distributions: self.found.distributions(),
            min_confidence: origin.min_confidence,
            numerics: origin.numerics,
            warnings: origin
                .describe_incompleteness()
                .into_iter()
                .chain(origin.describe_not_measured())
                .chain(self.found.describe_unconfirmed(budget.as_deref()))
                .chain(origin.warnings().iter().map(Warning::to_string))
                .chain(TurnedBack::warning_about(&self.found.turned_back))
                .collect(),
        }
    }

    /// The networks of the first node of the last launch on several nodes; empty if there is none, or if they are
    /// unknown. Launches on one node say nothing about networks.
    fn networks_between_nodes(&self) -> Vec<String> {
        let mut starts = self.origin.starts.iter().rev();
        let nodes = starts.find_map(|start| match &*start.environment.nodes {
            [first, _, ..] => Some(first),
            _ => None,
        });
        nodes
            .map(|first| first.networks.clone())
            .unwrap_or_default()
    }

    /// The environment of the last launch.
    pub fn last_environment(&self) -> Environment {
        let last = self.origin.starts.last();
        last.map(|start| start.environment.clone())
            .unwrap_or_default()
    }
}

/// The collectives and shapes of a grid of which no cell is among the subjects, at any size.
fn find_unmeasured_shapes(
    grid: &[Cell],
    subjects: &BTreeSet<Subject>,
) -> BTreeMap<Collective, BTreeSet<CommShape>> {
    let kind = |cell: &Cell| (cell.collective, cell.shape);
    let cells = subjects.iter().filter_map(|subject| subject.cell());
    let measured: BTreeSet<(Collective, CommShape)> = cells.map(|cell| kind(&cell)).collect();
    let mut absent: BTreeMap<Collective, BTreeSet<CommShape>> = BTreeMap::new();
    for (collective, shape) in grid.iter().map(kind) {
        if !measured.contains(&(collective, shape)) {
            absent.entry(collective).or_default().insert(shape);
        }
    }
    absent
}
