//! The data that a page shows about one collective.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schedule::Collective;
use table::OperatorClass;
use vocabulary::{Cell, CommShape, Datatype, Distribution, Operator};

use super::palette::Looks;
use crate::text::algorithm_name;
use crate::view::{Comparison, View};
use results::{CellDecision, Ranked};

/// A collective with its decisions.
#[derive(Debug)]
pub(super) struct Group<'v> {
    pub(super) view: &'v View,
    pub(super) collective: Collective,
    /// Cells for commutative operators, with the most frequent datatype, operator and distribution; ascending, with those of
    /// unmeasured shapes at the end.
    pub(super) cells: Vec<&'v CellDecision>,
    /// The number of cells of other datatypes, operators or distributions.
    pub(super) other_types: usize,
    /// The comparisons of all classes of operators.
    pub(super) comparisons: Vec<&'v Comparison>,
    pub(super) looks: Looks,
}

/// The collectives of a view, in their order.
pub(super) fn group_by_collective(view: &View) -> Vec<Group<'_>> {
    let mut groups: BTreeMap<Collective, Vec<&CellDecision>> = BTreeMap::new();
    for comparison in &view.comparisons {
        groups.entry(comparison.collective).or_default();
    }
    let commutes = |result: &&CellDecision| result.operators.hold_for(OperatorClass::Commutative);
    for result in view.cells.iter().filter(commutes) {
        let cells = groups.entry(result.cell.collective).or_default();
        cells.push(result);
    }
    let groups = groups.into_iter();
    groups
        .map(|(collective, cells)| Group::new(view, collective, cells))
        .collect()
}

type MeasuredType = (Datatype, Option<Operator>, Distribution);

fn measured_type(result: &CellDecision) -> MeasuredType {
    let Cell {
        datatype,
        operator,
        distribution,
        ..
    } = result.cell;
    (datatype, operator, distribution)
}

fn most_frequent_type(cells: &[&CellDecision]) -> Option<MeasuredType> {
    let mut counts: BTreeMap<MeasuredType, usize> = BTreeMap::new();
    for result in cells {
        *counts.entry(measured_type(result)).or_default() += 1;
    }
    let most = counts.into_iter().rev().max_by_key(|(_, count)| *count);
    most.map(|(kind, _)| kind)
}

impl<'v> Group<'v> {
    fn new(view: &'v View, collective: Collective, mut cells: Vec<&'v CellDecision>) -> Self {
        let of_all_types = cells.len();
        if let Some(frequent) = most_frequent_type(&cells) {
            cells.retain(|result| measured_type(result) == frequent);
        }
        let chosen = cells.iter().map(|result| algorithm_name(&result.chosen));
        // Algorithms that are the fastest in some cell are drawn too.
        let fastest = cells
            .iter()
            .filter_map(|result| fastest_candidate(&result.ranking));
        let all = cells.iter().flat_map(|result| &result.ranking);
        let all = all.map(|timed| algorithm_name(&timed.candidate));
        let of_collective = |comparison: &&Comparison| comparison.collective == collective;
        let comparisons: Vec<&Comparison> = view.comparisons.iter().filter(of_collective).collect();
        let blocks = comparisons.iter().flat_map(|comparison| &comparison.blocks);
        let blocks = blocks.map(|row| Cow::Borrowed(row.algorithm.as_str()));
        let rules = comparisons.iter().flat_map(|comparison| &comparison.rules);
        let ruled = rules.map(|rule| algorithm_name(&rule.candidate));
        Self {
            view,
            collective,
            looks: Looks::by_frequency(
                chosen.chain(fastest.map(|f| algorithm_name(&f.candidate))),
                all.chain(blocks).chain(ruled),
            ),
            other_types: of_all_types - cells.len(),
            cells,
            comparisons,
        }
    }

