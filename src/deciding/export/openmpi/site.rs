//! What sites' files mean in terms of tables.

use libraries::LibraryName;
use schedule::Collective;

use super::algorithms::{Measure, message_measure, required_fanout, sizes_in_files};
use crate::Native;
use crate::file_sizes::FileSizes;
use crate::site_files::SiteFiles;

pub(crate) const FILES: SiteFiles = SiteFiles {
    library: LibraryName::OpenMpi,
    sizes_of_calls,
    own_fanout,
};

/// The library's measure of the messages of a collective; `None` if it does not look at what tables call the size.
fn sizes_of_calls(collective: Collective) -> Option<FileSizes> {
    let measure = message_measure(collective);
    (measure != Measure::Nothing).then(|| sizes_in_files(collective))
}

/// The fanout that an exported file gives an algorithm without one.
fn own_fanout(collective: Collective, native: &Native) -> u32 {
    let plain = Native {
        fanout: None,
        ..native.clone()
    };
    required_fanout(collective, &plain)
}
