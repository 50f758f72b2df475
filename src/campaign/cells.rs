//! The points of a campaign.

use std::collections::BTreeSet;

use wire::{Cell, CommShape, Datatype, Experiment, ExperimentKind, Repetition};

use crate::Campaign;
use crate::campaign::Slice;

/// Share of the budget that repetitions may take; the rest is for starting programs, warm-up,
/// synchronisation and checking results.
const REPETITION_SHARE: f64 = 0.7;

const MESSAGE_BYTES: (u64, u64) = (1, 4 << 20);
/// Up to here messages are measured even where all vectors are shorter: bandwidth shows only there.
const LONG_MESSAGE_BYTES: u64 = 256 << 10;
const COMBINE_BYTES: (u64, u64) = (1 << 10, 4 << 20);
const EXPERIMENT_FACTOR: u64 = 4;

impl Campaign {
    /// All cells, from small to large: a run that ends early has finished the cheap ones.
    ///
    /// Sizes of reductions are rounded up to whole elements; cells that thereby become equal are
    /// one. What combines nothing moves bytes.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells: Vec<Cell> = self
            .sizes
            .iter()
            .flat_map(|(&collective, sizes)| {
                let reduces = collective.is_reduction();
                let datatype = if reduces {
                    self.datatype
                } else {
                    Datatype::Byte
                };
                let operator = reduces.then_some(self.operator);
                self.shapes.iter().flat_map(move |&shape| {
                    let sizes: BTreeSet<u64> = sizes
                        .iter()
                        .map(|size| size.next_multiple_of(datatype.size_bytes()))
                        .collect();
                    sizes.into_iter().map(move |bytes| Cell {
                        collective,
                        shape,
                        bytes,
                        datatype,
                        operator,
                    })
                })
            })
            .collect();
        cells.sort_by_key(|cell| {
            (
                cell.vector_bytes()
                    .saturating_mul(u64::from(cell.shape.ranks())),
                cell.collective,
                cell.shape,
            )
        });
        cells
    }

    /// The measurements that show the machine's parameters: messages one way and both ways between
    /// two ranks of a node and of two nodes, as far as the campaign has either, and, where anything
    /// is reduced, combining in the campaign's datatype and operator. Messages are not much longer
    /// than the longest vector: on slow networks they would take longer than all else.
    pub fn experiments(&self) -> Vec<Experiment> {
        let within = CommShape { nodes: 1, ppn: 2 };
        let between = CommShape { nodes: 2, ppn: 1 };
        let mut pairs = Vec::new();
        if self.shapes.iter().any(|shape| shape.ppn > 1) {
            pairs.push(within);
        }
        if self.shapes.iter().any(|shape| shape.nodes > 1) {
            pairs.push(between);
        }
        let (first, last) = MESSAGE_BYTES;
        let longest = self.cells().iter().map(Cell::vector_bytes).max();
        let last = longest.unwrap_or(last).clamp(LONG_MESSAGE_BYTES, last);
        let messages = pairs.iter().flat_map(|&shape| {
            [ExperimentKind::PingPong, ExperimentKind::Exchange]
                .map(|kind| (kind, shape, (first, last)))
        });
        let combine = ExperimentKind::Combine {
            datatype: self.datatype,
            operator: self.operator,
        };
        let anywhere = pairs.first().copied().unwrap_or(within);
        let combines = self
            .sizes
            .keys()
            .any(|collective| collective.is_reduction());
        let combining = combines.then_some((combine, anywhere, COMBINE_BYTES));
        messages
            .chain(combining)
            .flat_map(|(kind, shape, (first, last))| {
                std::iter::successors(Some(first), |bytes| Some(bytes * EXPERIMENT_FACTOR))
                    .take_while(move |bytes| *bytes < EXPERIMENT_FACTOR * last)
                    .map(move |bytes| Experiment { kind, shape, bytes })
            })
            .collect()
    }

    /// When a candidate has been repeated often enough, if one launch takes `turns` turns: one a
    /// candidate of each cell and one an experiment.
    ///
    /// `slice: auto` divides the budget evenly between the turns of all launches.
    pub fn repetition(&self, turns: usize) -> Repetition {
        let slice_seconds = match self.repetitions.slice {
            Slice::Seconds(seconds) => seconds,
            Slice::Auto => {
                let turns = u32::try_from(turns).unwrap_or(u32::MAX).max(1);
                REPETITION_SHARE * self.budget_seconds
                    / (f64::from(self.launches) * f64::from(turns))
            }
        };
        Repetition {
            minimum: self.repetitions.minimum,
            maximum: self.repetitions.maximum,
            precision: self.repetitions.precision,
            confidence: self.confidence,
            slice_seconds,
        }
    }
}
