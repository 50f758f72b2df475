//! Information about the MPI library: its name and version, and the algorithms that can be forced.

use crate::error::DriverError;

/// Prints the library as one JSON object.
pub(crate) fn print() -> Result<(), DriverError> {
    println!("{}", serde_json::to_string(&exec::library())?);
    Ok(())
}

/// Prints the library's own algorithms as an array of [`vocabulary::NativeAlgorithm`].
pub(crate) fn print_natives() -> Result<(), DriverError> {
    println!("{}", serde_json::to_string(&exec::natives()?)?);
    Ok(())
}
