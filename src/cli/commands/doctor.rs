use std::fmt::Write;

use tuner::{Diagnosis, DriverFound};
use wire::units::format_seconds;

use super::workplace::places;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;

/// Check whether this machine is ready to be tuned
///
/// Looks for MPI libraries with their launchers and measuring programs, counts cores, tries the
/// timer, and says what is missing and how to get it. Exits with 3 if no library can be measured.
///
/// With --json, prints one object: `fit`, `cores`, `timer_resolution_seconds`,
/// `timer_overhead_seconds`, `libraries` (each with `name`, `version`, `launcher`, `driver`, the
/// latter null if it is not built), `unusable` (each with `launcher`, `reason`), `searched`
/// (folders), `advice` (sentences).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  colltune doctor
  colltune doctor --quiet && colltune tune campaign.yaml";

impl Args {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let diagnosis = tuner::diagnose(&places());
        if self.json {
            console.json(&findings(&diagnosis))?;
        } else if console.is_quiet() {
            for advice in &diagnosis.advice {
                console.warn(advice);
            }
        } else {
            console.print(describe(&diagnosis))?;
        }
        Ok(if diagnosis.is_fit() {
            Answer::Good
        } else {
            Answer::Unfit
        })
    }
}

fn findings(diagnosis: &Diagnosis) -> serde_json::Value {
    let library = |found: &DriverFound| {
        serde_json::json!({
            "name": found.library.name,
            "version": found.library.version,
            "launcher": found.launcher,
            "driver": found.driver,
        })
    };
    let unusable = diagnosis
        .unusable
        .iter()
        .map(|(launcher, reason)| serde_json::json!({"launcher": launcher, "reason": reason}));
    serde_json::json!({
        "fit": diagnosis.is_fit(),
        "cores": diagnosis.cores,
        "timer_resolution_seconds": diagnosis.timer_resolution_seconds,
        "timer_overhead_seconds": diagnosis.timer_overhead_seconds,
        "libraries": diagnosis.libraries.iter().map(library).collect::<Vec<_>>(),
        "unusable": unusable.collect::<Vec<_>>(),
        "searched": diagnosis.searched,
        "advice": diagnosis.advice,
    })
}

fn describe(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "cores: {}", diagnosis.cores);
    let _ = writeln!(
        text,
        "timer: steps of {}, {} to read",
        format_seconds(diagnosis.timer_resolution_seconds),
        format_seconds(diagnosis.timer_overhead_seconds)
    );
    if diagnosis.libraries.is_empty() {
        let folders: Vec<_> = diagnosis
            .searched
            .iter()
            .map(|f| f.display().to_string())
            .collect();
        let _ = writeln!(text, "MPI: none found in {}", folders.join(", "));
    }
    for DriverFound {
        library,
        launcher,
        driver,
    } in &diagnosis.libraries
    {
        let _ = writeln!(text, "{library}:");
        let _ = writeln!(text, "  launcher: {}", launcher.display());
        let driver = driver.as_ref().map_or_else(
            || "not built".to_owned(),
            |driver| driver.display().to_string(),
        );
        let _ = writeln!(text, "  measuring program: {driver}");
    }
    for (launcher, reason) in &diagnosis.unusable {
        let _ = writeln!(text, "{}: of no use, {reason}", launcher.display());
    }
    for advice in &diagnosis.advice {
        let _ = writeln!(text, "advice: {advice}");
    }
    let verdict = if diagnosis.is_fit() {
        "This machine can be tuned."
    } else {
        "Nothing can be measured here yet."
    };
    text + verdict
}
