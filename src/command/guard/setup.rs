//! The setup in which a table's library is launched for tests.

use std::path::Path;

use campaign::{Campaign, LauncherConfig, Strategy, TimeSlice};
use launcher::LibraryChoice;
use table::Table;
use tempfile::TempDir;
use tuner::{MeasurementContext, SearchPaths, TunerError};

use crate::{GuardError, Point, TestWarning};

/// Options of a [`TestSetup`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TestSetupOptions {
    /// Whether a library of another version than the table's, or another simulated machine, is accepted.
    pub any_version: bool,
    /// The time that all launches may take, in seconds; the campaign's budget if absent.
    pub budget_seconds: Option<f64>,
    /// The number of first launches.
    pub launches: u32,
}

/// A measurement context for a table's library, with a temporary store.
pub struct TestSetup {
    /// The context, with the table's campaign reduced to the points.
    pub at: MeasurementContext,
    /// The folder of the store and the launches' files, beside the campaign's store so that all hosts see it.
    pub folder: TempDir,
}

impl TestSetup {
    /// Prepares launches of these points.
    ///
    /// # Errors
    /// If something that launches need is missing, or another library than that of the table is found.
    pub fn new(
        table: &Table,
        mut campaign: Campaign,
        points: &[Point],
        options: &TestSetupOptions,
        places: &SearchPaths,
    ) -> Result<Self, GuardError> {
        let beside = campaign.output.store.parent();
        let beside = beside.filter(|folder| *folder != Path::new(""));
        let beside = beside.unwrap_or(Path::new(".")).to_owned();
        let choice = match &campaign.launcher {
            LauncherConfig::Local(_) | LauncherConfig::Batch(_) => {
                Some(library_choice(table, &campaign, options)?)
            }
            LauncherConfig::Simulated(_) => None,
        };
        narrow_campaign(&mut campaign, points, options);
        let mut at = MeasurementContext::from_campaign(campaign, choice, places)?;
        let library = &table.provenance.library;
        if at.library != *library && !options.any_version {
            return Err(GuardError::OtherLibrary {
                table: library.clone(),
                found: at.library,
            });
        }
        let folder = create_folder(&beside)?;
        at.campaign.output.store = folder.path().join("measured.db");
        // The store is temporary.
        at.relocated = None;
        Ok(Self { at, folder })
    }

    /// The warnings about launches for this table, which are known before the first of them.
    pub fn warnings(&self, table: &Table) -> Vec<TestWarning> {
        let mut warnings = Vec::new();
        let expected = &table.provenance.library;
        if self.at.library != *expected {
            warnings.push(TestWarning::OtherLibrary(expected.clone()));
        }
        // The only warning about a simulated machine is that it is one, as the table's library says too.
        if !self.at.library.is_simulated() {
            let conditions = self.at.warnings.iter().cloned();
            warnings.extend(conditions.map(TestWarning::Conditions));
        }
        warnings
    }

    /// Closes the launcher and passes the outcome on. The folder is removed, but kept with the launches' logs if
    /// measuring failed.
    ///
    /// # Errors
    /// The given error, or that of closing the launcher.
    pub fn close_with_outcome<T>(self, outcome: Result<T, GuardError>) -> Result<T, GuardError> {
        let closed = self.at.launcher.close().map_err(TunerError::from);
        let outcome = outcome.and_then(|outcome| Ok(closed.map(|()| outcome)?));
        if let Err(GuardError::Tuner(_)) = outcome {
            let _ = self.folder.keep();
        }
        outcome
    }
}

/// The table's library, with the campaign's launcher.
fn library_choice(
    table: &Table,
    campaign: &Campaign,
    options: &TestSetupOptions,
) -> Result<LibraryChoice, GuardError> {
    let library = &table.provenance.library;
    if campaign.library.unknown_name.as_ref() == Some(&library.name) {
        let mut choice = campaign.library.clone();
        if !options.any_version {
            choice.version = Some(library.version.clone());
        }
        return Ok(choice);
    }
    let Some(name) = libraries::find_library(&library.name) else {
        return Err(GuardError::NoLauncher {
            library: library.clone(),
        });
    };
    Ok(LibraryChoice {
        name: Some(name),
        version: (!options.any_version).then(|| library.version.clone()),
        launcher: campaign.library.launcher.clone(),
        ..LibraryChoice::default()
    })
}

/// The share of the budget for turns; as in campaigns, the rest is for starting and warming up.
const TURNS_SHARE: f64 = 0.7;
/// The usual number of launches that decide about suspects.
const FURTHER_LAUNCHES: u32 = 10;
/// The turns at a point: the default, the chosen candidate and the runner-up.
const TURNS_PER_POINT: usize = 3;

/// Reduces a campaign to these points.
fn narrow_campaign(campaign: &mut Campaign, points: &[Point], options: &TestSetupOptions) {
    campaign.strategy = Strategy::Exhaustive;
    campaign.repetitions.racing = false;
    campaign.launches = options.launches;
    campaign.shapes = points.iter().map(|point| point.cell.shape).collect();
    campaign.shapes.sort_unstable();
    campaign.shapes.dedup();
    campaign
        .sizes
        .retain(|collective, _| points.iter().any(|p| p.cell.collective == *collective));
    if let Some(budget) = options.budget_seconds {
        campaign.budget_seconds = budget;
    }
    let turns = (points.len() * TURNS_PER_POINT).max(1) as f64;
    let launches = f64::from(options.launches + FURTHER_LAUNCHES);
    let share = TURNS_SHARE * campaign.budget_seconds / (turns * launches);
    campaign.repetitions.slice = match campaign.repetitions.slice {
        TimeSlice::Seconds(seconds) => TimeSlice::Seconds(seconds.min(share)),
        TimeSlice::Auto => TimeSlice::Seconds(share),
    };
    if let LauncherConfig::Simulated(simulated) = &mut campaign.launcher {
        // The noise must differ from that with which the table was made.
        simulated.seed = simulated.seed.wrapping_add(1);
    }
}

/// Creates a temporary folder with an absolute path.
fn create_folder(beside: &Path) -> Result<TempDir, TunerError> {
    let create = || {
        std::fs::create_dir_all(beside)?;
        let beside = std::path::absolute(beside)?;
        tempfile::Builder::new().prefix("table-").tempdir_in(beside)
    };
    create().map_err(|source| TunerError::File {
        action: "create a folder in",
        path: beside.to_owned(),
        source,
    })
}
