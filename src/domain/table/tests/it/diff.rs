//! The differences between two tables.

use schedule::Collective;
use table::{
    Change, Deployments, Diff, Group, MeasuredPoint, OnlyIn, Operators, Rule, ShapeRules, Side,
    Table, TableComparison,
};
use vocabulary::{Candidate, CommShape, Parameters, RankOrder};

use crate::sample::{ours, table};

const TWO: CommShape = CommShape { nodes: 1, ppn: 2 };
const FOUR: CommShape = CommShape { nodes: 4, ppn: 2 };

fn group(collective: Collective, shape: CommShape, operators: Operators) -> Group {
    Group {
        collective,
        shape,
        order: RankOrder::Unknown,
        operators,
        deployments: Deployments::Colltune,
    }
}

/// The sample after a change to one entry: of allreduce on one node, or on four for either class.
fn changed(entry: usize, change: impl FnOnce(&mut ShapeRules)) -> Table {
    let mut table = table();
    change(
        &mut table
            .collectives
            .get_mut(&Collective::Allreduce)
            .expect("there")[entry],
    );
    table
}

fn sizes(diff: &Diff) -> Vec<(u64, Option<u64>)> {
    let changes = diff.changes.iter();
    changes
        .map(|change| (change.from_bytes, change.below_bytes))
        .collect()
}

#[test]
fn equal_tables_do_not_differ() {
    let diff = table().diff(&table());
    assert!(diff.is_empty() && diff.in_both > 0, "{diff:?}");
    // The default of both collectives was measured, with equal times.
    let means: Vec<_> = diff.defaults.iter().map(|d| (d.mean, d.extreme)).collect();
    assert_eq!(means, [(1.0, 1.0), (1.0, 1.0)]);
    // On three shapes: the fourth entry, of operators that do not commute, has no times.
    assert_eq!(diff.defaults[1].points, 16);
}

#[test]
fn tables_of_two_libraries_or_releases_are_named() {
    let note = |name: &str, version: &str| {
        let mut other = table();
        other.provenance.library = vocabulary::Library {
            name: name.to_owned(),
            version: version.to_owned(),
        };
        TableComparison::from_tables(("a", &table()), ("b", &other)).note
    };
    let own = table().provenance.library;
    assert_eq!(note(&own.name, &own.version), None);
    let releases = note(&own.name, "99.0").expect("another release");
    assert!(releases.contains("two releases of a library"), "{releases}");
    let libraries = note("another", &own.version).expect("another library");
    let both = format!("two libraries, {own} and another-{}", own.version);
    assert!(libraries.contains(&both), "{libraries}");
}

#[test]
fn a_moved_threshold_is_one_range() {
    let diff = table().diff(&changed(0, |entry| entry.rules[1].from_bytes = 5000));
    assert_eq!(sizes(&diff), [(1500, Some(5000))]);
    let Change {
        group: place,
        before,
        after,
        worth,
        ..
    } = &diff.changes[0];
    // Both classes of operators have the same rules.
    assert_eq!(*place, group(Collective::Allreduce, TWO, Operators::Any));
    assert_eq!(before.candidate.id(), "dual_root");
    assert_eq!(after.candidate, Candidate::Default);
    // At the only measured size within, 4096 bytes, the default takes 1.25 times as long.
    let near = |a: Option<f64>, b: f64| a.is_some_and(|a| (a - b).abs() < 1e-3);
    assert!(
        near(before.speedup, 1.25) && near(after.speedup, 1.0),
        "{diff:?}"
    );
    // The speed-up expected before did not hold.
    assert_eq!((*worth, diff.changes[0].is_turned_back()), (None, true));
    // The same with the tables exchanged.
    let back = changed(0, |entry| entry.rules[1].from_bytes = 5000).diff(&table());
    assert!(near(back.changes[0].worth, 1.25) && !back.changes[0].is_turned_back());
}

#[test]
fn another_candidate_is_worth_the_ratio_of_the_speedups() {
    let faster = changed(0, |entry| {
        entry.rules.truncate(1);
        entry.rules[0] = Rule::new(
            0,
            ours("allreduce/rabenseifner", Parameters::default()),
            Some(2.0),
            table::Confidence::High,
        );
        for point in &mut entry.measured {
            *point = MeasuredPoint::new(
                point.bytes,
                point.default_seconds / 2.0,
                point.default_seconds,
            );
        }
    });
    let diff = table().diff(&faster);
    // As many ranges as the first table has rules.
    assert_eq!(
        sizes(&diff),
        [(0, Some(1500)), (1500, Some(1 << 20)), (1 << 20, None)]
    );
    let worth: Vec<f64> = diff.changes.iter().filter_map(|c| c.worth).collect();
    for (found, expected) in worth.iter().zip([2.0, 2.0 / 1.25, 2.0 / 1.25]) {
        assert!((found - expected).abs() < 1e-3, "{diff:?}");
    }
    assert_eq!(worth.len(), 3);
}

