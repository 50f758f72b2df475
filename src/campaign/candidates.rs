//! Which algorithms compete in a cell, and with which parameters.

use std::collections::BTreeSet;

use glob::Pattern;
use schedule::{Algorithm, Collective, Parameter, Schedule};
use wire::{Candidate, Cell, Parameters};

use crate::Campaign;

/// The algorithms that are compared with the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    pub(crate) include: Vec<Pattern>,
    pub(crate) exclude: Vec<Pattern>,
}

impl Selection {
    /// Whether the candidate with this full name without parameters takes part.
    ///
    /// A pattern with a colon is about those that have one, as `native:*`, and any other about our
    /// own algorithms.
    pub fn selects(&self, name: &str) -> bool {
        let matches = |pattern: &Pattern| {
            pattern.as_str().contains(':') == name.contains(':') && pattern.matches(name)
        };
        self.include.iter().any(matches) && !self.exclude.iter().any(matches)
    }

    /// Whether any of the library's own algorithms may take part.
    pub fn selects_natives(&self) -> bool {
        let is_native = |pattern: &Pattern| pattern.as_str().starts_with(Candidate::NATIVE);
        self.include.iter().any(is_native)
    }

    /// Whether the library's own algorithms or mock-ups of a collective may take part.
    pub(crate) fn selects_others(&self, collective: Collective) -> bool {
        // Which algorithms a library has is not known before it is asked.
        let is_native = |pattern: &Pattern| {
            let rest = pattern.as_str().strip_prefix(Candidate::NATIVE)?;
            let of = rest.split_once('/').map_or(rest, |(of, _)| of);
            Pattern::new(of).ok()
        };
        let mut natives = self.include.iter().filter_map(is_native);
        // What matches a name that no algorithm has matches them all.
        let any = format!("{}{collective}/-", Candidate::NATIVE);
        let is_excluded = self.exclude.iter().any(|pattern| pattern.matches(&any));
        (!is_excluded && natives.any(|of| of.matches(collective.name())))
            || wire::MOCKUPS
                .iter()
                .any(|mockup| mockup.collective == collective && self.selects(&mockup.name()))
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
    /// The candidates of a cell, each once; the library's default comes first. Algorithms that
    /// cannot serve the cell, as on an odd number of ranks, are left out.
    ///
    /// `predicted_blocks` gives the block size in bytes that the model expects to be best for an
    /// algorithm in this cell, if it has an opinion; it is rounded to the nearest power of two.
    /// Blocks are rounded up to whole elements; those that hold all that an algorithm cuts at once
    /// are one candidate with a single block. Radices from the number of ranks on make the same
    /// tree and are one candidate.
    pub fn candidates(
        &self,
        cell: &Cell,
        predicted_blocks: &dyn Fn(&'static Algorithm, &Parameters) -> Option<u64>,
    ) -> Vec<Candidate> {
        let mut candidates = vec![Candidate::Default];
        for algorithm in self.selection.of(cell.collective) {
            let variants = self.compositions(algorithm).into_iter();
            let variants = variants.flat_map(|inner| self.radices(algorithm, cell, inner));
            let variants = variants.flat_map(|inner| {
                if cares(algorithm, &inner, Parameter::Blocks) {
                    let predicted = predicted_blocks(algorithm, &inner);
                    self.cuts(algorithm, cell, inner, predicted)
                } else {
                    vec![inner]
                }
            });
            for parameters in variants {
                let serves = Schedule::new(algorithm, &cell.request(&parameters)).is_ok();
                let candidate = Candidate::Ours {
                    algorithm: algorithm.name(),
                    parameters,
                };
                if serves && !candidates.contains(&candidate) {
                    candidates.push(candidate);
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

    /// The same parameters with every radix, if the algorithm has one.
    fn radices(&self, algorithm: &Algorithm, cell: &Cell, inner: Parameters) -> Vec<Parameters> {
        if !cares(algorithm, &inner, Parameter::Radix) {
            return vec![inner];
        }
        let widest = cell
            .shape
            .ranks()
            .max(*schedule::Parameters::RADICES.start());
        let with = |radix: &u32| Parameters {
            radix: Some((*radix).min(widest)),
            ..inner.clone()
        };
        self.parameters.radix.iter().map(with).collect()
    }

    /// The same parameters with every block size; one block where it holds everything.
    fn cuts(
        &self,
        algorithm: &'static Algorithm,
        cell: &Cell,
        inner: Parameters,
        predicted: Option<u64>,
    ) -> Vec<Parameters> {
        let predicted = predicted
            .filter(|_| self.parameters.predicted)
            .map(nearest_power_of_two);
        let given = self.parameters.block_bytes.iter().copied();
        let sizes: BTreeSet<u64> = given
            .chain(predicted)
            .map(|size| size.next_multiple_of(cell.datatype.size_bytes()))
            .collect();
        let cut = |size| {
            let sized = Parameters {
                block_bytes: Some(size),
                ..inner.clone()
            };
            let schedule = Schedule::new(algorithm, &cell.request(&sized));
            match schedule.is_ok_and(|schedule| schedule.shape().blocks == 1) {
                true => Parameters {
                    blocks: Some(1),
                    ..inner.clone()
                },
                false => sized,
            }
        };
        sizes.into_iter().map(cut).collect()
    }
}

/// Whether a parameter changes anything: in a composition, a part that is given must take it.
fn cares(algorithm: &Algorithm, inner: &Parameters, parameter: Parameter) -> bool {
    let parts = [
        (Collective::Reduce, &inner.reduce),
        (Collective::Bcast, &inner.bcast),
    ];
    let mut parts = parts
        .into_iter()
        .filter_map(|(collective, id)| Some((collective, id.as_ref()?)))
        .peekable();
    let takes = |algorithm: &Algorithm| algorithm.takes(parameter);
    takes(algorithm)
        && (parts.peek().is_none()
            || parts.any(|(collective, id)| {
                schedule::find(&format!("{collective}/{id}")).is_some_and(takes)
            }))
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
