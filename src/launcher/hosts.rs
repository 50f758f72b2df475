//! Files that list the hosts of a cluster.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use thiserror::Error;
use vocabulary::CommShape;

/// A host file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostFileError {
    /// It cannot be read.
    #[error("cannot read the host file `{}`: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// There is no host in it.
    #[error("the host file `{}` names no host", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// There are fewer hosts in it than a shape has nodes.
    #[error(
        "impossible shape {shape}: the host file `{}` names {hosts} host{}",
        path.display(),
        if *hosts == 1 { "" } else { "s" }
    )]
    TooFew {
        /// The file.
        path: PathBuf,
        /// The hosts in it.
        hosts: u32,
        /// What is to be launched.
        shape: CommShape,
    },
}

impl HostFileError {
    /// What the user can do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Unreadable { .. } | Self::Empty { .. } => {
                "write a host a line into it, or name another file; `scripts/virtual-cluster up` \
                 makes hosts to try"
                    .to_owned()
            }
            Self::TooFew { hosts, shape, .. } => format!(
                "use at most {hosts}x{}, or add hosts to the file",
                shape.ppn
            ),
        }
    }
}

/// The hosts in a file for a launcher, in their order, each once. What follows a name on its
/// line, such as `slots=4` or `:4`, is for the launchers.
///
/// # Errors
/// A file that cannot be read or names no host.
pub fn read_hosts(path: &Path) -> Result<Vec<String>, HostFileError> {
    let text = fs::read_to_string(path).map_err(|error| HostFileError::Unreadable {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    let hosts = hosts(&text);
    if hosts.is_empty() {
        let path = path.to_owned();
        return Err(HostFileError::Empty { path });
    }
    Ok(hosts)
}

/// The first hosts of a file, as many as a shape has nodes.
///
/// # Errors
/// As for [`read_hosts`], and if there are fewer.
pub(crate) fn first_hosts(path: &Path, shape: CommShape) -> Result<Vec<String>, HostFileError> {
    let mut names = read_hosts(path)?;
    if names.len() < shape.nodes as usize {
        return Err(HostFileError::TooFew {
            path: path.to_owned(),
            hosts: u32::try_from(names.len()).unwrap_or(u32::MAX),
            shape,
        });
    }
    names.truncate(shape.nodes as usize);
    Ok(names)
}

fn hosts(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    text.lines()
        .filter_map(|line| line.split('#').next()?.split_whitespace().next())
        // An IPv6 address has several colons.
        .map(|word| match word.split_once(':') {
            Some((name, count)) if !count.contains(':') => name,
            _ => word,
        })
        .filter(|name| !name.is_empty() && seen.insert(*name))
        .map(str::to_owned)
        .collect()
}
