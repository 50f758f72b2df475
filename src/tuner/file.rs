//! Writing files so that nothing is ever half-written.

use std::io::Write;
use std::path::Path;

use crate::TunerError;

/// Writes a temporary file beside `path` and renames it; the folder is created if it is missing.
///
/// # Errors
/// [`TunerError::File`]; what stood at `path` before still does.
pub fn write_atomically(path: &Path, content: &str) -> Result<(), TunerError> {
    let failed = |action, source| TunerError::File {
        action,
        path: path.to_owned(),
        source,
    };
    let folder = folder_of(path);
    std::fs::create_dir_all(folder).map_err(|source| failed("create the folder of", source))?;
    let mut file = tempfile::Builder::new()
        .prefix(".colltune-")
        .permissions(ordinary_permissions())
        .tempfile_in(folder)
        .map_err(|source| failed("write", source))?;
    file.write_all(content.as_bytes())
        .and_then(|()| file.as_file().sync_all())
        .map_err(|source| failed("write", source))?;
    file.persist(path)
        .map_err(|error| failed("write", error.error))?;
    Ok(())
}

/// Finds out whether a file could be written, and leaves nothing behind but its folder.
pub(crate) fn probe(path: &Path) -> Result<(), TunerError> {
    let failed = |action, source| TunerError::File {
        action,
        path: path.to_owned(),
        source,
    };
    let folder = folder_of(path);
    std::fs::create_dir_all(folder).map_err(|source| failed("create the folder of", source))?;
    tempfile::tempfile_in(folder).map_err(|source| failed("write", source))?;
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Those of any new file, before the process's mask: temporary files are private otherwise.
fn ordinary_permissions() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}
