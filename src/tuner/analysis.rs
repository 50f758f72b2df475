//! Everything that follows from a store's samples, computed anew each time.

pub(crate) mod stored;

use std::collections::BTreeSet;

use campaign::Campaign;
use fit::{CandidateCurve, DecideOptions, MachineFit};
use import::Record;
use report::{OftenInvalid, Starts};
use results::{BlockComparison, CellDecision, SplitScores, Summary};
use store::{FailureRow, Store};
use table::{Deployment, Deployments, Provenance, Table};
use vocabulary::{Library, Sample, Subject, Warning};
use wire::{Environment, Shares};

use self::stored::{
    campaign_of, choose, decide_options, definition, failed, natives, never_valid, samples, shares,
    stem, summaries,
};
use crate::agenda::Stock;
use crate::effort::{Effort, effort};
use crate::starts::common_starts;
use crate::{Agenda, Origin, TunerError};

/// Summaries, fits and decisions of one library in one store.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// Where the samples are from.
    pub origin: Origin,
    /// One entry a candidate and cell, and one an experiment.
    pub summaries: Vec<Summary>,
    /// The machine's parameters.
    pub machine: MachineFit,
    /// When a difference counts in the decisions.
    pub options: DecideOptions,
    /// What to use in each cell and why.
    pub decisions: Vec<CellDecision>,
    /// The same where only the library's own settings are to be had; cells in which none of its own
    /// algorithms was measured are left out.
    pub library_decisions: Vec<CellDecision>,
    /// What to use on shapes that were not measured, by the model, if the campaign asks for that.
    pub extended: Vec<CellDecision>,
    /// Predicted and measured block sizes.
    pub blocks: Vec<BlockComparison>,
    /// Candidates that failed.
    pub failures: Vec<FailureRow>,
    /// Wall-clock seconds spent measuring.
    pub measuring_seconds: f64,
    /// Seconds of these within the calls whose times are kept: the rest is warming up, coming to
    /// common starts, and keeping books.
    pub call_seconds: f64,
    /// Where the time of tasks went, as far as they tell.
    pub shares: Option<Shares>,
    /// Candidates of which no repetition was valid, by cell.
    pub never_valid: Vec<OftenInvalid>,
    /// What was not measured to the end.
    pub races: Races,
    /// What a search has spent beside what measuring everything would have; only of guided campaigns.
    pub effort: Option<Effort>,
    /// How ranks came to common starts; unknown of imported times.
    pub starts: Option<Starts>,
}

/// What became of races, over all cells and launches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Races {
    /// How often a candidate left.
    pub left: u64,
    /// About how much longer measuring would have taken without that, in seconds.
    pub saved_seconds: f64,
}

impl Races {
    fn of(samples: &[Sample]) -> Self {
        let left = samples.iter().filter_map(|sample| sample.left);
        left.fold(Self::default(), |races, left| Self {
            left: races.left + 1,
            saved_seconds: races.saved_seconds + left.saved_seconds,
        })
    }
}

/// The time within the calls of a sample, in seconds.
fn call_seconds(sample: &Sample) -> f64 {
    sample.seconds.iter().sum::<f64>() * f64::from(sample.batch)
}

impl Analysis {
    /// Analyses what a store has of a library.
    ///
    /// The library may be left open if the store has only one. What is analysed, and with which
    /// materiality, is what `campaign` asks for, or the campaign last launched into the store.
    ///
    /// # Errors
    /// [`TunerError::NothingMeasured`], [`TunerError::SeveralLibraries`]; samples that make no
    /// sense.
    pub fn of(
        store: &Store,
        library: Option<&Library>,
        campaign: Option<&Campaign>,
    ) -> Result<Self, TunerError> {
        Self::deciding(store, library, campaign, None)
    }

