//! From an analysis to what a report shows.

use std::collections::BTreeMap;

use report::{
    Basis, Best, BlockRow, BlockTime, Comparison, Estimate, Failure, MachineParameter,
    MeasuringCost, Ratio, Repetitions, SearchCost, SizeRow, Unit, Verdict, View,
};
use results::{BlockComparison, CellDecision, ParameterEstimate, Ranked};
use schedule::Collective;
use statistics::PairedRatio;
use table::{Deployment, Deployments, Operators, Table};
use vocabulary::{Candidate, Cell, CommShape, Datatype, Operator};

use crate::Analysis;
use crate::{cells, curves, pairs, repetitions};

/// What one comparison of a report is about.
type Series = (Collective, CommShape, Operators, Datatype, Option<Operator>);

impl Analysis {
    /// What a report shows of this analysis and the table that follows from it.
    pub fn view(&self, table: &Table) -> View {
        let measured = self
            .decisions
            .iter()
            .map(|d| d.cell)
            .collect::<std::collections::BTreeSet<_>>();
        View {
            name: self.origin.name.clone(),
            basis: Basis::Measurements,
            provenance: self.provenance(),
            environment: self.environment(),
            cost: MeasuringCost {
                seconds: self.measuring_seconds,
                cells: measured.len(),
                repetitions: self
                    .summaries
                    .iter()
                    .map(|summary| summary.counts.repetitions)
                    .sum(),
                call_seconds: self.call_seconds,
                shares: self.shares,
                left: self.races.left,
                saved_seconds: self.races.saved_seconds,
                search: self.effort.map(|effort| SearchCost {
                    exhaustive_seconds: effort.exhaustive_seconds,
                    nodes: effort.nodes,
                }),
            },
            starts: self.starts,
            repetitions: Repetitions {
                never_valid: self.never_valid.clone(),
                ..repetitions::of(&self.summaries)
            },
            parameters: self.machine.parameters.iter().map(parameter).collect(),
            comparisons: self.comparisons(table),
            cells: cells::of(self),
            pairs: pairs::of(&self.summaries, &self.origin.library),
            curves: curves::of(&self.decisions),
            failures: self.failures.iter().map(failure).collect(),
        }
    }

    fn comparisons(&self, table: &Table) -> Vec<Comparison> {
        let mut series: BTreeMap<Series, Vec<&CellDecision>> = BTreeMap::new();
        for decision in &self.decisions {
            let Cell {
                collective,
                shape,
                datatype,
                operator,
                ..
            } = decision.cell;
            // Where both classes of operators have the same rules, one comparison shows them.
            let operators = match group(table, collective, shape, decision.operators) {
                Some(Operators::Any) if decision.operators == Operators::Noncommutative => continue,
                Some(operators) => operators,
                None => decision.operators,
            };
            let key = (collective, shape, operators, datatype, operator);
            series.entry(key).or_default().push(decision);
        }
        series
            .into_iter()
            .map(|(key, decisions)| self.comparison(table, key, &decisions))
            .collect()
    }

    fn comparison(&self, table: &Table, series: Series, decisions: &[&CellDecision]) -> Comparison {
        let (collective, shape, operators, datatype, operator) = series;
        let entries = table
            .collectives
            .get(&collective)
            .map_or(&[][..], Vec::as_slice);
        let entry = entries.iter().find(|e| {
            e.shape == shape
                && e.operators == operators
                && e.deployments.cover(Deployment::Colltune)
        });
        let of_library = entries.iter().filter(|e| {
            e.shape == shape
                && e.deployments == Deployments::Library
                && e.operators.overlap(operators)
        });
        let blocks = self.blocks.iter().filter(|block| {
            decisions.iter().any(|decision| decision.cell == block.cell)
                && operators != Operators::Noncommutative
        });
        Comparison {
            collective,
            shape,
            operators,
            datatype,
            operator,
            sizes: decisions
                .iter()
                .filter_map(|decision| size_row(decision))
                .collect(),
            rules: entry.map(|entry| entry.rules.clone()).unwrap_or_default(),
            library_rules: of_library
                .map(|entry| (entry.operators, entry.rules.clone()))
                .collect(),
            blocks: blocks.map(block_row).collect(),
        }
    }
}

/// The group of the table that holds for a class of operators.
fn group(
    table: &Table,
    collective: Collective,
    shape: CommShape,
    operators: Operators,
) -> Option<Operators> {
    let entries = table.collectives.get(&collective)?;
    entries
        .iter()
        .filter(|entry| entry.shape == shape && entry.deployments.cover(Deployment::Colltune))
        .map(|entry| entry.operators)
        .find(|group| *group == Operators::Any || *group == operators)
}

