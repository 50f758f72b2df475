mod messages;

use std::path::PathBuf;

use fit::{CandidateCurve, Segment};
use report::text_table;
use results::{
    BlockComparison, BlockPoint, ModelScore, ParameterEstimate, PoorPrediction, ProtocolSegment,
};
use schemars::JsonSchema;
use serde::Serialize;
use tuner::{CampaignAnalysis, SampleOrigin, TunerError};
use vocabulary::units::{format_bytes, format_seconds};

use super::stored::StoreArgs;
use super::{Answer, CliError, Console};

/// Estimate the machine's parameters from a store
///
/// Prints the start-up time (alpha) and the part of it that occupies a rank (overhead), the time per byte (beta), the
/// size up to which messages are sent without waiting for their receivers (eager_limit), the time per byte combined
/// (gamma), copied (copy) and through the node's network adapter, which its ranks share (injection_beta), and the time
/// of a message there (injection_gap), each with its interval and the median relative error of the fit. Patterns are
/// compared with a single message: an exchange with one partner (exchange), sending to one partner while receiving from
/// another (shift), and sending to or receiving from k partners at once (fan_out.k, fan_in.k; 1 if the messages of a
/// rank take turns). For each level, prints the lines alpha + beta n of messages between two ranks, one for each
/// protocol segment.
///
/// Then prints, for every cell of a pipelined algorithm, the best block size by the model and the best one measured,
/// and, for every candidate measured at three sizes or more, the lines through its times, one for each protocol
/// segment.
///
/// With --machine, writes the identified parameters to a machine file, with their intervals; the others are comments in
/// it.
///
/// `colltune schema fit` describes what --json prints.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune fit .colltune/quickstart.db
  colltune fit .colltune/quickstart.db --machine machine.yaml
  colltune fit .colltune/quickstart.db --library mpich-4.0.2 --json")]
pub(crate) struct FitArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Write the machine to this file for `simulate --machine`, instead of printing the parameters
    #[arg(long, value_name = "MACHINE")]
    machine: Option<PathBuf>,
    /// Print the parameters as JSON
    #[arg(long)]
    json: bool,
}

impl FitArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        self.store
            .protect_from(&[("`--machine`", self.machine.as_deref())])?;
        let analysis = self.store.analyse()?;
        if let Some(path) = &self.machine {
            let store = analysis.origin.store.clone();
            let text = analysis.machine_file();
            let text = text.ok_or(TunerError::NoMachine { store })?;
            tuner::write_text(path, &text)?;
        }
        if self.json {
            console.print_json(&FitOutput {
                origin: &analysis.origin,
                parameters: &analysis.found.machine.parameters,
                segments: &analysis.found.machine.segments,
                poor_predictions: &analysis.found.machine.poor_predictions,
                models: analysis.found.model_scores(),
                blocks: &analysis.found.blocks,
                candidates: analysis.found.candidate_curves(),
            })?;
        } else if let Some(path) = &self.machine {
            console.remark_written(path)?;
        } else {
            console.print(describe_analysis(
                &analysis,
                &analysis.found.candidate_curves(),
            ))?;
        }
        Ok(Answer::Good)
    }
}

/// The output of `--json`.
#[derive(JsonSchema, Serialize)]
pub(super) struct FitOutput<'a> {
    #[serde(flatten)]
    origin: &'a SampleOrigin,
    /// The machine's parameters.
    parameters: &'a [ParameterEstimate],
    /// The lines of messages between two ranks, one for each protocol segment.
    segments: &'a [ProtocolSegment],
    /// The ranges of sizes at which the machine's parameters do not hold.
    poor_predictions: &'a [PoorPrediction],
    /// The errors of the times predicted from the machine's parameters, for each model.
    models: Vec<ModelScore>,
    /// The predicted and the measured block size of each pipelined algorithm, for each cell.
    blocks: &'a [BlockComparison],
    /// The lines through the times of each candidate that was measured at three sizes or more.
    candidates: Vec<CandidateCurve>,
}

