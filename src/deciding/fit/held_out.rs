//! The selection of measured points that are held out to judge decisions.

use std::collections::{BTreeMap, BTreeSet};

use schedule::Collective;
use vocabulary::{Candidate, Cell, CommShape, Subject};

use crate::predictor::{CellKind, cell_kind};
use results::{HeldOut, Summary};

/// The median times at a point of the candidates that never failed there.
pub(crate) type Times = BTreeMap<Candidate, f64>;

/// The measured points with at least two candidates.
pub(crate) fn measured_points(
    summaries: &[Summary],
    failures: &[(Subject, Candidate)],
) -> BTreeMap<Cell, Times> {
    let failures: BTreeSet<(Subject, &Candidate)> = failures
        .iter()
        .map(|(subject, candidate)| (*subject, candidate))
        .collect();
    let mut points: BTreeMap<Cell, Times> = BTreeMap::new();
    for summary in summaries {
        let Subject::Cell(cell) = summary.subject else {
            continue;
        };
        if !failures.contains(&(summary.subject, &summary.candidate)) {
            let times = points.entry(cell).or_default();
            times.insert(summary.candidate.clone(), summary.median_seconds);
        }
    }
    points.retain(|_, times| times.len() > 1);
    points
}

/// The sets of points to hold out, each against all others.
pub(crate) fn point_splits(points: &BTreeMap<Cell, Times>, by: HeldOut) -> Vec<BTreeSet<Cell>> {
    let splits = match by {
        HeldOut::Sizes => vec![every_second_size(points)],
        HeldOut::Shapes => inner_shapes(points),
        HeldOut::All => vec![points.keys().copied().collect()],
    };
    splits.into_iter().filter(|held| !held.is_empty()).collect()
}

fn every_second_size(points: &BTreeMap<Cell, Times>) -> BTreeSet<Cell> {
    let mut series: BTreeMap<(CellKind, CommShape), Vec<Cell>> = BTreeMap::new();
    for cell in points.keys() {
        let cells = series.entry((cell_kind(cell), cell.shape)).or_default();
        cells.push(*cell);
    }
    let inner = |mut cells: Vec<Cell>| {
        cells.sort_by_key(|cell| cell.bytes);
        cells.pop();
        cells.into_iter().skip(1).step_by(2)
    };
    series.into_values().flat_map(inner).collect()
}

fn inner_shapes(points: &BTreeMap<Cell, Times>) -> Vec<BTreeSet<Cell>> {
    let measured: BTreeSet<(Collective, CommShape)> = points
        .keys()
        .map(|cell| (cell.collective, cell.shape))
        .collect();
    let is_inner = |collective: Collective, shape: CommShape| {
        let any = |is: &dyn Fn(CommShape) -> bool| {
            let mut others = measured.iter().filter(|(other, _)| *other == collective);
            others.any(|(_, other)| is(*other))
        };
        let between_nodes = any(&|other| other.ppn == shape.ppn && other.nodes < shape.nodes)
            && any(&|other| other.ppn == shape.ppn && other.nodes > shape.nodes);
        let between_ranks = any(&|other| other.nodes == shape.nodes && other.ppn < shape.ppn)
            && any(&|other| other.nodes == shape.nodes && other.ppn > shape.ppn);
        between_nodes || between_ranks
    };
    let shapes: BTreeSet<CommShape> = measured.iter().map(|(_, shape)| *shape).collect();
    let held = |shape: CommShape| {
        let inner = points
            .keys()
            .filter(|cell| cell.shape == shape && is_inner(cell.collective, shape));
        inner.copied().collect()
    };
    shapes.into_iter().map(held).collect()
}
