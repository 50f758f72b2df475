//! Validations of whole tables, from the points to the changed file, on a simulated machine.

use std::fs;
use std::path::{Path, PathBuf};

use guard::{
    GuardError, Point, Probing, TableFile, TableUse, TestSetupOptions, TestWarning,
    ValidateOutcome, ValidateRequest, validate_table,
};
use store::Store;
use table::{Deployment, OperatorClass, Query, Table, TableError};
use tuner::{SearchPaths, TunerError};
use vocabulary::Candidate;

use crate::VALIDATE;
use crate::listener::{Listener, ListenerError, find_sources, slow_broadcast, spoil};
use crate::simulation::{Tuned, tuned};

/// A folder with a table that is wrong for long broadcasts on one shape.
struct Spoilt {
    folder: tempfile::TempDir,
    table: Table,
    path: PathBuf,
}

fn spoilt() -> Spoilt {
    let Tuned { folder, mut table } = tuned();
    spoil(&mut table);
    let path = folder.path().join("spoilt.yaml");
    table.save(&path).expect("written");
    Spoilt {
        table: Table::load(&path).expect("a table"),
        folder,
        path,
    }
}

impl Spoilt {
    /// A validation of six points and two probes.
    fn request(&self, file: TableFile) -> ValidateRequest {
        ValidateRequest {
            path: self.path.clone(),
            table_use: TableUse::Colltune,
            cells: Some(6),
            probing: Probing {
                seed: 7,
                number: Some(2),
                each_gap: false,
            },
            // Thresholds between the four measured sizes are a little off.
            materiality: 0.1,
            file,
            setup: TestSetupOptions {
                any_version: false,
                budget_seconds: None,
                launches: VALIDATE.launches,
            },
        }
    }

    fn validate(
        &self,
        request: &ValidateRequest,
        listener: &mut Listener,
    ) -> Result<ValidateOutcome, ListenerError> {
        let sources = find_sources(self.folder.path(), &self.table);
        let places = SearchPaths::default();
        validate_table(self.table.clone(), sources, request, &places, listener)
    }

    fn store_path(&self) -> PathBuf {
        self.folder.path().join("guarded.db")
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).expect("a table")
    }
}

const fn updated(repair: bool, confirm: bool) -> TableFile {
    TableFile::Updated { repair, confirm }
}

/// The choice in a file at a point, whether it is in force or not.
fn choice_in_file(path: &Path, point: &Point) -> Candidate {
    choice_in_table(&Table::load(path).expect("a table"), point)
}

/// The choice in a file that is in force at a point.
fn choice_in_force(path: &Path, point: &Point) -> Candidate {
    let mut table = Table::load(path).expect("a table");
    table.turn_back_refuted();
    choice_in_table(&table, point)
}

fn choice_in_table(table: &Table, point: &Point) -> Candidate {
    let decision = table.lookup(&Query {
        collective: point.cell.collective,
        shape: point.cell.shape,
        order: point.order,
        bytes: point.cell.bytes,
        operators: OperatorClass::Commutative,
        deployment: Deployment::Colltune,
    });
    decision.candidate.clone()
}

#[test]
fn what_is_slower_is_refuted_in_the_file_or_in_the_store_alone_and_repaired_on_request() {
    let spoilt = spoilt();
    let before = spoilt.text();
    let validate = |file| {
        let mut listener = Listener::default();
        let outcome = spoilt.validate(&spoilt.request(file), &mut listener);
        assert!(listener.warnings.is_empty(), "{:?}", listener.warnings);
        assert_eq!(listener.watched, 1);
        outcome.expect("validated")
    };

    // Only the store learns of it.
    let outcome = validate(TableFile::Kept);
    assert_eq!(outcome.library, spoilt.table.provenance.library);
    let found = &outcome.validated;
    assert!(!found.is_never_wrong(), "{found:#?}");
    let wrong_points: Vec<_> = found.points.iter().filter(|p| p.is_wrong()).collect();
    for wrong in &wrong_points {
        assert_eq!(wrong.point.chosen, slow_broadcast(), "{wrong:#?}");
    }
    assert_eq!((outcome.changes.kept, outcome.changes.kept_in_table), {
        (Some(spoilt.store_path()), false)
    });
    assert_eq!(spoilt.text(), before);
    let stored = Store::open(&spoilt.store_path()).expect("a store");
    let verdicts = stored.verdicts(&outcome.library).expect("verdicts");
    let wrong_verdicts = verdicts.iter().filter(|verdict| verdict.is_wrong());
    assert_eq!(wrong_verdicts.count(), wrong_points.len());

    // The table learns of it too, and keeps its rules.
    let changes = validate(updated(false, false)).changes;
    assert!(changes.kept_in_table && changes.refuted > 0, "{changes:?}");
    assert_eq!(changes.kept, Some(spoilt.store_path()));
    assert!(changes.repaired.is_empty() && changes.confirmed.is_empty());
    for wrong in &wrong_points {
        let path = &spoilt.path;
        assert_eq!(choice_in_file(path, &wrong.point), slow_broadcast());
        assert_eq!(choice_in_force(path, &wrong.point), Candidate::Default);
    }

    // The rules there are gone, and no others.
    let repaired = validate(updated(true, false)).changes.repaired;
    assert!(!repaired.is_empty());
    for wrong in &wrong_points {
        let choice = choice_in_file(&spoilt.path, &wrong.point);
        assert_eq!(choice, Candidate::Default);
    }
    let good_points = found.points.iter().filter(|p| !p.is_wrong());
    for good in good_points {
        let choice = choice_in_file(&spoilt.path, &good.point);
        assert_eq!(choice, good.point.chosen);
    }
}

