//! The lines of a site's file against the library's own choices.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use answers::MeasuredMachine;
use campaign::Campaign;
use export::SiteRules;
use guard::{
    JudgedLine, LineOptions, LineVerdict, MeasuredLines, TestSetupOptions, campaign_of_lines,
    measure_lines,
};
use report::{TextTable, text_table};
use schemars::JsonSchema;
use serde::Serialize;
use statistics::Interval;
use tuner::{AuditReport, AuditRequest, SiteFile, SiteRulesError};
use vocabulary::CommShape;
use vocabulary::units::format_counted;

use super::super::campaign::search_paths;
use super::super::guarded::{ConsoleCaller, measured_machine, point_name, seconds_or_dash};
use super::super::validate::found::PointFound;
use super::super::{CliError, Console};
use crate::values;

/// The arguments for measuring the lines of a file.
#[derive(Debug, clap::Args)]
pub(super) struct MeasureLinesArgs {
    /// Measure the lines of the file in fresh launches against the library's own choices, with colltune's measuring
    /// program; the lines of files that `import` makes tables of
    #[arg(long, requires = "files")]
    measure: bool,
    /// The shapes on which lines are measured, as in 1x8,2x8; by default as many ranks as the rules begin with, on one
    /// node each
    #[arg(long, value_name = "SHAPES", value_delimiter = ',', value_parser = values::parse_shape, requires = "measure")]
    shapes: Vec<CommShape>,
    /// The campaign with the launcher's options and the sizes; needed for shapes of several nodes
    #[arg(long, value_name = "CAMPAIGN.yaml", requires = "measure")]
    campaign: Option<PathBuf>,
    /// Time that all launches may take, as in 5m; by default the campaign's budget, or 10m without a campaign
    #[arg(long, value_name = "DURATION", value_parser = vocabulary::units::parse_seconds, requires = "measure")]
    budget: Option<f64>,
    /// The number of launches that measure all lines; by default 6
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), requires = "measure")]
    launches: Option<u32>,
    /// Write the file to OUT with the losing lines handed back to the library, and everything else as it is
    #[arg(long, value_name = "OUT", requires = "measure")]
    repair: Option<PathBuf>,
    /// Let --repair replace the file itself
    #[arg(long, requires = "repair")]
    overwrite: bool,
}

/// The launches that measure all lines, unless the user says otherwise.
const LAUNCHES: u32 = 6;

/// What launches have shown about the lines of a file.
#[derive(JsonSchema, Serialize)]
pub(in crate::commands) struct LinesOutput {
    /// The library that was measured.
    library: String,
    /// The lines that choose one of the library's algorithms, in their order.
    lines: Vec<LineOutput>,
    /// Lines, and parts of lines, of which no table can be made, so that they are not measured.
    left_out: Vec<LeftOutOutput>,
    /// The file with the losing lines handed back; null without `--repair`.
    repaired: Option<RepairedFile>,
    /// What was measured; null if no launch has told.
    machine: Option<MeasuredMachine>,
    /// Launches that decided about what seemed slower.
    further_launches: u32,
    /// Warnings about the launches, as sentences.
    warnings: Vec<String>,
    #[serde(skip)]
    found: Vec<JudgedLine>,
}

/// A file whose lines can be measured.
pub(super) struct FileToMeasure {
    file: SiteFile,
    rules: SiteRules,
    campaign: Campaign,
}

/// What was measured of a file, and what failed afterwards.
pub(super) struct MeasuredFile {
    pub(super) lines: LinesOutput,
    /// Why the repaired file was not written.
    pub(super) failure: Option<CliError>,
}

/// A line that is not measured.
#[derive(JsonSchema, Serialize)]
struct LeftOutOutput {
    /// The line, from 1.
    line: usize,
    /// The reason, as a clause.
    why: String,
}

/// A line with its verdict. Speed-ups are null if unknown.
#[derive(JsonSchema, Serialize)]
struct LineOutput {
    /// The line, from 1.
    line: usize,
    /// The verdict: `gains` and `loses` if it is faster or slower than the library's own choice at some size and nowhere
    /// the opposite, `mixed` if both, `same` if there is no difference that matters, `undecided` if nothing is shown.
    #[schemars(extend("enum" = ["gains", "loses", "mixed", "same", "undecided", "not_measured"]))]
    verdict: &'static str,
    /// The time of the library's own choice divided by that of the line, at the point that shows the verdict best.
    speedup: Option<f64>,
    /// The interval of the speed-up.
    interval: Option<Interval>,
    /// The points at which the line decides and was measured.
    points: Vec<PointFound>,
}

