//! The sizes of a table that are measured, and their order.

use guard::{Point, PointKind, table_points};
use table::{Deployment, Operators};
use vocabulary::{Datatype, Operator, RankOrder};

use crate::script::table;

const ELEMENTS: (Datatype, Operator) = (Datatype::Float64, Operator::Sum);

fn found(thresholds: bool) -> Vec<Point> {
    table_points(&table(), Deployment::Library, ELEMENTS, thresholds)
}

#[test]
fn one_of_each_algorithm_comes_first_and_the_default_last() {
    let points = found(false);
    let named: Vec<(u64, &str)> = points
        .iter()
        .map(|point| (point.cell.bytes, point.chosen.id()))
        .collect();
    // By speed-ups of 3, 1.6, 2, 1.5 and none.
    let expected = [
        (65536, "b"),
        (4096, "a"),
        (1 << 20, "b"),
        (1024, "a"),
        (64, "default"),
    ];
    assert_eq!(named, expected);
    assert_eq!(
        points[0].recorded.map(|recorded| recorded.seconds),
        Some(10e-6)
    );
    assert!(points[0].rules[0].to_string().ends_with("from 10000 bytes"));
}

#[test]
fn thresholds_have_points_on_both_sides() {
    let mut points = found(true);
    points.sort_by_key(|point| point.cell.bytes);
    let near: Vec<(u64, PointKind, &str)> = points
        .iter()
        .filter(|point| point.kind != PointKind::Measured)
        .map(|point| (point.cell.bytes, point.kind, point.chosen.id()))
        .collect();
    let expected = [
        (99, PointKind::BelowThreshold, "default"),
        (100, PointKind::Threshold, "a"),
        (9999, PointKind::BelowThreshold, "a"),
        (10000, PointKind::Threshold, "b"),
    ];
    assert_eq!(near, expected);
    assert!(
        points
            .iter()
            .all(|point| point.recorded.is_some() == (point.kind == PointKind::Measured))
    );
}

/// Rules for noncommutative operators are measured with a noncommutative one, and rules for all operators with the
/// campaign's.
#[test]
fn entries_with_the_same_decision_for_one_operator_are_one_point() {
    let mut table = table();
    let collective = schedule::Collective::Allreduce;
    let entries = table.collectives.remove(&schedule::Collective::Bcast);
    let entry = entries.expect("entries").remove(0);
    let with = |operators, rules: usize| table::ShapeRules {
        order: RankOrder::Unknown,
        operators,
        rules: entry.rules[..rules].to_vec(),
        ..entry.clone()
    };
    let found = |other: Operators, bytes: u64| {
        let both = vec![with(Operators::Commutative, 3), with(other, 2)];
        let mut table = table.clone();
        table.collectives.insert(collective, both);
        let points = table_points(&table, Deployment::Library, ELEMENTS, false).into_iter();
        let of_size = points.filter(|point| point.cell.bytes == bytes);
        of_size
            .map(|point| {
                let operator = point.cell.operator.expect("a reduction");
                (point.operators, operator.commutes(), point.rules.len())
            })
            .collect::<Vec<_>>()
    };
    use Operators::{Any, Commutative, Noncommutative};
    let apart = [(Commutative, true, 1), (Noncommutative, false, 1)];
    assert_eq!(found(Noncommutative, 4096), apart);
    assert_eq!(found(Noncommutative, 65536), apart);
    assert_eq!(found(Any, 4096), [(Any, true, 2)]);
    let apart_with_any = [(Any, true, 1), (Commutative, true, 1)];
    assert_eq!(found(Any, 65536), apart_with_any);
}

#[test]
fn sizes_of_reductions_are_whole_elements() {
    let mut table = table();
    let entries = table
        .collectives
        .remove(&schedule::Collective::Bcast)
        .expect("entries");
    table
        .collectives
        .insert(schedule::Collective::Allreduce, entries);
    let points = table_points(&table, Deployment::Library, ELEMENTS, true);
    let mut near: Vec<(u64, &str)> = points
        .iter()
        .filter(|point| point.kind != PointKind::Measured)
        .map(|point| (point.cell.bytes, point.chosen.id()))
        .collect();
    near.sort_unstable();
    assert_eq!(
        near,
        [(96, "default"), (104, "a"), (9992, "a"), (10000, "b")]
    );
}
