//! Components of Open MPI as candidates.

use std::collections::{BTreeMap, BTreeSet};

use libraries::LibraryName;
use libraries::openmpi::{component_in_report, list_forced_components};
use schedule::Collective::{self, *};
use vocabulary::{Cell, CommShape, Datatype, Distribution, Operator, Parameters};

/// Control variables of a release, as far as they decide which components there are.
fn variables(han_priority: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut set = |name: String, value: &str| all.insert(name, value.to_owned());
    for (component, priority) in [
        ("tuned", "30"),
        ("han", han_priority),
        ("adapt", "0"),
        ("sm", "0"),
        ("basic", "10"),
        ("libnbc", "10"),
    ] {
        set(format!("coll_{component}_priority"), priority);
    }
    for collective in ["bcast", "reduce", "allreduce", "gather"] {
        set(format!("coll_tuned_{collective}_algorithm"), "ignore");
        set(format!("coll_han_{collective}_up_module"), "0");
        set(format!("coll_han_{collective}_low_module"), "0");
        set(
            format!("coll_han_{collective}_dynamic_global_communicator_module"),
            "6",
        );
    }
    for collective in ["bcast", "reduce"] {
        set(format!("coll_adapt_{collective}_algorithm"), "1");
    }
    all
}

/// The components of a collective.
fn listed(variables: &BTreeMap<String, String>, collective: Collective) -> BTreeSet<String> {
    let all = list_forced_components(variables).into_iter();
    let of_collective = all.filter(|native| native.collective == collective);
    of_collective
        .map(|native| native.id.trim_start_matches("component_").to_owned())
        .collect()
}

