//! `I_MPI_ADJUST_<COLLECTIVE>` of Intel MPI: presets by number, each with ranges of sizes and ranks.
//!
//! The grammar is that of Intel's Developer Reference (2021.8 to 2021.15). What the library makes of a value is not
//! documented: it was seen in 2021.19, by watching which of its functions are called.
//!
//! - A range counts up to its end, and where it begins is ignored. Larger messages get the preset of the last range.
//! - Of several ranges with the same numbers of ranks, only the last one counts.
//! - Preset 0, and a number that no preset has, is a fixed choice without the library's tuning file.
//! - A value that cannot be read is ignored as a whole, silently.

use crate::findings::{FindingKind::*, SteeringFindings};

/// The beginning of the names of these variables.
pub(crate) const PREFIX: &str = "I_MPI_ADJUST_";

/// The collectives with the largest number of a preset in 2021.19, as `impi_info` prints it.
const PRESETS: [(&str, u32); 17] = [
    ("ALLGATHER", 6),
    ("ALLGATHERV", 5),
    ("ALLREDUCE", 32),
    ("ALLTOALL", 18),
    ("ALLTOALLV", 9),
    ("ALLTOALLW", 6),
    ("BARRIER", 11),
    ("BCAST", 22),
    ("EXSCAN", 3),
    ("GATHER", 5),
    ("GATHERV", 4),
    ("REDUCE", 19),
    ("REDUCE_SCATTER", 6),
    ("REDUCE_SCATTER_BLOCK", 4),
    ("SCAN", 3),
    ("SCATTER", 5),
    ("SCATTERV", 4),
];

/// The most ranges of one variable that are compared with each other.
const MOST_RANGES: usize = 1024;

/// Sizes in bytes and numbers of ranks, both ends included.
#[derive(Clone, Copy)]
struct Range {
    bytes: [u64; 2],
    ranks: [u64; 2],
}

/// What is wrong with the value of such a variable.
pub(crate) fn examine_adjustment(
    line: Option<usize>,
    name: &str,
    value: &str,
    found: &mut SteeringFindings,
) {
    let own = name.strip_prefix(PREFIX).unwrap_or(name);
    // The search space of the library's own tuning.
    if own.ends_with("_LIST") {
        return;
    }
    let blocking = own.strip_prefix('I').unwrap_or(own);
    let known = PRESETS
        .iter()
        .find(|(known, _)| *known == own || *known == blocking);
    let Some((_, last)) = known else {
        let names = PRESETS.iter().map(|(preset, _)| preset);
        let near = names.min_by_key(|preset| strsim::levenshtein(preset, own));
        found.report(
            line,
            UnknownName,
            format!("no collective is called `{own}`, so {name} has no effect"),
            near.map_or_else(
                || "remove it".to_owned(),
                |near| format!("did you mean {PREFIX}{near}?"),
            ),
        );
        return;
    };
    if value.trim().is_empty() {
        found.report(
            line,
            NoEffect,
            format!("{name} has no value"),
            "write the number of a preset, or remove it",
        );
        return;
    }
    let mut ranges: Vec<Range> = Vec::new();
    for part in value.split(';').map(str::trim) {
        let (id, conditions) = part.split_once(':').unwrap_or((part, ""));
        let Ok(number) = id.trim().parse::<u32>() else {
            found.report(
                line,
                Misread,
                format!("`{part}` in {name} does not begin with the number of a preset"),
                "write `NUMBER:FROM-TO@RANKS-RANKS`, separated by `;`",
            );
            continue;
        };
        if number > *last && own == blocking {
            found.note(
                line,
                Remark,
                format!(
                    "{name} has the presets 1 to {last} in 2021.19, where {number} means the same as 0; `impi_info -v \
                     {name}` shows which exist"
                ),
            );
        } else if number == 0 {
            found.note(
                line,
                Remark,
                format!(
                    "preset 0 of {name} is not the library's decision without this variable: it leaves out the \
                     library's tuning file"
                ),
            );
        }
        for condition in conditions
            .split(',')
            .map(str::trim)
            .filter(|text| !text.is_empty())
        {
            match parse_condition(condition) {
                Some(range) => {
                    if ranges.len() == MOST_RANGES {
                        found.note(
                            line,
                            NotSupported,
                            format!("{name} has more than {MOST_RANGES} ranges, and the later ones are not examined"),
                        );
                        return;
                    }
                    if let Some(earlier) = ranges.iter().find(|earlier| overlap(earlier, &range)) {
                        let [from, to] = earlier.bytes;
                        found.report(
                            line,
                            Misread,
                            format!(
                                "`{condition}` in {name} overlaps {from}-{to} before, which counts up to its end"
                            ),
                            "write ranges that do not overlap",
                        );
                    }
                    let has_same_ranks =
                        |earlier: &&Range| earlier.ranks == range.ranks && has_ranks(&range);
                    if let Some(earlier) = ranges.iter().find(has_same_ranks) {
                        let [from, to] = earlier.bytes;
                        found.report(
                            line,
                            NoEffect,
                            format!(
                                "{from}-{to} in {name} has the same numbers of ranks as `{condition}`, which alone \
                                 counts, for all sizes"
                            ),
                            "distinguish sizes or numbers of ranks, not both",
                        );
                    }
                    ranges.push(range);
                }
                None => found.report(
                    line,
                    Misread,
                    format!("`{condition}` in {name} is not a range of bytes and ranks"),
                    "write FROM-TO or FROM-TO@RANKS-RANKS in plain decimals, the smaller number first",
                ),
            }
        }
    }
}

fn parse_condition(text: &str) -> Option<Range> {
    let (bytes, ranks) = match text.split_once('@') {
        Some((bytes, ranks)) => (bytes, Some(ranks)),
        None => (text, None),
    };
    let ranks = match ranks {
        Some(ranks) => parse_range(ranks)?,
        None => [0, u64::MAX],
    };
    let bytes = parse_range(bytes)?;
    Some(Range { bytes, ranks })
}

fn parse_range(text: &str) -> Option<[u64; 2]> {
    let (from, to) = match text.split_once('-') {
        Some((from, to)) => (from.parse().ok()?, to.parse().ok()?),
        None => {
            let only = text.parse().ok()?;
            (only, only)
        }
    };
    (from <= to).then_some([from, to])
}

/// Whether a range has a condition on the number of ranks.
fn has_ranks(range: &Range) -> bool {
    range.ranks != [0, u64::MAX]
}

fn overlap(one: &Range, other: &Range) -> bool {
    let meet = |left: [u64; 2], right: [u64; 2]| left[0] <= right[1] && right[0] <= left[1];
    meet(one.bytes, other.bytes) && meet(one.ranks, other.ranks)
}
