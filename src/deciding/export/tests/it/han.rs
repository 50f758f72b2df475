//! Rules files of Open MPI's component `han`.

use export::Options;
use export::openmpi::read_han_rules;
use libraries::{ExaminedRelease, LibraryName};
use schedule::Collective;

use crate::sample::{self, export, refuse};

/// Choices of components on two nodes with two and four ranks each.
const TABLE: &str = "
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - {nodes: 1, ppn: 4, deployment: library, rules: [
          {from: 0, candidate: 'native:bcast/component_sm', confidence: high}]}
      - {nodes: 4, ppn: 1, deployment: library, rules: [
          {from: 0, candidate: default, confidence: high}]}
      - {nodes: 2, ppn: 2, deployment: library, rules: [
          {from: 0, candidate: default, confidence: high},
          {from: 1500, candidate: 'native:bcast/component_han_up_adapt', segment_bytes: 8K, confidence: high},
          {from: 1M, candidate: 'native:bcast/component_tuned', confidence: high}]}
      - {nodes: 2, ppn: 4, deployment: library, rules: [
          {from: 0, candidate: 'native:bcast/component_han_up_adapt', segment_bytes: 8K, confidence: high},
          {from: 64K, candidate: 'native:bcast/binomial', confidence: high}]}
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - {nodes: 2, ppn: 2, operators: commutative, deployment: library, rules: [
          {from: 0, candidate: default, confidence: high},
          {from: 16K, candidate: 'native:allreduce/component_han', confidence: high}]}
  gather:
    message_size: bytes of one rank's contribution
    shapes:
      - {nodes: 2, ppn: 2, deployment: library, rules: [
          {from: 0, candidate: 'native:gather/component_basic', confidence: high},
          {from: 4K, candidate: 'native:gather/component_tuned', confidence: high}]}
  alltoall:
    message_size: bytes of one block, from one rank to another
    shapes:
      - {nodes: 2, ppn: 2, deployment: library, rules: [
          {from: 0, candidate: 'native:alltoall/component_basic', confidence: high}]}
";

fn table(version: &str) -> table::Table {
    sample::table("openmpi", version, TABLE)
}

fn commutative() -> Options {
    Options {
        assume_commutative: true,
        ..Options::default()
    }
}

#[test]
fn rules_say_for_each_collective_of_han_which_component_carries_it_out() {
    let exported = export("openmpi-han", &table("4.1.4"), &commutative()).expect("exported");
    insta::assert_snapshot!(sample::without_version(&exported.text));
    let file = read_han_rules(&exported.text).expect("readable");
    let check = |collective, ranks, bytes, component| {
        let found = file.component_at(collective, ranks, bytes);
        assert_eq!(found, Some(component), "{collective} {ranks} {bytes}");
    };
    for (bytes, component) in [
        (0, "tuned"),
        (1499, "tuned"),
        (1500, "han"),
        ((1 << 20) - 1, "han"),
        (1 << 20, "tuned"),
    ] {
        check(Collective::Bcast, 4, bytes, component);
    }
    check(Collective::Bcast, 3, 1500, "tuned");
    check(Collective::Bcast, 5, 1500, "tuned");
    check(Collective::Bcast, 8, 65535, "han");
    check(Collective::Bcast, 8, 65536, "tuned");
    check(Collective::Allreduce, 4, 16384, "han");
    // In this release the component carries these out only because of the file's priority.
    for collective in [Collective::Barrier, Collective::Allgatherv] {
        check(collective, 4, 0, "tuned");
    }
    let variables: Vec<(&str, Option<&str>)> = exported
        .variables
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_deref()))
        .collect();
    assert_eq!(
        variables,
        [
            ("OMPI_MCA_coll_han_use_dynamic_file_rules", Some("1")),
            ("OMPI_MCA_coll_han_dynamic_rules_filename", None),
            ("OMPI_MCA_coll_han_priority", Some("35")),
            ("OMPI_MCA_coll_han_bcast_up_module", Some("1")),
            ("OMPI_MCA_coll_han_bcast_segsize", Some("8192")),
        ]
    );
}

/// The component comes first by itself, so what the table leaves to the library is its part, with its own settings.
#[test]
fn from_5_on_the_default_is_han_itself() {
    let exported = export("openmpi-han", &table("5.0.11"), &commutative()).expect("exported");
    let file = read_han_rules(&exported.text).expect("readable");
    // Its settings there would also be those of smaller messages, for which the table has the default.
    assert_eq!(file.component_at(Collective::Bcast, 4, 1500), None);
    assert!(
        exported.text.contains("Not written: bcast"),
        "{}",
        exported.text
    );
    assert_eq!(file.component_at(Collective::Gather, 4, 4095), Some("han"));
    assert_eq!(
        file.component_at(Collective::Gather, 4, 4096),
        Some("tuned")
    );
    assert_eq!(file.component_at(Collective::Barrier, 4, 0), None);
    assert_eq!(exported.variables.len(), 2, "{:?}", exported.variables);
}

