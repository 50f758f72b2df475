//! Problems with files and the database while the service runs.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use printable::Plain;

use crate::database::lock_ignoring_poison;
use crate::{Service, ServiceError};

/// Problems by subject: the disk, a channel, a file, a task, the queue. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Problems(Arc<Mutex<BTreeMap<String, String>>>);

impl Problems {
    /// Records a subject's problem, a sentence, or that it has none. A new problem is printed once to standard error.
    pub(crate) fn note_problem(&self, subject: String, problem: Option<String>) {
        let mut problems = lock_ignoring_poison(&self.0);
        let Some(problem) = problem else {
            problems.remove(&subject);
            return;
        };
        if problems.get(&subject) != Some(&problem) {
            // If standard error is closed, there is no other place to report it.
            let _ = writeln!(io::stderr(), "warning: {}", Plain(&problem));
            problems.insert(subject, problem);
        }
    }

    /// The current problems, each a sentence.
    pub(crate) fn list(&self) -> Vec<String> {
        lock_ignoring_poison(&self.0).values().cloned().collect()
    }

    /// Records that a subject cannot be written or read at the moment; the caller tries again.
    pub(crate) fn note_transient(&self, subject: String, error: &ServiceError) {
        let help = error.help().map(|help| format!("; {help}"));
        let problem = format!("{subject} waits: {error}{}", help.unwrap_or_default());
        self.note_problem(subject, Some(problem));
    }
}

impl Service {
    /// The current problems of the disk, the database and the files of channels and tables, each a sentence. Database
    /// accesses are retried until they succeed; files are repaired at the next start.
    pub fn list_problems(&self) -> Vec<String> {
        self.disk.look_for_space();
        self.problems.list()
    }
    /// Records a problem of a part of the service that is outside this crate, a sentence, or that it has none.
    pub fn note_problem(&self, subject: &str, problem: Option<String>) {
        self.problems.note_problem(subject.to_owned(), problem);
    }
}
