//! What MPICH decides by itself: the table that its own file contains as text.

use std::collections::BTreeSet;
use std::path::Path;

use super::tree::{self, Node};
use crate::ExportError;

/// What a library decides by itself, and what it can be told.
#[derive(Clone, Debug)]
pub(super) struct Stock {
    /// Its own table.
    pub(super) tree: Vec<Node>,
    /// The full names of the algorithms that files may name.
    pub(super) algorithms: BTreeSet<String>,
}

/// What the table begins with; tables of compositions begin alike, but name no algorithms.
const BEGINNING: &str = "{\"collective=";

/// Finds the table in the text of a library's file, and the release that the library says it is of.
///
/// # Errors
/// [`ExportError::Read`], or [`ExportError::NoStock`] if there is no table in it, or it is another
/// release.
pub(super) fn of_file(path: &Path, version: &str) -> Result<Stock, ExportError> {
    let bytes = std::fs::read(path).map_err(|source| ExportError::Read {
        path: path.to_owned(),
        source,
    })?;
    let unknown = |reason: String| ExportError::NoStock {
        library: format!("mpich-{version}"),
        reason,
    };
    let strings = || bytes.split(|byte| *byte == 0);
    // How `MPI_Get_library_version` begins.
    let release = |string: &[u8]| {
        let text = std::str::from_utf8(string).ok()?;
        let text = text.trim_start_matches("MPICH Version:").trim();
        (text == version).then_some(())
    };
    if strings().find_map(release).is_none() {
        return Err(unknown(format!(
            "{} does not say that it is of this release",
            path.display()
        )));
    }
    let tables = strings().filter_map(|string| std::str::from_utf8(string).ok());
    let tables = tables.filter(|text| text.starts_with(BEGINNING) && text.contains("algorithm="));
    let table = tables.max_by_key(|text| text.len());
    let Some(table) = table else {
        return Err(unknown(format!(
            "there is no selection table in {}",
            path.display()
        )));
    };
    let mut tree = tree::parse(table)?;
    tree.iter_mut().for_each(tidy);
    let names = strings().filter_map(|string| std::str::from_utf8(string).ok());
    let names = names.filter_map(|text| text.strip_prefix("algorithm="));
    Ok(Stock {
        tree,
        algorithms: names.map(str::to_owned).collect(),
    })
}

/// `comm_size<N` does not do what it says; all such conditions are written with `<=`.
fn tidy(node: &mut Node) {
    if let Some((name, bound)) = node.key.split_once('<')
        && let Ok(bound @ 1..) = bound.parse::<u64>()
    {
        node.key = format!("{name}<={}", bound - 1);
    }
    node.below.iter_mut().for_each(tidy);
}
