//! The times that the fitted machine predicts for the candidates of a cell.

use std::collections::BTreeMap;

use model::{Call, Machine, Prediction, Setting, Topology};
use schedule::{Algorithm, Request, Schedule};
use vocabulary::{Candidate, Cell, Parameters, Subject};

use crate::MachineFit;
use results::{BlockComparison, BlockPoint, Summary};

/// The most messages that are simulated, in about ten milliseconds.
pub(crate) const MOST_MESSAGES: f64 = 2e4;

/// The predicted time of a candidate in a cell; `None` for the library's own algorithms and where a parameter is
/// unknown.
///
/// The candidate's schedule is simulated on the machine with all fitted parameters: both levels, overheads, eager
/// limits, and the port that the ranks of a node share. Ranks are placed on nodes by [`MachineFit::placement`], which
/// is block for orders that are neither block nor cyclic. A schedule of more than about twenty thousand messages, or
/// one that needs an unknown level, gets the time of its closed form, which uses only `alpha`, `beta` and `gamma` of
/// the slowest level.
pub fn predicted_seconds(machine: &MachineFit, cell: &Cell, candidate: &Candidate) -> Option<f64> {
    machine.predictions.get_or_predict(cell, candidate, || {
        let seconds = simulated_seconds(machine, cell, candidate);
        seconds.or_else(|| closed_form_seconds(machine, cell, candidate))
    })
}

/// The ratio of the expected times of two calls. Both come from simulation or both from closed forms, since the errors
/// of the two differ.
pub(crate) fn predicted_ratio(
    machine: &MachineFit,
    long: (&Cell, &Candidate),
    short: (&Cell, &Candidate),
) -> Option<f64> {
    let ratio = |seconds: fn(&MachineFit, &Cell, &Candidate) -> Option<f64>| {
        Some(seconds(machine, long.0, long.1)? / seconds(machine, short.0, short.1)?)
    };
    ratio(simulated_seconds).or_else(|| ratio(closed_form_seconds))
}

/// The time of a candidate in a cell by its closed form, which uses only `alpha`, `beta` and `gamma` of the slowest level;
/// `None` for the library's own algorithms, for algorithms without a closed form, and where a parameter is unknown.
pub fn closed_form_seconds(fit: &MachineFit, cell: &Cell, candidate: &Candidate) -> Option<f64> {
    if !cell.distribution.is_uniform() {
        // Closed forms are of parts and blocks of one size.
        return None;
    }
    let algorithm = schedule::find_algorithm(candidate.algorithm())?;
    let parameters = candidate.parameters();
    let call = model_call(cell, &parameters);
    let (_, block_bytes) = model::requested_blocks(algorithm, &call)?;
    let rates = fit.message_tiers(cell, parameters.through, block_bytes)?;
    Some(model::predict(algorithm, rates, &call)?.seconds)
}

/// Whether the predicted time of a candidate is that of a simulation, if the machine is known.
pub(crate) fn is_simulated(fit: &MachineFit, cell: &Cell, candidate: &Candidate) -> bool {
    let schedule = candidate_schedule(fit, cell, candidate);
    schedule.is_some_and(|schedule| model::expected_messages(&schedule) <= MOST_MESSAGES)
}

fn simulated_seconds(fit: &MachineFit, cell: &Cell, candidate: &Candidate) -> Option<f64> {
    let through = candidate.parameters().through;
    let machine = fit.machine_for_cell(cell, through, fit.machine.as_ref()?)?;
    simulated_seconds_on(fit, &machine, cell, candidate)
}

/// The time on another machine in place of the fitted one, with the same cost of combining: by size, or by `gamma`
/// alone.
pub(crate) fn seconds_on_machine(
    fit: &MachineFit,
    machine: &Machine,
    cell: &Cell,
    candidate: &Candidate,
    gamma_alone: bool,
) -> Option<f64> {
    let mut machine = fit.machine_for_cell(cell, candidate.parameters().through, machine)?;
    if gamma_alone {
        machine.combining.clear();
    }
    let simulated = simulated_seconds_on(fit, &machine, cell, candidate);
    simulated.or_else(|| closed_form_seconds(fit, cell, candidate))
}

/// The placement of a cell's ranks on nodes.
pub(crate) fn cell_topology(fit: &MachineFit, cell: &Cell) -> Topology {
    Topology::new(cell.shape.nodes, cell.shape.ppn, fit.placement)
}

/// The schedule of a candidate of ours in a cell, on nodes as measured; `None` if it is not ours or cannot serve the
/// cell.
pub(crate) fn candidate_schedule(
    fit: &MachineFit,
    cell: &Cell,
    candidate: &Candidate,
) -> Option<Schedule> {
    let algorithm = schedule::find_algorithm(candidate.algorithm())?;
    let parameters = candidate.parameters();
    let request = Request {
        placed: cell_topology(fit, cell).placed(),
        ..cell.schedule_request(&parameters)
    };
    Schedule::new(algorithm, &request).ok()
}

fn simulated_seconds_on(
    fit: &MachineFit,
    machine: &Machine,
    cell: &Cell,
    candidate: &Candidate,
) -> Option<f64> {
    let schedule = candidate_schedule(fit, cell, candidate)?;
    if model::expected_messages(&schedule) > MOST_MESSAGES {
        return None;
    }
    simulate_schedule(fit, machine, cell, &schedule)
}

/// The simulated time of a schedule of a cell on a machine.
pub(crate) fn simulate_schedule(
    fit: &MachineFit,
    machine: &Machine,
    cell: &Cell,
    schedule: &Schedule,
) -> Option<f64> {
    let setting = Setting {
        machine,
        topology: cell_topology(fit, cell),
        unit_bytes: cell.datatype.size_bytes(),
    };
    Some(model::simulate(schedule, &setting).ok()?.seconds)
}

