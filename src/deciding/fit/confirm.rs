//! The measurements by which fresh launches confirm or refute the choices of exploring launches.
//!
//! A confirmation derives from the samples of exploring and of confirming launches alone what confirming launches are
//! to measure, and what follows from them. Like the guide of a search, it keeps no state.
//!
//! - *Points* are the sizes of the campaign, those that the search has added, and one between each two neighbours
//!   (`confirm/points.rs`). At a point where candidates were explored, the one chosen is tried; elsewhere, those of the
//!   neighbours on both sides, or of the nearest shapes.
//! - *A trial* compares one candidate with the default in as many launches as a sign test needs, 6 for 95 %, in the
//!   campaign's pattern of calls and in the patterns together and repeated (`fresh.rs`). It is confirmed if it is
//!   faster in every launch, and if its median gain is enough to matter in each pattern. After one contrary launch it
//!   gets more: it must be faster in all others of 13 in the campaign's own pattern, and of 9 in another. It ends early
//!   once the candidate cannot be confirmed any more. The `power` tests count false and correct replacements.
//! - *A sweep* makes one trial for each point. Where a candidate is not confirmed, the next sweep tries the next best
//!   one, up to three, also at sizes that were not explored; the last sweep confirms all that it tries. A point without
//!   a confirmed candidate keeps the default.
//! - *Irregular collectives* have a series for each distribution of the data. Where one rule holds for all sizes, there
//!   are no points between them, and a candidate is tried at all points of all distributions together: it must be
//!   confirmed at one of them at least, and lose at none ([`DecideOptions`], `joint.rs`).
//! - *Between points* a rule extends to the next point if its candidate is confirmed at both, or confirmed at one while
//!   the interval of its gain at the other, where another candidate is confirmed, lies above 1.1 (`confirm/settle.rs`).
//!   Where the default changes its algorithm between two sizes, the candidate loses at one of them or between them, and
//!   the rule ends before. Below the smallest size and above the largest the default stays.

mod points;
mod settle;
mod stakes;

use std::collections::{BTreeMap, BTreeSet};

use results::{CellDecision, Summary};
use schedule::Collective;
use table::{Deployment, Operators};
use vocabulary::{Candidate, Cell, CommShape, Distribution, Subject};

use self::points::{SeriesPoint, has_whole_parts, series_points_with_probes};
pub use self::stakes::{Stake, range_stake};
use crate::decide::{can_use_candidate, decide_cells_of_grid, operator_classes};
use crate::extend::nearest_by_shape;
use crate::fresh::{FreshMeasurements, MOST_TRIED};
use crate::joint::{candidates_for_all, shares_one_rule};
use crate::runs::{geometric_mean_speedup, group_by_series};
use crate::{DecideOptions, MachineFit};

/// The results of exploring launches.
#[derive(Clone, Copy)]
pub struct Exploration<'a> {
    /// The library's name; it determines which of the library's algorithms combine in order.
    pub library: &'a str,
    /// Summaries of the exploring launches.
    pub summaries: &'a [Summary],
    /// Failures in any launch, confirming launches included.
    pub failures: &'a [(Subject, Candidate)],
    /// The machine that predicts the times shown beside the measured ones.
    pub machine: Option<&'a MachineFit>,
    /// The thresholds for differences that count.
    pub options: &'a DecideOptions,
    /// The cells of the campaign.
    pub grid: &'a [Cell],
}

impl Exploration<'_> {
    /// The decisions by exploring launches alone.
    pub(crate) fn decide(&self, deployment: Deployment) -> Vec<CellDecision> {
        let Self {
            library,
            summaries,
            failures,
            machine,
            options,
            grid,
        } = *self;
        decide_cells_of_grid(
            deployment, library, summaries, failures, machine, options, grid,
        )
    }
}

/// The properties that all points of a series share.
type ConfirmationKey = (Deployment, Collective, CommShape, Operators, Distribution);

/// Candidates to be compared with the default in a cell, in one pattern of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The cell.
    pub cell: Cell,
    /// The pattern's place among those of the campaign.
    pub pattern: usize,
    /// The candidates, the default first.
    pub candidates: Vec<Candidate>,
    /// Launches that have compared all of them.
    pub done: u32,
    /// Launches that are to compare all of them.
    pub wanted: u32,
}

