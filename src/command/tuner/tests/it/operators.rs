//! Operators that commute and others: campaigns of both on a simulated machine.

use std::path::Path;

use model::Machine;
use schedule::Collective;
use simulated::SimulatedLauncher;
use store::Store;
use table::{Deployment, OperatorClass, Operators, Query, RulePlace, Table};
use tempfile::TempDir;
use tuner::{MeasurementContext, SearchPaths, Silent, Tuned, tune_campaign};
use vocabulary::{Candidate, CommShape, Operator, Placement, RankOrder, Subject, out_of_order};

use crate::confirm::MACHINE;
use crate::loops::never;

const SHAPE: CommShape = CommShape { nodes: 6, ppn: 1 };

/// Tunes in a folder with further lines in the campaign.
pub(crate) fn tuned(folder: &TempDir, operators: &str) -> (MeasurementContext, Tuned) {
    let path_to = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path_to("machine.yaml"), MACHINE).expect("written");
    let text = format!(
        "name: operators\nlauncher: {{simulated: {{machine: '{}', seed: 3}}}}\nshapes: {SHAPE}\n\
         collectives: [allreduce, bcast]\nsizes: [64, 4M]\nstrategy: exhaustive\n\
         candidates: {{include: [allreduce/ring, allreduce/dual_root, bcast/linear]}}\n\
         parameters: {{block_bytes: 64K, predicted: false}}\nbudget: 10h\n\
         repetitions: {{slice: 20ms}}\n{operators}\n\
         output: {{store: '{}', table: '{}', report: '{}'}}\n",
        path_to("machine.yaml"),
        path_to("s.db"),
        path_to("t.yaml"),
        path_to("r.md"),
    );
    let path = path_to("campaign.yaml");
    std::fs::write(&path, text).expect("written");
    let mut at =
        MeasurementContext::from_campaign_file(Path::new(&path), None, &SearchPaths::default())
            .expect("ready");
    let machine = Machine::from_yaml(MACHINE).expect("a machine");
    let launcher = SimulatedLauncher::new(machine, Placement::Block).expect("rules");
    // The default for long vectors.
    at.launcher = Box::new(launcher.with_slowed_algorithm("allreduce/rabenseifner", 5.0));
    let tuned = tune_campaign(&at, &mut Silent, &never()).expect("tuned");
    (at, tuned)
}

pub(crate) fn query(operators: OperatorClass) -> Query {
    Query {
        collective: Collective::Allreduce,
        shape: SHAPE,
        order: RankOrder::Unknown,
        bytes: 4 << 20,
        operators,
        deployment: Deployment::Colltune,
    }
}

fn classes(table: &Table) -> Vec<Operators> {
    let entries = table.collectives[&Collective::Allreduce].iter();
    entries.map(|entry| entry.operators).collect()
}

/// Each class is measured and confirmed with its own operator, and decided from these measurements alone.
#[test]
fn both_classes_are_decided_from_their_own_cells() {
    let folder = TempDir::new().expect("a folder");
    let (at, tuned) = tuned(&folder, "operator: [sum, noncommutative]");
    let table = Table::load(&tuned.table_path).expect("a table");
    assert_eq!(
        classes(&table),
        [Operators::Commutative, Operators::Noncommutative]
    );
    let chosen = |class| table.lookup(&query(class)).candidate.clone();
    let is_unordered = |candidate: &Candidate| {
        let algorithm = schedule::find_algorithm(candidate.algorithm()).expect("ours");
        out_of_order(algorithm, &candidate.parameters()).is_some()
    };
    let (sum, function) = (
        chosen(OperatorClass::Commutative),
        chosen(OperatorClass::Noncommutative),
    );
    assert!(is_unordered(&sum), "{sum}");
    assert!(!is_unordered(&function), "{function}");
    let store = Store::open(at.store_path()).expect("a store");
    let counts = store
        .launch_counts(&at.library, at.campaign.pattern)
        .expect("counts");
    let mut operators: Vec<Option<Operator>> = Vec::new();
    for (subject, candidate) in counts.keys() {
        let Subject::Cell(cell) = subject else {
            continue;
        };
        operators.push(cell.operator);
        let is_ours = matches!(candidate, Candidate::Ours { .. });
        assert!(
            cell.commutes() || !is_ours || !is_unordered(candidate),
            "{candidate} in {cell}"
        );
    }
    for operator in [None, Some(Operator::Sum), Some(Operator::Noncommutative)] {
        assert!(operators.contains(&operator), "{operator:?}");
    }
    // A second run finds the measurements: nothing is left to measure.
    let again = tune_campaign(&at, &mut Silent, &never()).expect("tuned");
    assert_eq!(again.measured.launches, 0);
    assert_eq!(again.table.collectives, tuned.table.collectives);
}

/// Programs keep the library's default for operators of a class that was not measured.
#[test]
fn a_class_that_was_not_measured_has_no_rules() {
    for (operators, [measured, other], entry) in [
        ("", OperatorClass::ALL, Operators::Commutative),
        (
            "operator: noncommutative",
            [OperatorClass::Noncommutative, OperatorClass::Commutative],
            Operators::Noncommutative,
        ),
    ] {
        let folder = TempDir::new().expect("a folder");
        let (_, tuned) = tuned(&folder, operators);
        assert_eq!(classes(&tuned.table), [entry], "{operators}");
        let found = tuned.table.lookup(&query(measured));
        assert_ne!(*found.candidate, Candidate::Default, "{operators}");
        let absent = tuned.table.lookup(&query(other));
        assert_eq!(*absent.candidate, Candidate::Default, "{operators}");
        assert!(matches!(absent.rule, RulePlace::Absent(_)), "{operators}");
    }
}
