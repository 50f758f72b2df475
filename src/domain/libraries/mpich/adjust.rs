//! `I_MPI_ADJUST_<COLLECTIVE>` of Intel MPI: presets by number, each with ranges of sizes and ranks.
//!
//! From Intel's Developer Reference (2021.8 to 2021.15); what the library does with mistakes is not documented, and was not
//! run.

use crate::findings::{FindingKind::*, SteeringFindings};

/// The beginning of the names of these variables.
pub(super) const PREFIX: &str = "I_MPI_ADJUST_";

/// The collectives with the largest number of a preset that has a documented name (2020 update 2).
const PRESETS: [(&str, u32); 17] = [
    ("ALLGATHER", 5),
    ("ALLGATHERV", 4),
    ("ALLREDUCE", 12),
    ("ALLTOALL", 4),
    ("ALLTOALLV", 2),
    ("ALLTOALLW", 1),
    ("BARRIER", 9),
    ("BCAST", 14),
    ("EXSCAN", 2),
    ("GATHER", 4),
    ("GATHERV", 3),
    ("REDUCE", 11),
    ("REDUCE_SCATTER", 5),
    ("REDUCE_SCATTER_BLOCK", 4),
    ("SCAN", 2),
    ("SCATTER", 3),
    ("SCATTERV", 2),
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
pub(super) fn examine_adjustment(
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
    let Some((_, named)) = known else {
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
        if number > *named && own == blocking {
            found.note(
                line,
                Remark,
                format!("preset {number} of {name} has no documented name; `impi_info -v {name}` shows which exist"),
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
                            format!("`{condition}` in {name} overlaps {from}-{to} before; which one counts is not \
                                     documented"),
                            "write ranges that do not overlap",
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

fn overlap(one: &Range, other: &Range) -> bool {
    let meet = |left: [u64; 2], right: [u64; 2]| left[0] <= right[1] && right[0] <= left[1];
    meet(one.bytes, other.bytes) && meet(one.ranks, other.ranks)
}
