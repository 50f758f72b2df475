//! Made-up cells, a few or very many.

use report::{Basis, BlockTime, CellResult, Ratio, Timed, Verdict, View};
use schedule::Collective;
use table::{Operators, RuleSource};
use vocabulary::{Candidate, Cell, CommShape, Datatype, Operator, Parameters};

/// What is there to choose from, beside the default.
fn candidates(collective: Collective) -> [Candidate; 4] {
    let named = |id: &str| format!("{collective}/{id}");
    let block = |block_bytes| Parameters {
        block_bytes,
        ..Parameters::default()
    };
    [
        Candidate::Ours {
            algorithm: named("few_steps"),
            parameters: Parameters::default(),
        },
        Candidate::Ours {
            algorithm: named("pipelined"),
            parameters: block(Some(65536)),
        },
        Candidate::Native {
            algorithm: format!("native:{}", named("of_library")),
            parameters: Parameters::default(),
        },
        Candidate::Mockup {
            algorithm: format!("mockup:{}", named("gather+bcast")),
        },
    ]
}

/// A time that follows from latency, bandwidth and how many steps there are.
fn seconds(index: usize, cell: &Cell) -> f64 {
    let (ranks, bytes) = (f64::from(cell.shape.ranks()), cell.vector_bytes() as f64);
    let [latency, bandwidth] = [
        [1.5e-6, 3e-9],
        [1e-6 * ranks.log2().max(1.0), 4e-9],
        [1e-6 * ranks, 1e-9],
        [2.5e-6, 2e-9],
        [9e-6, 2e-9],
    ][index];
    latency + bandwidth * bytes
}

/// One cell, decided.
pub(crate) fn result(collective: Collective, shape: CommShape, bytes: u64) -> CellResult {
    let cell = Cell {
        collective,
        shape,
        bytes,
        datatype: Datatype::Float64,
        operator: collective.is_reduction().then_some(Operator::Sum),
    };
    let default = seconds(0, &cell);
    let timed = |(index, candidate): (usize, Candidate)| {
        let seconds = seconds(index, &cell);
        let speedup = Ratio {
            value: default / seconds,
            low: 0.95 * default / seconds,
            high: 1.06 * default / seconds,
            coverage: 0.969,
        };
        Timed {
            speedup: (index > 0).then_some(speedup),
            candidate,
            seconds,
            interval: Some([0.96 * seconds, 1.05 * seconds]),
            launches: 6,
            repetitions: 600,
            expected_seconds: [1, 2].contains(&index).then_some(1.1 * seconds),
        }
    };
    let all = [Candidate::Default]
        .into_iter()
        .chain(candidates(collective));
    let mut candidates: Vec<Timed> = all.enumerate().map(timed).collect();
    candidates.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let chosen = candidates[0].candidate.clone();
    CellResult {
        cell,
        operators: match collective.is_reduction() {
            true => Operators::Commutative,
            false => Operators::Any,
        },
        verdict: match chosen {
            Candidate::Default => Verdict::WithinNoise,
            _ => Verdict::Chosen,
        },
        chosen,
        chosen_in_library: Some(Candidate::Default),
        source: RuleSource::Measured,
        candidates,
    }
}

/// Times of three sizes of blocks, of which the middle one is the best.
pub(crate) fn blocks(best: u64, seconds: f64) -> Vec<BlockTime> {
    let time = |block_bytes| BlockTime {
        block_bytes,
        seconds: seconds * if block_bytes == best { 1.0 } else { 1.2 },
        expected_seconds: Some(0.9 * seconds),
    };
    [best / 2, best, 2 * best].map(time).to_vec()
}

/// The cells of some collectives on numbers of nodes, with 2 ranks on each, and sizes.
pub(crate) fn results(
    collectives: &[Collective],
    nodes: impl Iterator<Item = u32> + Clone,
    sizes: impl Iterator<Item = u64> + Clone,
) -> Vec<CellResult> {
    let mut results = Vec::new();
    for collective in collectives {
        for nodes in nodes.clone() {
            let shape = CommShape { nodes, ppn: 2 };
            results.extend(sizes.clone().map(|bytes| result(*collective, shape, bytes)));
        }
    }
    results
}

/// The example, with cells on several nodes.
pub(crate) fn view() -> View {
    let mut cells = results(
        &[
            Collective::Bcast,
            Collective::Allreduce,
            Collective::Allgather,
        ],
        [1, 2, 4, 8].into_iter(),
        (3..=22).step_by(2).map(|power| 1 << power),
    );
    cells.sort_by_key(|result| (result.cell, result.operators));
    let mut extended = result(Collective::Bcast, CommShape { nodes: 16, ppn: 2 }, 1 << 21);
    extended.source = RuleSource::Model;
    extended.verdict = Verdict::Expected;
    cells.push(extended);
    View {
        cells,
        ..crate::example::view()
    }
}

/// A view without measurements.
pub(crate) fn empty() -> View {
    View {
        comparisons: Vec::new(),
        cells: Vec::new(),
        pairs: Vec::new(),
        curves: Vec::new(),
        parameters: Vec::new(),
        failures: Vec::new(),
        basis: Basis::Measurements,
        ..crate::example::view()
    }
}
