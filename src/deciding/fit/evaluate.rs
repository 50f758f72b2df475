//! The quality of decisions at points that were held out from them.
//!
//! Points are held out, and the others are given to decisions and tables as if there were no more, and to the curves;
//! the regrets of both are set beside those of simpler ways. To find which differences noise explains, everything is
//! decided and judged again with resampled launches (`redrawn.rs`). What is chosen at a point may depend on which
//! candidates were measured there, never on their times.

use std::collections::{BTreeMap, BTreeSet};

use schedule::Collective;
use table::{Deployment, Provenance, RuleSource, Table};
use vocabulary::{Candidate, Cell, Subject};

use crate::held_out::{self, Times};
use crate::merged::add_merged_candidates;
use crate::methods::{self, Training};
use crate::redrawn;
use crate::{DecideOptions, Orders};
use results::{Common, HeldOut, Loss, Method, Score, SplitScores, Summary, WITHIN, Worst};

/// The choices of all methods at one point.
struct PointChoices {
    cell: Cell,
    held_out: bool,
    /// Each method's choice with its regret; `None` if the method or the regret is unknown.
    chosen: BTreeMap<Method, Option<(Candidate, f64)>>,
    /// Whether the table loses to a simpler method.
    loss: Option<Loss>,
}

/// Holds measured points out, decides on the others, and returns the regret of the decisions at the points held out:
/// over all collectives, then for each if there are several. Empty if nothing can be held out, because no shape has
/// three sizes and no shape has neighbours on both sides.
///
/// `summaries`, `failures` and `options` as for [`crate::decide_cells`]; `provenance` is that of the table.
pub fn score_held_out_points(
    summaries: &[Summary],
    failures: &[(Subject, Candidate)],
    options: &DecideOptions,
    provenance: &Provenance,
) -> Vec<SplitScores> {
    // A decision of an irregular collective rests on several cells, which cannot be held out one by one.
    let is_regular = |summary: &&Summary| {
        let cell = summary.subject.cell();
        cell.is_none_or(|cell| !cell.collective.is_irregular())
    };
    let summaries: Vec<Summary> = summaries.iter().filter(is_regular).cloned().collect();
    let summaries = &add_merged_candidates(&summaries);
    let points = held_out::measured_points(summaries, failures);
    let mut scores = Vec::new();
    for by in [HeldOut::Sizes, HeldOut::Shapes] {
        let splits = held_out::point_splits(&points, by);
        if splits.is_empty() {
            continue;
        }
        let choices = |given: &[Summary], methods: &[Method]| {
            let timed = &held_out::measured_points(given, failures);
            let mut choices = Vec::new();
            for held in &splits {
                let training = Training::new(timed, held, given, failures, options, provenance);
                let is_judged = |cell: &Cell| by == HeldOut::Sizes || held.contains(cell);
                let judged = timed.iter().filter(|(cell, _)| is_judged(cell));
                choices.extend(judged.map(|(cell, times)| {
                    choose_at_point(&training, methods, cell, times, held.contains(cell))
                }));
            }
            choices
        };
        let found = choices(summaries, &Method::ALL);
        let again = redrawn::draw_summaries(summaries).map(|s| choices(&s, &Common::METHODS));
        scores.extend(summarise_choices(by, &found, &again.collect::<Vec<_>>()));
    }
    scores
}

/// Scores the choices of a table at the points of other measurements, beside the default: over all collectives, then
/// for each if there are several. If a deployment offers fewer candidates than were measured, its choices are compared
/// with the best of those it offers. Empty without points. `orders` are the orders of ranks on the measured shapes.
///
/// `summaries` and `failures` as for [`crate::decide_cells`].
pub fn score_table_choices(
    table: &Table,
    deployment: Deployment,
    orders: &Orders,
    summaries: &[Summary],
    failures: &[(Subject, Candidate)],
) -> Vec<SplitScores> {
    let mut points = held_out::measured_points(summaries, failures);
    for times in points.values_mut() {
        times.retain(|candidate, _| deployment.offers(candidate));
    }
    points.retain(|_, times| times.len() > 1);
    let choices = points.iter().map(|(cell, times)| {
        let order = orders.order_on(cell.shape, RuleSource::Measured);
        let chosen = methods::table_choice(table, deployment, order, cell);
        let regret = |candidate: Candidate| {
            Some((
                candidate.clone(),
                methods::choice_regret(cell, times, &candidate)?,
            ))
        };
        PointChoices {
            cell: *cell,
            held_out: true,
            chosen: BTreeMap::from([
                (Method::Default, regret(Candidate::Default)),
                (Method::Table, regret(chosen)),
            ]),
            loss: None,
        }
    });
    let mut scores = summarise_choices(HeldOut::All, &choices.collect::<Vec<_>>(), &[]);
    for split in &mut scores {
        split.decided_on = None;
        let is_judged = |method| matches!(method, Method::Default | Method::Table);
        split.scores.retain(|score| is_judged(score.method));
    }
    scores
}

