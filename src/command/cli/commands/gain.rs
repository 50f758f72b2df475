use std::path::{Path, PathBuf};

use report::text_table;
use schemars::JsonSchema;
use serde::Serialize;
use table::{Deployment, Numerics, OperatorClass, Policy};
use tuner::{
    CallGain, ComparedCalls, ComparedSaving, DeploymentGain, Gain, JobPair, MeasuredGain,
    MeasuredSaving, compare_with_measured,
};
use vocabulary::RankOrder;
use vocabulary::units::{format_bytes, format_counted, format_seconds};

use super::campaign::store_file;
use super::in_force::JudgedTable;
use super::lookup::warn_of_simulation;
use super::profile::{ProfilesByLibrary, read_jobs_of_library, read_profiles_by_library};
use super::{Answer, CliError, Console};
use crate::values;

/// Predict the seconds that a table would save recorded programs
///
/// For the calls in profiles that `colltune record` wrote, shows the seconds that the table would save, of all ranks
/// together: through colltune, whose library carries out its own algorithms, and through the library's own settings, as far
/// as exports express the rules. A call saves its time, without the estimated waiting for late ranks, times 1 - 1/s, where s
/// is the speed-up over the library's default.
///
/// A job is one launch, so a saving has the interval in which the speed-up of a further launch lies, by the single launches in
/// the table's store and the verdicts of `validate` in the table. Without either the saving is shown without an interval, and
/// is not in the sum. Where it is not known how long ranks wait, as in broadcasts, only the
/// most that may be saved is known. The interval of the sum adds up the ends of all.
///
/// Then follows the time that the table does not make shorter, with the reasons.
///
/// The programs should have been recorded with the library's default, without a table. Profiles of other MPI libraries than
/// the table's do not count. The exit code is 1 if the table saves nothing.
///
/// With --measured, profiles of the same program with the table in use, the output also shows what the table saved, beside
/// what is predicted for the same calls: both times are the recorder's, without the estimated waiting. Jobs without and with
/// the table are compared in pairs, in the order of their starts, so run them in turns: several pairs have an interval.
///
/// `colltune schema gain` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune gain tables/solver.yaml --profile solver.json
  colltune gain tables/site.yaml --profile profiles/ --profile more/ --json
  colltune gain tables/solver.yaml --profile without/ --measured with/")]
pub(crate) struct GainArgs {
    /// The table
    #[arg(value_name = "TABLE")]
    table: PathBuf,
    /// The profile, or the folder of profiles
    ///
    /// May be given several times.
    #[arg(long, value_name = "FILE", required = true)]
    profile: Vec<PathBuf>,
    /// The store with the measurements, if it is not where the table says
    #[arg(long, value_name = "STORE")]
    store: Option<PathBuf>,
    /// Also count rules that no fresh launches confirmed, as `deploy --unconfirmed` uses them
    #[arg(long)]
    unconfirmed: bool,
    /// What the bits of the programs' reductions by colltune's algorithms must not depend on: independent_of_placement,
    /// independent_of_size, both with a comma between them, or none; by default the `numerics` of the table's campaign.
    /// Rules that break it save nothing
    #[arg(long, value_name = "REQUIREMENTS")]
    numerics: Option<Numerics>,
    /// The profile of a job with the table in use, or the folder of profiles: compare what it saved with the prediction
    ///
    /// May be given several times. There must be as many jobs with the table as without.
    #[arg(long, value_name = "FILE")]
    measured: Vec<PathBuf>,
    /// The way in which these jobs used the table
    #[arg(
        long,
        requires = "measured",
        value_parser = values::deployment_parser(),
        default_value = "colltune"
    )]
    deployment: Deployment,
    /// The number of calls to show of each deployment
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    top: usize,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

/// The output with `--json`.
#[derive(JsonSchema, Serialize)]
pub(crate) struct GainOutput {
    /// The name of the table.
    table: String,
    /// The library that the table is for.
    library: String,
    /// The time in collectives of the jobs that were recorded with other libraries, which do not count.
    other_libraries_seconds: f64,
    /// The figures.
    #[serde(flatten)]
    gain: Gain,
    /// What jobs with the table measured; null without such jobs.
    measured: Option<MeasuredGain>,
}

