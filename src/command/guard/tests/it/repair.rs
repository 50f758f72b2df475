//! The effect of repairing on a table.

use guard::{Circumstances, Judgement, NoTimes, PointKind, ValidatedPoint, table_points};
use table::{Deployment, Table};
use vocabulary::{Datatype, Library, Operator, Pattern};

use crate::script::{self, table};

pub(crate) fn circumstances(deployment: Deployment) -> Circumstances {
    Circumstances {
        library: Library {
            name: "openmpi".to_owned(),
            version: "4.1.4".to_owned(),
        },
        conditions: "abc".to_owned(),
        pattern: Pattern::Together,
        deployment,
        seed: 7,
        unix_seconds: 1_790_000_000,
    }
}

/// The table after these sizes were found slower, and the changes.
fn repaired(wrong: &[u64]) -> (Table, Vec<String>) {
    repaired_with(wrong, &[])
}

/// The same with probes and their judgements.
fn repaired_with(wrong: &[u64], probes: &[(u64, Judgement)]) -> (Table, Vec<String>) {
    let mut table = table();
    let elements = (Datatype::Float64, Operator::Sum);
    let points = table_points(&table, Deployment::Library, elements, true).into_iter();
    let validated = points
        .filter(|point| !point.keeps_default())
        .map(|point| ValidatedPoint {
            judgement: if wrong.contains(&point.cell.bytes) {
                Judgement::Slower
            } else {
                Judgement::Faster
            },
            point,
            speedup: None,
            seconds: None,
            default_seconds: None,
        });
    let mut validated: Vec<ValidatedPoint> = validated.collect();
    for (bytes, judgement) in probes {
        let mut probe = validated
            .iter()
            .find(|p| p.point.cell.bytes == 4096)
            .expect("a point")
            .clone();
        probe.point.cell.bytes = *bytes;
        probe.point.kind = PointKind::Probe;
        probe.judgement = judgement.clone();
        validated.push(probe);
    }
    let changes = table.turn_back(&circumstances(Deployment::Library).verdicts_about(&validated));
    // The written table can be read.
    let text = table.to_yaml();
    let same = Table::parse(&text, "repaired.yaml".as_ref()).expect("a table");
    assert_eq!(same, table);
    (table, changes.iter().map(ToString::to_string).collect())
}

fn rules(table: &Table) -> Vec<(u64, String)> {
    let entry = &table.collectives[&schedule::Collective::Bcast][0];
    let rules = entry.rules.iter();
    rules
        .map(|rule| (rule.from_bytes, rule.candidate.id().to_owned()))
        .collect()
}

#[test]
fn the_surroundings_of_a_wrong_size_are_the_defaults() {
    let check = |wrong: &[u64], expected: &[(u64, &str)]| {
        let (table, changes) = repaired(wrong);
        let rules = rules(&table);
        let rules: Vec<(u64, &str)> = rules
            .iter()
            .map(|(from, id)| (*from, id.as_str()))
            .collect();
        assert_eq!(rules, expected, "{wrong:?}: {changes:?}");
    };
    let unchanged = [(0, "default"), (100, "a"), (10000, "b")];
    check(&[], &unchanged);
    // Up to 1K and to 9999, where nothing is wrong.
    check(
        &[4096],
        &[
            (0, "default"),
            (100, "a"),
            (1025, "default"),
            (9999, "a"),
            (10000, "b"),
        ],
    );
    // Neighbouring ranges are merged.
    check(
        &[1024, 4096],
        &[
            (0, "default"),
            (100, "a"),
            (101, "default"),
            (9999, "a"),
            (10000, "b"),
        ],
    );
    // From the rule's threshold to the next one.
    check(&[100], &[(0, "default"), (1024, "a"), (10000, "b")]);
    // All sizes at which a rule was measured.
    check(
        &[10000, 65536, 1 << 20],
        &[(0, "default"), (100, "a"), (10000, "default")],
    );
    check(
        &[1 << 20],
        &[(0, "default"), (100, "a"), (10000, "b"), (65537, "default")],
    );
}

#[test]
fn changes_are_reported_and_recorded_in_the_table() {
    let (table, changes) = repaired(&[4096]);
    assert_eq!(
        changes,
        [
            "bcast, 1x4, any deployment, from 100 bytes: native:bcast/a is not chosen from 1025 to 9998 bytes"
        ]
    );
    let warning = table.provenance.warnings.last().expect("a warning");
    assert!(warning.contains(&changes[0]), "{warning}");
    let entry = &table.collectives[&schedule::Collective::Bcast][0];
    let point = entry
        .measured
        .iter()
        .find(|point| point.bytes == 4096)
        .expect("measured");
    assert_eq!(point.seconds, point.default_seconds);
    let (unchanged_table, no_changes) = repaired(&[]);
    assert!(no_changes.is_empty() && unchanged_table.provenance.warnings.is_empty());
}

#[test]
fn a_wrong_probe_turns_back_the_sizes_up_to_good_ones() {
    use Judgement::{NotMeasured, Same, Slower, TooFew, Undecided};
    let check = |probes: &[(u64, Judgement)], sizes: &str| {
        let (table, changes) = repaired_with(&[], probes);
        let [change] = &changes[..] else {
            panic!("{changes:?}");
        };
        assert!(change.ends_with(sizes), "{change}");
        // The measured sizes and times stay in the table.
        assert_eq!(
            table.entries().next().expect("one").measured,
            script::table().entries().next().expect("one").measured
        );
    };
    // Up to the measured sizes around.
    check(&[(2000, Slower)], "from 1025 to 4095 bytes");
    check(&[(2000, Slower), (3000, Slower)], "from 1025 to 4095 bytes");
    check(&[(2000, Slower), (3000, Same)], "from 1025 to 2999 bytes");
    check(
        &[
            (2000, Slower),
            (3000, Undecided),
            (1500, NotMeasured(NoTimes::OutOfTime)),
        ],
        "from 1025 to 4095 bytes",
    );
    check(&[(2000, Slower), (3000, TooFew)], "from 1025 to 4095 bytes");
}