#[test]
fn reductions_are_written_only_for_operators_that_commute() {
    let exported = export("openmpi-han", &table("4.1.4"), &Options::default()).expect("exported");
    let file = read_han_rules(&exported.text).expect("readable");
    let large = file.component_at(Collective::Allreduce, 4, 1 << 20);
    assert_eq!(large, Some("tuned"));
    assert!(exported.text.contains("Not written: allreduce"));
}

#[test]
fn a_table_without_components_changes_nothing() {
    for (version, component) in [("4.1.4", "tuned"), ("5.0.11", "han")] {
        let plain = sample::table("openmpi", version, sample::OPEN_MPI);
        let exported = export("openmpi-han", &plain, &commutative()).expect("exported");
        assert!(!exported.decides);
        let file = read_han_rules(&exported.text).expect("readable");
        let barrier = file.component_at(Collective::Barrier, 4, 0);
        assert_eq!(barrier, Some(component), "{version}");
    }
}

#[test]
fn rules_of_tuned_leave_components_out() {
    for (format, version) in [("openmpi", "4.1.4"), ("openmpi-json", "6.0.0")] {
        let exported = export(format, &table(version), &commutative()).expect("exported");
        let decisions = exported.text.lines().filter(|line| !line.starts_with('#'));
        assert!(!decisions.clone().any(|line| line.contains("component_")));
        let notes = exported.notes.join("\n");
        assert!(notes.contains("cannot name other components"), "{notes}");
    }
}

/// The reader of `audit`, which treats a file as the library does.
#[test]
fn audit_finds_nothing_wrong_with_a_written_file() {
    let formats = LibraryName::OpenMpi.steering_formats().iter();
    let mut han = formats.filter(|format| format.name == "openmpi-han");
    let han = han.next().expect("a format");
    for version in ["4.1.4", "5.0.11"] {
        let exported = export("openmpi-han", &table(version), &commutative()).expect("exported");
        assert!((han.recognises)(&exported.text));
        let release = ExaminedRelease {
            version,
            variables: None,
            assume_commutative: true,
        };
        let found = (han.examine)(&release, &exported.text);
        assert!(found.all.is_empty(), "{:?}", found.all);
    }
}

const PLAIN: &str = "1\nbcast 1 2 2\n1 1 0 tuned\n4 2 0 tuned 1000 han\n";

#[test]
fn the_reader_refuses_what_the_component_drops_or_ignores() {
    read_han_rules(PLAIN).expect("readable");
    let check = |from: &str, to: &str, complaint: &str| {
        assert!(PLAIN.contains(from), "{from}");
        refuse("openmpi-han", &PLAIN.replacen(from, to, 1), complaint);
    };
    check(
        "bcast",
        "alltoall",
        "line 2: `alltoall` is not a collective of han",
    );
    check(
        "bcast 1 2",
        "bcast 1 1",
        "line 2: bcast has rules of other levels than 2",
    );
    check(
        "1 1 0",
        "2 1 0",
        "line 3: the first communicator size is 2, not 1",
    );
    check(
        "4 2 0",
        "1 2 0",
        "line 4: communicator size 1 does not ascend",
    );
    check(
        "1 1 0",
        "1 1 8",
        "line 3: the first message size is 8, not 0",
    );
    check(
        "1000 han",
        "0 han",
        "line 4: message size 0 does not ascend",
    );
    check(
        "1000",
        "01000",
        "line 4: `01000` is not a message size as a plain decimal",
    );
    check(
        "1000",
        "1K",
        "line 4: `1K` is not a message size as a plain decimal",
    );
    check(
        "han",
        "han@simple",
        "line 4: `han@simple` is not the component han or tuned",
    );
    check(
        "1000 han",
        "1000 6",
        "line 4: `6` is not the component han or tuned",
    );
    check(
        "1000 han",
        "1000 han 7",
        "line 4: `7` follows the last rule",
    );
    check(
        "1000 han",
        "1000",
        "line 4: the file ends where a component is expected",
    );
    check(
        "1\nbcast",
        "2\nbcast",
        "line 4: the file ends where a collective is expected",
    );
    refuse("openmpi-han", "0\n", "line 1: there are no rules");
    refuse(
        "openmpi-han",
        "",
        "line 1: the file ends where the number of collectives is expected",
    );
}
