//! The rules of files for `tuned` that a release uses.

use schedule::Collective;

use super::rows::{self, Row, Span};
use super::tuned::{TunedCollective, collective_by_number};
use super::{classic, rules_json};
use crate::file_rules::{FileChoice, FileOperators, FileRules, LeftOutLine, RuleInFile};
use crate::findings::{ExaminedRelease, SteeringFinding};
use crate::json::begins_like_object;

/// The rules of a file for `tuned`, in either format.
///
/// # Errors
/// The finding about a file that the release ignores as a whole.
pub(super) fn read_tuned_rules(
    release: &ExaminedRelease<'_>,
    text: &str,
) -> Result<FileRules, SteeringFinding> {
    let found = super::rules_files::examine_tuned_file(release, text);
    if let Some(dropping) = found.dropping() {
        return Err(dropping.clone());
    }
    let mut rules = FileRules {
        rules: Vec::new(),
        left_out: Vec::new(),
        carried_out,
    };
    if begins_like_object(text) {
        rules_json::collect_rules(release, text, &mut rules);
    } else {
        collect_classic(release, text, &mut rules);
    }
    rules.left_out.sort();
    Ok(rules)
}

/// The collective of tables, or the reason why there is none.
pub(super) fn collective_of_tables(tuned: &TunedCollective) -> Result<Collective, String> {
    if !tuned.is_served() {
        return Err(format!(
            "the component tuned does not carry out {}",
            tuned.name
        ));
    }
    let named = tuned.name.parse::<Collective>().ok();
    named.ok_or_else(|| format!("tables have no rules for {}", tuned.name))
}

fn collect_classic(release: &ExaminedRelease<'_>, text: &str, into: &mut FileRules) {
    let is_6 = release.version_numbers()[0] >= 6;
    let all = classic::collectives_of(text);
    for (rules, place) in all.iter().zip(1..) {
        let Some(tuned) = collective_by_number(rules.number) else {
            continue;
        };
        let mut later = all[place..].iter();
        let replaced = later.find(|later| later.number == rules.number);
        let usable = match replaced {
            Some(newer) => Err(format!(
                "{} is given again in line {}",
                tuned.name, newer.line
            )),
            None => collective_of_tables(tuned),
        };
        let bounds: Vec<i64> = rules.sizes.iter().map(|size| size.ranks).collect();
        let covered = if is_6 {
            rows::covered_up_to(&bounds)
        } else {
            rows::covered_from(&bounds)
        };
        for (size, ranks) in rules.sizes.iter().zip(covered) {
            // Rows that leave the choice to the library say nothing that could be lost.
            let chosen = size.rows.iter().filter(|row| row.algorithm != 0);
            let lines = chosen.map(|row| row.line);
            let ranks = ranks.filter(|ranks| ranks.last >= 2);
            match (&usable, ranks) {
                (Err(why), _) => {
                    let left_out = lines.map(|line| LeftOutLine::new(line, why));
                    into.left_out.extend(left_out);
                }
                (Ok(_), None) => {
                    let why = "the rules apply to no communicator";
                    into.left_out
                        .extend(lines.map(|line| LeftOutLine::new(line, why)));
                }
                (Ok(collective), Some(ranks)) => {
                    let of_ranks = RankRules {
                        release,
                        tuned,
                        collective: *collective,
                        ranks,
                    };
                    of_ranks.collect_rows(&size.rows, size.line, into);
                }
            }
        }
    }
}

/// Rules of a collective for some numbers of ranks.
struct RankRules<'a> {
    release: &'a ExaminedRelease<'a>,
    tuned: &'static TunedCollective,
    collective: Collective,
    ranks: Span,
}

impl RankRules<'_> {
    fn collect_rows(&self, rows: &[Row], line: usize, into: &mut FileRules) {
        let bounds: Vec<i64> = rows.iter().map(|row| row.bytes).collect();
        let covered = rows::covered_messages(self.release.version_numbers(), &bounds);
        let row_for_none = rows::row_for_empty_messages(&covered);
        for ((row, bytes), place) in rows.iter().zip(covered).zip(0..) {
            let bytes = if self.tuned.has_no_sizes() {
                let whole = Span {
                    first: 0,
                    last: i64::MAX,
                };
                (row_for_none == Some(place)).then_some(whole)
            } else {
                bytes
            };
            let Some(bytes) = bytes else {
                into.left_out
                    .push(LeftOutLine::new(row.line, "the row applies to no message"));
                continue;
            };
            let rule = file_rule(
                self.release,
                self.tuned,
                self.collective,
                row,
                &mut into.left_out,
            );
            into.rules.push(RuleInFile {
                ranks: as_sizes(self.ranks),
                bytes: as_sizes(bytes),
                ..rule
            });
        }
        if rows.is_empty() {
            into.rules
                .push(left_to_library(line, self.collective, as_sizes(self.ranks)));
        }
    }
}

