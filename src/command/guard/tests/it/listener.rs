//! A caller of whole tests, and a table that one of them finds wrong.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use guard::{GuardError, LaunchWatch, NamedSources, Sources, TestCaller, TestWarning};
use schedule::Collective;
use table::{Confidence, Rule, Table};
use tuner::{SearchPaths, Silent};
use vocabulary::{Candidate, CommShape, Parameters};

/// A caller that keeps what it is told.
#[derive(Default)]
pub(crate) struct Listener {
    pub(crate) warnings: Vec<TestWarning>,
    /// How often launches were to be watched.
    pub(crate) watched: u32,
    /// Whether launches cannot be watched.
    pub(crate) refuses: bool,
    pub(crate) stop: Arc<AtomicBool>,
}

/// The error of a [`Listener`].
#[derive(Debug)]
pub(crate) enum ListenerError {
    Guard(GuardError),
    Refused,
}

impl From<GuardError> for ListenerError {
    fn from(error: GuardError) -> Self {
        Self::Guard(error)
    }
}

impl TestCaller for Listener {
    type Error = ListenerError;

    fn warn(&mut self, warning: TestWarning) {
        let is_early = match &warning {
            TestWarning::UnreadVerdicts(_)
            | TestWarning::OtherLibrary(_)
            | TestWarning::Conditions(_) => true,
            TestWarning::UnkeptVerdicts(_)
            | TestWarning::ChangedTable(_)
            | TestWarning::ReadOnlyTable { .. } => false,
            // There are notes about the file that launches read, and about the one beside the table.
            TestWarning::ExportNote(_) => self.watched == 0,
        };
        assert_eq!(self.watched == 0, is_early, "{warning:?}");
        self.warnings.push(warning);
    }

    fn watch_launches(&mut self) -> Result<LaunchWatch, ListenerError> {
        self.watched += 1;
        if self.refuses {
            return Err(ListenerError::Refused);
        }
        Ok(LaunchWatch {
            observer: Box::new(Silent),
            stop: Arc::clone(&self.stop),
        })
    }
}

/// The campaign and the store of a table in a folder.
pub(crate) fn find_sources(folder: &Path, table: &Table) -> Sources {
    let campaign = folder.join("campaign.yaml");
    let named = NamedSources {
        campaign: Some(&campaign),
        ..NamedSources::default()
    };
    Sources::find_for_table(table, &named, &SearchPaths::default().homes).expect("sources")
}

/// A broadcast that is far slower than the default for long messages.
pub(crate) fn slow_broadcast() -> Candidate {
    Candidate::Ours {
        algorithm: "bcast/linear".to_owned(),
        parameters: Parameters::default(),
    }
}

/// Makes a table choose [`slow_broadcast`] for long messages on one shape, with more at stake than anywhere else.
pub(crate) fn spoil(table: &mut Table) -> CommShape {
    let entries = table.collectives.get_mut(&Collective::Bcast);
    let entry = &mut entries.expect("broadcasts")[0];
    entry.rules.retain(|rule| rule.from_bytes < 30_000);
    let rule = Rule::new(30_000, slow_broadcast(), Some(9.0), Confidence::High);
    entry.rules.push(rule);
    entry.shape
}