#[test]
fn classes_of_operators_are_distinguished() {
    let diff = table().diff(&changed(2, |entry| {
        let mut rule = entry.rules[0].clone();
        rule.from_bytes = 64;
        rule.candidate = ours("allreduce/recursive_doubling", Parameters::default());
        entry.rules.push(rule);
    }));
    assert_eq!(sizes(&diff), [(64, None)]);
    assert_eq!(
        diff.changes[0].group,
        group(Collective::Allreduce, FOUR, Operators::Noncommutative)
    );
    // Nothing was measured there.
    assert_eq!(
        (diff.changes[0].worth, diff.changes[0].after.speedup),
        (None, None)
    );
}

#[test]
fn shapes_of_only_one_table_are_named() {
    let mut less = table();
    less.collectives.remove(&Collective::Bcast);
    let only = |side| OnlyIn {
        group: group(Collective::Bcast, TWO, Operators::Any),
        side,
    };
    let diff = table().diff(&less);
    assert_eq!(
        (diff.only_in_one.clone(), diff.is_empty()),
        (vec![only(Side::Before)], false)
    );
    assert_eq!(less.diff(&table()).only_in_one, [only(Side::After)]);
    assert!(diff.changes.is_empty());
}

#[test]
fn changes_of_both_deployments_are_listed_once() {
    let any = |mut table: Table| {
        for entry in table
            .collectives
            .get_mut(&Collective::Bcast)
            .expect("there")
        {
            entry.deployments = Deployments::Any;
            entry.rules.truncate(1);
        }
        table
    };
    let mut after = any(table());
    let entry = &mut after
        .collectives
        .get_mut(&Collective::Bcast)
        .expect("there")[0];
    let native = Candidate::Native {
        algorithm: "native:bcast/binomial".to_owned(),
        parameters: Parameters::default(),
    };
    entry.rules[0] = Rule::new(0, native, Some(1.5), table::Confidence::High);
    let diff = any(table()).diff(&after);
    assert_eq!(sizes(&diff), [(0, None)]);
    assert_eq!(diff.changes[0].group.deployments, Deployments::Any);
}

#[test]
fn orders_of_ranks_are_compared_separately() {
    let in_order = |order| {
        let mut table = table();
        for entry in table.collectives.values_mut().flatten() {
            entry.order = order;
        }
        table
    };
    let [unknown, block, cyclic] = [RankOrder::Unknown, RankOrder::Block, RankOrder::Cyclic];
    // An unknown order may be any.
    let diff = in_order(unknown).diff(&in_order(cyclic));
    assert!(diff.is_empty(), "{diff:?}");
    assert_eq!(diff.defaults[1].points, 16);
    let known_diff = in_order(block).diff(&in_order(cyclic));
    assert!(known_diff.changes.is_empty(), "{known_diff:?}");
    let only = known_diff.only_in_one.iter();
    let only: Vec<_> = only
        .map(|o| (o.group.shape, o.group.order, o.side))
        .collect();
    // On one node any order is the same.
    assert!(only.iter().all(|(shape, ..)| *shape == FOUR), "{only:?}");
    assert!(only.contains(&(FOUR, block, Side::Before)), "{only:?}");
    assert!(only.contains(&(FOUR, cyclic, Side::After)), "{only:?}");
}

#[test]
fn a_default_that_became_slower_is_noticed() {
    let slower = changed(1, |entry| {
        for (point, factor) in entry.measured.iter_mut().zip([1.1, 1.1, 1.1, 3.0]) {
            *point = MeasuredPoint::new(point.bytes, point.seconds, factor * point.default_seconds);
        }
    });
    let diff = table().diff(&slower);
    assert!(diff.is_empty(), "{diff:?}");
    let change = diff.defaults[1];
    assert_eq!(
        (change.shape, change.bytes, change.points),
        (FOUR, 4096, 16)
    );
    let mean = (1.1_f64.powi(3) * 3.0).powf(1.0 / 16.0);
    assert!((change.mean / mean - 1.0).abs() < 1e-3 && (change.extreme / 3.0 - 1.0).abs() < 1e-3);
}
