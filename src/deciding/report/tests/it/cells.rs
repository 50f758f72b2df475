//! Made-up cells, a few or very many.

use report::{Basis, View};
use results::{CellDecision, Counts, Ranked, Verdict};
use schedule::Collective;
use statistics::{Interval, PairedRatio};
use table::{Confidence, Operators};
use vocabulary::{Candidate, Cell, CommShape, Datatype, Operator, Parameters};

/// The candidates beside the default.
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

/// A time from latency, bandwidth and the number of steps.
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
pub(crate) fn result(collective: Collective, shape: CommShape, bytes: u64) -> CellDecision {
    let cell = Cell {
        collective,
        shape,
        bytes,
        datatype: Datatype::Float64,
        operator: collective.is_reduction().then_some(Operator::Sum),
        distribution: schedule::Distribution::Uniform,
    };
    let default = seconds(0, &cell);
    let timed = |(index, candidate): (usize, Candidate)| {
        let seconds = seconds(index, &cell);
        let certain = |low, high| Interval {
            low,
            high,
            coverage: 0.969,
        };
        let speedup = PairedRatio {
            median: default / seconds,
            interval: certain(0.95 * default / seconds, 1.06 * default / seconds),
            launches: 4,
        };
        Ranked {
            counts: Counts {
                launches: 6,
                repetitions: 600,
                ..Counts::default()
            },
            interval: certain(0.96 * seconds, 1.05 * seconds),
            speedup: (index > 0).then_some(speedup),
            predicted_seconds: [1, 2].contains(&index).then_some(1.1 * seconds),
            ..Ranked::unmeasured(candidate, seconds)
        }
    };
    let all = [Candidate::Default]
        .into_iter()
        .chain(candidates(collective));
    let mut ranking: Vec<Ranked> = all.enumerate().map(timed).collect();
    ranking.sort_by(|a, b| a.median_seconds.total_cmp(&b.median_seconds));
    let chosen = ranking[0].candidate.clone();
    CellDecision {
        cell,
        operators: if collective.is_reduction() {
            Operators::Commutative
        } else {
            Operators::Any
        },
        verdict: match chosen {
            Candidate::Default => Verdict::WithinNoise,
            _ => Verdict::Fastest,
        },
        chosen,
        up_to_next: None,
        chosen_in_library: Some(Candidate::Default),
        confidence: Confidence::High,
        ranking,
        failed: Vec::new(),
    }
}

/// The cells of some collectives on numbers of nodes, with 2 ranks on each, and sizes.
pub(crate) fn results(
    collectives: &[Collective],
    node_counts: impl Iterator<Item = u32> + Clone,
    sizes: impl Iterator<Item = u64> + Clone,
) -> Vec<CellDecision> {
    let mut results = Vec::new();
    for collective in collectives {
        for nodes in node_counts.clone() {
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
    extended.verdict = Verdict::Extrapolated;
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
        scores: Vec::new(),
        parameters: Vec::new(),
        failures: Vec::new(),
        basis: Basis::Measurements,
        ..crate::example::view()
    }
}
