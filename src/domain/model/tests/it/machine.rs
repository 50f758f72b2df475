//! The machine file and its checks.

use model::{InvalidMachine, Level, Machine};

const FULL: &str = r#"{
    "name": "cluster", "ranks_per_node": 16,
    "network": {"alpha": 2e-6, "overhead": 5e-7, "beta": 1e-10, "eager_limit": 8192},
    "node": {"alpha": 3e-7, "overhead": 1e-7, "beta": 5e-11, "eager_limit": 4096},
    "injection_beta": 2e-10, "gamma": 1e-10, "copy": 5e-11,
    "noise": {"jitter": 0.05, "spike_probability": 0.01, "spike_factor": 10}
}"#;

#[test]
fn a_full_file_round_trips() {
    let machine: Machine = serde_json::from_str(FULL).expect("valid");
    assert_eq!(machine.validate(), Ok(()));
    let text = serde_json::to_string(&machine).expect("serializable");
    assert_eq!(
        serde_json::from_str::<Machine>(&text).expect("valid"),
        machine
    );
    let rates = machine.rates(Level::Network).expect("known");
    assert_eq!(
        (rates.alpha, rates.beta, rates.gamma),
        (2e-6, 1e-10, Some(1e-10))
    );
}

#[test]
fn absent_links_have_no_rates() {
    let text = r#"{"name": "laptop", "ranks_per_node": 2, "node": {"alpha": 3e-7, "beta": 5e-11}}"#;
    let machine: Machine = serde_json::from_str(text).expect("valid");
    assert_eq!(machine.validate(), Ok(()));
    assert_eq!(machine.rates(Level::Network), None);
    assert_eq!(
        machine.rates(Level::of_nodes(1)).expect("known").gamma,
        None
    );
}

#[test]
fn each_line_holds_up_to_the_start_of_the_next() {
    let check = |second: u64, expected: Result<(), InvalidMachine>| {
        let lines = format!(
            r#""node": {{"lines": [{{"from": 64, "alpha": 1e-6, "beta": 1e-10}},
               {{"from": {second}, "alpha": 1e-6, "beta": 1e-10, "exchange": 1.5, "fresh": 2}}],"#
        );
        let text = FULL.replace(r#""node": {"#, &lines);
        let machine: Machine = serde_json::from_str(&text).expect("well-formed");
        assert_eq!(machine.validate(), expected);
    };
    check(65, Ok(()));
    let key = "node.lines";
    check(64, Err(InvalidMachine::LinesOutOfOrder { key }));
}

