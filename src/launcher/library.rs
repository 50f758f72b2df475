//! Which MPI library is measured.

use std::path::PathBuf;

use libraries::LibraryName;

/// Which MPI library a campaign is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LibraryChoice {
    /// The library; absent for whichever is found.
    pub name: Option<LibraryName>,
    /// The version that must be found; absent for any.
    pub version: Option<String>,
    /// Its mpirun or mpiexec; absent to look for it.
    pub launcher: Option<PathBuf>,
}
