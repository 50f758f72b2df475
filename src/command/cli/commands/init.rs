use std::path::PathBuf;

use tuner::TunerError;

use super::campaign::search_paths;
use super::profile::read_profiles;
use super::{Answer, CliError, Console};

/// Write a commented campaign for this machine
///
/// The file contains what `tune` measures here by default; edit it as you like. Its `name` becomes the name of the
/// store, the table and the report.
///
/// With --profile, it contains what the programs of recorded profiles call: the shapes of their communicators, their
/// collectives, and the mean sizes of their blocking calls, of those that take 99 % of the time of such calls that tables
/// can serve, without the estimated waiting for late ranks. Comments give the seconds of each.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune init
  colltune init --output tuning/cluster.yaml
  colltune init --profile solver.json --output solver.yaml
  colltune init --reference | less")]
pub(crate) struct InitArgs {
    /// The file
    #[arg(long, short, value_name = "FILE", default_value = "campaign.yaml")]
    output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Measure what programs call, by the profile or the folder of profiles that `colltune record` wrote
    ///
    /// May be given several times.
    #[arg(long, value_name = "FILE")]
    profile: Vec<PathBuf>,
    /// Print a campaign with every key, its default and its meaning, and write nothing
    #[arg(long, conflicts_with_all = ["output", "force", "profile"])]
    reference: bool,
}

impl InitArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        if self.reference {
            console.print(campaign::REFERENCE.trim_end())?;
            return Ok(Answer::Good);
        }
        let path = &self.output;
        if !self.force && path.exists() {
            return Err(CliError::Exists { path: path.clone() });
        }
        // As with all outputs, a folder with a wrong name is not created.
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            std::fs::metadata(folder).map_err(|source| TunerError::File {
                action: "write",
                path: path.clone(),
                source,
            })?;
        }
        let diagnosis = tuner::diagnose_machine(&search_paths());
        let usable = |found: &&tuner::DriverFound| found.driver.is_some();
        let libraries = &diagnosis.libraries;
        let library = libraries.iter().find(usable).or(libraries.first());
        let library = library.map(|found| found.library.name.as_str());
        let text = if self.profile.is_empty() {
            campaign::init_template(diagnosis.environment.cores, library)
        } else {
            let profile = read_profiles(&self.profile)?;
            campaign::profile_template(&profile, library).ok_or(CliError::NothingServed)?
        };
        tuner::write_text(path, &text)?;
        let path = path.display();
        console.remark(format_args!(
            "{path} is written. `colltune plan {path}` shows what it would measure, `colltune tune \
             {path}` measures it."
        ))?;
        Ok(Answer::Good)
    }
}