    /// The same, with another limit to what shorter tables may cost ([`DecideOptions::max_regret`]).
    ///
    /// # Errors
    /// As [`Analysis::of`].
    pub fn deciding(
        store: &Store,
        library: Option<&Library>,
        campaign: Option<&Campaign>,
        max_regret: Option<f64>,
    ) -> Result<Self, TunerError> {
        let library = choose(store, library)?;
        let samples = samples(store, &library)?;
        let measured: BTreeSet<u32> = samples.iter().map(|sample| sample.launch).collect();
        let mut launches = store.launches()?;
        launches.retain(|launch| measured.contains(&launch.number));
        let last = launches.last();
        // What a stored campaign means can depend on the machine, so it goes by its row's digest.
        let launched = last.map(|launch| launch.campaign.clone());
        let digest = campaign.map_or(launched.unwrap_or_default(), Campaign::digest);
        let row = definition(store, last)?;
        let stored = row.as_ref().map(campaign_of).transpose()?.flatten();
        let imported = row
            .as_ref()
            .and_then(Record::of)
            .map(|record| DecideOptions {
                materiality: record.materiality(),
                ..DecideOptions::default()
            });
        let campaign = campaign.or(stored.as_ref());
        let mut environments = store.environments(&library)?;
        let natives = natives(&environments);
        let agenda = campaign
            .map(|campaign| Agenda::new(campaign, Some(store), &library, natives))
            .transpose()?;
        let progress = match &agenda {
            Some(agenda) => Some(agenda.progress(&Stock::of(store, &library)?)),
            None => None,
        };
        let asked = campaign.map(decide_options).or(imported);
        let mut options = asked.unwrap_or_default();
        options.max_regret = max_regret.unwrap_or(options.max_regret);
        let name = campaign.map_or_else(|| stem(store.path()), |campaign| campaign.name.clone());
        let summaries = summaries(&samples, agenda.as_ref())?;
        let machine = fit::fit_machine(&name, &summaries)?;
        let failures = store.failures(&library)?;
        let failed = failed(&failures);
        environments.retain(|(launch, _)| measured.contains(launch));
        let measuring_seconds = store.measuring_seconds(&library)?;
        let call_seconds = samples.iter().map(call_seconds).sum();
        let effort = agenda
            .as_ref()
            .zip(campaign)
            .and_then(|(agenda, campaign)| {
                let largest = campaign.largest_shape();
                effort(agenda, &samples, measuring_seconds, call_seconds, largest)
            });
        let decide = |deployment| {
            let (name, machine) = (&library.name, Some(&machine));
            fit::decide_for(deployment, name, &summaries, &failed, machine, &options)
        };
        let decisions = decide(Deployment::Colltune);
        let extended = campaign.map_or_else(Vec::new, |campaign| {
            let (shapes, materiality) = (campaign.extended_shapes(), options.materiality);
            let name = &library.name;
            fit::extend(name, &summaries, &decisions, &machine, materiality, &shapes)
        });
        Ok(Self {
            effort,
            extended,
            starts: imported.is_none().then(|| common_starts(&samples)),
            decisions,
            library_decisions: decide(Deployment::Library),
            blocks: fit::compare_blocks(&summaries, Some(&machine)),
            measuring_seconds,
            call_seconds,
            shares: shares(store, &library)?,
            never_valid: never_valid(&samples, agenda.as_ref()),
            races: Races::of(&samples),
            origin: Origin {
                name,
                campaign: digest,
                store: store.path().to_owned(),
                library,
                starts: environments.into_iter().map(|(_, start)| start).collect(),
                progress,
                started_unix_seconds: last.map(|launch| launch.started_unix_seconds),
            },
            summaries,
            machine,
            options,
            failures,
        })
    }

    /// The decision table.
    ///
    /// # Errors
    /// [`TunerError::NothingToDecide`] if no default was measured.
    pub fn table(&self) -> Result<Table, TunerError> {
        let table = self.build_table(&self.origin.name);
        if table.collectives.is_empty() {
            return Err(TunerError::NothingToDecide {
                store: self.origin.store.clone(),
            });
        }
        Ok(table)
    }