/// Compares the choices of exploring launches with the default in fresh launches.
///
/// A point is a size at which this is done: each size of the campaign, each explored size, one size between each two
/// neighbours (where the library is known to switch algorithms, or else the geometric middle), and each size that fresh
/// launches measured when there were fewer points. A point where exploring launches compared candidates has its own
/// nominees: at most [`crate::fresh::MOST_TRIED`] candidates that beat the default there by their medians. They are
/// tried one after the other. At any other point the nominees of the nearest explored sizes are tried, or, if the shape
/// has none, those of the nearest shapes; of these, too, at most that many.
///
/// A sweep measures one candidate of each point in all fresh launches. A candidate that is not confirmed has lost, and
/// the next sweep measures the next nominee of its point, until a sweep has no loser. The measurements alone determine
/// what the next sweep measures, so an interrupted sweep can be continued.
pub struct Confirmation<'a> {
    explored: Exploration<'a>,
    fresh: &'a FreshMeasurements,
    series: BTreeMap<ConfirmationKey, Vec<SeriesPoint>>,
    /// Candidates that have lost, with the cell.
    lost: BTreeSet<(Cell, Candidate)>,
    /// The candidates tried so far for each series at points that were not explored, at most [`MOST_TRIED`].
    tries: BTreeMap<(ConfirmationKey, Cell), BTreeSet<Candidate>>,
    /// The remaining measurements of this sweep; empty if the last sweep had no loser.
    pub open: Vec<Trial>,
    /// The number of cell launches of this sweep that are already complete, over all patterns.
    pub finished_measurements: u64,
    /// The number of turns in a launch that measures the whole sweep.
    pub turns: usize,
}

impl<'a> Confirmation<'a> {
    /// Determines which choices the `fresh` launches have confirmed so far.
    pub fn from_fresh_launches(explored: Exploration<'a>, fresh: &'a FreshMeasurements) -> Self {
        let mut confirmation = Self {
            explored,
            fresh,
            series: points_by_series(&explored, &fresh.measured_cells()),
            lost: BTreeSet::new(),
            tries: BTreeMap::new(),
            open: Vec::new(),
            finished_measurements: 0,
            turns: 0,
        };
        loop {
            let tried = confirmation.collect_tried();
            confirmation.count_measurements(&tried);
            if !confirmation.open.is_empty() {
                return confirmation;
            }
            let is_lost = |(cell, candidate): &&(Cell, Candidate)| {
                if shares_one_rule(cell.collective) {
                    !confirmation.is_confirmed_for_all(cell, candidate)
                } else {
                    !fresh.is_confirmed(cell, candidate)
                }
            };
            let lost: Vec<(Cell, Candidate)> = tried.iter().filter(is_lost).cloned().collect();
            let before = confirmation.lost.len();
            confirmation.lost.extend(lost);
            if confirmation.lost.len() == before {
                return confirmation;
            }
        }
    }

    /// Whether a candidate that is tried at all points of a shape is confirmed at one of them at least, and loses at none.
    fn is_confirmed_for_all(&self, cell: &Cell, candidate: &Candidate) -> bool {
        let of_shape = self
            .series
            .iter()
            .filter(|((_, collective, shape, ..), _)| {
                (*collective, *shape) == (cell.collective, cell.shape)
            });
        let cells: BTreeSet<Cell> = of_shape
            .flat_map(|(_, points)| points.iter().map(|point| point.cell))
            .collect();
        let is_confirmed = |at: &Cell| self.fresh.is_confirmed(at, candidate);
        cells.iter().any(is_confirmed)
            && cells
                .iter()
                .all(|at| self.fresh.holds_its_own(at, candidate))
    }

    /// All candidates that this sweep measures, with their cells.
    fn collect_tried(&mut self) -> BTreeSet<(Cell, Candidate)> {
        let (mut tried, mut tries) = (BTreeSet::new(), Vec::new());
        for (key, points) in &self.series {
            for (place, point) in points.iter().enumerate() {
                let nominees = self.nominees_at(key, points, place);
                if !point.is_explored() {
                    tries.push(((*key, point.cell), nominees.clone()));
                }
                tried.extend(nominees.into_iter().map(|nominee| (point.cell, nominee)));
            }
        }
        for (at, nominees) in tries {
            self.tries.entry(at).or_default().extend(nominees);
        }
        tried
    }

