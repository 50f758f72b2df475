//! Probes: the sizes that are drawn between measured ones, and the results there.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use guard::{
    Baseline, CheckOptions, Judgement, LaunchMeasurer, Point, PointKind, Probing, Rivals,
    TableStore, add_probes, check_points, table_points, validate_points,
};
use model::Machine;
use simulated::SimulatedLauncher;
use table::{Deployment, Operators, Table};
use tempfile::TempDir;
use tuner::{MeasurementContext, SearchPaths, Silent, Tuned, tune_campaign};
use vocabulary::{Candidate, Cell, Datatype, Operator, Placement};

use crate::repair::circumstances;
use crate::script::table;
use crate::{CHECK, VALIDATE};

const ELEMENTS: (Datatype, Operator) = (Datatype::Float64, Operator::Sum);

fn drawn_from(table: &Table, seed: u64, number: Option<usize>) -> Vec<Point> {
    let mut points = Vec::new();
    let probing = Probing {
        seed,
        number,
        each_gap: false,
    };
    add_probes(&mut points, table, Deployment::Library, ELEMENTS, probing);
    points
}

fn sizes(points: &[Point]) -> Vec<u64> {
    points.iter().map(|point| point.cell.bytes).collect()
}

#[test]
fn probes_lie_between_measured_sizes_where_the_default_is_replaced() {
    let table = table();
    let measured = [64, 1 << 10, 4 << 10, 64 << 10, 1 << 20];
    for seed in 0..100 {
        let probes = drawn_from(&table, seed, None);
        assert_eq!(probes.len(), 4, "{probes:?}");
        for probe in &probes {
            let bytes = probe.cell.bytes;
            assert!((100..1 << 20).contains(&bytes) && !measured.contains(&bytes));
            let expected = if bytes < 10_000 { "a" } else { "b" };
            assert_eq!(probe.chosen.id(), expected, "{probe:?}");
            assert!(probe.is_probe() && probe.recorded.is_none());
        }
        assert_eq!(probes, drawn_from(&table, seed, None));
    }
    assert_ne!(drawn_from(&table, 1, None), drawn_from(&table, 2, None));
    assert!(drawn_from(&table, 1, Some(0)).is_empty());

    // Sizes that are points already are not drawn again.
    let mut all = table_points(&table, Deployment::Library, ELEMENTS, true);
    let known = all.len();
    let probing = Probing {
        seed: 5,
        number: Some(3000),
        each_gap: false,
    };
    add_probes(&mut all, &table, Deployment::Library, ELEMENTS, probing);
    let different: BTreeSet<u64> = sizes(&all).into_iter().collect();
    assert!(
        (known + 1500..known + 3000).contains(&all.len()),
        "{}",
        all.len()
    );
    assert_eq!(different.len(), all.len());

    let mut kept = table;
    let entries = kept.collectives.values_mut().flatten();
    entries.for_each(|entry| entry.rules.truncate(1));
    assert!(drawn_from(&kept, 1, None).is_empty());
}

#[test]
fn each_gap_of_a_rule_gets_a_probe_if_asked() {
    let mut points = Vec::new();
    for seed in 0..100 {
        let probing = Probing {
            seed,
            number: None,
            each_gap: true,
        };
        points.clear();
        add_probes(
            &mut points,
            &table(),
            Deployment::Library,
            ELEMENTS,
            probing,
        );
        let drawn = sizes(&points);
        let ends = [100, 1 << 10, 4 << 10, 10_000, 64 << 10, 1 << 20];
        assert_eq!(drawn.len(), 5, "{drawn:?}");
        for gap in ends.windows(2) {
            let inside = drawn.iter().filter(|size| (gap[0]..gap[1]).contains(*size));
            assert_eq!(inside.count(), 1, "{gap:?}: {drawn:?}");
        }
    }
}

#[test]
fn probes_are_denser_where_more_is_at_stake() {
    let table = table();
    let count = |low: u64, high: u64| {
        let seeds = 0..500;
        let all = seeds.flat_map(|seed| sizes(&drawn_from(&table, seed, Some(4))));
        all.filter(|bytes| (low..high).contains(bytes)).count() as f64
    };
    let counts = [count(1 << 10, 4 << 10), count(64 << 10, 1 << 20)];
    // Octaves, each weighted by one plus the doublings of speed expected in its middle.
    let weight = |octaves: f64, speedup: f64| octaves * (1.0 + speedup.log2());
    let expected = weight(4.0, f64::sqrt(3.0 * 2.0)) / weight(2.0, f64::sqrt(1.5 * 1.6));
    let ratio = counts[1] / counts[0] / expected;
    assert!((0.9..1.1).contains(&ratio), "{counts:?}, not {expected}");
    // Each half of these octaves has the same number.
    let halves_ratio = count(64 << 10, 256 << 10) / count(256 << 10, 1 << 20);
    assert!((0.9..1.1).contains(&halves_ratio), "{halves_ratio}");
}

