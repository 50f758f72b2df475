use std::path::{Path, PathBuf};

use export::deploy::{self, DeployRequest, Deployed, DeployedVersion};
use nix::unistd::{Uid, User};
use report::text_table;
use schemars::JsonSchema;
use serde::Serialize;
use table::Table;
use vocabulary::quote_for_shell;

use super::export::ExportOptionArgs;
use super::in_force::JudgedTable;
use super::lookup::{warn_of_cpu, warn_of_networks, warn_of_simulation};
use super::owner::OwnerArgs;
use super::preload::find_preload_library;
use super::{Answer, CliError, Console};

/// Deploy a table for jobs, as a version that never changes
///
/// Writes a folder for the table into DIR: the rules that are used, the file that the table's library reads, an
/// environment file for shells, module files for Lmod and Environment Modules, and slurm.sh for batch scripts of Slurm,
/// which checks that all nodes of the job have the version. Then it points the link DIR/current at that folder. Running
/// jobs keep their version. Deploying the same table again changes nothing.
///
/// Tables for several libraries and types of node are current side by side: where DIR has one for another library, series
/// of releases, CPU or network, the table becomes current in a folder of its own in DIR, such as DIR/mpich-4.0, which
/// --to can name, too.
///
/// DIR must belong to the user who runs the command, or to root, and be closed to the writing of others. For root this
/// holds for all folders above it, too: otherwise their owners could let root write to any place. --owner deploys to the
/// folder of another user.
///
/// Exits with 0 if the version is current; with 1, without any change, if the table has rules that no fresh launches
/// confirmed, or no rules that can be used, or if there is no version to roll back to or to withdraw; with 2 if the
/// table, an option or DIR cannot be used; with 3 if libcolltune.so is not built for the library, or another colltune is
/// deploying to DIR. Rules below --min-confidence are left out, and so are those that break --numerics.
///
/// --rollback makes the previous version current again, --withdraw lets the library decide again, and --list shows all
/// versions. DIR/history records who deployed what and when. `colltune schema deploy` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune deploy tables/night.yaml --to /opt/tables
  . /opt/tables/current/environment.sh
  mpirun -n 4 \"$COLLTUNE_WITH_TABLE\" ./solver    # if deployed with --preload
  colltune deploy tables/mpich.yaml --to /opt/tables   # for another library: /opt/tables/mpich-4.0/current
  colltune deploy --rollback --to /opt/tables
  colltune deploy --withdraw --to /opt/tables    # the library decides again")]
pub(crate) struct DeployArgs {
    /// The decision table
    #[arg(value_name = "TABLE", required_unless_present_any = ["rollback", "withdraw", "list"])]
    table: Option<PathBuf>,
    /// The folder of versions, on all nodes under the same name
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Deploy only confirmed rules; the library's default is used in place of others
    ///
    /// Rules below --min-confidence are left out in any case.
    #[arg(long, conflicts_with = "unconfirmed")]
    confirmed_only: bool,
    /// Also write the script with-table, which preloads libcolltune.so so that programs decide by the table themselves
    ///
    /// The launcher starts programs through the script: mpirun -n 4 "$COLLTUNE_WITH_TABLE" ./solver. It sets LD_PRELOAD
    /// and the table only for the program, on every node. The environment file and the module name the script of their
    /// own version, so all ranks of a job use the same table even if another one is deployed meanwhile.
    #[arg(long)]
    preload: bool,
    /// Make the table current in DIR itself, even if the current one is for another library or type of node
    ///
    /// As after an update of the library, if the scripts of jobs read DIR/current and no job uses the former release.
    #[arg(long)]
    replace: bool,
    /// Make the previous version current again
    #[arg(long, conflicts_with_all = ["list", "withdraw"], conflicts_with_all = DEPLOY_ARGUMENTS)]
    rollback: bool,
    /// Let the library decide again, also if the first version is current
    ///
    /// Makes a version current that sets nothing. Jobs that read DIR/current/environment.sh or slurm.sh, or load the
    /// module, go on as before, without the table; running jobs keep their version. --rollback returns to the version
    /// that was current before.
    #[arg(long, conflicts_with = "list", conflicts_with_all = DEPLOY_ARGUMENTS)]
    withdraw: bool,
    /// Show all versions
    #[arg(long, conflicts_with_all = DEPLOY_ARGUMENTS)]
    list: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    owner: OwnerArgs,
    #[command(flatten)]
    options: ExportOptionArgs,
}

