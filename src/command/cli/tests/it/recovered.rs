//! A machine is simulated with noise, measured and fitted; the fit must give the machine back.

use model::{Level, Machine};

use crate::run::Place;

/// 10 % log-normal noise with 1 % spikes.
const NOISE: &str = "noise: {jitter: 0.1, spike_probability: 0.01, spike_factor: 10}\n";

const LEVELS: [Level; 3] = [Level::Node, Level::Network, Level::Shared];

/// The largest error of a value.
const TOLERANCE: f64 = 0.05;

#[track_caller]
fn near(what: &str, found: f64, truth: f64) {
    let error = found / truth - 1.0;
    assert!(
        error.abs() < TOLERANCE,
        "{what}: {found:e} instead of {truth:e}"
    );
}

/// Measures a machine with these shapes, fits it, and compares the written file with the true parameters.
fn check(machine: &str, shapes: &str) {
    let place = Place::new();
    let truth = Machine::from_yaml(machine).unwrap();
    place.write("truth.yaml", format!("{machine}{NOISE}"));
    let transports = match truth.shared {
        Some(_) => "parameters: {through: [mpi, shared]}\n",
        None => "",
    };
    place.write(
        "campaign.yaml",
        format!(
            "name: found\nlauncher: {{simulated: {{machine: truth.yaml}}}}\nshapes: {shapes}\n\
             collectives: [bcast, allreduce]\nsizes: [8, 64K]\nrepetitions: {{slice: 50ms}}\n\
             candidates: [\"*\", \"*/leaders\"]\nbudget: 1000h\n{transports}"
        ),
    );
    let ran = place.run(&["measure", "campaign.yaml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let store = ".colltune/found.db";
    let written = place.run(&["fit", store, "--machine", "found.yaml"]).good();
    assert_eq!(written.out, "found.yaml is written\n");
    let text = place.read("found.yaml");
    let found = Machine::from_yaml(&text).unwrap();

    for level in LEVELS {
        let name = level.name();
        let (found, truth) = (found.link(level), truth.link(level));
        assert_eq!(found.is_some(), truth.is_some(), "{text}");
        let Some((found, truth)) = found.zip(truth) else {
            continue;
        };
        near(&format!("{name}.alpha"), found.alpha, truth.alpha);
        near(&format!("{name}.beta"), found.beta, truth.beta);
        let overheads = found.overhead.zip(truth.overhead);
        let (overhead, expected) = overheads.expect("overhead is identified");
        near(&format!("{name}.overhead"), overhead, expected);
        assert_eq!(found.eager_limit, truth.eager_limit, "{text}");
        assert_eq!(found.gamma.is_some(), truth.gamma.is_some(), "{text}");
        if let Some((found, truth)) = found.gamma.zip(truth.gamma) {
            near(&format!("{name}.gamma"), found, truth);
        }
    }
    let rates = [
        ("injection_beta", found.injection_beta, truth.injection_beta),
        ("injection_gap", found.injection_gap, truth.injection_gap),
        ("gamma", found.gamma, truth.gamma),
        ("copy", found.copy, truth.copy),
    ];
    for (name, fitted_rate, true_rate) in rates {
        assert_eq!(fitted_rate.is_some(), true_rate.is_some(), "{name}: {text}");
        if let Some((fitted, real)) = fitted_rate.zip(true_rate) {
            near(name, fitted, real);
        }
    }
    assert_eq!(found.ranks_per_node, truth.ranks_per_node);
    check_factors(&place, store, &truth);
    // The store and the file are the same machine.
    let simulate = |source| {
        let args = format!("simulate -c allreduce --ranks 8 --bytes 64K --json -m {source}");
        let args: Vec<&str> = args.split(' ').collect();
        place.run(&args).good().json()["results"].clone()
    };
    assert_eq!(simulate("found.yaml"), simulate(store));
    check_predictions(&place, store, "mpi");
    if truth.shared.is_some() {
        check_predictions(&place, store, "shared");
    }
}

/// A candidate's algorithm and parameters.
fn split(candidate: &str) -> (&str, &str) {
    candidate.split_once('[').unwrap_or((candidate, ""))
}

/// The predicted time of a measured cell is the one that the written machine gives in a simulation.
fn check_predictions(place: &Place, store: &str, through: &str) {
    let fit = place.run(&["fit", store, "--json"]).good().json();
    let is_simulated = |of: &&serde_json::Value| {
        let (_, parameters) = split(of["candidate"].as_str().unwrap());
        let expected = match through {
            "mpi" => "",
            _ => "through=shared]",
        };
        parameters == expected && of["bytes"] == 64 << 10 && !of["predicted"].is_null()
    };
    let blocks = fit["blocks"].as_array().unwrap();
    let mut compared = 0;
    for block in blocks.iter().filter(is_simulated) {
        let args = format!(
            "simulate -m found.yaml --json --element-bytes 8 -b 64K --through {through} -a {} -n {} -k {} --blocks {}",
            split(block["candidate"].as_str().unwrap()).0,
            block["nodes"],
            block["ppn"],
            block["predicted"]["blocks"],
        );
        let args: Vec<&str> = args.split(' ').collect();
        let simulated = place.run(&args).good().json()["results"][0].clone();
        // For longer schedules the closed form is used.
        if simulated["messages"].as_f64().unwrap() < 1e4 {
            let [simulated, predicted] = [&simulated["seconds"], &block["predicted"]["seconds"]]
                .map(|seconds| seconds.as_f64().unwrap());
            assert!((simulated / predicted - 1.0).abs() < 1e-9, "{block}");
            compared += 1;
        }
    }
    assert!(compared > 0, "{blocks:?}");
}

/// A simulated rank sends and receives at the same time, but sends to several ranks one after the other.
fn check_factors(place: &Place, store: &str, truth: &Machine) {
    let fit = place.run(&["fit", store, "--json"]).good().json();
    let parameters = fit["parameters"].as_array().unwrap();
    for level in LEVELS
        .into_iter()
        .filter(|level| truth.link(*level).is_some())
    {
        let of_level = |parameter: &&serde_json::Value| {
            let name = parameter["name"].as_str().unwrap();
            parameter["unit"] == "1" && name.starts_with(level.name())
        };
        let factors: Vec<_> = parameters.iter().filter(of_level).collect();
        // Start-up times and times per byte of exchanges and shifts, and two kinds of fans.
        assert_eq!(factors.len(), 6, "{factors:?}");
        for factor in factors {
            assert_eq!(factor["identified"], true, "{factor}");
            near(&factor.to_string(), factor["value"].as_f64().unwrap(), 1.0);
        }
    }
}

#[test]
fn the_fit_recovers_one_node() {
    let machine = "\
name: one-node
ranks_per_node: 16
node: {alpha: 0.3e-6, overhead: 0.12e-6, beta: 0.09e-9, eager_limit: 4096}
gamma: 0.15e-9
copy: 0.07e-9
";
    check(machine, "[1x16]");
}

#[test]
fn the_fit_recovers_fat_nodes() {
    let machine = "\
name: fat-nodes
ranks_per_node: 64
network: {alpha: 1.5e-6, overhead: 0.3e-6, beta: 0.05e-9, eager_limit: 16384}
node: {alpha: 0.4e-6, overhead: 0.15e-6, beta: 0.08e-9, eager_limit: 8192}
injection_beta: 0.012e-9
injection_gap: 12e-9
gamma: 0.11e-9
copy: 0.05e-9
";
    check(machine, "[4x64]");
}

#[test]
fn the_fit_recovers_shared_memory() {
    let machine = "\
name: shared
ranks_per_node: 8
node: {alpha: 0.4e-6, overhead: 0.15e-6, beta: 0.2e-9, eager_limit: 8192}
shared: {alpha: 0.12e-6, overhead: 0.05e-6, beta: 0.05e-9, eager_limit: 65536, gamma: 0.04e-9}
gamma: 0.11e-9
copy: 0.05e-9
";
    check(machine, "[1x8]");
}

#[test]
fn the_fit_recovers_a_slow_network() {
    let machine = "\
name: slow-network
ranks_per_node: 4
network: {alpha: 40e-6, overhead: 8e-6, beta: 8.5e-9, eager_limit: 32768}
node: {alpha: 0.6e-6, overhead: 0.3e-6, beta: 0.2e-9, eager_limit: 2048}
injection_beta: 8.5e-9
gamma: 0.3e-9
copy: 0.2e-9
";
    check(machine, "[6x4]");
}

/// Parameters that the measurements do not identify are comments; if no level is identified, that is an error.
#[test]
fn unidentified_parameters_are_not_written() {
    let place = crate::made::place();
    let store = ".colltune/made.db";
    place.run(&["fit", store, "--machine", "made.yaml"]).good();
    insta::assert_snapshot!(place.read("made.yaml"));
    assert!(Machine::from_yaml(&place.read("made.yaml")).is_ok());
}