#[test]
fn every_entry_for_a_shape_is_probed_at_a_size() {
    let mut table = table();
    let entries = table.collectives.remove(&schedule::Collective::Bcast);
    let entry = entries.expect("entries").remove(0);
    let with = |operators, rules: usize| table::ShapeRules {
        operators,
        rules: entry.rules[..rules].to_vec(),
        ..entry.clone()
    };
    let both = vec![
        with(Operators::Commutative, 3),
        with(Operators::Noncommutative, 2),
    ];
    table
        .collectives
        .insert(schedule::Collective::Allreduce, both);
    for seed in 0..20 {
        let probes = drawn_from(&table, seed, Some(6));
        assert!(sizes(&probes).iter().all(|bytes| bytes % 8 == 0));
        for probe in &probes {
            let here = probes
                .iter()
                .filter(|other| other.cell.bytes == probe.cell.bytes);
            let operators: Vec<Operators> = here.map(|other| other.operators).collect();
            assert_eq!(
                operators,
                [Operators::Commutative, Operators::Noncommutative]
            );
            let commutes = probe.operators == Operators::Commutative;
            assert_eq!(probe.cell.commutes(), commutes);
        }
    }
}

/// Its default broadcasts on 8 nodes by a binomial tree below 12 KiB, then by a scatter with an allgather, and
/// from 512 KiB on by one with a ring.
const MACHINE: &str = "name: desk\nranks_per_node: 2\n\
    network: {alpha: 2e-6, overhead: 0.4e-6, beta: 0.1e-9, eager_limit: 8192}\n\
    node: {alpha: 0.4e-6, overhead: 0.2e-6, beta: 0.1e-9, eager_limit: 4096}\n\
    injection_beta: 0.05e-9\ngamma: 0.12e-9\ncopy: 0.06e-9\n\
    noise: {jitter: 0.05, spike_probability: 0.01, spike_factor: 4}\n";

/// The machine, with a default that is poor at the measured sizes and good in between.
fn machine() -> SimulatedLauncher {
    let machine = Machine::from_yaml(MACHINE).expect("a machine");
    let launcher = SimulatedLauncher::new(machine, Placement::Block).expect("rules");
    let slow = launcher.with_slowed_algorithm("bcast/binomial", 2.0);
    slow.with_slowed_algorithm("bcast/scatter_allgather_ring", 2.0)
}

fn workplace(folder: &TempDir, further: &str) -> MeasurementContext {
    let path_to = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path_to("machine.yaml"), MACHINE).expect("written");
    let text = format!(
        "name: desk\nlauncher: {{simulated: {{machine: '{}', seed: 3}}}}\nshapes: 8x1\n\
         collectives: bcast\nsizes: [4K, 1M]\nstrategy: exhaustive\n\
         candidates: {{include: [bcast/binary_pipelined, bcast/linear]}}\n\
         parameters: {{block_bytes: 64K, predicted: false}}\nrepetitions: {{slice: 20ms}}\n\
         budget: 10h\noutput: {{store: '{}', table: '{}', report: '{}'}}\n{further}",
        path_to("machine.yaml"),
        path_to("desk.db"),
        path_to("desk.yaml"),
        path_to("desk.md"),
    );
    std::fs::write(path_to("campaign.yaml"), text).expect("written");
    let path = folder.path().join("campaign.yaml");
    let mut at = MeasurementContext::from_campaign_file(&path, None, &SearchPaths::default())
        .expect("ready");
    at.launcher = Box::new(machine());
    at
}

fn tuned(at: &MeasurementContext) -> Tuned {
    tune_campaign(at, &mut Silent, &AtomicBool::new(false)).expect("tuned")
}

/// A table from a context's measurements, without fresh launches, which chooses the best candidate of the largest size
/// everywhere.
fn spread(at: &MeasurementContext) -> Table {
    let mut table = tuned(at).table;
    let entries = table.collectives.values_mut().flatten();
    for entry in entries {
        entry.rules.drain(..entry.rules.len() - 1);
        entry.rules[0].from_bytes = 0;
        assert_ne!(entry.rules[0].candidate, Candidate::Default);
    }
    table
}

