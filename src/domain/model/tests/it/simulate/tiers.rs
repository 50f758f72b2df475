//! The simulator compared with the closed forms of algorithms that know nodes.

use model::{Call, Level, Machine, Setting, Topology, predict, simulate};
use schedule::{ALGORITHMS, Algorithm, Among, Parameter, Parameters, Request, Schedule};

use super::flat;
use vocabulary::Placement;

const UNIT_BYTES: u64 = 8;

/// A machine with fast links within nodes, and a port per node that two simultaneous messages can fill.
fn nodes() -> Machine {
    let mut machine = flat(2e-6, 1e-10, 1e-10);
    let mut node = machine.network.clone().unwrap();
    (node.alpha, node.beta) = (4e-7, 8e-11);
    machine.node = Some(node);
    machine.injection_beta = Some(8e-11);
    machine.injection_gap = Some(5e-9);
    machine.rails = Some(2);
    machine
}

/// The default parts, with each other part and with several leaders.
fn compositions(algorithm: &'static Algorithm) -> Vec<Parameters<'static>> {
    let none = Parameters::default();
    let choices = |parameter| algorithm.choices_for(parameter).map(Some);
    let nodes = choices(Parameter::Node).map(|node| Parameters { node, ..none });
    let networks = choices(Parameter::Network).map(|network| Parameters { network, ..none });
    let takes = algorithm.takes(Parameter::Leaders);
    let leaders = [2, 4]
        .into_iter()
        .filter(|_| takes)
        .map(|leaders| Parameters {
            leaders: Some(leaders),
            ..none
        });
    nodes.chain(networks).chain(leaders).collect()
}

/// Predicted times divided by simulated ones, for all calls that have a closed form.
fn ratios(
    algorithm: &'static Algorithm,
    shape: (u32, u32),
    bytes: u64,
) -> Vec<(usize, f64, String)> {
    let (machine, (nodes, ppn)) = (nodes(), shape);
    let topology = Topology::new(nodes, ppn, Placement::Block);
    let rates = [Level::Node, Level::Network].map(|level| machine.rates(level).unwrap());
    let mut ratios = Vec::new();
    for parts in compositions(algorithm) {
        let is_cut = algorithm.uses(Parameter::Blocks, &parts);
        for blocks in [1, 4, 16].into_iter().take(if is_cut { 3 } else { 1 }) {
            let parameters = if is_cut {
                Parameters {
                    blocks: Some(schedule::Blocks::Count(blocks)),
                    ..parts
                }
            } else {
                parts
            };
            let request = Request {
                units: bytes / UNIT_BYTES,
                parameters,
                placed: topology.placed(),
                ..Request::among_ranks(nodes * ppn)
            };
            let call = Call {
                ranks: nodes * ppn,
                bytes,
                unit_bytes: UNIT_BYTES,
                parameters,
                placed: topology.placed(),
            };
            let Some(predicted) = predict(
                algorithm,
                machine.tiers_with_rates(rates[0], rates[1]),
                &call,
            ) else {
                continue;
            };
            let setting = Setting {
                machine: &machine,
                topology,
                unit_bytes: UNIT_BYTES,
            };
            let schedule = Schedule::new(algorithm, &request).unwrap();
            let simulated = simulate(&schedule, &setting).unwrap().seconds;
            let what = format!("{algorithm} {parameters:?} on {shape:?}, {bytes} bytes");
            let ratio = predicted.seconds / simulated;
            ratios.push((kind(algorithm, &parameters), ratio, what));
        }
    }
    ratios
}

/// Kinds of algorithms, with the least and the greatest ratio of the closed form's time to the simulated one.
///
/// Phases one after the other agree with the closed form. Leaders that do not send at once share the port less than the
/// closed form assumes. Where phases overlap, a block also waits for messages of other blocks.
const BOUNDS: [(&str, [f64; 2]); 3] = [
    ("one leader", [0.995, 1.005]),
    ("several leaders", [0.95, 1.7]),
    ("overlapping", [0.55, 1.6]),
];

fn kind(algorithm: &Algorithm, parameters: &Parameters<'_>) -> usize {
    let has_groups = algorithm
        .phases
        .iter()
        .any(|phase| phase.among == Among::Group);
    match (
        algorithm.is_pipelined,
        has_groups && parameters.leaders.is_none(),
    ) {
        (true, _) => 2,
        (false, true) => 0,
        (false, false) => 1,
    }
}

#[test]
fn the_costs_of_parts_add_up() {
    let mut all: [Vec<(f64, String)>; 3] = [const { Vec::new() }; 3];
    for algorithm in ALGORITHMS.iter().filter(|a| a.knows_nodes()) {
        for shape in [(2, 8), (4, 4), (8, 8), (16, 4), (5, 6)] {
            for bytes in [64 << 3, 64 << 10, 4 << 20] {
                for (kind, ratio, what) in ratios(algorithm, shape, bytes) {
                    all[kind].push((ratio, what));
                }
            }
        }
    }
    let mut outside = Vec::new();
    for ((name, [least, most]), ratios) in BOUNDS.iter().zip(&mut all) {
        assert!(ratios.len() > 300, "{name}: {}", ratios.len());
        ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ends = [&ratios[0], &ratios[ratios.len() - 1]];
        let is_outside = |(ratio, _): &&(f64, String)| !(*least..=*most).contains(ratio);
        outside.extend(ends.into_iter().filter(is_outside));
    }
    assert!(outside.is_empty(), "{outside:#?}");
}
