//! The ranks that a library's launcher starts.

use std::ffi::OsString;
use std::path::Path;

use vocabulary::{CommShape, Placement};

/// The ranks of a launch.
#[derive(Clone, Copy, Debug)]
pub struct LaunchRanks<'a> {
    /// The number of ranks and nodes.
    pub shape: CommShape,
    /// The nodes.
    pub nodes: NodeSource<'a>,
    /// Whether more ranks than cores may run.
    pub may_crowd: bool,
    /// Variables of the launcher's environment that ranks on other nodes must get too.
    pub passed_on: &'a [OsString],
}

/// The source of a launcher's nodes.
#[derive(Clone, Copy, Debug)]
pub enum NodeSource<'a> {
    /// Only this machine.
    Here,
    /// These hosts.
    Named(&'a [String], Placement),
    /// The first hosts of a file.
    File(&'a Path, Placement),
    /// The nodes of the job that the launcher runs in; launchers know the batch system by this name.
    Job(&'a str, Placement),
}

/// The version that a text begins with.
pub(crate) fn leading_version(text: &str) -> Option<String> {
    let word = text.split_whitespace().next()?;
    word.starts_with(|c: char| c.is_ascii_digit())
        .then(|| word.to_owned())
}
