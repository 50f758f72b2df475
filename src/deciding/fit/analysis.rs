//! The analysis of all samples of one library.

use std::collections::{BTreeMap, BTreeSet};

use results::{
    BlockComparison, CellDecision, MeasuringCost, ModelScore, Races, RepetitionCounts, SplitScores,
    Starts, Summary, Verdict,
};
use schedule::Collective;
use table::{Deployment, Provenance, ShapeRules, Table, TurnedBack};
use vocabulary::units::format_bytes;
use vocabulary::{Candidate, Cell, CommShape, Distribution, Pattern, Placement, Sample, Subject};

use crate::effort::{ExhaustiveCampaign, call_seconds, estimate_effort};
use crate::power::campaign_power;
#[cfg(doc)]
use crate::remove_overruled_verdicts;
use crate::repetitions::{common_starts, count_unusual_repetitions};
use crate::rules::build_rules;
use crate::verdicts;
use crate::{
    CandidateCurve, Confirmation, DecideOptions, Exploration, FitError, FreshMeasurements,
    MachineFit, Orders, compare_blocks, decide_unmeasured_shapes, fit_curves, fit_machine,
    score_held_out_points, score_models, score_table_choices, summarise_samples,
};

/// The measurements with one library, and the options of their analysis.
pub struct Measurements<'a> {
    /// The campaign's name, under which the machine is listed.
    pub name: &'a str,
    /// The library's name; it determines which of the library's algorithms combine in order.
    pub library: &'a str,
    /// All samples, of calls of one pattern.
    pub samples: &'a [Sample],
    /// The order of ranks on nodes.
    pub orders: Orders,
    /// The pattern of calls of these samples.
    pub pattern: Pattern,
    /// The candidates that failed, and the subjects on which they did.
    pub failures: Vec<(Subject, Candidate)>,
    /// The wall-clock seconds spent on measuring, by use.
    pub cost: MeasuringCost,
    /// Whether the campaign asks for a candidate on a subject. A store may also hold sizes and candidates of earlier
    /// campaigns.
    pub asks_for: &'a dyn Fn(&Subject, &Candidate) -> bool,
    /// The thresholds for differences that count.
    pub options: DecideOptions,
    /// Unmeasured shapes to decide for.
    pub extend_to: &'a [CommShape],
    /// By cell, the candidates that were not measured because they are the same schedule as a simpler one, each with
    /// that simpler candidate.
    pub merged: Option<&'a BTreeMap<Cell, Vec<(Candidate, Candidate)>>>,
    /// The full grid of a guided campaign, without its search.
    pub everything: Option<ExhaustiveCampaign>,
    /// The measurements of fresh launches, if these decide.
    pub fresh: Option<&'a FreshMeasurements>,
    /// The cells of the campaign, at which choices are confirmed.
    pub grid: &'a [Cell],
    /// Verdicts about tables of these measurements that newer launches do not overrule ([`remove_overruled_verdicts`]).
    pub verdicts: &'a [table::Verdict],
}

/// Summaries, fits and decisions of one library.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// One entry per candidate and cell, and one per experiment.
    pub summaries: Vec<Summary>,
    /// The candidates that failed, and the subjects on which they did.
    pub failures: Vec<(Subject, Candidate)>,
    /// The order of ranks on nodes.
    pub orders: Orders,
    /// The machine's parameters.
    pub machine: MachineFit,
    /// The thresholds for differences that count in the decisions.
    pub options: DecideOptions,
    /// The decision in each cell, with its reasons.
    pub decisions: Vec<CellDecision>,
    /// The decisions where only the library's own settings can be used. Cells in which none of the library's own
    /// algorithms was measured are left out.
    pub library_decisions: Vec<CellDecision>,
    /// The model's decisions on unmeasured shapes, if the campaign asks for them.
    pub extended: Vec<CellDecision>,
    /// Predicted and measured block sizes.
    pub blocks: Vec<BlockComparison>,
    /// The cost of measuring.
    pub cost: MeasuringCost,
    /// Invalid and other noteworthy repetitions.
    pub repetitions: RepetitionCounts,
    /// The method by which ranks were synchronised before each repetition.
    pub starts: Starts,
    /// The pattern of calls.
    pub pattern: Pattern,
    /// The parts of rules that verdicts turned back to the default.
    pub turned_back: Vec<TurnedBack>,
    /// The rules of the table.
    rules: BTreeMap<Collective, Vec<ShapeRules>>,
}

