pub(super) mod found;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use answers::MeasuredDeployment;
use campaign::Campaign;
use clap::ValueEnum;
use guard::{
    Activation, AlternatingMeasurer, Circumstances, GuardError, LaunchMeasurer, LaunchWatch, Point,
    Probing, Sources, TestCaller, TestSetup, ValidateOptions, Validated, ValidatedPoint,
    add_probes, confirm_rules, count_unconfirmed_rules, keep_verdicts, table_points,
    validate_points,
};
use launcher::find_driver;
use printable::Plain;
use table::{Deployment, Policy, Table, TableError, Verdict};
use tuner::{Export, export_beside};

use self::found::{Rewritten, ValidationResults};
use super::campaign::search_paths;
use super::guarded::{TableArgs, describe_misplaced, warn_of_load};
use super::{Answer, CliError, Console};
use crate::values;

/// Measure the speed-up of a table over the library's default
///
/// Measures, wherever the table replaces the default, the sizes that the table was made from, the sizes just below and
/// at its thresholds, and probes, which are drawn at random between measured sizes. Only probes can show that the
/// library's default changes its algorithm between two measured sizes. For the deployment `colltune`, the default and
/// the table's choices are measured in the same launches. For the deployment `library`, launches without and with the
/// exported table alternate and are compared in pairs (--via export), or the table's choices are forced in the same
/// launches as the default (--via force).
///
/// Points that seem slower are measured again, and count as slower if these further launches show it significantly.
/// The exit code is 1 if any point is slower or fails, unless --repair has turned it back to the default, up to the
/// next sizes on both sides at which nothing is wrong. Points are not judged if ranks are placed in another order than
/// when the table was measured, or with fewer than 6 launches.
///
/// The verdicts are kept in the store that the table was made from, and in the table if any is against its choices:
/// `lookup`, `run`, `export`, `deploy` and reports then leave these sizes to the default, and `decide` and `tune` use
/// the default in place of candidates that were slower or failed with the same library and conditions, until newer
/// launches confirm them. If the table changes, the export beside it is written again. --keep-table leaves both as they
/// are.
///
/// --confirm marks unconfirmed rules as confirmed, such as those of imported measurements and of tables of version
/// 0.1, if their candidate is significantly faster, by the campaign's `materiality` or more, at every point, including
/// a probe between each two measured sizes. Their speed-up is then that of these launches, and their confidence
/// medium, since only the campaign's own `pattern` of calls is measured. Sizes below the smallest and above the largest
/// measured size are not confirmed.
///
/// Rules that the site deploys for every job, by variables, files of settings or a preloaded library, are overridden
/// while measuring, and a note says so.
///
/// `colltune schema validate` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune validate tables/night.yaml
  colltune validate tables/imported.yaml --campaign tuning/night.yaml --confirm
  colltune validate tables/night.yaml --deployment library --repair --markdown validated.md")]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    table: TableArgs,
    /// The way in which the table is put in place for the deployment `library`
    #[arg(long, value_enum, default_value_t = Via::Export)]
    via: Via,
    /// The number of points to measure, those with most at stake first, one of each algorithm before a second of any;
    /// by default all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cells: Option<u32>,
    /// The number of launches that measure all points; with --via export, of pairs of launches
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    launches: u32,
    /// The largest extra time over the default, as a share, that does not count as slower
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = values::parse_share)]
    materiality: f64,
    /// Export for programs without noncommutative operators, as with `export`
    #[arg(long)]
    assume_commutative: bool,
    /// Turn rules that are slower or fail back to the default, and rewrite the table
    #[arg(long)]
    repair: bool,
    /// Mark rules that are significantly faster at every point as confirmed, and rewrite the table
    #[arg(long)]
    confirm: bool,
    /// Measure only what is in force, leave the table's file as it is, and keep the verdicts in its store alone
    #[arg(long, conflicts_with_all = ["repair", "confirm"])]
    keep_table: bool,
}

/// The way in which a library is made to use a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Via {
    /// Launches read the exported file, as on a site that uses it
    Export,
    /// The measuring program forces each algorithm
    Force,
}

/// The points of a table.
struct Selection {
    /// The points to measure.
    points: Vec<Point>,
    /// These and all other points of the table.
    all: Vec<Point>,
    /// The number of points at which the table keeps the default.
    default_points: usize,
}

