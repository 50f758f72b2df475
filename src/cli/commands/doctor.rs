use std::collections::BTreeMap;
use std::fmt::Write;

use libraries::Serving;
use tuner::{Diagnosis, DriverFound, Setting};
use vocabulary::units::{format_bytes, format_seconds};
use wire::Environment;

use super::workplace::places;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Answer;

/// Check whether this machine is ready to be tuned
///
/// Looks for MPI libraries with their launchers and measuring programs, counts cores, tries the
/// timer and shared memory, looks at what else runs and at settings that change what the library chooses by itself,
/// and says what is missing and how to get it. It also says which part of each library comes first for each
/// collective. This follows from priorities and settings alone; a part that declines leaves the collective to the
/// next. Exits with 3 if no library can be measured;
/// warnings, which a report would show as well, do not change that.
///
/// With --json, prints one object: `fit`, `cores` (more ranks a node share them), `threads`
/// (hardware threads), `cpu`, `kernel`, `governor` (empty if unknown), `load` (other running
/// tasks), `timer_resolution_seconds`, `timer_overhead_seconds`, `shared_memory_bytes` (what a process may share with
/// others of its node for channels, null if they cannot be had, then `no_shared_memory` says why), `variables`
/// (environment variables
/// that steer MPI, by name), `libraries` (each with `name`, `version`, `launcher`, `driver`, null
/// if it is not built, `settings`, the control variables that have other values than the
/// library was built with, null if unknown: each with `value`, `place` (`environment`, a file or null) and `decides`,
/// whether it changes which algorithms the library chooses; and `serving`, the parts that come first for collectives, each with
/// `component`, `collectives`, `over_nodes` (on communicators over several nodes only), `remedy` (the setting that
/// leaves them to exported rules, null if these are asked)), `unusable` (each with `launcher`, `reason`),
/// `searched` (folders), `advice` and `warnings` (sentences).
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
            "settings": found.settings.as_ref().map(settings_json),
            "serving": found.serving.iter().map(serving_json).collect::<Vec<_>>(),
        })
    };
    let unusable = diagnosis
        .unusable
        .iter()
        .map(|(launcher, reason)| serde_json::json!({"launcher": launcher, "reason": reason}));
    let environment = &diagnosis.environment;
    let warnings = diagnosis.warnings().iter().map(ToString::to_string);
    serde_json::json!({
        "fit": diagnosis.is_fit(),
        "cores": environment.cores,
        "threads": diagnosis.threads,
        "cpu": environment.cpu,
        "kernel": environment.kernel,
        "governor": environment.governor,
        "load": environment.load,
        "timer_resolution_seconds": environment.timer_resolution_seconds,
        "timer_overhead_seconds": environment.timer_overhead_seconds,
        "shared_memory_bytes": diagnosis.shared_memory.as_ref().ok(),
        "no_shared_memory": diagnosis.shared_memory.as_ref().err(),
        "variables": environment.variables,
        "libraries": diagnosis.libraries.iter().map(library).collect::<Vec<_>>(),
        "unusable": unusable.collect::<Vec<_>>(),
        "searched": diagnosis.searched,
        "advice": diagnosis.advice,
        "warnings": warnings.collect::<Vec<_>>(),
    })
}

fn settings_json(settings: &BTreeMap<String, Setting>) -> serde_json::Value {
    let object = |(name, setting): (&String, &Setting)| {
        let Setting {
            value,
            place,
            decides,
        } = setting;
        let object = serde_json::json!({"value": value, "place": place, "decides": decides});
        (name.clone(), object)
    };
    serde_json::Value::Object(settings.iter().map(object).collect())
}

fn serving_json(serving: &Serving) -> serde_json::Value {
    serde_json::json!({
        "component": serving.component,
        "collectives": serving.names(),
        "over_nodes": serving.over_nodes,
        "remedy": serving.remedy,
    })
}

/// Which collectives a part of a library carries out, as a line.
fn serves(serving: &Serving) -> String {
    let place = if serving.over_nodes {
        ", over several nodes"
    } else {
        ""
    };
    let remedy = serving.remedy.as_ref();
    let remedy = remedy.map(|remedy| format!(" ({remedy} leaves them to exported rules)"));
    format!(
        "{} comes first for {}{place}{}",
        serving.component,
        serving.names().join(", "),
        remedy.unwrap_or_default()
    )
}

/// A setting of a library, as a line.
fn set(name: &str, setting: &Setting) -> String {
    let Setting {
        value,
        place,
        decides,
    } = setting;
    let place = place.as_deref().unwrap_or("a place unknown to colltune");
    let effect = match decides {
        true => "changes which algorithms the library chooses",
        false => "does not choose algorithms",
    };
    format!("{name}={value}, set in {place}, {effect}")
}

fn describe(diagnosis: &Diagnosis) -> String {
    let mut text = machine(diagnosis);
    // Writing to a string cannot fail.
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
        settings,
        serving,
    } in &diagnosis.libraries
    {
        let _ = writeln!(text, "{library}:");
        let _ = writeln!(text, "  launcher: {}", launcher.display());
        let driver = driver.as_ref().map_or_else(
            || "not built".to_owned(),
            |driver| driver.display().to_string(),
        );
        let _ = writeln!(text, "  measuring program: {driver}");
        for (name, setting) in settings.iter().flatten() {
            let _ = writeln!(text, "  {}", set(name, setting));
        }
        for serving in serving {
            let _ = writeln!(text, "  {}", serves(serving));
        }
    }
    for (launcher, reason) in &diagnosis.unusable {
        let _ = writeln!(text, "{}: of no use, {reason}", launcher.display());
    }
    for advice in &diagnosis.advice {
        let _ = writeln!(text, "advice: {advice}");
    }
    for warning in diagnosis.warnings() {
        let _ = writeln!(text, "warning: {warning}");
    }
    let verdict = if diagnosis.is_fit() {
        "This machine can be tuned."
    } else {
        "Nothing can be measured here yet."
    };
    text + verdict
}

/// The machine itself, a line for each of its properties.
fn machine(diagnosis: &Diagnosis) -> String {
    let Environment {
        cores,
        cpu,
        kernel,
        governor,
        load,
        timer_resolution_seconds,
        timer_overhead_seconds,
        variables,
        ..
    } = &diagnosis.environment;
    let known = |text: &str| match text {
        "" => "unknown".to_owned(),
        text => text.to_owned(),
    };
    let threads = diagnosis.threads;
    let mut lines = vec![
        format!("cores: {cores} ({threads} hardware threads); more than {cores} ranks share them"),
        format!("CPU: {}", known(cpu)),
        format!("kernel: {}", known(kernel)),
        format!("governor: {}", known(governor)),
        format!("load: {load:.0} other tasks running"),
        format!(
            "timer: steps of {}, {} to read",
            format_seconds(*timer_resolution_seconds),
            format_seconds(*timer_overhead_seconds)
        ),
    ];
    lines.push(match &diagnosis.shared_memory {
        Ok(bytes) => format!(
            "shared memory: at most {} for the channels of one process (COLLTUNE_SHARED_MEMORY)",
            format_bytes(*bytes)
        ),
        Err(reason) => format!("shared memory: none for channels, {reason}"),
    });
    let variables = variables.iter();
    lines.extend(variables.map(|(name, value)| format!("environment: {name}={value}")));
    lines.join("\n") + "\n"
}
