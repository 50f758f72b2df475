//! Checks of message sizes.

use std::collections::BTreeMap;

use schedule::{Collective, Distribution};
use strict_yaml::{Field, OneOrMany, Scalar, Shorthand};
use vocabulary::CommShape;
use vocabulary::units::parse_byte_range;

use super::{Checked, LARGEST_SIZE_BYTES, Validator};
use crate::definition::SizesDefinition;
use crate::{Campaign, Problem};

const DEFAULT_SIZES: &str = "8..4M x4";
/// The default sizes if every rank has a part of the vector, since many ranks then make the vector long.
const DEFAULT_PART_SIZES: &str = "8..1M x4";
/// The default sizes where a table has one rule for all sizes: few, since the rule is measured at all of them, for all
/// distributions.
const DEFAULT_WHOLE_SIZES_OF_ONE_RULE: &str = "1K..4M x16";
const DEFAULT_BLOCK_SIZES_OF_ONE_RULE: &str = "16..64K x16";
const DEFAULT_KEY: &str = "default";

impl Validator<'_> {
    /// The sizes of each collective, ascending; only 0 for collectives without data.
    pub(super) fn check_sizes(
        &self,
        given: Option<&SizesDefinition>,
        collectives: &[Collective],
        shapes: &[CommShape],
        distributions: &[Distribution],
    ) -> Checked<BTreeMap<Collective, Vec<u64>>> {
        let field = Field::from_key("sizes");
        let standard = |sizes: &str| {
            let sizes = OneOrMany(vec![Scalar(sizes.to_owned())]);
            self.check_size_list(&field, &sizes)
        };
        let (wholes, mut parts) = (standard(DEFAULT_SIZES)?, standard(DEFAULT_PART_SIZES)?);
        let wholes_of_one_rule = standard(DEFAULT_WHOLE_SIZES_OF_ONE_RULE)?;
        let most_ranks = shapes.iter().map(|shape| shape.ranks()).max();
        let longest_part = LARGEST_SIZE_BYTES / u64::from(most_ranks.unwrap_or(1).max(1));
        parts.retain(|bytes| *bytes <= longest_part);
        let mut blocks_of_one_rule = standard(DEFAULT_BLOCK_SIZES_OF_ONE_RULE)?;
        blocks_of_one_rule.retain(|bytes| {
            let mut rows = shapes
                .iter()
                .map(|shape| longest_row_bytes(distributions, *bytes, shape.ranks()));
            rows.all(|row| row <= LARGEST_SIZE_BYTES)
        });
        let mut others = None;
        let mut own: BTreeMap<Collective, Vec<u64>> = BTreeMap::new();
        match given {
            None => {}
            Some(Shorthand::Short(list)) => others = Some(self.check_size_list(&field, list)?),
            Some(Shorthand::Full(by_collective)) => {
                for (key, list) in by_collective {
                    let field = field.key(key);
                    let sizes = self.check_size_list(&field, list)?;
                    match key.parse::<Collective>() {
                        Ok(collective) if !collective.has_data() => {
                            let problem = Problem::NoData { collective };
                            return Err(self.document.error_at_key(&field, problem));
                        }
                        Ok(collective) => {
                            own.insert(collective, sizes);
                        }
                        Err(_) if key == DEFAULT_KEY => others = Some(sizes),
                        Err(unknown) => {
                            let with_data = Collective::ALL.into_iter().filter(|c| c.has_data());
                            let known = with_data.map(Collective::name).chain([DEFAULT_KEY]);
                            let mistake = table::unknown_collective(&unknown, known);
                            return Err(self.document.error_at_key(&field, mistake));
                        }
                    }
                }
            }
        }
        let mut sizes = BTreeMap::new();
        for collective in collectives {
            if !collective.has_data() {
                sizes.insert(*collective, vec![0]);
                continue;
            }
            let usual = match (collective.is_sized_by_part(), collective.decides_by_size()) {
                (true, true) => &parts,
                (true, false) => &blocks_of_one_rule,
                (false, true) => &wholes,
                (false, false) => &wholes_of_one_rule,
            };
            let chosen = own.get(collective).or(others.as_ref()).unwrap_or(usual);
            let longest = chosen.last().copied().unwrap_or(0);
            let place = if own.contains_key(collective) {
                field.key(collective.name())
            } else {
                field.key(DEFAULT_KEY)
            };
            self.refuse_long_vector(&place, *collective, longest, shapes)?;
            if collective.has_block_counts() {
                self.refuse_long_rows(&place, *collective, longest, shapes, distributions)?;
            }
            sizes.insert(*collective, chosen.clone());
        }
        Ok(sizes)
    }

    /// Refuses sizes of parts for which the whole vector is too long.
    fn refuse_long_vector(
        &self,
        field: &Field,
        collective: Collective,
        bytes: u64,
        shapes: &[CommShape],
    ) -> Checked<()> {
        let largest = shapes.iter().max_by_key(|shape| shape.ranks());
        match largest.filter(|_| collective.is_sized_by_part()) {
            Some(&shape) if bytes.saturating_mul(shape.ranks().into()) > LARGEST_SIZE_BYTES => {
                let problem = Problem::Vector {
                    collective,
                    shape,
                    bytes,
                };
                Err(self.value_error(field, problem))
            }
            _ => Ok(()),
        }
    }

    /// Refuses sizes of blocks for which a distribution gives a rank more than a call can send.
    fn refuse_long_rows(
        &self,
        field: &Field,
        collective: Collective,
        bytes: u64,
        shapes: &[CommShape],
        distributions: &[Distribution],
    ) -> Checked<()> {
        let largest = shapes.iter().max_by_key(|shape| shape.ranks());
        let Some(&shape) = largest else { return Ok(()) };
        for &distribution in distributions {
            let row = longest_row_bytes(&[distribution], bytes, shape.ranks());
            if row > LARGEST_SIZE_BYTES {
                let problem = Problem::Row {
                    collective,
                    shape,
                    bytes,
                    distribution,
                    row,
                };
                return Err(self.value_error(field, problem));
            }
        }
        Ok(())
    }

    /// The distributions of irregular collectives, each once, in the order of [`Distribution::ALL`].
    pub(super) fn check_distributions(
        &self,
        given: Option<&OneOrMany<Scalar>>,
        collectives: &[Collective],
    ) -> Checked<Vec<Distribution>> {
        let Some(words) = given else {
            return Ok(Campaign::DISTRIBUTIONS.to_vec());
        };
        let field = Field::from_key("distributions");
        let known = Distribution::ALL.map(|known| (known.name(), known));
        let named = self.check_words(&field, words, "distribution", &known)?;
        if !collectives
            .iter()
            .any(|collective| collective.is_irregular())
        {
            return Err(self
                .document
                .error_at_key(&field, Problem::NothingDistributed));
        }
        Ok(named.into_iter().collect())
    }

    /// Sizes and ranges of sizes: ascending, each once.
    pub(super) fn check_size_list(
        &self,
        field: &Field,
        list: &OneOrMany<Scalar>,
    ) -> Checked<Vec<u64>> {
        let mut all = Vec::new();
        for (index, Scalar(text)) in self.nonempty_entries(field, list)?.iter().enumerate() {
            let field = field.index(index);
            let sizes =
                parse_byte_range(text).map_err(|error| self.value_error(&field, error.into()))?;
            let outside = sizes
                .iter()
                .find(|size| !(1..=LARGEST_SIZE_BYTES).contains(*size));
            if let Some(&bytes) = outside {
                return Err(self.value_error(&field, Problem::Size { bytes }));
            }
            all.extend(sizes);
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }
}

/// The most bytes that a rank sends in an alltoallv with blocks of `bytes` bytes on average.
fn longest_row_bytes(distributions: &[Distribution], bytes: u64, ranks: u32) -> u64 {
    let rows = distributions
        .iter()
        .map(|distribution| distribution.longest_row(bytes, ranks));
    rows.max().unwrap_or(0)
}
