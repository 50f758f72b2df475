//! What sites' files mean in terms of tables.

use libraries::LibraryName;
use schedule::Collective;

use super::guards::{size_key, sizes_in_files};
use crate::file_sizes::FileSizes;
use crate::site_files::SiteFiles;

pub(crate) const FILES: SiteFiles = SiteFiles {
    library: LibraryName::Mpich,
    sizes_of_calls,
    own_fanout: |_, _| 0,
};

/// The library's measure of the messages of a collective; `None` if no condition on it is safe.
fn sizes_of_calls(collective: Collective) -> Option<FileSizes> {
    size_key(collective).map(|_| sizes_in_files(collective))
}
