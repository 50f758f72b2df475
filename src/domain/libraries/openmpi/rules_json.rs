//! Rules files of `tuned` in JSON, as 6.0 and 6.1 read them.
//!
//! From the sources of 6.0 and 6.1 (`coll_tuned_dynamic_file.c`, `opal_json`), since no release could be run. What does
//! not parse is read as a classic file.

use std::collections::BTreeSet;
use std::ops::Range;

use schedule::Collective;

use super::decisions::{as_sizes, collective_of_tables, file_rule, left_to_library};
use super::numbers::in_message;
use super::rows::{CoveringRules, Row, Span, examine_choice};
use super::tuned::{NUMBERED, TunedCollective};
use crate::file_rules::{FileRules, LeftOutLine, RuleInFile, ShapeCondition};
use crate::findings::{ExaminedRelease, FindingKind::*, SteeringFindings};
use crate::json::{
    JsonContent, JsonDialect, JsonMember, JsonValue, begins_like_object, parse_json,
};

const DIALECT: JsonDialect = JsonDialect {
    comments: false,
    single_quotes: false,
    text_behind: false,
    byte_order_mark: true,
    any_escapes: true,
    replaces_values: false,
    deepest: 64,
};

/// The keys of each level; the library ignores all others.
const TOP_KEYS: [&str; 3] = ["collectives", "rule_file_version", "module"];
const COMMUNICATOR_KEYS: [&str; 4] = [
    "comm_size_min",
    "comm_size_max",
    "comm_rank_distribution",
    "rules",
];
const RULE_KEYS: [&str; 6] = [
    "msg_size_min",
    "msg_size_max",
    "faninout",
    "seg_size",
    "reqs",
    "alg",
];

const DISTRIBUTIONS: [&str; 3] = ["any", "one-per-node", "single-node"];

/// Whether a text looks like a rules file in JSON.
pub(super) fn is_rules_json(text: &str) -> bool {
    begins_like_object(text) && text.contains("\"collectives\"")
}

/// What is wrong with the text of a file.
pub(super) fn examine_json(release: &ExaminedRelease<'_>, text: &str) -> SteeringFindings {
    let mut found = SteeringFindings::default();
    if release.version_numbers()[0] < 6 {
        found.report(
            None,
            IgnoredFile,
            "releases before 6.0 do not read JSON",
            "write the rules in the format of this release (`colltune export --format openmpi`)",
        );
    }
    match parse_json(text, DIALECT) {
        Ok(root) => examine_root(release, &root, &mut found),
        Err(fault) => found.report(
            fault.line,
            IgnoredFile,
            format!("this is not JSON: {}; the library then reads the file in the format before 6.0, and ignores \
                     it", fault.message),
            "correct the JSON",
        ),
    }
    found.sorted()
}

fn examine_root(release: &ExaminedRelease<'_>, root: &JsonValue, found: &mut SteeringFindings) {
    report_unknown_keys(root, &TOP_KEYS, found);
    let Some(collectives) = root.member("collectives") else {
        found.report(
            root.line,
            IgnoredFile,
            "the key `collectives` is missing",
            "add it",
        );
        return;
    };
    let Some(members) = collectives.value.members() else {
        found.report(
            collectives.line,
            IgnoredFile,
            "`collectives` is not an object",
            "write `{...}` with the collectives' names",
        );
        return;
    };
    for (member, place) in members.iter().zip(1..) {
        let Some(collective) = NUMBERED.iter().find(|known| known.name == member.key) else {
            found.report(
                member.line,
                IgnoredFile,
                format!("there is no collective `{}`", in_message(&member.key)),
                "write names such as `reduce_scatter_block`, in lower case",
            );
            continue;
        };
        if let Some(later) = members[place..]
            .iter()
            .find(|later| later.key == member.key)
        {
            found.report(
                member.line,
                NoEffect,
                format!(
                    "{} is given again in line {}, which replaces these rules",
                    member.key, later.line
                ),
                "remove one of the two",
            );
        }
        if !collective.is_served() {
            let crashes = collective.name != "alltoallw";
            found.report(
                member.line,
                if crashes { EndsPrograms } else { NoEffect },
                format!("the component tuned has no algorithms of {}, and may end the program over this rule", member.key),
                "remove it",
            );
            continue;
        }
        examine_communicators(release, collective, member, found);
    }
}

