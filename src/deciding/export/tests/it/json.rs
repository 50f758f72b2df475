//! Rules files in JSON.

use export::Options;
use schedule::Collective;
use table::Policy;
use vocabulary::CommShape;

use crate::sample::{self, OPEN_MPI, export, refuse};

#[test]
fn a_rules_file_distinguishes_shapes() {
    let table = sample::table("openmpi", "6.0.0", OPEN_MPI);
    let exported = export("openmpi-json", &table, &Options::default()).expect("exported");
    insta::assert_snapshot!(exported.text);
    let companion = exported.companion.expect("beside it");
    insta::assert_snapshot!(sample::without_version(&companion));
    let wrong = sample::table("openmpi", "5.0.7", OPEN_MPI);
    let error = export("openmpi-json", &wrong, &Options::default()).expect_err("refused");
    assert!(
        error
            .to_string()
            .contains("known for Open MPI 6.0, not for 5.0.7"),
        "{error}"
    );
}

/// Rules of 2x2 would be for any distribution of 4 ranks, also for 4 ranks on one node.
#[test]
fn rules_of_one_shape_are_not_used_for_others_with_the_same_ranks() {
    let mut table = sample::table("openmpi", "6.0.0", OPEN_MPI);
    let entries = table
        .collectives
        .get_mut(&Collective::Bcast)
        .expect("entries");
    entries.retain(|entry| entry.shape != CommShape { nodes: 1, ppn: 4 });
    let of_four = |extrapolate| -> Vec<String> {
        let options = Options {
            policy: Policy {
                extrapolate,
                ..Policy::default()
            },
            ..Options::default()
        };
        let exported = export("openmpi-json", &table, &options).expect("exported");
        let file: serde_json::Value = serde_json::from_str(&exported.text).expect("JSON");
        let listed = file["collectives"]["bcast"].as_array().expect("entries");
        let of_four = listed.iter().filter(|entry| entry["comm_size_min"] == 4);
        of_four
            .map(|entry| {
                let first = &entry["rules"][0]["alg"];
                format!("{} {first}", entry["comm_rank_distribution"])
            })
            .collect()
    };
    let back = [
        r#""single-node" 0"#,
        r#""one-per-node" 0"#,
        r#""any" "binomial""#,
    ];
    assert_eq!(of_four(false), back);
    assert_eq!(of_four(true), back[2..]);
}

#[test]
fn the_reader_is_strict() {
    let rule = r#"{"msg_size_min":0,"msg_size_max":"inf","alg":"ring","seg_size":0,"faninout":0}"#;
    let good = format!(
        r#"{{"rule_file_version":3,"module":"tuned","collectives":{{"bcast":[{{"comm_size_min":2,"comm_size_max":3,"comm_rank_distribution":"any","rules":[{rule}]}}]}}}}"#
    );
    let format = export::find_format("openmpi-json").expect("a format");
    format.validate(&good, &Options::default()).expect("valid");
    let check = |old: &str, new: &str, complaint: &str| {
        assert_eq!(good.matches(old).count(), 1, "{old}");
        refuse("openmpi-json", &good.replace(old, new), complaint);
    };
    check(
        ":3,\"module",
        ":2,\"module",
        "line 1: not rules of the component tuned, version 3",
    );
    check(
        "bcast",
        "broadcast",
        "line 1: broadcast: unknown collective",
    );
    let gap = "line 1: bcast: message sizes leave a gap, overlap or do not begin with 0";
    check("\"msg_size_min\":0", "\"msg_size_min\":1", gap);
    check(
        "\"inf\"",
        "8191",
        "line 1: bcast: the last message size is not `inf`",
    );
    let below = "line 1: bcast: `comm_size_max` is below `comm_size_min`";
    check("\"comm_size_max\":3", "\"comm_size_max\":1", below);
    for unknown in [
        good.replace("seg_size", "segsize"),
        good.replace("\"any\"", "\"some\""),
    ] {
        format
            .validate(&unknown, &Options::default())
            .expect_err("refused");
    }
}