#[test]
fn the_shared_link_replaces_the_node_link() {
    let with = |shared: &str| -> Machine {
        let text = FULL.replace(
            r#""injection_beta""#,
            &format!(r#"{shared} "injection_beta""#),
        );
        serde_json::from_str(&text).expect("well-formed")
    };
    assert_eq!(with("").through_shared(), None);
    let machine = with(r#""shared": {"alpha": 1e-7, "beta": 2e-11, "gamma": 3e-11},"#);
    assert_eq!(machine.validate(), Ok(()));
    let through = machine.through_shared().expect("known");
    assert_eq!(through.validate(), Ok(()));
    assert_eq!(through.node.map(|link| link.alpha), Some(1e-7));
    assert_eq!(
        (&through.network, through.gamma),
        (&machine.network, Some(3e-11))
    );
    let plain = with(r#""shared": {"alpha": 1e-7, "beta": 2e-11},"#);
    assert_eq!(plain.through_shared().expect("known").gamma, machine.gamma);
    let wrong = with(r#""shared": {"alpha": 1e-7, "beta": 2e-11, "gamma": 2},"#);
    assert_eq!(
        wrong.validate().expect_err("too slow").key(),
        "shared.gamma"
    );
    let text = FULL.replace(r#""node": {"#, r#""node": {"gamma": 1e-11, "#);
    let with_node_gamma: Machine = serde_json::from_str(&text).expect("well-formed");
    let key = "node.gamma";
    assert_eq!(
        with_node_gamma.validate(),
        Err(InvalidMachine::GammaOfMpi { key })
    );
}

#[test]
fn rails_require_the_parameters_of_their_port() {
    let check = |keys: &str, expected: Result<(), InvalidMachine>| {
        let text = FULL.replace(r#""injection_beta": 2e-10,"#, keys);
        let machine: Machine = serde_json::from_str(&text).expect("well-formed");
        assert_eq!(machine.validate(), expected, "{keys}");
    };
    check(r#""injection_gap": 5e-9, "rails": 2,"#, Ok(()));
    check(r#""injection_beta": 2e-10, "rails": 64,"#, Ok(()));
    for rails in [0, 65] {
        let keys = format!(r#""injection_beta": 2e-10, "rails": {rails},"#);
        check(&keys, Err(InvalidMachine::Rails { rails }));
    }
    check(r#""rails": 2,"#, Err(InvalidMachine::NothingPassesRails));
    let text = FULL.replace(r#""injection_beta": 2"#, r#""injection_gap": -2"#);
    let machine: Machine = serde_json::from_str(&text).expect("well-formed");
    let invalid = machine.validate().expect_err("negative");
    assert_eq!(invalid.key(), "injection_gap");
}

#[test]
fn unknown_keys_are_refused() {
    for text in [
        FULL.replace("\"copy\"", "\"copie\""),
        FULL.replace("\"overhead\": 5e-7", "\"latency\": 5e-7"),
        FULL.replace("\"jitter\"", "\"jiter\""),
    ] {
        let error = serde_json::from_str::<Machine>(&text).expect_err("unknown key");
        assert!(error.to_string().contains("unknown field"), "{error}");
    }
}

#[test]
fn values_out_of_range_are_named() {
    let check = |from: &str, to: &str, key: &str| {
        let machine: Machine = serde_json::from_str(&FULL.replace(from, to)).expect("well-formed");
        match machine.validate() {
            Err(InvalidMachine::OutOfRange { key: found, .. }) => assert_eq!(found, key),
            other => panic!("{key}: {other:?}"),
        }
    };
    for (key, from, to) in [
        ("gamma", "1e-10", "-1e-10"),
        ("gamma", "1e-10", "1e308"),
        ("copy", "5e-11", "1.1"),
        ("injection_beta", "2e-10", "2"),
        ("network.alpha", "2e-6", "-1"),
        ("network.beta", "1e-10", "1e300"),
        ("node.alpha", "3e-7", "1e9"),
        ("node.overhead", "1e-7", "-1"),
        ("noise.jitter", "0.05", "1e9"),
        ("noise.spike_factor", "10", "1e300"),
        ("noise.spike_probability", "0.01", "1.5"),
    ] {
        let name = key.rsplit('.').next().unwrap_or(key);
        let of = |value| format!("\"{name}\": {value}");
        check(&of(from), &of(to), key);
    }

    let text = FULL.replace("\"overhead\": 1e-7", "\"overhead\": 4e-7");
    let machine: Machine = serde_json::from_str(&text).expect("well-formed");
    let above = InvalidMachine::OverheadAboveAlpha {
        key: "node.overhead",
        value: 4e-7,
        alpha: 3e-7,
    };
    assert_eq!(machine.validate(), Err(above));

    let mut linkless: Machine = serde_json::from_str(FULL).expect("valid");
    linkless.node = None;
    linkless.network = None;
    assert_eq!(linkless.validate(), Err(InvalidMachine::NoLink));
}

const REFERENCE: &str = include_str!("../../../../../tuning/machines/reference.yaml");

#[test]
fn the_reference_machine_has_every_key() {
    let machine = Machine::from_yaml(REFERENCE).expect("valid");
    assert_eq!(machine.name, "reference");
    for link in [machine.network, machine.node] {
        let link = link.expect("given");
        assert!(link.overhead.is_some() && link.eager_limit.is_some());
    }
    let given = [machine.injection_beta, machine.gamma, machine.copy];
    assert!(given.iter().all(Option::is_some) && machine.noise.is_some());
}

#[test]
fn errors_name_the_place_in_the_file_and_a_remedy() {
    let check = |from: &str, to: &str, line: &str, parts: &[&str]| {
        let text = REFERENCE.replace(from, to);
        let error = Machine::from_yaml(&text).expect_err(to);
        let said = error.to_string();
        assert_eq!(error.source_line.trim(), line, "{said}");
        for part in parts {
            assert!(said.contains(part), "no {part} in: {said}");
        }
    };
    check(
        "gamma: 0.1",
        "gama: 0.1",
        "gama: 0.1e-9",
        &["unknown key `gama`", "did you mean `gamma`?"],
    );
    check(
        "  beta: 0.06e-9",
        "  beta: fast",
        "beta: fast",
        &["node.beta", "fast", "reference.yaml"],
    );
    check(
        "  beta: 0.06e-9",
        "  beta: -1",
        "beta: -1",
        &["node.beta", "seconds a byte from 0 to 1"],
    );
    check(
        "overhead: 0.4e-6",
        "overhead: 4e-6",
        "overhead: 4e-6",
        &["network.overhead", "part of `alpha`"],
    );
    check(
        "ranks_per_node: 32",
        "ranks_per_node: 0",
        "ranks_per_node: 0",
        &["at least one"],
    );
    let file = Machine::from_yaml("name: a\nranks_per_node: 1\n").expect_err("no link");
    assert_eq!(file.message, InvalidMachine::NoLink.to_string());
    assert!(Machine::from_yaml("name: [").is_err());
}

#[test]
fn an_experiment_has_the_level_of_its_messages() {
    use vocabulary::{CommShape, Experiment, ExperimentKind, Through};
    let level = |kind, nodes, ppn, through| {
        let shape = CommShape { nodes, ppn };
        Level::of_experiment(&Experiment {
            kind,
            shape,
            bytes: 8,
            through,
        })
    };
    let mpi = |kind, nodes, ppn| level(kind, nodes, ppn, Through::Mpi);
    for kind in [ExperimentKind::PingPong, ExperimentKind::Burst] {
        assert_eq!(mpi(kind, 1, 2), Level::Node);
        assert_eq!(mpi(kind, 2, 1), Level::Network);
        assert_eq!(level(kind, 1, 2, Through::Shared), Level::Shared);
    }
    // The pair is on one node; bursts are between nodes, and a ring crosses them.
    assert_eq!(mpi(ExperimentKind::PingPong, 2, 4), Level::Node);
    assert_eq!(mpi(ExperimentKind::Burst, 2, 4), Level::Network);
    assert_eq!(mpi(ExperimentKind::Shift, 2, 4), Level::Network);
    assert_eq!(mpi(ExperimentKind::Injection, 2, 1), Level::Network);
}
