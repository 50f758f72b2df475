//! The content of a report. Times are seconds, sizes are bytes.

use std::collections::BTreeMap;

use results::{
    BlockComparison, CellDecision, MeasuringCost, ModelCurve, Pairs, ParameterEstimate,
    Repetitions, Starts,
};
use schedule::Collective;
use table::{Deployment, Deployments, Operators, Provenance, Rule, ShapeRules, Table};
use vocabulary::{Cell, CommShape, Datatype, Operator, RankOrder};
use wire::{Environment, Failure};

/// Everything that a report says.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Name of the campaign.
    pub name: String,
    /// What is known at all.
    pub basis: Basis,
    /// What the decisions rest on, warnings included: the same as in the table.
    pub provenance: Provenance,
    /// What the last launch reported about where it ran.
    pub environment: Environment,
    /// What measuring has cost.
    pub cost: MeasuringCost,
    /// How ranks came to common starts, if that is known.
    pub starts: Option<Starts>,
    /// What to know of repetitions.
    pub repetitions: Repetitions,
    /// The machine as the model sees it.
    pub parameters: Vec<ParameterEstimate>,
    /// What was compared, one entry a collective, shape and operator class.
    pub comparisons: Vec<Comparison>,
    /// Every cell with its candidates, ascending by cell and operators.
    pub cells: Vec<CellDecision>,
    /// Algorithms of colltune against the library's own; empty where none of those was forced.
    pub pairs: Vec<Pairs>,
    /// What the model expected, beside what was measured.
    pub curves: Vec<ModelCurve>,
    /// Candidates that failed.
    pub failures: Vec<Failure>,
}

/// What a report rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The measurements of a store.
    Measurements,
    /// Nothing but a table: its rules, and the times that it shows for them.
    TableAlone,
}

/// Default against best candidate for one collective, communicator shape and operator class.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The collective.
    pub collective: Collective,
    /// The ranks.
    pub shape: CommShape,
    /// In which order they stood on the nodes.
    pub order: RankOrder,
    /// The operators that the decisions hold for.
    pub operators: Operators,
    /// Element type that was measured with.
    pub datatype: Datatype,
    /// Operator that was measured with; absent where nothing is combined.
    pub operator: Option<Operator>,
    /// One decision a size at which the default was measured, ascending.
    pub sizes: Vec<CellDecision>,
    /// The rules that follow, ascending.
    pub rules: Vec<Rule>,
    /// Where they are others: the rules for the library's own settings, by operators.
    pub library_rules: Vec<(Operators, Vec<Rule>)>,
    /// Predicted against measured block sizes.
    pub blocks: Vec<BlockComparison>,
}

/// What one comparison is about.
type Series = (Collective, CommShape, Operators, Datatype, Option<Operator>);

impl Comparison {
    /// The comparisons that decisions make, with the rules that a table has for them.
    pub fn all(table: &Table, decisions: &[CellDecision], blocks: &[BlockComparison]) -> Vec<Self> {
        let mut series: BTreeMap<Series, Vec<&CellDecision>> = BTreeMap::new();
        for decision in decisions {
            let Cell {
                collective,
                shape,
                datatype,
                operator,
                ..
            } = decision.cell;
            // Where both classes of operators have the same rules, these are of both.
            let group = group(table, collective, shape, decision.operators);
            let operators = group.unwrap_or(decision.operators);
            let key = (collective, shape, operators, datatype, operator);
            series.entry(key).or_default().push(decision);
        }
        series
            .into_iter()
            .map(|(series, decisions)| Self::of(table, series, &decisions, blocks))
            .collect()
    }

    fn of(
        table: &Table,
        (collective, shape, operators, datatype, operator): Series,
        decisions: &[&CellDecision],
        blocks: &[BlockComparison],
    ) -> Self {
        let entries = table.collectives.get(&collective);
        let entries = || entries.into_iter().flatten().filter(|e| e.shape == shape);
        let is_whole =
            |e: &&ShapeRules| e.operators == operators && e.deployments.cover(Deployment::Colltune);
        let is_of_library = |e: &&ShapeRules| {
            e.deployments == Deployments::Library && e.operators.overlap(operators)
        };
        let concerns = |block: &&BlockComparison| {
            let mut decisions = decisions.iter();
            decisions.any(|decision| decision.cell == block.cell)
        };
        let has_default = |decision: &&&CellDecision| decision.default().is_some();
        Self {
            collective,
            shape,
            order: entries().next().map_or(RankOrder::Unknown, |e| e.order),
            operators,
            datatype,
            operator,
            sizes: decisions
                .iter()
                .filter(has_default)
                .map(|decision| (*decision).clone())
                .collect(),
            rules: entries()
                .find(is_whole)
                .map_or_else(Vec::new, |e| e.rules.clone()),
            library_rules: entries()
                .filter(is_of_library)
                .map(|entry| (entry.operators, entry.rules.clone()))
                .collect(),
            blocks: blocks.iter().filter(concerns).cloned().collect(),
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
