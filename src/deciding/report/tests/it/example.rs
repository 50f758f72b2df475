//! A report like that of a small node.

use report::{Basis, Comparison, LibraryRules, View};
use results::{
    BlockComparison, BlockPoint, CellDecision, DetectableGain, Estimate, Expected, MeasuringCost,
    ModelCurve, ModelKind, ModelScore, OftenInvalid, Pair, Pairs, ParameterEstimate,
    PoorPrediction, Races, Ranked, RepetitionCounts, Starts, Status, Timed, Verdict,
};
use schedule::Collective;
use statistics::{Interval, PairedRatio};
use table::{Confidence, Lack, Lacks, Operators, Provenance, Rule};
use vocabulary::{
    Candidate, Cell, CommShape, Datatype, Library, Node, Operator, Parameters, Pattern, RankOrder,
    Subject, Warning,
};
use wire::{Environment, FailureKind, FailureRecord, Shares};

const SHAPE: CommShape = CommShape { nodes: 1, ppn: 2 };

/// A model that is right for small vectors.
fn score(model: ModelKind, wrong: usize) -> ModelScore {
    ModelScore::new(model, [wrong, 3], [1, 1])
}

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
    let ratio = |value: f64| paired([0.97 * value, value, 1.02 * value], 0.969);
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
        equivalents: vec![
            pair(
                "bcast/binomial",
                "native:bcast/binomial",
                &[1.02, 0.99, 0.5],
            ),
            Pair {
                name: "bcast/knomial".to_owned(),
                against: "native:bcast/knomial".to_owned(),
                points: vec![
                    (8, paired([0.9, 1.52, 2.1], 0.969)),
                    (8192, paired([1.4, 1.44, 1.5], 0.75)),
                    (1 << 20, paired([1.6; 3], 0.0)),
                ],
            },
            pair(
                "bcast/chain[block_bytes=8K]",
                "native:bcast/pipeline",
                &[0.98, 1.41],
            ),
        ],
        left_equivalents: 2,
        best: vec![pair("colltune", "the library, forced", &[1.0, 0.9, 0.45])],
    }
}

fn paired([low, median, high]: [f64; 3], coverage: f64) -> PairedRatio {
    let interval = Interval {
        low,
        high,
        coverage,
    };
    PairedRatio {
        median,
        interval,
        launches: 6,
    }
}

/// A decision between the default and another candidate, by the other's speed-up.
fn size(
    bytes: u64,
    default_seconds: f64,
    candidate: Candidate,
    speedup: [f64; 3],
    verdict: Verdict,
) -> CellDecision {
    let replaces = matches!(verdict, Verdict::Fastest | Verdict::NearFastest);
    let ranked = Ranked {
        speedup: Some(paired(speedup, 0.969)),
        beats_default: replaces,
        ..Ranked::unmeasured(candidate.clone(), default_seconds / speedup[1])
    };
    let default = Ranked::unmeasured(Candidate::Default, default_seconds);
    CellDecision {
        chosen: if replaces {
            candidate
        } else {
            Candidate::Default
        },
        verdict,
        ranking: vec![ranked, default],
        ..unrivalled(bytes, default_seconds)
    }
}

/// A decision where only the default was measured.
fn unrivalled(bytes: u64, default_seconds: f64) -> CellDecision {
    CellDecision {
        cell: cell(bytes),
        operators: Operators::Commutative,
        chosen: Candidate::Default,
        up_to_next: None,
        verdict: Verdict::NoRival,
        confidence: Confidence::High,
        ranking: vec![Ranked::unmeasured(Candidate::Default, default_seconds)],
        failed: Vec::new(),
        chosen_in_library: None,
    }
}

fn cell(bytes: u64) -> Cell {
    Cell {
        collective: Collective::Allreduce,
        shape: SHAPE,
        bytes,
        datatype: Datatype::Float64,
        operator: Some(Operator::Sum),
        distribution: schedule::Distribution::Uniform,
    }
}

/// Predicted and best measured blocks; the time measured with the predicted ones, and the best time.
fn block(
    bytes: u64,
    predicted: Option<u64>,
    best: u64,
    times: (Option<f64>, f64),
) -> BlockComparison {
    let point = |block_bytes, seconds| BlockPoint {
        block_bytes,
        blocks: (bytes / block_bytes) as u32,
        seconds,
    };
    BlockComparison {
        cell: cell(bytes),
        algorithm: "allreduce/dual_root".to_owned(),
        predicted: predicted.map(|size| point(size, times.1)),
        measured: point(best, times.1),
        measured_near_prediction: predicted.zip(times.0).map(|(size, time)| point(size, time)),
        points: [best / 2, best, 2 * best]
            .map(|size| point(size, times.1 * if size == best { 1.0 } else { 1.2 }))
            .to_vec(),
        predicted_of_points: vec![Some(0.9 * times.1); 3],
    }
}

