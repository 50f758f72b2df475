//! Removal of versions that no job uses any more.

use std::path::Path;

use jiff::Timestamp;

use super::folder::VersionFolder;
use super::{DeployError, files, folder};

/// Removes those of a service's versions ([`super::ServiceRelease`]) whose digest is not in `keep` and which, by the
/// history, have not been current since the given time. The current version and versions deployed by hand stay. Returns
/// the number of removed versions.
///
/// # Errors
/// [`DeployError::Busy`]; files that cannot be read or removed. A version is removed as a whole.
pub fn prune_versions(
    folder: &Path,
    since: Timestamp,
    keep: &[&str],
) -> Result<usize, DeployError> {
    let versions = VersionFolder::open_own(folder)?;
    let current = versions.current_version()?;
    let in_use = versions
        .read_history()?
        .current_since(since, current.as_deref());
    let mut removed = 0;
    for version in folder::list_versions(folder)? {
        let path = version.folder.join(files::DIGEST);
        let Ok(digest) = ::files::read_text(&path) else {
            continue;
        };
        let is_kept = keep.contains(&digest.trim_end());
        if version.current || is_kept || in_use.contains(&version.name) {
            continue;
        }
        versions.versions.remove_version(&version.name)?;
        removed += 1;
    }
    Ok(removed)
}
