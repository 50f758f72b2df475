//! The control variables that steer collectives, for releases that are not installed here, and their values.
//!
//! From the sources of 4.0.2, 4.1, 4.2, 4.3 and 5.0. A value that a variable cannot have ends programs when MPI starts (seen in
//! 4.0.2).

use std::collections::BTreeMap;

use super::{DEVICES, PREFIXES};
use crate::findings::{Assignment, ExaminedRelease, FindingKind::*, SteeringFindings};
use crate::rules_files::release_numbers;

/// The blocking collectives with the values of their variable `..._INTRA_ALGORITHM`, apart from `auto` and `nb`; after `+`
/// those that came after 4.0.
const INTRA: [(&str, &str); 17] = [
    (
        "ALLGATHER",
        "brucks recursive_doubling ring +k_brucks +recexch_doubling +recexch_halving",
    ),
    ("ALLGATHERV", "brucks recursive_doubling ring"),
    (
        "ALLREDUCE",
        "smp recursive_doubling reduce_scatter_allgather +tree +recexch +ring +k_reduce_scatter_allgather \
         +recursive_multiplying +ccl",
    ),
    (
        "ALLTOALL",
        "brucks pairwise pairwise_sendrecv_replace scattered +k_brucks",
    ),
    ("ALLTOALLV", "pairwise_sendrecv_replace scattered"),
    ("ALLTOALLW", "pairwise_sendrecv_replace scattered"),
    ("BARRIER", "dissemination smp +k_dissemination +recexch"),
    (
        "BCAST",
        "binomial smp scatter_recursive_doubling_allgather scatter_ring_allgather +tree +pipelined_tree",
    ),
    ("EXSCAN", "recursive_doubling"),
    ("GATHER", "binomial"),
    ("GATHERV", "linear"),
    ("REDUCE", "binomial smp reduce_scatter_gather"),
    (
        "REDUCE_SCATTER",
        "noncommutative pairwise recursive_doubling recursive_halving",
    ),
    (
        "REDUCE_SCATTER_BLOCK",
        "noncommutative pairwise recursive_doubling recursive_halving",
    ),
    ("SCAN", "smp recursive_doubling"),
    ("SCATTER", "binomial"),
    ("SCATTERV", "linear"),
];

/// The ends of the names of each collective's variables.
const ENDINGS: [&str; 3] = ["DEVICE_COLLECTIVE", "INTER_ALGORITHM", "INTRA_ALGORITHM"];

/// The known control variables of a release, with values for which none counts as switched off.
pub(super) fn known_settings(version: &str) -> BTreeMap<String, String> {
    let release = release_numbers(version);
    let mut known = BTreeMap::new();
    let mut add = |name: String, value: &str| {
        known.insert(format!("{}{name}", PREFIXES[0]), value.to_owned());
    };
    for (collective, _) in INTRA {
        for ending in ENDINGS {
            add(format!("{collective}_{ending}"), "");
        }
        for ending in &ENDINGS[1..] {
            add(format!("I{collective}_{ending}"), "");
        }
    }
    for file in ["", "CH4_", "CH4_POSIX_"] {
        let name = format!("{file}COLL_SELECTION_TUNING_JSON_FILE");
        if !file.is_empty() && release >= [4, 3, 0] {
            add(format!("{name}_GPU"), "");
        }
        add(name, "");
    }
    known.insert(DEVICES.to_owned(), "percoll".to_owned());
    known
}

/// Whether there may be a control variable of this name although it is not listed: it is not almost one that is.
pub(super) fn may_have_setting(setting: &str) -> bool {
    let names_file = setting.contains("COLL_SELECTION") && setting.contains("JSON_FILE");
    let known = known_settings("");
    let mut known = known.keys();
    !names_file && !known.any(|known| (1..=2).contains(&strsim::levenshtein(known, setting)))
}

/// What is wrong with the values of settings.
pub(super) fn examine_values(
    release: &ExaminedRelease<'_>,
    assignments: &[Assignment],
    found: &mut SteeringFindings,
) {
    for assignment in assignments {
        let Assignment { line, name, value } = assignment;
        let mut prefixes = PREFIXES.iter();
        let Some(own) = prefixes.find_map(|prefix| name.strip_prefix(prefix)) else {
            continue;
        };
        let Some(allowed) = allowed_values(release, own) else {
            continue;
        };
        if !allowed.iter().any(|known| known == value) {
            found.report(
                *line,
                EndsPrograms,
                format!("{name} cannot be `{value}`, so MPI does not start"),
                format!("write one of {}", allowed.join(", ")),
            );
        }
    }
}

/// The values that a variable can have; `None` if they are not known.
fn allowed_values(release: &ExaminedRelease<'_>, own: &str) -> Option<Vec<&'static str>> {
    if own == DEVICES.trim_start_matches(PREFIXES[0]) {
        return Some(vec!["all", "none", "percoll"]);
    }
    let collective = own.strip_suffix("_INTRA_ALGORITHM")?;
    let (_, names) = INTRA.iter().find(|(known, _)| *known == collective)?;
    let is_new = release.version_numbers() >= [4, 1, 0];
    let mut allowed = vec!["auto", "nb"];
    for name in names.split_whitespace() {
        match name.strip_prefix('+') {
            Some(name) if is_new => allowed.push(name),
            Some(_) => {}
            None => allowed.push(name),
        }
    }
    Some(allowed)
}