fn report_unknown_keys(object: &JsonValue, known: &[&str], found: &mut SteeringFindings) {
    let members = object.members().unwrap_or_default();
    let mut given = BTreeSet::new();
    for member in members {
        let is_first = given.insert(member.key.as_str());
        if !known.contains(&member.key.as_str()) {
            let near = known
                .iter()
                .filter(|name| strsim::levenshtein(name, &member.key) <= 3)
                .min_by_key(|name| strsim::levenshtein(name, &member.key));
            let remedy = near.map_or_else(
                || "remove it".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            found.report(
                member.line,
                UnknownName,
                format!("the key `{}` is ignored", in_message(&member.key)),
                remedy,
            );
        } else if !is_first {
            found.report(
                member.line,
                NoEffect,
                format!(
                    "the key `{}` is given twice, and the first one counts",
                    member.key
                ),
                "remove one of the two",
            );
        }
    }
}

/// A number of the library, or the largest one for texts that begin with `inf`; `None` if the library refuses it.
fn bound(value: &JsonValue) -> Option<i64> {
    match &value.content {
        JsonContent::Integer(number) => Some(*number),
        JsonContent::Text(text)
            if ["inf", "Inf", "INF"]
                .iter()
                .any(|inf| text.starts_with(inf)) =>
        {
            Some(i64::MAX)
        }
        _ => None,
    }
}

/// The number under a key, or the value that the library takes without it.
fn read_bound(object: &JsonValue, key: &str, otherwise: i64, found: &mut SteeringFindings) -> i64 {
    let Some(member) = object.member(key) else {
        return otherwise;
    };
    bound(&member.value).unwrap_or_else(|| {
        found.report(
            member.line,
            IgnoredFile,
            format!("`{key}` is neither a whole number nor \"inf\""),
            "write a plain decimal number of bytes or ranks",
        );
        otherwise
    })
}

fn examine_communicators(
    release: &ExaminedRelease<'_>,
    collective: &TunedCollective,
    member: &JsonMember,
    found: &mut SteeringFindings,
) {
    let Some(entries) = member.value.entries() else {
        found.report(
            member.line,
            IgnoredFile,
            format!("{} has no array of rules", member.key),
            "write `[{...}]`",
        );
        return;
    };
    // One for each distribution.
    let mut taken = DISTRIBUTIONS.map(|_| CoveringRules::default());
    for entry in entries {
        report_unknown_keys(entry, &COMMUNICATOR_KEYS, found);
        if entry.members().is_none() {
            found.report(
                entry.line,
                IgnoredFile,
                "this is not an object",
                "write `{...}` with `rules`",
            );
            continue;
        }
        let ranks = Span {
            first: read_bound(entry, "comm_size_min", 0, found),
            last: read_bound(entry, "comm_size_max", i64::MAX, found),
        };
        let distribution = read_distribution(entry, found);
        let wider = [0, distribution].map(|wider| taken[wider].line_covering(ranks));
        let infinite = entry
            .member("comm_size_max")
            .filter(|max| !matches!(max.value.content, JsonContent::Integer(_)));
        if let Some(max) = infinite.filter(|max| bound(&max.value).is_some()) {
            found.report(
                max.line,
                Unreachable,
                "as the largest number of ranks, \"inf\" becomes -1, so these rules never apply",
                "leave `comm_size_max` out",
            );
        } else if ranks.first > ranks.last {
            found.report(
                entry.line,
                Unreachable,
                format!("`comm_size_max` ({}) is below `comm_size_min` ({}), so these rules never apply", ranks.last, ranks.first),
                "correct one of the two",
            );
        } else if let Some(line) = wider.into_iter().flatten().min() {
            found.report(
                entry.line,
                Unreachable,
                format!("the rules in line {line} apply to all of these communicators before"),
                "sort the narrower rules before the wider ones",
            );
        } else {
            taken[distribution].add_rule(ranks, entry.line);
        }
        let Some(rules) = entry.member("rules") else {
            found.report(
                entry.line,
                IgnoredFile,
                "the key `rules` is missing",
                "add it",
            );
            continue;
        };
        let Some(rules) = rules.value.entries() else {
            found.report(
                rules.line,
                IgnoredFile,
                "`rules` is not an array",
                "write `[{...}]`",
            );
            continue;
        };
        examine_rules(release, collective, ranks, rules, found);
    }
}

/// The place of the distribution of ranks in the list of all; the first one is any distribution.
fn read_distribution(entry: &JsonValue, found: &mut SteeringFindings) -> usize {
    let Some(member) = entry.member("comm_rank_distribution") else {
        return 0;
    };
    let JsonContent::Text(text) = &member.value.content else {
        found.report(
            member.line,
            IgnoredFile,
            "`comm_rank_distribution` is not a text",
            "write \"any\", \"one-per-node\" or \"single-node\"",
        );
        return 0;
    };
    let known = DISTRIBUTIONS
        .iter()
        .position(|known| text.eq_ignore_ascii_case(known));
    known.unwrap_or_else(|| {
        found.report(
            member.line,
            Misread,
            format!("`{}` is read as `any`", in_message(text)),
            "write \"any\", \"one-per-node\" or \"single-node\"",
        );
        0
    })
}

fn examine_rules(
    release: &ExaminedRelease<'_>,
    collective: &TunedCollective,
    ranks: Span,
    rules: &[JsonValue],
    found: &mut SteeringFindings,
) {
    let mut taken = CoveringRules::default();
    let mut choices: Vec<(i64, i64)> = Vec::new();
    for rule in rules {
        report_unknown_keys(rule, &RULE_KEYS, found);
        let bytes = Span {
            first: read_bound(rule, "msg_size_min", 0, found),
            last: read_bound(rule, "msg_size_max", i64::MAX, found),
        };
        let fanout = read_bound(rule, "faninout", 0, found);
        let segment = read_bound(rule, "seg_size", 0, found);
        read_bound(rule, "reqs", 0, found);
        if bytes.first > bytes.last {
            found.report(
                rule.line,
                Unreachable,
                format!(
                    "`msg_size_max` ({}) is below `msg_size_min` ({}), so this rule never applies",
                    bytes.last, bytes.first
                ),
                "correct one of the two",
            );
        } else if let Some(line) = taken.line_covering(bytes) {
            found.report(
                rule.line,
                Unreachable,
                format!("the rule in line {line} applies to all of these messages before"),
                "sort the narrower rules before the wider ones",
            );
        }
        // A rule that is switched off applies to no message.
        let Some(number) = read_algorithm(release, collective, rule, found) else {
            continue;
        };
        taken.add_rule(bytes, rule.line);
        choices.push((number, segment));
        let row = Row {
            line: rule.line,
            bytes: bytes.first,
            algorithm: number,
            fanout,
            segment,
            requests: None,
        };
        examine_choice(release, collective, ranks, &row, found);
    }
    if collective.has_local_sizes()
        && choices.windows(2).any(|pair| pair[0] != pair[1])
        && let Some(second) = rules.get(1)
    {
        found.report(
            second.line,
            Unsafe,
            format!("ranks of a correct {} may see different message sizes and then choose different rules, which \
                     stops programs", collective.name),
            "keep one rule for all sizes",
        );
    }
}

/// Adds the rules of a file that the library does not drop.
pub(super) fn collect_rules(release: &ExaminedRelease<'_>, text: &str, into: &mut FileRules) {
    let Ok(root) = parse_json(text, DIALECT) else {
        return;
    };
    let collectives = root.member("collectives");
    let members = collectives.and_then(|collectives| collectives.value.members());
    let members = members.unwrap_or_default();
    for (member, place) in members.iter().zip(1..) {
        let Some(tuned) = NUMBERED.iter().find(|known| known.name == member.key) else {
            continue;
        };
        let mut later = members[place..].iter();
        let replaced = later.find(|later| later.key == member.key);
        let usable = match replaced {
            Some(newer) => Err(format!(
                "{} is given again in line {}",
                member.key, newer.line
            )),
            None => collective_of_tables(tuned),
        };
        for entry in member.value.entries().unwrap_or_default() {
            let rules = entry.member("rules");
            let rules = rules.and_then(|rules| rules.value.entries());
            let rules = rules.unwrap_or_default();
            match &usable {
                Ok(collective) => {
                    let collector = RuleCollector {
                        release,
                        tuned,
                        collective: *collective,
                    };
                    collector.collect_entry(entry, rules, into);
                }
                Err(why) => {
                    let left_out = rules.iter().map(|rule| LeftOutLine::new(rule.line, why));
                    into.left_out.extend(left_out);
                }
            }
        }
    }
}

/// The bytes of the algorithms of rules that begin in some lines.
pub(super) fn algorithms_in_lines(text: &str, lines: &BTreeSet<usize>) -> Vec<Range<usize>> {
    let Ok(root) = parse_json(text, DIALECT) else {
        return Vec::new();
    };
    let collectives = root.member("collectives");
    let members = collectives.and_then(|collectives| collectives.value.members());
    let entries = members.unwrap_or_default().iter();
    let entries = entries.flat_map(|member| member.value.entries().unwrap_or_default());
    let rules = entries.filter_map(|entry| entry.member("rules")?.value.entries());
    let wanted = rules.flatten().filter(|rule| lines.contains(&rule.line));
    wanted
        .filter_map(|rule| Some(rule.member("alg")?.value.bytes.clone()))
        .collect()
}

/// Adds the rules of one collective.
struct RuleCollector<'a> {
    release: &'a ExaminedRelease<'a>,
    tuned: &'static TunedCollective,
    collective: Collective,
}

