//! The cells of a campaign.

use std::collections::BTreeSet;

use schedule::Distribution;
use vocabulary::{Cell, Datatype, Operator, Repetition};

use crate::Campaign;
use crate::campaign::TimeSlice;

/// The share of the budget for repetitions; the rest is for starting programs, warm-up, synchronisation and checking
/// results.
const REPETITION_SHARE: f64 = 0.7;

impl Campaign {
    /// All cells, in ascending order of size, so that a run that ends early has finished the cheap ones.
    ///
    /// Sizes of reductions are rounded up to whole elements, and cells that become equal are merged. Collectives that
    /// combine nothing move bytes; a reduction has one cell per operator, an irregular collective one per distribution.
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
                let operators: Vec<Option<Operator>> = if reduces {
                    self.operators.iter().copied().map(Some).collect()
                } else {
                    vec![None]
                };
                let distributions = self.distributions_of(collective);
                self.shapes.iter().flat_map(move |&shape| {
                    let sizes: BTreeSet<u64> = sizes
                        .iter()
                        .map(|size| size.next_multiple_of(datatype.size_bytes()))
                        .collect();
                    let cells = sizes.into_iter().flat_map(|bytes| {
                        let of_operators = operators.iter().map(move |&operator| Cell {
                            collective,
                            shape,
                            bytes,
                            datatype,
                            operator,
                            distribution: Distribution::Uniform,
                        });
                        of_operators.flat_map(|cell| {
                            distributions.iter().map(move |&distribution| Cell {
                                distribution,
                                ..cell
                            })
                        })
                    });
                    cells.collect::<Vec<_>>()
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

    /// The conditions under which a candidate is repeated no further, if one launch takes `turns` turns: one per
    /// candidate of each cell and one per experiment.
    ///
    /// `slice: auto` divides the exploring part of the budget evenly between the turns of all launches.
    pub fn repetition_for_turns(&self, turns: usize) -> Repetition {
        let slice_seconds = match self.repetitions.slice {
            TimeSlice::Seconds(seconds) => seconds,
            TimeSlice::Auto => {
                Self::even_slice_seconds(self.exploring_seconds(), self.launches, turns)
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

    /// The time slice of a turn, in which one candidate of a cell or one experiment is repeated, if `seconds` are
    /// divided evenly between `launches` launches of `turns` turns each: 70 % of its share, as the rest is not for
    /// repetitions.
    pub fn even_slice_seconds(seconds: f64, launches: u32, turns: usize) -> f64 {
        let turns = u32::try_from(turns).unwrap_or(u32::MAX).max(1);
        REPETITION_SHARE * seconds / (f64::from(launches) * f64::from(turns))
    }
}
