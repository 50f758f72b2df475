//! Verdicts of validations.

use schedule::Collective;
use statistics::{Interval, PairedRatio};
use store::{Import, ImportedLaunch, Store, StoreError};
use table::{Deployment, Found, OperatorClass, Verdict};
use vocabulary::{Candidate, CommShape, Distribution, Parameters, Pattern, RankOrder};
use wire::Environment;

use crate::fixture::library;

/// A verdict about a candidate with parameters.
pub(crate) fn verdict(name: &str) -> Verdict {
    let candidate = r#"{"native":{"algorithm":"native:bcast/chain","parameters":{"fanout":4}}}"#;
    let candidate: Candidate = serde_json::from_str(candidate).expect("a candidate");
    Verdict {
        unix_seconds: 1_790_000_000,
        library: library(name),
        conditions: "abc".to_owned(),
        pattern: Pattern::Repeated,
        collective: Collective::Bcast,
        shape: CommShape { nodes: 4, ppn: 2 },
        order: RankOrder::Cyclic,
        operators: OperatorClass::Commutative,
        deployment: Deployment::Library,
        candidate,
        bytes: 4096,
        distribution: Distribution::Uniform,
        found: Found::Slower,
        speedup: Some(PairedRatio {
            median: 0.5,
            interval: Interval {
                low: 0.4,
                high: 0.6,
                coverage: 0.97,
            },
            launches: 9,
        }),
        seed: u64::MAX,
        newest_launch: None,
    }
}

#[test]
fn verdicts_are_kept_with_the_newest_launch() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("a.db");
    let mut store = Store::open_or_create(&path).expect("created");
    let failed = Verdict {
        collective: Collective::Allgatherv,
        distribution: Distribution::Skewed,
        candidate: Candidate::Ours {
            algorithm: "allgatherv/ring".to_owned(),
            parameters: Parameters::default(),
        },
        found: Found::Failed,
        speedup: None,
        ..verdict("openmpi")
    };
    let first = [verdict("openmpi"), verdict("mpich")];
    store.record_verdicts(&first).expect("stored");
    let launch = ImportedLaunch {
        environment: Environment::default(),
        subjects: Vec::new(),
    };
    let import = Import {
        digest: "c".to_owned(),
        name: "times.csv".to_owned(),
        text: "{}".to_owned(),
        library: library("openmpi"),
        launches: vec![launch.clone(), launch],
    };
    store.add_imports(&[import]).expect("imported");
    store
        .record_verdicts(std::slice::from_ref(&failed))
        .expect("stored");
    drop(store);

    let reopened = Store::open(&path).expect("opened");
    let after = |newest, verdict: Verdict| Verdict {
        newest_launch: Some(newest),
        ..verdict
    };
    assert_eq!(
        reopened.verdicts(&library("openmpi")).expect("readable"),
        [after(0, verdict("openmpi")), after(2, failed)]
    );
    assert_eq!(
        reopened.verdicts(&library("mpich")).expect("readable"),
        [after(0, verdict("mpich"))]
    );
}

#[test]
fn verdicts_with_an_impossible_launch_are_damage() {
    let ours = |algorithm: &str| Candidate::Ours {
        algorithm: algorithm.to_owned(),
        parameters: Parameters::default(),
    };
    let known = verdict("openmpi");
    let with = |coverage| {
        let mut speedup = known.speedup.expect("measured");
        speedup.interval.coverage = coverage;
        Some(speedup)
    };
    for impossible in [
        Verdict {
            collective: Collective::Allreduce,
            ..known.clone()
        },
        Verdict {
            candidate: ours("bcast/unknown"),
            ..known.clone()
        },
        Verdict {
            collective: Collective::Allreduce,
            operators: OperatorClass::Noncommutative,
            candidate: ours("allreduce/ring"),
            ..known.clone()
        },
        Verdict {
            bytes: 1 << 60,
            ..known.clone()
        },
        Verdict {
            distribution: Distribution::Skewed,
            ..known.clone()
        },
        Verdict {
            speedup: with(1.5),
            ..known.clone()
        },
    ] {
        let folder = tempfile::tempdir().expect("temporary folder");
        let mut store = Store::open_or_create(&folder.path().join("a.db")).expect("created");
        store
            .record_verdicts(std::slice::from_ref(&impossible))
            .expect("stored");
        let read = store.verdicts(&library("openmpi"));
        assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{read:?}");
    }
}
