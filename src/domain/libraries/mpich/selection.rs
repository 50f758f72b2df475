//! Selection files as MPICH reads them: nested objects whose keys are conditions, of which the first that holds counts.
//!
//! From the sources of 4.0.2, 4.1, 4.2, 4.3 and 5.0 (`csel.c`, `csel_container.c`, `ch4_csel_container.h`), and seen in 4.0.2: most
//! mistakes end programs when MPI starts, by an assertion.

use std::collections::{BTreeMap, BTreeSet};

use printable::quoted;
use schedule::Collective;

use super::algorithms::takes_parameters;
use crate::findings::{ExaminedRelease, FindingKind::*, SteeringFindings};
use crate::json::{JsonDialect, JsonMember, JsonValue, begins_like_object, parse_json};

/// What json-c accepts unless it is told to be strict.
pub(super) const DIALECT: JsonDialect = JsonDialect {
    comments: true,
    single_quotes: true,
    text_behind: true,
    byte_order_mark: false,
    any_escapes: false,
    replaces_values: true,
    deepest: 32,
};

/// The part of the library that a file decides about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// The library's own algorithms, which need an entry for every collective.
    Algorithms,
    /// How parts within nodes and between them are combined.
    Compositions,
    /// Algorithms within nodes.
    WithinNodes,
}

/// Conditions on numbers, which need a last entry for all other numbers.
const NUMBERS: [&str; 5] = [
    "comm_size",
    "comm_avg_ppn",
    "avg_msg_size",
    "total_msg_size",
    "count",
];

/// Conditions with a few answers.
const WORDS: [(&str, &[&str]); 8] = [
    ("comm_type", &["intra", "inter"]),
    ("is_multi_threaded", &["yes", "no"]),
    ("comm_hierarchy", &["parent", "node_roots", "node", "flat"]),
    ("is_node_consecutive", &["yes", "no"]),
    ("is_commutative", &["yes", "no"]),
    ("is_op_built_in", &["yes", "no"]),
    ("is_sendbuf_inplace", &["yes", "no"]),
    ("is_block_regular", &["yes", "no"]),
];

/// Conditions that only some collectives can answer; for others the program ends at the call.
const LIMITED: [(&str, &str); 7] = [
    ("avg_msg_size", "bcast reduce allreduce alltoall"),
    (
        "total_msg_size",
        "bcast reduce allreduce alltoall alltoallv alltoallw allgather allgatherv gather scatter reduce_scatter \
         reduce_scatter_block",
    ),
    (
        "count",
        "bcast reduce allreduce allgather allgatherv reduce_scatter reduce_scatter_block",
    ),
    (
        "is_commutative",
        "reduce allreduce reduce_scatter reduce_scatter_block",
    ),
    ("is_op_built_in", "reduce allreduce"),
    ("is_sendbuf_inplace", "alltoall alltoallv alltoallw"),
    ("is_block_regular", "reduce_scatter"),
];

/// Algorithms of blocking collectives that are not in all releases: the first release that has each, and the first that
/// does not.
const CHANGED: [(&str, [u32; 2], [u32; 2]); 13] = [
    ("MPIR_Allgather_intra_k_brucks", [4, 1], NEVER),
    ("MPIR_Allgather_intra_recexch_doubling", [4, 2], NEVER),
    ("MPIR_Allgather_intra_recexch_halving", [4, 2], NEVER),
    ("MPIR_Allreduce_intra_ccl", [5, 0], NEVER),
    (
        "MPIR_Allreduce_intra_k_reduce_scatter_allgather",
        [4, 1],
        NEVER,
    ),
    ("MPIR_Allreduce_intra_recexch", [4, 1], NEVER),
    ("MPIR_Allreduce_intra_recursive_multiplying", [4, 3], NEVER),
    ("MPIR_Allreduce_intra_ring", [4, 1], NEVER),
    ("MPIR_Allreduce_intra_tree", [4, 1], NEVER),
    ("MPIR_Alltoall_intra_k_brucks", [4, 1], NEVER),
    ("MPIR_Barrier_intra_dissemination", [0, 0], [4, 1]),
    ("MPIR_Barrier_intra_k_dissemination", [4, 1], NEVER),
    ("MPIR_Barrier_intra_recexch", [4, 1], NEVER),
];

