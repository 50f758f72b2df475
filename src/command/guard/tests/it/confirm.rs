//! The rules of a table that validating confirms.

use guard::{
    Judgement, Point, Probing, ValidateOptions, add_probes, confirm_rules, count_unconfirmed_rules,
    table_points, validate_points,
};
use table::{Confidence, Deployment, Table};
use vocabulary::{Candidate, Cell, Datatype, Operator};

use crate::VALIDATE;
use crate::script::{Script, Take, table};

const ELEMENTS: (Datatype, Operator) = (Datatype::Float64, Operator::Sum);

/// All points of the table with a probe in each gap.
fn all(table: &Table) -> Vec<Point> {
    let mut all = table_points(table, Deployment::Library, ELEMENTS, true);
    let probing = Probing {
        seed: 7,
        number: None,
        each_gap: true,
    };
    add_probes(&mut all, table, Deployment::Library, ELEMENTS, probing);
    assert_eq!(all.iter().filter(|point| point.is_probe()).count(), 5);
    all
}

/// The table after `launches` launches, and the confirmed rules. The table's choice at a point took `seconds`, the
/// default 1. Only the points that `asked` selects were measured.
fn confirmed_with(
    launches: u32,
    seconds: impl Fn(&Point, u32) -> f64,
    asked: impl Fn(&Point) -> bool,
) -> (Table, Vec<String>) {
    let mut table = table();
    let all = all(&table);
    let mut script = Script::new(|cell: &Cell, candidate: &Candidate, launch| {
        let point = all
            .iter()
            .find(|point| point.cell == *cell && point.chosen == *candidate);
        Take::Seconds(match (candidate, point) {
            (Candidate::Default, _) => 1.0,
            (_, Some(point)) => seconds(point, launch),
            (_, None) => panic!("{candidate} was not asked for at {} bytes", cell.bytes),
        })
    });
    let measured: Vec<Point> = all
        .iter()
        .filter(|point| !point.keeps_default() && asked(point))
        .cloned()
        .collect();
    let options = ValidateOptions {
        launches,
        ..VALIDATE
    };
    let validated = validate_points(&measured, &mut script, &options).expect("validated");
    let parts = confirm_rules(
        &mut table,
        Deployment::Library,
        &all,
        &validated.points,
        0.05,
    );
    let same = Table::parse(&table.to_yaml(), "confirmed.yaml".as_ref()).expect("a table");
    assert_eq!(same, table);
    (table, parts.iter().map(ToString::to_string).collect())
}

fn confirmed(seconds: impl Fn(&Point, u32) -> f64) -> (Table, Vec<String>) {
    confirmed_with(6, seconds, |_| true)
}

/// The first sizes of the confirmed rules.
fn stars(table: &Table) -> Vec<u64> {
    let rules = table.entries().flat_map(|entry| &entry.rules);
    let confirmed = rules.filter(|rule| rule.confirmed);
    confirmed.map(|rule| rule.from_bytes).collect()
}

#[test]
fn rules_faster_at_all_points_are_confirmed_up_to_the_largest_measured_size() {
    let (table, parts) = confirmed(|point, _| if point.chosen.id() == "a" { 0.5 } else { 0.8 });
    let entry = table.entries().next().expect("an entry");
    let rules: Vec<_> = entry
        .rules
        .iter()
        .map(|rule| (rule.from_bytes, rule.candidate.id(), rule.confirmed))
        .collect();
    assert_eq!(
        rules,
        [
            (0, "default", false),
            (100, "a", true),
            (10000, "b", true),
            ((1 << 20) + 1, "b", false)
        ]
    );
    // The speed-ups and the confidence are those of these launches, not those of the table.
    assert_eq!(entry.rules[1].speedup, Some(2.0));
    assert_eq!(entry.rules[2].speedup, Some(1.25));
    assert_eq!(entry.rules[2].confidence, Confidence::Medium);
    // Rules beyond are unchanged.
    assert_eq!(entry.rules[3].speedup, Some(3.0));
    assert!(
        parts[1].contains("native:bcast/b from 10000 to 1048576 bytes, 1.25 times as fast"),
        "{parts:?}"
    );
    assert_eq!(count_unconfirmed_rules(&table, Deployment::Library), 1);
}