/// The rule for all sizes which leaves the choice to the library.
pub(super) fn left_to_library(line: usize, collective: Collective, ranks: [u64; 2]) -> RuleInFile {
    RuleInFile {
        line,
        collective,
        ranks,
        conditions: Vec::new(),
        operators: FileOperators::Any,
        bytes: [0, u64::MAX],
        total_bytes: [0, u64::MAX],
        choice: None,
    }
}

/// The rule of a row, for any ranks and sizes.
pub(super) fn file_rule(
    release: &ExaminedRelease<'_>,
    tuned: &TunedCollective,
    collective: Collective,
    row: &Row,
    left_out: &mut Vec<LeftOutLine>,
) -> RuleInFile {
    let numbers = release.version_numbers();
    let algorithm = tuned.algorithm(numbers, row.algorithm);
    if row.algorithm != 0 && algorithm.is_none() {
        let why = format!(
            "{} has no algorithm {} in this release, so the calls fail",
            tuned.name, row.algorithm
        );
        left_out.push(LeftOutLine::new(row.line, why));
    }
    leave_out_parameters(numbers, tuned, algorithm, row, left_out);
    let requests = row.requests.unwrap_or(0);
    let known = algorithm.map(|algorithm| {
        let known = tuned.known_algorithm(algorithm);
        let takes_requests = known.is_some_and(|known| known.takes_requests);
        if requests > 0 && !takes_requests {
            let why = format!(
                "{} {algorithm} takes no number of requests ({requests})",
                tuned.name
            );
            left_out.push(LeftOutLine::new(row.line, why));
        }
        // Tables know an algorithm by one name.
        let id = known.map_or(algorithm, |known| known.id);
        let parameter = |takes: bool, value: i64| if takes { as_size(value) } else { 0 };
        FileChoice {
            id: id.to_owned(),
            segment_bytes: parameter(known.is_some_and(|known| known.takes_segments), row.segment),
            // The component builds at least one chain.
            fanout: parameter(
                known.is_some_and(|known| known.takes_fanout),
                row.fanout.max(1),
            ),
            max_requests: parameter(takes_requests, requests),
        }
    });
    RuleInFile {
        choice: known,
        ..left_to_library(row.line, collective, [0, u64::MAX])
    }
}

/// Lists the parameters of a row that count in 6.0 and later, and that no table can express.
fn leave_out_parameters(
    numbers: [u32; 3],
    tuned: &TunedCollective,
    algorithm: Option<&str>,
    row: &Row,
    left_out: &mut Vec<LeftOutLine>,
) {
    let Some(algorithm) = algorithm.filter(|_| numbers[0] >= 6) else {
        return;
    };
    let has_radix = matches!(
        (tuned.name, algorithm),
        ("allgather", "bruck" | "bruck-k-fanout") | ("reduce", "knomial")
    );
    if has_radix && row.fanout > 2 {
        let why = format!(
            "tables have no radix of {} {algorithm} ({})",
            tuned.name, row.fanout
        );
        left_out.push(LeftOutLine::new(row.line, why));
    }
    if tuned.known_algorithm(algorithm).is_none() && row.segment > 0 {
        let why = format!(
            "tables have no segments of {} {algorithm} ({})",
            tuned.name, row.segment
        );
        left_out.push(LeftOutLine::new(row.line, why));
    }
}

pub(super) fn as_sizes(span: Span) -> [u64; 2] {
    let last = match span.last {
        i64::MAX => u64::MAX,
        last => as_size(last),
    };
    [as_size(span.first), last]
}

fn as_size(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// What the component runs for an algorithm (seen in 4.1.4, and in the sources of 4.0 to 6.1).
fn carried_out(
    collective: Collective,
    choice: &FileChoice,
    ranks: u32,
) -> Result<FileChoice, String> {
    let other = |id: &str| {
        Ok(FileChoice {
            id: id.to_owned(),
            segment_bytes: 0,
            fanout: 0,
            max_requests: 0,
        })
    };
    match (collective, &*choice.id) {
        (_, id) if TunedCollective::is_for_two_ranks(id) && ranks != 2 => Err(format!(
            "{collective}/{id} serves 2 ranks only, so the calls fail"
        )),
        (Collective::Allgather, "recursive_doubling") if !ranks.is_power_of_two() => other("bruck"),
        (Collective::Allgather | Collective::Allgatherv, "neighbor")
            if !ranks.is_multiple_of(2) =>
        {
            other("ring")
        }
        (Collective::Allreduce, "segmented_ring") if choice.segment_bytes == 0 => other("ring"),
        _ => Ok(choice.clone()),
    }
}
