//! The content of a report. Times are seconds, sizes are bytes.

use std::collections::{BTreeMap, BTreeSet};

use results::{
    BlockComparison, CellDecision, MeasuringCost, Misfit, ModelCurve, ModelScore, Pairs,
    ParameterEstimate, RepetitionCounts, Starts,
};
use schedule::Collective;
use table::{
    Deployment, Deployments, Lack, OperatorClass, Operators, Policy, Provenance, Query, Rule,
    ShapeRules, Table,
};
use vocabulary::{Candidate, Cell, CommShape, Datatype, Operator, RankOrder};
use wire::{Environment, FailureRecord};

use crate::text::verdict;

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
    pub repetitions: RepetitionCounts,
    /// The machine as the model sees it.
    pub parameters: Vec<ParameterEstimate>,
    /// Where these do not hold.
    pub misfits: Vec<Misfit>,
    /// What was compared, one entry a collective, shape and operator class.
    pub comparisons: Vec<Comparison>,
    /// Every cell with its candidates, ascending by cell and operators.
    pub cells: Vec<CellDecision>,
    /// Why choices of the table are not deployed, as in `not confirmed`: [`withheld`].
    pub withheld: WithheldReasons,
    /// Algorithms of colltune against the library's own; empty where none of those was forced.
    pub pairs: Vec<Pairs>,
    /// What the model expected, beside what was measured.
    pub curves: Vec<ModelCurve>,
    /// How often the model is wrong there, beside simpler ones, of which the first is the simplest; the model
    /// itself comes last.
    pub scores: Vec<ModelScore>,
    /// Candidates that failed.
    pub failures: Vec<FailureRecord>,
}

/// Reasons by cell, operators and deployment.
pub type WithheldReasons = BTreeMap<(Cell, Operators, Deployment), String>;

/// The reasons why [`Policy::default`] does not deploy what a table chooses in some cells; none for what it deploys, and
/// none for simulated rules, since the table's warnings say that all of it is simulated.
pub fn withheld(table: &Table, cells: &[CellDecision]) -> WithheldReasons {
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
        let withheld = is_it.then(|| decision.withheld(Policy::default()))?;
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
    all.filter_map(|(key, reason)| Some((key, reason?)))
        .collect()
}

impl View {
    /// Why the choice in a cell is not deployed; `None` if it is, or if it is the default.
    pub(crate) fn why_withheld(&self, result: &CellDecision) -> Option<&str> {
        self.why_withheld_from(result, Deployment::Colltune)
    }

    fn why_withheld_from(&self, result: &CellDecision, deployment: Deployment) -> Option<&str> {
        let key = (result.cell, result.operators, deployment);
        self.withheld.get(&key).map(String::as_str)
    }

    /// What became of the best candidate, and why the choice is not deployed, if it is not.
    pub(crate) fn verdict(&self, result: &CellDecision) -> String {
        match self.why_withheld(result) {
            None => verdict(result),
            Some(reason) => format!("{}; not deployed: {reason}", verdict(result)),
        }
    }

    /// What a choice gains in a cell where it is deployed: 1 where the default stays.
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

    /// The verb for gains, which were measured in launches of the campaign, or are expected by a table alone.
    pub(crate) fn gains(&self) -> &'static str {
        match self.basis {
            Basis::Measurements => "gains",
            Basis::TableAlone => "is expected to gain",
        }
    }
}

/// What a report rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The measurements of a store.
    Measurements,
    /// A table alone: its rules, and the times that it shows for them.
    TableAlone,
}

/// Default against best candidate for one collective, communicator shape and operator class.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The collective.
    pub collective: Collective,
    /// The ranks.
    pub shape: CommShape,
    /// The order in which they stood on the nodes.
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
        let cells: BTreeSet<Cell> = decisions.iter().map(|decision| decision.cell).collect();
        let concerns = |block: &&BlockComparison| cells.contains(&block.cell);
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
