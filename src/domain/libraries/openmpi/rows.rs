//! The rows of rules for `tuned`, and the calls to which they apply.

use std::collections::BTreeMap;
use std::fmt;

use super::tuned::TunedCollective;
use crate::findings::{ExaminedRelease, FindingKind::*, SteeringFindings};

/// A row of rules: an algorithm from a message size on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) bytes: i64,
    pub(super) algorithm: i64,
    pub(super) fanout: i64,
    pub(super) segment: i64,
    /// The most requests under way; `None` if the row does not say it.
    pub(super) requests: Option<i64>,
}

/// A range of numbers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: i64,
    pub(super) last: i64,
}

impl fmt::Display for Span {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last } = self;
        if *last == i64::MAX {
            write!(to, "{first} and more")
        } else if first == last {
            write!(to, "{first}")
        } else {
            write!(to, "{first} to {last}")
        }
    }
}

impl Span {
    fn unless_empty(first: i64, last: i64) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }
}

/// The numbers to which entries apply that begin at these bounds, as 4.0 to 5.0 search: up to the first larger bound.
/// The first entry also applies to smaller numbers.
pub(super) fn covered_from(bounds: &[i64]) -> Vec<Option<Span>> {
    let mut largest = 0;
    let mut covered = Vec::new();
    for (bound, place) in bounds.iter().zip(1..) {
        largest = largest.max(*bound);
        let first = if place == 1 { 0 } else { largest };
        // The search ends at the first entry if that is already too large.
        let begin = if place == 1 { *bound } else { 0 };
        let next = bounds.get(place).map(|next| *next.max(&begin));
        covered.push(Span::unless_empty(
            first,
            next.map_or(i64::MAX, |next| next - 1),
        ));
    }
    covered
}

/// The numbers of ranks to which entries with these sizes apply in 6.0, where an entry ends before its size, and the last
/// one has no end. The first one that fits counts.
pub(super) fn covered_up_to(bounds: &[i64]) -> Vec<Option<Span>> {
    let begins = std::iter::once(0).chain(bounds.iter().copied());
    let entries = begins
        .zip(bounds)
        .zip(1..)
        .map(|((first, bound), number)| Span {
            first,
            last: if number == bounds.len() {
                i64::MAX
            } else {
                bound - 1
            },
        });
    first_matches(entries)
}

/// The messages to which rows with these sizes apply.
///
/// In 6.0 a row ends before the next one's size, computed without a sign: before a row for size 0 it has no end. The first
/// row that fits counts.
pub(super) fn covered_messages(release: [u32; 3], bounds: &[i64]) -> Vec<Option<Span>> {
    if release[0] < 6 {
        return covered_from(bounds);
    }
    let rows = bounds.iter().zip(1..).map(|(first, next)| Span {
        first: *first,
        last: match bounds.get(next) {
            None | Some(0) => i64::MAX,
            Some(next) => next - 1,
        },
    });
    first_matches(rows)
}

/// What is left for each range of numbers where the first one that fits counts: from the first number that no earlier
/// range has.
fn first_matches(ranges: impl Iterator<Item = Span>) -> Vec<Option<Span>> {
    // What earlier ranges take, by first numbers: apart from each other, and not adjacent.
    let mut taken: BTreeMap<i64, i64> = BTreeMap::new();
    let mut covered: Vec<Option<Span>> = Vec::new();
    for range in ranges {
        let before = taken.range(..=range.first).next_back();
        let first = match before.map(|(_, taken_last)| *taken_last) {
            Some(i64::MAX) => None,
            Some(taken_last) => Some(range.first.max(taken_last + 1)),
            None => Some(range.first),
        };
        let span = first.and_then(|first| Span::unless_empty(first, range.last));
        if let Some(span) = span {
            take_span(&mut taken, span.first, span.last);
        }
        covered.push(span);
    }
    covered
}

/// Adds numbers to those that are taken, of which none may be in the gap before `first`.
fn take_span(taken: &mut BTreeMap<i64, i64>, mut first: i64, mut last: i64) {
    if let Some((earlier, end)) = taken.range(..first).next_back()
        && end.checked_add(1).is_none_or(|next| next >= first)
    {
        (first, last) = (*earlier, last.max(*end));
    }
    while let Some((&later, &end)) = taken.range(first..).next()
        && last.checked_add(1).is_none_or(|next| later <= next)
    {
        last = last.max(end);
        taken.remove(&later);
    }
    taken.insert(first, last);
}

/// Rules with the numbers to which they apply, so that later ones for numbers which are all taken are found. Of rules
/// that one of these already covers, none is kept: so `last` ascends with `first`.
#[derive(Clone, Debug, Default)]
pub(super) struct CoveringRules(BTreeMap<i64, CoveringRule>);

#[derive(Clone, Copy, Debug)]
struct CoveringRule {
    last: i64,
    line: usize,
}

impl CoveringRules {
    /// The line of a rule for all of these numbers.
    pub(super) fn line_covering(&self, span: Span) -> Option<usize> {
        let (_, rule) = self.0.range(..=span.first).next_back()?;
        (rule.last >= span.last).then_some(rule.line)
    }

    /// Adds a rule.
    pub(super) fn add_rule(&mut self, span: Span, line: usize) {
        if span.first > span.last || self.line_covering(span).is_some() {
            return;
        }
        while let Some((&narrower, rule)) = self.0.range(span.first..).next()
            && rule.last <= span.last
        {
            self.0.remove(&narrower);
        }
        let Span { first, last } = span;
        self.0.insert(first, CoveringRule { last, line });
    }
}

