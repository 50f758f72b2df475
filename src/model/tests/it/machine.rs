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
fn what_is_absent_has_no_rates() {
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
    check("\"gamma\": 1e-10", "\"gamma\": -1e-10", "gamma");
    check("\"alpha\": 2e-6", "\"alpha\": -1", "network.alpha");
    check("\"overhead\": 1e-7", "\"overhead\": -1", "node.overhead");
    check(
        "\"spike_probability\": 0.01",
        "\"spike_probability\": 1.5",
        "noise.spike_probability",
    );

    let mut machine: Machine = serde_json::from_str(FULL).expect("valid");
    machine.node = None;
    machine.network = None;
    assert_eq!(machine.validate(), Err(InvalidMachine::NoLink));
}