fn choose_at_point(
    training: &Training,
    methods: &[Method],
    cell: &Cell,
    times: &Times,
    held_out: bool,
) -> PointChoices {
    let of_method = |method: Method| {
        let chosen = training.choose_by_method(method, cell, times)?;
        let regret = methods::choice_regret(cell, times, &chosen)?;
        Some((chosen, regret))
    };
    let chosen: BTreeMap<Method, Option<(Candidate, f64)>> = methods
        .iter()
        .map(|method| (*method, of_method(*method)))
        .collect();
    let loss = find_loss(training, cell, times, &chosen).filter(|_| held_out);
    PointChoices {
        cell: *cell,
        held_out,
        chosen,
        loss,
    }
}

fn find_loss(
    training: &Training,
    cell: &Cell,
    times: &Times,
    chosen: &BTreeMap<Method, Option<(Candidate, f64)>>,
) -> Option<Loss> {
    let choice_of = |method| chosen.get(&method)?.clone();
    let (candidate, regret) = choice_of(Method::Table)?;
    let simpler = [
        Method::LogLog,
        Method::Nearest,
        Method::NearestLower,
        Method::Default,
    ];
    let others = simpler
        .into_iter()
        .filter_map(|method| Some((method, choice_of(method)?)));
    let (method, (better, better_regret)) = others.min_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    (regret > better_regret + WITHIN).then(|| Loss {
        reason: training.explain_loss(cell, times, &candidate, &better),
        table: Worst {
            cell: *cell,
            chosen: candidate,
            regret,
        },
        method,
        better,
        better_regret,
    })
}

/// Summarises the choices; `again` are the choices from resampled launches.
fn summarise_choices(
    by: HeldOut,
    choices: &[PointChoices],
    again: &[Vec<PointChoices>],
) -> Vec<SplitScores> {
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
            let of_group = |c: &&PointChoices| collective.is_none_or(|of| of == c.cell.collective);
            let group: Vec<&PointChoices> = choices.iter().filter(of_group).collect();
            let again = again.iter().map(|draw| draw.iter().filter(of_group));
            let points = group.iter().filter(|point| point.held_out).count();
            SplitScores {
                held_out: by,
                collective,
                points,
                decided_on: (by == HeldOut::Sizes).then_some(group.len() - points),
                scores: Method::ALL
                    .map(|method| score_method(method, by, &group))
                    .to_vec(),
                common: compare_common_points(&group, again.map(Iterator::collect)),
                losses: collect_losses(&group),
            }
        })
        .collect()
}

/// The regrets of log-log interpolation and of the table at the points where both are known.
fn compare_common_points<'c>(
    group: &[&PointChoices],
    again: impl Iterator<Item = Vec<&'c PointChoices>>,
) -> Option<Common> {
    let means = |choices: &[&PointChoices]| {
        let regret = |point: &PointChoices, method| Some(point.chosen.get(&method)?.as_ref()?.1);
        let held = choices.iter().filter(|choices| choices.held_out);
        let both = held.filter_map(|point| {
            let [log_log, table] = Common::METHODS.map(|method| regret(point, method));
            log_log.zip(table)
        });
        let (log_log, table): (Vec<f64>, Vec<f64>) = both.unzip();
        Some((
            table.len(),
            arithmetic_mean(&log_log)?,
            arithmetic_mean(&table)?,
        ))
    };
    let (points, log_log, table) = means(group)?;
    let differences = again.filter_map(|choices| {
        let (_, drawn_log_log, drawn_table) = means(&choices)?;
        Some(drawn_table - drawn_log_log)
    });
    Some(Common {
        points,
        log_log,
        table,
        difference: redrawn::bootstrap_interval(differences.collect(), table - log_log),
    })
}

/// The losses, the largest first.
fn collect_losses(choices: &[&PointChoices]) -> Vec<Loss> {
    let losses = choices.iter().filter_map(|choices| choices.loss.clone());
    let mut losses: Vec<Loss> = losses.collect();
    let lost = |loss: &Loss| loss.table.regret - loss.better_regret;
    losses.sort_by(|a, b| lost(b).total_cmp(&lost(a)));
    losses
}

/// The choice of a method at a point.
struct PointRegret {
    cell: Cell,
    held_out: bool,
    chosen: Candidate,
    regret: f64,
}

fn score_method(method: Method, by: HeldOut, choices: &[&PointChoices]) -> Score {
    let known = || {
        let of_method = |point: &&PointChoices| {
            let chosen = point.chosen.get(&method)?.clone();
            chosen.map(|(chosen, regret)| PointRegret {
                cell: point.cell,
                held_out: point.held_out,
                chosen,
                regret,
            })
        };
        choices.iter().filter_map(of_method)
    };
    let held = || known().filter(|point| point.held_out);
    let regrets: Vec<f64> = held().map(|point| point.regret).collect();
    let everywhere: Vec<f64> = known().map(|point| point.regret).collect();
    let good = regrets.iter().filter(|regret| **regret <= WITHIN).count();
    // The first of several equally bad points.
    let worst = held().reduce(|a, b| if b.regret > a.regret { b } else { a });
    Score {
        method,
        points: regrets.len(),
        mean: arithmetic_mean(&regrets),
        median: statistics::median(&regrets),
        worst: worst.map(|point| Worst {
            cell: point.cell,
            chosen: point.chosen,
            regret: point.regret,
        }),
        within: (!regrets.is_empty()).then(|| good as f64 / regrets.len() as f64),
        mean_everywhere: arithmetic_mean(&everywhere).filter(|_| by == HeldOut::Sizes),
    }
}

fn arithmetic_mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
