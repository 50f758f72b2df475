pub(super) mod found;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use campaign::Campaign;
use clap::ValueEnum;
use guard::{
    Activation, Alternating, Circumstances, GuardError, Launches, Point, Probing, TestSetup,
    ValidateOptions, Validated, add_probes, confirm, keep, points, unconfirmed, validate,
};
use launcher::find_driver;
use table::{Deployment, Policy, Table};
use tuner::export_beside;

use self::found::{Found, Rewritten};
use super::guarded::{TableArgs, other_orders};
use super::workplace::places;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;
use crate::interrupt;
use crate::progress::ProgressDisplay;
use crate::values;

/// Measure the speed-up of a table over the library's default
///
/// Measures the sizes that the table was made from, those just below and at its thresholds, and probes, which
/// are drawn at random between measured sizes, wherever it does not keep the default: if the library's default
/// changes its algorithm between two measured sizes, only probes can show it. For the deployment `colltune`, both are measured in
/// the same launches. For the deployment `library`, the exported table is put in place (--via export): launches
/// without and with it take turns and are compared in pairs; with --via force, what it chooses is forced within
/// the same launches instead.
///
/// What seems slower is measured again, and is slower if these further launches say so for certain. Exit code
/// 1 if anything is slower or fails, unless --repair has turned that back to the default, up to the next sizes
/// on both sides at which nothing is wrong. Points are not judged where ranks stand on their nodes in another
/// order than when the table was measured, nor where there are too few launches to tell: 6 are needed.
///
/// The verdicts are kept in the store that the table was made from: `decide` and `tune` leave to the default what
/// was slower or failed in the same library and conditions, until newer launches confirm it. Where the store is not
/// here, --repair and --confirm keep the verdicts in the table. If either option changes the table, the table and
/// the export beside it are written again.
///
/// --confirm marks rules as confirmed that no launches had confirmed before, such as those of imported measurements
/// and of tables of version 0.1, if what they choose is significantly faster at every point, probes included. Their
/// speed-up is then that of these launches. Beyond the smallest and the largest measured size nothing is confirmed.
///
/// Rules that are deployed for every job of the site, by variables, files of settings or a preloaded library, are
/// overridden for measuring, and a note says so.
///
/// `colltune schema validate` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    table: TableArgs,
    /// How the table is put in place for the deployment `library`
    #[arg(long, value_enum, default_value_t = Via::Export)]
    via: Via,
    /// Points to measure, those with most at stake first, one of each algorithm before a second of any; all
    /// by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cells: Option<u32>,
    /// Launches that measure all points, with --via export pairs of launches
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    launches: u32,
    /// How much slower than the default something may be without being called slower, as a share
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = values::share)]
    materiality: f64,
    /// Export for programs without operators that do not commute, as of `export`
    #[arg(long)]
    assume_commutative: bool,
    /// Turn what is slower, or fails, back to the default, and rewrite the table
    #[arg(long)]
    repair: bool,
    /// Mark the rules as confirmed that are significantly faster at every point, and rewrite the table
    #[arg(long)]
    confirm: bool,
}

/// How a library comes to do what its table says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Via {
    /// Launches read the exported file, as a site would use it
    Export,
    /// The measuring program forces one algorithm after the other
    Force,
}

const EXAMPLES: &str = "\
Examples:
  colltune validate tables/night.yaml
  colltune validate tables/imported.yaml --campaign tuning/night.yaml --confirm
  colltune validate tables/night.yaml --deployment library --repair --markdown validated.md";

