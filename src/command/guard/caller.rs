//! What a test of a table tells the program that started it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use table::TableError;
use tuner::{Observer, TunerError};
use vocabulary::{Library, Warning};

use crate::GuardError;

/// The program that starts a test: it passes warnings on and watches the launches.
pub trait TestCaller {
    /// The error of the program, which also says why a table could not be tested.
    type Error: From<GuardError>;

    /// Receives a warning.
    fn warn(&mut self, warning: TestWarning);

    /// Returns what watches the launches: called once, when everything is prepared, before the first launch.
    ///
    /// # Errors
    /// If launches cannot be watched; nothing is launched then.
    fn watch_launches(&mut self) -> Result<LaunchWatch, Self::Error>;
}

/// What watches the launches of a test.
pub struct LaunchWatch {
    /// It receives the events of the launches.
    pub observer: Box<dyn Observer>,
    /// Setting it ends the current launch, and the test with [`GuardError::Interrupted`].
    pub stop: Arc<AtomicBool>,
}

/// A condition that the results of a test depend on, which is known before the first launch, or a reason why a result
/// is not kept, which is known after the last one.
#[derive(Debug)]
pub enum TestWarning {
    /// Verdicts in the table's store do not count, since they cannot be read.
    UnreadVerdicts(TunerError),
    /// Another library is measured than this one, which the table is for.
    OtherLibrary(Library),
    /// The conditions of the launches.
    Conditions(Warning),
    /// What is to be known about the exported table, as a full sentence.
    ExportNote(String),
    /// The table's store cannot keep the verdicts.
    UnkeptVerdicts(GuardError),
    /// The table does not keep the verdicts, since another one has taken its place.
    ChangedTable(TableError),
    /// The table does not keep the verdicts, since its file cannot be written.
    ReadOnlyTable {
        /// The file.
        path: PathBuf,
        /// Whether any verdict is against the table's choices.
        is_refuted: bool,
    },
}
