//! The file of the records.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wire::Record;

/// Appends records, each as one line in one write, until it is closed, possibly by another thread.
#[derive(Default)]
pub(crate) struct Spool(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Unopened,
    Open(File),
    Closed,
}

impl Spool {
    /// Opens the file, unless the spool was closed before.
    pub(crate) fn open(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock_state();
        if matches!(*state, State::Unopened) {
            *state = State::Open(OpenOptions::new().create(true).append(true).open(path)?);
        }
        Ok(())
    }

    /// Appends a record; returns false if the spool is not open.
    pub(crate) fn write_record(&self, record: &Record) -> io::Result<bool> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        match &mut *self.lock_state() {
            State::Open(file) => file.write_all(&line).map(|()| true),
            State::Unopened | State::Closed => Ok(false),
        }
    }

    /// Closes the spool: nothing is written afterwards.
    pub(crate) fn close(&self) {
        *self.lock_state() = State::Closed;
    }

    /// Whether [`Self::close`] was called.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(*self.lock_state(), State::Closed)
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
