//! The report as comma-separated values.

use std::collections::BTreeMap;

use report::{View, render_csv};
use results::Ranked;
use vocabulary::Candidate;

use crate::cells;

/// The rows by column.
fn read(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader
        .deserialize()
        .map(|row| row.expect("well formed"))
        .collect()
}

#[test]
fn every_cell_has_a_row_for_every_candidate() {
    let view = cells::view();
    let text = render_csv(&view).expect("written");
    insta::assert_snapshot!(text.lines().take(12).collect::<Vec<_>>().join("\n"));
    let rows = read(&text);
    let all_timed: Vec<&Ranked> = view.cells.iter().flat_map(|r| &r.ranking).collect();
    assert_eq!(rows.len(), all_timed.len());
    for (row, timed) in rows.iter().zip(all_timed) {
        assert_eq!(row.len(), 24);
        assert_eq!(row["candidate"], timed.candidate.to_string());
        assert_eq!(
            row["seconds"].parse(),
            Ok(timed.median_seconds),
            "not the same number"
        );
        let speedup = timed.speedup.map(|speedup| speedup.median);
        assert_eq!(row["speedup"].parse().ok(), speedup);
        let launches = timed.speedup.map(|ratio| ratio.launches);
        assert_eq!(row["speedup_launches"].parse().ok(), launches);
    }
    let chosen = rows.iter().filter(|row| row["chosen_colltune"] == "yes");
    assert_eq!(chosen.count(), view.cells.len());
}

#[test]
fn unknown_values_are_empty_and_texts_are_quoted() {
    let mut view = View {
        cells: cells::view().cells.split_off(120),
        ..cells::empty()
    };
    let result = &mut view.cells[0];
    result.chosen_in_library = None;
    result.ranking.truncate(1);
    result.ranking[0] = Ranked::unmeasured(
        Candidate::Foreign {
            algorithm: "a,\"b\"\nc:bcast/x".to_owned(),
            parameters: Default::default(),
        },
        2.0,
    );
    let rows = read(&render_csv(&view).expect("written"));
    assert_eq!(rows[0]["candidate"], "a,\"b\"\nc:bcast/x");
    for column in [
        "seconds_low",
        "launches",
        "repetitions",
        "speedup",
        "chosen_library",
        "expected_seconds",
    ] {
        assert_eq!(rows[0][column], "", "{column}");
    }
    assert_eq!(
        (rows[0]["source"].as_str(), rows[0]["seconds"].as_str()),
        ("model", "2")
    );
}
