//! Warnings about conditions that make times less reliable.

use environment::judge_environment;
use vocabulary::{Node, Warning};
use wire::Environment;

/// A node of 4 cores with bound ranks.
fn node(host: &str, ranks: u32) -> Node {
    Node {
        host: host.to_owned(),
        boot: host.to_owned(),
        cpu: "Some CPU".to_owned(),
        cores: 4,
        threads: 4,
        available: 4,
        bound: ranks,
        crowded: 0,
        switches: String::new(),
        networks: Vec::new(),
        cpus: vec![String::new(); ranks as usize],
    }
}

fn quiet(nodes: Vec<Node>) -> Environment {
    Environment {
        cores: 4,
        nodes,
        governor: "performance".to_owned(),
        timer_resolution_seconds: 1e-9,
        ..Environment::default()
    }
}

#[track_caller]
fn check(environment: &Environment, expected: &[Warning]) {
    assert_eq!(judge_environment(environment), expected);
    for warning in expected {
        let sentence = warning.to_string();
        assert!(sentence.contains([':', ';']), "says what to do: {sentence}");
    }
}

#[test]
fn good_and_unknown_machines_cause_no_warning() {
    check(&quiet(vec![node("a", 4), node("b", 4)]), &[]);
    check(&quiet(vec![node("a", 0)]), &[]);
    check(&Environment::default(), &[]);
}

#[test]
fn ranks_that_share_or_change_cores_cause_a_warning() {
    let oversubscribed = Warning::Oversubscribed { ranks: 6, cores: 4 };
    check(&quiet(vec![node("a", 2), node("b", 6)]), &[oversubscribed]);
    let free = Node {
        bound: 1,
        ..node("a", 2)
    };
    check(
        &quiet(vec![node("b", 2), free.clone()]),
        &[Warning::Unbound],
    );
    let crowded = Node {
        crowded: 2,
        cores: 2,
        ..node("a", 3)
    };
    let told = Warning::CrowdedCores {
        host: "a".to_owned(),
        ranks: 2,
    };
    check(&quiet(vec![crowded]), &[told]);
    // If there are more ranks than cores, ranks are not bound, intentionally.
    let full = Node {
        bound: 0,
        ..node("a", 5)
    };
    check(
        &quiet(vec![full]),
        &[Warning::Oversubscribed { ranks: 5, cores: 4 }],
    );
}

#[test]
fn nodes_that_are_one_machine_or_differ_cause_a_warning() {
    let same = |host| Node {
        boot: "x".to_owned(),
        ..node(host, 2)
    };
    let shared = Warning::SharedMachine {
        nodes: 2,
        ranks: 4,
        cores: 4,
    };
    check(&quiet(vec![same("a"), same("b"), node("c", 2)]), &[shared]);
    let unknown = |host| Node {
        boot: String::new(),
        ..node(host, 2)
    };
    check(&quiet(vec![unknown("a"), unknown("b")]), &[]);
    let other = Node {
        cpu: "Other CPU".to_owned(),
        ..node("b", 2)
    };
    let smaller = Node {
        available: 2,
        ..node("c", 2)
    };
    let unlike = Warning::UnlikeNodes {
        kinds: vec![
            "c: 2 cores of Some CPU".to_owned(),
            "b: 4 cores of Other CPU".to_owned(),
            "a: 4 cores of Some CPU".to_owned(),
        ],
    };
    check(
        &quiet(vec![node("a", 2), other, smaller, node("d", 2)]),
        &[unlike],
    );
}

#[test]
fn nodes_on_different_networks_cause_a_warning() {
    let on = |host, network: &str| Node {
        networks: vec![network.to_owned()],
        ..node(host, 2)
    };
    let unlike = Warning::UnlikeNodes {
        kinds: vec![
            "b: 4 cores of Some CPU, Ethernet 10 Gb/s (ixgbe)".to_owned(),
            "a: 4 cores of Some CPU, Omni-Path 100 Gb/s (hfi1)".to_owned(),
        ],
    };
    let [a, b] = [
        on("a", "Omni-Path 100 Gb/s (hfi1)"),
        on("b", "Ethernet 10 Gb/s (ixgbe)"),
    ];
    check(&quiet(vec![a, b]), &[unlike]);
    // Unknown networks may be the same.
    let same = on("c", "Omni-Path 100 Gb/s (hfi1)");
    let omni_path = on("a", "Omni-Path 100 Gb/s (hfi1)");
    check(&quiet(vec![omni_path, same, node("d", 2)]), &[]);
}

#[test]
fn conditions_that_disturb_times_cause_a_warning() {
    let busy = Environment {
        load: 1.5,
        ..quiet(Vec::new())
    };
    check(
        &busy,
        &[Warning::BusyMachine {
            load_percent: 150,
            cores: 4,
        }],
    );
    check(&Environment { load: 0.9, ..busy }, &[]);
    let saving = Environment {
        governor: "powersave".to_owned(),
        ..quiet(Vec::new())
    };
    check(
        &saving,
        &[Warning::Governor {
            name: "powersave".to_owned(),
        }],
    );
    let coarse = Environment {
        timer_resolution_seconds: 1e-6,
        ..quiet(Vec::new())
    };
    check(
        &coarse,
        &[Warning::CoarseTimer {
            resolution_nanoseconds: 1000,
        }],
    );
}

#[test]
fn a_changed_default_causes_a_warning() {
    let told = |setting: &str| Warning::SteeredDefault {
        settings: vec![setting.to_owned()],
    };
    let preset = Environment {
        preset: vec!["forced".to_owned()],
        ..quiet(Vec::new())
    };
    check(&preset, &[told("forced")]);
    let name = "MPIR_CVAR_BCAST_INTRA_ALGORITHM".to_owned();
    let steered = Environment {
        variables: [(name, "x".to_owned())].into(),
        ..preset
    };
    check(&steered, &[told("MPIR_CVAR_BCAST_INTRA_ALGORITHM=x")]);
    let by_file = Environment {
        settings: Some([("coll".to_owned(), "basic".to_owned())].into()),
        ..quiet(Vec::new())
    };
    check(&by_file, &[told("coll=basic")]);
}
