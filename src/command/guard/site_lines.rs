//! Lines of a site's file against the library's own choices, which the driver measures in the same launches.
//!
//! A line decides about sizes on shapes; it is judged by all points there, each as [`validate_points`] judges a point of
//! a table: what seems slower is measured again, and only those launches count against it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use campaign::Campaign;
use export::{LineRange, SiteRules};
use libraries::FindingKind;
use statistics::PairedRatio;
use table::{Deployments, Operators, RulePlace};
use tuner::{AuditedFinding, SearchPaths};
use vocabulary::units::format_bytes;
use vocabulary::{Cell, Datatype, Distribution, Library, RankOrder, Warning};

use crate::own_choices::OwnChoiceMeasurer;
use crate::{
    GuardError, Judgement, LaunchMeasurer, LaunchWatch, Point, PointKind, TestCaller, TestSetup,
    TestSetupOptions, ValidateOptions, Validated, ValidatedPoint, validate_points,
};

/// Options of measuring the lines of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineOptions {
    /// As [`ValidateOptions::materiality`].
    pub materiality: f64,
    /// The launches.
    pub setup: TestSetupOptions,
}

/// The lines of a file that name algorithms, with the points at which they do.
#[derive(Clone, Debug)]
pub struct SiteLines<'a> {
    ranges: &'a [LineRange],
    /// The points of all lines, each once.
    pub points: Vec<Point>,
}

/// What launches have shown about a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineVerdict {
    /// It is faster than the library's own choice, by enough to matter, and slower nowhere.
    Gains,
    /// It is slower or fails, and faster nowhere.
    Loses,
    /// It is faster at some sizes, and slower or failing at others.
    Mixed,
    /// It makes no difference that matters.
    Same,
    /// Nothing is shown: too few launches, too little time, or times that vary too much.
    Undecided,
    /// It was measured at no size.
    NotMeasured,
}

impl LineVerdict {
    /// The name used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gains => "gains",
            Self::Loses => "loses",
            Self::Mixed => "mixed",
            Self::Same => "same",
            Self::Undecided => "undecided",
            Self::NotMeasured => "not_measured",
        }
    }
}

/// A line with what launches have shown about it.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedLine {
    /// The line, from 1.
    pub line: usize,
    /// The verdict.
    pub verdict: LineVerdict,
    /// The points at which it was measured.
    pub points: Vec<ValidatedPoint>,
}

/// What launches have shown about a file.
#[derive(Clone, Debug)]
pub struct MeasuredLines {
    /// The library that was measured.
    pub library: Library,
    /// The lines that choose algorithms, in their order.
    pub lines: Vec<JudgedLine>,
    /// The results at all points.
    pub validated: Validated,
    /// The warning about settings that change the library's own choice without choosing algorithms.
    pub steered: Option<Warning>,
}

impl<'a> SiteLines<'a> {
    /// The lines with the sizes of a campaign, and those from which they decide, as far as these are not larger than
    /// the campaign's.
    pub fn with_sizes_of(ranges: &'a [LineRange], campaign: &Campaign) -> Self {
        let mut points: Vec<Point> = Vec::new();
        for range in ranges {
            for (bytes, kind) in sizes_in_range(range, campaign) {
                let point = point_of_range(range, campaign, bytes, kind);
                // Several lines may say the same about a message.
                if !points.iter().any(|known| known.is_alike(&point)) {
                    points.push(point);
                }
            }
        }
        Self { ranges, points }
    }

    /// Judges each line by the points at which it decides. A gain counts from the share `least_gain` on.
    pub fn judge_lines(&self, validated: &[ValidatedPoint], least_gain: f64) -> Vec<JudgedLine> {
        let mut by_line: BTreeMap<usize, Vec<ValidatedPoint>> = BTreeMap::new();
        for range in self.ranges {
            let points = by_line.entry(range.line).or_default();
            for found in validated {
                if is_in_range(range, &found.point) && !points.contains(found) {
                    points.push(found.clone());
                }
            }
        }
        let lines = by_line.into_iter().map(|(line, points)| JudgedLine {
            line,
            verdict: judge_line(&points, least_gain),
            points,
        });
        lines.collect()
    }
}

/// The sizes of a range to measure.
fn sizes_in_range(range: &LineRange, campaign: &Campaign) -> BTreeMap<u64, PointKind> {
    let collective = range.collective;
    if !collective.has_data() {
        return BTreeMap::from([(0, PointKind::Measured)]);
    }
    let element = datatype_of(range, campaign).size_bytes();
    let sizes = campaign.sizes.get(&collective);
    let sizes = sizes.map(Vec::as_slice).unwrap_or_default();
    let is_inside = |bytes: &u64| (range.first_bytes..=range.last_bytes).contains(bytes);
    let rounded = sizes.iter().map(|bytes| bytes.next_multiple_of(element));
    let mut found: BTreeMap<u64, PointKind> = rounded
        .filter(is_inside)
        .map(|bytes| (bytes, PointKind::Measured))
        .collect();
    // A call without data has no time to compare.
    let first = range.first_bytes.next_multiple_of(element);
    let is_measurable = first > 0 && sizes.iter().any(|bytes| *bytes >= first);
    if is_measurable && is_inside(&first) {
        found.entry(first).or_insert(PointKind::Threshold);
    }
    found
}

