//! The order of ranks on nodes, by launch and shape.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use vocabulary::{CommShape, Library, RankOrder};
use wire::Plan;

use crate::columns::{Json, shape_from_columns};
use crate::query::library_parameters;
use crate::{Store, StoreError};

impl Store {
    /// The order of ranks in the launches of a library, by shape; shapes for which no launch recorded it are left out.
    /// A launch with another order is refused: [`StoreError::OtherOrder`].
    pub fn rank_orders(
        &self,
        library: &Library,
    ) -> Result<BTreeMap<CommShape, RankOrder>, StoreError> {
        let query = "SELECT DISTINCT nodes, ppn, rank_order
                     FROM rank_order JOIN launch ON launch.number = rank_order.launch
                     WHERE library_name = ?1 AND library_version = ?2";
        self.query_rows(query, library_parameters(library), |row| {
            let Json(order) = row.get(2)?;
            Ok((shape_from_columns(row, 0)?, order))
        })
    }

    /// Refuses a launch's measurements on a shape if the library's ranks had another order there before.
    pub(crate) fn check_order(
        &self,
        plan: &Plan,
        shape: CommShape,
        found: RankOrder,
    ) -> Result<(), StoreError> {
        let known = self.run_query(|connection| known_order(connection, &plan.library, shape))?;
        match known {
            Some(known) if !known.may_be(found) => Err(StoreError::OtherOrder {
                path: self.path().to_owned(),
                library: plan.library.clone(),
                launch: plan.launch,
                shape,
                found,
                known,
            }),
            _ => Ok(()),
        }
    }
}

fn known_order(
    connection: &Connection,
    library: &Library,
    shape: CommShape,
) -> rusqlite::Result<Option<RankOrder>> {
    connection
        .prepare_cached(
            "SELECT rank_order FROM rank_order JOIN launch ON launch.number = rank_order.launch
             WHERE library_name = ?1 AND library_version = ?2 AND nodes = ?3 AND ppn = ?4 LIMIT 1",
        )?
        .query_row(
            params![library.name, library.version, shape.nodes, shape.ppn],
            |row| row.get(0).map(|Json(order)| order),
        )
        .optional()
}

/// Adds the order of a launch's ranks on a shape, unless it is unknown or already stored.
pub(crate) fn insert_order(
    transaction: &Transaction<'_>,
    launch: u32,
    shape: CommShape,
    order: RankOrder,
) -> rusqlite::Result<()> {
    if order.is_unknown() {
        return Ok(());
    }
    transaction
        .prepare_cached(
            "INSERT INTO rank_order SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS
                 (SELECT 1 FROM rank_order WHERE launch = ?1 AND nodes = ?2 AND ppn = ?3)",
        )?
        .execute(params![launch, shape.nodes, shape.ppn, Json(order)])
        .map(drop)
}