impl RuleCollector<'_> {
    fn collect_entry(&self, entry: &JsonValue, rules: &[JsonValue], into: &mut FileRules) {
        // What is wrong was said already.
        let mut said = SteeringFindings::default();
        let found = &mut said;
        let is_infinite = entry
            .member("comm_size_max")
            .is_some_and(|max| matches!(max.value.content, JsonContent::Text(_)));
        let ranks = as_sizes(Span {
            first: read_bound(entry, "comm_size_min", 0, found),
            last: read_bound(entry, "comm_size_max", i64::MAX, found),
        });
        if is_infinite || ranks[0] > ranks[1] {
            let why = "the rules apply to no communicator";
            let left_out = rules.iter().map(|rule| LeftOutLine::new(rule.line, why));
            into.left_out.extend(left_out);
            return;
        }
        let conditions = match read_distribution(entry, found) {
            0 => Vec::new(),
            1 => vec![ShapeCondition::OneRankOnNode],
            _ => vec![ShapeCondition::OneNode],
        };
        for rule in rules {
            self.collect_rule(rule, ranks, &conditions, into);
        }
        // The rules behind are not consulted for these communicators.
        into.rules.push(RuleInFile {
            conditions,
            ..left_to_library(entry.line, self.collective, ranks)
        });
    }

    fn collect_rule(
        &self,
        rule: &JsonValue,
        ranks: [u64; 2],
        conditions: &[ShapeCondition],
        into: &mut FileRules,
    ) {
        let mut said = SteeringFindings::default();
        let found = &mut said;
        let mut bytes = as_sizes(Span {
            first: read_bound(rule, "msg_size_min", 0, found),
            last: read_bound(rule, "msg_size_max", i64::MAX, found),
        });
        let Some(number) = read_algorithm(self.release, self.tuned, rule, found) else {
            let why = "the release does not have the algorithm, and switches the rule off";
            into.left_out.push(LeftOutLine::new(rule.line, why));
            return;
        };
        if bytes[0] > bytes[1] || (self.tuned.has_no_sizes() && bytes[0] > 0) {
            let why = "the rule applies to no message";
            into.left_out.push(LeftOutLine::new(rule.line, why));
            return;
        }
        if self.tuned.has_no_sizes() {
            bytes = [0, u64::MAX];
        }
        let row = Row {
            line: rule.line,
            bytes: 0,
            algorithm: number,
            fanout: read_bound(rule, "faninout", 0, found),
            segment: read_bound(rule, "seg_size", 0, found),
            requests: Some(read_bound(rule, "reqs", 0, found)),
        };
        let known = file_rule(
            self.release,
            self.tuned,
            self.collective,
            &row,
            &mut into.left_out,
        );
        into.rules.push(RuleInFile {
            ranks,
            conditions: conditions.to_vec(),
            bytes,
            ..known
        });
    }
}

