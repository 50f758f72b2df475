//! Tables with all verdicts about them.

use std::path::Path;

use table::Table;
use tuner::{StoredVerdicts, TunerError};

use super::campaign::store_file;
use super::{CliError, Console};

/// A table with the verdicts of `validate` in its file and in its store, so that every verb finds the same rules in
/// force.
pub(super) struct JudgedTable {
    /// The table.
    pub(super) table: Table,
    /// Whether verdicts that are in the store alone change which rules are in force.
    pub(super) is_judged_by_store: bool,
}

impl JudgedTable {
    /// Reads a table, and the verdicts in its store: in the store that is `named`, or else in the one that the table
    /// names. Warns if they cannot be read.
    pub(super) fn read(
        path: &Path,
        named: Option<&Path>,
        console: Console,
    ) -> Result<Self, CliError> {
        let mut table = Table::load(path)?;
        let store = store_file(named.unwrap_or_else(|| Path::new(&table.provenance.store)));
        let is_judged_by_store = add_verdicts_of_store(&mut table, &store, console);
        Ok(Self {
            table,
            is_judged_by_store,
        })
    }

    /// Like [`JudgedTable::read`] for a table that others will use: fails if the verdicts cannot be read, and warns if
    /// they do not count.
    pub(super) fn read_for_others(path: &Path, console: Console) -> Result<Table, CliError> {
        let mut table = Table::load(path)?;
        let store = store_file(Path::new(&table.provenance.store));
        if tuner::add_stored_verdicts(&mut table, &store)? == StoredVerdicts::OfAnother {
            console.warn(format_args!(
                "verdicts of `validate` in {} do not count, since it belongs to another user; those in the table do.",
                store.display()
            ));
        }
        Ok(table)
    }
}

/// Adds the verdicts that a store has about a table ([`tuner::add_stored_verdicts`]), and returns whether they change
/// which rules are in force. Warns if they cannot be read.
fn add_verdicts_of_store(table: &mut Table, store: &Path, console: Console) -> bool {
    match tuner::add_stored_verdicts(table, store) {
        Ok(added) => added == StoredVerdicts::Count,
        Err(error) => {
            warn_of_unread_verdicts(&error, console);
            false
        }
    }
}

/// Warns that the verdicts in a table's store cannot be read.
pub(super) fn warn_of_unread_verdicts(error: &TunerError, console: Console) {
    console.warn(format_args!(
        "verdicts of `validate` in the table's store do not count, as they cannot be read: {error}."
    ));
}
