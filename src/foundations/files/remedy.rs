//! Remedies for files that cannot be read.

use std::error::Error;
use std::io;

/// The remedy if an error, or one of its sources, is that a file is missing, a folder or not text.
#[must_use]
pub fn remedy_for(error: &(dyn Error + 'static)) -> Option<&'static str> {
    match error.downcast_ref::<io::Error>().map(io::Error::kind) {
        Some(io::ErrorKind::NotFound) => {
            Some("check the path; a relative path begins at the working directory")
        }
        Some(io::ErrorKind::IsADirectory) => Some("name a file in this folder"),
        Some(io::ErrorKind::InvalidData) => {
            Some("check that this is the right file, and convert it to UTF-8")
        }
        _ => error.source().and_then(remedy_for),
    }
}
