//! Failures that are forgotten, so that candidates are tried again.

use store::{Lock, Store};

use crate::{MeasurementContext, TunerError};

/// Removes the library's recorded failures from the campaign's store, so that the candidates are tried again; returns
/// their number, 0 without a store.
///
/// # Errors
/// If another process measures into the store, or it cannot be written.
pub fn forget_failures(at: &MeasurementContext) -> Result<usize, TunerError> {
    let path = at.store_path();
    if !path.exists() {
        return Ok(0);
    }
    let _lock = Lock::acquire(path)?;
    Ok(Store::open(path)?.forget_failures(&at.library)?)
}
