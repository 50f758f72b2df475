//! What decisions are worth where nothing was measured.

use std::collections::{BTreeMap, BTreeSet};

use schedule::Collective;
use serde::Serialize;
use table::{Deployment, Provenance, Table};
use vocabulary::{Candidate, Cell, Subject};

use crate::held_out::{self, HeldOut, Times};
use crate::methods::{self, Method, Training};
use crate::{DecideOptions, Summary};

/// The regret of a method at points that it has not seen.
///
/// Regret is how much longer the choice takes than the best candidate measured at the point, as a
/// share of the latter, by median times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// The method.
    pub method: Method,
    /// Points at which what it chose was measured, so that its regret is known.
    pub points: usize,
    /// Mean regret; absent if there is no such point, as all that follows.
    pub mean: Option<f64>,
    /// Median regret.
    pub median: Option<f64>,
    /// Where the regret is largest.
    pub worst: Option<Worst>,
    /// Share of the points with a regret of [`WITHIN`] or less.
    pub within: Option<f64>,
    /// Mean regret at all points, held out or not; known where sizes are held out.
    pub mean_everywhere: Option<f64>,
}

/// The regret that counts as good, as a share.
pub const WITHIN: f64 = 0.05;

/// A choice that was wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worst {
    /// Where.
    pub cell: Cell,
    /// What was chosen.
    pub chosen: Candidate,
    /// Its regret.
    pub regret: f64,
}

/// How the methods do at points of one sort.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitScores {
    /// What was held out.
    pub held_out: HeldOut,
    /// The collective, or all together.
    pub collective: Option<Collective>,
    /// Points held out.
    pub points: usize,
    /// Points decided on, where sizes are held out; each shape has its own.
    pub decided_on: Option<usize>,
    /// One entry a method, in the order of [`Method::ALL`].
    pub scores: Vec<Score>,
}

/// The choices of all methods at one point.
struct Choices {
    cell: Cell,
    held_out: bool,
    /// What was chosen with its regret, if that is known.
    chosen: BTreeMap<Method, Option<(Candidate, f64)>>,
}

/// Holds measured points out, decides on the others, and looks what the decisions cost at the points
/// held out: all collectives together, then each if there are several. Empty where nothing can be
/// held out, since no shape has three sizes, nor any shape neighbours on both sides.
///
/// `summaries`, `failures` and `options` as for [`crate::decide()`]; `provenance` is that of the table.
/// Where something is combined, decisions are those for operators that commute.
pub fn evaluate(
    summaries: &[Summary],
    failures: &[(Subject, Candidate)],
    options: &DecideOptions,
    provenance: &Provenance,
) -> Vec<SplitScores> {
    let points = held_out::points(summaries, failures);
    let mut scores = Vec::new();
    for by in [HeldOut::Sizes, HeldOut::Shapes] {
        let mut choices = Vec::new();
        for held in held_out::splits(&points, by) {
            let training = Training::new(&points, &held, summaries, failures, options, provenance);
            let judged = points
                .iter()
                .filter(|(cell, _)| by == HeldOut::Sizes || held.contains(cell));
            choices.extend(
                judged.map(|(cell, times)| choose(&training, cell, times, held.contains(cell))),
            );
        }
        scores.extend(summarise(by, &choices));
    }
    scores
}

/// What the choices of a table cost at the points of other measurements, beside the default: all
/// collectives together, then each if there are several. Where a deployment offers less than was
/// measured, its choices are compared with the best of what it offers. Empty without points.
///
/// `summaries` and `failures` as for [`crate::decide()`].
pub fn judge(
    table: &Table,
    deployment: Deployment,
    summaries: &[Summary],
    failures: &[(Subject, Candidate)],
) -> Vec<SplitScores> {
    let mut points = held_out::points(summaries, failures);
    for times in points.values_mut() {
        times.retain(|candidate, _| deployment.offers(candidate));
    }
    points.retain(|_, times| times.len() > 1);
    let choices = points.iter().map(|(cell, times)| {
        let chosen = methods::of_table(table, deployment, cell);
        let regret =
            |chosen: Candidate| Some((chosen.clone(), methods::regret(cell, times, &chosen)?));
        Choices {
            cell: *cell,
            held_out: true,
            chosen: BTreeMap::from([
                (Method::Default, regret(Candidate::Default)),
                (Method::Table, regret(chosen)),
            ]),
        }
    });
    let mut scores = summarise(HeldOut::All, &choices.collect::<Vec<_>>());
    for split in &mut scores {
        split.decided_on = None;
        let is_judged = |method| matches!(method, Method::Default | Method::Table);
        split.scores.retain(|score| is_judged(score.method));
    }
    scores
}

fn choose(training: &Training, cell: &Cell, times: &Times, held_out: bool) -> Choices {
    let of_method = |method: Method| {
        let chosen = training.choose(method, cell, times)?;
        let regret = methods::regret(cell, times, &chosen)?;
        Some((chosen, regret))
    };
    Choices {
        cell: *cell,
        held_out,
        chosen: Method::ALL
            .into_iter()
            .map(|method| (method, of_method(method)))
            .collect(),
    }
}

fn summarise(by: HeldOut, choices: &[Choices]) -> Vec<SplitScores> {
    let held = choices.iter().filter(|choices| choices.held_out);
    let collectives: BTreeSet<Collective> = held.map(|c| c.cell.collective).collect();
    let each = collectives.iter().map(|collective| Some(*collective));
    let groups: Vec<Option<Collective>> = match collectives.len() {
        0 => Vec::new(),
        1 => vec![None],
        _ => std::iter::once(None).chain(each).collect(),
    };
    groups
        .into_iter()
        .map(|collective| {
            let of_group = |c: &&Choices| collective.is_none_or(|of| of == c.cell.collective);
            let group: Vec<&Choices> = choices.iter().filter(of_group).collect();
            let points = group.iter().filter(|choices| choices.held_out).count();
            SplitScores {
                held_out: by,
                collective,
                points,
                decided_on: (by == HeldOut::Sizes).then_some(group.len() - points),
                scores: Method::ALL.map(|method| score(method, by, &group)).to_vec(),
            }
        })
        .collect()
}

fn score(method: Method, by: HeldOut, choices: &[&Choices]) -> Score {
    let known = || {
        let of_method = |choices: &&Choices| {
            let chosen = choices.chosen.get(&method)?.clone();
            chosen.map(|(chosen, regret)| (choices.cell, choices.held_out, chosen, regret))
        };
        choices.iter().filter_map(of_method)
    };
    let held = || known().filter(|(_, held_out, ..)| *held_out);
    let regrets: Vec<f64> = held().map(|(.., regret)| regret).collect();
    let everywhere: Vec<f64> = known().map(|(.., regret)| regret).collect();
    let good = regrets.iter().filter(|regret| **regret <= WITHIN).count();
    // The first of equal ones.
    let worst = held().reduce(|a, b| if b.3 > a.3 { b } else { a });
    Score {
        method,
        points: regrets.len(),
        mean: mean(&regrets),
        median: statistics::median(&regrets),
        worst: worst.map(|(cell, _, chosen, regret)| Worst {
            cell,
            chosen,
            regret,
        }),
        within: (!regrets.is_empty()).then(|| good as f64 / regrets.len() as f64),
        mean_everywhere: mean(&everywhere).filter(|_| by == HeldOut::Sizes),
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
