//! The guide: the measurements that a campaign needs next.

use std::collections::{BTreeMap, BTreeSet};

use campaign::{Campaign, Family};
use vocabulary::{Candidate, Cell};

use super::blocks;
use super::cell::{CellRounds, without_block_size};
use super::grid::{CandidateStanding, CellSeries, Site, Survey};
use super::joint;
use super::known::KnownMeasurements;
use super::prune;

/// The largest distance from the best at a neighbouring cell, as a share, with which a candidate takes part in a cell.
const BEHIND_AT_NEIGHBOUR: f64 = 0.3;

/// Pioneers of a pipelined family are tried with the predicted block size and with sizes larger and smaller by this
/// factor, since the model may be wrong.
const FAR: u64 = 4;

/// Predictions before a measurement.
pub trait Expectation {
    /// The time of a candidate in a cell, in seconds; `None` if it cannot be predicted.
    fn seconds(&self, cell: &Cell, candidate: &Candidate) -> Option<f64>;

    /// The best block size of a family in a cell, in bytes.
    fn block_bytes(&self, cell: &Cell, family: &Family) -> Option<u64>;

    /// The longest message, in bytes, that is sent eagerly in the cell.
    fn eager_limit(&self, cell: &Cell) -> Option<u64>;
}

/// Whether a candidate belongs to a class in a cell.
pub type Class<'a> = dyn Fn(&Cell, &Candidate) -> bool + 'a;

/// Measurements of one cell in the next launch that measures it.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasurementRequest {
    /// The cell.
    pub cell: Cell,
    /// The candidates, the default first.
    pub candidates: Vec<Candidate>,
    /// The number of launches that have measured the cell; cells with the fewest come first.
    pub round: u32,
}

/// Whether a cell lies in a grid, or between two of its sizes.
fn is_within(grid: &[Cell], cell: &Cell) -> bool {
    let alike = grid.iter().filter(|known| {
        Cell {
            bytes: cell.bytes,
            ..**known
        } == *cell
    });
    let sizes = alike.map(|known| known.bytes);
    let (low, high) = (sizes.clone().min(), sizes.max());
    low.is_some_and(|low| low <= cell.bytes) && high.is_some_and(|high| cell.bytes <= high)
}

/// Chooses what to measure next.
pub struct Guide<'a> {
    /// The campaign.
    pub campaign: &'a Campaign,
    /// The measurements so far.
    pub known: &'a KnownMeasurements,
    /// The predictions.
    pub expectation: &'a dyn Expectation,
    /// The candidates of a cell other than our algorithms.
    pub others: &'a dyn Fn(&Cell) -> Vec<Candidate>,
    /// Classes of candidates with decisions of their own, such as the candidates that the library's own settings can
    /// name for all operators. Each class has its own strongest rival of the default. The class of all candidates is
    /// implied.
    pub classes: &'a [&'a Class<'a>],
    /// The largest regret, as a share, for which no further measurement is made.
    pub target: f64,
}

