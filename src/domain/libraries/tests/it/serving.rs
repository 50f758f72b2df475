//! The components of a library that carry out its collectives.

use std::collections::BTreeMap;

use libraries::{LibraryName, Serving};
use schedule::Collective::{self, *};

fn serving(library: LibraryName, variables: &[(&str, &str)]) -> Vec<Serving> {
    let pairs = variables.iter();
    let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    library.serving_components(&pairs.collect::<BTreeMap<_, _>>())
}

/// The collectives for which a component comes first, on one node or over several.
fn first(all: &[Serving], component: &str, over_nodes: bool) -> Vec<Collective> {
    let mut entries = all.iter();
    let is_it = |entry: &&Serving| entry.component == component && entry.over_nodes == over_nodes;
    let found = entries.find(is_it);
    found.map_or_else(Vec::new, |entry| entry.collectives.clone())
}

/// The variables of 4.1, where `han` must be enabled.
const PLAIN: [(&str, &str); 6] = [
    ("coll_tuned_priority", "30"),
    ("coll_basic_priority", "10"),
    ("coll_han_priority", "0"),
    ("coll_sm_priority", "0"),
    ("coll_tuned_bcast_algorithm", "ignore"),
    ("coll_tuned_allreduce_algorithm", "ignore"),
];

fn open_mpi(more: &[(&str, &str)]) -> Vec<Serving> {
    serving(LibraryName::OpenMpi, &[&PLAIN[..], more].concat())
}

#[test]
fn tuned_serves_its_collectives_if_no_component_takes_precedence() {
    let all = open_mpi(&[]);
    assert_eq!(first(&all, "tuned", false), [Bcast, Allreduce]);
    assert!(first(&all, "basic", false).contains(&Scan));
    assert!(all.iter().all(|entry| !entry.over_nodes), "{all:?}");
    // No list of components makes `tuned` carry out collectives that it lacks.
    assert!(all.iter().all(|entry| entry.remedy.is_none()), "{all:?}");
    assert!(serving(LibraryName::OpenMpi, &[]).is_empty());
}

#[test]
fn components_of_higher_priority_take_precedence_over_tuned() {
    let han = open_mpi(&[("coll_han_priority", "35")]);
    assert_eq!(first(&han, "tuned", false), [Bcast, Allreduce]);
    let over_nodes = first(&han, "han", true);
    assert!(over_nodes.contains(&Bcast) && !over_nodes.contains(&Alltoall));
    let of_han = han.iter().find(|entry| entry.component == "han");
    let remedy = of_han.and_then(|entry| entry.remedy.as_deref());
    assert_eq!(remedy, Some("OMPI_MCA_coll=^han"));
    // Lists of components by name are respected.
    for listed in ["^han,adapt", "tuned,basic,self"] {
        let without = open_mpi(&[("coll_han_priority", "35"), ("coll", listed)]);
        assert_eq!(first(&without, "han", true), [], "{listed}");
        assert_eq!(
            first(&without, "tuned", false),
            [Bcast, Allreduce],
            "{listed}"
        );
    }
    let shared = open_mpi(&[("coll_sm_priority", "90")]);
    assert!(first(&shared, "sm", false).contains(&Bcast));
    assert!(first(&shared, "tuned", true).contains(&Bcast));
    // A component that must be enabled.
    let ucc = |enable| open_mpi(&[("coll_ucc_priority", "100"), ("coll_ucc_enable", enable)]);
    assert_eq!(first(&ucc("false"), "ucc", false), []);
    assert!(first(&ucc("true"), "ucc", false).contains(&Allreduce));
}

#[test]
fn the_remedy_is_one_list_that_keeps_existing_settings() {
    let check = |coll: &str, expected: &str| {
        let all = open_mpi(&[
            ("coll_han_priority", "35"),
            ("coll_sm_priority", "90"),
            ("coll_hcoll_priority", "90"),
            ("coll_adapt_priority", "5"),
            ("coll", coll),
        ]);
        let remedies: Vec<_> = all
            .iter()
            .filter_map(|entry| entry.remedy.as_deref())
            .collect();
        assert!(!remedies.is_empty(), "{coll}: {all:?}");
        for remedy in remedies {
            assert_eq!(remedy, format!("OMPI_MCA_coll={expected}"), "{coll}");
        }
        // With the remedy no further variable must be set.
        let remedied = open_mpi(&[
            ("coll_han_priority", "35"),
            ("coll_sm_priority", "90"),
            ("coll", expected),
        ]);
        assert!(
            remedied.iter().all(|entry| entry.remedy.is_none()),
            "{coll}: {remedied:?}"
        );
    };
    check("", "^hcoll,han,sm");
    check("^hcoll, ucc", "^hcoll,ucc,han,sm");
    check("han, tuned ,basic,self", "tuned,basic,self");
}

#[test]
fn mpichs_device_comes_first_if_variables_allow_it() {
    let check = |devices: &str, own: &str, by_device: bool| {
        let all = serving(
            LibraryName::Mpich,
            &[
                ("MPIR_CVAR_DEVICE_COLLECTIVES", devices),
                ("MPIR_CVAR_BCAST_DEVICE_COLLECTIVE", own),
            ],
        );
        let found = first(&all, "the device", false).contains(&Bcast);
        assert_eq!(found, by_device, "{devices} {own}: {all:?}");
        assert_ne!(
            first(&all, "the selection file", false).contains(&Bcast),
            found
        );
    };
    check("percoll", "1", true);
    check("percoll", "0", false);
    check("all", "0", true);
    check("none", "1", false);
    // The values as the tool interface of 4.0 reports them.
    check("2", "1", true);
    check("2", "0", false);
    check("0", "0", true);
    check("1", "1", false);
    assert!(serving(LibraryName::Mpich, &[]).is_empty());
}
