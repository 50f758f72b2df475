use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use libraries::{LibraryName, Serving};
use schemars::JsonSchema;
use serde::Serialize;
use tuner::{Diagnosis, DriverFound, LibrarySetting, UnknownDriverFound, UnusableLauncher};
use vocabulary::units::{format_bytes, format_counted, format_seconds};
use wire::Environment;

use super::campaign::search_paths;
use super::{Answer, CliError, Console};

/// Check whether this machine is ready to be tuned
///
/// Searches for MPI libraries with their launchers and measuring programs, counts cores, tests the timer and shared
/// memory, checks for other load and for settings that change the library's own choices, and says what is missing and
/// how to get it. Also shows which component of each library has the highest priority for each collective, by
/// priorities and settings; a component that declines leaves the collective to the next one. Exits with 3 if no
/// library can be measured; warnings do not change the exit code.
///
/// `colltune schema doctor` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune doctor
  colltune doctor --quiet && colltune tune campaign.yaml")]
pub(crate) struct DoctorArgs {
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

impl DoctorArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let diagnosis = tuner::diagnose_machine(&search_paths());
        if self.json {
            console.print_json(&Findings::from_diagnosis(&diagnosis))?;
        } else if console.is_quiet() {
            for advice in &diagnosis.advice {
                console.warn(advice);
            }
        } else {
            console.print(describe_diagnosis(&diagnosis))?;
        }
        Ok(if diagnosis.can_measure() {
            Answer::Good
        } else {
            Answer::Unfit
        })
    }
}

/// The output of `--json`.
#[derive(JsonSchema, Serialize)]
pub(super) struct Findings<'a> {
    /// Whether a library can be measured.
    fit: bool,
    /// Cores that may be used; more ranks on a node share them.
    cores: u32,
    /// Hardware threads that may be used.
    threads: u32,
    /// The model of the CPU; empty if unknown.
    cpu: &'a str,
    /// The networks that connect this machine with others, without those that are slower than another one; empty if
    /// unknown.
    networks: &'a [String],
    /// The release of the kernel.
    kernel: &'a str,
    /// The frequency governor; empty if unknown.
    governor: &'a str,
    /// The number of other running tasks.
    load: f64,
    /// The resolution of the timer: the smallest observed step.
    timer_resolution_seconds: f64,
    /// The time of reading the timer.
    timer_overhead_seconds: f64,
    /// The shared memory that a process may use for channels; null if there is none.
    shared_memory_bytes: Option<u64>,
    /// The reason why there is no shared memory.
    no_shared_memory: Option<&'a str>,
    /// The reason why ranks may not read each other's memory, as they do for some long messages; null if they may.
    unreadable_memory: Option<&'a str>,
    /// Environment variables that affect MPI libraries, by name.
    variables: &'a BTreeMap<String, String>,
    /// The names of those `variables` that affect the choice of algorithms.
    deciding: Vec<&'a str>,
    /// Why variables of `variables` affect the choice of algorithms or do not, by their names, where these do not show
    /// it.
    reasons: BTreeMap<&'a str, &'a str>,
    /// The MPI libraries that were found, with their launchers and measuring programs.
    libraries: &'a [DriverFound],
    /// The libraries that colltune does not know and that have a measuring program; campaigns name their launchers.
    unknown_libraries: &'a [UnknownDriverFound],
    /// Programs named like launchers that cannot be used.
    unusable: &'a [UnusableLauncher],
    /// Folders searched for launchers.
    searched: &'a [PathBuf],
    /// Advice, as sentences.
    advice: &'a [String],
    /// Warnings about measuring now, as sentences.
    warnings: Vec<String>,
}

