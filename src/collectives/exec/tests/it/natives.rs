//! The algorithms that the libraries list, and their numbers.

use std::process::Command;

use launcher::LibraryName;
use schedule::Collective;
use testkit::mpi::chosen_family;

/// The algorithms of Open MPI 4.1, numbered from 1 as in its documentation and sources.
const OPEN_MPI: [(Collective, &[&str]); 13] = [
    (
        Collective::Bcast,
        &[
            "basic_linear",
            "chain",
            "pipeline",
            "split_binary_tree",
            "binary_tree",
            "binomial",
            "knomial",
            "scatter_allgather",
            "scatter_allgather_ring",
        ],
    ),
    (
        Collective::Reduce,
        &[
            "linear",
            "chain",
            "pipeline",
            "binary",
            "binomial",
            "in-order_binary",
            "rabenseifner",
        ],
    ),
    (
        Collective::Allreduce,
        &[
            "basic_linear",
            "nonoverlapping",
            "recursive_doubling",
            "ring",
            "segmented_ring",
            "rabenseifner",
        ],
    ),
    (
        Collective::Gather,
        &["basic_linear", "binomial", "linear_sync"],
    ),
    (
        Collective::Scatter,
        &["basic_linear", "binomial", "linear_nb"],
    ),
    (
        Collective::Allgather,
        &[
            "linear",
            "bruck",
            "recursive_doubling",
            "ring",
            "neighbor",
            "two_proc",
        ],
    ),
    (
        Collective::ReduceScatter,
        &["non-overlapping", "recursive_halving", "ring", "butterfly"],
    ),
    (
        Collective::ReduceScatterBlock,
        &[
            "basic_linear",
            "recursive_doubling",
            "recursive_halving",
            "butterfly",
        ],
    ),
    (
        Collective::Alltoall,
        &[
            "linear",
            "pairwise",
            "modified_bruck",
            "linear_sync",
            "two_proc",
        ],
    ),
    (
        Collective::Barrier,
        &[
            "linear",
            "double_ring",
            "recursive_doubling",
            "bruck",
            "two_proc",
            "tree",
        ],
    ),
    (Collective::Scan, &["linear", "recursive_doubling"]),
    (Collective::Exscan, &["linear", "recursive_doubling"]),
    (Collective::Alltoallv, &["basic_linear", "pairwise"]),
];

/// The algorithms of MPICH 4.0, without the nonblocking collectives and compositions over nodes.
const MPICH: [(Collective, &[&str]); 17] = [
    (
        Collective::Bcast,
        &[
            "binomial",
            "scatter_recursive_doubling_allgather",
            "scatter_ring_allgather",
        ],
    ),
    (Collective::Reduce, &["binomial", "reduce_scatter_gather"]),
    (
        Collective::Allreduce,
        &["recursive_doubling", "reduce_scatter_allgather"],
    ),
    (Collective::Gather, &["binomial"]),
    (Collective::Scatter, &["binomial"]),
    (
        Collective::Allgather,
        &["brucks", "recursive_doubling", "ring"],
    ),
    (
        Collective::ReduceScatter,
        &[
            "noncommutative",
            "pairwise",
            "recursive_doubling",
            "recursive_halving",
        ],
    ),
    (
        Collective::ReduceScatterBlock,
        &[
            "noncommutative",
            "pairwise",
            "recursive_doubling",
            "recursive_halving",
        ],
    ),
    (
        Collective::Alltoall,
        &[
            "brucks",
            "pairwise",
            "pairwise_sendrecv_replace",
            "scattered",
        ],
    ),
    (Collective::Barrier, &["dissemination"]),
    (Collective::Scan, &["recursive_doubling"]),
    (Collective::Exscan, &["recursive_doubling"]),
    (
        Collective::Alltoallv,
        &["pairwise_sendrecv_replace", "scattered"],
    ),
    (
        Collective::Alltoallw,
        &["pairwise_sendrecv_replace", "scattered"],
    ),
    (
        Collective::Allgatherv,
        &["brucks", "recursive_doubling", "ring"],
    ),
    (Collective::Gatherv, &["linear"]),
    (Collective::Scatterv, &["linear"]),
];

fn names(table: &[(Collective, &[&str])]) -> Vec<String> {
    let of = |(collective, ids): &(Collective, &[&str])| {
        let ids = ids.iter();
        ids.map(move |id| format!("native:{collective}/{id}"))
            .collect::<Vec<_>>()
    };
    table.iter().flat_map(of).collect()
}

/// The algorithms that this environment variable forces.
fn preset(variable: &str, value: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_exec-ranks"))
        .arg("preset")
        .env(variable, value)
        .output()
        .expect("started");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(str::to_owned).collect()
}

fn spelling(collective: Collective) -> String {
    collective.name().replace('-', "_")
}

#[test]
fn the_library_lists_the_known_algorithms_of_its_release() {
    exec::allow_forcing();
    let text = exec::library_text();
    let expected = match chosen_family() {
        LibraryName::OpenMpi if text.contains(" v4.1.") => names(&OPEN_MPI),
        LibraryName::Mpich if text.contains("4.0") => names(&MPICH),
        _ => return,
    };
    let natives = exec::list_natives().expect("a list");
    let mut found: Vec<String> = natives
        .iter()
        .map(vocabulary::NativeAlgorithm::full_name)
        .collect();
    found.sort_by_key(|name| expected.iter().position(|expected| expected == name));
    assert_eq!(found, expected);
}

/// MPICH does not document its numbers, so they are found by setting a name in the environment.
#[test]
fn the_librarys_names_have_the_librarys_numbers() {
    let family = chosen_family();
    let mut tried = 0;
    match family {
        LibraryName::OpenMpi if exec::library_text().contains(" v4.1.") => {
            for (collective, ids) in OPEN_MPI {
                let variable = format!("OMPI_MCA_coll_tuned_{}_algorithm", spelling(collective));
                for (id, number) in ids.iter().zip(1..) {
                    let found = preset(&variable, &format!("{number}"));
                    assert_eq!(found, [format!("native:{collective}/{id}")]);
                    tried += 1;
                }
            }
        }
        LibraryName::OpenMpi => return,
        LibraryName::Mpich | LibraryName::IntelMpi => {
            for native in exec::list_natives().expect("a list") {
                let collective = spelling(native.collective).to_uppercase();
                let variable = format!("MPIR_CVAR_{collective}_INTRA_ALGORITHM");
                assert_eq!(preset(&variable, &native.id), [native.full_name()]);
                tried += 1;
            }
        }
    }
    assert!(tried >= 20, "{tried}");
}