impl Analysis {
    /// Analyses measurements.
    ///
    /// # Errors
    /// A time is no duration, or a numerical method fails.
    pub fn from_measurements(measured: Measurements<'_>) -> Result<Self, FitError> {
        let Measurements {
            samples, options, ..
        } = measured;
        let mut summaries = summarise_samples(samples, measured.pattern)?;
        summaries.retain(|summary| (measured.asks_for)(&summary.subject, &summary.candidate));
        // The machine comes first: it predicts times beside decisions, and decides where nothing was measured.
        let mut machine = fit_machine(measured.name, &summaries)?;
        machine.placement = Placement::for_order(measured.orders.usual);
        machine.calibrate(&summaries);
        // Where fresh launches were made, they have the last word about what exploring launches chose.
        let explored = Exploration {
            library: measured.library,
            summaries: &summaries,
            failures: &measured.failures,
            machine: Some(&machine),
            options: &options,
            grid: measured.grid,
        };
        let confirmation = measured
            .fresh
            .map(|fresh| Confirmation::from_fresh_launches(explored, fresh));
        let decide = |deployment| match &confirmation {
            Some(confirmation) => confirmation.decisions(deployment),
            None => explored.decide(deployment),
        };
        let mut decisions = decide(Deployment::Colltune);
        // Shapes that were not measured follow from explored cells alone: points of confirmation lie between these.
        let subjects: BTreeSet<Subject> = summaries.iter().map(|summary| summary.subject).collect();
        let is_explored =
            |decision: &&CellDecision| subjects.contains(&Subject::Cell(decision.cell));
        let explored_decisions: Vec<CellDecision> =
            decisions.iter().filter(is_explored).cloned().collect();
        let extended = decide_unmeasured_shapes(
            measured.library,
            &summaries,
            &explored_decisions,
            &machine,
            options.materiality,
            measured.extend_to,
            measured.merged.unwrap_or(&BTreeMap::new()),
        );
        let mut library_decisions = decide(Deployment::Library);
        // Rules of both deployments are made before verdicts turn some back, as a verdict may concern several sizes.
        let mut rules = build_rules(&decisions, &library_decisions, &extended, measured.grid);
        for entry in rules.values_mut().flatten() {
            entry.order = measured.orders.order_on(entry.shape, entry.source);
        }
        let turned_back = table::turn_back(&mut rules, measured.verdicts);
        for (deployment, of_deployment) in [
            (Deployment::Colltune, &mut decisions),
            (Deployment::Library, &mut library_decisions),
        ] {
            verdicts::refute_turned_back(of_deployment, deployment, &turned_back);
        }
        choose_in_library(&mut decisions, &library_decisions);
        // What measuring has cost, and which gains it could have shown, is told by the samples.
        let mut cost = MeasuringCost {
            cells: count_cells(&decisions),
            repetitions: summaries.iter().map(|s| s.counts.repetitions).sum(),
            call_seconds: samples.iter().map(call_seconds).sum(),
            races: count_races(samples),
            ..measured.cost
        };
        let everything = measured.everything.as_ref();
        cost.effort = everything.and_then(|everything| estimate_effort(everything, samples, &cost));
        let power = |fresh| campaign_power(&summaries, fresh, &options);
        cost.detectable = measured.fresh.and_then(power);
        Ok(Self {
            cost,
            blocks: compare_blocks(&summaries, Some(&machine)),
            repetitions: count_unusual_repetitions(
                samples,
                &summaries,
                measured.pattern,
                measured.asks_for,
            ),
            starts: common_starts(samples),
            pattern: measured.pattern,
            failures: measured.failures,
            orders: measured.orders,
            machine,
            options,
            decisions,
            library_decisions,
            extended,
            summaries,
            turned_back,
            rules,
        })
    }

    /// The decision table; without entries if no default was measured.
    pub fn to_table(&self, name: &str, provenance: Provenance) -> Table {
        Table {
            name: name.to_owned(),
            provenance,
            collectives: self.rules.clone(),
            verdicts: Vec::new(),
            nonblocking: None,
        }
    }

    /// The curve of every candidate in every shape, from its times alone.
    pub fn candidate_curves(&self) -> Vec<CandidateCurve> {
        fit_curves(&self.summaries)
    }

    /// Scores of decisions at measured points that were held out; empty if there are too few sizes and shapes.
    pub fn score_held_out(&self, provenance: &Provenance) -> Vec<SplitScores> {
        score_held_out_points(&self.summaries, &self.failures, &self.options, provenance)
    }

    /// Scores of the choices of a table made from other measurements, at the points measured here; empty if there is no
    /// point with a choice.
    pub fn score_table(&self, table: &Table, deployment: Deployment) -> Vec<SplitScores> {
        let orders = &self.orders;
        score_table_choices(table, deployment, orders, &self.summaries, &self.failures)
    }

