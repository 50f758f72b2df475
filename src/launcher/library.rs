//! Which MPI library is measured.

use std::path::PathBuf;

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

/// An MPI library that can be launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LibraryName {
    /// Open MPI.
    OpenMpi,
    /// MPICH.
    Mpich,
}

impl LibraryName {
    /// Both, in order of preference.
    pub const ALL: [Self; 2] = [Self::OpenMpi, Self::Mpich];

    /// The name used in files: [`vocabulary::Library::name`].
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "openmpi",
            Self::Mpich => "mpich",
        }
    }
}