/// The algorithms of blocking collectives in all releases, as they follow `MPIR_` and the collective.
const ALGORITHMS: [(&str, &str); 17] = [
    (
        "allgather",
        "allcomm_nb inter_local_gather_remote_bcast intra_brucks intra_k_brucks intra_recexch_doubling \
         intra_recexch_halving intra_recursive_doubling intra_ring",
    ),
    (
        "allgatherv",
        "allcomm_nb inter_remote_gather_local_bcast intra_brucks intra_recursive_doubling intra_ring",
    ),
    (
        "allreduce",
        "allcomm_nb inter_reduce_exchange_bcast intra_ccl intra_k_reduce_scatter_allgather intra_recexch \
         intra_recursive_doubling intra_recursive_multiplying intra_reduce_scatter_allgather intra_ring \
         intra_smp intra_tree",
    ),
    (
        "alltoall",
        "allcomm_nb inter_pairwise_exchange intra_brucks intra_k_brucks intra_pairwise \
         intra_pairwise_sendrecv_replace intra_scattered",
    ),
    (
        "alltoallv",
        "allcomm_nb inter_pairwise_exchange intra_pairwise_sendrecv_replace intra_scattered",
    ),
    (
        "alltoallw",
        "allcomm_nb inter_pairwise_exchange intra_pairwise_sendrecv_replace intra_scattered",
    ),
    (
        "barrier",
        "allcomm_nb inter_bcast intra_dissemination intra_k_dissemination intra_recexch intra_smp",
    ),
    (
        "bcast",
        "allcomm_nb inter_remote_send_local_bcast intra_binomial intra_pipelined_tree \
         intra_scatter_recursive_doubling_allgather intra_scatter_ring_allgather intra_smp intra_tree",
    ),
    ("exscan", "allcomm_nb intra_recursive_doubling"),
    (
        "gather",
        "allcomm_nb inter_linear inter_local_gather_remote_send intra_binomial",
    ),
    ("gatherv", "allcomm_linear allcomm_nb"),
    (
        "reduce",
        "allcomm_nb inter_local_reduce_remote_send intra_binomial intra_reduce_scatter_gather intra_smp",
    ),
    (
        "reduce_scatter",
        "allcomm_nb inter_remote_reduce_local_scatter intra_noncommutative intra_pairwise \
         intra_recursive_doubling intra_recursive_halving",
    ),
    (
        "reduce_scatter_block",
        "allcomm_nb inter_remote_reduce_local_scatter intra_noncommutative intra_pairwise \
         intra_recursive_doubling intra_recursive_halving",
    ),
    ("scan", "allcomm_nb intra_recursive_doubling intra_smp"),
    (
        "scatter",
        "allcomm_nb inter_linear inter_remote_send_local_scatter intra_binomial",
    ),
    ("scatterv", "allcomm_linear allcomm_nb"),
];

/// The last composition in 4.0 of collectives that have more than `alpha`, and a later one with the first release that has
/// it.
const COMPOSITIONS: [(&str, &str, &str, [u32; 2]); 7] = [
    ("allgather", "alpha", "beta", [4, 1]),
    ("allreduce", "gamma", "delta", [4, 1]),
    ("alltoall", "alpha", "beta", [4, 1]),
    ("barrier", "beta", "beta", [4, 0]),
    ("bcast", "gamma", "delta", [4, 3]),
    ("reduce", "gamma", "gamma", [4, 0]),
    ("scan", "beta", "beta", [4, 0]),
];

/// Later than all releases.
const NEVER: [u32; 2] = [u32::MAX; 2];

/// Whether a text looks like a selection file that decides about this part.
pub(super) fn is_selection_file(text: &str, layer: Layer) -> bool {
    let blank_free: String = text.split_whitespace().collect();
    let decides = |what: &str| blank_free.contains(what);
    let about = if decides("\"composition=") {
        Layer::Compositions
    } else if decides("algorithm=MPIDI_POSIX_") {
        Layer::WithinNodes
    } else {
        Layer::Algorithms
    };
    begins_like_object(text) && decides("collective=") && about == layer
}