impl Guide<'_> {
    /// All measurements to make now; empty when the search is over.
    ///
    /// All requests with the lowest round number should be measured first, since their results may change the others.
    pub fn next_requests(&self) -> Vec<MeasurementRequest> {
        let grid = self.campaign.cells();
        let measured = self.known.measured_cells();
        let survey = Survey {
            guide: self,
            standings: measured
                .map(|cell| {
                    (
                        *cell,
                        CandidateStanding::ranked_in_cell(self.campaign, self.known, cell),
                    )
                })
                .collect(),
        };
        let mut sites: BTreeMap<Cell, Site> = BTreeMap::new();
        let all = CellSeries::split_grid(&grid);
        for site in all
            .iter()
            .flat_map(|series| survey.sites_to_measure(series))
        {
            sites.entry(site.cell).or_insert(site);
        }
        self.add_distributions(&mut sites);
        // Where much is gained on one side only, the default stays in between: that is measured before other refinements.
        let is_new = |site: &Site| {
            self.known.launch_count(&site.cell) == 0
                && !self.known.has_failed(&site.cell, &Candidate::Default)
        };
        let is_urgent = |site: &Site| site.has_large_gain && is_new(site);
        if sites.values().any(is_urgent) {
            sites.retain(|_, site| !(site.is_refinement && is_new(site)) || site.has_large_gain);
        }
        // Cells with measurements are finished, even if the survey would no longer choose them.
        let begun = self
            .known
            .compared_cells()
            .filter(|cell| is_within(&grid, cell));
        let cells: BTreeSet<Cell> = sites.keys().chain(begun).copied().collect();
        let next = |cell: Cell| {
            let site = sites.get(&cell);
            let (mut candidates, round) = match self.known.known_cell(&cell) {
                Some(known) if known.has_failed(&Candidate::Default) => return None,
                _ if joint::shares_one_rule(cell.collective) => {
                    let launches = self.known.launch_count(&cell);
                    let is_to_compare = site.is_some() || self.known.is_compared(&cell);
                    let untried = is_to_compare.then(|| self.untried_candidates(&cell));
                    let untried = untried.unwrap_or_default();
                    let candidates = if untried.is_empty() {
                        self.candidates_for_one_rule(&cell, &grid)
                    } else {
                        untried
                    };
                    (candidates, launches)
                }
                Some(known) if known.has_rivals() => {
                    let rounds = CellRounds {
                        guide: self,
                        cell: &cell,
                        known,
                        is_pioneer: site.is_none_or(|site| site.neighbours.is_empty()),
                    };
                    (rounds.next_candidates(), known.launch_count())
                }
                known => {
                    let candidates = self.first_look(site?, &survey);
                    let launches = known.map_or(0, |known| known.launch_count());
                    let is_alone = candidates == [Candidate::Default];
                    if is_alone && launches > 0 {
                        return None;
                    }
                    (candidates, launches)
                }
            };
            if !candidates.is_empty() && self.wants_placebo(&cell) {
                candidates.push(Candidate::Placebo);
            }
            (!candidates.is_empty()).then_some(MeasurementRequest {
                cell,
                candidates,
                round,
            })
        };
        let requests: Vec<MeasurementRequest> = cells.into_iter().filter_map(next).collect();
        if requests.is_empty() {
            self.defaults_alone(&grid)
        } else {
            requests
        }
    }

    /// Adds the other distributions of irregular collectives at each size, since a rule holds for all distributions.
    fn add_distributions(&self, sites: &mut BTreeMap<Cell, Site>) {
        let irregular = sites
            .values()
            .filter(|site| site.cell.collective.is_irregular());
        let irregular: Vec<Site> = irregular.cloned().collect();
        for site in irregular {
            for &distribution in self.campaign.distributions_of(site.cell.collective) {
                let of_distribution = |cell: &Cell| Cell {
                    distribution,
                    ..*cell
                };
                let other = Site {
                    cell: of_distribution(&site.cell),
                    neighbours: site.neighbours.iter().map(of_distribution).collect(),
                    ..site.clone()
                };
                sites.entry(other.cell).or_insert(other);
            }
        }
    }

    /// Requests for the default alone in all cells without a measurement, since no model predicts at which sizes a
    /// library changes its algorithm.
    fn defaults_alone(&self, grid: &[Cell]) -> Vec<MeasurementRequest> {
        let has_failed = |cell: &Cell| self.known.has_failed(cell, &Candidate::Default);
        let unmeasured = grid
            .iter()
            .filter(|cell| self.known.launch_count(cell) == 0 && !has_failed(cell));
        let request = |cell: &Cell| MeasurementRequest {
            cell: *cell,
            candidates: vec![Candidate::Default],
            round: 0,
        };
        unmeasured.map(request).collect()
    }

    /// Whether the placebo is measured beside the default in this cell.
    fn wants_placebo(&self, cell: &Cell) -> bool {
        self.campaign.selection.selects(Candidate::PLACEBO)
            && !self.known.has_failed(cell, &Candidate::Placebo)
    }

    /// The candidates that are measured in a cell for the first time.
    fn first_look(&self, site: &Site, survey: &Survey<'_>) -> Vec<Candidate> {
        let cell = &site.cell;
        let choices = site
            .neighbours
            .iter()
            .filter_map(|neighbour| survey.table_choice(neighbour));
        let choices: BTreeSet<Candidate> = choices.collect();
        let mut near: Vec<(Cell, Candidate)> = Vec::new();
        let mut tried: BTreeSet<(Cell, Candidate)> = BTreeSet::new();
        for neighbour in &site.neighbours {
            let standings = survey.standings(neighbour);
            let best = standings.first().map_or(1.0, |named| named.standing.ratio);
            let mut led = vec![false; self.classes.len()];
            for CandidateStanding {
                candidate,
                standing,
            } in standings
            {
                // The fastest member of a family comes first; its other block sizes are not tried.
                let is_first = tried.insert((*neighbour, without_block_size(candidate)));
                let mut leads = false;
                if *candidate != Candidate::Default {
                    for (class, has_led) in self.classes.iter().zip(&mut led) {
                        leads |= !*has_led && class(neighbour, candidate);
                        *has_led |= class(neighbour, candidate);
                    }
                }
                if is_first && (leads || standing.ratio <= best * (1.0 + BEHIND_AT_NEIGHBOUR)) {
                    near.push((*neighbour, candidate.clone()));
                }
            }
        }
        let was_tried = |name: &Candidate| tried.iter().any(|(_, kin)| kin == name);
        let mut rivals = Vec::new();
        for family in self.families_to_try(cell) {
            let name = family
                .candidate_with_blocks(cell, 1)
                .map(|member| without_block_size(&member));
            let Some(name) = name else { continue };
            let members = near
                .iter()
                .filter(|(_, member)| without_block_size(member) == name);
            let members: Vec<(Cell, Candidate)> = members.cloned().collect();
            let is_wanted = if site.is_refinement {
                choices.contains(&name)
            } else {
                !members.is_empty() || !was_tried(&name)
            };
            if !is_wanted {
                continue;
            }
            let sizes = self.block_sizes(cell, &family, &members);
            rivals.extend(
                sizes
                    .iter()
                    .filter_map(|&size| family.candidate_with_blocks(cell, size)),
            );
        }
        let others = (self.others)(cell).into_iter().filter(|candidate| {
            if site.is_refinement {
                return choices.contains(&without_block_size(candidate));
            }
            !was_tried(&without_block_size(candidate))
                || near.iter().any(|(_, member)| member == candidate)
        });
        let mut rivals = self.campaign.merge_equivalents(cell, rivals).distinct;
        rivals.extend(others);
        rivals.retain(|candidate| !self.known.has_failed(cell, candidate));
        let margin = prune::margin_from_errors(self.known, self.expectation, cell);
        let promising =
            |of: Vec<Candidate>| prune::promising_candidates(cell, of, self.expectation, margin);
        let mut chosen: BTreeSet<Candidate> = BTreeSet::new();
        for class in self.classes {
            let members = rivals.iter().filter(|candidate| class(cell, candidate));
            chosen.extend(promising(members.cloned().collect()));
        }
        chosen.extend(promising(rivals));
        let mut candidates = vec![Candidate::Default];
        candidates.extend(chosen);
        candidates
    }

    /// The campaign's families, which vary one phase of an algorithm that knows nodes at a time, and for each such
    /// algorithm one family that combines the phases with the best predictions.
    pub(super) fn families_to_try(&self, cell: &Cell) -> Vec<Family> {
        let mut families = self.campaign.families(cell);
        // The best family of each algorithm, and whether its phases are complete: phases that are predicted to be slower
        // than the default ones do not join.
        let mut best: Vec<(Family, bool)> = Vec::new();
        let expected = |family: &Family| {
            let block = self.expectation.block_bytes(cell, family);
            let member =
                family.candidate_with_blocks(cell, block.unwrap_or_else(|| cell.vector_bytes()))?;
            self.expectation.seconds(cell, &member)
        };
        let mut known: Vec<(f64, &Family)> = families
            .iter()
            .filter(|family| family.algorithm.knows_nodes())
            .filter_map(|family| Some((expected(family)?, family)))
            .collect();
        known.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, family) in known {
            let is_same = |(other, _): &&mut (Family, bool)| {
                std::ptr::eq(other.algorithm, family.algorithm)
                    && other.parameters.through == family.parameters.through
            };
            match best.iter_mut().find(is_same) {
                None => best.push((family.clone(), family.has_default_phases())),
                Some((_, true)) => {}
                Some((held, is_over)) => {
                    *held = held.with_phases_of(family);
                    *is_over = family.has_default_phases();
                }
            }
        }
        let mut together: Vec<Family> = best.into_iter().map(|(family, _)| family).collect();
        together.retain(|family| !families.contains(family));
        families.extend(together);
        families
    }

    /// The first block sizes to try, in bytes; near the minimum a factor of two costs little.
    pub(super) fn block_sizes(
        &self,
        cell: &Cell,
        family: &Family,
        near: &[(Cell, Candidate)],
    ) -> Vec<u64> {
        let parameters = &self.campaign.parameters;
        if !family.is_cut() {
            return vec![1];
        }
        if !parameters.predicted {
            return parameters.block_bytes.clone();
        }
        let whole = cell.vector_bytes().max(1);
        let expected = self.expectation.block_bytes(cell, family);
        let sizes: BTreeSet<u64> = match (near, expected) {
            ([], None) => parameters.block_bytes.iter().copied().collect(),
            ([], Some(expected)) => {
                BTreeSet::from([expected / FAR, expected, expected.saturating_mul(FAR)])
            }
            // By the pipelining lemma the best block size grows with the square root of the vector's length.
            (near, expected) => near
                .iter()
                .map(|(at, member)| {
                    let growth = (whole as f64 / at.vector_bytes().max(1) as f64).sqrt();
                    (member.block_bytes(at) as f64 * growth).round() as u64
                })
                .chain(expected)
                .collect(),
        };
        let limit = self.expectation.eager_limit(cell);
        let snapped = sizes
            .iter()
            .map(|&size| blocks::snap_to_lattice(whole, limit, size));
        let within: BTreeSet<u64> = snapped.collect();
        within.into_iter().collect()
    }
}
