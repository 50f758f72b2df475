use std::path::PathBuf;

use report::text_table;
use results::{Evidence, Explanation, OftenInvalid, Ranked};
use schedule::Collective;
use statistics::Interval;
use vocabulary::Pattern;
use vocabulary::units::{format_bytes, format_counted, format_seconds};

use super::campaign::store_of_table;
use super::in_force::JudgedTable;
use super::lookup::{describe_decision, warn_of_simulation};
use super::query::QueryArgs;
use super::{Answer, CliError, Console};

/// Show the evidence behind a decision
///
/// Prints the decision like `lookup`, and the measurements at the nearest sizes: the candidates, fastest first, with
/// their median times and intervals, their speed-ups over the library's default (paired within launches, so the ratio
/// of the median times may differ) and the model's predictions. The measurements are in the store; without it the
/// answer rests on the table alone.
///
/// `colltune schema explain` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune explain tables/quickstart.yaml --collective bcast --nodes 1 --ppn 2 --bytes 1M
  colltune explain tables/quickstart.yaml -c bcast -n 1 -k 2 -b 1M --store /data/night.db --json")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    query: QueryArgs,
    /// The store with the measurements, if it is not where the table says
    #[arg(long, value_name = "STORE")]
    store: Option<PathBuf>,
    /// Print the evidence as JSON
    #[arg(long)]
    json: bool,
}

impl ExplainArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let named = self.store.as_deref();
        let table = JudgedTable::read(&self.query.table, named, console)?.table;
        warn_of_simulation(&table, console);
        let store = store_of_table(&table, named)?;
        let explanation = tuner::explain_decision(&table, &self.query.question.to_query(), &store)?;
        console.print_answer(self.json, &explanation, || explanation_text(&explanation))
    }
}

fn explanation_text(explanation: &Explanation) -> String {
    let mut parts = vec![describe_decision(&explanation.decision)];
    let pattern = explanation.pattern;
    let evidence = explanation.evidence.iter();
    parts.extend(evidence.map(|evidence| evidence_text(evidence, pattern)));
    if let Some(reason) = &explanation.no_evidence {
        parts.push(format!("There is no evidence beside the table: {reason}."));
    } else if explanation.evidence.is_empty() {
        parts.push("There are no measurements near this size.".to_owned());
    }
    let collective = explanation.decision.collective.parse::<Collective>();
    if !explanation.evidence.is_empty() && collective.is_ok_and(Collective::is_rooted) {
        parts.push("Only calls with root 0 are measured; the rule serves every root.".to_owned());
    }
    if let Some(disagreement) = &explanation.disagreement {
        parts.push(format!("Note: {disagreement}."));
    }
    if let Some(store) = &explanation.store {
        let mut source = format!("from {}", store.display());
        if !explanation.pattern.is_together() {
            source += &format!("; {}", explanation.pattern.describe());
        }
        if let Some(starts) = &explanation.common_starts {
            source += &format!("; common starts {starts}");
        }
        if let Some(cold) = &explanation.cold_cache {
            source += &format!("; {cold}");
        }
        if let Some(shares) = &explanation.measuring_time {
            source += &format!("; measuring time: {shares}");
        }
        parts.push(source);
    }
    parts.join("\n\n")
}

fn evidence_text(evidence: &Evidence, pattern: Pattern) -> String {
    let Evidence {
        bytes,
        distribution,
        chosen,
        why,
        ranking,
        never_valid,
        ..
    } = evidence;
    let margin = margin_text(evidence);
    let rows = ranking.iter().map(|ranked| ranked_row(ranked, chosen));
    let columns = " | candidate | median> | interval | speed-up> | interval | predicted> | \
                   launches> | repetitions> | eliminated> | invalid>?";
    let distributed = distribution
        .as_ref()
        .map_or_else(String::new, |distribution| format!(", {distribution},"));
    format!(
        "At {} bytes{distributed} {chosen} is chosen: {why}{margin}.{}\n{}{}{}",
        format_bytes(*bytes),
        default_text(ranking, chosen),
        text_table(columns, rows).to_text(),
        batches_text(ranking, pattern),
        never_valid.iter().map(never_valid_text).collect::<String>()
    )
}