/// What is wrong with the text of a file.
pub(super) fn examine_selection(
    release: &ExaminedRelease<'_>,
    text: &str,
    layer: Layer,
) -> SteeringFindings {
    let mut examined = SelectionFile::new(release, layer);
    let root = match parse_json(text, DIALECT) {
        Ok(root) => root,
        Err(fault) => {
            let message = format!("the file is not JSON: {}", fault.message);
            let mut found = examined.found;
            found.report(fault.line, EndsPrograms, message, "correct the JSON");
            return found;
        }
    };
    if root.members().is_none() {
        let mut found = examined.found;
        found.report(
            root.line,
            EndsPrograms,
            "the file has no object of JSON",
            "write `{...}`",
        );
        return found;
    }
    examined.examine_siblings(&root, None);
    let SelectionFile {
        entries, mut found, ..
    } = examined;
    if layer == Layer::Algorithms {
        let is_missing = |of: &&Collective| !entries.contains(of.name());
        let measured = Collective::ALL;
        let missing: Vec<_> = measured
            .iter()
            .filter(is_missing)
            .map(|of| of.name())
            .collect();
        if !missing.is_empty() {
            found.report(
                None,
                EndsPrograms,
                format!("the file has no entry for {}: it replaces the whole built-in table, and the first such \
                         call ends the program", missing.join(", ")),
                "write a file with all collectives (`colltune export --format mpich` does)",
            );
        }
    }
    if text.len().is_multiple_of(4096) {
        found.report(
            None,
            EndsPrograms,
            "the file fills its last page of memory, so the library reads beyond its end",
            "add a blank at the end",
        );
    }
    found.sorted()
}

/// A file with the collectives that were found so far.
pub(super) struct SelectionFile {
    pub(super) release: [u32; 3],
    layer: Layer,
    entries: BTreeSet<String>,
    /// What holds at the entry that is examined.
    holds: HeldConditions,
    found: SteeringFindings,
}

/// Conditions that hold, and with `!` those that do not.
#[derive(Debug, Default)]
struct HeldConditions {
    /// In the order in which they were added.
    added: Vec<String>,
    /// How often each was added.
    counts: BTreeMap<String, usize>,
}

impl HeldConditions {
    fn add_condition(&mut self, condition: String) {
        *self.counts.entry(condition.clone()).or_insert(0) += 1;
        self.added.push(condition);
    }

    /// Forgets conditions until only the first `number` are left.
    fn forget_after(&mut self, number: usize) {
        for condition in self.added.drain(number..) {
            if let Some(count) = self.counts.get_mut(&condition) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&condition);
                }
            }
        }
    }

    fn includes_condition(&self, condition: &str) -> bool {
        self.counts.contains_key(condition)
    }
}

/// The most characters of a key in a message.
const MOST_CHARACTERS: usize = 60;

fn in_message(key: &str) -> String {
    quoted(key, MOST_CHARACTERS)
}

/// What must hold where an algorithm is chosen, with the conditions that ensure it; the library does not check it, but
/// ends the program at the call, or gives wrong results.
const NEEDS: [(&str, &[&str], &str); 9] = [
    (
        "MPIR_Allgather_intra_recursive_doubling",
        &["comm_size=pow2"],
        POWER,
    ),
    (
        "MPIR_Reduce_scatter_block_intra_noncommutative",
        &["comm_size=pow2"],
        POWER,
    ),
    (
        "MPIR_Reduce_scatter_intra_noncommutative",
        &["comm_size=pow2"],
        POWER,
    ),
    (
        "MPIR_Reduce_scatter_intra_noncommutative",
        &["is_block_regular=yes", "!is_block_regular=no"],
        "blocks of one size",
    ),
    (
        "MPIR_Allreduce_intra_reduce_scatter_allgather",
        COMMUTES,
        "operators that commute",
    ),
    (
        "MPIR_Reduce_intra_reduce_scatter_gather",
        COMMUTES,
        "operators that commute",
    ),
    (
        "MPIR_Allreduce_intra_reduce_scatter_allgather",
        &["!count<pow2"],
        ENOUGH,
    ),
    (
        "MPIR_Reduce_intra_reduce_scatter_gather",
        &["!count<pow2"],
        ENOUGH,
    ),
    (
        "MPIR_Alltoall_intra_pairwise_sendrecv_replace",
        &["is_sendbuf_inplace=yes", "!is_sendbuf_inplace=no"],
        "calls in place",
    ),
];

