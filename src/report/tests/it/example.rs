//! A report such as a small node gives.

use report::{
    Basis, Best, BlockRow, Comparison, Estimate, Expected, Failure, MachineParameter,
    MeasuringCost, ModelCurve, OftenInvalid, Pair, Pairs, Ratio, Repetitions, SizeRow, Starts,
    Unit, Verdict, View,
};
use schedule::Collective;
use table::{Confidence, Operators, Provenance, Rule};
use vocabulary::{
    Candidate, Cell, CommShape, Datatype, Library, Node, Operator, Parameters, Subject, Warning,
};
use wire::{Environment, FailureKind, Shares};

const SHAPE: CommShape = CommShape { nodes: 1, ppn: 2 };

/// A model that is right for small vectors.
fn curve() -> ModelCurve {
    let point = |bytes, measured_seconds, expected_seconds| Expected {
        bytes,
        candidate: ours("allreduce/dual_root", (bytes > 65536).then_some(65536)),
        measured_seconds,
        expected_seconds,
    };
    ModelCurve {
        algorithm: "allreduce/dual_root".to_owned(),
        shape: SHAPE,
        points: vec![
            point(64, 2.0e-6, 1.9e-6),
            point(1 << 20, 9.0e-4, 3.0e-4),
            point(4 << 20, 1.1e-3, 1.5e-3),
        ],
    }
}

fn ours(algorithm: &str, block_bytes: Option<u64>) -> Candidate {
    let parameters = Parameters {
        block_bytes,
        ..Parameters::default()
    };
    Candidate::Ours {
        algorithm: algorithm.to_owned(),
        parameters,
    }
}

fn pairs() -> Pairs {
    let ratio = |value: f64| Ratio {
        value,
        low: 0.97 * value,
        high: 1.02 * value,
        coverage: 0.969,
    };
    let uncertain = |[low, value, high]: [f64; 3], coverage| Ratio {
        value,
        low,
        high,
        coverage,
    };
    let pair = |name: &str, against: &str, ratios: &[f64]| Pair {
        name: name.to_owned(),
        against: against.to_owned(),
        points: [8, 8192, 1 << 20]
            .into_iter()
            .zip(ratios.iter().map(|value| ratio(*value)))
            .collect(),
    };
    Pairs {
        collective: Collective::Bcast,
        shape: SHAPE,
        twins: vec![
            pair(
                "bcast/binomial",
                "native:bcast/binomial",
                &[1.02, 0.99, 0.5],
            ),
            Pair {
                name: "bcast/knomial".to_owned(),
                against: "native:bcast/knomial".to_owned(),
                points: vec![
                    (8, uncertain([0.9, 1.52, 2.1], 0.969)),
                    (8192, uncertain([1.4, 1.44, 1.5], 0.75)),
                    (1 << 20, uncertain([1.6; 3], 0.0)),
                ],
            },
            pair(
                "bcast/chain[block_bytes=8K]",
                "native:bcast/pipeline",
                &[0.98, 1.41],
            ),
        ],
        left_twins: 2,
        best: vec![pair("colltune", "the library, forced", &[1.0, 0.9, 0.45])],
    }
}

fn size(
    bytes: u64,
    default_seconds: f64,
    candidate: Candidate,
    speedup: [f64; 3],
    verdict: Verdict,
) -> SizeRow {
    let [low, value, high] = speedup;
    let speedup = Ratio {
        value,
        low,
        high,
        coverage: 0.969,
    };
    let seconds = default_seconds / value;
    SizeRow {
        bytes,
        default_seconds,
        best: Some(Best {
            candidate,
            seconds,
            speedup,
        }),
        verdict,
    }
}

fn block(bytes: u64, predicted: Option<u64>, best: u64, times: (Option<f64>, f64)) -> BlockRow {
    BlockRow {
        algorithm: "allreduce/dual_root".to_owned(),
        bytes,
        predicted_block_bytes: predicted,
        measured_block_bytes: best,
        seconds_at_predicted: times.0,
        seconds_at_measured: times.1,
        points: crate::cells::blocks(best, times.1),
    }
}

