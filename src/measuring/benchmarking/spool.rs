//! The spool: the file to which a measuring program appends records.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;
use wire::Record;

/// Appends records, each as a line in a single write, so that a reader sees whole lines and a program that is killed
/// leaves at most one that is not. Clones append to the same file.
#[derive(Clone, Default)]
pub struct Spool(Arc<Mutex<State>>);

#[derive(Default)]
enum State {
    /// Records are dropped: as on ranks other than 0, which run the same code.
    #[default]
    Unopened,
    Open {
        output: Box<dyn Write + Send>,
        /// The file's path, for errors.
        path: PathBuf,
    },
    Closed,
}

/// An error of writing a record.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum SpoolError {
    /// The record has no JSON.
    #[error("cannot write a record: {0}")]
    Encode(#[from] serde_json::Error),
    /// The file could not be opened or written.
    #[error("cannot append to the spool {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// Another thread has closed the spool: the launch is over.
    #[error("the spool is closed")]
    Closed,
}

impl Spool {
    /// Lets records go to a file, which `open` opens for appending. A spool that was closed before stays closed.
    ///
    /// # Errors
    /// [`SpoolError::Write`].
    pub fn open_with<W: Write + Send + 'static>(
        &self,
        path: &Path,
        open: impl FnOnce(&Path) -> io::Result<W>,
    ) -> Result<(), SpoolError> {
        let mut state = self.lock_state();
        if matches!(*state, State::Unopened) {
            let output = open(path).map_err(|source| SpoolError::Write {
                path: path.to_owned(),
                source,
            })?;
            *state = State::Open {
                output: Box::new(output),
                path: path.to_owned(),
            };
        }
        Ok(())
    }

    /// Appends a record, if the spool was opened.
    ///
    /// # Errors
    /// [`SpoolError`].
    pub fn write_record(&self, record: &Record) -> Result<(), SpoolError> {
        match &mut *self.lock_state() {
            State::Unopened => Ok(()),
            State::Closed => Err(SpoolError::Closed),
            State::Open { output, path } => {
                let mut line = serde_json::to_vec(record)?;
                line.push(b'\n');
                output.write_all(&line).map_err(|source| SpoolError::Write {
                    path: path.clone(),
                    source,
                })
            }
        }
    }

    /// Closes the spool: nothing is written afterwards.
    pub fn close(&self) {
        *self.lock_state() = State::Closed;
    }

    /// Whether [`Self::close`] was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(*self.lock_state(), State::Closed)
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &*self.lock_state() {
            State::Unopened => "unopened".to_owned(),
            State::Closed => "closed".to_owned(),
            State::Open { path, .. } => path.display().to_string(),
        };
        f.debug_tuple("Spool").field(&state).finish()
    }
}