    /// The candidates that this sweep compares with the default at a point: at most one where candidates were explored.
    /// Elsewhere there may be several, at most [`MOST_TRIED`] over all sweeps. Candidates that have lost there are left
    /// out.
    fn nominees_at(
        &self,
        key: &ConfirmationKey,
        points: &[SeriesPoint],
        place: usize,
    ) -> Vec<Candidate> {
        let point = &points[place];
        if point.is_explored() {
            return self
                .first_standing_nominee(point)
                .cloned()
                .into_iter()
                .collect();
        }
        let mut around = self.nominees_around(points, point.cell.bytes);
        if !points.iter().any(SeriesPoint::is_explored) {
            around = self.nominees_on_other_shapes(key, point.cell.bytes);
        }
        let tries = self.tries.get(&(*key, point.cell));
        let mut tries = tries.cloned().unwrap_or_default();
        let mut nominees: Vec<Candidate> = Vec::new();
        for candidate in around {
            if !self.has_lost(&point.cell, candidate)
                && !nominees.contains(candidate)
                && self.can_offer(key, &point.cell, candidate)
                && (tries.len() < MOST_TRIED || tries.contains(candidate))
            {
                tries.insert(candidate.clone());
                nominees.push(candidate.clone());
            }
        }
        nominees
    }

    /// The first nominee of an explored point that has not lost there.
    fn first_standing_nominee<'p>(&self, point: &'p SeriesPoint) -> Option<&'p Candidate> {
        let mut nominees = point.nominees.iter().flatten();
        nominees.find(|nominee| !self.has_lost(&point.cell, nominee))
    }

    /// Whether a candidate has lost in a cell, or with another distribution where these share the rule.
    fn has_lost(&self, cell: &Cell, candidate: &Candidate) -> bool {
        let lost = |at: Cell| self.lost.contains(&(at, candidate.clone()));
        let lost_with = |distribution| {
            lost(Cell {
                distribution,
                ..*cell
            })
        };
        lost(*cell) || shares_sizes(cell.collective) && Distribution::ALL.into_iter().any(lost_with)
    }

    /// The candidates of the explored points nearest to a size, on either side, that have not lost.
    fn nominees_around<'p>(&self, points: &'p [SeriesPoint], bytes: u64) -> Vec<&'p Candidate> {
        let (below, above) = points::split_around(points, bytes);
        let below = below.iter().rfind(|point| point.is_explored());
        let above = above.iter().find(|point| point.is_explored());
        let both = [below, above].into_iter().flatten();
        both.filter_map(|point| self.first_standing_nominee(point))
            .collect()
    }

    /// The candidates at this size on the nearest explored shapes with fewer and with more ranks.
    fn nominees_on_other_shapes(&self, key: &ConfirmationKey, bytes: u64) -> Vec<&Candidate> {
        let (deployment, collective, shape, operators, distribution) = *key;
        let alike = self.series.iter().filter(|((d, c, _, o, of), points)| {
            (*d, *c, *o, *of) == (deployment, collective, operators, distribution)
                && points.iter().any(SeriesPoint::is_explored)
        });
        let (fewer, more): (Vec<_>, Vec<_>) =
            alike.partition(|((_, _, other, ..), _)| other.ranks() <= shape.ranks());
        let sides = [fewer, more].into_iter();
        sides
            .filter_map(|side| nearest_by_shape(side, |((_, _, other, ..), _)| *other, shape))
            .flat_map(|(_, points)| self.nominees_around(points, bytes))
            .collect()
    }

    /// Whether a series may use a candidate, and the library runs it when forced.
    fn can_offer(
        &self,
        (deployment, _, _, operators, _): &ConfirmationKey,
        cell: &Cell,
        candidate: &Candidate,
    ) -> bool {
        let library = self.explored.library;
        let runs = match candidate {
            Candidate::Native { parameters, .. } => libraries::find_library(library)
                .is_none_or(|known| known.runs_in_cell(cell, candidate.id(), parameters)),
            _ => true,
        };
        runs && has_whole_parts(cell)
            && deployment.offers(candidate)
            && can_use_candidate(library, cell, candidate, *operators)
    }

    /// Counts the finished and the remaining measurements of a sweep.
    fn count_measurements(&mut self, tried: &BTreeSet<(Cell, Candidate)>) {
        let mut cells: BTreeMap<Cell, Vec<&Candidate>> = BTreeMap::new();
        for (cell, candidate) in tried {
            cells.entry(*cell).or_default().push(candidate);
        }
        let fresh = self.fresh;
        self.finished_measurements = 0;
        self.open.clear();
        self.turns = fresh.pattern_count() * (cells.len() + tried.len());
        for (cell, nominees) in cells {
            for pattern in 0..fresh.pattern_count() {
                let done =
                    |candidate: &Candidate| fresh.completed_launches(pattern, &cell, candidate);
                let wanted =
                    |candidate: &Candidate| fresh.wanted_launches(pattern, &cell, candidate);
                let open: Vec<&Candidate> = nominees
                    .iter()
                    .copied()
                    .filter(|nominee| done(nominee) < wanted(nominee))
                    .collect();
                let least = open.iter().map(|candidate| done(candidate)).min();
                let most = |of: &[&Candidate]| of.iter().map(|candidate| wanted(candidate)).max();
                let Some((least, most)) = least.zip(most(&open)) else {
                    self.finished_measurements += u64::from(most(&nominees).unwrap_or(0));
                    continue;
                };
                let all = [&Candidate::Default].into_iter().chain(open);
                self.open.push(Trial {
                    cell,
                    pattern,
                    candidates: all.cloned().collect(),
                    done: least,
                    wanted: most,
                });
            }
        }
    }
}

