//! The text of tables.

use schedule::Collective;
use table::{MeasuredPoint, Provenance, Table};
use vocabulary::{Candidate, Parameters, Through};

use crate::sample;

#[test]
fn a_table_is_made_for_review() {
    insta::assert_snapshot!(sample::table().to_yaml());
}

#[test]
fn tables_without_shared_memory_can_be_read_by_earlier_versions() {
    let mut table = sample::table();
    assert!(table.to_yaml().contains("\nformat: colltune-table 3\n"));
    let bcast = table.collectives.get_mut(&Collective::Bcast);
    let rule = &mut bcast.expect("bcast")[0].rules[0];
    rule.candidate = sample::ours(
        "bcast/chain",
        Parameters {
            through: Through::Shared,
            ..sample::block_bytes(64)
        },
    );
    let text = table.to_yaml();
    assert!(text.contains("\nformat: colltune-table 4\n"), "{text}");
    let written = "candidate: bcast/chain, block_bytes: 64, through: shared,";
    assert!(text.contains(written), "{text}");
    let read = Table::parse(&text, "t.yaml".as_ref()).expect("valid");
    assert_eq!(read, table);
}

#[test]
fn tables_without_requirements_on_bits_can_be_read_by_earlier_versions() {
    let mut table = sample::table();
    assert!(!table.to_yaml().contains("numerics"));
    table.provenance.numerics = "independent_of_size,independent_of_placement"
        .parse()
        .expect("requirements");
    let text = table.to_yaml();
    assert!(text.contains("\nformat: colltune-table 7\n"), "{text}");
    let written = "\n  numerics: independent_of_placement,independent_of_size\n";
    assert!(text.contains(written), "{text}");
    let read = Table::parse(&text, "t.yaml".as_ref()).expect("valid");
    assert_eq!(read, table);
    let wrong = text.replace("independent_of_size\n", "independent_of_sise\n");
    let error = Table::parse(&wrong, "t.yaml".as_ref()).expect_err("an unknown requirement");
    let told = error.to_string();
    assert!(
        told.contains("independent_of_sise") && told.contains("same_on_all_ranks"),
        "{told}"
    );
}

#[test]
fn tables_without_networks_can_be_read_by_earlier_versions() {
    let mut table = sample::table();
    assert!(!table.to_yaml().contains("networks"));
    table.provenance.networks = ["Ethernet (ena)", "EFA 100 Gb/s (efa)"]
        .map(str::to_owned)
        .to_vec();
    let text = table.to_yaml();
    assert!(text.contains("\nformat: colltune-table 5\n"), "{text}");
    let written = "\n  networks: [Ethernet (ena), EFA 100 Gb/s (efa)]\n";
    assert!(text.contains(written), "{text}");
    let read = Table::parse(&text, "t.yaml".as_ref()).expect("valid");
    assert_eq!(read, table);
}

#[test]
fn tables_without_numbers_of_requests_can_be_read_by_earlier_versions() {
    let mut table = sample::table();
    let bcast = table.collectives.get_mut(&Collective::Bcast);
    let rule = &mut bcast.expect("bcast")[0].rules[0];
    rule.candidate = Candidate::Native {
        algorithm: "native:bcast/chain".to_owned(),
        parameters: Parameters {
            max_requests: Some(4),
            ..Parameters::default()
        },
    };
    let text = table.to_yaml();
    assert!(text.contains("\nformat: colltune-table 6\n"), "{text}");
    assert!(text.contains("max_requests: 4,"), "{text}");
    let read = Table::parse(&text, "t.yaml".as_ref()).expect("valid");
    assert_eq!(read, table);
}

#[test]
fn nodes_are_the_same_if_known_cpus_and_networks_are() {
    let nodes = |cpu: &str, networks: &[&str]| Provenance {
        cpu: cpu.to_owned(),
        networks: networks.iter().map(|text| (*text).to_owned()).collect(),
        ..sample::provenance()
    };
    let check = |one: &Provenance, other: &Provenance, expected: bool| {
        assert_eq!(one.has_same_nodes(other), expected, "{one:?} {other:?}");
        assert_eq!(other.has_same_nodes(one), expected, "{other:?} {one:?}");
    };
    let known = nodes("Xeon", &["Omni-Path", "Ethernet"]);
    check(&known, &known, true);
    check(&known, &nodes("Epyc", &["Omni-Path", "Ethernet"]), false);
    check(&known, &nodes("Xeon", &["Omni-Path"]), false);
    check(&known, &nodes("Xeon", &["InfiniBand", "Ethernet"]), false);
    // What is unknown matches any.
    check(&known, &nodes("Xeon", &[]), true);
    check(&known, &nodes("any", &["Omni-Path", "Ethernet"]), true);
    check(&known, &nodes(" any ", &[]), true);
    check(&known, &nodes("", &["Omni-Path"]), false);
    check(&known, &nodes("Epyc", &[]), false);
    check(&nodes("any", &[]), &nodes("", &[]), true);
}

#[test]
fn times_are_in_microseconds_with_the_fewest_digits_that_identify_them() {
    let cases = [
        (3.1e-7, "0.31"),
        (1e-6, "1"),
        (1.25e-6, "1.25"),
        (0.0105, "10500"),
        (0.010_532_5, "10532.5"),
        (2.5e-9, "0.0025"),
        (2.5e-13, "2.5e-7"),
        (1e9, "1e15"),
    ];
    for (seconds, written) in cases {
        let mut table = sample::table();
        let bcast = table.collectives.get_mut(&Collective::Bcast);
        bcast.expect("bcast")[0].measured = vec![MeasuredPoint {
            bytes: 8,
            seconds,
            default_seconds: seconds,
            speedup: 1.0,
        }];
        let text = table.to_yaml();
        let row = format!("microseconds:         [{written}]\n");
        assert!(text.contains(&row), "{written}: {text}");
        let read = Table::parse(&text, "t.yaml".as_ref()).expect("valid");
        assert_eq!(read, table, "{written}");
    }
}