const POWER: &str = "numbers of ranks that are powers of two";
const ENOUGH: &str = "at least as many elements as the largest power of two among the ranks";
const COMMUTES: &[&str] = &[
    "is_commutative=yes",
    "is_op_built_in=yes",
    "!is_commutative=no",
    "!is_op_built_in=no",
];

impl SelectionFile {
    /// A file of which nothing was examined.
    pub(super) fn new(release: &ExaminedRelease<'_>, layer: Layer) -> Self {
        Self {
            release: release.version_numbers(),
            layer,
            entries: BTreeSet::new(),
            holds: HeldConditions::default(),
            found: SteeringFindings::default(),
        }
    }

    /// Examines the entries of an object, which the library tries in their order.
    fn examine_siblings(&mut self, object: &JsonValue, collective: Option<&str>) {
        let Some(members) = object.members() else {
            self.found.report(
                object.line,
                EndsPrograms,
                "conditions need an object of JSON as value",
                "write `{...}`",
            );
            return;
        };
        if members.is_empty() {
            self.found.report(
                object.line,
                EndsPrograms,
                "this condition has no algorithm below it",
                "write an algorithm, or remove the condition",
            );
            return;
        }
        for member in members {
            for replaced in &member.replaced {
                self.found.report(
                    replaced.line,
                    NoEffect,
                    describe_replaced(member),
                    "remove one of the two",
                );
            }
        }
        let is_leaf = |member: &JsonMember| {
            let key = without_blanks(&member.key);
            key.starts_with("algorithm=") || key.starts_with("composition=")
        };
        if let Some(place) = members.iter().position(is_leaf) {
            let leaf = &members[place];
            self.examine_leaf(leaf, collective);
            for (other, at) in members.iter().zip(0..) {
                if at != place {
                    self.found.report(
                        other.line,
                        EndsPrograms,
                        format!("`{}` stands beside an algorithm, and is taken for one", in_message(&other.key)),
                        "remove it, or move the algorithm below a condition such as `comm_size=any`",
                    );
                }
            }
            return;
        }
        self.examine_conditions(members, collective);
    }

    fn examine_conditions(&mut self, members: &[JsonMember], collective: Option<&str>) {
        // The line of an entry for everything, and the last condition on numbers with its bound.
        let mut any: Option<usize> = None;
        let mut open: Option<usize> = None;
        let mut bounds: BTreeMap<String, i64> = BTreeMap::new();
        let mut given = BTreeSet::new();
        let held = self.holds.added.len();
        for member in members {
            let key = without_blanks(&member.key);
            if !given.insert(key.clone()) {
                self.found.report(
                    member.line,
                    Unreachable,
                    format!("`{}` is given twice", in_message(&key)),
                    "remove one of the two",
                );
            }
            if let Some(line) = any {
                self.found.report(
                    member.line,
                    EndsPrograms,
                    format!(
                        "`{}` follows `any` in line {line}, which must be the last entry",
                        in_message(&key)
                    ),
                    "move it before `any`",
                );
            }
            let condition = self.examine_condition(member, &key, collective);
            match condition {
                ConditionKind::Any => any = Some(member.line),
                ConditionKind::Number(name, bound) => {
                    open = Some(member.line);
                    let largest = bounds.entry(name).or_insert(i64::MIN);
                    let is_hidden = *largest >= bound;
                    *largest = bound.max(*largest);
                    if is_hidden {
                        self.found.report(
                            member.line,
                            Unreachable,
                            format!("`{key}` holds only where an earlier entry does"),
                            "sort the entries by their numbers",
                        );
                    }
                }
                ConditionKind::NeedsAny => open = Some(member.line),
                ConditionKind::Word | ConditionKind::Unknown => {}
                ConditionKind::Collective(name) => {
                    self.entries.insert(name.clone());
                    self.examine_siblings(&member.value, Some(&name));
                    continue;
                }
            }
            let before = self.holds.added.len();
            self.holds.add_condition(key.clone());
            self.examine_siblings(&member.value, collective);
            self.holds.forget_after(before);
            self.holds.add_condition(format!("!{key}"));
        }
        self.holds.forget_after(held);
        if let (Some(line), None) = (open, any) {
            self.found.report(
                line,
                EndsPrograms,
                "conditions on numbers need a last entry `any` beside them",
                "add an entry such as `\"comm_size=any\": {...}`",
            );
        }
    }

