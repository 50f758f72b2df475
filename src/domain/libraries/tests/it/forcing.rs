//! Settings that the logs of programs name.

use libraries::{NamedEffect, effect_of_name};
use schedule::Collective;

/// Settings with their effects on an allreduce.
const KNOWN: [(&str, &str, Option<NamedEffect>); 24] = [
    (
        "coll_tuned_allreduce_algorithm",
        "4",
        Some(NamedEffect::Forces),
    ),
    (
        "OMPI_MCA_coll_tuned_allreduce_algorithm",
        "4",
        Some(NamedEffect::Forces),
    ),
    ("coll_tuned_allreduce_algorithm", "0", None),
    ("coll_tuned_allreduce_algorithm", "ignore", None),
    ("coll_tuned_reduce_algorithm", "4", None),
    ("coll_tuned_reduce_scatter_block_algorithm", "4", None),
    ("coll_tuned_use_dynamic_rules", "1", None),
    (
        "coll_tuned_dynamic_rules_filename",
        "rules.conf",
        Some(NamedEffect::Forces),
    ),
    (
        "coll_han_use_dynamic_file_rules",
        "1",
        Some(NamedEffect::Forces),
    ),
    ("coll_ucc_enable", "0", None),
    ("coll_ucc_enable", "1", Some(NamedEffect::Changes)),
    ("coll_hcoll_enable", "0", Some(NamedEffect::Changes)),
    ("coll", "^han,ucc", Some(NamedEffect::Changes)),
    ("pml", "ucx", None),
    ("btl_tcp_if_include", "eth0", None),
    (
        "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM",
        "recursive_doubling",
        Some(NamedEffect::Forces),
    ),
    ("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "auto", None),
    ("MPIR_CVAR_IALLREDUCE_INTRA_ALGORITHM", "ring", None),
    ("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "binomial", None),
    (
        "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE",
        "t.json",
        Some(NamedEffect::Forces),
    ),
    ("I_MPI_ADJUST_ALLREDUCE", "2", Some(NamedEffect::Forces)),
    ("I_MPI_ADJUST_REDUCE", "2", None),
    ("MV2_ALLREDUCE_ALGO", "3", Some(NamedEffect::Forces)),
    (
        "UCC_TL_UCP_TUNE",
        "allreduce:0-4k:@ring",
        Some(NamedEffect::Forces),
    ),
];

#[test]
fn a_setting_steers_the_collective_that_it_names() {
    for (name, value, effect) in KNOWN {
        let found = effect_of_name(name, value, Collective::Allreduce);
        assert_eq!(found, effect, "{name}={value}");
    }
    let bcast = |name| effect_of_name(name, "3", Collective::Bcast);
    assert_eq!(
        bcast("I_MPI_ADJUST_BCAST"),
        Some(NamedEffect::Forces),
        "another collective"
    );
    assert_eq!(bcast("MPIR_CVAR_NEIGHBOR_ALLGATHER_ALGORITHM"), None);
}
