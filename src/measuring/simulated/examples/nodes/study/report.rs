//! The words and tables of the report.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use vocabulary::units::format_bytes;
use vocabulary::{Cell, Placement};

use super::table::Table;
use super::{Fallible, PLACES, Place, Row};

/// The cells of a table's row.
pub(crate) fn cells(cell: &Cell, order: Placement, row: &Row) -> Vec<String> {
    let unit = cell.datatype.size_bytes();
    let us = |seconds: f64| match seconds * 1e6 {
        short if short < 100.0 => format!("{short:.1}"),
        long => format!("{long:.0}"),
    };
    let ratio = |ratio: f64| format!("{ratio:.2}");
    let (published, gain) = match &row.published {
        Some(of) => (
            format!("{} {}", of.name(unit), us(of.seconds)),
            ratio(of.seconds / row.aware.seconds),
        ),
        None => ("not simulated".to_owned(), "-".to_owned()),
    };
    vec![
        cell.collective.name().to_owned(),
        format_bytes(cell.bytes),
        order.to_string(),
        published,
        format!("{} {}", row.flat.name(unit), us(row.flat.seconds)),
        format!("{} {}", row.aware.name(unit), us(row.aware.seconds)),
        gain,
        ratio(row.flat.seconds / row.aware.seconds),
        ratio(row.flat.seconds / row.without_gap[0]),
        ratio(row.aware.seconds / row.without_gap[1]),
    ]
}

const HEADER: [&str; 10] = [
    "collective",
    "bytes",
    "order",
    "published, us",
    "best flat, us",
    "best that knows nodes, us",
    "published / nodes",
    "flat / nodes",
    "gap, flat",
    "gap, nodes",
];

/// All calls of a place, two at a time.
fn section(place: &Place) -> Fallible<Table> {
    let machine = place.machine()?;
    let mut asked = Vec::new();
    for cell in place.cells(machine.ranks_per_node) {
        asked.extend(place.orders.iter().map(|order| (cell, *order)));
    }
    let (next, made) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some((cell, order)) = asked.get(number) else {
                return;
            };
            let row = place.case(&machine, *cell, *order).row();
            let row = row.map(|row| cells(cell, *order, &row));
            let row = row.map_err(|error| format!("{cell}: {error}"));
            eprintln!("{row:?}");
            if let Ok(mut made) = made.lock() {
                made.push((number, row));
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let mut rows = made.into_inner().map_err(|_| "a thread has failed")?;
    rows.sort_by_key(|(number, _)| *number);
    let mut table = Table::new(6, &HEADER);
    for (_, row) in rows {
        table.row(row?);
    }
    Ok(table)
}

/// The report.
pub(crate) fn report() -> Fallible<String> {
    let mut text = include_str!("findings.md").to_owned();
    for place in &PLACES {
        let machine = place.machine()?;
        text += &format!(
            "\n## {}: {} nodes of {} ranks\n\n{}",
            machine.name,
            place.nodes,
            machine.ranks_per_node,
            section(place)?
        );
    }
    text += include_str!("measured.md");
    Ok(text)
}
