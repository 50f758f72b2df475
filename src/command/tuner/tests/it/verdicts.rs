//! Verdicts about a table bind the decisions of its store.

use std::time::{SystemTime, UNIX_EPOCH};

use results::Verdict as Why;
use store::Store;
use table::{Deployment, Found, Policy, Table, Verdict};
use tuner::{CampaignAnalysis, StoredVerdicts, Tuned, add_stored_verdicts};
use vocabulary::{Candidate, Distribution, Library, Pattern};

use crate::confirm::{Desk, query};

/// A size at which fresh launches confirm the choice.
const BYTES: u64 = 4 << 10;

/// A verdict about the table's choice at that size.
fn verdict(desk: &Desk, table: &Table) -> Verdict {
    let decision = table.lookup(&query(BYTES));
    assert_ne!(*decision.candidate, Candidate::Default);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    Verdict {
        unix_seconds: now.expect("a clock").as_secs() + 60,
        library: table.provenance.library.clone(),
        conditions: desk.workplace().campaign.conditions_digest(),
        pattern: Pattern::Together,
        collective: decision.query.collective,
        shape: decision.query.shape,
        order: decision.query.order,
        operators: decision.query.operators,
        deployment: decision.query.deployment,
        candidate: decision.candidate.clone(),
        bytes: BYTES,
        distribution: Distribution::Uniform,
        found: Found::Slower,
        speedup: None,
        seed: 7,
        newest_launch: None,
    }
}

fn keep(desk: &Desk, verdicts: &[Verdict]) {
    let mut store = Store::open_or_create(desk.workplace().store_path()).expect("a store");
    store.record_verdicts(verdicts).expect("kept");
}

/// The table after its repair.
fn repaired(tuned: &Tuned, verdict: &Verdict) -> Table {
    let mut table = tuned.table.clone();
    let changes = table.turn_back(std::slice::from_ref(verdict));
    assert_eq!(changes.len(), 1);
    table
}

#[test]
fn repaired_rules_stay_repaired_when_tuned_again() {
    let desk = Desk::new("");
    let first = desk.tune();
    let verdict = verdict(&desk, &first.table);
    keep(&desk, std::slice::from_ref(&verdict));
    let again = desk.tune();
    assert_eq!(again.measured.launches, 0);
    // The same table, its warning included.
    assert_eq!(again.table, repaired(&first, &verdict));
    assert_eq!(
        *again.table.lookup(&query(BYTES)).candidate,
        Candidate::Default
    );
    let warnings = &again.table.provenance.warnings;
    assert!(
        warnings
            .iter()
            .any(|text| text.starts_with("Turned back to the default")),
        "{warnings:?}"
    );
    // Report and evidence show the warning too.
    let found = &again.analysis.found;
    let decision = found.decisions.iter().find(|d| d.cell.bytes == BYTES);
    let decision = decision.expect("decided");
    assert_eq!(
        (&decision.chosen, decision.verdict),
        (&Candidate::Default, Why::Refuted)
    );
    let report = std::fs::read_to_string(&again.report_path).expect("a report");
    assert!(report.contains("Turned back to the default"), "{report}");
    // Other analyses of the store give the same table.
    let store = Store::open(desk.workplace().store_path()).expect("a store");
    let analysis = CampaignAnalysis::from_store(&store, None, None).expect("analysed");
    assert!(analysis.agrees_with(&again.table) && !analysis.agrees_with(&first.table));
}

#[test]
fn other_libraries_conditions_and_patterns_are_not_bound() {
    let desk = Desk::new("");
    let first = desk.tune();
    let verdict = verdict(&desk, &first.table);
    keep(
        &desk,
        &[
            Verdict {
                library: Library {
                    version: "other".to_owned(),
                    ..verdict.library.clone()
                },
                ..verdict.clone()
            },
            Verdict {
                conditions: Desk::new("synchronisation: window\n")
                    .workplace()
                    .campaign
                    .conditions_digest(),
                ..verdict.clone()
            },
            Verdict {
                pattern: Pattern::Repeated,
                ..verdict.clone()
            },
            Verdict {
                found: Found::Same,
                ..verdict
            },
        ],
    );
    assert_eq!(desk.tune().table, first.table);
}