fn size_row(decision: &CellDecision) -> Option<SizeRow> {
    let default = decision.ranked(&Candidate::Default)?;
    Some(SizeRow {
        bytes: decision.cell.bytes,
        default_seconds: default.median_seconds,
        best: rival(decision).and_then(best),
        verdict: verdict(decision),
    })
}

/// The fastest that beats the default, or else the fastest other one.
fn rival(decision: &CellDecision) -> Option<&Ranked> {
    let rivals = || {
        decision
            .ranking
            .iter()
            .filter(|ranked| ranked.speedup.is_some())
    };
    rivals()
        .find(|ranked| ranked.beats_default)
        .or_else(|| rivals().next())
}

/// What became of the rival.
pub(crate) fn verdict(decision: &CellDecision) -> Verdict {
    match decision.verdict {
        results::Verdict::Fastest => Verdict::Chosen,
        results::Verdict::NearFastest
            if rival(decision).is_some_and(|rival| rival.candidate == decision.chosen) =>
        {
            Verdict::Chosen
        }
        results::Verdict::NearFastest => Verdict::ChosenAlike {
            candidate: decision.chosen.clone(),
        },
        results::Verdict::DefaultFastest => Verdict::DefaultFaster,
        results::Verdict::Immaterial => Verdict::Immaterial,
        results::Verdict::WithinNoise => Verdict::WithinNoise,
        results::Verdict::TypesDisagree => Verdict::TypesDisagree,
        results::Verdict::Extrapolated => Verdict::Expected,
        results::Verdict::NoRival | results::Verdict::DefaultNotMeasured => Verdict::NoRival,
    }
}

fn best(ranked: &Ranked) -> Option<Best> {
    let speedup = ranked.speedup?;
    Some(Best {
        candidate: ranked.candidate.clone(),
        seconds: ranked.median_seconds,
        speedup: ratio(&speedup),
    })
}

pub(crate) fn ratio(paired: &PairedRatio) -> Ratio {
    Ratio {
        value: paired.median,
        low: paired.interval.low,
        high: paired.interval.high,
        coverage: paired.interval.coverage,
    }
}

fn block_row(block: &BlockComparison) -> BlockRow {
    BlockRow {
        algorithm: block.algorithm.clone(),
        bytes: block.cell.bytes,
        predicted_block_bytes: block.predicted.map(|point| point.block_bytes),
        measured_block_bytes: block.measured.block_bytes,
        seconds_at_predicted: at_predicted(block),
        seconds_at_measured: block.measured.seconds,
        points: block
            .points
            .iter()
            .zip(&block.predicted_of_points)
            .map(|(point, expected)| BlockTime {
                block_bytes: point.block_bytes,
                seconds: point.seconds,
                expected_seconds: *expected,
            })
            .collect(),
    }
}

/// The time measured with the predicted block, which was measured rounded to a power of two;
/// nothing if the nearest one measured is further away than that.
fn at_predicted(block: &BlockComparison) -> Option<f64> {
    let (predicted, near) = (block.predicted?, block.measured_near_prediction?);
    let ratio = near.block_bytes as f64 / predicted.block_bytes.max(1) as f64;
    let rounded = (std::f64::consts::FRAC_1_SQRT_2..=std::f64::consts::SQRT_2).contains(&ratio);
    (rounded || near.blocks == predicted.blocks).then_some(near.seconds)
}

fn parameter(parameter: &ParameterEstimate) -> MachineParameter {
    let estimate = match parameter.estimate.filter(|_| parameter.value().is_some()) {
        Some(known) => Estimate::Identified {
            value: known.value,
            low: known.low,
            high: known.high,
            unit: match parameter.unit {
                "s" => Unit::Seconds,
                "s/byte" => Unit::SecondsPerByte,
                "byte" => Unit::Bytes,
                _ => Unit::One,
            },
            residual: known.residual,
        },
        None => Estimate::NotIdentified {
            reason: parameter.status.to_string(),
        },
    };
    MachineParameter {
        name: parameter.name.clone(),
        estimate,
    }
}

fn failure(failure: &store::FailureRow) -> Failure {
    Failure {
        launch: failure.launch,
        candidate: failure.candidate.clone(),
        subject: failure.subject,
        kind: failure.kind,
        message: failure.message.clone(),
    }
}