fn datatype_of(range: &LineRange, campaign: &Campaign) -> Datatype {
    if range.collective.is_reduction() {
        campaign.datatype
    } else {
        Datatype::Byte
    }
}

fn point_of_range(range: &LineRange, campaign: &Campaign, bytes: u64, kind: PointKind) -> Point {
    let (collective, shape, order) = (range.collective, range.shape, RankOrder::Unknown);
    let is_reduction = collective.is_reduction();
    Point {
        cell: Cell {
            collective,
            shape,
            bytes,
            datatype: datatype_of(range, campaign),
            operator: is_reduction.then(|| campaign.commuting_operator()),
            distribution: Distribution::Uniform,
        },
        operators: Operators::Any,
        order,
        kind,
        rules: vec![RulePlace::Rule {
            collective,
            shape,
            order,
            operators: Operators::Any,
            deployments: Deployments::Library,
            from_bytes: range.first_bytes,
        }],
        chosen: range.candidate.clone(),
        recorded: None,
        stake: 1.0,
    }
}

fn is_in_range(range: &LineRange, point: &Point) -> bool {
    let sizes = range.first_bytes..=range.last_bytes;
    point.cell.collective == range.collective
        && point.cell.shape == range.shape
        && point.chosen == range.candidate
        && (!range.collective.has_data() || sizes.contains(&point.cell.bytes))
}

/// Whether a point is faster by enough to matter.
fn gains_at(found: &ValidatedPoint, least_gain: f64) -> bool {
    found.judgement == Judgement::Faster
        && found
            .speedup
            .is_some_and(|speedup| speedup.median >= 1.0 + least_gain)
}

fn judge_line(points: &[ValidatedPoint], least_gain: f64) -> LineVerdict {
    let gains = points.iter().any(|found| gains_at(found, least_gain));
    let loses = points.iter().any(ValidatedPoint::is_wrong);
    let is_faster = |found: &ValidatedPoint| found.judgement == Judgement::Faster;
    let is_settled =
        |found: &ValidatedPoint| is_faster(found) || found.judgement == Judgement::Same;
    if points.is_empty() {
        LineVerdict::NotMeasured
    } else if loses && points.iter().any(is_faster) {
        // A line that is faster somewhere, by however little, is not handed back.
        LineVerdict::Mixed
    } else if gains {
        LineVerdict::Gains
    } else if loses {
        LineVerdict::Loses
    } else if points.iter().all(is_settled) {
        LineVerdict::Same
    } else {
        // Also where the time did not suffice for some of its sizes.
        LineVerdict::Undecided
    }
}

impl JudgedLine {
    /// The point that shows the verdict best: of a line that gains the fastest one, else the slowest or a failing one.
    pub fn telling_point(&self) -> Option<&ValidatedPoint> {
        let median = |found: &&ValidatedPoint| found.speedup.map_or(0.0, |speedup| speedup.median);
        let by_median =
            |one: &&ValidatedPoint, other: &&ValidatedPoint| median(one).total_cmp(&median(other));
        let wrong = self.points.iter().filter(|found| found.is_wrong());
        match self.verdict {
            LineVerdict::Gains => {
                let faster = self.points.iter();
                faster
                    .filter(|found| found.judgement == Judgement::Faster)
                    .max_by(by_median)
            }
            LineVerdict::Loses | LineVerdict::Mixed => wrong.min_by(by_median),
            LineVerdict::Same | LineVerdict::Undecided | LineVerdict::NotMeasured => self
                .points
                .iter()
                .filter(|found| found.speedup.is_some())
                .min_by(by_median)
                .or(self.points.first()),
        }
    }

    /// What must be said about a line that is slower or fails.
    fn finding(&self) -> Option<AuditedFinding> {
        let remedy = match self.verdict {
            LineVerdict::Loses => {
                "leave the choice to the library with algorithm 0, as `--repair OUT` does"
            }
            LineVerdict::Mixed => {
                "end the line where it gains, and leave the other sizes to the library with a line of their own"
            }
            _ => return None,
        };
        let found = self.telling_point()?;
        let cell = &found.point.cell;
        let size = if cell.collective.has_data() {
            format!(" at {}", format_bytes(cell.bytes))
        } else {
            String::new()
        };
        let mut message = format!("{} on {}{size}", cell.collective, cell.shape);
        message += &match (&found.judgement, found.speedup) {
            (Judgement::Broken(how), _) => format!(" fails: {how}"),
            (_, Some(speedup)) => format!(
                " takes {} as long as by the library's own choice",
                describe_slowdown(&speedup)
            ),
            (_, None) => " is slower than by the library's own choice".to_owned(),
        };
        if self.verdict == LineVerdict::Mixed {
            message += "; at other sizes the line gains";
        }
        let kind = FindingKind::Slower;
        Some(AuditedFinding {
            line: Some(self.line),
            kind: kind.id(),
            fault: kind.is_fault(),
            message,
            remedy: Some(remedy.to_owned()),
        })
    }
}