/// The number of a rule's algorithm; `None` if the library switches the rule off.
fn read_algorithm(
    release: &ExaminedRelease<'_>,
    collective: &TunedCollective,
    rule: &JsonValue,
    found: &mut SteeringFindings,
) -> Option<i64> {
    let numbers = release.version_numbers();
    let Some(member) = rule.member("alg") else {
        found.report(
            rule.line,
            NoEffect,
            "without `alg` the rule leaves the choice to the library",
            "add `alg`",
        );
        return Some(0);
    };
    let (number, written) = match &member.value.content {
        JsonContent::Integer(number) => {
            let is_known = *number == 0 || collective.algorithm(numbers, *number).is_some();
            (is_known.then_some(*number), number.to_string())
        }
        JsonContent::Text(text) if ["ignore", "0"].contains(&text.to_lowercase().as_str()) => {
            (Some(0), text.clone())
        }
        JsonContent::Text(text) => {
            let by_number = text
                .parse()
                .ok()
                .filter(|number| collective.algorithm(numbers, *number).is_some());
            (
                by_number.or_else(|| collective.number_of(numbers, text)),
                text.clone(),
            )
        }
        _ => {
            found.report(
                member.line,
                NoEffect,
                "`alg` is neither a name nor a number, so the rule leaves the choice \
                to the library",
                "write the name of an algorithm",
            );
            return Some(0);
        }
    };
    if number.is_none() {
        let known: Vec<_> = collective.algorithms_of(numbers).collect();
        found.report(
            member.line,
            UnknownName,
            format!(
                "{} has no algorithm `{written}` in this release, so the rule is switched off",
                collective.name
            ),
            format!("write one of {}", known.join(", ")),
        );
    }
    number
}