/// A clause about the time of the best other candidate; empty if it is unknown.
fn margin_text(evidence: &Evidence) -> String {
    let (Some(other), Some(margin)) = (&evidence.best_other, evidence.margin) else {
        return String::new();
    };
    let word = if margin < 0.0 { "less" } else { "more" };
    let share = format!("{:.1} % {word} time", margin.abs() * 100.0);
    let Some(Interval { low, high, .. }) = evidence.margin_interval else {
        return format!("; the best other candidate, {other}, takes {share}");
    };
    let interval = format!("{:+.1} to {:+.1} %", low * 100.0, high * 100.0);
    if low <= 0.0 && high >= 0.0 {
        format!("; {other} takes about as long: {share}, with an interval of {interval}")
    } else {
        format!("; the best other candidate, {other}, takes {share} ({interval})")
    }
}

/// A sentence about the default's time relative to the choice's; empty if the default is chosen.
fn default_text(ranking: &[Ranked], chosen: &str) -> String {
    let ranked_by_name = |name: &str| {
        let mut found = ranking.iter();
        found.find(|ranked| ranked.candidate.to_string() == name)
    };
    let (Some(default), Some(chosen)) = (ranked_by_name("default"), ranked_by_name(chosen)) else {
        return String::new();
    };
    let Some(speedup) = chosen.speedup else {
        return String::new();
    };
    let Interval {
        low,
        high,
        coverage,
    } = speedup.interval;
    let sure = match speedup.launches {
        1 => "from a single launch, which proves nothing".to_owned(),
        launches => format!(
            "from {launches} launches; it is {low:.2} to {high:.2} times with {:.1} % confidence",
            100.0 * coverage
        ),
    };
    format!(
        "\nThe default takes {:.2} times as long (median of paired ratios; medians {} and {}), {sure}. These launches \
         selected the candidate, so a program may gain less.",
        speedup.median,
        format_seconds(default.median_seconds),
        format_seconds(chosen.median_seconds),
    )
}

fn never_valid_text(never: &OftenInvalid) -> String {
    format!(
        "\n{} is not ranked: it has {}, none of them valid.",
        never.candidate,
        format_counted(never.repetitions, "repetition")
    )
}

/// A sentence about repetitions of several calls; empty if all repetitions have one call.
fn batches_text(ranking: &[Ranked], pattern: Pattern) -> String {
    let batch = ranking.iter().map(|ranked| ranked.counts.batch).max();
    let mut text = match batch {
        Some(calls @ 2..) if pattern != Pattern::Skewed => {
            format!("\nTimes are per call, from {calls} calls in a row.")
        }
        _ => String::new(),
    };
    let left_out = ranking
        .iter()
        .map(|ranked| ranked.counts.other_batches)
        .max();
    if let Some(launches @ 1..) = left_out {
        text += &format!("\nLaunches with other numbers of calls are left out: {launches}.");
    }
    text
}

/// An interval; a single launch has none.
fn interval_unless_single(launches: u32, low: String, high: String) -> String {
    match launches {
        1 => "-".to_owned(),
        _ => format!("{low} to {high}"),
    }
}

fn ranked_row(ranked: &Ranked, chosen: &str) -> [String; 11] {
    let candidate = ranked.candidate.to_string();
    let speedup = ranked.speedup;
    [
        if candidate == chosen { "*" } else { "" }.to_owned(),
        candidate,
        format_seconds(ranked.median_seconds),
        interval_unless_single(
            ranked.counts.launches,
            format_seconds(ranked.interval.low),
            format_seconds(ranked.interval.high),
        ),
        speedup.map_or_else(String::new, |speedup| format!("{:.2}", speedup.median)),
        speedup.map_or_else(String::new, |speedup| {
            let [low, high] = [speedup.interval.low, speedup.interval.high];
            interval_unless_single(speedup.launches, format!("{low:.2}"), format!("{high:.2}"))
        }),
        ranked
            .predicted_seconds
            .map_or_else(|| "-".to_owned(), format_seconds),
        ranked.counts.launches.to_string(),
        ranked.counts.repetitions.to_string(),
        match ranked.counts.left_launches {
            0 => String::new(),
            left => format!("{left} of {}", ranked.counts.launches),
        },
        match ranked.counts.invalid {
            0 => String::new(),
            invalid => format!("{invalid} of {}", invalid + ranked.counts.repetitions),
        },
    ]
}
