//! Where a table's library can be launched.

use std::path::Path;

use campaign::{Campaign, LauncherConfig, Strategy, TimeSlice};
use launcher::LibraryChoice;
use store::Store;
use table::Table;
use tempfile::TempDir;
use tuner::{MeasurementContext, SearchPaths, StateDirs, TunerError, store_file};
use vocabulary::{CommShape, Pattern};

use crate::{GuardError, Point};

/// How points are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TestSetupOptions {
    /// Whether another version of the library than the table's will do, or another simulated machine.
    pub any_version: bool,
    /// Time that all launches may take, in seconds; that of the campaign if absent.
    pub budget_seconds: Option<f64>,
    /// Launches that are expected.
    pub launches: u32,
}

/// A workplace for the library of a table, with an empty store that goes with it.
pub struct TestSetup {
    /// The workplace; its campaign is that of the table, for as long as is needed here.
    pub at: MeasurementContext,
    /// Where the store is, and files of launches: beside that of the campaign, which all hosts see.
    pub folder: TempDir,
}

/// The campaign of a table: that of a file if one is named, that which the table's store remembers, or, for a
/// library that was measured on this machine, one of its own shapes with a launcher's usual options.
///
/// # Errors
/// If none of these is to be had, or a file has a mistake.
pub fn campaign_of(
    table: &Table,
    file: Option<&Path>,
    homes: &StateDirs,
) -> Result<Campaign, GuardError> {
    if let Some(file) = file {
        return Ok(Campaign::load(file)?);
    }
    let provenance = &table.provenance;
    let store = store_file(Path::new(&provenance.store), homes);
    if store.exists() {
        let rows = Store::open(&store)?.campaigns()?;
        let row = rows.iter().find(|row| row.digest == provenance.campaign);
        // What was imported is no campaign.
        if let Some(campaign) = row.and_then(|row| Campaign::parse_stored(&row.text).ok()) {
            return Ok(campaign);
        }
    }
    let library = &provenance.library;
    let is_known = libraries::find(&library.name).is_some();
    let shapes: Vec<CommShape> = table.entries().map(|entry| entry.shape).collect();
    if !is_known || shapes.iter().any(|shape| shape.nodes > 1) {
        return Err(GuardError::NoCampaign {
            library: library.clone(),
            store,
        });
    }
    let shapes: Vec<String> = shapes.iter().map(ToString::to_string).collect();
    let starts = match provenance.pattern {
        Pattern::Skewed => "synchronisation: window\n",
        _ => "",
    };
    let text = format!(
        "name: table\nlibrary: {}\nshapes: [{}]\npattern: {}\n{starts}",
        library.name,
        shapes.join(", "),
        provenance.pattern
    );
    Ok(Campaign::parse(
        &text,
        Path::new("(a campaign for the table)"),
    )?)
}

impl TestSetup {
    /// Finds what launches of these points need.
    ///
    /// # Errors
    /// What is missing, or if another library is found than that of the table.
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
                Some(choice(table, &campaign, options)?)
            }
            LauncherConfig::Simulated(_) => None,
        };
        narrow(&mut campaign, points, options);
        let mut at = MeasurementContext::of(campaign, choice, places)?;
        let library = &table.provenance.library;
        if at.library != *library && !options.any_version {
            return Err(GuardError::OtherLibrary {
                table: library.clone(),
                found: at.library,
            });
        }
        let folder = folder(&beside)?;
        at.campaign.output.store = folder.path().join("measured.db");
        // The store is removed as soon as the question is answered.
        at.relocated = None;
        Ok(Self { at, folder })
    }

    /// What came of measuring here. The folder is gone then, unless something went wrong with launches,
    /// whose logs are there.
    ///
    /// # Errors
    /// The one given; nodes that cannot be given back.
    pub fn conclude<T>(self, outcome: Result<T, GuardError>) -> Result<T, GuardError> {
        let closed = self.at.launcher.close().map_err(TunerError::from);
        let outcome = outcome.and_then(|outcome| Ok(closed.map(|()| outcome)?));
        if let Err(GuardError::Tuner(_)) = outcome {
            let _ = self.folder.keep();
        }
        outcome
    }
}

/// The table's library, with the campaign's launcher.
fn choice(
    table: &Table,
    campaign: &Campaign,
    options: &TestSetupOptions,
) -> Result<LibraryChoice, GuardError> {
    let library = &table.provenance.library;
    let Some(name) = libraries::find(&library.name) else {
        return Err(GuardError::NoLauncher {
            library: library.clone(),
        });
    };
    Ok(LibraryChoice {
        name: Some(name),
        version: (!options.any_version).then(|| library.version.clone()),
        launcher: campaign.library.launcher.clone(),
    })
}

/// Share of the budget that turns may take: as in campaigns, the rest is for starting and warming up.
const TURNS_SHARE: f64 = 0.7;
/// Launches that decide about suspects, usually.
const FURTHER_LAUNCHES: u32 = 10;
/// The default, what is chosen and the runner-up.
const TURNS_A_POINT: usize = 3;

/// Leaves of a campaign what these points need.
fn narrow(campaign: &mut Campaign, points: &[Point], options: &TestSetupOptions) {
    campaign.strategy = Strategy::Exhaustive;
    campaign.racing = false;
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
    let turns = (points.len() * TURNS_A_POINT).max(1) as f64;
    let launches = f64::from(options.launches + FURTHER_LAUNCHES);
    let share = TURNS_SHARE * campaign.budget_seconds / (turns * launches);
    campaign.repetitions.slice = match campaign.repetitions.slice {
        TimeSlice::Seconds(seconds) => TimeSlice::Seconds(seconds.min(share)),
        TimeSlice::Auto => TimeSlice::Seconds(share),
    };
    if let LauncherConfig::Simulated(options) = &mut campaign.launcher {
        // Other noise than that under which the table was made.
        options.seed = options.seed.wrapping_add(1);
    }
}

/// A new folder, by its absolute path.
fn folder(beside: &Path) -> Result<TempDir, TunerError> {
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