/// A repaired file.
#[derive(JsonSchema, Serialize)]
struct RepairedFile {
    /// The file.
    path: PathBuf,
    /// The lines that were handed back to the library.
    lines: Vec<usize>,
    /// The faults that `audit` finds in it.
    faults: usize,
}

impl LineOutput {
    fn from_judged(judged: &JudgedLine) -> Self {
        let speedup = judged.telling_point().and_then(|found| found.speedup);
        let points = judged.points.iter();
        Self {
            line: judged.line,
            verdict: judged.verdict.name(),
            speedup: speedup.map(|speedup| speedup.median),
            interval: speedup.map(|speedup| speedup.interval),
            points: points.map(PointFound::from_validated).collect(),
        }
    }
}

impl MeasureLinesArgs {
    pub(super) fn is_wanted(&self) -> bool {
        self.measure
    }

    /// Checks, before anything is measured, that outputs replace no input unless that is wanted.
    pub(super) fn check_outputs(&self, file: &Path, sarif: Option<&Path>) -> Result<(), CliError> {
        let repair = self.repair.as_deref();
        let replaces_file = self.overwrite && repair.is_some_and(|path| files::is_same(path, file));
        let outputs = [("`--repair`", repair), ("`--sarif`", sarif)];
        let inputs = [
            ("`FILE`", Some(file).filter(|_| !replaces_file)),
            ("`--campaign`", self.campaign.as_deref()),
        ];
        tuner::check_outputs_differ(&outputs, &inputs)?;
        tuner::probe_outputs(&outputs[..1])?;
        Ok(())
    }