/// The place of the row that counts for messages without data.
pub(super) fn row_for_empty_messages(covered: &[Option<Span>]) -> Option<usize> {
    covered
        .iter()
        .position(|span| span.is_some_and(|span| span.first == 0))
}

/// What is wrong with the rows for some numbers of ranks.
pub(super) fn examine_rows(
    release: &ExaminedRelease<'_>,
    collective: &TunedCollective,
    ranks: Span,
    rows: &[Row],
    found: &mut SteeringFindings,
) {
    let bounds: Vec<i64> = rows.iter().map(|row| row.bytes).collect();
    let all_covered = covered_messages(release.version_numbers(), &bounds);
    let row_for_none = row_for_empty_messages(&all_covered);
    for ((row, covered), place) in rows.iter().zip(all_covered).zip(0..) {
        if collective.has_no_sizes() && rows.len() > 1 {
            // All calls have the size 0, for which one row counts.
            if row_for_none != Some(place) {
                found.report(
                    row.line,
                    Unreachable,
                    format!(
                        "every {} counts as a message of 0 bytes, so this row applies to none",
                        collective.name
                    ),
                    "keep one row, for size 0",
                );
                continue;
            }
        } else if covered.is_none() {
            found.report(
                row.line,
                Unreachable,
                format!(
                    "this row of {} for {} bytes applies to no message, since the sizes of the rows do not ascend",
                    collective.name, row.bytes
                ),
                "sort the rows by message size, each size once",
            );
            continue;
        } else if covered.is_some_and(|covered| covered.first > row.bytes) {
            let covered = covered
                .map(|covered| covered.to_string())
                .unwrap_or_default();
            found.report(
                row.line,
                Misread,
                format!("this row of {} applies to {covered} bytes", collective.name),
                "sort the rows by message size",
            );
        }
        examine_choice(release, collective, ranks, row, found);
    }
    let differ = rows
        .windows(2)
        .find(|pair| (pair[0].algorithm, pair[0].segment) != (pair[1].algorithm, pair[1].segment));
    if collective.has_local_sizes()
        && let Some(pair) = differ
    {
        found.report(
            pair[1].line,
            Unsafe,
            format!(
                "ranks of a correct {0} may see different message sizes (only the root's arguments may count, or the \
                 data is in place) and then choose different rows, which stops programs",
                collective.name
            ),
            "keep one row for each communicator size",
        );
    }
}

/// What is wrong with the algorithm and the parameters of a rule that applies to some numbers of ranks.
pub(super) fn examine_choice(
    release: &ExaminedRelease<'_>,
    collective: &TunedCollective,
    ranks: Span,
    row: &Row,
    found: &mut SteeringFindings,
) {
    let numbers = release.version_numbers();
    let name = collective.name;
    let line = row.line;
    if row.algorithm == 0 {
        return;
    }
    let Some(algorithm) = collective.algorithm(numbers, row.algorithm) else {
        let count = collective.algorithms_of(numbers).count();
        found.report(
            line,
            FailingCall,
            format!(
                "{name} has algorithms 1 to {count} in this release, not {}, so the calls return MPI_ERR_ARG",
                row.algorithm
            ),
            format!("write a number from 0 to {count}; 0 leaves the choice to the library"),
        );
        return;
    };
    let (number, number_of_ranks) = (row.algorithm, ranks);
    if TunedCollective::is_for_two_ranks(algorithm) && ranks != (Span { first: 2, last: 2 }) {
        let more = Span {
            first: ranks.first.max(3),
            last: ranks.last,
        };
        if more.first <= more.last {
            found.report(
                line,
                FailingCall,
                format!(
                    "{name} {number} ({algorithm}) serves 2 ranks only, but this row applies to \
                         {number_of_ranks} ranks"
                ),
                "write rules for communicators of 2 and of 3 ranks",
            );
        }
    }
    if collective.is_unordered(algorithm) && !release.assume_commutative {
        found.report(
            line,
            Unsafe,
            format!("{name} {number} ({algorithm}) gives wrong results for operators that do not commute"),
            "choose an algorithm that combines in order, or examine with --assume-commutative if no program has \
             such operators",
        );
    }
    let known = collective.known_algorithm(algorithm);
    if (name, algorithm, row.segment) == ("allreduce", "segmented_ring", 0) {
        found.note(
            line,
            Replaced,
            format!("without a segment size, {name} {number} ({algorithm}) becomes the ring"),
        );
    } else if known.is_some_and(|known| !known.takes_segments) && row.segment != 0 {
        found.note(
            line,
            Remark,
            format!("{name} {number} ({algorithm}) takes no segments, so the segment size {} has no effect", row.segment),
        );
    }
    let is_single = ranks.first == ranks.last;
    match algorithm {
        "recursive_doubling" if name == "allgather" => {
            let is_power = is_single && u64::try_from(ranks.first).is_ok_and(u64::is_power_of_two);
            if !is_power {
                found.note(
                    line,
                    Replaced,
                    format!(
                        "{name} {number} ({algorithm}) becomes Bruck's algorithm if \
                    the number of ranks is not a power of two"
                    ),
                );
            }
        }
        "neighbor" if !(is_single && ranks.first % 2 == 0) => {
            found.note(
                line,
                Replaced,
                format!(
                    "{name} {number} ({algorithm}) becomes the ring if the number of ranks is odd"
                ),
            );
        }
        "bruck-k-fanout" | "knomial" if name != "bcast" && row.fanout < 2 => {
            found.report(
                line,
                FailingCall,
                format!("{name} {number} ({algorithm}) needs a fanout of at least 2 in this release, not {}", row.fanout),
                "write a fanout of 2 or more",
            );
        }
        _ => {}
    }
}