fn allreduce() -> Comparison {
    let ring = || ours("allreduce/ring", None);
    let doubling = || ours("allreduce/recursive_doubling", None);
    let dual = |block| ours("allreduce/dual_root", Some(block));
    let alike = Verdict::ChosenAlike {
        candidate: dual(65536),
    };
    Comparison {
        collective: Collective::Allreduce,
        shape: SHAPE,
        operators: Operators::Commutative,
        datatype: Datatype::Float64,
        operator: Some(Operator::Sum),
        sizes: vec![
            size(
                8,
                3.12e-7,
                doubling(),
                [0.96, 0.99, 1.04],
                Verdict::WithinNoise,
            ),
            size(
                512,
                5.4e-7,
                doubling(),
                [1.01, 1.03, 1.04],
                Verdict::Immaterial,
            ),
            size(
                4096,
                1.9e-6,
                doubling(),
                [1.21, 1.25, 1.31],
                Verdict::Chosen,
            ),
            size(
                32768,
                1.1e-5,
                ring(),
                [0.81, 0.86, 0.9],
                Verdict::DefaultFaster,
            ),
            size(262144, 1.32e-4, ring(), [1.31, 1.42, 1.5], alike),
            size(
                2097152,
                1.81e-3,
                dual(65536),
                [1.79, 1.91, 1.97],
                Verdict::Chosen,
            ),
        ],
        rules: vec![
            Rule::new(0, Candidate::Default, None, Confidence::Medium),
            Rule::new(1448, doubling(), Some(1.25), Confidence::High),
            Rule::new(11585, Candidate::Default, None, Confidence::High),
            Rule::new(65536, dual(65536), Some(1.66), Confidence::High),
        ],
        library_rules: vec![(Operators::Commutative, vec![rule_of_library()])],
        blocks: vec![
            block(262144, Some(32768), 65536, (Some(9.91e-5), 9.3e-5)),
            block(2097152, Some(65536), 65536, (Some(9.48e-4), 9.48e-4)),
            block(8388608, Some(131072), 262144, (None, 3.7e-3)),
            block(16777216, None, 262144, (None, 7.6e-3)),
        ],
    }
}

fn rule_of_library() -> Rule {
    let candidate = Candidate::Native {
        algorithm: "native:allreduce/rabenseifner".to_owned(),
        parameters: Parameters::default(),
    };
    Rule::new(0, candidate, Some(1.12), Confidence::Medium)
}

fn bcast() -> Comparison {
    let binomial = || ours("bcast/binomial", None);
    let unrivalled = SizeRow {
        bytes: 4096,
        default_seconds: 1.2e-6,
        best: None,
        verdict: Verdict::NoRival,
    };
    Comparison {
        collective: Collective::Bcast,
        shape: SHAPE,
        operators: Operators::Any,
        datatype: Datatype::Byte,
        operator: None,
        sizes: vec![
            size(
                8,
                2.1e-7,
                binomial(),
                [0.97, 0.98, 1.03],
                Verdict::WithinNoise,
            ),
            unrivalled,
            size(
                2097152,
                2.8e-4,
                binomial(),
                [0.7, 0.72, 0.75],
                Verdict::DefaultFaster,
            ),
        ],
        rules: vec![Rule::new(0, Candidate::Default, None, Confidence::High)],
        library_rules: Vec::new(),
        blocks: Vec::new(),
    }
}

fn parameters() -> Vec<MachineParameter> {
    let identified = |name: &str, [low, value, high]: [f64; 3], unit, residual| MachineParameter {
        name: name.to_owned(),
        estimate: Estimate::Identified {
            value,
            low,
            high,
            unit,
            residual,
        },
    };
    vec![
        identified(
            "alpha (node)",
            [1.7e-7, 1.81e-7, 1.98e-7],
            Unit::Seconds,
            0.183,
        ),
        identified(
            "beta (node)",
            [1.31e-10, 1.42e-10, 1.5e-10],
            Unit::SecondsPerByte,
            0.183,
        ),
        identified("exchange factor", [1.12, 1.31, 1.44], Unit::One, 0.092),
        identified("exchange factor, one launch", [1.3; 3], Unit::One, 0.031),
        MachineParameter {
            name: "gamma (float64 sum)".to_owned(),
            estimate: Estimate::NotIdentified {
                reason: "its interval spans a factor of 7.3".to_owned(),
            },
        },
    ]
}

