//! Tables, fits and reports from the samples.

use std::sync::atomic::AtomicBool;

use schedule::Collective;
use store::Store;
use table::{Deployment, OperatorClass, Query, Table};
use tuner::{CampaignAnalysis, Silent, Tuned, TunerError, explain_decision, tune_campaign};
use vocabulary::{Candidate, CommShape, RankOrder};

use crate::fake::{Bench, library};

fn tuned() -> (Bench, Tuned) {
    tuned_with("")
}

/// With further lines in the campaign.
fn tuned_with(lines: &str) -> (Bench, Tuned) {
    let bench = Bench::new(lines);
    let tuned =
        tune_campaign(&bench.workplace(), &mut Silent, &AtomicBool::new(false)).expect("tuned");
    (bench, tuned)
}

fn query(bytes: u64, operators: OperatorClass) -> Query {
    let shape = CommShape { nodes: 1, ppn: 4 };
    Query {
        order: RankOrder::Unknown,
        collective: Collective::Allreduce,
        shape,
        bytes,
        operators,
        deployment: Deployment::Colltune,
    }
}

#[test]
fn the_table_replaces_a_slow_default_by_the_best_candidate_of_the_model() {
    let (_bench, tuned) = tuned_with(
        "candidates: {exclude: ['*/rabenseifner', '*/circulant', '*/bine', '*/ring_segmented']}\n",
    );
    let table = Table::load(&tuned.table_path).expect("a table");
    assert_eq!(table, tuned.table);
    let small = table.lookup(&query(64, OperatorClass::Commutative));
    assert_eq!(small.candidate.to_string(), "allreduce/recursive_doubling");
    assert!(
        small.speedup.is_some_and(|speedup| speedup > 1.2),
        "{small:?}"
    );
    let large = table.lookup(&query(4 << 20, OperatorClass::Commutative));
    assert_eq!(large.candidate.id(), "ring");
    // Of other operators nothing was measured.
    let others = table.lookup(&query(4 << 20, OperatorClass::Noncommutative));
    assert_eq!(*others.candidate, Candidate::Default);
}

#[test]
fn the_fit_recovers_the_machine_and_its_block_prediction_is_measured() {
    // The bench has no level of its own for shared memory.
    let (_bench, tuned) = tuned_with("parameters: {through: mpi}\n");
    let machine = tuned
        .analysis
        .found
        .machine
        .machine
        .as_ref()
        .expect("identified");
    let node = machine.node.as_ref().expect("a node's link");
    assert!((node.alpha / 1e-6 - 1.0).abs() < 0.05, "{node:?}");
    assert!((node.beta / 1e-9 - 1.0).abs() < 0.05, "{node:?}");
    let pipelined = tuned
        .analysis
        .found
        .blocks
        .iter()
        .filter(|b| b.cell.bytes == 4 << 20);
    let mut seen = 0;
    for block in pipelined.filter(|block| block.cell.shape.ppn == 4) {
        let Some(predicted) = block.predicted else {
            let name = block.algorithm.split('[').next().expect("a name");
            let algorithm = schedule::find_algorithm(name).expect("registered");
            assert_eq!(algorithm.cost(4), None, "{block:?}");
            continue;
        };
        let near = block
            .measured_near_prediction
            .expect("measured near the prediction");
        // Rounded to a power of two, the lemma's block is within a few percent of the best.
        assert!(near.seconds <= 1.05 * block.measured.seconds, "{block:?}");
        assert!(
            (predicted.seconds / near.seconds - 1.0).abs() < 0.1,
            "{block:?}"
        );
        seen += 1;
    }
    assert!(
        seen >= 2,
        "dual_root and pipelined_tree at least, seen {seen}"
    );
}