fn describe_analysis(analysis: &CampaignAnalysis, curves: &[CandidateCurve]) -> String {
    let origin = &analysis.origin;
    let heading = format!("{} with {}", origin.name, origin.library);
    let parameters = text_table(
        "parameter | value> | interval | residual> | ",
        analysis.found.machine.parameters.iter().map(parameter_row),
    )
    .to_text();
    let mut parts = vec![heading, parameters];
    if !analysis.found.machine.segments.is_empty() {
        parts.push(messages::segments_table(&analysis.found.machine.segments));
    }
    let poor_predictions = analysis.found.machine.poor_predictions.iter();
    let poor_predictions: Vec<String> = poor_predictions.map(|poor| format!("{poor}.")).collect();
    if !poor_predictions.is_empty() {
        parts.push(poor_predictions.join("\n"));
    }
    if !analysis.found.blocks.is_empty() {
        let blocks = text_table(
            "algorithm | shape | bytes> | predicted block> | predicted time> | \
             measured block> | measured time>",
            analysis.found.blocks.iter().map(block_row),
        );
        parts.push(blocks.to_text());
    }
    if curves
        .iter()
        .any(|fitted| !fitted.curve.segments.is_empty())
    {
        let segments = text_table(
            "collective | candidate | shape | from> | sizes> | alpha> | beta> | residual>",
            curves.iter().flat_map(|fitted| {
                let segments = fitted.curve.segments.iter();
                segments.map(|segment| segment_row(fitted, segment))
            }),
        );
        parts.push(segments.to_text());
    }
    parts.join("\n\n")
}

fn parameter_row(parameter: &ParameterEstimate) -> [String; 5] {
    let note = match parameter.value() {
        Some(_) => String::new(),
        None => parameter.status.to_string(),
    };
    let value = |value: f64| match parameter.unit {
        "s" => format_seconds(value),
        "s/byte" => format!("{}/byte", format_small_seconds(value)),
        "byte" => format_bytes(value as u64),
        _ => format!("{value:.2}"),
    };
    let [shown, interval] = value_and_interval(parameter, value);
    [
        parameter.name.clone(),
        shown,
        interval,
        format_residual(parameter),
        note,
    ]
}

/// A value and its interval, if there are any.
fn value_and_interval(
    parameter: &ParameterEstimate,
    format: impl Fn(f64) -> String,
) -> [String; 2] {
    match parameter.estimate {
        Some(known) => [
            format(known.value),
            format!("{} to {}", format(known.low), format(known.high)),
        ],
        None => ["-".to_owned(), String::new()],
    }
}

fn format_residual(parameter: &ParameterEstimate) -> String {
    let residual = parameter.estimate.map(|known| known.residual);
    residual.map_or_else(String::new, |share| format!("{:.1} %", share * 100.0))
}

fn segment_row(fitted: &CandidateCurve, segment: &Segment) -> [String; 8] {
    let collective = fitted.collective;
    let kind = match fitted.operator {
        Some(operator) => format!(
            "{collective} {} {}",
            fitted.datatype.name(),
            operator.name()
        ),
        None => collective.to_string(),
    };
    [
        kind,
        fitted.candidate.to_string(),
        fitted.shape.to_string(),
        format_bytes(segment.from_bytes),
        segment.sizes.to_string(),
        format_seconds(segment.alpha_seconds),
        format!(
            "{}/byte",
            format_small_seconds(segment.beta_seconds_per_byte)
        ),
        format!("{:.1} %", segment.residual * 100.0),
    ]
}

/// A time in picoseconds if it is below a nanosecond, as times per byte are.
fn format_small_seconds(seconds: f64) -> String {
    if seconds.abs() < 1e-9 {
        format!("{:.1} ps", seconds * 1e12)
    } else {
        format_seconds(seconds)
    }
}

fn block_row(block: &BlockComparison) -> [String; 7] {
    let size = |point: &BlockPoint| format_bytes(point.block_bytes);
    let time = |point: &BlockPoint| format_seconds(point.seconds);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    [
        block.algorithm.clone(),
        block.cell.shape.to_string(),
        format_bytes(block.cell.bytes),
        or_dash(block.predicted.as_ref().map(size)),
        or_dash(block.predicted.as_ref().map(time)),
        size(&block.measured),
        time(&block.measured),
    ]
}