fn environment() -> Environment {
    Environment {
        library_text: "Open MPI v4.1.4, package: Debian OpenMPI".to_owned(),
        ranks: 4,
        cores: 2,
        kernel: "6.1.0-18-amd64".to_owned(),
        timer_resolution_seconds: 1e-9,
        timer_overhead_seconds: 2.3e-8,
        nodes: vec![Node {
            host: "node-17".to_owned(),
            bound: 4,
            cpus: ["0", "1", "0", "1"].map(str::to_owned).to_vec(),
            ..Node::default()
        }],
        launcher: "mpirun -np 4 --bind-to core".to_owned(),
        transports: ["pml/ob1", "btl/self", "btl/vader"]
            .map(str::to_owned)
            .to_vec(),
        preset: vec!["native:bcast/chosen".to_owned()],
        variables: [("OMPI_MCA_btl".to_owned(), "self,vader".to_owned())].into(),
        settings: Some(
            [
                ("btl", "self,vader"),
                ("coll_tuned_priority", "40"),
                ("pml", "^ucx"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ),
        ..Environment::default()
    }
}

/// The example.
pub(crate) fn view() -> View {
    let warnings = [
        Warning::Oversubscribed { ranks: 4, cores: 2 },
        Warning::Unbound,
    ];
    let cell = Cell {
        collective: Collective::Allreduce,
        shape: SHAPE,
        bytes: 4096,
        datatype: Datatype::Float64,
        operator: Some(Operator::Sum),
    };
    View {
        name: "quickstart".to_owned(),
        basis: Basis::Measurements,
        provenance: Provenance {
            campaign: "9f86d081884c7d659a2feaa0c55ad015".to_owned(),
            store: ".colltune/quickstart.db".to_owned(),
            library: Library {
                name: "openmpi".to_owned(),
                version: "4.1.4".to_owned(),
            },
            colltune: "0.1.0".to_owned(),
            date: "2026-11-20".to_owned(),
            hosts: vec!["node-17".to_owned()],
            cpu: "AMD EPYC 7763 64-Core Processor".to_owned(),
            launches: 6,
            warnings: warnings.iter().map(Warning::to_string).collect(),
        },
        environment: environment(),
        cost: MeasuringCost {
            seconds: 83.4,
            cells: 9,
            repetitions: 182_340,
            call_seconds: 58.9,
            shares: Some(Shares {
                calls: 0.706,
                starts: 0.169,
                preparing: 0.094,
                own: 0.031,
            }),
            left: 1_204,
            saved_seconds: 41.7,
            search: None,
        },
        starts: Some(Starts::Windows {
            invalid: 1_234,
            repetitions: 183_574,
            residual_seconds: 4.1e-7,
        }),
        repetitions: Repetitions {
            batched_cells: 2,
            most_calls: 16,
            other_batches: 3,
            often_invalid: vec![OftenInvalid {
                candidate: ours("allreduce/ring", None),
                cell,
                invalid: 1_234,
                repetitions: 9_876,
            }],
            never_valid: vec![OftenInvalid {
                candidate: ours("allreduce/dual_root", None),
                cell,
                invalid: 96,
                repetitions: 96,
            }],
        },
        parameters: parameters(),
        comparisons: vec![allreduce(), bcast()],
        cells: Vec::new(),
        pairs: vec![pairs()],
        curves: vec![curve()],
        failures: vec![Failure {
            launch: 3,
            candidate: ours("allreduce/ring", None),
            subject: Subject::Cell(cell),
            kind: FailureKind::WrongResult,
            message: "element 17: 3.5 where 4 was expected".to_owned(),
        }],
    }
}
