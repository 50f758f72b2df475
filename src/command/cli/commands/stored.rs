//! The arguments of verbs that work on a store.

use std::path::{Path, PathBuf};

use store::Store;
use tuner::{CampaignAnalysis, DecisionOverrides, NamedFile};
use vocabulary::Library;

use super::campaign::store_file;
use crate::error::CliError;
use crate::values;

/// The arguments that name a store and a library in it.
#[derive(Debug, clap::Args)]
pub(super) struct StoreArgs {
    /// The store of a campaign or an import
    #[arg(value_name = "STORE", required_unless_present = "named")]
    store: Option<PathBuf>,
    /// The store, as an option like that of `import`
    #[arg(long = "store", value_name = "STORE", conflicts_with = "store")]
    named: Option<PathBuf>,
    #[command(flatten)]
    library: LibraryArg,
}

/// The argument that names a library in a store.
#[derive(Debug, clap::Args)]
pub(super) struct LibraryArg {
    /// The library whose measurements are used, as in openmpi-4.1.4; needed if the store has several
    #[arg(long, value_name = "NAME-VERSION", value_parser = values::parse_library)]
    library: Option<Library>,
}

impl StoreArgs {
    pub(super) fn analyse(&self) -> Result<CampaignAnalysis, CliError> {
        analyse_store(self.path(), self.library.given_library())
    }

    /// Analyses the store with other options of decisions than the campaign's.
    pub(super) fn analyse_with(
        &self,
        deciding: DecisionOverrides,
    ) -> Result<CampaignAnalysis, CliError> {
        let store = Store::open(&store_file(self.path()))?;
        let library = self.library.given_library();
        Ok(CampaignAnalysis::with_options(
            &store, library, None, deciding,
        )?)
    }

    /// Refuses outputs that would replace the store, before anything is written.
    pub(super) fn protect_from(&self, outputs: &[NamedFile<'_>]) -> Result<(), CliError> {
        let store = store_file(self.path());
        Ok(tuner::check_outputs_differ(
            outputs,
            &[("STORE", Some(&store))],
        )?)
    }

    fn path(&self) -> &Path {
        // The argument parser requires one of them.
        let store = self.store.as_deref().or(self.named.as_deref());
        store.unwrap_or(Path::new(""))
    }
}

impl LibraryArg {
    pub(super) fn given_library(&self) -> Option<&Library> {
        self.library.as_ref()
    }
}

/// The analysis of a store's samples of a library.
pub(super) fn analyse_store(
    store: &Path,
    library: Option<&Library>,
) -> Result<CampaignAnalysis, CliError> {
    let store = Store::open(&store_file(store))?;
    Ok(CampaignAnalysis::from_store(&store, library, None)?)
}
