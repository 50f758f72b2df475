//! What is wrong with files and database while the service goes on.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use crate::{Service, ServiceError};

/// Problems by what they concern: a channel, a file, a task, the queue.
#[derive(Debug, Default)]
pub(crate) struct Problems(Mutex<BTreeMap<String, String>>);

impl Problems {
    /// Notes what is wrong, a sentence, or that nothing is any more. A new problem is told on standard error, once.
    pub(crate) fn note(&self, subject: String, problem: Option<String>) {
        let mut problems = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(problem) = problem else {
            problems.remove(&subject);
            return;
        };
        if problems.get(&subject) != Some(&problem) {
            // Without standard error there is no place to tell it.
            let _ = writeln!(io::stderr(), "warning: {problem}");
            problems.insert(subject, problem);
        }
    }

    /// Notes that something is not written down or read for now, and is tried again.
    pub(crate) fn note_trouble(&self, subject: String, error: &ServiceError) {
        let help = error.help().map(|help| format!("; {help}"));
        let problem = format!("{subject} waits: {error}{}", help.unwrap_or_default());
        self.note(subject, Some(problem));
    }
}

impl Service {
    /// What is wrong with the database, and with the files of channels and tables, each a sentence. What the database
    /// lacks is tried again and again; files are mended by a restart.
    pub fn problems(&self) -> Vec<String> {
        let problems = self
            .problems
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        problems.values().cloned().collect()
    }
}