    /// What a key says, after reporting what is wrong with it.
    pub(super) fn examine_condition(
        &mut self,
        member: &JsonMember,
        key: &str,
        collective: Option<&str>,
    ) -> ConditionKind {
        let line = member.line;
        if let Some(name) = key.strip_prefix("collective=") {
            if !is_collective(name) {
                self.found.report(
                    line,
                    EndsPrograms,
                    format!("there is no collective `{}`", in_message(name)),
                    "write a name such as `reduce_scatter_block`",
                );
            }
            return ConditionKind::Collective(name.to_owned());
        }
        let is_new = self.release >= [4, 2, 0];
        if key == "any" || key.ends_with("=any") {
            let name = key.strip_suffix("=any").unwrap_or_default();
            let in_old =
                NUMBERS.contains(&name) && name != "comm_avg_ppn" || name == "comm_hierarchy";
            if !is_new && !in_old {
                self.report_unknown(line, key, "from 4.2 on it is known");
            }
            return ConditionKind::Any;
        }
        if ["comm_size=pow2", "comm_size=node_comm_size", "count<pow2"].contains(&key) {
            self.check_answered(
                line,
                key.split(['=', '<']).next().unwrap_or(key),
                collective,
            );
            return ConditionKind::NeedsAny;
        }
        let number = NUMBERS.iter().find_map(|name| {
            let rest = key.strip_prefix(name)?.strip_prefix('<')?;
            Some(match rest.strip_prefix('=') {
                Some(bound) => (*name, bound, 0),
                None => (*name, rest, -1),
            })
        });
        if let Some((name, written, less)) = number {
            let is_old_ppn = name == "comm_avg_ppn" && less < 0 && !is_new;
            if is_old_ppn || (name == "count" && less < 0) {
                self.report_unknown(line, key, "write `<=`");
                return ConditionKind::Unknown;
            }
            self.check_answered(line, name, collective);
            let digits: String = written.chars().take_while(char::is_ascii_digit).collect();
            // Without digits it is 0, as for the library.
            let read = if digits.is_empty() {
                0
            } else {
                digits.parse::<i64>().unwrap_or(i64::from(i32::MAX) + 1)
            };
            if digits != written || read > i64::from(i32::MAX) {
                let read = if read > i64::from(i32::MAX) {
                    "cut to 32 bits".to_owned()
                } else {
                    format!("read as {read}")
                };
                self.found.report(
                    line,
                    Misread,
                    format!(
                        "`{}` in `{}` is {read}",
                        in_message(written),
                        in_message(key)
                    ),
                    format!("write a plain decimal number up to {}", i32::MAX),
                );
            }
            return ConditionKind::Number(name.to_owned(), read + less);
        }
        let known = key.split_once('=').and_then(|(name, answer)| {
            let (_, answers) = WORDS.iter().find(|(known, _)| *known == name)?;
            answers.contains(&answer).then_some(name)
        });
        if let Some(name) = known {
            self.check_answered(line, name, collective);
            ConditionKind::Word
        } else {
            let keys = NUMBERS.iter().chain(WORDS.iter().map(|(name, _)| name));
            let written = key.split(['=', '<']).next().unwrap_or(key);
            let near = keys.filter(|name| strsim::levenshtein(name, written) <= 3);
            let near = near.min_by_key(|name| strsim::levenshtein(name, written));
            let remedy = match near {
                Some(near) if *near != written => format!("did you mean `{near}`?"),
                Some(near) => WORDS.iter().find(|(name, _)| name == near).map_or_else(
                    || format!("write `{near}<=NUMBER`"),
                    |(_, answers)| format!("write {near}={}", answers.join(" or ")),
                ),
                None => "remove it".to_owned(),
            };
            self.report_unknown(line, key, &remedy);
            ConditionKind::Unknown
        }
    }