fn allreduce() -> Comparison {
    let ring = || ours("allreduce/ring", None);
    let doubling = || ours("allreduce/recursive_doubling", None);
    let dual = |block| ours("allreduce/dual_root", Some(block));
    // A little slower than the ring, so that without merging there would be another rule.
    let mut alike = size(
        262144,
        1.32e-4,
        ring(),
        [1.31, 1.42, 1.5],
        Verdict::NearFastest,
    );
    alike.chosen = dual(65536);
    let rules = vec![
        Rule::new(0, Candidate::Default, None, Confidence::Medium),
        Rule::new(1448, doubling(), Some(1.25), Confidence::High),
        Rule::new(11585, Candidate::Default, None, Confidence::High),
        Rule::new(65536, dual(65536), Some(1.66), Confidence::High),
    ];
    Comparison {
        order: RankOrder::Unknown,
        collective: Collective::Allreduce,
        shape: SHAPE,
        operators: Operators::Commutative,
        datatype: Datatype::Float64,
        operator: Some(Operator::Sum),
        distribution: None,
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
                Verdict::Fastest,
            ),
            size(
                32768,
                1.1e-5,
                ring(),
                [0.81, 0.86, 0.9],
                Verdict::DefaultFastest,
            ),
            alike,
            size(
                2097152,
                1.81e-3,
                dual(65536),
                [1.79, 1.91, 1.97],
                Verdict::Fastest,
            ),
        ],
        lacks: lacks_by_default(&rules),
        rules,
        library_rules: vec![LibraryRules {
            operators: Operators::Commutative,
            lacks: lacks_by_default(&[rule_of_library()]),
            rules: vec![rule_of_library()],
        }],
        blocks: vec![
            block(262144, Some(32768), 65536, (Some(9.91e-5), 9.3e-5)),
            block(2097152, Some(65536), 65536, (Some(9.48e-4), 9.48e-4)),
            block(8388608, Some(131072), 262144, (None, 3.7e-3)),
            block(16777216, None, 262144, (None, 7.6e-3)),
        ],
    }
}

/// Those of rules that are not confirmed.
fn lacks_by_default(rules: &[Rule]) -> Lacks {
    let replacing = rules
        .iter()
        .filter(|rule| rule.candidate != Candidate::Default);
    replacing
        .map(|rule| (rule.from_bytes, Lack::Confirmation))
        .collect()
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
    Comparison {
        order: RankOrder::Unknown,
        collective: Collective::Bcast,
        shape: SHAPE,
        operators: Operators::Any,
        datatype: Datatype::Byte,
        operator: None,
        distribution: None,
        sizes: vec![
            size(
                8,
                2.1e-7,
                binomial(),
                [0.97, 0.98, 1.03],
                Verdict::WithinNoise,
            ),
            unrivalled(4096, 1.2e-6),
            size(
                2097152,
                2.8e-4,
                binomial(),
                [0.7, 0.72, 0.75],
                Verdict::DefaultFastest,
            ),
        ],
        rules: vec![Rule::new(0, Candidate::Default, None, Confidence::High)],
        lacks: Lacks::new(),
        library_rules: Vec::new(),
        blocks: Vec::new(),
    }
}

fn parameters() -> Vec<ParameterEstimate> {
    let known = |name: &str, [low, value, high]: [f64; 3], unit, residual| ParameterEstimate {
        name: name.to_owned(),
        unit,
        estimate: Some(Estimate {
            value,
            low,
            high,
            coverage: 0.969,
            residual,
        }),
        status: Status::Identified,
    };
    let alpha = [1.7e-7, 1.81e-7, 1.98e-7];
    let beta = [1.31e-10, 1.42e-10, 1.5e-10];
    vec![
        known("alpha (node)", alpha, "s", 0.183),
        known("beta (node)", beta, "s/byte", 0.183),
        known("exchange factor", [1.12, 1.31, 1.44], "1", 0.092),
        known("exchange factor, one launch", [1.3; 3], "1", 0.031),
        ParameterEstimate {
            status: Status::Uncertain { factor: 7.3 },
            ..known(
                "gamma (float64 sum)",
                [1e-10, 3e-10, 7.3e-10],
                "s/byte",
                0.1,
            )
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
    let cell = cell(4096);
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
            networks: Vec::new(),
            launches: 6,
            pattern: Pattern::Together,
            distributions: Vec::new(),
            min_confidence: Confidence::Medium,
            numerics: table::Numerics::default(),
            warnings: warnings.iter().map(Warning::to_string).collect(),
        },
        environment: environment(),
        cost: MeasuringCost {
            seconds: 83.4,
            confirming_seconds: 0.0,
            launching_seconds: 0.0,
            launches: 0,
            cells: 9,
            repetitions: 182_340,
            call_seconds: 58.9,
            shares: Some(Shares {
                calls: 0.706,
                starts: 0.169,
                preparing: 0.094,
                own: 0.031,
            }),
            races: Races {
                left: 1_204,
                saved_seconds: 41.7,
            },
            effort: None,
            detectable: Some(DetectableGain {
                noise: 0.034,
                gain: 1.08,
            }),
        },
        starts: Some(Starts::Windows {
            invalid: 1_234,
            repetitions: 183_574,
            residual_seconds: 4.1e-7,
        }),
        repetitions: RepetitionCounts {
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
            placebos: vec![(cell, PairedRatio::single_value(1.01))],
        },
        poor_predictions: vec![PoorPrediction {
            experiment: Timed::Copy,
            bytes: 4 << 20,
            from_bytes: 1 << 20,
            below_bytes: u64::MAX,
            residual: 0.42,
        }],
        parameters: parameters(),
        comparisons: vec![allreduce(), bcast()],
        cells: Vec::new(),
        withheld: Default::default(),
        numerics: Vec::new(),
        pairs: vec![pairs()],
        curves: vec![curve()],
        scores: vec![
            score(ModelKind::OneLine, 2),
            score(ModelKind::Calibrated, 1),
        ],
        failures: vec![FailureRecord {
            launch: 3,
            candidate: ours("allreduce/ring", None),
            subject: Subject::Cell(cell),
            kind: FailureKind::WrongResult,
            message: "element 17: 3.5 where 4 was expected".to_owned(),
        }],
    }
}
