//! What a library's files say in terms of tables, for libraries of whose files tables are made.

use libraries::LibraryName;
use schedule::Collective;

use crate::file_sizes::FileSizes;
use crate::{Native, SITE_FILES};

/// The meaning of a library's files.
pub(crate) struct SiteFiles {
    pub(crate) library: LibraryName,
    /// The library's measure of the messages of a collective; `None` if it does not look at what tables call the size.
    pub(crate) sizes_of_calls: fn(Collective) -> Option<FileSizes>,
    /// The fanout that an exported file gives an algorithm without one.
    pub(crate) own_fanout: fn(Collective, &Native) -> u32,
}

/// The meaning of the files of a library, by its name.
pub(crate) fn find_site_files(library: &str) -> Option<&'static SiteFiles> {
    let known = libraries::find_library(library)?;
    SITE_FILES.iter().find(|files| files.library == known)
}
