//! What the verbs that work on a store share.

use std::path::{Path, PathBuf};

use store::Store;
use tuner::Analysis;
use wire::Library;

use crate::error::CliError;
use crate::values;

/// The arguments that name a store and what of it is meant.
#[derive(Debug, clap::Args)]
pub(super) struct StoreArgs {
    /// The store of a campaign
    #[arg(value_name = "STORE")]
    store: PathBuf,
    #[command(flatten)]
    library: LibraryArg,
}

/// Which library's measurements are meant.
#[derive(Debug, clap::Args)]
pub(super) struct LibraryArg {
    /// The library whose measurements are meant, as in openmpi-4.1.4; needed if the store has
    /// several
    #[arg(long, value_name = "NAME-VERSION", value_parser = values::library)]
    library: Option<Library>,
}

impl StoreArgs {
    pub(super) fn analyse(&self) -> Result<Analysis, CliError> {
        self.library.analyse(&self.store)
    }
}

impl LibraryArg {
    pub(super) fn analyse(&self, store: &Path) -> Result<Analysis, CliError> {
        analyse(store, self.library.as_ref())
    }

    pub(super) fn given(&self) -> Option<&Library> {
        self.library.as_ref()
    }
}

/// Everything that follows from a store's samples of a library.
pub(super) fn analyse(store: &Path, library: Option<&Library>) -> Result<Analysis, CliError> {
    Ok(Analysis::of(&Store::open(store)?, library, None)?)
}
