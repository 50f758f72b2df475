//! The spool: the file of records.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use wire::Record;

use crate::error::DriverError;

/// Appends records, each as a line in a single write. Only rank 0 has a file; on other ranks writing does nothing, so
/// that all ranks run the same code.
#[derive(Clone, Debug)]
pub(crate) struct Spool {
    file: Option<Arc<Mutex<File>>>,
    path: PathBuf,
}

impl Spool {
    /// Opens the file for appending, on rank 0.
    pub(crate) fn open(path: &Path, rank: u32) -> Result<Self, DriverError> {
        let path = path.to_owned();
        if rank != 0 {
            return Ok(Self { file: None, path });
        }
        let opened = OpenOptions::new().create(true).append(true).open(&path);
        match opened {
            Ok(file) => Ok(Self {
                file: Some(Arc::new(Mutex::new(file))),
                path,
            }),
            Err(source) => Err(DriverError::Spool { path, source }),
        }
    }

    /// Appends a record.
    pub(crate) fn write_record(&self, record: &Record) -> Result<(), DriverError> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line).map_err(|source| DriverError::Spool {
            path: self.path.clone(),
            source,
        })
    }
}
