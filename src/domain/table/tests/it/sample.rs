//! A table as a tuning run would build it.

use std::collections::BTreeMap;

use schedule::Collective;
use table::{
    Confidence, Deployments, MeasuredPoint, Operators, Provenance, Rule, RuleSource, ShapeRules,
    Table,
};
use vocabulary::{Candidate, CommShape, Library, Parameters, Pattern, RankOrder};

pub(crate) const OPERATORS: [Operators; 3] = [
    Operators::Any,
    Operators::Commutative,
    Operators::Noncommutative,
];
pub(crate) const DEPLOYMENTS: [Deployments; 3] = [
    Deployments::Any,
    Deployments::Colltune,
    Deployments::Library,
];

pub(crate) fn ours(algorithm: &str, parameters: Parameters) -> Candidate {
    Candidate::Ours {
        algorithm: algorithm.to_owned(),
        parameters,
    }
}

pub(crate) fn block_bytes(bytes: u64) -> Parameters {
    Parameters {
        block_bytes: Some(bytes),
        ..Parameters::default()
    }
}

pub(crate) fn provenance() -> Provenance {
    Provenance {
        campaign: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
        store: ".colltune/quickstart.db".to_owned(),
        library: Library {
            name: "openmpi".to_owned(),
            version: "4.1.4".to_owned(),
        },
        colltune: "0.1.0".to_owned(),
        date: "2026-11-20".to_owned(),
        hosts: vec!["n1".to_owned(), "n2".to_owned()],
        cpu: "AMD EPYC 7763 64-Core Processor".to_owned(),
        networks: Vec::new(),
        launches: 6,
        pattern: Pattern::Together,
        distributions: Vec::new(),
        min_confidence: Confidence::Medium,
        numerics: table::Numerics::default(),
        warnings: vec!["ranks were not bound to cores: bind them".to_owned()],
    }
}

/// Two measured shapes of allreduce, the second with different rules for the two operator
/// classes, and one of bcast.
pub(crate) fn table() -> Table {
    let tree = Parameters {
        blocks: Some(4),
        ..Parameters::default()
    };
    let composed = Parameters {
        reduce: Some("binomial".to_owned()),
        bcast: Some("chain".to_owned()),
        ..block_bytes(8192)
    };
    let points = |factor: f64| {
        let sizes = [8, 64, 512, 4096, 32768, 262_144, 2 << 20, 4 << 20];
        let time = |bytes: u64| 3.1e-7 + bytes as f64 * 1.234e-10;
        let point = |bytes| MeasuredPoint::new(bytes, time(bytes), factor * time(bytes));
        sizes.map(point).to_vec()
    };
    let entry = |nodes, operators, rules, measured| ShapeRules {
        shape: CommShape { nodes, ppn: 2 },
        order: RankOrder::Unknown,
        operators,
        deployments: Deployments::Colltune,
        source: RuleSource::Measured,
        rules,
        measured,
        candidates: Vec::new(),
    };
    let default = |from, confidence| Rule::new(from, Candidate::Default, None, confidence);
    let allreduce = vec![
        entry(
            1,
            Operators::Any,
            vec![
                default(0, Confidence::High),
                Rule::new(
                    1500,
                    ours("allreduce/dual_root", block_bytes(65536)),
                    Some(1.3214),
                    Confidence::High,
                ),
                Rule::new(
                    1 << 20,
                    ours("allreduce/reduce_broadcast", composed),
                    Some(1.1),
                    Confidence::Medium,
                ),
            ],
            points(1.25),
        ),
        entry(
            4,
            Operators::Commutative,
            vec![Rule::new(
                0,
                ours("allreduce/ring", Parameters::default()),
                Some(2.0),
                Confidence::Low,
            )],
            points(2.0),
        ),
        entry(
            4,
            Operators::Noncommutative,
            vec![default(0, Confidence::Medium)],
            vec![],
        ),
    ];
    let bcast = vec![entry(
        1,
        Operators::Any,
        vec![
            default(0, Confidence::High),
            Rule::new(
                100,
                ours("bcast/chain", tree),
                Some(1.06),
                Confidence::Medium,
            ),
        ],
        points(1.0),
    )];
    let collectives = BTreeMap::from([
        (Collective::Allreduce, allreduce),
        (Collective::Bcast, bcast),
    ]);
    Table {
        name: "quickstart".to_owned(),
        provenance: provenance(),
        collectives,
        verdicts: Vec::new(),
        nonblocking: None,
    }
}
