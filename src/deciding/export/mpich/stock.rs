//! MPICH's own decisions: the table that its library file contains as text.

use std::collections::BTreeSet;
use std::path::Path;

use super::tree::{self, TreeNode};
use crate::ExportError;

/// A library's own decisions, and the algorithms that it can be given.
#[derive(Clone, Debug)]
pub(super) struct Stock {
    /// Its own table.
    pub(super) tree: Vec<TreeNode>,
    /// The full names of the algorithms that files can name.
    pub(super) algorithms: BTreeSet<String>,
}

/// The beginning of the table; tables of compositions begin alike, but name no algorithms.
const BEGINNING: &str = "{\"collective=";

/// The largest size of a library file, above that of any library with debug information.
const LARGEST: u64 = 1 << 30;

/// The prefix of the names of algorithms.
const ALGORITHM: &str = "algorithm=";

/// Finds the table in the text of a library's file, and checks the library's release.
///
/// # Errors
/// [`ExportError::Read`], or [`ExportError::NoStock`] if the file has no table, or is of another release.
pub(super) fn read_stock(path: &Path, version: &str) -> Result<Stock, ExportError> {
    let read = || files::bytes_of(&files::open_regular(path)?, LARGEST);
    let bytes = read().map_err(|source| ExportError::Read {
        path: path.to_owned(),
        source,
    })?;
    let unknown = |reason: String| ExportError::NoStock {
        library: format!("mpich-{version}"),
        reason,
    };
    let strings = || bytes.split(|byte| *byte == 0);
    // `MPI_Get_library_version` puts the version into its text like this.
    if !strings().any(|string| string == version.as_bytes()) {
        return Err(unknown(format!(
            "{} is not of this release",
            path.display()
        )));
    }
    let text = |string: &[u8]| std::str::from_utf8(string).ok().map(str::to_owned);
    let tables = strings().filter(|string| string.starts_with(BEGINNING.as_bytes()));
    let tables = tables.filter_map(text);
    let tables = tables.filter(|table| table.contains(ALGORITHM));
    let table = tables.max_by_key(String::len);
    let Some(table) = table else {
        return Err(unknown(format!(
            "there is no selection table in {}",
            path.display()
        )));
    };
    let mut tree = tree::parse_selection(&table)?;
    tree.iter_mut().for_each(repair_conditions);
    let names = strings().filter_map(|string| string.strip_prefix(ALGORITHM.as_bytes()));
    Ok(Stock {
        tree,
        algorithms: names.filter_map(text).collect(),
    })
}

/// Rewrites `comm_size<N`, which is broken, with `<=`.
fn repair_conditions(node: &mut TreeNode) {
    if let Some((name, bound)) = node.key.split_once('<')
        && let Ok(bound @ 1..) = bound.parse::<u64>()
    {
        node.key = format!("{name}<={}", bound - 1);
    }
    node.below.iter_mut().for_each(repair_conditions);
}