impl GainArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let named = self.store.as_deref();
        let table = JudgedTable::read(&self.table, named, console)?.table;
        warn_of_simulation(&table, console);
        let library = &table.provenance.library;
        let ProfilesByLibrary { same, others } =
            read_profiles_by_library(&self.profile, &library.to_string(), console)?;
        if same.jobs.is_empty() {
            return Err(CliError::NoJobOfLibrary {
                table: self.table.clone(),
                library: library.clone(),
            });
        }
        // A store that the user names is expected to be here; one that the table names is often on another machine.
        let store = store_file(named.unwrap_or_else(|| Path::new(&table.provenance.store)));
        if named.is_some() && !store.exists() {
            return Err(CliError::StoreMoved {
                table: self.table.clone(),
                store,
            });
        }
        let policy = Policy {
            unconfirmed: self.unconfirmed,
            numerics: self.numerics,
            ..Policy::default()
        };
        let gain = tuner::predict_gain(&table, &same, policy, &store)?;
        let measured = self.compare_with_measured(&gain, &library.to_string(), console)?;
        let output = GainOutput {
            table: table.name.clone(),
            library: library.to_string(),
            other_libraries_seconds: others.overview().seconds,
            gain,
            measured,
        };
        let saves = output.gain.deployments.iter().any(DeploymentGain::may_save);
        console.print_answer(self.json, &output, || describe(&output, self.top))?;
        Ok(if saves { Answer::Good } else { Answer::No })
    }

    /// Compares the prediction with jobs that used the table; `None` if there are none.
    fn compare_with_measured(
        &self,
        gain: &Gain,
        library: &str,
        console: Console,
    ) -> Result<Option<MeasuredGain>, CliError> {
        if self.measured.is_empty() {
            return Ok(None);
        }
        let without = read_jobs_of_library(&self.profile, library, console)?;
        let with = read_jobs_of_library(&self.measured, library, console)?;
        if without.len() != with.len() {
            return Err(CliError::UnpairedJobs {
                without: without.len(),
                with: with.len(),
            });
        }
        let pairs: Vec<JobPair<'_>> = without
            .iter()
            .zip(&with)
            .map(|(without, with)| JobPair { without, with })
            .collect();
        Ok(Some(compare_with_measured(gain, self.deployment, &pairs)))
    }
}

fn describe(output: &GainOutput, top: usize) -> String {
    let gain = &output.gain;
    let mut lines = vec![format!(
        "{} in collectives with {}, of all ranks together, of which an estimated {} is waiting for late ranks, where no \
         table helps",
        format_seconds(gain.seconds),
        output.library,
        format_seconds(gain.waiting_seconds)
    )];
    if output.other_libraries_seconds > 0.0 {
        lines.push(format!(
            "{} were recorded with other libraries and do not count",
            format_seconds(output.other_libraries_seconds)
        ));
    }
    if let Some(reason) = &gain.no_store {
        lines.push(format!("No intervals come from a store: {reason}."));
    }
    for deployment in &gain.deployments {
        lines.push(String::new());
        lines.push(describe_deployment(deployment, top));
    }
    if let Some(measured) = &output.measured {
        lines.push(String::new());
        lines.push(describe_measured(measured, top));
    }
    lines.join("\n")
}

/// What was measured beside what is predicted.
fn describe_measured(found: &MeasuredGain, top: usize) -> String {
    let way = match found.deployment {
        Deployment::Colltune => "through colltune (libcolltune)",
        Deployment::Library => "through the library's own settings (exports)",
    };
    let pairs = format_counted(found.pairs, "pair");
    let mut lines = vec![format!("Measured on {pairs} of jobs, {way}:")];
    match &found.together {
        None => lines.push("  no call has both a prediction and times of all jobs".to_owned()),
        Some(together) => {
            lines.push(format!(
                "  {} saved in the calls below, predicted {}",
                format_measured(&together.measured),
                format_predicted(together)
            ));
            lines.extend(
                together
                    .agreement
                    .map(|agreement| format!("  {}", agreement.describe())),
            );
        }
    }
    lines.push(format!(
        "  {} saved in all collectives, waiting included",
        format_measured(&found.all_collectives)
    ));
    if found.not_compared_seconds != 0.0 {
        lines.push(format!(
            "  {} are predicted for calls that are not compared: a job lacks them, or does not know how long ranks wait in them",
            format_saving(found.not_compared_seconds)
        ));
    }
    if found.pairs == 1 {
        lines.push("  one pair has no interval: record several, in turns".to_owned());
    }
    if !found.calls.is_empty() {
        let rows = found.calls.iter().take(top).map(compared_row);
        let columns = "collective | communicator | bytes> | choice | predicted> | interval | measured> | interval";
        lines.push(text_table(columns, rows).to_text().trim_end().to_owned());
        let hidden = found.calls.len().saturating_sub(top);
        if hidden > 0 {
            lines.push(format!("and {hidden} more (--top)"));
        }
    }
    lines.join("\n")
}

fn format_measured(saving: &MeasuredSaving) -> String {
    let seconds = format_saving(saving.seconds);
    match saving.interval {
        None => seconds,
        Some(interval) => format!(
            "{seconds} ({} to {} with {:.0} % confidence)",
            format_saving(interval.low),
            format_saving(interval.high),
            100.0 * interval.coverage
        ),
    }
}

fn format_predicted(saving: &ComparedSaving) -> String {
    let seconds = format_saving(saving.predicted_seconds);
    let ends = saving
        .predicted_seconds_low
        .zip(saving.predicted_seconds_high);
    match ends {
        None => format!("{seconds}, without an interval"),
        Some((low, high)) => {
            format!(
                "{seconds} ({} to {})",
                format_saving(low),
                format_saving(high)
            )
        }
    }
}