    /// The curve of every candidate in every shape, from its times alone.
    pub fn curves(&self) -> Vec<CandidateCurve> {
        fit::fit_curves(&self.summaries)
    }

    /// What decisions are worth at measured points that are held out from them.
    ///
    /// # Errors
    /// [`TunerError::NothingToHoldOut`] if there are too few sizes and shapes.
    pub fn evaluate(&self) -> Result<Vec<SplitScores>, TunerError> {
        let scores = fit::evaluate(
            &self.summaries,
            &failed(&self.failures),
            &self.options,
            &self.provenance(),
        );
        match scores.is_empty() {
            false => Ok(scores),
            true => Err(TunerError::NothingToHoldOut {
                store: self.origin.store.clone(),
                library: self.origin.library.clone(),
            }),
        }
    }

    /// What the choices of a table that was made from other measurements cost here.
    ///
    /// # Errors
    /// [`TunerError::NothingToJudge`] if there is no point with a choice.
    pub fn judge(
        &self,
        table: &Table,
        deployment: Deployment,
    ) -> Result<Vec<SplitScores>, TunerError> {
        let failures = failed(&self.failures);
        let scores = fit::judge(table, deployment, &self.summaries, &failures);
        match scores.is_empty() {
            false => Ok(scores),
            true => Err(TunerError::NothingToJudge {
                store: self.origin.store.clone(),
                library: self.origin.library.clone(),
                deployment,
            }),
        }
    }

    /// Whether a table says what these measurements say, and shows the same times.
    pub fn agrees_with(&self, table: &Table) -> bool {
        let now = self.build_table(&table.name).collectives;
        // What earlier versions wrote does not know deployments.
        let is_old = table
            .entries()
            .all(|entry| entry.deployments == Deployments::Colltune);
        let of_colltune = || {
            let decisions = &self.decisions;
            fit::build_table(
                &table.name,
                self.provenance(),
                decisions,
                &[],
                &self.extended,
            )
            .collectives
        };
        now == table.collectives || (is_old && of_colltune() == table.collectives)
    }

    fn build_table(&self, name: &str) -> Table {
        let (decisions, of_library) = (&self.decisions, &self.library_decisions);
        fit::build_table(
            name,
            self.provenance(),
            decisions,
            of_library,
            &self.extended,
        )
    }

    /// The decisions for a deployment.
    pub fn decisions_for(&self, deployment: Deployment) -> &[CellDecision] {
        match deployment {
            Deployment::Colltune => &self.decisions,
            Deployment::Library => &self.library_decisions,
        }
    }

    /// What the decisions rest on.
    pub fn provenance(&self) -> Provenance {
        let origin = &self.origin;
        let last = self.environment();
        Provenance {
            campaign: origin.campaign.clone(),
            store: origin.store.display().to_string(),
            library: origin.library.clone(),
            colltune: env!("CARGO_PKG_VERSION").to_owned(),
            date: origin.date(),
            hosts: last.hosts.clone(),
            cpu: last.cpu.clone(),
            launches: self.launches(),
            warnings: origin
                .incompleteness()
                .into_iter()
                .chain(origin.warnings().iter().map(Warning::to_string))
                .collect(),
        }
    }

    /// The environment of the last launch.
    pub fn environment(&self) -> Environment {
        let last = self.origin.starts.last();
        last.map(|start| start.environment.clone())
            .unwrap_or_default()
    }

    /// Launches that the best-measured cell rests on: the number of independent observations.
    fn launches(&self) -> u32 {
        let cells = self
            .summaries
            .iter()
            .filter(|s| matches!(s.subject, Subject::Cell(_)));
        cells
            .map(|summary| summary.counts.launches)
            .max()
            .unwrap_or(0)
    }
}
