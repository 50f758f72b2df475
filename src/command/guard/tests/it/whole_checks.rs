//! Checks of whole tables, from the points to the outcome, on a simulated machine.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use guard::{
    CheckOutcome, CheckRequest, Circumstances, GuardError, Judgement, PointState, Probing,
    TestSetupOptions, TestWarning, ValidatedPoint, check_table, keep_verdicts, table_points,
};
use table::{Deployment, Table};
use tuner::SearchPaths;

use crate::CHECK;
use crate::listener::{Listener, ListenerError, find_sources, slow_broadcast, spoil};
use crate::simulation::{Tuned, tuned};

/// A check of five points and two probes.
fn request() -> CheckRequest {
    CheckRequest {
        deployment: Deployment::Colltune,
        cells: 5,
        probing: Probing {
            seed: 7,
            number: Some(2),
            each_gap: false,
        },
        materiality: None,
        tolerance: CHECK.tolerance,
        setup: TestSetupOptions {
            any_version: false,
            budget_seconds: None,
            launches: CHECK.launches,
        },
    }
}

/// Checks a table with the campaign and the store in a folder, in which no temporary folder may stay.
fn check(
    folder: &Path,
    table: &Table,
    request: &CheckRequest,
    listener: &mut Listener,
) -> Result<CheckOutcome, ListenerError> {
    let sources = find_sources(folder, table);
    let places = SearchPaths::default();
    let outcome = check_table(table.clone(), sources, request, &places, listener);
    let names = fs::read_dir(folder).expect("a folder");
    let names = names.map(|entry| entry.expect("an entry").file_name());
    let left: Vec<_> = names
        .filter(|name| name.to_string_lossy().starts_with("table-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    outcome
}

#[test]
fn a_table_that_holds_is_checked_in_one_call() {
    let Tuned { folder, table } = tuned();
    let mut listener = Listener::default();
    let outcome = check(folder.path(), &table, &request(), &mut listener).expect("checked");
    let CheckOutcome {
        library,
        rivals_unknown,
        checked,
        took,
    } = outcome;
    assert_eq!(checked.still_holds(), Some(true), "{checked:#?}");
    assert_eq!((library, rivals_unknown), (table.provenance.library, None));
    assert!(took > Duration::ZERO);
    let probes = checked.points.iter().filter(|p| p.point.is_probe());
    assert_eq!((checked.points.len(), probes.count()), (7, 2));
    assert!(checked.points.iter().any(|p| p.runner_up.is_some()));
    assert_eq!(checked.count_points_in(PointState::Holds), 7);
    assert_eq!(checked.count_decided(), 7);
    // The machine is simulated, as the table says, which is no news.
    assert!(listener.warnings.is_empty(), "{:?}", listener.warnings);
    assert_eq!(listener.watched, 1);
}

#[test]
fn a_slow_rule_is_found_unless_a_verdict_in_the_store_refutes_it() {
    let Tuned { folder, mut table } = tuned();
    let shape = spoil(&mut table);
    let checked = |asked: &CheckRequest| {
        let outcome = check(folder.path(), &table, asked, &mut Listener::default());
        outcome.expect("checked").checked
    };
    let found = checked(&request());
    assert_eq!(found.still_holds(), Some(false), "{found:#?}");
    let wrong = found.points.iter().filter(|p| p.is_regression());
    let wrong: Vec<_> = wrong.map(|p| &p.point).collect();
    assert_eq!(found.count_points_in(PointState::Regression), wrong.len());
    for point in &wrong {
        assert_eq!(
            (point.cell.shape, &point.chosen),
            (shape, &slow_broadcast())
        );
    }
    // Nothing is a regression that is tolerated.
    let tolerant = CheckRequest {
        materiality: Some(99.0),
        tolerance: 99.0,
        ..request()
    };
    assert_eq!(checked(&tolerant).still_holds(), Some(true));

    let sources = find_sources(folder.path(), &table);
    let campaign = &sources.campaign;
    let elements = (campaign.datatype, campaign.commuting_operator());
    let all = table_points(&table, Deployment::Colltune, elements, true);
    let slower = all
        .into_iter()
        .filter(|point| point.chosen == slow_broadcast());
    let slower = slower.map(|point| ValidatedPoint {
        point,
        speedup: None,
        seconds: None,
        default_seconds: None,
        judgement: Judgement::Slower,
    });
    let circumstances = Circumstances {
        library: table.provenance.library.clone(),
        conditions: campaign.conditions_digest(),
        pattern: campaign.pattern,
        deployment: Deployment::Colltune,
        seed: 7,
        unix_seconds: 4_000_000_000,
    };
    let verdicts = circumstances.verdicts_about(&slower.collect::<Vec<_>>());
    let kept = keep_verdicts(&verdicts, &table, &sources.store).expect("kept");
    assert_eq!(kept.as_deref(), sources.store.path());
    let judged = checked(&request());
    assert_eq!(judged.still_holds(), Some(true), "{judged:#?}");
    let mut points = judged.points.iter().map(|p| &p.point);
    assert!(!points.any(|point| point.chosen == slow_broadcast()));
}

#[test]
fn another_version_of_the_library_is_measured_only_on_request() {
    let Tuned { folder, mut table } = tuned();
    table.provenance.library.version = "other".to_owned();
    let mut listener = Listener::default();
    let refused = check(folder.path(), &table, &request(), &mut listener);
    assert!(
        matches!(
            refused,
            Err(ListenerError::Guard(GuardError::OtherLibrary { .. }))
        ),
        "{refused:?}"
    );
    assert_eq!((listener.warnings.len(), listener.watched), (0, 0));

    let mut lenient = request();
    lenient.setup.any_version = true;
    let outcome = check(folder.path(), &table, &lenient, &mut listener).expect("checked");
    assert_ne!(outcome.library, table.provenance.library);
    let why = outcome.rivals_unknown.expect("a reason");
    assert!(why.contains("has no measurements of"), "{why}");
    match &listener.warnings[..] {
        [TestWarning::OtherLibrary(library)] => assert_eq!(*library, table.provenance.library),
        others => panic!("{others:?}"),
    }
}

#[test]
fn nothing_is_launched_without_points_or_a_watch_or_after_a_stop() {
    let Tuned { folder, mut table } = tuned();
    let ended = |checked: &Table, listener: &mut Listener| {
        check(folder.path(), checked, &request(), listener).expect_err("no outcome")
    };
    let mut refusing = Listener {
        refuses: true,
        ..Listener::default()
    };
    let refused = ended(&table, &mut refusing);
    assert!(matches!(refused, ListenerError::Refused), "{refused:?}");

    let mut stopping = Listener::default();
    stopping.stop.store(true, Ordering::Relaxed);
    let interrupted = ended(&table, &mut stopping);
    assert!(
        matches!(interrupted, ListenerError::Guard(GuardError::Interrupted)),
        "{interrupted:?}"
    );

    table.collectives.clear();
    let mut idle = Listener::default();
    let empty = ended(&table, &mut idle);
    assert!(
        matches!(
            empty,
            ListenerError::Guard(GuardError::NothingToMeasure { .. })
        ),
        "{empty:?}"
    );
    assert_eq!(idle.watched, 0);
}