/// The points of all series, by ascending size; `fresh_cells` are those that fresh launches have measured.
fn points_by_series(
    explored: &Exploration<'_>,
    fresh_cells: &BTreeSet<Cell>,
) -> BTreeMap<ConfirmationKey, Vec<SeriesPoint>> {
    let proposing = Exploration {
        options: &DecideOptions {
            proposes: true,
            ..*explored.options
        },
        ..*explored
    };
    let library = libraries::find_library(explored.library);
    let fresh_cells = &with_sibling_distributions(fresh_cells, explored.grid);
    let mut series = BTreeMap::new();
    for deployment in Deployment::ALL {
        let decisions = proposing.decide(deployment);
        let mut known: BTreeMap<ConfirmationKey, Vec<CellDecision>> = BTreeMap::new();
        for ((collective, shape, operators), sizes) in group_by_series(decisions.into_iter()) {
            for decision in sizes.into_values().flatten() {
                let distribution = decision.cell.distribution;
                let key = (deployment, collective, shape, operators, distribution);
                let of_series: &mut Vec<CellDecision> = known.entry(key).or_default();
                let last = of_series.last().map(|last| last.cell.bytes);
                // The first measured datatype represents all others.
                if last != Some(decision.cell.bytes) {
                    of_series.push(decision);
                }
            }
        }
        let collectives: BTreeSet<Collective> = known.keys().map(|key| key.1).collect();
        let mut grids: BTreeMap<ConfirmationKey, Vec<Cell>> = BTreeMap::new();
        for cell in explored
            .grid
            .iter()
            .filter(|cell| collectives.contains(&cell.collective))
        {
            for &operators in operator_classes(explored.library, deployment, cell) {
                let key = (
                    deployment,
                    cell.collective,
                    cell.shape,
                    operators,
                    cell.distribution,
                );
                grids.entry(key).or_default().push(*cell);
            }
        }
        add_sizes_of_siblings(&known, &mut grids);
        for (key, grid) in grids {
            let of_series = known.remove(&key).unwrap_or_default();
            series.insert(
                key,
                series_points_with_probes(library, of_series, &grid, fresh_cells),
            );
        }
        let rest = known.into_iter();
        series.extend(rest.map(|(key, of_series)| {
            (
                key,
                series_points_with_probes(library, of_series, &[], fresh_cells),
            )
        }));
    }
    try_together(&mut series, proposing.options);
    try_alike(&mut series);
    series
}

/// Gives the explored distributions of a size the same nominees, in the same order: the candidates that beat the default
/// with each of them, since one of these must be confirmed with all.
fn try_alike(series: &mut BTreeMap<ConfirmationKey, Vec<SeriesPoint>>) {
    type Size = (Deployment, Collective, CommShape, Operators, u64);
    let size = |key: &ConfirmationKey, point: &SeriesPoint| -> Size {
        (key.0, key.1, key.2, key.3, point.cell.bytes)
    };
    let mut siblings: BTreeMap<Size, Vec<(&CellDecision, &[Candidate])>> = BTreeMap::new();
    for (key, points) in series.iter().filter(|(key, _)| shares_sizes(key.1)) {
        for point in points {
            if let (Some(decision), Some(nominees)) = (&point.decision, &point.nominees) {
                let at = siblings.entry(size(key, point)).or_default();
                at.push((decision, nominees));
            }
        }
    }
    let common = siblings.into_iter().map(|(at, explored)| {
        let beats_all = |candidate: &Candidate| {
            let mut ranked = explored
                .iter()
                .map(|(decision, _)| decision.ranked(candidate));
            ranked.all(|ranked| ranked.is_some_and(|ranked| ranked.beats_default))
        };
        let mean = |candidate: &Candidate| {
            let decisions = explored.iter().map(|(decision, _)| *decision);
            geometric_mean_speedup(decisions, candidate).unwrap_or(0.0)
        };
        let first = explored.first().and_then(|(_, nominees)| nominees.first());
        let named: BTreeSet<&Candidate> = explored.iter().flat_map(|(_, own)| *own).collect();
        let mut able: Vec<&Candidate> = named.into_iter().filter(|own| beats_all(own)).collect();
        able.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
        // The choice for as many sizes as possible comes first.
        able.sort_by_key(|candidate| Some(*candidate) != first);
        able.truncate(MOST_TRIED);
        (at, able.into_iter().cloned().collect())
    });
    let common: BTreeMap<Size, Vec<Candidate>> = common.collect();
    for (key, points) in series {
        for point in points.iter_mut().filter(|point| point.is_explored()) {
            if let Some(nominees) = common.get(&size(key, point)) {
                point.nominees = Some(nominees.clone());
            }
        }
    }
}

