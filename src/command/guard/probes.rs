//! Probes: sizes drawn at random between the measured ones.
//!
//! Probes are drawn where the default is replaced, in strata in which an octave counts once, and once more for each
//! doubling of speed that the table expects there.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use schedule::Collective;
use table::{Deployment, ShapeRules, Table};
use vocabulary::{Candidate, Cell, CommShape, Datatype, Operator};

use crate::point::{measured_entries, merge_alike, point_of_entry};
use crate::{Point, PointKind};

/// The number of probes and the seed that they are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probing {
    /// The seed: the same table and number give the same probes.
    pub seed: u64,
    /// The total number of probes; if absent, one for every four gaps of each collective and shape, and at least four
    /// for each.
    pub number: Option<usize>,
    /// Whether, if no number is given, one is drawn in each gap for each rule that replaces the default there.
    pub each_gap: bool,
}

/// The number of gaps for which one probe is drawn.
const GAPS: usize = 4;
/// The fewest probes of a collective and shape.
const FEWEST: usize = 4;

/// Adds probes to points: sizes drawn at random in the gaps between neighbouring measured sizes in which a rule
/// replaces the default. Only probes can show that the library's default changes its algorithm between two measured
/// sizes.
///
/// Sizes are drawn uniformly in their logarithm. The weight of an octave is 1, plus 1 for each doubling of speed that
/// the table expects there. The gaps in a row are cut into as many parts of equal weight as there are probes, and one
/// size is drawn from each part. A size that is drawn twice, or is already a point, is measured once.
pub fn add_probes(
    points: &mut Vec<Point>,
    table: &Table,
    deployment: Deployment,
    elements: (Datatype, Operator),
    probing: Probing,
) {
    let mut series: BTreeMap<(Collective, CommShape), Vec<(Cell, &ShapeRules)>> = BTreeMap::new();
    for (cell, entry) in measured_entries(table, deployment, elements) {
        let of_series = series.entry((cell.collective, cell.shape)).or_default();
        of_series.push((cell, entry));
    }
    let stretches: Vec<Vec<Stretch>> = series
        .values()
        .map(|entries| find_stretches(table, deployment, entries))
        .collect();
    let parts: Vec<(Vec<Stretch>, usize)> = match probing.number {
        Some(number) => vec![(stretches.concat(), number)],
        None if probing.each_gap => {
            let each = stretches.into_iter().flat_map(|of_series| {
                // Entries for other operators decide at the same probes.
                let of_sizes = of_series
                    .into_iter()
                    .map(|stretch| ((stretch.first.bytes, stretch.last), stretch));
                of_sizes.collect::<BTreeMap<_, _>>().into_values()
            });
            each.map(|stretch| (vec![stretch], 1)).collect()
        }
        None => {
            let counted = stretches.into_iter().map(|of_series| {
                let gaps: BTreeSet<u64> = of_series.iter().map(|stretch| stretch.gap).collect();
                (of_series, gaps.len().div_ceil(GAPS).max(FEWEST))
            });
            counted.collect()
        }
    };
    let mut random = Rng::with_seed(probing.seed);
    let drawn: BTreeSet<(Collective, CommShape, u64)> = parts
        .iter()
        .flat_map(|(part_stretches, number)| draw_cells(part_stretches, *number, &mut random))
        .map(|cell| (cell.collective, cell.shape, cell.bytes))
        .collect();
    let mut probes = Vec::new();
    for (collective, shape, bytes) in drawn {
        // All entries for the shape decide at this size.
        let here = series[&(collective, shape)]
            .iter()
            .map(|(of_entry, entry)| {
                let cell = Cell { bytes, ..*of_entry };
                point_of_entry(table, entry, deployment, cell, PointKind::Probe)
            });
        probes.extend(here.filter(|probe| probe.is_measurable() && !probe.keeps_default()));
    }
    for probe in merge_alike(probes) {
        if !points.iter().any(|known| known.is_alike(&probe)) {
            points.push(probe);
        }
    }
}

/// Sizes between two neighbouring measured ones at which one rule replaces the default.
#[derive(Clone)]
struct Stretch {
    /// The cell with the first of these sizes, a whole number of elements.
    first: Cell,
    /// The last of these sizes in bytes.
    last: u64,
    /// The measured size below the stretch, which identifies the gap.
    gap: u64,
    /// The weight in the draw.
    weight: f64,
}

impl Stretch {
    /// The end (exclusive) divided by the first size.
    fn size_ratio(&self) -> f64 {
        let end = self.last + self.first.datatype.size_bytes();
        end as f64 / self.first.bytes as f64
    }

    /// The cell at a share of the stretch on the logarithmic scale of sizes.
    fn cell_at(&self, share: f64) -> Cell {
        let element = self.first.datatype.size_bytes();
        let bytes =
            (self.first.bytes as f64 * self.size_ratio().powf(share)) as u64 / element * element;
        Cell {
            bytes: bytes.clamp(self.first.bytes, self.last),
            ..self.first
        }
    }
}

/// The stretches of entries for the same shape.
fn find_stretches(
    table: &Table,
    deployment: Deployment,
    entries: &[(Cell, &ShapeRules)],
) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    // One rule for all sizes says nothing about sizes between the measured ones.
    let by_size = entries
        .iter()
        .filter(|(cell, _)| cell.collective.decides_by_size());
    for (cell, entry) in by_size {
        let element = cell.datatype.size_bytes();
        let rules = entry.rules_with_sizes();
        for (sizes, _) in rules.filter(|(_, rule)| rule.candidate != Candidate::Default) {
            for gap in entry.measured.windows(2) {
                let first = sizes.start.max(gap[0].bytes + 1).next_multiple_of(element);
                let last = (sizes.end.min(gap[1].bytes) - 1) / element * element;
                if last < first {
                    continue;
                }
                let first = Cell {
                    bytes: first,
                    ..*cell
                };
                let mut stretch = Stretch {
                    first,
                    last,
                    gap: gap[0].bytes,
                    weight: 0.0,
                };
                let middle = point_of_entry(
                    table,
                    entry,
                    deployment,
                    stretch.cell_at(0.5),
                    PointKind::Probe,
                );
                let octaves = stretch.size_ratio().log2();
                stretch.weight = octaves + fit::range_stake(octaves, middle.stake);
                stretches.push(stretch);
            }
        }
    }
    stretches
}

/// Draws one size from each of `parts` parts of equal weight.
fn draw_cells(stretches: &[Stretch], parts: usize, random: &mut Rng) -> Vec<Cell> {
    let total: f64 = stretches.iter().map(|stretch| stretch.weight).sum();
    let mut drawn = Vec::new();
    for part in 0..parts {
        let mut place = total * (part as f64 + random.f64()) / parts as f64;
        for stretch in stretches {
            if place < stretch.weight {
                drawn.push(stretch.cell_at(place / stretch.weight));
                break;
            }
            place -= stretch.weight;
        }
    }
    drawn
}