/// Compares predicted and measured blocks for every cell and algorithm of which at least one block
/// size was measured, in order of cell and algorithm. Without a machine nothing is predicted.
pub fn compare_blocks(summaries: &[Summary], machine: Option<&MachineFit>) -> Vec<BlockComparison> {
    let mut families: BTreeMap<(Cell, Candidate), Vec<(Parameters, f64)>> = BTreeMap::new();
    for Summary {
        subject,
        candidate,
        median_seconds,
        ..
    } in summaries
    {
        let (Subject::Cell(cell), Candidate::Ours { parameters, .. }) = (subject, candidate) else {
            continue;
        };
        let members = families
            .entry((*cell, candidate.without_blocks()))
            .or_default();
        members.push((parameters.clone(), *median_seconds));
    }
    let has_blocks = |(p, _): &(Parameters, f64)| p.block_bytes.is_some() || p.blocks.is_some();
    families
        .into_iter()
        .filter(|(_, members)| members.iter().any(has_blocks))
        .filter_map(|((cell, family), members)| {
            compare_family_blocks(cell, &family, &members, machine)
        })
        .collect()
}

fn compare_family_blocks(
    cell: Cell,
    family: &Candidate,
    members: &[(Parameters, f64)],
    machine: Option<&MachineFit>,
) -> Option<BlockComparison> {
    let algorithm = schedule::find_algorithm(family.algorithm())?;
    // Candidates name blocks by size or by number. As points they have both, so that they can be compared.
    let mut points: Vec<BlockPoint> = members
        .iter()
        .filter_map(|(parameters, seconds)| {
            let (blocks, largest) =
                model::requested_blocks(algorithm, &model_call(&cell, parameters))?;
            Some(BlockPoint {
                block_bytes: parameters.block_bytes.unwrap_or(largest),
                blocks,
                seconds: *seconds,
            })
        })
        .collect();
    let measured = *points
        .iter()
        .min_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    let predicted = machine.and_then(|machine| best_block_point(machine, &cell, algorithm, family));
    // The time to expect at a measured number of blocks is that of the model, not of the measurement.
    let expected = |point: &BlockPoint| {
        predicted_seconds(machine?, &cell, &with_block_number(family, point.blocks))
    };
    // The predicted number was hardly measured itself: the nearest one, by ratio, shows what following it would cost.
    let distance = |point: &BlockPoint, other: BlockPoint| {
        (f64::from(point.blocks) / f64::from(other.blocks))
            .ln()
            .abs()
    };
    let near = predicted.and_then(|predicted| {
        let nearer = |a: &&BlockPoint, b: &&BlockPoint| {
            distance(a, predicted).total_cmp(&distance(b, predicted))
        };
        points.iter().min_by(nearer).copied()
    });
    points.sort_by_key(|point| point.block_bytes);
    Some(BlockComparison {
        cell,
        algorithm: family.to_string(),
        predicted,
        measured,
        measured_near_prediction: near,
        predicted_of_points: points.iter().map(expected).collect(),
        points,
    })
}

fn best_block_point(
    machine: &MachineFit,
    cell: &Cell,
    algorithm: &'static Algorithm,
    family: &Candidate,
) -> Option<BlockPoint> {
    let parameters = family.parameters();
    let Prediction {
        blocks,
        block_bytes,
        ..
    } = best_blocks(machine, cell, algorithm, &parameters)?;
    Some(BlockPoint {
        block_bytes,
        blocks,
        seconds: predicted_seconds(machine, cell, &with_block_number(family, blocks))?,
    })
}

/// The number of blocks that the pipelining lemma alone predicts to be best. The lemma is applied with the rates of each of
/// the level's lines; the result is the number with the shortest predicted time of the call.
pub fn best_blocks(
    machine: &MachineFit,
    cell: &Cell,
    algorithm: &'static Algorithm,
    parameters: &Parameters,
) -> Option<Prediction> {
    let lemma = |rates| model::predict_best(algorithm, rates, &model_call(cell, parameters));
    let rates = machine.rates_of_lines(cell, parameters.through);
    if let [rates] = rates[..] {
        return lemma(rates);
    }
    let family = Candidate::Ours {
        algorithm: algorithm.name(),
        parameters: parameters.clone(),
    };
    let found = rates.into_iter().filter_map(|rates| {
        let best = lemma(rates)?;
        let seconds = predicted_seconds(machine, cell, &with_block_number(&family, best.blocks))?;
        Some((best, seconds))
    });
    let best = found.min_by(|a, b| a.1.total_cmp(&b.1));
    best.map(|(best, _)| best)
}

/// The candidate of a family with `blocks` blocks.
fn with_block_number(family: &Candidate, blocks: u32) -> Candidate {
    Candidate::Ours {
        algorithm: family.algorithm().to_owned(),
        parameters: Parameters {
            blocks: Some(blocks),
            ..family.parameters()
        },
    }
}

/// The number of blocks that a candidate uses in a cell, at least 1.
pub(crate) fn block_count(cell: &Cell, candidate: &Candidate) -> u32 {
    schedule::find_algorithm(candidate.algorithm())
        .and_then(|algorithm| {
            model::requested_blocks(algorithm, &model_call(cell, &candidate.parameters()))
        })
        .map_or(1, |(blocks, _)| blocks)
}

pub(crate) fn model_call<'a>(cell: &Cell, parameters: &'a Parameters) -> Call<'a> {
    let unit_bytes = cell.datatype.size_bytes();
    Call {
        ranks: cell.shape.ranks(),
        bytes: cell.bytes,
        unit_bytes,
        parameters: parameters.in_units(unit_bytes),
        placed: cell.schedule_request(parameters).placed,
    }
}
