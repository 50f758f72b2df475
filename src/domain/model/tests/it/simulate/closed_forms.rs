//! The simulator compared with the closed forms, and the lemma with brute force, on flat machines.

use model::{BlocksBy, Call, Level, Machine, Setting, Topology, best_blocks, predict, simulate};
use schedule::{ALGORITHMS, Algorithm, Cost, Parameter, Parameters, Request, Schedule};

use super::flat;

#[derive(Clone, Copy, Debug)]
struct Case {
    ranks: u32,
    /// `None` if the algorithm takes no blocks.
    blocks: Option<u32>,
    units: u64,
}

const UNIT_BYTES: u64 = 8;

impl Case {
    fn parameters(self) -> Parameters<'static> {
        self.blocks
            .map_or(Parameters::default(), Parameters::with_blocks)
    }

    fn request(self) -> Request<'static> {
        Request {
            units: self.units,
            parameters: self.parameters(),
            ..Request::among_ranks(self.ranks)
        }
    }

    fn simulated(self, algorithm: &'static Algorithm, [alpha, beta, gamma]: [f64; 3]) -> f64 {
        self.simulated_on(algorithm, &flat(alpha, beta, gamma))
    }

    fn simulated_on(self, algorithm: &'static Algorithm, machine: &Machine) -> f64 {
        let schedule = Schedule::new(algorithm, &self.request()).unwrap();
        let setting = Setting {
            machine,
            topology: Topology::one_rank_per_node(self.ranks),
            unit_bytes: UNIT_BYTES,
        };
        simulate(&schedule, &setting).unwrap().seconds
    }

    fn predicted(self, algorithm: &'static Algorithm, [alpha, beta, gamma]: [f64; 3]) -> f64 {
        self.predicted_on(algorithm, &flat(alpha, beta, gamma))
    }

    fn predicted_on(self, algorithm: &'static Algorithm, machine: &Machine) -> f64 {
        let rates = machine.rates(Level::Network).unwrap();
        let call = Call {
            ranks: self.ranks,
            bytes: self.units * UNIT_BYTES,
            unit_bytes: UNIT_BYTES,
            parameters: self.parameters(),
            ..Call::default()
        };
        predict(algorithm, rates, &call).unwrap().seconds
    }
}

/// The calls on up to 70 ranks for which the closed form is exact, and that are cut evenly.
fn exact(algorithm: &'static Algorithm) -> Vec<Case> {
    let mut cases = Vec::new();
    for ranks in 2..=70_u32 {
        if algorithm.even_ranks && !ranks.is_multiple_of(2) {
            continue;
        }
        let case = |blocks, units| Case {
            ranks,
            blocks,
            units,
        };
        match algorithm.cost(ranks) {
            None => {}
            Some(Cost::Fixed { parts, .. }) => cases.push(case(None, parts * 3)),
            Some(Cost::AtOnce { .. }) => cases.push(case(None, 3)),
            Some(Cost::Pipelined { exact, .. }) => {
                let blocks = [1, 2, 3, 8, 21]
                    .into_iter()
                    .filter(|b| exact.includes_blocks(*b));
                cases.extend(blocks.map(|b| case(Some(b), u64::from(b) * 2)));
            }
        }
    }
    cases
}

/// The only algorithm with another critical path if combining is slow: it combines one block while the next is under
/// way.
const OVERLAPPING: &str = "allreduce/doubly_pipelined_tree";

/// Whether combining two blocks takes no longer than a message of one.
fn combines_quickly([_, beta, gamma]: [f64; 3]) -> bool {
    2.0 * gamma <= beta
}

