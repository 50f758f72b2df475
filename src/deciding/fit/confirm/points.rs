//! The sizes at which choices are compared with the default on fresh launches.

use std::collections::BTreeSet;

use libraries::LibraryName;
use results::CellDecision;
use schedule::Collective;
use vocabulary::{Candidate, Cell};

use crate::fresh::MOST_TRIED;

/// A size of a series.
pub(super) struct SeriesPoint {
    pub(super) cell: Cell,
    /// The candidates that may replace the default according to exploring launches, the best first; `None` where these
    /// compared no candidate with the default.
    pub(super) nominees: Option<Vec<Candidate>>,
    /// The decision of exploring launches; `None` where they did not measure.
    pub(super) decision: Option<CellDecision>,
    /// Whether it lies between the sizes of the campaign and the search.
    pub(super) is_probe: bool,
}

impl SeriesPoint {
    /// Whether exploring launches compared candidates with the default.
    pub(super) fn is_explored(&self) -> bool {
        self.nominees.is_some()
    }

    /// A point that exploring launches have not measured; fresh launches may have.
    fn unexplored(cell: Cell) -> Self {
        Self {
            cell,
            nominees: None,
            decision: None,
            is_probe: false,
        }
    }

    fn from_decision(decision: CellDecision) -> Self {
        Self {
            cell: decision.cell,
            nominees: nominees_of_decision(&decision),
            decision: Some(decision),
            is_probe: false,
        }
    }
}

/// The points of one series by ascending size: the cells with `decisions`, the cells of the campaign (`grid`), probes,
/// and the former probes that fresh launches have measured, since probes move when sizes are added. `decisions` and
/// `grid` are those of the series, `fresh_cells` are all cells that fresh launches have measured.
///
/// There is one probe between each two neighbouring sizes if a whole element and no other point lies between them. It
/// is the size at which `library` is known to switch algorithms, or else the geometric middle.
pub(super) fn series_points_with_probes(
    library: Option<LibraryName>,
    decisions: Vec<CellDecision>,
    grid: &[Cell],
    fresh_cells: &BTreeSet<Cell>,
) -> Vec<SeriesPoint> {
    let mut points: Vec<SeriesPoint> = decisions
        .into_iter()
        .map(SeriesPoint::from_decision)
        .collect();
    let mut known_sizes: BTreeSet<u64> = points.iter().map(|point| point.cell.bytes).collect();
    for cell in grid {
        if known_sizes.insert(cell.bytes) {
            points.push(SeriesPoint::unexplored(*cell));
        }
    }
    points.sort_by_key(|point| point.cell.bytes);
    let pairs = points.windows(2).map(|pair| (pair[0].cell, pair[1].cell));
    let probe = |(low, high)| probe_between(library, low, high);
    let probes: Vec<Cell> = pairs.filter_map(probe).collect();
    // A series may be measured with different operators at different sizes, and a probe has those of a neighbour.
    let is_of_series = |cell: &&Cell| {
        let mut of_points = points.iter().map(|point| &point.cell);
        of_points.any(|of_point| differs_only_in_size(cell, of_point))
    };
    let former_probes: Vec<Cell> = fresh_cells.iter().filter(is_of_series).copied().collect();
    for cell in probes.into_iter().chain(former_probes) {
        if known_sizes.insert(cell.bytes) {
            points.push(SeriesPoint {
                is_probe: true,
                ..SeriesPoint::unexplored(cell)
            });
        }
    }
    points.sort_by_key(|point| point.cell.bytes);
    points
}

/// Whether two cells have the same collective, shape, datatype and operator.
fn differs_only_in_size(cell: &Cell, other: &Cell) -> bool {
    let same_size = Cell {
        bytes: other.bytes,
        ..*cell
    };
    same_size == *other
}

/// Splits points by ascending size into those up to a size and those from it on; a point of exactly that size is in
/// both.
pub(super) fn split_around(points: &[SeriesPoint], bytes: u64) -> (&[SeriesPoint], &[SeriesPoint]) {
    let above = points.partition_point(|point| point.cell.bytes < bytes);
    let below = points.partition_point(|point| point.cell.bytes <= bytes);
    (&points[..below], &points[above..])
}

/// The first size in whole elements between two at which the library switches algorithms, or else the geometric middle;
/// `None` if no size lies between.
fn probe_between(library: Option<LibraryName>, low: Cell, high: Cell) -> Option<Cell> {
    let middle = (low.bytes as f64 * high.bytes as f64).sqrt().round() as u64;
    let switches =
        library.map(|library| library.switching_sizes(low.collective, low.shape.ranks()));
    let sizes = switches.into_iter().flatten().chain([middle]);
    let whole = |bytes: u64| bytes.next_multiple_of(low.datatype.size_bytes());
    let is_between = |bytes: &u64| low.bytes < *bytes && *bytes < high.bytes;
    let bytes = sizes.map(whole).find(is_between)?;
    Some(Cell { bytes, ..low })
}

/// Whether each rank gets an element of a reduce-scatter's vector. Where some ranks get none, calls with another
/// datatype and the same number of bytes may take a very different time.
pub(super) fn has_whole_parts(cell: &Cell) -> bool {
    let elements = cell.bytes / cell.datatype.size_bytes();
    cell.collective != Collective::ReduceScatter || elements >= u64::from(cell.shape.ranks())
}

/// The choice of exploring launches, then the other candidates that beat the default by their medians.
fn nominees_of_decision(decision: &CellDecision) -> Option<Vec<Candidate>> {
    if !decision.is_compared() {
        return None;
    }
    if decision.chosen == Candidate::Default || !has_whole_parts(&decision.cell) {
        return Some(Vec::new());
    }
    let mut nominees = vec![decision.chosen.clone()];
    let others = decision
        .ranking
        .iter()
        .filter(|ranked| ranked.beats_default);
    let others = others.map(|ranked| ranked.candidate.clone());
    nominees.extend(others.filter(|other| *other != decision.chosen));
    nominees.truncate(MOST_TRIED);
    Some(nominees)
}