impl ValidateArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let rewrites = self.repair || self.confirm;
        let (mut table, sources) = self.table.read(&[], rewrites, console)?;
        let Sources {
            campaign, store, ..
        } = sources;
        if self.keep_table {
            table.turn_back_refuted();
        } else {
            // Choices are measured whatever earlier verdicts say about them, and may be cleared.
            table.verdicts.clear();
            table.mark_refuted();
        }
        let probing = Probing {
            each_gap: self.confirm,
            ..self.table.choose_probing(self.cells)
        };
        let Selection {
            points,
            all,
            default_points,
        } = self.select_points(&table, &campaign, probing)?;
        if self.confirm && probing.number == Some(0) {
            return Err(GuardError::NoProbes.into());
        }
        let (conditions, pattern) = (campaign.conditions_digest(), campaign.pattern);
        let least_gain = campaign.materiality;
        let setup =
            self.table
                .prepare_launches(&table, campaign, &points, self.launches, console)?;
        let library = setup.at.library.clone();
        let options = ValidateOptions {
            launches: self.launches,
            materiality: self.materiality,
            material_loss: least_gain.max(self.materiality),
        };
        let validated = self.measure_points(&table, setup, &points, &options, console)?;
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let circumstances = Circumstances {
            library: library.clone(),
            conditions,
            pattern,
            deployment: self.table.deployment,
            seed: probing.seed,
            unix_seconds: since.map_or(0, |since| since.as_secs()),
        };
        let measured = (&all[..], &validated.points[..]);
        let verdicts = circumstances.verdicts_about(&validated.points);
        let kept_in = keep_verdicts(&verdicts, &table, &store).unwrap_or_else(|error| {
            console.warn(format_args!(
                "the verdicts are not kept in the table's store: {error}."
            ));
            None
        });
        let rewritten =
            self.rewrite_table(&mut table, kept_in, verdicts, measured, least_gain, console)?;
        let found = ValidationResults {
            table: self.table.path.display().to_string(),
            library: library.to_string(),
            measured: MeasuredDeployment {
                deployment: self.table.deployment,
                via: match (self.table.deployment, self.is_export_used()) {
                    (_, true) => "export",
                    (Deployment::Colltune, _) => "driver",
                    (Deployment::Library, _) => "force",
                }
                .to_owned(),
            },
            default_points,
            seed: probing.seed,
            validated,
            rewritten,
            unconfirmed: count_unconfirmed_rules(&table, self.table.deployment),
            confirms: self.confirm,
        };
        warn_of_load(found.validated.busy.as_ref(), console);
        for sentence in describe_misplaced(&found.validated.misplaced) {
            console.warn(format_args!("{sentence}."));
        }
        self.print_results(&found, console)?;
        if let Some(error) = found.rewritten.stale {
            return Err(error.into());
        }
        Ok(if found.validated.is_never_wrong() || self.repair {
            Answer::Good
        } else {
            Answer::No
        })
    }

    /// Whether an exported file is put in place.
    fn is_export_used(&self) -> bool {
        self.table.deployment == Deployment::Library && self.via == Via::Export
    }

    /// Selects the points to measure.
    fn select_points(
        &self,
        table: &Table,
        campaign: &Campaign,
        probing: Probing,
    ) -> Result<Selection, CliError> {
        let deployment = self.table.deployment;
        let elements = (campaign.datatype, campaign.commuting_operator());
        let mut points = table_points(table, deployment, elements, true);
        if points.is_empty() {
            let deployment = deployment.into();
            return Err(GuardError::NothingToMeasure { deployment }.into());
        }
        let mut all = points.clone();
        points.retain(|point| !point.keeps_default());
        let default_points = all.len() - points.len();
        let file = Activation::operator_class(&table.provenance.library, self.assume_commutative);
        let is_in_place =
            |point: &Point| !self.is_export_used() || point.is_exported(table, deployment, file);
        points.retain(is_in_place);
        points.truncate(self.cells.map_or(usize::MAX, |cells| cells as usize));
        add_probes(&mut points, table, deployment, elements, probing);
        points.retain(is_in_place);
        all.extend(points.iter().filter(|point| point.is_probe()).cloned());
        Ok(Selection {
            points,
            all,
            default_points,
        })
    }

    fn measure_points(
        &self,
        table: &Table,
        mut setup: TestSetup,
        points: &[Point],
        options: &ValidateOptions,
        console: Console,
    ) -> Result<Validated, CliError> {
        let LaunchWatch { mut observer, stop } =
            self.table.test_caller(console).watch_launches()?;
        let validated = if self.is_export_used() {
            let (library, path) = (setup.at.library.clone(), search_paths().path);
            let folder = setup.folder.path();
            let deployed = Activation::from_exported_table(
                table,
                &library,
                folder,
                self.assume_commutative,
                &path,
            )?;
            for note in &deployed.notes {
                console.warn(note);
            }
            let mut turns =
                AlternatingMeasurer::new(&mut setup.at, &deployed, &mut *observer, &stop);
            validate_points(points, &mut turns, options)
        } else {
            let mut launches = LaunchMeasurer::new(&setup.at, &mut *observer, &stop);
            validate_points(points, &mut launches, options)
        };
        Ok(setup.close_with_outcome(validated)?)
    }

    /// Rewrites the table and its export if rules are turned back or confirmed, the latter with this gain at least, or
    /// if the table is to keep verdicts: those against its choices, and others that are not `kept_in` a store. `all` are
    /// the points of the table, `validated` the measured ones.
    fn rewrite_table(
        &self,
        table: &mut Table,
        kept_in: Option<PathBuf>,
        verdicts: Vec<Verdict>,
        (all, validated): (&[Point], &[ValidatedPoint]),
        least_gain: f64,
        console: Console,
    ) -> Result<Rewritten, CliError> {
        let mut rewritten = Rewritten {
            kept: kept_in,
            ..Rewritten::default()
        };
        if self.keep_table {
            return Ok(rewritten);
        }
        // Another validation may have added verdicts meanwhile, and `tune` may have made another table.
        let path = &self.table.path;
        let now = Table::load(path)?;
        if !now.has_rules_of(table) {
            let changed = TableError::Changed { path: path.clone() };
            if self.repair || self.confirm {
                return Err(changed.into());
            }
            console.warn(format_args!("{changed}: it does not keep the verdicts."));
            return Ok(rewritten);
        }
        table.verdicts = now.verdicts;
        // Later verdicts may overrule earlier ones, and limit the sizes that they are about.
        let was_refuted = table.verdicts.iter().any(Verdict::is_wrong);
        let is_refuted = verdicts.iter().any(Verdict::is_wrong);
        if self.repair {
            let about_table = table.binding_verdicts().cloned();
            let all_verdicts: Vec<Verdict> = about_table.chain(verdicts.iter().cloned()).collect();
            rewritten.repaired = table.turn_back(&all_verdicts);
        }
        if self.confirm {
            let deployment = self.table.deployment;
            rewritten.confirmed = confirm_rules(table, deployment, all, validated, least_gain);
        }
        let is_asked = self.repair || self.confirm;
        let only_here = is_asked && rewritten.kept.is_none();
        let stays_refuted = is_refuted && rewritten.repaired.is_empty();
        let keeps_here = !verdicts.is_empty() && (only_here || was_refuted || stays_refuted);
        let is_changed = !rewritten.repaired.is_empty() || !rewritten.confirmed.is_empty();
        if !is_changed && !keeps_here {
            return Ok(rewritten);
        }
        if !is_asked && !is_writable(path) {
            let consequence = if is_refuted {
                ": programs that read it use what was found slower"
            } else {
                ""
            };
            console.warn(format_args!(
                "{} cannot be written and does not keep the verdicts{consequence}.",
                path.display()
            ));
            return Ok(rewritten);
        }
        if keeps_here {
            table.add_verdicts(verdicts);
            rewritten.kept_in_table = true;
            rewritten.kept.get_or_insert_with(|| path.clone());
        }
        table.mark_refuted();
        let rules = table.entries().flat_map(|entry| &entry.rules);
        rewritten.refuted = rules.filter(|rule| rule.refuted).count();
        table.save(path)?;
        let export = self.rewrite_export(table, console)?;
        rewritten.export = export.path().map(Path::to_owned);
        rewritten.stale = export.require_current().err();
        Ok(rewritten)
    }

    /// Writes the export beside the table.
    fn rewrite_export(&self, table: &Table, console: Console) -> Result<Export, CliError> {
        let path = &self.table.path;
        let library = &table.provenance.library;
        let driver = find_driver(library, &search_paths().driver_directories()).ok();
        let policy = Policy::default();
        let export = export_beside(table, path, &search_paths().path, driver.as_deref(), policy)?;
        for warning in export.warnings(library) {
            console.warn(warning);
        }
        Ok(export)
    }

    fn print_results(&self, found: &ValidationResults, console: Console) -> Result<(), CliError> {
        if let Some(path) = &self.table.markdown {
            tuner::write_text(path, &Plain(found.to_markdown()).to_string())?;
        }
        if self.table.json || self.table.events.is_wanted() {
            return self.table.events.print_outcome(&found.to_output(), console);
        }
        console.print(found.describe())
    }
}

/// Whether a table may be replaced: deployed versions are read-only, also for root.
fn is_writable(path: &Path) -> bool {
    let is_open = path
        .metadata()
        .is_ok_and(|found| !found.permissions().readonly());
    is_open && files::check_writable(path).is_ok()
}
