//! Errors of testing a table.

use campaign::CampaignError;
use export::ExportError;
use store::StoreError;
use table::TableError;
use thiserror::Error;
use tuner::TunerError;
use vocabulary::{CommShape, ErrorKind, Library, RankOrder};

/// The reason why a table could not be tested.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum GuardError {
    /// Measuring failed.
    #[error(transparent)]
    Tuner(Box<TunerError>),
    /// The table could not be written in the format of its library.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The launcher of the table's campaign is not known.
    #[error("the launcher with which {library} was measured for the table is not known: {why}")]
    NoCampaign { library: Library, why: String },
    /// No launcher is known for the library.
    #[error("the table is for {library}, which colltune cannot launch")]
    NoLauncher { library: Library },
    /// Another library than that of the table.
    #[error("the table is for {table}, but only {found} can be measured here")]
    OtherLibrary { table: Library, found: Library },
    /// Ranks in another order than those of the table.
    #[error(
        "the table is for ranks in {table} order on {shape}, but the launches placed them in {found} order"
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
    #[error("the table has no measured sizes for the deployment `{deployment}`")]
    NothingToMeasure { deployment: &'static str },
    /// The table has no rules, like that of a withdrawn version.
    #[error("the table has no rules, and leaves everything to the library")]
    NoRules,
    /// Rules cannot be confirmed, since no probes are measured.
    #[error("rules cannot be confirmed without probes between measured sizes")]
    NoProbes,
    /// Launches ended without any result.
    #[error("nothing could be measured in the time given")]
    NothingMeasured,
    /// The user asked to stop.
    #[error("interrupted; the measurements are not kept")]
    Interrupted,
}

impl GuardError {
    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Tuner(error) => error.kind(),
            Self::Export(error) => error.kind(),
            Self::Interrupted => ErrorKind::Interrupted,
            Self::OtherLibrary { .. }
            | Self::NoLauncher { .. }
            | Self::OtherOrder { .. }
            | Self::NothingMeasured => ErrorKind::Environment,
            Self::NoCampaign { .. }
            | Self::ReadsNoTables { .. }
            | Self::NothingToMeasure { .. }
            | Self::NoRules
            | Self::NoProbes => ErrorKind::Input,
        }
    }

    /// A remedy, if the message does not say it already.
    pub fn help(&self) -> Option<String> {
        let text = match self {
            Self::Tuner(error) => return error.help(),
            Self::Export(error) => return error.help(),
            Self::NoCampaign { .. } => {
                "name the campaign that the table was made with: `--campaign FILE`"
            }
            Self::OtherLibrary { .. } => {
                "make a new table for this library, or measure it with `--any-version`"
            }
            Self::OtherOrder { .. } => {
                "have the launcher place ranks as for the table (`placement` and `options` in the \
                 campaign), or tune for this order"
            }
            Self::ReadsNoTables { .. } => {
                "with `--via force` the driver forces the table's choices"
            }
            Self::NothingToMeasure { .. } => {
                "choose another one with `--deployment`; tables for the library's own settings need `native:*` \
                 among the candidates of their campaign"
            }
            Self::NoRules => {
                "if it was withdrawn, `colltune deploy --rollback` returns to the version before"
            }
            Self::NoProbes => {
                "leave out `--probes 0`: the library's default may change its algorithm between \
                               measured sizes"
            }
            Self::NothingMeasured => "give more time with `--budget`",
            Self::Interrupted | Self::NoLauncher { .. } => return None,
        };
        Some(text.to_owned())
    }
}

impl From<TunerError> for GuardError {
    fn from(error: TunerError) -> Self {
        match error {
            TunerError::Interrupted => Self::Interrupted,
            other => Self::Tuner(Box::new(other)),
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

impl From<TableError> for GuardError {
    fn from(error: TableError) -> Self {
        TunerError::from(error).into()
    }
}
