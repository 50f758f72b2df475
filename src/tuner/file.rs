//! Files that are written: where they go is looked at before the work begins.

use std::path::Path;

use crate::TunerError;

/// A file, if there is one, and what names it, as errors shall say: "`--output`", "`output.table`".
pub type Named<'a> = (&'a str, Option<&'a Path>);

/// Writes a text, as [`files::write`].
///
/// # Errors
/// [`TunerError::File`].
pub fn write(path: &Path, text: &str) -> Result<(), TunerError> {
    files::write(path, text.as_bytes()).map_err(|source| TunerError::File {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

/// Finds out whether these files could be written, before work begins that takes long; leaves nothing behind but their
/// folders.
///
/// # Errors
/// [`TunerError::Output`].
pub fn probe(outputs: &[Named<'_>]) -> Result<(), TunerError> {
    for (name, path) in present(outputs) {
        files::probe(path).map_err(|source| TunerError::Output {
            name: name.to_owned(),
            path: path.to_owned(),
            source,
        })?;
    }
    Ok(())
}

/// Refuses to write what is read, by whatever name, or a file beside a store that is read ([`store::beside`]), and to
/// write one file twice. Devices and the like, which are written to in place, may be both.
///
/// # Errors
/// [`TunerError::SameFile`].
pub fn keep_apart(outputs: &[Named<'_>], inputs: &[Named<'_>]) -> Result<(), TunerError> {
    for (place, (name, path)) in present(outputs).enumerate() {
        if files::is_special(path) {
            continue;
        }
        let mut others = present(inputs).chain(present(outputs).take(place));
        let same = |(other, file): (&str, &Path)| {
            let is_same = files::is_same(path, file).then(|| other.to_owned());
            is_same.or_else(|| beside(path, other, file))
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

/// What names `path` if it is one of the files that are kept beside `file`, were that a store.
fn beside(path: &Path, name: &str, file: &Path) -> Option<String> {
    let all = store::beside(file);
    let found = all.iter().find(|beside| files::is_same(path, beside))?;
    Some(format!("`{}` of {name}", found.file_name()?.display()))
}

fn present<'n, 'a>(files: &'n [Named<'a>]) -> impl Iterator<Item = (&'a str, &'a Path)> + 'n {
    files
        .iter()
        .filter_map(|(name, path)| Some((*name, (*path)?)))
}