#[test]
fn the_simulator_agrees_with_the_closed_forms_to_rounding() {
    let mut compared = 0;
    for rates in [
        [1e-6, 0.0, 0.0],
        [0.0, 1e-9, 0.0],
        [1e-6, 1e-8, 1e-10],
        [1e-6, 1e-7, 5e-8],
        [1e-7, 1e-7, 3e-7],
        [0.0, 0.0, 1e-9],
    ] {
        for algorithm in ALGORITHMS {
            if algorithm.name() == OVERLAPPING && !combines_quickly(rates) {
                continue;
            }
            for case in exact(algorithm) {
                let predicted = case.predicted(algorithm, rates);
                let simulated = case.simulated(algorithm, rates);
                assert!(
                    (simulated - predicted).abs() <= 1e-9 * predicted,
                    "{algorithm} {case:?} {rates:?}: {simulated} s, not {predicted} s"
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 10_000, "{compared}");
}

/// Where a rank sends its messages at once, the next one leaves after the overhead, which other closed forms take to be
/// all of `alpha`.
#[test]
fn messages_that_leave_at_once_take_the_overhead_each_and_one_latency() {
    let mut compared = Vec::new();
    for algorithm in ALGORITHMS {
        let is_at_once = |case: &Case| {
            let cost = algorithm.cost(case.ranks);
            matches!(cost, Some(Cost::AtOnce { .. }))
        };
        for case in exact(algorithm).into_iter().filter(is_at_once) {
            for (overhead, beta) in [(0.0, 0.0), (0.0, 1e-8), (3e-7, 0.0), (3e-7, 1e-8)] {
                let mut machine = flat(1e-6, beta, 0.0);
                machine.network.as_mut().unwrap().overhead = Some(overhead);
                let others = f64::from(case.ranks) - 1.0;
                let bytes = (case.units * UNIT_BYTES) as f64;
                let by_hand = 1e-6 + (others - 1.0) * overhead + others * beta * bytes;
                for seconds in [
                    case.predicted_on(algorithm, &machine),
                    case.simulated_on(algorithm, &machine),
                ] {
                    assert!(
                        (seconds - by_hand).abs() <= 1e-9 * by_hand,
                        "{algorithm} {case:?} {overhead} {beta}: {seconds} s, not {by_hand} s"
                    );
                }
                compared.push(algorithm.name());
            }
        }
    }
    compared.dedup();
    assert_eq!(
        compared,
        ["alltoall/linear", "alltoallv/linear", "alltoallw/linear"]
    );
}

/// On six ranks this begins when two combinations take longer than a message, otherwise when one does.
#[test]
fn with_slow_combining_the_doubly_pipelined_tree_takes_longer_than_its_closed_form() {
    let algorithm = schedule::find_algorithm(OVERLAPPING).unwrap();
    for (gamma, all) in [(0.6, false), (1.0, false), (1.5, true)] {
        let rates = [0.0, 1e-7, gamma * 1e-7];
        for case in exact(algorithm).into_iter().filter(|case| case.ranks > 5) {
            let excess = case.simulated(algorithm, rates) / case.predicted(algorithm, rates) - 1.0;
            let is_another = all || case.ranks == 6;
            assert_eq!(
                excess > 1e-9,
                is_another,
                "{case:?} gamma {gamma} beta: {excess}"
            );
            assert!(excess > -1e-9, "{case:?}");
        }
    }
}

/// The time with the lemma's number of blocks is compared with the best of all numbers; for long vectors, with enough
/// numbers to include the best.
#[test]
fn the_number_of_blocks_by_the_lemma_is_nearly_the_best() {
    let mut lemmas = 0;
    let pipelined = ALGORITHMS.iter().filter(|a| a.takes(Parameter::Blocks));
    for algorithm in pipelined.filter(|a| !a.knows_nodes()) {
        let mut check = |ranks, units, rates| {
            lemmas += u32::from(check_best(algorithm, ranks, units, rates));
        };
        for ranks in [4, 9, 30] {
            for units in [64, 200] {
                for rates in [[1e-6, 1e-9, 2e-10], [1e-6, 2e-8, 1e-8], [1e-6, 2e-7, 2e-7]] {
                    check(ranks, units, rates);
                }
            }
        }
        for rates in [[2e-6, 1e-10, 1e-10], [1e-5, 1e-9, 0.0], [1e-6, 5e-10, 1e-9]] {
            check(14, 1 << 20, rates);
        }
    }
    assert!(lemmas > 200, "{lemmas}");
}

/// Whether the number is the lemma's.
fn check_best(algorithm: &'static Algorithm, ranks: u32, units: u64, rates: [f64; 3]) -> bool {
    let [alpha, beta, gamma] = rates;
    let case = |blocks| Case {
        ranks,
        blocks: Some(blocks),
        units,
    };
    let setting = Setting {
        machine: &flat(alpha, beta, gamma),
        topology: Topology::one_rank_per_node(ranks),
        unit_bytes: UNIT_BYTES,
    };
    let found = best_blocks(algorithm, &case(1).request(), &setting);
    let found = found.unwrap().unwrap();
    let seconds = |blocks| case(blocks).simulated(algorithm, rates);
    let pieces = u64::from(algorithm.pieces(ranks)).max(1);
    let most = units.div_ceil(pieces).min(1500) as u32;
    let step = if most > 1000 { 0.2 } else { 0.0 };
    let next = |blocks: &u32| Some(blocks + 1 + (f64::from(*blocks) * step) as u32);
    let tried = std::iter::successors(Some(1), next).take_while(|blocks| *blocks <= most);
    let best = tried.map(seconds).fold(f64::INFINITY, f64::min);
    let loss = seconds(found.blocks) / best - 1.0;
    assert!(
        loss <= 0.1,
        "{algorithm} p={ranks} {units} units {rates:?}: {found:?} takes {loss} longer than the best"
    );
    found.by == BlocksBy::Lemma
}

/// On this chain the lemma's blocks of 2.4 KB wait for their receivers; those of 512 bytes do not,
/// and take a tenth of `alpha` to start.
#[test]
fn blocks_of_the_eager_limit_are_tried() {
    let chain = schedule::find_algorithm("bcast/chain").unwrap();
    let mut machine = flat(2e-6, 1e-9, 0.0);
    let link = machine.network.as_mut().unwrap();
    (link.overhead, link.eager_limit) = (Some(2e-7), Some(512));
    let case = |blocks| Case {
        ranks: 24,
        blocks,
        units: 1 << 13,
    };
    let setting = Setting {
        machine: &machine,
        topology: Topology::one_rank_per_node(24),
        unit_bytes: UNIT_BYTES,
    };
    let best = |given| best_blocks(chain, &case(None).request(), given);
    let seconds = |blocks| {
        let schedule = Schedule::new(chain, &case(Some(blocks)).request()).unwrap();
        simulate(&schedule, &setting).unwrap().seconds
    };
    let found = best(&setting).unwrap().unwrap();
    assert_eq!((found.blocks, found.by), (128, BlocksBy::Search));
    let without = Setting {
        machine: &flat(2e-6, 1e-9, 0.0),
        ..setting
    };
    let lemma = best(&without).unwrap().unwrap();
    assert_eq!(lemma.by, BlocksBy::Lemma);
    assert!(seconds(found.blocks) < 0.8 * seconds(lemma.blocks));
}
