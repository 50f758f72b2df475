//! The choice of the cells to measure.

use std::collections::BTreeMap;

use campaign::Campaign;
use schedule::Collective;
use vocabulary::{Candidate, Cell, Distribution, Operator};

use super::cell::without_block_size;
use super::guide::Guide;
use super::joint;
use super::known::{KnownMeasurements, RelativeTime};

/// The approximate number of sizes that are measured first in a shape.
const COARSE_SIZES: usize = 5;
/// The largest number of node counts that are all measured first.
const FEW_SHAPES: usize = 2;
/// The fewest node counts for which a middle one is measured first beside the outermost.
const MANY_SHAPES: usize = 4;
/// The smallest predicted gain, as a logarithm, for which a cell is measured.
const SUGGESTION: f64 = 0.1;

/// The largest factor between two sizes with different choices between which no further size is measured.
const COARSEST_CHANGE: f64 = 2.0;
/// The smallest cost of the wrong choice, as a share, for which a size between two others is measured.
pub(crate) const STAKE: f64 = 0.1;
/// The gain of a choice, the default's time divided by its own, from which the range up to a neighbour with another
/// choice is measured before anything else is refined.
const LARGE_GAIN: f64 = 1.5;

/// The cells of one collective, operator, distribution and number of ranks per node, by number of nodes and then by size. Shapes with
/// a power of two ranks and others are separate series, since many algorithms suit only one of the two.
#[derive(Clone, Debug, Default)]
pub(crate) struct CellSeries {
    rows: BTreeMap<u32, Vec<Cell>>,
}

impl CellSeries {
    /// All series of a grid.
    pub(crate) fn split_grid(cells: &[Cell]) -> Vec<Self> {
        type Key = (Collective, Option<Operator>, Distribution, u32, bool);
        let mut by_key: BTreeMap<Key, Self> = BTreeMap::new();
        for cell in cells {
            let is_power = cell.shape.ranks().is_power_of_two();
            let key = (
                cell.collective,
                cell.operator,
                cell.distribution,
                cell.shape.ppn,
                is_power,
            );
            let rows = &mut by_key.entry(key).or_default().rows;
            rows.entry(cell.shape.nodes).or_default().push(*cell);
        }
        for series in by_key.values_mut() {
            for row in series.rows.values_mut() {
                row.sort_by_key(|cell| cell.bytes);
            }
        }
        by_key.into_values().collect()
    }
}

/// A cell that is to be measured.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Site {
    pub(crate) cell: Cell,
    /// Measured cells between which it lies; none for pioneers.
    pub(crate) neighbours: Vec<Cell>,
    /// Whether only the two neighbours' choices are compared, to find the size at which the choice changes.
    pub(crate) is_refinement: bool,
    /// Whether one of the neighbours' choices gains much, and the other has another choice. Until such a cell is measured,
    /// the default stays in the whole range between them.
    pub(crate) has_large_gain: bool,
}

/// Finds the cells to measure.
pub(crate) struct Survey<'a> {
    pub(crate) guide: &'a Guide<'a>,
    /// The candidates' relative times in each measured cell.
    pub(crate) standings: BTreeMap<Cell, Vec<CandidateStanding>>,
}

/// A candidate's relative time in a cell, measured for it or for a candidate with the same schedule there.
#[derive(Clone, Debug)]
pub(crate) struct CandidateStanding {
    pub(crate) candidate: Candidate,
    /// The relative time of the measured candidate.
    pub(crate) standing: RelativeTime,
}

impl CandidateStanding {
    /// The candidates measured in a cell, fastest first, each followed by the campaign's candidates with the same
    /// schedule there that were not measured.
    pub(crate) fn ranked_in_cell(
        campaign: &Campaign,
        known: &KnownMeasurements,
        cell: &Cell,
    ) -> Vec<Self> {
        let standings = known.standings(cell);
        let measured: Vec<Candidate> = standings.iter().map(|s| s.candidate.clone()).collect();
        let equivalents = campaign.simplest_equivalents(cell, &measured);
        let mut others: BTreeMap<&Candidate, Vec<&Candidate>> = BTreeMap::new();
        for (candidate, simplest) in &equivalents {
            if !measured.contains(candidate) {
                others.entry(simplest).or_default().push(candidate);
            }
        }
        let mut named = Vec::new();
        for standing in standings {
            let same = equivalents.get(&standing.candidate);
            let others = same.and_then(|simplest| others.remove(simplest));
            let candidates = [&standing.candidate]
                .into_iter()
                .chain(others.into_iter().flatten());
            named.extend(candidates.map(|candidate| Self {
                candidate: candidate.clone(),
                standing: standing.clone(),
            }));
        }
        named
    }
}

