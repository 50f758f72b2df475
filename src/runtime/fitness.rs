//! Whether a table was made for what the program runs with.

use table::Table;
use thiserror::Error;
use wire::Library;

/// What a table was made for and the program does not run with.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Misfit {
    /// Another library, or version of it.
    #[error("the table was made for {table}, and this is {library}")]
    Library {
        /// The table's.
        table: Library,
        /// The program's.
        library: Library,
    },
}

/// What this rank runs with.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) library: Library,
    /// Whether any table will do.
    pub(crate) force: bool,
}

impl Host {
    /// Why a table is not to be used here.
    pub(crate) fn objection(&self, table: &Table) -> Option<Misfit> {
        let misfits = self.misfits(table).into_iter();
        misfits.take(1).find(|_| !self.force)
    }

    /// Everything that a table was made for and that is not so here.
    pub(crate) fn misfits(&self, table: &Table) -> Vec<Misfit> {
        let made_for = &table.provenance.library;
        let mut misfits = Vec::new();
        if *made_for != self.library {
            misfits.push(Misfit::Library {
                table: made_for.clone(),
                library: self.library.clone(),
            });
        }
        misfits
    }
}
