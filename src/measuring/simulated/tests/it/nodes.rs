//! Some rows and claims of the report on fat nodes, computed again.

use schedule::Collective;

use crate::study::report::cells;
use crate::study::{PLACES, Row};
use vocabulary::Placement;

const REPORT: &str = include_str!("../../../../../reports/nodes.md");

/// The row of a call on the first of the clusters, which must be in the report.
fn row(collective: Collective, bytes: u64, order: Placement) -> Row {
    let place = &PLACES[0];
    let machine = place.machine().unwrap();
    let mut asked = place.cells(machine.ranks_per_node).into_iter();
    let cell = asked
        .find(|cell| cell.collective == collective && cell.bytes == bytes)
        .unwrap();
    let row = place.case(&machine, cell, order).row().unwrap();
    let packed = |text: &str| text.replace(' ', "");
    let text = packed(&format!("|{}|", cells(&cell, order, &row).join("|")));
    assert!(
        REPORT.lines().any(|line| packed(line) == text),
        "reports/nodes.md has no row {text}: generate it again"
    );
    row
}

#[test]
fn the_report_on_fat_nodes_says_how_much_longer_the_gap_makes_calls() {
    let gaps = |line: &str| -> Option<Vec<f64>> {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let gaps = cells.get(8..10)?.iter().map(|cell| cell.parse().ok());
        gaps.collect()
    };
    let gaps: Vec<f64> = REPORT.lines().filter_map(gaps).flatten().collect();
    assert!(gaps.len() > 100, "{}", gaps.len());
    let longest = gaps.iter().copied().fold(0.0, f64::max);
    assert!(
        REPORT.contains("no call more than 5 % longer") && longest <= 1.05,
        "{longest}"
    );
}

#[test]
fn the_report_on_fat_nodes_has_the_rows_that_are_simulated() {
    let [block, cyclic] = [Placement::Block, Placement::Cyclic];
    // Trees with a larger radix are best for short broadcasts, also between leaders.
    let short = row(Collective::Bcast, 8, block);
    assert!(short.flat.seconds > 1.1 * short.aware.seconds);
    // In gathers the order of ranks matters only to flat trees.
    let [first, second] = [block, cyclic].map(|order| row(Collective::Gather, 512, order));
    assert_eq!(first.flat.seconds, first.aware.seconds);
    assert_eq!(first.aware.seconds, second.aware.seconds);
    assert!(second.flat.seconds > 1.3 * second.aware.seconds);
    // The gap follows the vendors' message rates: a rank that sends to three others at once waits longer than one that
    // sends to one.
    let row = row(Collective::Allreduce, 8, block);
    assert!(row.flat.seconds > row.without_gap[0]);
    assert!(row.flat.seconds < 1.03 * row.without_gap[0]);
    assert!(row.published.unwrap().seconds < row.aware.seconds);
}
