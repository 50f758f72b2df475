//! Methods of choosing candidates at points that were held out.

use std::collections::{BTreeMap, BTreeSet};

use schedule::Collective;
use table::{
    Confidence, Deployment, Deployments, OperatorClass, Operators, Provenance, Query, Rule,
    RuleSource, ShapeRules, Table,
};
use vocabulary::{Candidate, Cell, CommShape, Datatype, Operator, RankOrder, Subject};

use crate::held_out::Times;
use crate::prediction::block_count;
use crate::predictor::{CandidateCurve, CellKind, PredictionMethod, Predictor, cell_kind};
use crate::{DecideOptions, build_table, decide_cells, fit_curves};
use results::{Method, Reason, Summary};

/// The results of the points that decisions are made on.
pub(crate) struct Training {
    table: Table,
    nearest_lower: TablesByType,
    nearest: TablesByType,
    single: BTreeMap<CellKind, Candidate>,
    predictor: Predictor,
}

impl Training {
    /// From all points but those held out.
    pub(crate) fn new(
        points: &BTreeMap<Cell, Times>,
        held_out: &BTreeSet<Cell>,
        summaries: &[Summary],
        failures: &[(Subject, Candidate)],
        options: &DecideOptions,
        provenance: &Provenance,
    ) -> Self {
        let kept = |summary: &&Summary| {
            let cell = summary.subject.cell();
            cell.filter(|cell| !held_out.contains(cell))
                .and_then(|cell| points.get(&cell))
                .is_some_and(|times| times.contains_key(&summary.candidate))
        };
        let summaries: Vec<Summary> = summaries.iter().filter(kept).cloned().collect();
        let library = &provenance.library.name;
        let decisions = decide_cells(
            Deployment::Colltune,
            library,
            &summaries,
            failures,
            None,
            options,
        );
        let curves: Vec<CandidateCurve> = fit_curves(&summaries);
        let training = || points.iter().filter(|(cell, _)| !held_out.contains(cell));
        Self {
            table: build_table("training", provenance.clone(), &decisions, &[], &[]),
            nearest_lower: tables_of_fastest(training(), provenance, |_, bytes| bytes),
            nearest: tables_of_fastest(training(), provenance, geometric_middle),
            single: best_single_candidates(training()),
            predictor: Predictor::new(&curves),
        }
    }

    /// The choice of a method among the candidates of a point, made without their times there; `None` if the method has
    /// no answer.
    pub(crate) fn choose_by_method(
        &self,
        method: Method,
        cell: &Cell,
        times: &Times,
    ) -> Option<Candidate> {
        let choice_of =
            |table: &Table| table_choice(table, Deployment::Colltune, RankOrder::Unknown, cell);
        let choice_of_type_table =
            |tables: &TablesByType| tables.get(&(cell.datatype, cell.operator)).map(choice_of);
        match method {
            Method::Default => Some(Candidate::Default),
            Method::BestSingle => self.single.get(&cell_kind(cell)).cloned(),
            Method::NearestLower => choice_of_type_table(&self.nearest_lower),
            Method::Nearest => choice_of_type_table(&self.nearest),
            Method::StraightLines => {
                self.fastest_predicted(cell, times, PredictionMethod::StraightLines)
            }
            Method::LogLog => self.fastest_predicted(cell, times, PredictionMethod::LogLog),
            Method::Model => self.fastest_predicted(cell, times, PredictionMethod::Model),
            Method::Table => Some(choice_of(&self.table)),
        }
    }

    /// The reason why the table's choice at a point with these times is slower than another.
    pub(crate) fn explain_loss(
        &self,
        cell: &Cell,
        times: &Times,
        chosen: &Candidate,
        better: &Candidate,
    ) -> Reason {
        // The largest ratio that noise and interpolation explain.
        const MUCH: f64 = 1.05;
        let predicted = |candidate| {
            let predicted =
                self.predictor
                    .predict_time(cell, candidate, PredictionMethod::LogLog)?;
            Some(predicted.seconds)
        };
        let ratio_to_predicted =
            |candidate| Some(time_of_choice(cell, times, candidate)? / predicted(candidate)?);
        let is_slower = ratio_to_predicted(chosen).is_some_and(|ratio| ratio > MUCH);
        let favours_better = predicted(better)
            .zip(predicted(chosen))
            .is_some_and(|(better, chosen)| better < chosen);
        let query = query_for_cell(cell, Deployment::Colltune, RankOrder::Unknown);
        if self.table.lookup(&query).matched.is_stand_in() {
            Reason::NotEnclosed
        } else if is_slower && *chosen == Candidate::Default {
            Reason::DefaultChanges
        } else if favours_better {
            Reason::Uncertain
        } else if is_slower {
            Reason::Slower
        } else {
            Reason::Unexpected
        }
    }

    /// The candidate with the shortest predicted time.
    fn fastest_predicted(
        &self,
        cell: &Cell,
        times: &Times,
        method: PredictionMethod,
    ) -> Option<Candidate> {
        let predicted = times.keys().filter_map(|candidate| {
            let predicted = self.predictor.predict_time(cell, candidate, method)?;
            Some((predicted.seconds, candidate))
        });
        let fastest = predicted.min_by(|a, b| a.0.total_cmp(&b.0));
        fastest.map(|(_, candidate)| candidate.clone())
    }
}