/// What is measured.
struct Asked {
    points: Vec<Point>,
    /// The same, and all other points of the table.
    all: Vec<Point>,
    /// The number of points at which the table keeps the default.
    kept: usize,
}

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let rewrites = self.repair || self.confirm;
        let (mut table, campaign) = self.table.read(&[], rewrites, None, console)?;
        let probing = self.table.probing(self.cells);
        let Asked { points, all, kept } = self.points(&table, &campaign, probing)?;
        if self.confirm && probing.number == Some(0) {
            return Err(GuardError::NoProbes.into());
        }
        let (conditions, pattern) = (campaign.conditions(), campaign.pattern);
        let site = self
            .table
            .site(&table, campaign, &points, self.launches, console)?;
        let library = site.at.library.clone();
        let validated = self.measure(&table, site, &points, console)?;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let circumstances = Circumstances {
            library: library.clone(),
            conditions,
            pattern,
            deployment: self.table.deployment,
            seed: probing.seed,
            unix_seconds: since.map_or(0, |since| since.as_secs()),
        };
        let rewritten = self.rewrite(&mut table, &circumstances, &all, &validated, console)?;
        let found = Found {
            table: self.table.path.display().to_string(),
            library: library.to_string(),
            deployment: self.table.deployment,
            via: match (self.table.deployment, self.exports()) {
                (_, true) => "export",
                (Deployment::Colltune, _) => "driver",
                (Deployment::Library, _) => "force",
            },
            kept,
            seed: probing.seed,
            validated,
            rewritten,
            unconfirmed: unconfirmed(&table, self.table.deployment),
            confirms: self.confirm,
        };
        for sentence in other_orders(&found.validated.misplaced) {
            console.warn(format_args!("{sentence}."));
        }
        self.print(&found, console)?;
        Ok(match found.validated.is_good() || self.repair {
            true => Answer::Good,
            false => Answer::No,
        })
    }

    /// Whether an exported file is put in place.
    fn exports(&self) -> bool {
        self.table.deployment == Deployment::Library && self.via == Via::Export
    }

    /// What is to be measured.
    fn points(
        &self,
        table: &Table,
        campaign: &Campaign,
        probing: Probing,
    ) -> Result<Asked, CliError> {
        let deployment = self.table.deployment;
        let elements = (campaign.datatype, campaign.commuting_operator());
        let mut points = points(table, deployment, elements, true);
        if points.is_empty() {
            let deployment = deployment.into();
            return Err(GuardError::NothingToMeasure { deployment }.into());
        }
        let mut all = points.clone();
        points.retain(|point| !point.keeps_default());
        let kept = all.len() - points.len();
        let file = Activation::operators(&table.provenance.library, self.assume_commutative);
        let is_told = |point: &Point| !self.exports() || point.is_told(table, deployment, file);
        points.retain(is_told);
        points.truncate(self.cells.map_or(usize::MAX, |cells| cells as usize));
        add_probes(&mut points, table, deployment, elements, probing);
        points.retain(is_told);
        all.extend(points.iter().filter(|point| point.is_probe()).cloned());
        Ok(Asked { points, all, kept })
    }

    fn measure(
        &self,
        table: &Table,
        mut site: TestSetup,
        points: &[Point],
        console: Console,
    ) -> Result<Validated, CliError> {
        let options = ValidateOptions {
            launches: self.launches,
            materiality: self.materiality,
        };
        let stop = interrupt::flag()?;
        let events = self.table.events;
        let mut observer = events.observer(console, ProgressDisplay::once, &stop)?;
        let validated = if self.exports() {
            let (library, path) = (site.at.library.clone(), places().path);
            let folder = site.folder.path();
            let deployed =
                Activation::put(table, &library, folder, self.assume_commutative, &path)?;
            for note in &deployed.notes {
                console.warn(note);
            }
            let mut turns = Alternating::new(&mut site.at, &deployed, &mut *observer, &stop);
            validate(points, &mut turns, &options)
        } else {
            let mut launches = Launches::new(&site.at, &mut *observer, &stop);
            validate(points, &mut launches, &options)
        };
        Ok(site.conclude(validated)?)
    }

    /// Keeps the verdicts, and rewrites the table and its export if there is anything to turn back or to confirm.
    fn rewrite(
        &self,
        table: &mut Table,
        circumstances: &Circumstances,
        all: &[Point],
        validated: &Validated,
        console: Console,
    ) -> Result<Rewritten, CliError> {
        let verdicts = circumstances.verdicts(&validated.points);
        let kept = keep(&verdicts, table, &places().homes).unwrap_or_else(|error| {
            console.warn(format_args!(
                "the verdicts are not kept in the table's store: {error}."
            ));
            None
        });
        let mut rewritten = Rewritten {
            kept,
            ..Rewritten::default()
        };
        if self.repair {
            rewritten.repaired = table.turn_back(&verdicts);
        }
        if self.confirm {
            rewritten.confirmed = confirm(table, self.table.deployment, all, &validated.points);
        }
        let is_asked = self.repair || self.confirm;
        let keeps_here = is_asked && rewritten.kept.is_none() && !verdicts.is_empty();
        if rewritten.repaired.is_empty() && rewritten.confirmed.is_empty() && !keeps_here {
            return Ok(rewritten);
        }
        let path = &self.table.path;
        if rewritten.kept.is_none() {
            table.verdicts.extend(verdicts);
            rewritten.kept = Some(path.clone());
        }
        table.save(path)?;
        rewritten.export = self.export(table, console)?;
        Ok(rewritten)
    }

    /// Writes the export beside the table; returns its path.
    fn export(&self, table: &Table, console: Console) -> Result<Option<PathBuf>, CliError> {
        let path = &self.table.path;
        let library = &table.provenance.library;
        let driver = find_driver(library, &places().driver_directories()).ok();
        let policy = Policy::default();
        let export = export_beside(table, path, &places().path, driver.as_deref(), policy)?;
        for warning in export.warnings(library) {
            console.warn(warning);
        }
        Ok(export.path().map(Path::to_owned))
    }

    fn print(&self, found: &Found, console: Console) -> Result<(), CliError> {
        if let Some(path) = &self.table.markdown {
            tuner::write(path, &found.markdown())?;
        }
        if self.table.events.is_wanted() {
            return self.table.events.conclude(&found.answer());
        }
        if self.table.json {
            return console.json(&found.answer());
        }
        console.print(found.describe())
    }
}