#[test]
fn explanations_come_from_the_store_or_from_the_table_alone() {
    let (bench, tuned) = tuned();
    let store = bench.campaign().output.store;
    let asked = query(100_000, OperatorClass::Commutative);
    let explained = explain_decision(&tuned.table, &asked, &store).expect("explained");
    let sizes: Vec<u64> = explained
        .evidence
        .iter()
        .map(|evidence| evidence.bytes)
        .collect();
    assert_eq!(
        sizes,
        [16 << 10, 4 << 20],
        "the measured sizes on either side"
    );
    for evidence in &explained.evidence {
        assert!(
            evidence
                .ranking
                .iter()
                .any(|ranked| ranked.candidate.to_string() == evidence.chosen)
        );
        assert!(!evidence.why.is_empty());
    }
    let exact = explain_decision(
        &tuned.table,
        &query(16 << 10, OperatorClass::Commutative),
        &store,
    );
    assert_eq!(exact.expect("explained").evidence.len(), 1);
    let alone =
        explain_decision(&tuned.table, &asked, &bench.path("absent.db")).expect("explained");
    assert!(alone.evidence.is_empty() && alone.no_evidence.is_some());
    assert_eq!(alone.decision.candidate, explained.decision.candidate);
}

#[test]
fn a_store_without_samples_of_a_library_says_so() {
    let (bench, _) = tuned();
    let store = Store::open(&bench.campaign().output.store).expect("a store");
    let other = vocabulary::Library {
        name: "mpich".to_owned(),
        ..library()
    };
    let error =
        CampaignAnalysis::from_store(&store, Some(&other), None).expect_err("nothing there");
    assert!(
        matches!(error, TunerError::NothingMeasured { .. }),
        "{error}"
    );
    assert!(error.help().is_some());
    let found = CampaignAnalysis::from_store(&store, None, None).expect("the only library");
    assert_eq!(found.origin.library, library());
}

#[test]
fn candidates_that_a_campaign_no_longer_names_are_not_chosen() {
    let (mut bench, before) = tuned();
    assert!(before.table.to_yaml().contains("allreduce/rabenseifner"));
    bench.redirect(
        "launches: 6",
        "launches: 6\ncollectives: [allreduce, bcast]\ncandidates: {exclude: ['*/rabenseifner', '*/bine']}",
    );
    // On two ranks Bine has the same schedule, and would be measured in place of the removed candidate.
    let after =
        tune_campaign(&bench.workplace(), &mut Silent, &AtomicBool::new(false)).expect("tuned");
    assert_eq!(after.measured.launches, 0, "everything asked for is there");
    let table = after.table.to_yaml();
    assert!(
        !table.contains("allreduce/rabenseifner") && !table.contains("  reduce:"),
        "{table}"
    );
    assert_eq!(after.table.provenance.campaign, bench.campaign().digest());
}

#[test]
fn an_incomplete_campaign_says_so_in_its_table() {
    let mut bench = Bench::new("");
    bench.elapsed_seconds = 0.5;
    let tuned =
        tune_campaign(&bench.workplace(), &mut Silent, &AtomicBool::new(false)).expect("tuned");
    let warning = &tuned.table.provenance.warnings[0];
    assert!(
        warning.starts_with("only ") && warning.contains("`budget`"),
        "{warning}"
    );
    let (_, complete) = self::tuned();
    assert_eq!(complete.table.provenance.warnings, [] as [&str; 0]);
}

#[test]
fn a_table_older_than_its_store_is_reported() {
    let (bench, mut tuned) = tuned();
    let store = bench.campaign().output.store;
    let asked = query(16 << 10, OperatorClass::Commutative);
    let agreed = explain_decision(&tuned.table, &asked, &store).expect("explained");
    assert_eq!(agreed.disagreement, None);
    for entries in tuned.table.collectives.values_mut() {
        for entry in entries {
            for rule in &mut entry.rules {
                rule.candidate = vocabulary::Candidate::Default;
            }
        }
    }
    let outgrown = explain_decision(&tuned.table, &asked, &store).expect("explained");
    let disagreement = outgrown.disagreement.expect("the store says otherwise");
    assert!(
        disagreement.contains("colltune decide") && disagreement.contains("default"),
        "{disagreement}"
    );
}