    fn report_unknown(&mut self, line: usize, key: &str, remedy: &str) {
        self.found.report(
            line,
            EndsPrograms,
            format!(
                "there is no condition `{}` in this release",
                in_message(key)
            ),
            remedy,
        );
    }

    /// Reports a condition that the library cannot answer for a collective.
    fn check_answered(&mut self, line: usize, name: &str, collective: Option<&str>) {
        let Some(collective) = collective else {
            return;
        };
        // Nonblocking collectives are spelled with a leading `i`.
        let blocking = collective.strip_prefix('i').unwrap_or(collective);
        let limited = LIMITED.iter().find(|(known, _)| *known == name);
        let is_answered =
            limited.is_none_or(|(_, of)| of.split(' ').any(|known| known == blocking));
        if !is_answered {
            self.found.report(
                line,
                FailingCall,
                format!(
                    "`{name}` is not defined for {}, and ends the program at the call",
                    in_message(collective)
                ),
                "use another condition",
            );
        }
    }

    /// Whether the release has an algorithm or a composition of a collective, as far as is known.
    fn has_leaf(&self, collective: &str, name: &str) -> bool {
        if let Some((_, letter)) = name.split_once("_intra_composition_") {
            let release = [self.release[0], self.release[1]];
            let of = COMPOSITIONS.iter().find(|(of, ..)| *of == collective);
            let last = of.map_or(
                "alpha",
                |(_, old, new, since)| if release >= *since { new } else { old },
            );
            let letters = ["alpha", "beta", "gamma", "delta"];
            let place_of = |wanted: &str| letters.iter().position(|known| *known == wanted);
            return place_of(letter).is_some() && place_of(letter) <= place_of(last);
        }
        let Some((_, known)) = ALGORITHMS.iter().find(|(of, _)| *of == collective) else {
            return true;
        };
        let own = name.strip_prefix("MPIR_");
        let own = own.and_then(|rest| rest.get(collective.len() + 1..));
        own.is_none_or(|own| own == "impl" || known.split(' ').any(|listed| listed == own))
    }

    /// Reports parameters that an algorithm of a blocking collective needs and does not have, or has in vain.
    fn examine_parameters(&mut self, leaf: &JsonMember, name: &str, collective: &str) {
        let is_known = ALGORITHMS.iter().any(|(of, _)| *of == collective);
        let own = name
            .strip_prefix("MPIR_")
            .and_then(|own| own.split_once("_intra_"));
        let (Some((_, id)), Some(parameters), true) = (own, leaf.value.members(), is_known) else {
            return;
        };
        if takes_parameters(id) {
            if parameters.is_empty() {
                self.found.report(
                    leaf.line,
                    Unsafe,
                    format!("`{}` has parameters, and without them the library takes what its memory contains", in_message(name)),
                    "write them below it, as in `\"k=2\": {}`",
                );
            }
            return;
        }
        for parameter in parameters {
            self.found.report(
                parameter.line,
                NoEffect,
                format!(
                    "`{}` has no parameters, and `{}` is ignored",
                    in_message(name),
                    in_message(&parameter.key)
                ),
                "remove it",
            );
        }
    }