fn compared_row(compared: &ComparedCalls) -> [String; 8] {
    let saving = &compared.saving;
    let predicted_ends = saving
        .predicted_seconds_low
        .zip(saving.predicted_seconds_high);
    let measured_ends = saving.measured.interval;
    [
        collective_with_operators(&compared.collective, compared.operators),
        communicator_with_order(&compared.shape, compared.order),
        format_bytes(compared.bytes),
        compared.candidate.clone(),
        format!("{:.6}", saving.predicted_seconds),
        format_ends(predicted_ends),
        format!("{:.6}", saving.measured.seconds),
        format_ends(measured_ends.map(|interval| (interval.low, interval.high))),
    ]
}

/// Both ends of an interval of seconds.
fn format_ends(ends: Option<(f64, f64)>) -> String {
    ends.map_or_else(
        || "none".to_owned(),
        |(low, high)| format!("{low:.6} to {high:.6}"),
    )
}

fn collective_with_operators(collective: &str, operators: Option<OperatorClass>) -> String {
    match operators {
        Some(OperatorClass::Noncommutative) => format!("{collective}, noncommutative"),
        Some(OperatorClass::Commutative) | None => collective.to_owned(),
    }
}

fn communicator_with_order(shape: &str, order: RankOrder) -> String {
    match order.name() {
        "unknown" => shape.to_owned(),
        name => format!("{shape} {name}"),
    }
}

/// A saving, which may be negative.
fn format_saving(seconds: f64) -> String {
    let sign = if seconds < 0.0 { "-" } else { "" };
    format!("{sign}{}", format_seconds(seconds.abs()))
}

/// What a table would save of the calls that its campaign names, in a few lines.
pub(super) fn summarize_gain(gain: &Gain) -> String {
    let seconds = format_seconds(gain.seconds);
    let mut lines = vec![format!(
        "Of {seconds} in the calls that the campaign names (`traffic`), of all ranks together:"
    )];
    for deployment in &gain.deployments {
        lines.extend(describe_sums(deployment));
    }
    lines.join("\n")
}

/// The sums of a deployment, a line each.
fn describe_sums(gain: &DeploymentGain) -> Vec<String> {
    let way = match gain.deployment {
        Deployment::Colltune => "Through colltune (libcolltune)",
        Deployment::Library => "Through the library's own settings (exports)",
    };
    // Without an interval, nothing adds up to a sum with one, and zeros would seem to be a prediction.
    let has_sum = gain
        .calls
        .iter()
        .any(|call| call.saved_seconds.is_some() && call.saved_seconds_low.is_some());
    let headline = if has_sum {
        format!(
            "{way}: {} saved, with an interval of {} to {}",
            format_saving(gain.saved_seconds),
            format_saving(gain.saved_seconds_low),
            format_saving(gain.saved_seconds_high)
        )
    } else if gain.calls.is_empty() {
        format!("{way}: nothing is saved")
    } else {
        format!("{way}: no saving has an interval")
    };
    let mut lines = vec![headline];
    if gain.without_interval_seconds != 0.0 {
        lines.push(format!(
            "  {} saved by speed-ups that have no interval: `colltune validate` measures one",
            format_saving(gain.without_interval_seconds)
        ));
    }
    if gain.unknown_waiting_at_most_seconds > 0.0 {
        lines.push(format!(
            "  at most {} saved in calls whose waiting is not known",
            format_saving(gain.unknown_waiting_at_most_seconds)
        ));
    }
    lines
}

fn describe_deployment(gain: &DeploymentGain, top: usize) -> String {
    let mut lines = describe_sums(gain);
    if !gain.calls.is_empty() {
        let rows = gain.calls.iter().take(top).map(call_row);
        let columns = "collective | communicator | bytes> | calls> | seconds> | waiting> | choice | speed-up> | interval | \
                       saved> | interval";
        lines.push(text_table(columns, rows).to_text().trim_end().to_owned());
        let hidden = gain.calls.len().saturating_sub(top);
        if hidden > 0 {
            lines.push(format!("and {hidden} more (--top)"));
        }
    }
    if !gain.not_covered.is_empty() {
        lines.push("Not made shorter, without waiting:".to_owned());
        let reasons = gain.not_covered.iter();
        lines.extend(
            reasons.map(|left| format!("  {}: {}", format_seconds(left.seconds), left.reason)),
        );
    }
    lines.join("\n")
}

fn call_row(call: &CallGain) -> [String; 11] {
    let speedup_interval = call.speedup_interval.map_or_else(
        || "none".to_owned(),
        |interval| format!("{:.2} to {:.2}", interval.low, interval.high),
    );
    [
        collective_with_operators(&call.collective, call.operators),
        communicator_with_order(&call.shape, call.order),
        format_bytes(call.bytes),
        call.calls.to_string(),
        format!("{:.6}", call.seconds),
        call.waiting_seconds
            .map_or_else(|| "unknown".to_owned(), |waiting| format!("{waiting:.6}")),
        call.candidate.clone(),
        format!("{:.2}", call.speedup),
        speedup_interval,
        call.saved_seconds
            .map_or_else(|| "unknown".to_owned(), |saved| format!("{saved:.6}")),
        format_ends(call.saved_seconds_low.zip(call.saved_seconds_high)),
    ]
}