/// Whether the distributions of a collective share the rule for a size, and so are compared at the same sizes.
fn shares_sizes(collective: Collective) -> bool {
    collective.is_irregular() && collective.decides_by_size()
}

/// The cells with those of the other distributions with which the campaign measures the shape, at the same sizes.
fn with_sibling_distributions(cells: &BTreeSet<Cell>, grid: &[Cell]) -> BTreeSet<Cell> {
    let mut all = cells.clone();
    for cell in cells.iter().filter(|cell| shares_sizes(cell.collective)) {
        let is_sibling =
            |other: &&Cell| (other.collective, other.shape) == (cell.collective, cell.shape);
        let siblings = grid.iter().chain(cells).filter(is_sibling);
        all.extend(siblings.map(|other| Cell {
            distribution: other.distribution,
            ..*cell
        }));
    }
    all
}

/// Adds the sizes of each distribution to those of the others, since a candidate must be confirmed with all of them.
fn add_sizes_of_siblings(
    known: &BTreeMap<ConfirmationKey, Vec<CellDecision>>,
    grids: &mut BTreeMap<ConfirmationKey, Vec<Cell>>,
) {
    let keys: BTreeSet<ConfirmationKey> = known.keys().chain(grids.keys()).copied().collect();
    let of_grids = grids.values().flatten().copied();
    let decided = known.values().flatten().map(|decision| decision.cell);
    let cells: BTreeSet<Cell> = of_grids.chain(decided).collect();
    for key in keys.into_iter().filter(|key| shares_sizes(key.1)) {
        let (_, collective, shape, _, distribution) = key;
        let of_shape = cells
            .iter()
            .filter(|cell| (cell.collective, cell.shape) == (collective, shape));
        let grid = grids.entry(key).or_default();
        grid.extend(of_shape.map(|cell| Cell {
            distribution,
            ..*cell
        }));
    }
}

/// Gives all points of a shape the same nominees where one rule holds for all sizes, and removes those between sizes.
fn try_together(
    series: &mut BTreeMap<ConfirmationKey, Vec<SeriesPoint>>,
    proposing: &DecideOptions,
) {
    let mut nominees: BTreeMap<(Deployment, Collective, CommShape), Vec<Candidate>> =
        BTreeMap::new();
    let mut shapes: BTreeMap<_, Vec<&CellDecision>> = BTreeMap::new();
    for ((deployment, collective, shape, ..), points) in &*series {
        if shares_one_rule(*collective) {
            let explored = points.iter().filter_map(|point| point.decision.as_ref());
            let of_shape = shapes
                .entry((*deployment, *collective, *shape))
                .or_default();
            of_shape.extend(explored.filter(|decision| decision.is_compared()));
        }
    }
    // On shapes where nothing was compared, the choices of the nearest shapes are tried.
    shapes.retain(|_, decisions| !decisions.is_empty());
    for (key, decisions) in shapes {
        let mut of_shape = candidates_for_all(&decisions, proposing);
        of_shape.truncate(MOST_TRIED);
        nominees.insert(key, of_shape);
    }
    for ((deployment, collective, shape, ..), points) in series {
        if shares_one_rule(*collective) {
            points.retain(|point| !point.is_probe);
        }
        if let Some(of_shape) = nominees.get(&(*deployment, *collective, *shape)) {
            for point in points {
                point.nominees = Some(of_shape.clone());
            }
        }
    }
}
