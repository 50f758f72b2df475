//! Sizes at which the machine's parameters do not reproduce the times that they were fitted to.

use std::collections::{BTreeMap, BTreeSet};

use model::{Level, Line, Topology};
use schedule::{Action, Round, Schedule, Span};
use vocabulary::{Candidate, Cell, Through};

use crate::MachineFit;
use crate::experiments::Experiments;
use crate::line::OperationTime;
use crate::prediction::{self, MOST_MESSAGES, model_call};
use results::{PoorPrediction, Timed};

/// The sizes at which the median error over turns is large.
pub(crate) fn find_poor_predictions(
    fit: &MachineFit,
    experiments: &Experiments,
) -> Vec<PoorPrediction> {
    let Some(machine) = &fit.machine else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (level, messages) in &experiments.messages {
        if let Some(link) = machine.link(*level) {
            let seconds = |bytes: u64| link.line_for_size(bytes).seconds(bytes);
            found.extend(poor_sizes_of_experiment(
                Timed::Message(*level),
                &messages.ping_pongs,
                seconds,
            ));
        }
    }
    let by_size = |lines: &[Line], rate: f64, bytes: u64| {
        let line = Line::for_size(lines, bytes).map(|line| line.seconds(bytes));
        line.unwrap_or(rate * bytes as f64)
    };
    for (key, gamma) in &fit.gammas {
        let lines = fit.combining.get(key).map_or(&[][..], Vec::as_slice);
        let points = experiments.combines.get(key);
        let points = points.map_or(&[][..], Vec::as_slice);
        let what = Timed::Combine(key.0, key.1);
        found.extend(poor_sizes_of_experiment(what, points, |bytes| {
            by_size(lines, *gamma, bytes)
        }));
    }
    if let Some(copy) = machine.copy {
        let seconds = |bytes| by_size(&machine.copying, copy, bytes);
        found.extend(poor_sizes_of_experiment(
            Timed::Copy,
            &experiments.copies,
            seconds,
        ));
    }
    found
}

fn poor_sizes_of_experiment(
    experiment: Timed,
    points: &[OperationTime],
    seconds: impl Fn(u64) -> f64,
) -> Vec<PoorPrediction> {
    let mut sizes: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for point in points {
        let bytes = point.bytes as u64;
        let error = (seconds(bytes) / point.seconds - 1.0).abs();
        sizes.entry(bytes).or_default().push(error);
    }
    let measured: Vec<u64> = sizes.keys().copied().collect();
    let middle = |pair: &[u64]| (pair[0] as f64 * pair[1] as f64).sqrt().ceil() as u64;
    let middles: Vec<u64> = measured.windows(2).map(middle).collect();
    let froms = std::iter::once(0).chain(middles.iter().copied());
    let ends = middles.iter().copied().chain([u64::MAX]);
    sizes
        .iter()
        .zip(froms.zip(ends))
        .filter_map(|((bytes, errors), (from_bytes, below_bytes))| {
            let residual = statistics::median(errors)?;
            (residual > PoorPrediction::LARGE).then_some(PoorPrediction {
                experiment,
                bytes: *bytes,
                from_bytes,
                below_bytes,
                residual,
            })
        })
        .collect()
}

/// Whether the machine's parameters hold at every size at which a candidate's schedule sends, combines or copies in a
/// cell ([`MachineFit::poor_predictions`]). Where they do not, predictions alone should decide nothing, such as the
/// candidates that a search leaves out. For a schedule that is too long to be simulated, only the size of the largest
/// blocks is checked. The library's own algorithms have no known schedule and no prediction.
pub fn parameters_hold(fit: &MachineFit, cell: &Cell, candidate: &Candidate) -> bool {
    fit.poor_predictions.is_empty() || !meets_poor_prediction(fit, cell, candidate)
}

fn meets_poor_prediction(fit: &MachineFit, cell: &Cell, candidate: &Candidate) -> bool {
    let concerns =
        |what, bytes| bytes > 0 && fit.poor_predictions.iter().any(|m| m.is_about(what, bytes));
    let parameters = candidate.parameters();
    let Some(algorithm) = schedule::find_algorithm(candidate.algorithm()) else {
        return false;
    };
    let Some(schedule) = prediction::candidate_schedule(fit, cell, candidate) else {
        return false;
    };
    if model::expected_messages(&schedule) > MOST_MESSAGES {
        let blocks = model::requested_blocks(algorithm, &model_call(cell, &parameters));
        let level = Timed::Message(message_level(parameters.through, cell.shape.nodes <= 1));
        return blocks.is_some_and(|(_, largest)| concerns(level, largest));
    }
    let topology = prediction::cell_topology(fit, cell);
    let mut contents = action_sizes(&schedule, cell, parameters.through, &topology).into_iter();
    contents.any(|(what, bytes)| concerns(what, bytes))
}

fn message_level(through: Through, share_node: bool) -> Level {
    match (share_node, through) {
        (false, _) => Level::Network,
        (true, Through::Mpi) => Level::Node,
        (true, Through::Shared) => Level::Shared,
    }
}

/// The kinds of actions of a schedule with their sizes in bytes, each pair once.
fn action_sizes(
    schedule: &Schedule,
    cell: &Cell,
    through: Through,
    topology: &Topology,
) -> BTreeSet<(Timed, u64)> {
    let mut found = BTreeSet::new();
    let mut round = Round::default();
    for rank in 0..schedule.shape().ranks {
        let message = |to| {
            Timed::Message(message_level(
                through,
                topology.node_of_rank(rank) == topology.node_of_rank(to),
            ))
        };
        let bytes = |span: &Span| {
            let units = schedule.span_units(rank, span);
            units.saturating_mul(cell.datatype.size_bytes())
        };
        let program = schedule.program(rank);
        for index in 0..program.rounds() {
            round.clear();
            program.round(index, &mut round);
            found.extend(round.actions().iter().filter_map(|action| match action {
                Action::Send { to, span } => Some((message(*to), bytes(span))),
                Action::Signal { to } => Some((message(*to), 0)),
                // Data that arrives through shared memory is combined at another rate.
                Action::Combine { .. } if through == Through::Shared => None,
                Action::Combine { into, .. } => {
                    Some((Timed::Combine(cell.datatype, cell.operator?), bytes(into)))
                }
                Action::Copy { into, .. } => Some((Timed::Copy, bytes(into))),
                Action::Recv { .. } | Action::Await { .. } => None,
            }));
        }
    }
    found
}
