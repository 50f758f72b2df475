//! Host files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use explained::Explained;
use files::{MOST_QUOTED, quoted};
use printable::is_unprintable;
use thiserror::Error;
use vocabulary::CommShape;
use vocabulary::units::format_counted;

/// The longest host name in bytes (RFC 1035).
const LONGEST_NAME: usize = 255;

/// The remedy for a file without hosts.
const OTHER_FILE: &str = "write one host per line into it, or name another file; `scripts/virtual-cluster up` creates \
                          hosts for experiments";

/// An error of a host file.
#[derive(Clone, Debug, PartialEq, Eq, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
#[help(always)]
pub enum HostFileError {
    /// The file cannot be read.
    #[error("cannot read the host file `{}`: {reason}", path.display())]
    #[help("{OTHER_FILE}")]
    Unreadable { path: PathBuf, reason: String },
    /// A line begins with an invalid name.
    #[error("line {line} of the host file `{}` begins with `{name}`, which is not a host name", path.display())]
    #[help("{OTHER_FILE}")]
    Name {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The invalid name, as quoted in messages.
        name: String,
    },
    /// The file is empty.
    #[error("the host file `{}` names no host", path.display())]
    #[help("{OTHER_FILE}")]
    Empty { path: PathBuf },
    /// The file has fewer hosts than a shape has nodes.
    #[error(
        "impossible shape {shape}: the host file `{}` names {}",
        path.display(),
        format_counted(hosts, "host")
    )]
    #[help("use at most {hosts}x{}, or add hosts to the file", shape.ppn)]
    TooFew {
        path: PathBuf,
        hosts: u32,
        shape: CommShape,
    },
}

/// The hosts in a file for a launcher, in their order, without duplicates. The rest of a line, such as `slots=4` or
/// `:4`, is for the launchers.
///
/// # Errors
/// The file cannot be read, names no host, or has a line that does not begin with a host name.
pub fn read_hosts(path: &Path) -> Result<Vec<String>, HostFileError> {
    let text = files::read_text(path).map_err(|error| HostFileError::Unreadable {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    let hosts = parse_hosts(&text).map_err(|bad| HostFileError::Name {
        path: path.to_owned(),
        line: bad.line,
        name: quoted(bad.name, MOST_QUOTED),
    })?;
    if hosts.is_empty() {
        let path = path.to_owned();
        return Err(HostFileError::Empty { path });
    }
    Ok(hosts)
}

/// The first hosts of a file, one for each node of a shape.
///
/// # Errors
/// The errors of [`read_hosts`]; too few hosts.
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

/// An invalid line of a file of hosts.
struct BadLine<'t> {
    /// The number of the line, from 1.
    line: usize,
    name: &'t str,
}

/// The hosts, or the first invalid line.
fn parse_hosts(text: &str) -> Result<Vec<String>, BadLine<'_>> {
    let mut seen = BTreeSet::new();
    let mut hosts = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let words = line.split('#').next().unwrap_or_default();
        let Some(word) = words.split_whitespace().next() else {
            continue;
        };
        // An IPv6 address has several colons.
        let name = match word.split_once(':') {
            Some((name, count)) if !count.contains(':') => name,
            _ => word,
        };
        if name.len() > LONGEST_NAME || name.contains(is_unprintable) {
            return Err(BadLine { line: number, name });
        }
        if !name.is_empty() && seen.insert(name) {
            hosts.push(name.to_owned());
        }
    }
    Ok(hosts)
}
