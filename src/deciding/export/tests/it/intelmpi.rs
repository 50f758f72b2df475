//! Environment files for Intel MPI.

use export::Options;
use export::intelmpi::read_presets;
use schedule::Collective;
use vocabulary::CommShape;

use crate::sample::{self, export};

const TABLE: &str = "
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - {nodes: 1, ppn: 2, deployment: library, rules: [
          {from: 0, candidate: 'native:bcast/preset_1', confidence: high},
          {from: 1500, candidate: 'native:bcast/preset_3', confidence: high},
          {from: 1M, candidate: 'native:bcast/preset_10', confidence: high}]}
      - {nodes: 1, ppn: 4, deployment: library, rules: [
          {from: 0, candidate: 'native:bcast/preset_1', confidence: high},
          {from: 1500, candidate: 'native:bcast/preset_3', confidence: high},
          {from: 1M, candidate: 'native:bcast/preset_10', confidence: high}]}
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - {nodes: 1, ppn: 2, operators: commutative, deployment: library, rules: [
          {from: 0, candidate: 'native:allreduce/preset_8', confidence: high}]}
  gather:
    message_size: bytes of one rank's contribution
    shapes:
      - {nodes: 1, ppn: 2, deployment: library, rules: [
          {from: 0, candidate: default, confidence: high},
          {from: 10, candidate: 'native:gather/preset_3', confidence: high}]}
  scatter:
    message_size: bytes of one rank's part
    shapes:
      - {nodes: 1, ppn: 2, deployment: library, rules: [
          {from: 0, candidate: 'native:scatter/preset_3', confidence: high}]}
      - {nodes: 1, ppn: 4, deployment: library, rules: [
          {from: 0, candidate: 'native:scatter/preset_4', confidence: high}]}
";

fn table() -> table::Table {
    sample::table("intelmpi", "2021.19.0", TABLE)
}

#[test]
fn variables_have_the_presets_of_all_sizes() {
    let exported = export("intelmpi", &table(), &Options::default()).expect("exported");
    insta::assert_snapshot!(sample::without_version(&exported.text));
    let bcast = "1:0-1499;3:1500-1048575;10:1048576-2147483647";
    let expected = ("I_MPI_ADJUST_BCAST".to_owned(), Some(bcast.to_owned()));
    assert_eq!(exported.variables, [expected]);
    let file = read_presets(&exported.text).expect("readable");
    for (bytes, preset) in [(0, 1), (1499, 1), (1500, 3), (1 << 20, 10), (1 << 40, 10)] {
        assert_eq!(file.preset_at(Collective::Bcast, bytes), Some(preset));
    }
    assert_eq!(file.preset_at(Collective::Gather, 10), None);
}

#[test]
fn reductions_are_written_only_for_operators_that_commute() {
    let options = Options {
        assume_commutative: true,
        ..Options::default()
    };
    let exported = export("intelmpi", &table(), &options).expect("exported");
    let file = read_presets(&exported.text).expect("readable");
    assert_eq!(file.preset_at(Collective::Allreduce, 8), Some(8));
}

/// The table leaves gathers below 10 bytes to the library, and has different rules for scatters on 2 and 4 ranks.
#[test]
fn a_policy_and_a_shape_decide_what_the_variables_cannot() {
    let values = |options: &Options| {
        let exported = export("intelmpi", &table(), options).expect("exported");
        let file = read_presets(&exported.text).expect("readable");
        [Collective::Gather, Collective::Scatter].map(|collective| file.preset_at(collective, 1))
    };
    assert_eq!(values(&Options::default()), [None, None]);
    let mut options = Options::default();
    options.policy.extrapolate = true;
    assert_eq!(values(&options), [Some(3), None]);
    options.assume_shapes = vec![CommShape { nodes: 1, ppn: 4 }];
    assert_eq!(values(&options), [None, Some(4)]);
}

/// Where the library's own decision was measured to be the best, no preset replaces it.
#[test]
fn measured_defaults_are_not_replaced_by_the_nearest_preset() {
    let preset_of_8_bytes = |measured: &str| {
        let text = format!(
            "
  bcast:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        deployment: library
        rules:
          - {{from: 0, candidate: default, confidence: high}}
          - {{from: 8K, candidate: 'native:bcast/preset_3', confidence: high}}
        measured:
{measured}"
        );
        let mut options = Options::default();
        options.policy.extrapolate = true;
        let table = sample::table("intelmpi", "2021.19.0", &text);
        let exported = export("intelmpi", &table, &options).expect("exported");
        let file = read_presets(&exported.text).expect("readable");
        file.preset_at(Collective::Bcast, 8)
    };
    let below = "          bytes: [4K, 8K]
          microseconds: [2, 2]
          default_microseconds: [2, 4]
";
    assert_eq!(preset_of_8_bytes(below), None);
    let from_there = "          bytes: [8K, 16K]
          microseconds: [2, 2]
          default_microseconds: [4, 4]
";
    assert_eq!(preset_of_8_bytes(from_there), Some(3));
}

#[test]
fn other_releases_are_refused() {
    let other = Options {
        version: Some("2019.4".to_owned()),
        ..Options::default()
    };
    let error = export("intelmpi", &table(), &other).expect_err("refused");
    let error = error.to_string();
    assert!(error.contains("known for Intel MPI 2021"), "{error}");
}

/// Everything that the library would ignore or read differently.
#[test]
fn the_reader_is_strict() {
    let good = "# comment\n\nexport I_MPI_ADJUST_BCAST='1:0-64;3:65-2147483647'\n";
    read_presets(good).expect("readable");
    for (wrong, message) in [
        ("3:65-2147483647", "begins at 65, not at 0"),
        ("1:0-64;3:64-2147483647", "begins at 64, not at 65"),
        ("1:0-64;3:66-2147483647", "begins at 66, not at 65"),
        ("1:0-64", "does not end at 2147483647"),
        ("1:0-64;", "is not PRESET:FROM-TO"),
        ("1:0-2147483647@2-2", "is not PRESET:FROM-TO"),
        ("0:0-2147483647", "does not name a preset"),
        ("99999999999:0-2147483647", "does not name a preset"),
        ("1", "is not PRESET:FROM-TO"),
        ("01:0-2147483647", "is not PRESET:FROM-TO"),
        ("1:0-64K", "is not PRESET:FROM-TO"),
        ("1:0-2147483648", "ends at 2147483648"),
        ("", "is not PRESET:FROM-TO"),
    ] {
        let text = format!("\nexport I_MPI_ADJUST_BCAST='{wrong}'\n");
        let error = read_presets(&text).expect_err("refused").to_string();
        assert!(error.starts_with("line 2: "), "{error}");
        assert!(error.contains(message), "{wrong}: {error}");
    }
    for line in [
        "export I_MPI_ADJUST_BCAST=1:0-2147483647",
        "I_MPI_ADJUST_BCAST='1:0-2147483647'",
        "export I_MPI_ADJUST_BCASTS='1:0-2147483647'",
        "export I_MPI_ADJUST_IBCAST='1:0-2147483647'",
        " export I_MPI_ADJUST_BCAST='1:0-2147483647'",
    ] {
        read_presets(line).expect_err("refused");
    }
    let twice = good.to_owned() + "export I_MPI_ADJUST_BCAST='1:0-2147483647'\n";
    let error = read_presets(&twice).expect_err("refused").to_string();
    assert!(error.contains("line 4: bcast is given twice"), "{error}");
}
