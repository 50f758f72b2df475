//! Verdicts of validations.

use rusqlite::types::Type;
use rusqlite::{Row, params};
use statistics::{Interval, PairedRatio};
use table::{OperatorClass, Verdict};
use vocabulary::bounds::{BYTES, PROBABILITY, SPEEDUP};
use vocabulary::{Cell, Datatype, Distribution, Library, Operator};

use crate::columns::{Json, Whole, damaged_column, number_within, shape_from_columns};
use crate::launch::next_number;
use crate::{Store, StoreError};

impl Store {
    /// Stores verdicts, each with the number of the newest launch that the store has now.
    pub fn record_verdicts(&mut self, verdicts: &[Verdict]) -> Result<(), StoreError> {
        self.write_in_transaction(|transaction| {
            let newest = next_number(transaction)? - 1;
            let mut insert = transaction.prepare(
                "INSERT INTO verdict (given, library_name, library_version, conditions, pattern,
                                      collective, nodes, ppn, rank_order, operators, deployment,
                                      candidate, bytes, verdict, speedup, low, high, coverage,
                                      launches, seed, newest_launch, distribution)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                         ?18, ?19, ?20, ?21, ?22)",
            )?;
            for verdict in verdicts {
                let ratio = verdict.speedup;
                let interval = ratio.map(|ratio| ratio.interval);
                insert.execute(params![
                    Whole(verdict.unix_seconds),
                    verdict.library.name,
                    verdict.library.version,
                    verdict.conditions,
                    Json(verdict.pattern),
                    verdict.collective.name(),
                    verdict.shape.nodes,
                    verdict.shape.ppn,
                    Json(verdict.order),
                    Json(verdict.operators),
                    Json(verdict.deployment),
                    Json(&verdict.candidate),
                    Whole(verdict.bytes),
                    Json(verdict.found),
                    ratio.map(|ratio| ratio.median),
                    interval.map(|interval| interval.low),
                    interval.map(|interval| interval.high),
                    interval.map(|interval| interval.coverage),
                    ratio.map(|ratio| ratio.launches),
                    Json(verdict.seed),
                    newest,
                    distribution_name(verdict.distribution),
                ])?;
            }
            Ok(())
        })
    }

    /// The verdicts about a library, in the order in which they were given.
    pub fn verdicts(&self, library: &Library) -> Result<Vec<Verdict>, StoreError> {
        let query =
            "SELECT given, conditions, pattern, collective, nodes, ppn, rank_order, operators,
                            deployment, candidate, bytes, verdict, speedup, low, high, coverage,
                            launches, seed, newest_launch, distribution
                     FROM verdict WHERE library_name = ?1 AND library_version = ?2 ORDER BY id";
        let of_library = [&library.name, &library.version];
        self.query_rows(query, of_library, |row| verdict_from_row(row, library))
    }
}

/// The name of a distribution in its column; `None` if it is uniform, as in all verdicts of older stores.
fn distribution_name(distribution: Distribution) -> Option<&'static str> {
    (!distribution.is_uniform()).then_some(distribution.name())
}

fn distribution_from_column(row: &Row<'_>, column: usize) -> rusqlite::Result<Distribution> {
    let Some(name) = row.get::<_, Option<String>>(column)? else {
        return Ok(Distribution::Uniform);
    };
    Distribution::from_name(&name)
        .ok_or_else(|| damaged_column(column, Type::Text, format!("no distribution `{name}`")))
}

fn verdict_from_row(row: &Row<'_>, library: &Library) -> rusqlite::Result<Verdict> {
    let name: String = row.get(3)?;
    let unknown = |_| damaged_column(3, Type::Text, format!("no collective `{name}`"));
    let speedup = match row.get::<_, Option<f64>>(12)? {
        None => None,
        Some(_) => Some(PairedRatio {
            median: number_within(row, 12, &SPEEDUP)?,
            interval: Interval {
                low: number_within(row, 13, &SPEEDUP)?,
                high: number_within(row, 14, &SPEEDUP)?,
                coverage: number_within(row, 15, &PROBABILITY)?,
            },
            launches: row.get(16)?,
        }),
    };
    let Json(pattern) = row.get(2)?;
    let Json(order) = row.get(6)?;
    let Json(operators) = row.get::<_, Json<OperatorClass>>(7)?;
    let Json(deployment) = row.get(8)?;
    let Json(candidate) = row.get(9)?;
    let Json(found) = row.get(11)?;
    let Json(seed) = row.get(17)?;
    let (Whole(unix_seconds), Whole(bytes)) = (row.get(0)?, row.get(10)?);
    let mut cell = Cell {
        collective: name.parse().map_err(unknown)?,
        shape: shape_from_columns(row, 4)?,
        bytes,
        // A verdict is about all datatypes.
        datatype: Datatype::Byte,
        operator: Some(match operators {
            OperatorClass::Commutative => Operator::Sum,
            OperatorClass::Noncommutative => Operator::Noncommutative,
        }),
        distribution: distribution_from_column(row, 19)?,
    };
    if !cell.collective.is_reduction() {
        cell.operator = None;
    }
    if !cell.collective.is_irregular() && !cell.distribution.is_uniform() {
        let wrong = format!("{} has no distribution of its data", cell.collective);
        return Err(damaged_column(19, Type::Text, wrong));
    }
    if !BYTES.contains(bytes) || !cell.admits_candidate(&candidate) {
        let wrong = format!("{candidate} was never measured in {cell}");
        return Err(damaged_column(9, Type::Text, wrong));
    }
    Ok(Verdict {
        unix_seconds,
        library: library.clone(),
        conditions: row.get(1)?,
        pattern,
        collective: cell.collective,
        shape: cell.shape,
        order,
        operators,
        deployment,
        candidate,
        bytes,
        distribution: cell.distribution,
        found,
        speedup,
        seed,
        newest_launch: Some(row.get(18)?),
    })
}