    /// The cells that were measured together with the default.
    pub(super) fn measured_cells(&self) -> impl Iterator<Item = &'v CellDecision> {
        let cells = self.cells.iter().copied();
        cells.filter(|result| result.is_measured() && result.ranked_default().is_some())
    }

    /// The measured shapes with their cells, those with most at stake first.
    pub(super) fn shapes_by_stake(&self) -> Vec<(CommShape, Vec<&'v CellDecision>)> {
        let mut shapes: Vec<_> = cells_by_shape(self.measured_cells()).into_iter().collect();
        shapes.sort_by(|(a, of_a), (b, of_b)| {
            let by_stake = total_gain(of_b).total_cmp(&total_gain(of_a));
            by_stake.then(b.ranks().cmp(&a.ranks()))
        });
        shapes
    }
}

/// The candidate with the shortest median time.
pub(super) fn fastest_candidate<'r>(
    candidates: impl IntoIterator<Item = &'r Ranked>,
) -> Option<&'r Ranked> {
    let candidates = candidates.into_iter();
    candidates.min_by(|a, b| a.median_seconds.total_cmp(&b.median_seconds))
}

/// The cells of each shape, in the given order.
pub(super) fn cells_by_shape<'v>(
    cells: impl Iterator<Item = &'v CellDecision>,
) -> BTreeMap<CommShape, Vec<&'v CellDecision>> {
    let mut shapes: BTreeMap<CommShape, Vec<&CellDecision>> = BTreeMap::new();
    for result in cells {
        shapes.entry(result.cell.shape).or_default().push(result);
    }
    shapes
}

/// The quantity that varies in a figure, nodes or ranks per node, with the value of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Along {
    /// Nodes, with this many ranks on each.
    Nodes(u32),
    /// Ranks per node, on this many nodes.
    Ppn(u32),
}

impl Along {
    /// The figures for these shapes: one for each number of ranks per node, or a single one if all have the same number
    /// of nodes.
    pub(super) fn for_shapes(shapes: impl Iterator<Item = CommShape>) -> Vec<Self> {
        let shapes: BTreeSet<CommShape> = shapes.collect();
        let nodes: BTreeSet<u32> = shapes.iter().map(|shape| shape.nodes).collect();
        let ppns: BTreeSet<u32> = shapes.iter().map(|shape| shape.ppn).collect();
        match (nodes.first(), ppns.len()) {
            (Some(only), 2..) if nodes.len() == 1 => vec![Self::Ppn(*only)],
            _ => ppns.into_iter().map(Self::Nodes).collect(),
        }
    }

    /// Whether a shape has the fixed value.
    pub(super) fn has_shape(self, shape: CommShape) -> bool {
        match self {
            Self::Nodes(ppn) => shape.ppn == ppn,
            Self::Ppn(nodes) => shape.nodes == nodes,
        }
    }

    /// The varying value of a shape.
    pub(super) fn varying_value(self, shape: CommShape) -> u32 {
        match self {
            Self::Nodes(_) => shape.nodes,
            Self::Ppn(_) => shape.ppn,
        }
    }

    /// Part of an id.
    pub(super) fn id(self) -> String {
        match self {
            Self::Nodes(ppn) => ppn.to_string(),
            Self::Ppn(nodes) => format!("nodes-{nodes}"),
        }
    }
}

impl fmt::Display for Along {
    /// The fixed value, as in `on 1 node`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes(1) => f.write_str("with 1 rank per node"),
            Self::Nodes(ppn) => write!(f, "with {ppn} ranks per node"),
            Self::Ppn(1) => f.write_str("on 1 node"),
            Self::Ppn(nodes) => write!(f, "on {nodes} nodes"),
        }
    }
}

/// The total gain of the table in some cells: the sum of the logarithms of its speed-ups.
pub(super) fn total_gain(cells: &[&CellDecision]) -> f64 {
    let gains = cells.iter().filter_map(|result| result.chosen_gain());
    gains
        .map(|gain| gain.median.max(f64::MIN_POSITIVE).ln())
        .sum()
}
