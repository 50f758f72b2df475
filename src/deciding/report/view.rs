//! The content of a report. Times are in seconds, sizes in bytes.

use std::collections::{BTreeMap, BTreeSet};

use results::{
    BlockComparison, CellDecision, MeasuringCost, ModelCurve, ModelScore, Pairs, ParameterEstimate,
    PoorPrediction, RepetitionCounts, Starts,
};
use schedule::Collective;
use table::{
    Deployment, Deployments, Lack, Lacks, NumericsCost, OperatorClass, Operators, Policy,
    Provenance, Query, Rule, ShapeRules, Table,
};
use vocabulary::{Candidate, Cell, CommShape, Datatype, Distribution, Operator, RankOrder};
use wire::{Environment, FailureRecord};

use crate::text::verdict_text;

/// The content of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Name of the campaign.
    pub name: String,
    /// The source of the content.
    pub basis: Basis,
    /// The provenance of the decisions, with warnings, as in the table.
    pub provenance: Provenance,
    /// The environment of the last launch.
    pub environment: Environment,
    /// The cost of measuring.
    pub cost: MeasuringCost,
    /// The way in which ranks were given common starts; `None` if unknown.
    pub starts: Option<Starts>,
    /// Properties of the repetitions.
    pub repetitions: RepetitionCounts,
    /// The parameters of the machine model.
    pub parameters: Vec<ParameterEstimate>,
    /// The sizes at which the parameters do not hold.
    pub poor_predictions: Vec<PoorPrediction>,
    /// The comparisons with the default, one for each collective, shape and class of operators.
    pub comparisons: Vec<Comparison>,
    /// All cells with their candidates, ascending by cell and operators.
    pub cells: Vec<CellDecision>,
    /// The reasons why choices of the table are not deployed, as in `not confirmed`: [`find_withheld_reasons`].
    pub withheld: WithheldReasons,
    /// What requirements on the bits of reductions cost, in each deployment in which they cost something.
    pub numerics: Vec<NumericsCost>,
    /// Colltune's algorithms compared with the library's own; empty if none of those was forced.
    pub pairs: Vec<Pairs>,
    /// Predicted and measured times.
    pub curves: Vec<ModelCurve>,
    /// The accuracy of the model (last) and of simpler ones (simplest first).
    pub scores: Vec<ModelScore>,
    /// Candidates that failed.
    pub failures: Vec<FailureRecord>,
}

/// Reasons by cell, operators and deployment.
pub type WithheldReasons = BTreeMap<(Cell, Operators, Deployment), String>;

/// The reasons why [`Policy::default`] does not deploy a table's choices in these cells. There are none for simulated
/// rules, since a warning of the table says that all of it is simulated.
pub fn find_withheld_reasons(table: &Table, cells: &[CellDecision]) -> WithheldReasons {
    let simulated = Lack::Measurement.reason();
    let reason = |result: &CellDecision, deployment: Deployment, chosen: &Candidate| {
        let decision = table.lookup(&Query {
            collective: result.cell.collective,
            shape: result.cell.shape,
            order: RankOrder::Unknown,
            bytes: result.cell.bytes,
            operators: match result.operators {
                Operators::Noncommutative => OperatorClass::Noncommutative,
                Operators::Any | Operators::Commutative => OperatorClass::Commutative,
            },
            deployment,
        });
        let is_it = decision.candidate == chosen;
        let withheld = is_it.then(|| decision.reason_withheld(Policy::default()))?;
        withheld.filter(|reason| *reason != simulated)
    };
    let of_cell = |result: &CellDecision| {
        let mut all = Deployment::ALL.into_iter();
        let own = all.find_map(|deployment| reason(result, deployment, &result.chosen));
        let chosen = result.chosen_in_library.as_ref();
        let in_library = chosen.and_then(|chosen| reason(result, Deployment::Library, chosen));
        let key = |deployment| (result.cell, result.operators, deployment);
        [
            (key(Deployment::Colltune), own),
            (key(Deployment::Library), in_library),
        ]
    };
    let all = cells.iter().flat_map(of_cell);
    all.filter_map(|(key, withheld)| Some((key, withheld?)))
        .collect()
}

impl View {
    /// The reason why the choice in a cell is not deployed; `None` if it is deployed or the default.
    pub(crate) fn why_withheld(&self, result: &CellDecision) -> Option<&str> {
        self.why_withheld_from(result, Deployment::Colltune)
    }

    pub(crate) fn why_withheld_from(
        &self,
        result: &CellDecision,
        deployment: Deployment,
    ) -> Option<&str> {
        let key = (result.cell, result.operators, deployment);
        self.withheld.get(&key).map(String::as_str)
    }

    /// The verdict about a cell, with the reason if the choice is not deployed.
    pub(crate) fn full_verdict(&self, result: &CellDecision) -> String {
        match self.why_withheld(result) {
            None => verdict_text(result),
            Some(reason) => format!("{}; not deployed: {reason}", verdict_text(result)),
        }
    }

    /// The speed-up in a cell under a deployment; 1 if the choice is not deployed.
    pub(crate) fn deployed_gain(
        &self,
        result: &CellDecision,
        deployment: Deployment,
    ) -> Option<f64> {
        let chosen = match deployment {
            Deployment::Colltune => &result.chosen,
            Deployment::Library => result.chosen_in_library.as_ref()?,
        };
        match self.why_withheld_from(result, deployment) {
            None => result.speedup_of(chosen).map(|gain| gain.median),
            Some(_) => Some(1.0),
        }
    }

