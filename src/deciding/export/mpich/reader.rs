//! A reader of selection files that is stricter than the library, and decisions by such files.

use schedule::Collective;
use table::OperatorClass;

use super::tree::{self, TreeNode};
use crate::ExportError;

/// A call to decide about: not in place, blocks of one size, on one node, of many elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) collective: Collective,
    pub(super) ranks: u32,
    pub(super) class: OperatorClass,
    /// The size, in the library's measure.
    pub(super) bytes: u64,
}

/// A condition: its key, the valid answers, and the names of the collectives that have it, if not all; for other
/// collectives it aborts the program.
type Condition = (&'static str, &'static [&'static str], &'static str);

/// Conditions on numbers.
const NUMBERS: [Condition; 5] = [
    ("comm_size", &[], ""),
    ("comm_avg_ppn", &[], ""),
    ("avg_msg_size", &[], "bcast reduce allreduce alltoall"),
    (
        "total_msg_size",
        &[],
        "bcast reduce allreduce alltoall alltoallv alltoallw allgather allgatherv gather scatter reduce_scatter \
         reduce_scatter_block",
    ),
    (
        "count",
        &[],
        "bcast reduce allreduce allgather allgatherv reduce_scatter reduce_scatter_block",
    ),
];

/// Conditions with a few possible answers.
const WORDS: [Condition; 8] = [
    ("comm_type", &["intra", "inter"], ""),
    ("is_multi_threaded", &YES_NO, ""),
    (
        "comm_hierarchy",
        &["parent", "node_roots", "node", "flat", "any"],
        "",
    ),
    ("is_node_consecutive", &YES_NO, ""),
    (
        "is_commutative",
        &YES_NO,
        "reduce allreduce reduce_scatter reduce_scatter_block",
    ),
    ("is_op_built_in", &YES_NO, "reduce allreduce"),
    (
        "is_sendbuf_inplace",
        &YES_NO,
        "alltoall alltoallv alltoallw",
    ),
    ("is_block_regular", &YES_NO, "reduce_scatter"),
];

const YES_NO: [&str; 2] = ["yes", "no"];

/// Reads a selection file.
///
/// It refuses everything that aborts programs: conditions that the library does not have, or not for the collective;
/// `<`, which is broken; chains of numbers that do not ascend or do not end in `any`; numbers that are not plain
/// decimals; neighbourhood algorithms; and a file that fills its last page.
pub(super) fn read_selection(text: &str) -> Result<Vec<TreeNode>, ExportError> {
    let nodes = tree::parse_selection(text)?;
    let fault = |message: String| ExportError::invalid(1, message);
    if text.len().is_multiple_of(4096) {
        return Err(fault("the file fills its last page".to_owned()));
    }
    if nodes.is_empty() {
        return Err(fault("there are no rules".to_owned()));
    }
    for node in &nodes {
        let Some(collective) = node.key.strip_prefix("collective=") else {
            return Err(fault(format!("`{}` is not a collective", node.key)));
        };
        check_siblings(&node.below, collective)
            .map_err(|message| fault(format!("{collective}: {message}")))?;
    }
    Ok(nodes)
}

/// Checks sibling conditions.
fn check_siblings(nodes: &[TreeNode], collective: &str) -> Result<(), String> {
    let [first, ..] = nodes else {
        return Err("a condition has no algorithm below it".to_owned());
    };
    if first.as_algorithm().is_some() {
        return match (nodes, &first.below[..]) {
            ([_], parameters) if parameters.iter().all(|p| p.below.is_empty()) => Ok(()),
            _ => Err(format!("`{}` has siblings", first.key)),
        };
    }
    let mut previous: Option<(&str, u64)> = None;
    let mut needs_any = false;
    for node in nodes {
        let key = node.key.as_str();
        if is_any(key) {
            needs_any = false;
        } else if let Some((name, bound)) = key.split_once("<=") {
            let bound =
                parse_number(bound).ok_or_else(|| format!("`{key}` is not in plain decimals"))?;
            allowed_answers(&NUMBERS, name, collective, key)?;
            if previous.is_some_and(|(of, before)| of == name && before >= bound) {
                return Err(format!("`{key}` does not ascend"));
            }
            previous = Some((name, bound));
            needs_any = true;
        } else if ["comm_size=pow2", "comm_size=node_comm_size", "count<pow2"].contains(&key) {
            let name = key.split(['=', '<']).next().unwrap_or(key);
            allowed_answers(&NUMBERS, name, collective, key)?;
            needs_any = true;
        } else if let Some((name, word)) = key.split_once('=') {
            if !allowed_answers(&WORDS, name, collective, key)?.contains(&word) {
                return Err(format!("`{key}` is not known"));
            }
        } else {
            return Err(format!("`{key}` is not known"));
        }
        check_siblings(&node.below, collective)?;
    }
    if needs_any {
        Err("numbers do not end in `any`".to_owned())
    } else {
        Ok(())
    }
}

fn is_any(key: &str) -> bool {
    let name = key.strip_suffix("=any");
    name.is_some_and(|name| NUMBERS.iter().any(|(known, ..)| *known == name))
}

/// The answers of a condition, if it exists for a collective. Nonblocking collectives are spelled with a leading `i`.
fn allowed_answers(
    known: &[Condition],
    name: &str,
    collective: &str,
    key: &str,
) -> Result<&'static [&'static str], String> {
    let Some((_, words, of)) = known.iter().find(|(known, ..)| *known == name) else {
        return Err(format!("`{key}` is not known"));
    };
    let blocking = collective.strip_prefix('i').unwrap_or(collective);
    let has_it = of
        .split(' ')
        .any(|listed| [collective, blocking].contains(&listed));
    if of.is_empty() || has_it {
        Ok(words)
    } else {
        Err(format!("`{key}` aborts the program"))
    }
}

fn parse_number(text: &str) -> Option<u64> {
    let is_plain =
        text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    let number: i32 = text.parse().ok().filter(|_| is_plain)?;
    u64::try_from(number).ok()
}

/// The algorithm that a tree chooses for a call by the library's search: the first condition that holds, without
/// backtracking.
pub(super) fn chosen_algorithm<'t>(tree: &'t [TreeNode], call: &Call) -> Option<&'t str> {
    let collective = format!("collective={}", call.collective);
    let mut nodes = &tree.iter().find(|node| node.key == collective)?.below;
    loop {
        let node = nodes.iter().find(|node| condition_holds(&node.key, call))?;
        match node.as_algorithm() {
            Some(algorithm) => return Some(algorithm),
            None => nodes = &node.below,
        }
    }
}

fn condition_holds(key: &str, call: &Call) -> bool {
    if key.starts_with("algorithm=") || is_any(key) {
        return true;
    }
    if let Some((name, bound)) = key.split_once("<=") {
        let bound: u64 = bound.parse().unwrap_or(0);
        return match name {
            "comm_size" => u64::from(call.ranks) <= bound,
            "avg_msg_size" | "total_msg_size" => call.bytes <= bound,
            _ => false,
        };
    }
    let commutes = call.class == OperatorClass::Commutative;
    match key {
        "comm_size=pow2" => call.ranks.is_power_of_two(),
        "is_commutative=yes" | "is_op_built_in=yes" => commutes,
        "is_commutative=no" | "is_op_built_in=no" => !commutes,
        "comm_type=intra"
        | "comm_hierarchy=any"
        | "comm_hierarchy=flat"
        | "is_multi_threaded=no"
        | "is_node_consecutive=yes"
        | "is_sendbuf_inplace=no"
        | "is_block_regular=yes" => true,
        _ => false,
    }
}
