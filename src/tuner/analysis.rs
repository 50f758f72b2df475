//! Everything that follows from a store's samples, computed anew each time.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use campaign::Campaign;
use fit::{
    BlockComparison, CandidateCurve, CellDecision, DecideOptions, MachineFit, SplitScores, Summary,
};
use report::Starts;
use store::{FailureRow, LaunchRow, Store};
use table::{Provenance, Table};
use wire::{
    Candidate, Environment, LaunchStart, Library, NativeAlgorithm, Sample, Subject, Warning,
};

use crate::agenda::Stock;
use crate::import::Definition;
use crate::starts::common_starts;
use crate::{Agenda, Progress, TunerError};

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
    /// Predicted and measured block sizes.
    pub blocks: Vec<BlockComparison>,
    /// Candidates that failed.
    pub failures: Vec<FailureRow>,
    /// Wall-clock seconds spent measuring.
    pub measuring_seconds: f64,
    /// Seconds of these within the calls whose times are kept: the rest is warming up, coming to
    /// common starts, and keeping books.
    pub call_seconds: f64,
    /// What was not measured to the end.
    pub races: Races,
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

/// Where samples are from.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The name of the campaign.
    pub name: String,
    /// Its digest.
    pub campaign: String,
    /// The store.
    pub store: PathBuf,
    /// The library that was measured.
    pub library: Library,
    /// What the launches that measured something ran on, in the order of launches.
    pub starts: Vec<LaunchStart>,
    /// How much of what the campaign asks for is measured, if the campaign is known.
    pub progress: Option<Progress>,
    /// The launches' own dates, for launches that never reported.
    pub started_unix_seconds: Option<i64>,
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
        let library = choose(store, library)?;
        let samples = samples(store, &library)?;
        let measured: BTreeSet<u32> = samples.iter().map(|sample| sample.launch).collect();
        let mut launches = store.launches()?;
        launches.retain(|launch| measured.contains(&launch.number));
        let last = launches.last();
        // What a stored campaign means can depend on the machine, so it goes by its row's digest.
        let launched = last.map(|launch| launch.campaign.clone());
        let digest = campaign.map_or(launched.unwrap_or_default(), Campaign::digest);
        let (stored, imported) = match definition(store, last)? {
            Some(Definition::Campaign(campaign)) => (Some(campaign), None),
            Some(Definition::Import(record)) => (None, Some(record.decide_options())),
            None => (None, None),
        };
        let campaign = campaign.or(stored.as_deref());
        let mut environments = store.environments(&library)?;
        let natives = natives(&environments);
        let agenda = campaign
            .map(|campaign| Agenda::new(campaign, Some(store), &library, natives))
            .transpose()?;
        let progress = match &agenda {
            Some(agenda) => Some(agenda.progress(&Stock::of(store, &library)?)),
            None => None,
        };
        let options = campaign.map(decide_options).or(imported);
        let options = options.unwrap_or_default();
        let name = campaign.map_or_else(|| stem(store.path()), |campaign| campaign.name.clone());
        let summaries = summaries(&samples, agenda.as_ref())?;
        let machine = fit::fit_machine(&name, &summaries)?;
        let failures = store.failures(&library)?;
        let failed = failed(&failures);
        environments.retain(|(launch, _)| measured.contains(launch));
        Ok(Self {
            starts: imported.is_none().then(|| common_starts(&samples)),
            decisions: fit::decide(&summaries, &failed, Some(&machine), &options),
            blocks: fit::compare_blocks(&summaries, Some(&machine)),
            measuring_seconds: store.measuring_seconds(&library)?,
            call_seconds: samples.iter().map(call_seconds).sum(),
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
        let table = fit::build_table(&self.origin.name, self.provenance(), &self.decisions);
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
        if scores.is_empty() {
            return Err(TunerError::NothingToHoldOut {
                store: self.origin.store.clone(),
                library: self.origin.library.clone(),
            });
        }
        Ok(scores)
    }

    /// Whether a table says what these measurements say, and shows the same times.
    pub fn agrees_with(&self, table: &Table) -> bool {
        fit::build_table(&table.name, self.provenance(), &self.decisions).collectives
            == table.collectives
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

impl Origin {
    /// Day of the last launch, UTC.
    fn date(&self) -> String {
        let reported = self
            .starts
            .last()
            .and_then(|start| i64::try_from(start.unix_seconds).ok());
        let seconds = reported.or(self.started_unix_seconds).unwrap_or(0);
        jiff::Timestamp::from_second(seconds)
            .map(|time| time.strftime("%Y-%m-%d").to_string())
            .unwrap_or_default()
    }

    /// What is missing, as a sentence.
    fn incompleteness(&self) -> Option<String> {
        let Progress { done, total } = self.progress?;
        (done < total).then(|| {
            format!(
                "only {done} of {total} measurements were made: decisions rest on fewer launches \
                 or sizes than the campaign asks for; tune again, with a larger `budget` if that \
                 is spent"
            )
        })
    }

    /// The warnings of all launches, each kind once, in its worst form.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut kinds: Vec<Warning> = Vec::new();
        let all: BTreeSet<&Warning> = self
            .starts
            .iter()
            .flat_map(|start| &start.environment.warnings)
            .collect();
        for warning in all {
            let same_kind = |known: &&mut Warning| {
                // Every file that was imported is named.
                !matches!(known, Warning::Imported { .. } | Warning::Baseline { .. })
                    && std::mem::discriminant(*known) == std::mem::discriminant(warning)
            };
            match kinds.iter_mut().find(same_kind) {
                // Ascending order: the later one of a kind is the stronger one.
                Some(known) => *known = warning.clone(),
                None => kinds.push(warning.clone()),
            }
        }
        kinds
    }
}

/// What failed, and where.
fn failed(failures: &[FailureRow]) -> Vec<(Subject, Candidate)> {
    let failed = failures.iter();
    failed.map(|f| (f.subject, f.candidate.clone())).collect()
}

fn choose(store: &Store, library: Option<&Library>) -> Result<Library, TunerError> {
    if let Some(library) = library {
        return Ok(library.clone());
    }
    let mut found = store.libraries()?;
    let path = store.path().to_owned();
    match found.len() {
        0 => Err(TunerError::NothingMeasured {
            store: path,
            library: None,
        }),
        1 => Ok(found.remove(0)),
        _ => Err(TunerError::SeveralLibraries { store: path, found }),
    }
}

/// Everything that was measured with a library; there must be something.
fn samples(store: &Store, library: &Library) -> Result<Vec<Sample>, TunerError> {
    let samples = store.samples(library)?;
    if samples.is_empty() {
        return Err(TunerError::NothingMeasured {
            store: store.path().to_owned(),
            library: Some(library.clone()),
        });
    }
    Ok(samples)
}

/// Summaries of what is asked for, if that is known: a store may hold more, sizes and candidates of
/// earlier campaigns.
fn summaries(samples: &[Sample], agenda: Option<&Agenda>) -> Result<Vec<Summary>, TunerError> {
    let mut summaries = fit::summarise(samples)?;
    if let Some(agenda) = agenda {
        summaries.retain(|summary| agenda.asks_for(&summary.subject, &summary.candidate));
    }
    Ok(summaries)
}

/// What the library lets one force, by the last launch that reported: there is one library, of one
/// version.
fn natives(environments: &[(u32, LaunchStart)]) -> &[NativeAlgorithm] {
    let last = environments.last().map(|(_, start)| &start.environment);
    last.map_or(&[][..], |environment| &environment.natives)
}

/// When a difference counts, as a campaign asks for it.
fn decide_options(campaign: &Campaign) -> DecideOptions {
    DecideOptions {
        materiality: campaign.materiality,
        confidence: campaign.confidence,
        ..DecideOptions::default()
    }
}

/// The campaign of a launch, or what was imported as one.
fn definition(store: &Store, launch: Option<&LaunchRow>) -> Result<Option<Definition>, TunerError> {
    let Some(launch) = launch else {
        return Ok(None);
    };
    let mut rows = store.campaigns()?.into_iter();
    let row = rows.find(|row| row.digest == launch.campaign);
    Ok(row.map(|row| Definition::of(&row)).transpose()?)
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(
        || "store".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}