/// The output of `--json`.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub(super) enum DeployOutput {
    /// The deployed version.
    Deployed(Deployed),
    /// The version that is current now, with --rollback or --withdraw.
    Current(DeployedVersion),
    /// All versions, with --list.
    Versions(Vec<DeployedVersion>),
}

/// Arguments that conflict with --rollback, --withdraw and --list.
const DEPLOY_ARGUMENTS: [&str; 12] = [
    "table",
    "confirmed_only",
    "preload",
    "replace",
    "library_version",
    "assume_commutative",
    "library",
    "assume_shape",
    "min_confidence",
    "unconfirmed",
    "extrapolate",
    "numerics",
];

impl DeployArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        self.owner.assume_rights()?;
        if self.list {
            return self.print_versions(console);
        }
        if self.withdraw {
            let current = deploy::withdraw_table(&self.to, &current_user_name())?;
            let text = format!("{} is current now: the library decides", current.name);
            return self.print_current(current, text, console);
        }
        if let Some(table) = self.table.as_ref().filter(|_| !self.rollback) {
            self.deploy_table(&JudgedTable::read_for_others(table, console)?, console)?;
            return Ok(Answer::Good);
        }
        let current = deploy::roll_back(&self.to, &current_user_name())?;
        let text = format!("{} is current now", current.name);
        self.print_current(current, text, console)
    }

    /// Prints the version that is current now, and which folders for other libraries and types of node stay as they are.
    fn print_current(
        &self,
        current: DeployedVersion,
        text: String,
        console: Console,
    ) -> Result<Answer, CliError> {
        let answer = console.print_answer(self.json, &DeployOutput::Current(current), || text)?;
        let beside = deploy::folders_beside(&self.to)?;
        if !self.json && !beside.is_empty() {
            let folders: Vec<String> = beside.iter().map(|folder| quote_path(folder)).collect();
            console.remark(format_args!(
                "the tables for other libraries or types of node stay current; name their folders with --to to change \
                 them: {}",
                folders.join(", ")
            ))?;
        }
        Ok(answer)
    }

    fn deploy_table(&self, table: &Table, console: Console) -> Result<(), CliError> {
        warn_of_simulation(table, console);
        let library = self.options.target_library(table);
        let format = export::format_read_by(&library);
        if format.is_some() {
            warn_of_cpu(table, console);
            warn_of_networks(table, console);
        }
        let mut options = self.options.options_for(table, format);
        if let Some(format) = format {
            let driver = self.options.target_driver(table);
            // `deploy` reports errors of the export.
            options.remarks = tuner::export_remarks(format, table, &options, driver.as_deref())
                .unwrap_or_default();
        }
        let preload = self
            .preload
            .then(|| find_preload_library(&library))
            .transpose()?;
        let deployed = deploy::deploy_table(
            &DeployRequest {
                table,
                options: &options,
                confirmed_only: self.confirmed_only,
                preload: preload.as_deref(),
                replace: self.replace,
                who: &current_user_name(),
                release: None,
            },
            &self.to,
        )?;
        for warning in table.provenance.warnings.iter().chain(&deployed.notes) {
            console.warn(warning);
        }
        for withheld in &deployed.withheld {
            console.warn(format_args!("not deployed: {withheld}"));
        }
        self.warn_of_replaced(table, &deployed, console);
        if self.json {
            console.print_json(&DeployOutput::Deployed(deployed))
        } else {
            self.print_deployed(&deployed, console)
        }
    }

    fn print_deployed(&self, deployed: &Deployed, console: Console) -> Result<(), CliError> {
        let name = &deployed.version.name;
        match &deployed.before {
            Some(before) if before == name => {
                console.print(format_args!("{name} is already deployed"))?;
            }
            Some(before) => {
                console.print(format_args!(
                    "{name} is deployed; {before} was current before"
                ))?;
            }
            None => console.print(format_args!("{name} is deployed"))?,
        }
        if let Some(folder) = self.folder_beside(deployed)
            && let Some(first) = deploy::target_of(&self.to)?
        {
            console.remark(format_args!(
                "it is current in {}, beside the one for {} on {} in {}",
                quote_path(folder),
                first.library,
                first.describe_nodes(),
                quote_path(&self.to)
            ))?;
        }
        console.remark(format_args!(
            "jobs use it after `. {}`, or `module use {}` and `module load {}`",
            quote_path(&deployed.environment),
            quote_path(&deployed.modules),
            deployed.module
        ))?;
        match &deployed.program {
            Some(_) => console.remark(
                "programs decide by the table themselves if the job then starts them by `mpirun ... \
                 \"$COLLTUNE_WITH_TABLE\" PROGRAM`",
            ),
            None => Ok(()),
        }
    }

    /// The folder in `--to` that the table was deployed to, if its own versions are for another library or type of node.
    fn folder_beside<'d>(&self, deployed: &'d Deployed) -> Option<&'d Path> {
        let folder = deployed.version.folder.parent()?;
        let given = std::path::absolute(&self.to).ok()?;
        (!files::is_same(folder, &given)).then_some(folder)
    }

    /// Warns if the version before was for another library, release or type of node, whose jobs get this one now.
    fn warn_of_replaced(&self, table: &Table, deployed: &Deployed, console: Console) {
        let folder = deployed.version.folder.parent().unwrap_or(&self.to);
        let Some(before) = &deployed.before else {
            return;
        };
        let before = match Table::load(&folder.join(before).join("table.yaml")) {
            Ok(before) => before,
            Err(error) => {
                console.warn(format_args!(
                    "the table of the version before cannot be read, so it is not known what it was for: {error}."
                ));
                return;
            }
        };
        let (was, is) = (&before.provenance, &table.provenance);
        let is_withdrawn = !before.has_rules();
        if is_withdrawn || (was.library == is.library && was.has_same_nodes(is)) {
            return;
        }
        let consequence = if self.replace {
            "jobs with the former no longer get a table here. Without `--replace` both are current, each in a folder of \
             its own"
        } else {
            "jobs with the former get this one, too"
        };
        console.warn(format_args!(
            "the version before was for {} on {}, this one is for {} on {}: {consequence}; `colltune deploy --rollback \
             --to {}` undoes this.",
            was.library,
            was.describe_nodes(),
            is.library,
            is.describe_nodes(),
            quote_path(folder)
        ));
    }

    fn print_versions(&self, console: Console) -> Result<Answer, CliError> {
        let versions = deploy::list_all_versions(&self.to)?;
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let rows = versions.iter().map(|version| {
            let mark = if version.current { "*" } else { "" };
            let [date, who] = [&version.date, &version.who].map(text);
            // Versions of folders beside have the folder's name in front.
            let name = version.folder.strip_prefix(&self.to);
            let name =
                name.map_or_else(|_| version.name.clone(), |name| name.display().to_string());
            [mark.to_owned(), name, date, who]
        });
        let listing = text_table(" | version | deployed | by", rows).to_text();
        console.print_answer(self.json, &DeployOutput::Versions(versions), || listing)
    }
}

fn quote_path(path: &Path) -> String {
    quote_for_shell(&path.to_string_lossy())
}

/// The name of the user who runs the command.
fn current_user_name() -> String {
    let uid = Uid::current();
    let user = User::from_uid(uid).ok().flatten();
    user.map_or_else(|| uid.to_string(), |user| user.name)
}