    /// Reads the one file and checks, before anything is launched, that its lines can be measured, and handed back. `None`
    /// if the library ignores the file, as the report says.
    pub(super) fn prepare_file(
        &self,
        request: &AuditRequest,
        console: Console,
    ) -> Result<Option<FileToMeasure>, CliError> {
        let library = tuner::find_measurable_library(request, &search_paths())?;
        let path = &request.files[0];
        let file = match SiteFile::read(path, request.format.as_deref(), &library) {
            Ok(file) => file,
            Err(SiteRulesError::Ignored { .. } | SiteRulesError::EndsPrograms { .. }) => {
                console.warn(format_args!(
                    "nothing is measured, since {library} ignores {}, or ends programs over it.",
                    path.display()
                ));
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let rules = file.to_table("audit".to_owned(), &self.shapes)?;
        if self.repair.is_some() {
            file.check_repairable()?;
            let lines: BTreeSet<usize> = rules.ranges.iter().map(|range| range.line).collect();
            // Only if all together cannot be handed back, the one line is looked for that cannot.
            if file.hand_back_lines(&lines).is_err() {
                for line in lines {
                    file.hand_back_lines(&BTreeSet::from([line]))?;
                }
            }
        }
        let campaign = campaign_of_lines(&rules, self.campaign.as_deref())?;
        Ok(Some(FileToMeasure {
            file,
            rules,
            campaign,
        }))
    }

    /// Measures the lines of a file, adds what they lose to the report, and writes the repaired file. What has been
    /// measured is returned also if the repaired file cannot be written.
    pub(super) fn measure_file(
        &self,
        prepared: FileToMeasure,
        request: &AuditRequest,
        report: &mut AuditReport,
        console: Console,
    ) -> Result<MeasuredFile, CliError> {
        let FileToMeasure {
            file,
            rules,
            campaign,
        } = prepared;
        let options = LineOptions {
            materiality: 0.0,
            setup: TestSetupOptions {
                any_version: false,
                budget_seconds: self.budget,
                launches: self.launches.unwrap_or(LAUNCHES),
            },
        };
        let mut caller = ConsoleCaller::without_events(console);
        let measured = measure_lines(&rules, campaign, &options, &search_paths(), &mut caller)?;
        for warning in measured.warnings() {
            console.warn(format_args!("{warning}."));
        }
        report.add_findings(&request.files[0], measured.findings());
        let (repaired, failure) =
            match self.write_repaired(&file, request, &measured.losing_lines()) {
                Ok(repaired) => (repaired, None),
                Err(error) => (None, Some(error)),
            };
        let left_out = rules.left_out.iter().map(|left| LeftOutOutput {
            line: left.line,
            why: left.why.clone(),
        });
        let lines = LinesOutput::from_measured(measured, left_out.collect(), repaired);
        Ok(MeasuredFile { lines, failure })
    }

    fn write_repaired(
        &self,
        file: &SiteFile,
        request: &AuditRequest,
        lines: &BTreeSet<usize>,
    ) -> Result<Option<RepairedFile>, CliError> {
        let Some(path) = &self.repair else {
            return Ok(None);
        };
        let content = file.hand_back_lines(lines)?;
        tuner::write_bytes(path, &content)?;
        Ok(Some(RepairedFile {
            path: path.clone(),
            lines: lines.iter().copied().collect(),
            faults: file.count_faults(&content, request.assume_commutative),
        }))
    }
}

impl LinesOutput {
    fn from_measured(
        measured: MeasuredLines,
        left_out: Vec<LeftOutOutput>,
        repaired: Option<RepairedFile>,
    ) -> Self {
        let warnings = measured.warnings().map(ToString::to_string).collect();
        let MeasuredLines {
            library,
            lines,
            validated,
            steered: _,
        } = measured;
        Self {
            library: library.to_string(),
            lines: lines.iter().map(LineOutput::from_judged).collect(),
            left_out,
            repaired,
            machine: measured_machine(validated.tested_on.as_ref()),
            further_launches: validated.further_launches,
            warnings,
            found: lines,
        }
    }

    /// Whether nothing is left to correct in the repaired file; `None` without one.
    pub(super) fn repaired_is_good(&self) -> Option<bool> {
        let repaired = self.repaired.as_ref()?;
        let mut left = self.found.iter();
        let is_mixed = left.any(|found| found.verdict == LineVerdict::Mixed);
        Some(repaired.faults == 0 && !is_mixed)
    }

    /// The lines as text, with the numbers of their verdicts.
    pub(super) fn describe(&self) -> String {
        let counts = [
            (LineVerdict::Gains, "gain"),
            (LineVerdict::Loses, "lose"),
            (LineVerdict::Mixed, "gain at some sizes and lose at others"),
            (LineVerdict::Same, "make no difference"),
            (LineVerdict::Undecided, "are undecided"),
            (LineVerdict::NotMeasured, "were not measured"),
        ];
        let counted = counts.iter().filter_map(|(verdict, words)| {
            let of_verdict = self.found.iter().filter(|found| found.verdict == *verdict);
            let number = of_verdict.count();
            (number > 0).then(|| format!("{number} {words}"))
        });
        let counted: Vec<String> = counted.collect();
        let mut text = format!(
            "\n{}\n{} against the own choices of {}: {}\n",
            self.lines_table().to_text(),
            format_counted(self.found.len(), "line"),
            self.library,
            counted.join(", ")
        );
        for LeftOutOutput { line, why } in &self.left_out {
            let is_partly_measured = self.found.iter().any(|found| found.line == *line);
            let calls = if is_partly_measured {
                " for all calls"
            } else {
                ""
            };
            text += &format!("line {line} is not measured{calls}: {why}\n");
        }
        if let Some(RepairedFile {
            path,
            lines,
            faults,
        }) = &self.repaired
        {
            let path = path.display();
            let handed_back = format_counted(lines.len(), "line");
            text += &format!("{path}: {handed_back} handed back to the library");
            if *faults > 0 {
                let left = format_counted(*faults, "fault");
                text += &format!("; {left} left, which `colltune audit {path}` names");
            }
            text.push('\n');
        }
        text
    }

    fn lines_table(&self) -> TextTable {
        let columns = "line> | at | chosen | library> | with it> | speed-up> | interval | verdict";
        text_table(columns, self.found.iter().map(line_row))
    }
}

/// The line with the point that shows its verdict best.
fn line_row(judged: &JudgedLine) -> [String; 8] {
    let verdict = judged.verdict.name().replace('_', " ");
    let line = judged.line.to_string();
    let Some(found) = judged.telling_point() else {
        let [at, chosen, library, with_it, speedup, interval] = Default::default();
        return [
            line, at, chosen, library, with_it, speedup, interval, verdict,
        ];
    };
    let speedup = found.speedup;
    [
        line,
        point_name(&found.point),
        found.point.chosen.to_string(),
        seconds_or_dash(found.default_seconds),
        seconds_or_dash(found.seconds),
        speedup.map_or_else(String::new, |ratio| format!("{:.2}", ratio.median)),
        speedup.map_or_else(String::new, |ratio| {
            format!("{:.2} to {:.2}", ratio.interval.low, ratio.interval.high)
        }),
        verdict,
    ]
}