impl<'a> Findings<'a> {
    fn from_diagnosis(diagnosis: &'a Diagnosis) -> Self {
        let environment = &diagnosis.environment;
        let warnings = &environment.warnings;
        Self {
            fit: diagnosis.can_measure(),
            cores: environment.cores,
            threads: diagnosis.threads,
            cpu: &environment.cpu,
            networks: &diagnosis.networks,
            kernel: &environment.kernel,
            governor: &environment.governor,
            load: environment.load,
            timer_resolution_seconds: environment.timer_resolution_seconds,
            timer_overhead_seconds: environment.timer_overhead_seconds,
            shared_memory_bytes: diagnosis.shared_memory.as_ref().ok().copied(),
            no_shared_memory: diagnosis.shared_memory.as_ref().err().map(String::as_str),
            unreadable_memory: diagnosis.unreadable_memory.as_deref(),
            variables: &environment.variables,
            deciding: diagnosis.deciding_variables(),
            reasons: diagnosis.variable_reasons(),
            libraries: &diagnosis.libraries,
            unknown_libraries: &diagnosis.unknown_libraries,
            unusable: &diagnosis.unusable,
            searched: &diagnosis.searched,
            advice: &diagnosis.advice,
            warnings: warnings.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The names of the supported libraries.
fn supported_libraries() -> String {
    LibraryName::ALL.map(LibraryName::name).join(", ")
}

/// A line about the collectives that a component carries out.
fn describe_serving(serving: &Serving) -> String {
    let place = if serving.over_nodes {
        ", over several nodes"
    } else {
        ""
    };
    let remedy = serving.remedy.as_ref();
    let remedy = remedy.map(|remedy| format!(" ({remedy} leaves them to exported rules)"));
    format!(
        "{} has the highest priority for {}{place}{}",
        serving.component,
        serving.collective_names().join(", "),
        remedy.unwrap_or_default()
    )
}

/// A line about a setting of a library.
fn describe_setting(name: &str, setting: &LibrarySetting) -> String {
    let LibrarySetting {
        value,
        place,
        decides,
        reason,
    } = setting;
    let place = place.as_deref().unwrap_or("a place unknown to colltune");
    let effect = effect_text(*decides, reason.as_deref());
    format!("{name}={value}, set in {place}, {effect}")
}

/// A clause about the effect of a setting.
fn effect_text(decides: bool, reason: Option<&str>) -> String {
    let effect = if decides {
        "affects the choice of algorithms"
    } else {
        "does not affect the choice of algorithms"
    };
    let reason = reason.map(|reason| format!(": {reason}"));
    effect.to_owned() + &reason.unwrap_or_default()
}

fn describe_diagnosis(diagnosis: &Diagnosis) -> String {
    let mut text = describe_machine(diagnosis);
    // Writing to a string cannot fail.
    if diagnosis.libraries.is_empty() {
        let folders: Vec<_> = diagnosis
            .searched
            .iter()
            .map(|f| f.display().to_string())
            .collect();
        let _ = writeln!(
            text,
            "MPI: none found in {}; supported: {}",
            folders.join(", "),
            supported_libraries()
        );
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
            let _ = writeln!(text, "  {}", describe_setting(name, setting));
        }
        for component in serving {
            let _ = writeln!(text, "  {}", describe_serving(component));
        }
    }
    for UnknownDriverFound { library, driver } in &diagnosis.unknown_libraries {
        let _ = writeln!(text, "{library}, which colltune does not know:");
        let _ = writeln!(text, "  measuring program: {}", driver.display());
    }
    for UnusableLauncher { launcher, reason } in &diagnosis.unusable {
        let _ = writeln!(
            text,
            "{}: unusable, {reason}; supported: {}",
            launcher.display(),
            supported_libraries()
        );
    }
    for advice in &diagnosis.advice {
        let _ = writeln!(text, "advice: {advice}");
    }
    for warning in &diagnosis.environment.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    let verdict = if diagnosis.can_measure() {
        "This machine can be tuned."
    } else {
        "Nothing can be measured here yet."
    };
    text + verdict
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "unknown" } else { text }
}

/// The machine, with a line for each property.
fn describe_machine(diagnosis: &Diagnosis) -> String {
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
    let threads = diagnosis.threads;
    let mut lines = vec![
        format!(
            "cores: {cores} ({}); more than {} share them",
            format_counted(threads, "hardware thread"),
            format_counted(cores, "rank")
        ),
        format!("CPU: {}", or_unknown(cpu)),
        format!("networks: {}", or_unknown(&diagnosis.networks.join(", "))),
        format!("kernel: {}", or_unknown(kernel)),
        format!("governor: {}", or_unknown(governor)),
        format!(
            "load: {} running",
            format_counted(load.round() as usize, "other task")
        ),
        format!(
            "timer: steps of {}, {} to read",
            format_seconds(*timer_resolution_seconds),
            format_seconds(*timer_overhead_seconds)
        ),
    ];
    // Without these two, some of our algorithms are left out or slower.
    lines.push(match &diagnosis.shared_memory {
        Ok(bytes) => format!(
            "shared memory: at most {} for the channels of one process (COLLTUNE_SHARED_MEMORY)",
            format_bytes(*bytes)
        ),
        Err(reason) => format!("shared memory: none for channels, {reason}"),
    });
    lines.push(match &diagnosis.unreadable_memory {
        None => "memory of other ranks: can be read for long messages".to_owned(),
        Some(reason) => format!("memory of other ranks: cannot be read, {reason}"),
    });
    // Settings in the environment change results, and users often do not remember that they have set them.
    let variables = variables.iter();
    lines.extend(variables.map(|(name, value)| {
        let found = diagnosis.effects.get(name).cloned().unwrap_or_default();
        let effect = effect_text(found.decides, found.reason.as_deref());
        format!("environment: {name}={value}, {effect}")
    }));
    lines.join("\n") + "\n"
}
