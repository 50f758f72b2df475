//! Output files, checked before the work begins.

use std::path::Path;

use crate::TunerError;

/// An optional file with the option or key that names it, for error messages: "`--output`", "`output.table`".
pub type NamedFile<'a> = (&'a str, Option<&'a Path>);

/// Writes a text by [`files::write`].
///
/// # Errors
/// [`TunerError::File`].
pub fn write_text(path: &Path, text: &str) -> Result<(), TunerError> {
    write_bytes(path, text.as_bytes())
}

/// Writes a file whose content need not be text.
///
/// # Errors
/// [`TunerError::File`].
pub fn write_bytes(path: &Path, content: &[u8]) -> Result<(), TunerError> {
    files::write(path, content).map_err(|source| TunerError::File {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

/// Checks that these files can be written, before long work begins; creates their folders.
///
/// # Errors
/// [`TunerError::Output`].
pub fn probe_outputs(outputs: &[NamedFile<'_>]) -> Result<(), TunerError> {
    for (name, path) in present_files(outputs) {
        files::check_writable(path).map_err(|source| TunerError::Output {
            name: name.to_owned(),
            path: path.to_owned(),
            source,
        })?;
    }
    Ok(())
}

/// Checks that no output is also an input, under any name, or a file beside an input that is a store
/// ([`store::files_beside`]), and that no two outputs are the same file. Special files, such as devices, are exempt.
///
/// # Errors
/// [`TunerError::SameFile`].
pub fn check_outputs_differ(
    outputs: &[NamedFile<'_>],
    inputs: &[NamedFile<'_>],
) -> Result<(), TunerError> {
    for (place, (name, path)) in present_files(outputs).enumerate() {
        if files::is_special(path) {
            continue;
        }
        let mut others = present_files(inputs).chain(present_files(outputs).take(place));
        let same = |(other, file): (&str, &Path)| {
            let is_same = files::is_same(path, file).then(|| other.to_owned());
            is_same.or_else(|| describe_file_beside_store(path, other, file))
        };
        if let Some(other) = others.find_map(same) {
            return Err(TunerError::SameFile {
                name: name.to_owned(),
                path: path.to_owned(),
                other,
            });
        }
    }
    Ok(())
}

/// The description of `path` if it is one of the files kept beside the store `file`.
fn describe_file_beside_store(path: &Path, name: &str, file: &Path) -> Option<String> {
    let all = store::files_beside(file);
    let found = all.iter().find(|beside| files::is_same(path, beside))?;
    Some(format!("`{}` of {name}", found.file_name()?.display()))
}

fn present_files<'n, 'a>(
    files: &'n [NamedFile<'a>],
) -> impl Iterator<Item = (&'a str, &'a Path)> + 'n {
    files
        .iter()
        .filter_map(|(name, path)| Some((*name, (*path)?)))
}
