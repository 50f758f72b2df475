//! Which algorithms compete in a cell, and with which parameters.

use glob::Pattern;
use schedule::{Algorithm, Collective, Parameter};
use wire::{Candidate, Cell, Parameters};

use crate::Campaign;

/// The algorithms that are compared with the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    pub(crate) include: Vec<Pattern>,
    pub(crate) exclude: Vec<Pattern>,
}

impl Selection {
    /// Whether the algorithm with this full name, `collective/id`, takes part.
    pub fn selects(&self, name: &str) -> bool {
        let any = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(name));
        any(&self.include) && !any(&self.exclude)
    }

    /// The algorithms of a collective that take part.
    pub fn of(&self, collective: Collective) -> impl Iterator<Item = &'static Algorithm> {
        schedule::of(collective).filter(|algorithm| self.selects(&algorithm.name()))
    }

    /// The patterns as they were written: included, excluded.
    pub(crate) fn patterns(&self) -> (Vec<&str>, Vec<&str>) {
        (
            self.include.iter().map(Pattern::as_str).collect(),
            self.exclude.iter().map(Pattern::as_str).collect(),
        )
    }
}

impl Campaign {
    /// The candidates of a cell, each once; the library's default comes first.
    ///
    /// `predicted_blocks` gives the block size in bytes that the model expects to be best for an
    /// algorithm in this cell, if it has an opinion; it is rounded to the nearest power of two.
    /// Blocks are rounded up to whole elements; those that hold the whole vector are one
    /// candidate with a single block.
    pub fn candidates(
        &self,
        cell: &Cell,
        predicted_blocks: &dyn Fn(&Algorithm) -> Option<u64>,
    ) -> Vec<Candidate> {
        let mut candidates = vec![Candidate::Default];
        for algorithm in self.selection.of(cell.collective) {
            for inner in self.compositions(algorithm) {
                let cuts = if is_pipelined(algorithm, &inner) {
                    self.cuts(cell, predicted_blocks(algorithm))
                } else {
                    vec![(None, None)]
                };
                for (block_bytes, blocks) in cuts {
                    let parameters = Parameters {
                        block_bytes,
                        blocks,
                        ..inner.clone()
                    };
                    let candidate = Candidate::Ours {
                        algorithm: algorithm.name(),
                        parameters,
                    };
                    if !candidates.contains(&candidate) {
                        candidates.push(candidate);
                    }
                }
            }
        }
        candidates
    }

    /// The inner algorithms of a composition; one without any for other algorithms.
    fn compositions(&self, algorithm: &Algorithm) -> Vec<Parameters> {
        let ids = |parameter, ids: &[String]| -> Vec<Option<String>> {
            if algorithm.takes(parameter) {
                ids.iter().cloned().map(Some).collect()
            } else {
                vec![None]
            }
        };
        let bcasts = ids(Parameter::Bcast, &self.parameters.bcast);
        ids(Parameter::Reduce, &self.parameters.reduce)
            .into_iter()
            .flat_map(|reduce| {
                bcasts.iter().cloned().map(move |bcast| Parameters {
                    reduce: reduce.clone(),
                    bcast,
                    ..Parameters::default()
                })
            })
            .collect()
    }

    /// Block size or number of blocks of every way to cut the vector of a cell.
    fn cuts(&self, cell: &Cell, predicted: Option<u64>) -> Vec<(Option<u64>, Option<u32>)> {
        let predicted = predicted
            .filter(|_| self.parameters.predicted)
            .map(nearest_power_of_two);
        let mut sizes: Vec<u64> = self
            .parameters
            .block_bytes
            .iter()
            .copied()
            .chain(predicted)
            .map(|size| {
                size.next_multiple_of(cell.datatype.size_bytes())
                    .min(cell.bytes)
            })
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        let cut = |size| {
            if size == cell.bytes {
                (None, Some(1))
            } else {
                (Some(size), None)
            }
        };
        sizes.into_iter().map(cut).collect()
    }
}

/// Whether cutting into blocks changes anything: in a composition, an inner algorithm must care.
fn is_pipelined(algorithm: &Algorithm, inner: &Parameters) -> bool {
    let inner_names: Vec<String> = [
        inner
            .reduce
            .as_ref()
            .map(|id| format!("{}/{id}", Collective::Reduce)),
        inner
            .bcast
            .as_ref()
            .map(|id| format!("{}/{id}", Collective::Bcast)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let takes_blocks = |algorithm: &Algorithm| algorithm.takes(Parameter::Blocks);
    takes_blocks(algorithm)
        && (inner_names.is_empty()
            || inner_names
                .iter()
                .any(|name| schedule::find(name).is_some_and(takes_blocks)))
}

/// The power of two that is nearest as a ratio.
fn nearest_power_of_two(bytes: u64) -> u64 {
    let exponent = bytes.max(1).ilog2().min(62);
    let below = 1u64 << exponent;
    // The border is the geometric mean, below * sqrt(2).
    let above = u128::from(bytes).pow(2) > 2 * u128::from(below).pow(2);
    if above { below << 1 } else { below }
}

#[cfg(test)]
mod tests {
    use super::nearest_power_of_two;

    #[test]
    fn the_nearest_power_of_two_is_nearest_as_a_ratio() {
        for (bytes, expected) in [
            (0, 1),
            (1, 1),
            (2, 2),
            (3, 4),
            (90, 64),
            (91, 128),
            (65536, 65536),
            (u64::MAX, 1 << 63),
        ] {
            assert_eq!(nearest_power_of_two(bytes), expected, "{bytes}");
        }
    }
}