#[test]
fn a_table_that_was_replaced_meanwhile_is_not_written() {
    let spoilt = spoilt();
    let mut other = spoilt.table.clone();
    other
        .collectives
        .remove(&schedule::Collective::Allreduce)
        .expect("reductions");
    other.save(&spoilt.path).expect("written");
    let before = spoilt.text();

    let mut listener = Listener::default();
    let outcome = spoilt.validate(&spoilt.request(updated(false, false)), &mut listener);
    let changes = outcome.expect("validated").changes;
    assert_eq!((changes.kept, changes.kept_in_table), {
        (Some(spoilt.store_path()), false)
    });
    match &listener.warnings[..] {
        [TestWarning::ChangedTable(TableError::Changed { path })] => assert_eq!(*path, spoilt.path),
        warnings => panic!("{warnings:?}"),
    }

    let refused = spoilt.validate(
        &spoilt.request(updated(true, false)),
        &mut Listener::default(),
    );
    let Err(ListenerError::Guard(GuardError::Tuner(error))) = refused else {
        panic!("{refused:?}");
    };
    assert!(
        matches!(*error, TunerError::Table(TableError::Changed { .. })),
        "{error:?}"
    );
    assert_eq!(spoilt.text(), before);
}

#[test]
fn nothing_is_launched_without_points_or_the_probes_that_confirming_needs() {
    let mut spoilt = spoilt();
    let error_of = |tried: &Spoilt, request: &ValidateRequest| {
        let mut listener = Listener::default();
        let outcome = tried.validate(request, &mut listener);
        assert_eq!(listener.watched, 0);
        match outcome {
            Err(ListenerError::Guard(error)) => error,
            other => panic!("{other:?}"),
        }
    };
    let mut without_probes = spoilt.request(updated(false, true));
    without_probes.probing.number = Some(0);
    let refused = error_of(&spoilt, &without_probes);
    assert!(matches!(refused, GuardError::NoProbes), "{refused:?}");

    // A simulated machine has no settings of a library.
    let mut of_library = spoilt.request(TableFile::Kept);
    of_library.table_use = TableUse::LibraryExport {
        assume_commutative: false,
    };
    let unruled = error_of(&spoilt, &of_library);
    assert!(
        matches!(unruled, GuardError::NothingToMeasure { deployment } if deployment == "library"),
        "{unruled:?}"
    );

    spoilt.table.collectives.clear();
    let empty = error_of(&spoilt, &spoilt.request(TableFile::Kept));
    assert!(
        matches!(empty, GuardError::NothingToMeasure { deployment } if deployment == "colltune"),
        "{empty:?}"
    );
}

#[test]
fn imported_rules_are_tested_at_the_sizes_of_the_campaign() {
    let Tuned { folder, mut table } = tuned();
    // As an import leaves them: nothing was measured, and nothing is confirmed.
    table.provenance.launches = 0;
    for entry in table.collectives.values_mut().flatten() {
        entry.measured.clear();
        entry.candidates.clear();
        for rule in &mut entry.rules {
            rule.confirmed = false;
            rule.speedup = None;
        }
    }
    let path = folder.path().join("imported.yaml");
    table.save(&path).expect("written");
    let imported = Spoilt {
        table: Table::load(&path).expect("a table"),
        folder,
        path,
    };
    let request = ValidateRequest {
        cells: None,
        probing: Probing {
            seed: 7,
            number: None,
            each_gap: true,
        },
        materiality: 0.0,
        ..imported.request(updated(false, true))
    };
    let mut listener = Listener::default();
    let outcome = imported
        .validate(&request, &mut listener)
        .expect("validated");
    let points = &outcome.validated.points;
    assert!(points.iter().all(|found| found.point.recorded.is_none()));
    assert!(!outcome.changes.confirmed.is_empty(), "{outcome:#?}");
    let now = Table::load(&imported.path).expect("a table");
    let confirmed_now = now.entries().flat_map(|entry| &entry.rules);
    assert!(confirmed_now.filter(|rule| rule.confirmed).count() > 0);
    // The file has the times of these launches, and no others.
    let times: Vec<f64> = points
        .iter()
        .filter_map(|found| found.default_seconds)
        .collect();
    let kept: Vec<_> = now.entries().flat_map(|entry| &entry.measured).collect();
    assert!(!kept.is_empty());
    for point in kept {
        let known = times
            .iter()
            .any(|seconds| (seconds / point.default_seconds - 1.0).abs() < 1e-3);
        assert!(known, "{point:?}");
    }
}