    fn examine_leaf(&mut self, leaf: &JsonMember, collective: Option<&str>) {
        let key = without_blanks(&leaf.key);
        let (what, name) = key.split_once('=').unwrap_or((&key, ""));
        let line = leaf.line;
        if leaf.value.members().is_none() {
            self.found.report(
                line,
                EndsPrograms,
                format!("the value of `{}` is not an object", in_message(&key)),
                "write `{}`",
            );
        }
        let is_here = match self.layer {
            Layer::Algorithms => what == "algorithm" && name.starts_with("MPIR_"),
            Layer::Compositions => what == "composition" && name.starts_with("MPIDI_"),
            Layer::WithinNodes => {
                what == "algorithm"
                    && (name.starts_with("MPIDI_POSIX_") || name.starts_with("MPIR_"))
            }
        };
        if !is_here {
            let wanted = match self.layer {
                Layer::Algorithms => "`algorithm=MPIR_...`",
                Layer::Compositions => "`composition=MPIDI_..._composition_...`",
                Layer::WithinNodes => "`algorithm=MPIDI_POSIX_...` or `algorithm=MPIR_...`",
            };
            self.found.report(
                line,
                EndsPrograms,
                format!(
                    "`{}` does not belong into a file for this part of the library",
                    in_message(&key)
                ),
                format!("write {wanted}, or name the file by another variable"),
            );
            return;
        }
        let release = [self.release[0], self.release[1]];
        let changed = CHANGED.iter().find(|(known, ..)| *known == name);
        if changed.is_some_and(|(_, since, until)| release < *since || release >= *until) {
            self.found.report(
                line,
                EndsPrograms,
                format!("this release has no algorithm `{name}`"),
                "write the file anew for each release",
            );
        }
        for (_, conditions, needed) in NEEDS.iter().filter(|(known, ..)| *known == name) {
            if !conditions
                .iter()
                .any(|condition| self.holds.includes_condition(condition))
            {
                self.found.report(
                    line,
                    FailingCall,
                    format!("`{name}` is for {needed} only, and no condition above ensures that"),
                    format!(
                        "add the condition `{}`",
                        conditions[0].trim_start_matches('!')
                    ),
                );
            }
        }
        // Names contain the collective, as in `MPIR_Bcast_intra_binomial`.
        let Some(of) = collective else {
            return;
        };
        self.examine_parameters(leaf, name, of);
        let own = name
            .trim_start_matches("MPIR_")
            .trim_start_matches("MPIDI_POSIX_mpi_");
        let own = own.trim_start_matches("MPIDI_");
        let kind = ["_intra_", "_inter_", "_allcomm_"]
            .iter()
            .find_map(|kind| own.split_once(kind));
        if kind.is_some_and(|(named, _)| !named.eq_ignore_ascii_case(of)) {
            self.found.report(
                line,
                FailingCall,
                format!(
                    "`{}` is not an algorithm of {}",
                    in_message(name),
                    in_message(of)
                ),
                format!("name one of {}", in_message(of)),
            );
        } else if kind.is_some() && !self.has_leaf(of, name) {
            self.found.report(
                line,
                EndsPrograms,
                format!(
                    "{} has no `{}` in this release",
                    in_message(of),
                    in_message(name)
                ),
                "name one that it has",
            );
        }
    }
}

/// What is said about a value that a later one of the same key replaces.
pub(super) fn describe_replaced(member: &JsonMember) -> String {
    format!(
        "`{}` is given again in line {}, which replaces this",
        in_message(&without_blanks(&member.key)),
        member.line
    )
}

/// What a key of an object says.
pub(super) enum ConditionKind {
    Any,
    /// A number that is not above a bound.
    Number(String, i64),
    /// Another condition that needs a last entry `any`.
    NeedsAny,
    Word,
    Collective(String),
    Unknown,
}

/// The library removes all blanks from keys.
pub(super) fn without_blanks(key: &str) -> String {
    key.split_whitespace().collect()
}

/// Whether the library knows a collective of this name in selection files.
fn is_collective(name: &str) -> bool {
    const BLOCKING: &str = "allgather allgatherv allreduce alltoall alltoallv alltoallw barrier bcast exscan gather gatherv \
                            reduce reduce_scatter reduce_scatter_block scan scatter scatterv neighbor_allgather \
                            neighbor_allgatherv neighbor_alltoall neighbor_alltoallv neighbor_alltoallw";
    let blocking = name.strip_prefix('i').unwrap_or(name);
    BLOCKING.split_whitespace().any(|known| known == blocking)
}