fn names(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn components_are_those_that_the_library_has_for_a_collective() {
    let old = variables("0");
    let han = ["han", "han_up_adapt", "han_low_sm", "han_up_adapt_low_sm"];
    let adapt = [
        "adapt",
        "adapt_in_order_binomial",
        "adapt_binary",
        "adapt_pipeline",
        "adapt_chain",
        "adapt_linear",
    ];
    let bcast = [&han[..], &adapt, &["sm", "basic"]].concat();
    assert_eq!(listed(&old, Bcast), names(&bcast));
    assert_eq!(
        listed(&old, Allreduce),
        names(&[&han[..], &["sm", "basic"]].concat())
    );
    // Its modules are those of three collectives, whatever variables there are.
    assert_eq!(listed(&old, Gather), names(&["han", "basic"]));
    assert_eq!(listed(&old, Alltoall), names(&[]));
    // In a release where `han` comes first, `tuned` can be asked for.
    let new = variables("35");
    assert!(listed(&new, Bcast).contains("tuned"));
    assert!(!listed(&old, Bcast).contains("tuned"));
    // A module of `han` must be there.
    let mut without_sm = old.clone();
    without_sm.remove("coll_sm_priority");
    let fewer = listed(&without_sm, Bcast);
    assert!(!fewer.contains("sm") && !fewer.contains("han_low_sm"));
    assert!(fewer.contains("han_up_adapt"));
    assert!(list_forced_components(&BTreeMap::new()).is_empty());
}

/// What the library uses anyway is the default, with which it would be compared.
#[test]
fn components_that_are_the_default_are_no_candidates() {
    let releases = ["4.1.4", "5.0.11"].map(|version| LibraryName::OpenMpi.known_settings(version));
    for built_in in &releases {
        for collective in [Alltoallw, Gatherv, Scatterv, Scan, Exscan] {
            assert_eq!(listed(built_in, collective), names(&[]), "{collective}");
        }
        for collective in [Alltoall, ReduceScatter] {
            assert_eq!(listed(built_in, collective), names(&["basic"]));
        }
    }
    let [old, new] = &releases;
    assert_eq!(listed(old, Gather), names(&["basic", "han"]));
    assert_eq!(listed(new, Gather), names(&["basic", "tuned"]));
    // With a size of segments it is another candidate than the default.
    assert!(listed(new, Bcast).contains("han"));
    let mut changed = new.clone();
    changed.insert("coll_han_priority".to_owned(), "0".to_owned());
    changed.insert("coll_basic_priority".to_owned(), "80".to_owned());
    assert_eq!(listed(&changed, Gather), names(&["han", "tuned"]));
    changed.insert("coll_sm_priority".to_owned(), "90".to_owned());
    let one_node = listed(&changed, Barrier);
    assert!(!one_node.contains("sm") && one_node.contains("basic"));
}

#[test]
fn components_take_part_only_where_they_accept_the_communicator() {
    let check = |id: &str, shape: (u32, u32), operator: Operator, expected: bool| {
        let cell = Cell {
            collective: Allreduce,
            shape: CommShape {
                nodes: shape.0,
                ppn: shape.1,
            },
            bytes: 64,
            datatype: Datatype::Int32,
            operator: Some(operator),
            distribution: Distribution::Uniform,
        };
        let runs = LibraryName::OpenMpi.runs_in_cell(&cell, id, &Parameters::default());
        assert_eq!(runs, expected, "{id} on {shape:?}");
    };
    for (id, shapes) in [
        ("component_han", &[(2, 2), (4, 3)][..]),
        ("component_sm", &[(1, 2), (1, 4)]),
        ("component_tuned", &[(2, 2), (4, 3)]),
        ("component_basic", &[(1, 2), (1, 4), (2, 1), (2, 2), (4, 3)]),
    ] {
        for shape in [(1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (4, 3)] {
            check(id, shape, Operator::Sum, shapes.contains(&shape));
            // Which component carries these out differs between releases.
            check(id, shape, Operator::Noncommutative, false);
        }
    }
}

#[test]
fn a_launch_that_forces_a_component_reports_what_the_library_chooses() {
    let library = LibraryName::OpenMpi;
    let forcing = library.forcing_variables(
        Bcast,
        "component_han_up_adapt",
        &Parameters {
            segment_bytes: Some(4096),
            ..Parameters::default()
        },
    );
    let expected = [
        ("OMPI_MCA_coll_han_priority", "99"),
        ("OMPI_MCA_coll_han_bcast_up_module", "1"),
        ("OMPI_MCA_coll_han_reduce_up_module", "1"),
        ("OMPI_MCA_coll_han_allreduce_up_module", "1"),
        ("OMPI_MCA_coll_han_bcast_segsize", "4096"),
        ("OMPI_MCA_coll_han_reduce_segsize", "4096"),
        ("OMPI_MCA_coll_han_allreduce_segsize", "4096"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(forcing, expected);
    let asks = |variables: &[(String, String)]| {
        let variables = variables.iter().cloned().collect();
        library.reporting_variables(&variables, 7)
    };
    let reporting = [
        ("OMPI_MCA_coll_base_verbose", "10"),
        ("OPAL_OUTPUT_STDERR_FD", "7"),
    ];
    let reporting = reporting.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(asks(&forcing), reporting);
    assert!(asks(&[("OMPI_MCA_coll_han_priority".to_owned(), "35".to_owned())]).is_empty());
    // Algorithms of `tuned` are forced later.
    let plain = Parameters::default();
    assert!(
        library
            .forcing_variables(Bcast, "binomial", &plain)
            .is_empty()
    );
}

/// The text is that of 4.1.4.
#[test]
fn the_report_about_the_last_communicator_counts() {
    let chosen = |name: &str, priority: u32, outcome: &str| {
        format!(
            "[host:1] coll:base:comm_select: selecting  {name:>10}, priority {priority:3}, {outcome}\n"
        )
    };
    let begun = |name: &str| format!("[host:1] coll:base:comm_select: new communicator: {name}\n");
    let world = begun("MPI_COMM_WORLD (cid 0)") + &chosen("han", 99, "Enabled");
    assert_eq!(component_in_report(&world), Some("han"));
    let declined = world.clone()
        + &begun("MPI COMMUNICATOR 3 DUP FROM 0 (cid 3)")
        + &chosen("basic", 10, "Enabled")
        + &chosen("tuned", 30, "Enabled")
        + &chosen("sync", 50, "Enabled")
        + &chosen("han", 99, "Disabled");
    assert_eq!(component_in_report(&declined), Some("tuned"));
    assert_eq!(component_in_report(&(declined + &begun("next"))), None);
    assert_eq!(component_in_report(""), None);
}