#[test]
fn newer_confirming_launches_overrule_a_verdict() {
    let expected = Desk::new("").tune();
    let desk = Desk::new("");
    let verdict = verdict(&desk, &expected.table);
    // Before any launch.
    keep(&desk, std::slice::from_ref(&verdict));
    let tuned = desk.tune();
    assert_eq!(tuned.table.collectives, expected.table.collectives);
    // Launches at other sizes do not overrule it.
    let other_desk = Desk::new("");
    let elsewhere = Verdict {
        bytes: BYTES + 1,
        ..verdict
    };
    keep(&other_desk, std::slice::from_ref(&elsewhere));
    let bound = other_desk.tune();
    let is_chosen =
        |decided: &Tuned| *decided.table.lookup(&query(BYTES + 1)).candidate == elsewhere.candidate;
    assert!(!is_chosen(&bound));
}

#[test]
fn exploring_launches_do_not_overrule_a_verdict() {
    let further = "confirmation: off\n";
    let expected = Desk::new(further).tune();
    let desk = Desk::new(further);
    let verdict = verdict(&desk, &expected.table);
    keep(&desk, std::slice::from_ref(&verdict));
    let tuned = desk.tune();
    let repaired = repaired(&expected, &verdict);
    assert_eq!(tuned.table.collectives, repaired.collectives);
}

#[test]
fn verdicts_in_the_tables_own_file_are_read_before_it_is_written_again() {
    let desk = Desk::new("");
    let first = desk.tune();
    let verdict = verdict(&desk, &first.table);
    let mut table = repaired(&first, &verdict);
    table.verdicts.push(verdict.clone());
    table.save(&first.table_path).expect("saved");
    // The new table has the same rules, warning and verdicts.
    assert_eq!(desk.tune().table, table);
    assert_eq!(desk.tune().table, table);
    // A verdict from before all launches is overruled by them, and does not stay to refute what they confirm.
    table.verdicts[0].unix_seconds = 1;
    table.save(&first.table_path).expect("saved");
    let overruled = desk.tune().table;
    assert_eq!(overruled.collectives, first.table.collectives);
    assert_eq!(overruled.verdicts, []);
}

#[test]
fn a_table_that_cannot_be_read_is_not_replaced() {
    let desk = Desk::new("");
    let tuned = desk.tune();
    let text = std::fs::read_to_string(&tuned.table_path).expect("written");
    let broken = text.replacen("collectives:", "colectives:", 1);
    assert_ne!(broken, text);
    std::fs::write(&tuned.table_path, &broken).expect("written");
    let at = desk.workplace();
    let measured = tuned.measured;
    for error in [
        tuner::check_outputs(&at).expect_err("unreadable"),
        tuner::decide_and_write(&at, measured, &mut tuner::Silent).expect_err("unreadable"),
    ] {
        assert!(error.to_string().contains("colectives"), "{error}");
    }
    let left = std::fs::read_to_string(&tuned.table_path).expect("there");
    assert_eq!(left, broken);
}

/// Findings alternate; the latest decisive one holds, whatever of them the table has already.
#[test]
fn verdicts_of_the_store_count_as_if_the_table_had_them() {
    use Found::{Faster, Same, Slower};
    for (history, is_refuted) in [
        (&[Slower][..], true),
        (&[Slower, Same], true),
        (&[Slower, Faster], false),
        (&[Faster, Slower, Faster], false),
        (&[Slower, Faster, Slower], true),
    ] {
        let desk = Desk::new("");
        let first = desk.tune();
        let verdict = verdict(&desk, &first.table);
        let later = |(days, found): (usize, &Found)| Verdict {
            unix_seconds: verdict.unix_seconds + 86_400 * days as u64,
            found: *found,
            ..verdict.clone()
        };
        let verdicts: Vec<Verdict> = history.iter().enumerate().map(later).collect();
        keep(&desk, &verdicts);
        for in_file in 0..=verdicts.len() {
            let mut table = first.table.clone();
            for file_verdict in &verdicts[..in_file] {
                table.add_verdicts(vec![file_verdict.clone()]);
            }
            let before = table
                .count_usage(Policy::default(), Deployment::Colltune)
                .refuted;
            let found =
                add_stored_verdicts(&mut table, desk.workplace().store_path()).expect("read");
            let after = table
                .count_usage(Policy::default(), Deployment::Colltune)
                .refuted;
            assert_eq!(after > 0, is_refuted, "{history:?}, {in_file} in the file");
            let changes = (before > 0) != (after > 0);
            assert_eq!(found == StoredVerdicts::Count, changes);
        }
    }
}