#[test]
fn one_point_that_is_not_faster_leaves_its_rule_unconfirmed() {
    let good = |point: &Point| if point.chosen.id() == "a" { 0.5 } else { 0.8 };
    let all = all(&table());
    let of_a = all.iter().filter(|point| point.chosen.id() == "a");
    let mut places = 0;
    for bad in of_a {
        places += 1;
        let one_slow = |point: &Point, launch| {
            if point.cell.bytes == bad.cell.bytes && launch == 3 {
                1.01
            } else {
                good(point)
            }
        };
        assert_eq!(stars(&confirmed(one_slow).0), [10000], "{bad:?}");
        // A rule with a point that was not measured stays unconfirmed too.
        let is_asked = |point: &Point| point.cell.bytes != bad.cell.bytes;
        let (table, _) = confirmed_with(6, |point, _| good(point), is_asked);
        assert_eq!(stars(&table), [10000], "{bad:?}");
    }
    // Two measured sizes, one side of each threshold, and a probe at least.
    assert!(places >= 5, "{all:?}");
}

#[test]
fn a_gain_that_is_not_material_confirms_nothing() {
    let (table, _) = confirmed(|point, _| if point.chosen.id() == "a" { 0.96 } else { 0.95 });
    assert_eq!(stars(&table), [10000]);
}

#[test]
fn a_rule_with_a_gap_that_was_not_probed_stays_unconfirmed() {
    let mut bare = table();
    let mut all = all(&bare);
    all.retain(|point| point.cell.bytes < 64 << 10 || !point.is_probe());
    let mut script = Script::new(|_: &Cell, candidate: &Candidate, _| {
        Take::Seconds(if *candidate == Candidate::Default {
            1.0
        } else {
            0.5
        })
    });
    let measured: Vec<Point> = all.iter().filter(|p| !p.keeps_default()).cloned().collect();
    let validated = validate_points(&measured, &mut script, &VALIDATE).expect("validated");
    confirm_rules(
        &mut bare,
        Deployment::Library,
        &all,
        &validated.points,
        0.05,
    );
    assert_eq!(stars(&bare), [100]);
}

#[test]
fn fewer_launches_than_a_sign_test_needs_confirm_nothing() {
    let (table, parts) = confirmed_with(5, |_, _| 0.1, |_| true);
    assert!(stars(&table).is_empty() && parts.is_empty(), "{parts:?}");
    assert_eq!(table, crate::script::table());
    let (confirmed_table, _) = confirmed_with(6, |_, _| 0.1, |_| true);
    assert_eq!(stars(&confirmed_table), [100, 10000]);
}

#[test]
fn a_table_without_measured_sizes_is_not_confirmed() {
    let mut bare = table();
    let all = all(&bare);
    let entries = bare.collectives.values_mut().flatten();
    entries.for_each(|entry| entry.measured.clear());
    let mut script = Script::new(|_: &Cell, candidate: &Candidate, _| {
        Take::Seconds(if *candidate == Candidate::Default {
            1.0
        } else {
            0.1
        })
    });
    let validated = validate_points(&all, &mut script, &VALIDATE).expect("validated");
    assert!(
        validated
            .points
            .iter()
            .any(|point| point.judgement == Judgement::Faster)
    );
    let without: Vec<Point> = table_points(&bare, Deployment::Library, ELEMENTS, true);
    assert!(
        confirm_rules(
            &mut bare,
            Deployment::Library,
            &without,
            &validated.points,
            0.05
        )
        .is_empty()
    );
}
