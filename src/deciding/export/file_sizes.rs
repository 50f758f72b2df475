//! Message sizes as libraries measure them, in files.

use crate::{LibraryRule, Native, RanksRules};

/// The quantity by which a library distinguishes messages in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileSizes {
    /// Whether it is the table's size times the number of ranks, instead of the table's size.
    pub(crate) of_all_ranks: bool,
    /// The largest size at which a choice can begin or end in a file.
    pub(crate) largest: u64,
}

impl FileSizes {
    /// A table's size in this quantity.
    pub(crate) fn size_in_file(self, bytes: u64, ranks: u32) -> u64 {
        if self.of_all_ranks {
            bytes.saturating_mul(u64::from(ranks))
        } else {
            bytes
        }
    }

    /// The rules, separately for the measured number of ranks if sizes depend on it: there they are written exactly.
    pub(crate) fn split_rules(self, rules: RanksRules) -> Vec<RanksRules> {
        if self.of_all_ranks {
            rules.split_off_measured()
        } else {
            vec![rules]
        }
    }

    /// The sizes in the file from which, and up to which (excluded), a choice holds. It begins where it does on the most
    /// ranks and ends where it does on the fewest, so on no number of ranks it holds at sizes at which the table does
    /// not have it. A choice whose end the file cannot name ends at the largest size. `None` if nothing is left.
    fn range_in_file(
        self,
        rules: &RanksRules,
        (choice, end): (&LibraryRule, Option<u64>),
    ) -> Option<(u64, Option<u64>)> {
        let from = self.size_in_file(choice.from_bytes, rules.last);
        let end = end.map(|end| self.size_in_file(end, rules.first).min(self.largest));
        (from <= self.largest && end.is_none_or(|end| from < end)).then_some((from, end))
    }

    /// Leaves choices to the library for which no size is left.
    pub(crate) fn trim_choices(self, rules: &mut RanksRules) {
        let all = rules.clone();
        rules.rewrite_choices(|choice, end| {
            vec![match self.range_in_file(&all, (choice, end)) {
                Some(_) => choice.clone(),
                None => LibraryRule::left_to_library(choice.from_bytes),
            }]
        });
    }

    /// The rules as rows of a file: from 0, with ascending sizes in the library's quantity; adjacent ones differ.
    pub(crate) fn file_rows(self, rules: &RanksRules) -> Vec<LibraryRule> {
        let mut rows = vec![LibraryRule::left_to_library(0)];
        for range in rules.ranges() {
            let Some((from_bytes, end)) = self.range_in_file(rules, range) else {
                continue;
            };
            let native = range.0.native.clone();
            rows.push(LibraryRule { from_bytes, native });
            rows.extend(end.map(LibraryRule::left_to_library));
        }
        rows.dedup_by(|next, before| {
            let is_same = next.from_bytes == before.from_bytes;
            if is_same {
                before.native = next.native.take();
            }
            is_same
        });
        rows.dedup_by(|next, before| next.native == before.native);
        rows
    }

    /// The choice that a file must make for a call.
    pub(crate) fn expected_choice(
        self,
        rules: &RanksRules,
        bytes: u64,
        ranks: u32,
    ) -> Option<&Native> {
        let mut ranges = rules.ranges();
        let holds = |(choice, end): &(&LibraryRule, Option<u64>)| {
            choice.from_bytes <= bytes && end.is_none_or(|end| bytes < end)
        };
        let found = ranges.find(holds)?;
        let (from, end) = self.range_in_file(rules, found)?;
        let size = self.size_in_file(bytes, ranks);
        let is_written = from <= size && end.is_none_or(|end| size < end);
        found.0.native.as_ref().filter(|_| is_written)
    }

    /// Whether a choice of the library's algorithms is cut or left out, since the file cannot name its sizes.
    pub(crate) fn cuts_choices(self, rules: &RanksRules) -> bool {
        let mut ranges = rules.ranges();
        ranges.any(|(choice, end)| {
            let bound = end.map_or(choice.from_bytes, |end| end);
            choice.native.is_some() && self.size_in_file(bound, rules.last) > self.largest
        })
    }

    /// The bytes and ranks at which files are compared with the rules: at every threshold of the table and of the file,
    /// on either side of it and around the largest size, on the fewest and the most ranks, and on one rank less and
    /// more.
    pub(crate) fn comparison_points(self, rules: &RanksRules) -> impl Iterator<Item = (u64, u32)> {
        let (first, last) = (rules.first, rules.last);
        let thresholds = rules.choices.iter().map(|choice| choice.from_bytes);
        let rows = self.file_rows(rules).into_iter().map(|row| row.from_bytes);
        let of_file = rows.chain([self.largest]);
        let of_file = of_file.flat_map(move |size| {
            [first, last].map(|ranks| size / self.size_in_file(1, ranks).max(1))
        });
        let all_ranks = [first.saturating_sub(1), first, last, last + 1];
        let sizes: Vec<u64> = thresholds.chain(of_file).collect();
        let sizes = sizes.into_iter();
        let sizes = sizes.flat_map(|at| [at.saturating_sub(1), at, at.saturating_add(1)]);
        let points = sizes.flat_map(move |bytes| all_ranks.map(|ranks| (bytes, ranks)));
        points.filter(|(_, ranks)| *ranks > 0)
    }
}