    /// The number of wrong predictions of the model and of simpler ones; empty without a machine.
    pub fn model_scores(&self) -> Vec<ModelScore> {
        score_models(&self.decisions, &self.machine, &self.summaries)
    }

    /// The number of cells in which the default stays only because another candidate was not measured in enough
    /// fresh launches.
    pub fn unconfirmed_choices(&self) -> usize {
        let all = self.decisions.iter().chain(&self.library_decisions);
        let unconfirmed = all.filter(|decision| decision.verdict == Verdict::Unconfirmed);
        let cells: BTreeSet<Cell> = unconfirmed.map(|decision| decision.cell).collect();
        cells.len()
    }

    /// Sentences about the cells in which a candidate may be faster than the default but fresh launches have not
    /// confirmed it. `budget` is the smallest budget that suffices to confirm them, in the form that campaigns use.
    pub fn describe_unconfirmed(&self, budget: Option<&str>) -> Vec<String> {
        let least = budget.map_or_else(String::new, |budget| {
            format!(", at least `budget: {budget}`")
        });
        let choices = match self.unconfirmed_choices() {
            1 => "1 choice is".to_owned(),
            choices => format!("{choices} choices are"),
        };
        let lacking = format!(": {choices} unconfirmed; tune again, with a larger `budget`{least}");
        let sentences = [
            (
                Verdict::Unconfirmed,
                "another candidate was not measured in enough fresh launches",
                lacking,
            ),
            (
                Verdict::PatternsDisagree,
                "another candidate beats it in one pattern of calls and not in another",
                String::new(),
            ),
        ];
        let sentence = |(verdict, why, remedy): (Verdict, &str, String)| {
            // The same cell may be undecided for both deployments, and is named once.
            let mut places: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
            let all = self.decisions.iter().chain(&self.library_decisions);
            for decision in all.filter(|decision| decision.verdict == verdict) {
                let Cell {
                    collective,
                    shape,
                    bytes,
                    ..
                } = decision.cell;
                places.entry((collective, shape)).or_default().insert(bytes);
            }
            let places = places.iter().map(|((collective, shape), sizes)| {
                let sizes: Vec<String> = sizes.iter().map(|bytes| format_bytes(*bytes)).collect();
                format!("{collective} on {shape} at {}", sizes.join(", "))
            });
            let places: Vec<String> = places.collect();
            let list = places.join("; ");
            (!places.is_empty()).then(|| format!("the default stays where {why} ({list}){remedy}"))
        };
        sentences.into_iter().filter_map(sentence).collect()
    }

    /// The distributions with which irregular collectives were measured, each once; none without irregular collectives.
    pub fn distributions(&self) -> Vec<Distribution> {
        let cells = self.decisions.iter().map(|decision| decision.cell);
        let irregular = cells.filter(|cell| cell.collective.is_irregular());
        let all: BTreeSet<Distribution> = irregular.map(|cell| cell.distribution).collect();
        all.into_iter().collect()
    }

    /// The decisions for a deployment.
    pub fn decisions_for(&self, deployment: Deployment) -> &[CellDecision] {
        match deployment {
            Deployment::Colltune => &self.decisions,
            Deployment::Library => &self.library_decisions,
        }
    }

    /// The number of launches of the best-measured cell, each an independent observation.
    pub fn most_launches(&self) -> u32 {
        let is_cell = |summary: &&Summary| matches!(summary.subject, Subject::Cell(_));
        let cells = self.summaries.iter().filter(is_cell);
        cells
            .map(|summary| summary.counts.launches)
            .max()
            .unwrap_or(0)
    }
}

/// Sets `chosen_in_library` of each decision to the choice of the library's own settings.
fn choose_in_library(decisions: &mut [CellDecision], of_library: &[CellDecision]) {
    let key = |decision: &CellDecision| (decision.cell, decision.operators);
    let chosen: BTreeMap<_, _> = of_library.iter().map(|d| (key(d), &d.chosen)).collect();
    for decision in decisions {
        decision.chosen_in_library = chosen.get(&key(decision)).map(|chosen| (*chosen).clone());
    }
}

fn count_cells(decisions: &[CellDecision]) -> usize {
    let cells: BTreeSet<Cell> = decisions.iter().map(|decision| decision.cell).collect();
    cells.len()
}

/// Totals, over all cells and launches, of candidates that left before the end of a measurement.
fn count_races(samples: &[Sample]) -> Races {
    let left = samples.iter().filter_map(|sample| sample.left);
    left.fold(Races::default(), |races, left| Races {
        left: races.left + 1,
        saved_seconds: races.saved_seconds + left.saved_seconds,
    })
}