    /// The verb for gains, which were measured in the campaign or are expected by the table.
    pub(crate) fn gain_verb(&self) -> &'static str {
        match self.basis {
            Basis::Measurements => "gains",
            Basis::TableAlone => "is expected to gain",
        }
    }
}

/// The source of a report's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The measurements of a store.
    Measurements,
    /// A table alone: its rules and the times in it.
    TableAlone,
}

/// The default compared with the best candidates, for one collective, communicator shape and class of operators.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The collective.
    pub collective: Collective,
    /// The communicator's shape.
    pub shape: CommShape,
    /// The order of ranks on their nodes.
    pub order: RankOrder,
    /// The operators that the decisions hold for.
    pub operators: Operators,
    /// The datatype measured with.
    pub datatype: Datatype,
    /// The operator measured with; `None` if the collective combines nothing.
    pub operator: Option<Operator>,
    /// The distribution of the data measured with; `None` if the collective is not irregular, or if the times are of
    /// several.
    pub distribution: Option<Distribution>,
    /// The decisions at the sizes at which the default was measured, ascending.
    pub sizes: Vec<CellDecision>,
    /// The table's rules, ascending.
    pub rules: Vec<Rule>,
    /// The requirements of [`Policy::default`] that these fail.
    pub lacks: Lacks,
    /// The rules for the library's own settings, if they differ.
    pub library_rules: Vec<LibraryRules>,
    /// Predicted and measured block sizes.
    pub blocks: Vec<BlockComparison>,
}

/// Rules for the library's own settings.
#[derive(Clone, Debug, PartialEq)]
pub struct LibraryRules {
    /// The operators that they hold for.
    pub operators: Operators,
    /// The rules, ascending.
    pub rules: Vec<Rule>,
    /// The requirements of [`Policy::default`] that these fail.
    pub lacks: Lacks,
}

impl LibraryRules {
    /// The rules of an entry of a table.
    pub(crate) fn from_entry(table: &Table, collective: Collective, entry: &ShapeRules) -> Self {
        Self {
            operators: entry.operators,
            rules: entry.rules.clone(),
            lacks: table.lacks_of_entry(collective, entry, Policy::default()),
        }
    }
}

/// The key of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ComparisonKey {
    collective: Collective,
    shape: CommShape,
    operators: Operators,
    datatype: Datatype,
    operator: Option<Operator>,
    distribution: Option<Distribution>,
}

impl Comparison {
    /// Groups decisions into comparisons, with the table's rules for them.
    pub fn group_decisions(
        table: &Table,
        decisions: &[CellDecision],
        blocks: &[BlockComparison],
    ) -> Vec<Self> {
        let mut series: BTreeMap<ComparisonKey, Vec<&CellDecision>> = BTreeMap::new();
        for decision in decisions {
            let Cell {
                collective,
                shape,
                datatype,
                operator,
                distribution,
                ..
            } = decision.cell;
            // A comparison covers both classes of operators if the table has the same rules for both.
            let group = covering_operators(table, collective, shape, decision.operators);
            let operators = group.unwrap_or(decision.operators);
            let key = ComparisonKey {
                collective,
                shape,
                operators,
                datatype,
                operator,
                distribution: collective.is_irregular().then_some(distribution),
            };
            series.entry(key).or_default().push(decision);
        }
        series
            .into_iter()
            .map(|(series, of_series)| Self::from_series(table, series, &of_series, blocks))
            .collect()
    }

    fn from_series(
        table: &Table,
        key: ComparisonKey,
        decisions: &[&CellDecision],
        blocks: &[BlockComparison],
    ) -> Self {
        let ComparisonKey {
            collective,
            shape,
            operators,
            datatype,
            operator,
            distribution,
        } = key;
        let entries = table.collectives.get(&collective);
        let entries = || entries.into_iter().flatten().filter(|e| e.shape == shape);
        let is_whole = |e: &&ShapeRules| {
            e.operators == operators && e.deployments.hold_for(Deployment::Colltune)
        };
        let is_of_library = |e: &&ShapeRules| {
            e.deployments == Deployments::Library && e.operators.overlap(operators)
        };
        let cells: BTreeSet<Cell> = decisions.iter().map(|decision| decision.cell).collect();
        let concerns = |block: &&BlockComparison| cells.contains(&block.cell);
        let has_default = |decision: &&&CellDecision| decision.ranked_default().is_some();
        Self {
            collective,
            shape,
            order: entries().next().map_or(RankOrder::Unknown, |e| e.order),
            operators,
            datatype,
            operator,
            distribution,
            sizes: decisions
                .iter()
                .filter(has_default)
                .map(|decision| (*decision).clone())
                .collect(),
            rules: entries()
                .find(is_whole)
                .map_or_else(Vec::new, |e| e.rules.clone()),
            lacks: entries().find(is_whole).map_or_else(Lacks::new, |entry| {
                table.lacks_of_entry(collective, entry, Policy::default())
            }),
            library_rules: entries()
                .filter(is_of_library)
                .map(|entry| LibraryRules::from_entry(table, collective, entry))
                .collect(),
            blocks: blocks.iter().filter(concerns).cloned().collect(),
        }
    }
}

/// The operators of the table's entry that covers a class of operators.
fn covering_operators(
    table: &Table,
    collective: Collective,
    shape: CommShape,
    operators: Operators,
) -> Option<Operators> {
    let entries = table.collectives.get(&collective)?;
    entries
        .iter()
        .filter(|entry| entry.shape == shape && entry.deployments.hold_for(Deployment::Colltune))
        .map(|entry| entry.operators)
        .find(|group| *group == Operators::Any || *group == operators)
}
