//! Errors of testing a table.

use campaign::CampaignError;
use explained::Explained;
use export::ExportError;
use libraries::LeftOutLine;
use store::StoreError;
use table::TableError;
use thiserror::Error;
use tuner::TunerError;
use vocabulary::{CommShape, ErrorKind, Library, RankOrder};

/// The reason why a table could not be tested.
#[derive(Debug, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum GuardError {
    /// Measuring failed.
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Tuner(Box<TunerError>),
    /// The table could not be written in the format of its library.
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Export(#[from] ExportError),
    /// The launcher of the table's campaign is not known.
    #[error("the launcher with which {library} was measured for the table is not known: {why}")]
    #[kind(Input)]
    #[help("name the campaign that the table was made with: `--campaign FILE`")]
    NoCampaign { library: Library, why: String },
    /// No launcher is known for the library.
    #[error("the table is for {library}, which colltune cannot launch")]
    #[kind(Environment)]
    NoLauncher { library: Library },
    /// Another library than that of the table.
    #[error("the table is for {table}, but only {found} can be measured here")]
    #[kind(Environment)]
    #[help("make a new table for this library, or measure it with `--any-version`")]
    OtherLibrary { table: Library, found: Library },
    /// Ranks in another order than those of the table.
    #[error(
        "the table is for ranks in {table} order on {shape}, but the launches placed them in {found} order"
    )]
    #[kind(Environment)]
    #[help(
        "have the launcher place ranks as for the table (`placement` and `options` in the campaign), or tune for \
         this order"
    )]
    OtherOrder {
        shape: CommShape,
        table: RankOrder,
        found: RankOrder,
    },
    /// A library that reads no exported files.
    #[error("{library} reads no exported tables")]
    #[kind(Input)]
    #[help(
        "files are written for {}; with `--via force` the driver forces the table's choices",
        libraries::LibraryName::ALL.map(|known| known.facts().title).join(", ")
    )]
    ReadsNoTables { library: Library },
    /// The table has no measured sizes for the deployment.
    #[error("the table has no measured sizes for the deployment `{deployment}`")]
    #[kind(Input)]
    #[help(
        "choose another one with `--deployment`; tables for the library's own settings need `native:*` among the \
         candidates of their campaign"
    )]
    NothingToMeasure { deployment: &'static str },
    /// Nothing says how ranks are started on several nodes.
    #[error("nothing says how ranks are started on {shape}")]
    #[kind(Input)]
    #[help("name a campaign with the launcher's options: `--campaign FILE`")]
    NoLauncherForNodes { shape: CommShape },
    /// Settings choose algorithms in the launches.
    #[error(
        "lines cannot be compared with the own choices of {library}, since settings that choose algorithms are in force: {}",
        settings.join(", ")
    )]
    #[kind(Environment)]
    #[help(
        "while lines are measured, unset variables and take the settings out of the campaign and of the library's \
         parameter files, also of those that override variables; `colltune doctor` shows what is in force"
    )]
    NotOwnChoice {
        library: Library,
        settings: Vec<String>,
    },
    /// The library cannot be made to use an algorithm.
    #[error("{library} cannot be made to use {algorithm} here")]
    #[kind(Environment)]
    #[help(
        if !dormant.is_empty(),
        "forcing algorithms would bring settings into force that have no effect now: unset variables, and take the \
         settings out of parameter files ({})",
        dormant.join(", ")
    )]
    #[help(
        "examine the file for the library that is installed here; `colltune doctor` shows what it can force"
    )]
    NotForced {
        library: Library,
        algorithm: String,
        dormant: Vec<String>,
    },
    /// No line of a site's file can be measured.
    #[error(
        "no line chooses an algorithm at a size that can be measured{}",
        describe_left_out(left_out)
    )]
    #[kind(Input)]
    #[help(
        "name the shapes with `--shapes`, and with `--campaign` a campaign with sizes for which the file has rules"
    )]
    NoLines { left_out: Vec<LeftOutLine> },
    /// The table has no rules, like that of a withdrawn version.
    #[error("the table has no rules, and leaves everything to the library")]
    #[kind(Input)]
    #[help("if it was withdrawn, `colltune deploy --rollback` returns to the version before")]
    NoRules,
    /// The table has no rules for blocking calls, which alone are measured again.
    #[error("the table has rules for nonblocking calls only, which are not measured again")]
    #[kind(Input)]
    #[help("compare a program with and without the table by `colltune validate TABLE --command`")]
    OnlyNonblocking,
    /// Rules cannot be confirmed, since no probes are measured.
    #[error("rules cannot be confirmed without probes between measured sizes")]
    #[kind(Input)]
    #[help(
        "leave out `--probes 0`: the library's default may change its algorithm between measured sizes"
    )]
    NoProbes,
    /// A program to be timed fails by itself.
    #[error("the program fails without the table: it {reason}")]
    #[kind(Environment)]
    #[help("run the command by itself until it succeeds, and give it to `--command` as it is then")]
    ProgramFails { reason: String },
    /// Launches ended without any result.
    #[error("nothing could be measured in the time given")]
    #[kind(Environment)]
    #[help("give more time with `--budget`")]
    NothingMeasured,
    /// The user asked to stop.
    #[error("interrupted; the measurements are not kept")]
    #[kind(Interrupted)]
    Interrupted,
}

/// The most lines of which a message has the reasons.
const MOST_REASONS: usize = 5;

/// The first lines that are left out, with the reasons.
fn describe_left_out(left_out: &[LeftOutLine]) -> String {
    if left_out.is_empty() {
        return String::new();
    }
    let first = left_out.iter().take(MOST_REASONS);
    let reasons: Vec<String> = first
        .map(|left| format!("line {}: {}", left.line, left.why))
        .collect();
    let more = left_out.len().saturating_sub(MOST_REASONS);
    let rest = if more > 0 {
        format!("; {more} more")
    } else {
        String::new()
    };
    format!(" ({}{rest})", reasons.join("; "))
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
