//! The control variables of the framework `coll`, for releases that are not installed here.
//!
//! From `ompi_info --all` of 4.1.4, and from the sources of 4.0.7, 4.1.8, 5.0.10 and 6.0.

use std::collections::BTreeMap;

use super::tuned::NUMBERED;
use crate::rules_files::release_numbers;

/// The endings of settings about one collective of `tuned`, with the collectives that have them; all have `algorithm`.
const OF_COLLECTIVES: [(&str, &str); 6] = [
    (
        "segmentsize",
        "allgather allgatherv allreduce alltoall bcast gather reduce reduce_scatter reduce_scatter_block scatter",
    ),
    (
        "tree_fanout",
        "allgather allgatherv allreduce alltoall bcast gather reduce reduce_scatter reduce_scatter_block scatter",
    ),
    (
        "chain_fanout",
        "allgather allgatherv allreduce alltoall bcast gather reduce reduce_scatter scatter",
    ),
    ("max_requests", "alltoall reduce scatter"),
    ("knomial_radix", "bcast"),
    ("count", "*"),
];

/// Other settings of `tuned`.
const OF_TUNED: [&str; 14] = [
    "alltoall_intermediate_msg",
    "alltoall_large_msg",
    "alltoall_min_procs",
    "alltoall_small_msg",
    "dynamic_rules_filename",
    "init_chain_fanout",
    "init_tree_fanout",
    "scatter_intermediate_msg",
    "scatter_large_msg",
    "scatter_min_procs",
    "use_dynamic_rules",
    "verbose",
    "allreduce_algorithm_max_requests",
    "scatter_algorithm_max_requests",
];

/// Settings of `han` that are not about one collective.
const OF_HAN: [&str; 6] = [
    "dump_dynamic_rules",
    "dynamic_rules_filename",
    "max_dynamic_errors",
    "reproducible",
    "use_dynamic_file_rules",
    "verbose",
];

/// The collectives of `han`, and the endings of their settings.
const HAN_COLLECTIVES: [&str; 8] = [
    "allgather",
    "allgatherv",
    "allreduce",
    "barrier",
    "bcast",
    "gather",
    "reduce",
    "scatter",
];
const HAN_COLLECTIVES_6: [&str; 4] = ["alltoall", "alltoallv", "gatherv", "scatterv"];
const HAN_ENDINGS: [&str; 6] = [
    "dynamic_global_communicator_module",
    "dynamic_inter_node_module",
    "dynamic_intra_node_module",
    "low_module",
    "segsize",
    "up_module",
];

/// Settings of other components.
const OTHERS: [&str; 17] = [
    "coll",
    "coll_adapt_bcast_algorithm",
    "coll_adapt_bcast_segment_size",
    "coll_adapt_reduce_algorithm",
    "coll_adapt_reduce_segment_size",
    "coll_base_verbose",
    "coll_basic_crossover",
    "coll_libnbc_iallgather_algorithm",
    "coll_libnbc_iallreduce_algorithm",
    "coll_libnbc_ibcast_algorithm",
    "coll_libnbc_ibcast_knomial_radix",
    "coll_libnbc_iexscan_algorithm",
    "coll_libnbc_ireduce_algorithm",
    "coll_libnbc_iscan_algorithm",
    "coll_sync_barrier_after",
    "coll_sync_barrier_before",
    "mca_base_param_files",
];

/// The known control variables of a release with their built-in values, as far as these matter.
pub(super) fn known_settings(version: &str) -> BTreeMap<String, String> {
    let release = release_numbers(version);
    let mut known = BTreeMap::new();
    let mut add = |name: String, value: &str| {
        known.insert(name, value.to_owned());
    };
    for collective in NUMBERED.iter().filter(|of| of.is_served()) {
        let name = collective.name;
        add(format!("coll_tuned_{name}_algorithm"), "ignore");
        for (ending, of) in OF_COLLECTIVES {
            if of == "*" || of.split(' ').any(|listed| listed == name) {
                add(format!("coll_tuned_{name}_algorithm_{ending}"), "0");
            }
        }
    }
    for name in OF_TUNED {
        add(format!("coll_tuned_{name}"), "");
    }
    for name in OTHERS {
        add(name.to_owned(), "");
    }
    // `han` came with 4.1, and is first over several nodes from 5.0 on.
    if release >= [4, 1, 0] {
        for name in OF_HAN {
            add(format!("coll_han_{name}"), "");
        }
        let newer = if release[0] >= 6 {
            HAN_COLLECTIVES_6.as_slice()
        } else {
            &[]
        };
        for collective in HAN_COLLECTIVES.iter().chain(newer) {
            for ending in HAN_ENDINGS {
                add(format!("coll_han_{collective}_{ending}"), "");
            }
            add(format!("coll_han_use_simple_{collective}"), "");
            if release[0] >= 5 {
                add(format!("coll_han_use_{collective}_algorithm"), "");
            }
        }
        add(
            "coll_han_priority".to_owned(),
            if release[0] >= 5 { "35" } else { "0" },
        );
        add("coll_adapt_priority".to_owned(), "0");
    }
    for (component, priority) in [
        ("basic", "10"),
        ("inter", "40"),
        ("libnbc", "10"),
        ("self", "75"),
        ("sync", "50"),
        ("tuned", "30"),
    ] {
        add(format!("coll_{component}_priority"), priority);
    }
    let newer = if release[0] >= 6 {
        ["xhc", "acoll"].as_slice()
    } else {
        &["sm"]
    };
    for component in newer {
        add(format!("coll_{component}_priority"), "0");
    }
    known
}

/// Components not all of whose settings are listed above.
const NOT_LISTED: [&str; 19] = [
    "acoll",
    "accelerator",
    "adapt",
    "base",
    "basic",
    "cuda",
    "demo",
    "fca",
    "ftagree",
    "hcoll",
    "inter",
    "libnbc",
    "monitoring",
    "portals4",
    "self",
    "sm",
    "sync",
    "ucc",
    "xhc",
];

/// Whether there may be a setting of this name although it is not listed: components come and go between releases.
pub(super) fn may_have_setting(setting: &str) -> bool {
    let Some(own) = setting.strip_prefix("coll_") else {
        return false;
    };
    NOT_LISTED.iter().any(|component| {
        let rest = own.strip_prefix(*component);
        rest.is_some_and(|rest| rest.starts_with('_'))
    })
}
