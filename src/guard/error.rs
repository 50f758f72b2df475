//! Why nothing can be said about a table.

use std::path::PathBuf;

use campaign::CampaignError;
use export::ExportError;
use store::StoreError;
use thiserror::Error;
use tuner::TunerError;
use vocabulary::{CommShape, Library, RankOrder};

/// A table that could not be looked at.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum GuardError {
    /// Measuring.
    #[error(transparent)]
    Tuner(Box<TunerError>),
    /// Writing the table in the format of its library.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// How the table's library was launched is not known, and cannot be guessed.
    #[error(
        "how {library} was launched for the table is not known: {} does not tell",
        store.display()
    )]
    NoCampaign { library: Library, store: PathBuf },
    /// No launcher is known for the library.
    #[error("the table is about {library}, which colltune cannot launch")]
    NoLauncher { library: Library },
    /// Another library than that of the table.
    #[error("the table is about {table}, and what can be measured here is {found}")]
    OtherLibrary { table: Library, found: Library },
    /// Ranks in another order than those of the table.
    #[error(
        "on {shape}, ranks stand in {found} order on their nodes here, and the table is about {table} order"
    )]
    OtherOrder {
        shape: CommShape,
        table: RankOrder,
        found: RankOrder,
    },
    /// A library that reads no exported files.
    #[error("{library} reads no exported tables")]
    ReadsNoTables { library: Library },
    /// The table has no measured sizes for the deployment.
    #[error("the table says nothing of sizes that were measured for the deployment `{deployment}`")]
    NothingToMeasure { deployment: &'static str },
    /// Rules are to be confirmed, and no probes to be measured.
    #[error("rules are not confirmed without probes between measured sizes")]
    NoProbes,
    /// Launches ended without any result.
    #[error("nothing could be measured in the time given")]
    NothingMeasured,
    /// The user asked to stop.
    #[error("interrupted; what was measured is not kept")]
    Interrupted,
}

impl GuardError {
    /// What the user can do about it, where the message does not say so itself.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Tuner(error) => return error.help(),
            Self::Export(error) => return error.help(),
            Self::NoCampaign { .. } => {
                "name the campaign that the table was made with: `--campaign FILE`".to_owned()
            }
            Self::OtherLibrary { .. } => {
                "`--any-version` measures what there is, and a new table would be better".to_owned()
            }
            Self::OtherOrder { .. } => {
                "have the launcher place ranks as for the table (`placement` and `options` in the \
                 campaign), or tune for this order"
                    .to_owned()
            }
            Self::ReadsNoTables { .. } => {
                "`--via force` has the driver force what the table chooses".to_owned()
            }
            Self::NothingToMeasure { .. } => {
                "`--deployment` names another; tables for the library's own settings need `native:*` \
                 among the candidates of their campaign"
                    .to_owned()
            }
            Self::NoProbes => "leave out `--probes 0`: the library's default may change its algorithm between \
                               measured sizes"
                .to_owned(),
            Self::NothingMeasured => "give more time with `--budget`".to_owned(),
            Self::Interrupted | Self::NoLauncher { .. } => return None,
        })
    }
}

impl From<TunerError> for GuardError {
    fn from(error: TunerError) -> Self {
        match error {
            TunerError::Interrupted => Self::Interrupted,
            error => Self::Tuner(Box::new(error)),
        }
    }
}

impl From<StoreError> for GuardError {
    fn from(error: StoreError) -> Self {
        TunerError::from(error).into()
    }
}

impl From<CampaignError> for GuardError {
    fn from(error: CampaignError) -> Self {
        TunerError::from(error).into()
    }
}
