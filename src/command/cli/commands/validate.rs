pub(super) mod found;

use answers::MeasuredDeployment;
use clap::ValueEnum;
use guard::{
    ProgramVerdict, TableFile, TableUse, ValidateOutcome, ValidateRequest, validate_table,
};
use printable::Plain;
use table::Deployment;

use self::found::ValidationResults;
use super::campaign::search_paths;
use super::guarded::{TableArgs, describe_misplaced, warn_of_conditions};
use super::program::{ProgramArgs, ProgramTest};
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
/// Rules that were imported from a site's file have no measured sizes. They are tested at the sizes of the campaign
/// (--campaign), by default those of a campaign without `sizes`.
///
/// --confirm marks unconfirmed rules as confirmed, such as those of imports and of tables of version 0.1, if their
/// candidate is significantly faster, by the campaign's `materiality` or more, at every point, including a probe between
/// each two measured sizes. Their speed-up is then that of these launches, and their confidence
/// medium, since only the campaign's own `pattern` of calls is measured. Sizes below the smallest and above the largest
/// measured size are not confirmed.
///
/// Rules that the site deploys for every job, by variables, files of settings or a preloaded library, are overridden
/// while measuring, and a note says so.
///
/// --command times a whole program instead, in turns without and with the table, and compares the pairs. The exit code is
/// then 1 if it is significantly slower with the table, or fails with it alone. Verdicts about a program say nothing
/// about single rules, and are not kept.
///
/// `colltune schema validate` describes what --json prints, and `colltune schema program` what it prints with --command.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune validate tables/night.yaml
  colltune validate tables/imported.yaml --campaign tuning/night.yaml --confirm
  colltune validate tables/night.yaml --deployment library --repair --markdown validated.md
  colltune validate tables/night.yaml --command 'mpirun -n 64 ./solver input.dat' --times runs.csv
  colltune validate tables/night.yaml --command 'mpirun -n 64 lmp -in melt' --figure 'Loop time of ([0-9.]+)'")]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    table: TableArgs,
    /// The way in which the table is put in place for the deployment `library`
    #[arg(long, value_enum, default_value_t = Via::Export, conflicts_with = "command")]
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
    #[arg(long, conflicts_with = "command")]
    repair: bool,
    /// Mark rules that are significantly faster at every point as confirmed, and rewrite the table
    #[arg(long, conflicts_with = "command")]
    confirm: bool,
    /// Measure only what is in force, leave the table's file as it is, and keep the verdicts in its store alone
    #[arg(long, conflicts_with_all = ["repair", "confirm", "command"])]
    keep_table: bool,
    #[command(flatten)]
    program: ProgramArgs,
}

/// The way in which a library is made to use a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Via {
    /// Launches read the exported file, as on a site that uses it
    Export,
    /// The measuring program forces each algorithm
    Force,
}

impl ValidateArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let of_program = ProgramTest {
            materiality: self.materiality,
            assume_commutative: self.assume_commutative,
            outputs: &[],
        };
        let timed = self
            .program
            .time_program(&self.table, &of_program, console)?;
        if let Some(found) = timed {
            return Ok(match found.verdict() {
                ProgramVerdict::Slower | ProgramVerdict::Fails => Answer::No,
                _ => Answer::Good,
            });
        }
        let (table, sources) = self.table.read(&[], self.repair || self.confirm, console)?;
        // What the options mean together is decided here, and what follows from it in `guard`.
        let request = ValidateRequest {
            path: self.table.path.clone(),
            table_use: self.table_use(),
            cells: self.cells.map(|cells| cells as usize),
            probing: self.table.choose_probing(self.cells),
            materiality: self.materiality,
            file: if self.keep_table {
                TableFile::Kept
            } else {
                TableFile::Updated {
                    repair: self.repair,
                    confirm: self.confirm,
                }
            },
            setup: self.table.setup_options(self.launches),
        };
        let mut caller = self.table.test_caller(console);
        let outcome = validate_table(table, sources, &request, &search_paths(), &mut caller)?;
        let ValidateOutcome {
            library,
            default_points,
            validated,
            changes,
            unconfirmed,
        } = outcome;
        let found = ValidationResults {
            table: self.table.path.display().to_string(),
            library: library.to_string(),
            measured: MeasuredDeployment {
                deployment: self.table.deployment,
                via: request.table_use.name().to_owned(),
            },
            default_points,
            seed: request.probing.seed,
            validated,
            changes,
            unconfirmed,
            confirms: self.confirm,
        };
        // What makes the results worth less is said before them.
        let busy = found.validated.busy.iter();
        warn_of_conditions(busy.chain(&found.validated.steered), console);
        for sentence in describe_misplaced(&found.validated.misplaced) {
            console.warn(format_args!("{sentence}."));
        }
        self.print_results(&found, console)?;
        // The results stand, but the library would go on with the rules of the table before.
        if let Some(error) = found.changes.stale {
            return Err(error.into());
        }
        Ok(if found.validated.is_never_wrong() || self.repair {
            Answer::Good
        } else {
            Answer::No
        })
    }

    /// The decisions to measure, and how launches follow them.
    fn table_use(&self) -> TableUse {
        match (self.table.deployment, self.via) {
            (Deployment::Colltune, _) => TableUse::Colltune,
            (Deployment::Library, Via::Force) => TableUse::LibraryForced,
            (Deployment::Library, Via::Export) => TableUse::LibraryExport {
                assume_commutative: self.assume_commutative,
            },
        }
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