/// Measures with `measure` into a new store.
fn apart<T>(at: &mut MeasurementContext, measure: impl FnOnce(&mut LaunchMeasurer<'_>) -> T) -> T {
    let folder = TempDir::new().expect("a folder");
    at.campaign.output.store = folder.path().join("measured.db");
    let (mut silent, stop) = (Silent, AtomicBool::new(false));
    measure(&mut LaunchMeasurer::new(at, &mut silent, &stop))
}

/// The points at which the table replaces the default, with this number of probes.
fn looked_at(table: &Table, number: usize, seed: u64) -> Vec<Point> {
    let mut all = table_points(table, Deployment::Colltune, ELEMENTS, true);
    let probing = Probing {
        seed,
        number: Some(number),
        each_gap: false,
    };
    add_probes(&mut all, table, Deployment::Colltune, ELEMENTS, probing);
    all.retain(|point| !point.keeps_default());
    all
}

#[test]
fn only_probes_find_a_default_that_switches_between_measured_sizes() {
    let folder = TempDir::new().expect("a folder");
    let mut at = workplace(&folder, "confirmation: off\n");
    let mut table = spread(&at);
    let mut judge = |points: &[Point]| {
        apart(&mut at, |launches| {
            validate_points(points, launches, &VALIDATE)
        })
        .expect("validated")
    };
    let without = judge(&looked_at(&table, 0, 0));
    assert!(
        without.is_never_wrong() && !without.points.is_empty(),
        "{without:#?}"
    );

    let probed = looked_at(&table, 4, 1);
    let validated = judge(&probed);
    let machine = machine();
    let is_slower = |cell: &Cell, chosen: &Candidate| {
        let seconds = |candidate| machine.noise_free_seconds(cell, candidate).expect("a time");
        seconds(chosen) > seconds(&Candidate::Default)
    };
    assert!(validated.count_judged("slower") >= 2, "{validated:?}");
    for found in &validated.points {
        let Point { cell, chosen, .. } = &found.point;
        let is_found = found.judgement == Judgement::Slower;
        assert_eq!(is_found, is_slower(cell, chosen), "{found:?}");
        assert!(!is_found || found.point.kind == PointKind::Probe);
    }

    // The default replaces the rule up to the next sizes at which nothing is wrong.
    let changes =
        table.turn_back(&circumstances(Deployment::Colltune).verdicts_about(&validated.points));
    let [change] = &changes[..] else {
        panic!("{changes:?}");
    };
    let found = |is_found: bool| {
        let of = validated
            .points
            .iter()
            .filter(move |p| p.is_wrong() == is_found);
        of.map(|p| p.point.cell.bytes)
    };
    let (low, high) = (found(true).min(), found(true).max());
    let before = found(false).filter(|size| Some(*size) < low).max();
    let after = found(false).filter(|size| Some(*size) > high).min();
    assert_eq!(before, change.sizes.start.checked_sub(1));
    assert_eq!(after, Some(change.sizes.end));
    // Whatever is drawn afterwards, no candidate is much slower.
    for seed in 2..5 {
        let again = judge(&looked_at(&table, 4, seed));
        let worst = again.speedup_summary().expect("measured").worst;
        assert!(again.is_never_wrong() || worst > 0.8, "{again:?}");
    }
}

#[test]
fn a_check_finds_choices_slower_than_the_default_at_probes() {
    let folder = TempDir::new().expect("a folder");
    let mut at = workplace(&folder, "confirmation: off\n");
    let table = spread(&at);
    let store = TableStore::Found(folder.path().join("desk.db"));
    let mut checked = |number| {
        let points = looked_at(&table, number, 1);
        let rivals = Rivals::find_in_store(&table, &store, Deployment::Colltune, &points);
        let rivals = rivals.expect("a store");
        apart(&mut at, |launches| {
            check_points(&points, &rivals, launches, &CHECK)
        })
        .expect("checked")
    };
    let without = checked(0);
    assert_eq!(without.still_holds(), Some(true), "{without:#?}");
    let probed = checked(8);
    let wrong: Vec<_> = probed.points.iter().filter(|p| p.is_regression()).collect();
    assert!(wrong.len() >= 2, "{probed:?}");
    for point in wrong {
        assert!(point.point.is_probe() && point.runner_up.is_none());
        let confirmed: Vec<Baseline> = point
            .confirmed_findings()
            .map(|finding| finding.against)
            .collect();
        assert_eq!(confirmed, [Baseline::Default]);
    }
}

#[test]
fn candidates_not_confirmed_in_time_are_no_runners_up() {
    let whole = TempDir::new().expect("a folder");
    let cost = tuned(&workplace(&whole, "launches: 1\n"))
        .analysis
        .found
        .cost;
    let folder = TempDir::new().expect("a folder");
    let mut at = workplace(&folder, "launches: 1\n");
    // 0.6 of it suffices for exploring, and the rest not for confirming.
    at.campaign.budget_seconds = (cost.seconds - cost.confirming_seconds) / 0.59;
    let table = tuned(&at).table;
    let points = table_points(&table, Deployment::Colltune, ELEMENTS, true);
    assert!(!points.is_empty() && points.iter().all(Point::keeps_default));
    let store = TableStore::Found(folder.path().join("desk.db"));
    let rivals = Rivals::find_in_store(&table, &store, Deployment::Colltune, &points);
    let rivals = rivals.expect("a store");
    assert!(rivals.unknown_because.is_none());
    at.campaign.budget_seconds = 36_000.0;
    let options = CheckOptions {
        tolerance: 9.0,
        ..CHECK
    };
    let checked = apart(&mut at, |launches| {
        check_points(&points, &rivals, launches, &options)
    });
    let checked = checked.expect("checked");
    assert_eq!(checked.still_holds(), Some(true), "{checked:?}");
}
