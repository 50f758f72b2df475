//! MPICH: one variable per collective, read at each call, for all communicators.
//!
//! So the variable is set only for as long as the candidate has its turn.

use libraries::LibraryName;
use schedule::Collective;

use super::{ListedAlgorithm, required_variable};
use crate::ExecError;
use crate::tool::{Tool, Variable};

/// Controls what happens if a restriction is not met, and whether devices may decompose collectives.
const FALLBACK: &str = "MPIR_CVAR_COLLECTIVE_FALLBACK";
const DEVICE: &str = "MPIR_CVAR_DEVICE_COLLECTIVES";

/// The library's own decision.
const AUTOMATIC: &str = "auto";
/// Names that are not independent algorithms: the nonblocking collective, and compositions of one collective on every
/// node and one between nodes.
const INDIRECT: [&str; 2] = ["nb", "smp"];

/// The names of all algorithms of 4.0 to 5.0. The descriptions have lost their line ends, so a name directly follows
/// the last word of the previous entry.
const NAMES: [&str; 33] = [
    "auto",
    "binomial",
    "brucks",
    "ccl",
    "circ_graph",
    "dissemination",
    "k_brucks",
    "k_dissemination",
    "k_reduce_scatter_allgather",
    "linear",
    "nb",
    "noncommutative",
    "pairwise",
    "pairwise_sendrecv_replace",
    "pipelined_tree",
    "recexch",
    "recexch_distance_doubling",
    "recexch_distance_halving",
    "recexch_doubling",
    "recexch_halving",
    "recursive_doubling",
    "recursive_halving",
    "recursive_multiplying",
    "reduce_scatter_allgather",
    "reduce_scatter_gather",
    "ring",
    "scattered",
    "scatter_recursive_doubling_allgather",
    "scatter_ring_allgather",
    "smp",
    "tree",
    "error",
    "none",
];

/// The variable that forces a collective's algorithm.
pub(super) fn algorithm_variable(collective: Collective) -> String {
    let collective = collective.name().to_uppercase();
    format!("MPIR_CVAR_{collective}_INTRA_ALGORITHM")
}

pub(super) fn list_algorithms(tool: &Tool) -> Result<Vec<ListedAlgorithm>, ExecError> {
    let mut listed = Vec::new();
    for collective in Collective::ALL {
        let Some(variable) = tool.find_variable(&algorithm_variable(collective))? else {
            continue;
        };
        for (number, id) in values(&variable) {
            if id == AUTOMATIC || INDIRECT.contains(&id.as_str()) {
                continue;
            }
            let algorithm = LibraryName::Mpich.describe_algorithm(collective, &id);
            listed.push(ListedAlgorithm { algorithm, number });
        }
    }
    Ok(listed)
}

/// The values of a variable and their names: its enumeration, or the list `name - meaning` of its description. Both
/// come from one list, in its order, numbered from 0.
fn values(variable: &Variable) -> Vec<(i32, String)> {
    if !variable.items.is_empty() {
        variable.items.clone()
    } else {
        values_from_description(&variable.description)
    }
}

fn values_from_description(description: &str) -> Vec<(i32, String)> {
    let parts: Vec<&str> = description.split(" - ").collect();
    let before = parts.len().saturating_sub(1);
    let words = parts[..before].iter().map(|part| {
        let word = part.split_whitespace().next_back().unwrap_or_default();
        let ends = |name: &&&str| {
            let rest = word.strip_suffix(**name);
            // After `_` or `-` it would be the end of an unknown name.
            rest.is_some_and(|rest| !rest.ends_with(['_', '-']))
        };
        NAMES.iter().filter(ends).max_by_key(|name| name.len())
    });
    let numbered = (0..).zip(words);
    numbered
        .filter_map(|(number, name)| Some((number, (*name?).to_owned())))
        .collect()
}

/// The variables that force the algorithm, on the whole communicator, without a silent replacement.
pub(super) fn forcing_switches(
    tool: &Tool,
    listed: &ListedAlgorithm,
) -> Result<Vec<(Variable, i32)>, ExecError> {
    let named = |name: &str, value: &str| {
        let variable = required_variable(tool, name)?;
        let values = values(&variable);
        let found = values
            .into_iter()
            .find(|(_, value_name)| value_name == value);
        let (number, _) = found.ok_or_else(|| ExecError::NoVariable(format!("{name}={value}")))?;
        Ok::<_, ExecError>((variable, number))
    };
    Ok(vec![
        (
            required_variable(tool, &algorithm_variable(listed.algorithm.collective))?,
            listed.number,
        ),
        named(FALLBACK, "error")?,
        named(DEVICE, "none")?,
    ])
}

#[cfg(test)]
mod tests {
    use super::values_from_description;

    #[test]
    fn names_are_found_in_descriptions_with_and_without_line_ends() {
        let joined = "Variable to select bcast algorithmauto - Internal selection (x_y)binomial   \
                      - Force Binomial Treenb - Force nonblockingsmp - Force smp algorithm\
                      scatter_ring_allgather    - Force Scatter Ringnewly_ring - Force\
                      ring - Force ring algorithmpipelined_tree - Forcetree - Force";
        let expected = [
            (0, "auto"),
            (1, "binomial"),
            (2, "nb"),
            (3, "smp"),
            (4, "scatter_ring_allgather"),
            // An unknown name keeps its number.
            (6, "ring"),
            (7, "pipelined_tree"),
            (8, "tree"),
        ]
        .map(|(number, name)| (number, name.to_owned()));
        assert_eq!(values_from_description(joined), expected);
        let lines = "Variable\nauto - Internal\nring   - Force\ntree - Force";
        let found: Vec<i32> = values_from_description(lines)
            .iter()
            .map(|(number, _)| *number)
            .collect();
        assert_eq!(found, [0, 1, 2]);
        assert!(values_from_description("").is_empty());
    }
}