/// The choice of a table at a point.
pub(crate) fn table_choice(
    table: &Table,
    deployment: Deployment,
    order: RankOrder,
    cell: &Cell,
) -> Candidate {
    let query = query_for_cell(cell, deployment, order);
    table.lookup(&query).candidate.clone()
}

fn query_for_cell(cell: &Cell, deployment: Deployment, order: RankOrder) -> Query {
    Query {
        collective: cell.collective,
        shape: cell.shape,
        order,
        bytes: cell.bytes,
        operators: OperatorClass::from_commutes(cell.commutes()),
        deployment,
    }
}

/// The measured time of a choice at a point: the time of the candidate itself, or of one that is the same schedule
/// there, such as one with another block size that gives the same number of blocks.
pub(crate) fn time_of_choice(cell: &Cell, times: &Times, choice: &Candidate) -> Option<f64> {
    let cuts_alike = |candidate: &Candidate| {
        candidate.without_blocks() == choice.without_blocks()
            && block_count(cell, candidate) == block_count(cell, choice)
    };
    let same = |(candidate, _): &(&Candidate, &f64)| {
        candidate.is_ours() && (cuts_alike(candidate) || cell.are_alike(candidate, choice))
    };
    let alike = || times.iter().find(same).map(|(_, seconds)| *seconds);
    let exact = times.get(choice).copied();
    exact.or_else(|| choice.is_ours().then(alike).flatten())
}

/// The extra time of a choice over the best candidate of the point, as a share.
pub(crate) fn choice_regret(cell: &Cell, times: &Times, choice: &Candidate) -> Option<f64> {
    let best = times.values().copied().fold(f64::INFINITY, f64::min);
    Some(time_of_choice(cell, times, choice)? / best - 1.0)
}

type TimedCell<'p> = (&'p Cell, &'p Times);

/// By kind, the candidate that was measured at the most points, and of several the one with the lowest mean regret.
fn best_single_candidates<'p>(
    points: impl Iterator<Item = TimedCell<'p>>,
) -> BTreeMap<CellKind, Candidate> {
    let mut kinds: BTreeMap<CellKind, Vec<TimedCell<'p>>> = BTreeMap::new();
    for (cell, times) in points {
        kinds
            .entry(cell_kind(cell))
            .or_default()
            .push((cell, times));
    }
    let best = |of_kind: &[TimedCell<'p>]| {
        let candidates: BTreeSet<&Candidate> =
            of_kind.iter().flat_map(|(_, times)| times.keys()).collect();
        let score = |candidate: &Candidate| {
            let known = of_kind
                .iter()
                .filter_map(|(cell, times)| choice_regret(cell, times, candidate));
            let regrets: Vec<f64> = known.collect();
            (regrets.len(), regrets.iter().sum::<f64>())
        };
        let scored = candidates.into_iter().map(|c| (score(c), c));
        let best = scored
            .min_by(|((many, a), _), ((more, b), _)| more.cmp(many).then_with(|| a.total_cmp(b)));
        best.map(|(_, candidate)| candidate.clone())
    };
    kinds
        .into_iter()
        .filter_map(|(kind, of_kind)| Some((kind, best(&of_kind)?)))
        .collect()
}

/// The geometric middle, or the next size above it.
fn geometric_middle(before: u64, bytes: u64) -> u64 {
    (before.max(1) as f64 * bytes as f64).sqrt().ceil() as u64
}

type TablesByType = BTreeMap<(Datatype, Option<Operator>), Table>;

/// Tables of the fastest candidates at the measured sizes. A rule begins at the size that `from` gives for two
/// neighbouring sizes.
fn tables_of_fastest<'p>(
    points: impl Iterator<Item = TimedCell<'p>>,
    provenance: &Provenance,
    from: fn(u64, u64) -> u64,
) -> TablesByType {
    type Entries = BTreeMap<(Collective, CommShape), Vec<(u64, Rule)>>;
    let mut tables: BTreeMap<(Datatype, Option<Operator>), Entries> = BTreeMap::new();
    // By ascending size.
    for (cell, times) in points {
        let fastest = times.iter().min_by(|a, b| a.1.total_cmp(b.1));
        let Some((candidate, _)) = fastest else {
            continue;
        };
        let entries = tables.entry((cell.datatype, cell.operator)).or_default();
        let rules = entries.entry((cell.collective, cell.shape)).or_default();
        let before = rules.last().map(|(bytes, _)| *bytes);
        let from_bytes = before.map_or(0, |before| from(before, cell.bytes));
        let rule = Rule::new(from_bytes, candidate.clone(), None, Confidence::Low);
        rules.push((cell.bytes, rule));
    }
    let table = |entries: Entries| {
        let mut collectives: BTreeMap<Collective, Vec<ShapeRules>> = BTreeMap::new();
        for ((collective, shape), rules) in entries {
            collectives.entry(collective).or_default().push(ShapeRules {
                shape,
                order: RankOrder::Unknown,
                operators: Operators::Any,
                deployments: Deployments::Colltune,
                source: RuleSource::Measured,
                rules: rules.into_iter().map(|(_, rule)| rule).collect(),
                measured: Vec::new(),
                candidates: Vec::new(),
            });
        }
        Table {
            name: "fastest".to_owned(),
            provenance: provenance.clone(),
            collectives,
            verdicts: Vec::new(),
            nonblocking: None,
        }
    };
    let tables = tables.into_iter();
    tables
        .map(|(kind, entries)| (kind, table(entries)))
        .collect()
}