impl Survey<'_> {
    /// The relative times in a cell, fastest first; empty if it was not measured.
    pub(crate) fn standings(&self, cell: &Cell) -> &[CandidateStanding] {
        self.standings.get(cell).map_or(&[], Vec::as_slice)
    }

    /// The cells of a series that should be measured according to the measurements so far, including measured cells.
    pub(crate) fn sites_to_measure(&self, series: &CellSeries) -> Vec<Site> {
        let rows: Vec<&Vec<Cell>> = series.rows.values().collect();
        let mut first = coarse_indices(rows.len(), FEW_SHAPES, 1);
        if rows.len() >= MANY_SHAPES {
            first.push(rows.len() / 2);
            first.sort_unstable();
        }
        let mut sites = Vec::new();
        for &row in &first {
            sites.extend(self.sites_of_row(rows[row], &[]));
        }
        for pair in first.windows(2) {
            self.add_rows_between(&rows, pair[0], pair[1], &mut sites);
        }
        sites
    }

    /// Adds the middle row of a stretch if the choice changes along it, and recurses into both halves.
    fn add_rows_between(
        &self,
        rows: &[&Vec<Cell>],
        low: usize,
        high: usize,
        sites: &mut Vec<Site>,
    ) {
        if high - low < 2 || !self.are_rows_interesting(rows, low, high) {
            return;
        }
        let middle = low.midpoint(high);
        sites.extend(self.sites_of_row(rows[middle], &[rows[low], rows[high]]));
        self.add_rows_between(rows, low, middle, sites);
        self.add_rows_between(rows, middle, high, sites);
    }

    fn are_rows_interesting(&self, rows: &[&Vec<Cell>], low: usize, high: usize) -> bool {
        let ranks = |cell: &Cell| f64::from(cell.shape.ranks()).ln();
        let of_size = |row: &[Cell], bytes| row.iter().find(|cell| cell.bytes == bytes).copied();
        rows[low].iter().any(|first| {
            let Some(last) = of_size(rows[high], first.bytes) else {
                return false;
            };
            let mut between = rows[low + 1..high].iter();
            self.choices_differ(first, &last)
                || between.any(|row| {
                    let cell = of_size(row, first.bytes);
                    cell.is_some_and(|cell| self.expects_another(first, &last, &cell, &ranks))
                })
        })
    }

    /// The sites of one row: widely spaced sizes, and sizes where the choice changes. `beside` are the rows between
    /// which it lies.
    fn sites_of_row(&self, row: &[Cell], beside: &[&Vec<Cell>]) -> Vec<Site> {
        // One rule for all sizes is measured at all of them, and no size between them matters.
        let has_one_rule = row
            .first()
            .is_some_and(|cell| joint::shares_one_rule(cell.collective));
        let few = if has_one_rule {
            row.len()
        } else {
            COARSE_SIZES
        };
        let first = coarse_indices(row.len(), few, COARSE_SIZES - 1);
        let others = |place: usize| -> Vec<Cell> {
            // Rows may have different sizes.
            let cells = beside.iter().flat_map(|other_row| other_row.iter());
            let measured = cells.filter(|cell| self.guide.known.is_compared(cell));
            nearest_cells(measured.copied().collect(), row[place].bytes)
        };
        let mut sites: Vec<Site> = first
            .iter()
            .map(|&place| Site {
                cell: row[place],
                neighbours: others(place),
                is_refinement: false,
                has_large_gain: false,
            })
            .collect();
        if has_one_rule {
            return sites;
        }
        for pair in first.windows(2) {
            self.add_sizes_between(row, pair[0], pair[1], &mut sites);
        }
        for pair in row.windows(2) {
            self.add_refinement(pair[0], pair[1], &mut sites);
        }
        if let Some([low, high]) = self.find_default_switch(row) {
            self.add_middle_size(low, high, &mut sites);
        }
        sites
    }

    /// Adds a size between two neighbours of the grid if the choice changes there and a wrong choice is expensive, or one
    /// of the choices gains much, and recurses into both halves.
    fn add_refinement(&self, low: Cell, high: Cell, sites: &mut Vec<Site>) {
        if self.choices_differ_by(&low, &high, STAKE) || self.has_large_gain(&low, &high) {
            self.add_middle_size(low, high, sites);
        }
    }

    /// Adds a size between two neighbours that are far apart, and refines both halves.
    fn add_middle_size(&self, low: Cell, high: Cell, sites: &mut Vec<Site>) {
        let unit = low.datatype.size_bytes();
        let middle = (low.bytes as f64 * high.bytes as f64).sqrt().round() as u64;
        let middle = middle.next_multiple_of(unit);
        let is_wide = high.bytes as f64 > COARSEST_CHANGE * low.bytes as f64;
        if !is_wide || middle <= low.bytes || middle >= high.bytes {
            return;
        }
        let cell = Cell {
            bytes: middle,
            ..low
        };
        sites.push(Site {
            cell,
            neighbours: vec![low, high],
            is_refinement: true,
            has_large_gain: self.has_large_gain(&low, &high),
        });
        self.add_refinement(low, cell, sites);
        self.add_refinement(cell, high, sites);
    }

    /// Adds the middle size of a stretch if the choice changes along it, and recurses into both halves.
    fn add_sizes_between(&self, row: &[Cell], low: usize, high: usize, sites: &mut Vec<Site>) {
        if high - low < 2 || !self.is_stretch_interesting(row, low, high) {
            return;
        }
        let middle = low.midpoint(high);
        sites.push(Site {
            cell: row[middle],
            neighbours: vec![row[low], row[high]],
            is_refinement: false,
            has_large_gain: self.has_large_gain(&row[low], &row[high]),
        });
        self.add_sizes_between(row, low, middle, sites);
        self.add_sizes_between(row, middle, high, sites);
    }

    fn is_stretch_interesting(&self, row: &[Cell], low: usize, high: usize) -> bool {
        let (first, last) = (&row[low], &row[high]);
        if !self.guide.known.is_compared(first) || !self.guide.known.is_compared(last) {
            return false;
        }
        let size = |cell: &Cell| (cell.bytes.max(1) as f64).ln();
        self.choices_differ(first, last)
            || row[low + 1..high]
                .iter()
                .any(|cell| self.expects_another(first, last, cell, &size))
    }

    /// Whether the choice differs between two measured cells, and using either choice in both costs more than the
    /// target regret.
    fn choices_differ(&self, a: &Cell, b: &Cell) -> bool {
        self.choices_differ_by(a, b, self.guide.target)
    }

    /// The same with `least` in place of the target regret.
    fn choices_differ_by(&self, a: &Cell, b: &Cell, least: f64) -> bool {
        let (Some(of_a), Some(of_b)) = (self.table_choice(a), self.table_choice(b)) else {
            return false;
        };
        let costs = |cell, candidate| {
            let cost = self.cost_of_choice(cell, candidate);
            cost.is_none_or(|cost| cost > least)
        };
        of_a != of_b && costs(a, &of_b) && costs(b, &of_a)
    }

    /// Whether the choice differs between two measured cells, and one of the choices gains [`LARGE_GAIN`] over the default.
    fn has_large_gain(&self, a: &Cell, b: &Cell) -> bool {
        let (Some(of_a), Some(of_b)) = (self.table_choice(a), self.table_choice(b)) else {
            return false;
        };
        // The default's own ratio is 1.
        let gains = |cell: &Cell| {
            let fastest = self.standings(cell).first();
            fastest.is_some_and(|named| named.standing.ratio * LARGE_GAIN <= 1.0)
        };
        of_a != of_b && (gains(a) || gains(b))
    }

    /// The choice of a table: the fastest candidate without its block size, or the default if no candidate beats it by
    /// enough; `None` if no candidate was compared with the default.
    pub(crate) fn table_choice(&self, cell: &Cell) -> Option<Candidate> {
        if !self.guide.known.is_compared(cell) {
            return None;
        }
        // Of candidates with the same schedule, the first is the measured one.
        let fastest = self.standings(cell).first()?;
        if fastest.standing.ratio * (1.0 + self.guide.campaign.materiality) <= 1.0 {
            Some(without_block_size(&fastest.candidate))
        } else {
            Some(Candidate::Default)
        }
    }

    /// The extra time of the best member of a kin over the best of all in a measured cell, as a share.
    fn cost_of_choice(&self, cell: &Cell, candidate: &Candidate) -> Option<f64> {
        let standings = self.standings(cell);
        let best = standings.first()?.standing.ratio;
        let mut members = standings
            .iter()
            .filter(|s| without_block_size(&s.candidate) == *candidate);
        Some(members.next()?.standing.ratio / best - 1.0)
    }

    /// Whether the model, corrected by its errors at two measured cells, predicts a candidate that is clearly faster
    /// than the choice at `low` in a cell between them. `position` is the coordinate along which errors are
    /// interpolated.
    fn expects_another(
        &self,
        low: &Cell,
        high: &Cell,
        between: &Cell,
        position: &dyn Fn(&Cell) -> f64,
    ) -> bool {
        let Some(choice) = self.table_choice(low) else {
            return false;
        };
        let ends = [low, high].map(|cell| self.standings(cell));
        let share = (position(between) - position(low)) / (position(high) - position(low));
        // The corrected prediction of the fastest member of a kin at either end. For the default, which no model
        // predicts, its own measured time, or else the interpolated one.
        let own = self.guide.known.known_cell(between);
        let own = own.and_then(|known| known.median_seconds(&Candidate::Default));
        let expected = |name: &Candidate| {
            if let (Candidate::Default, Some(own)) = (name, own) {
                return Some(own.ln());
            }
            let at = [low, high].into_iter().zip(&ends).map(|(cell, standings)| {
                let member = standings
                    .iter()
                    .find(|s| without_block_size(&s.candidate) == *name)?;
                let measured = self.guide.known.known_cell(cell)?;
                let measured = measured.median_seconds(&member.standing.candidate)?;
                let model = self.guide.expectation.seconds(cell, &member.candidate);
                Some((measured.ln(), model.map(f64::ln), member.candidate.clone()))
            });
            let [at_low, at_high] = at.collect::<Option<Vec<_>>>()?.try_into().ok()?;
            let interpolate = |from: f64, to: f64| from + share * (to - from);
            let model = |candidate| Some(self.guide.expectation.seconds(between, candidate)?.ln());
            match (at_low.1, at_high.1, model(&at_low.2), model(&at_high.2)) {
                (Some(a), Some(b), Some(c), Some(d)) => {
                    Some(c.min(d) + interpolate(at_low.0 - a, at_high.0 - b))
                }
                _ => Some(interpolate(at_low.0, at_high.0)),
            }
        };
        let Some(chosen) = expected(&choice) else {
            return false;
        };
        let kins = ends[0]
            .iter()
            .map(|named| without_block_size(&named.candidate));
        let times = kins.filter_map(|name| expected(&name));
        times.fold(f64::INFINITY, f64::min) < chosen - SUGGESTION
    }
}

/// Indices below `length`, including both ends: all if there are at most `few`, otherwise in about `parts` equal steps.
fn coarse_indices(length: usize, few: usize, parts: usize) -> Vec<usize> {
    if length <= few {
        return (0..length).collect();
    }
    let last = length - 1;
    let mut places: Vec<usize> = (0..=parts).map(|part| part * last / parts).collect();
    places.dedup();
    places
}

/// The cells with the nearest size on either side; a size of exactly `bytes` is both.
fn nearest_cells(cells: Vec<Cell>, bytes: u64) -> Vec<Cell> {
    let below = cells
        .iter()
        .map(|cell| cell.bytes)
        .filter(|&b| b <= bytes)
        .max();
    let above = cells
        .iter()
        .map(|cell| cell.bytes)
        .filter(|&b| b >= bytes)
        .min();
    let is_near = |cell: &Cell| Some(cell.bytes) == below || Some(cell.bytes) == above;
    cells.into_iter().filter(is_near).collect()
}