fn describe_slowdown(speedup: &PairedRatio) -> String {
    let interval = speedup.interval;
    format!(
        "{:.2} times ({:.2} to {:.2} times)",
        1.0 / speedup.median,
        1.0 / interval.high,
        1.0 / interval.low
    )
}

impl MeasuredLines {
    /// The result about a file in which no line chooses an algorithm.
    fn without_launches(rules: &SiteRules) -> Self {
        Self {
            library: rules.table.provenance.library.clone(),
            lines: Vec::new(),
            validated: Validated {
                points: Vec::new(),
                misplaced: Vec::new(),
                further_launches: 0,
                busy: None,
                steered: None,
                tested_on: None,
            },
            steered: None,
        }
    }

    /// The lines that lose everywhere or nowhere gain, which can be handed back to the library as a whole.
    pub fn losing_lines(&self) -> BTreeSet<usize> {
        let losing = self.lines.iter();
        let losing = losing.filter(|found| found.verdict == LineVerdict::Loses);
        losing.map(|found| found.line).collect()
    }

    /// The warnings about the launches.
    pub fn warnings(&self) -> impl Iterator<Item = &Warning> {
        self.validated.busy.iter().chain(&self.steered)
    }

    /// The findings about lines that are slower or fail.
    pub fn findings(&self) -> Vec<AuditedFinding> {
        self.lines.iter().filter_map(JudgedLine::finding).collect()
    }
}

/// The campaign of a file's shapes: the named one, or else, on one node, the launcher's default options with the usual
/// sizes and ten minutes.
///
/// # Errors
/// A campaign that cannot be read; shapes of several nodes without a campaign.
pub fn campaign_of_lines(rules: &SiteRules, named: Option<&Path>) -> Result<Campaign, GuardError> {
    if let Some(path) = named {
        return Ok(Campaign::load(path)?);
    }
    let shapes: BTreeSet<_> = rules.table.entries().map(|entry| entry.shape).collect();
    if let Some(shape) = shapes.iter().find(|shape| shape.nodes > 1) {
        return Err(GuardError::NoLauncherForNodes { shape: *shape });
    }
    let shapes: Vec<String> = shapes.iter().map(ToString::to_string).collect();
    let collectives = rules.table.collectives.keys();
    let collectives: Vec<&str> = collectives.map(|collective| collective.name()).collect();
    let text = format!(
        "name: audit\nlibrary: {}\nshapes: [{}]\ncollectives: [{}]\nbudget: 10m\n\
         launcher: {{local: {{oversubscribe: never}}}}\n",
        rules.table.provenance.library.name,
        shapes.join(", "),
        collectives.join(", ")
    );
    Ok(Campaign::parse(
        &text,
        Path::new("(a campaign for the file)"),
    )?)
}

/// Measures the lines of a file with the library's own choices in the same launches, and judges them. The `caller`
/// receives warnings, and watches the launches.
///
/// # Errors
/// If no line can be measured; if something that launches need is missing; if settings that choose algorithms stay in
/// force in launches, or the library cannot be made to use an algorithm; those of [`validate_points`]; and those of the
/// caller.
pub fn measure_lines<Caller: TestCaller>(
    rules: &SiteRules,
    campaign: Campaign,
    options: &LineOptions,
    places: &SearchPaths,
    caller: &mut Caller,
) -> Result<MeasuredLines, Caller::Error> {
    // A file that leaves everything to the library has nothing to measure, and nothing to correct.
    if rules.ranges.is_empty() && rules.left_out.is_empty() {
        return Ok(MeasuredLines::without_launches(rules));
    }
    let lines = SiteLines::with_sizes_of(&rules.ranges, &campaign);
    if lines.points.is_empty() {
        let left_out = rules.left_out.clone();
        return Err(GuardError::NoLines { left_out }.into());
    }
    let least_gain = campaign.materiality;
    let judging = ValidateOptions {
        launches: options.setup.launches,
        materiality: options.materiality,
        material_loss: least_gain.max(options.materiality),
    };
    let setup = TestSetup::new(
        &rules.table,
        campaign,
        &lines.points,
        &options.setup,
        places,
    )?;
    for warning in setup.warnings(&rules.table) {
        caller.warn(warning);
    }
    let library = setup.at.library.clone();
    let LaunchWatch { mut observer, stop } = caller.watch_launches()?;
    let launches = LaunchMeasurer::new(&setup.at, &mut *observer, &stop);
    let mut launches = OwnChoiceMeasurer::new(launches, &setup.at);
    let measured = validate_points(&lines.points, &mut launches, &judging);
    let steered = launches.steered.take();
    // The observer may occupy a terminal until it is dropped.
    drop(observer);
    let validated = setup.close_with_outcome(measured)?;
    Ok(MeasuredLines {
        library,
        lines: lines.judge_lines(&validated.points, least_gain),
        validated,
        steered,
    })
}
