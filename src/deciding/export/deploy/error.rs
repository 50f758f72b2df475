//! The errors of deployment.

use std::io;
use std::path::{Path, PathBuf};

use table::{Lack, TableError, Withheld};
use thiserror::Error;
use vocabulary::{ErrorKind, Library, quote_for_shell};

use crate::ExportError;

/// An error of deploying a table, or of using a folder.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum DeployError {
    /// Some rules are simulated, or fresh launches have not confirmed them.
    #[error(
        "the table has rules that are not confirmed by fresh launches on a real machine:{}",
        list_withheld(withheld)
    )]
    Unconfirmed { withheld: Vec<Withheld> },
    /// No rule is left.
    #[error("no rule of the table can be deployed{}", describe_reasons(withheld))]
    Nothing { withheld: Vec<Withheld> },
    /// All rules need colltune inside the program.
    #[error("the table has no rule for the settings of {library} itself")]
    NothingForLibrary { library: Library },
    /// An error of the library's format.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The deployed table cannot be read back; a defect of this crate.
    #[error("the table as deployed cannot be read: {0}")]
    Table(Box<TableError>),
    /// No version has a table that can be read.
    #[error("no table in {} can be read: {source}", folder.display())]
    NoTable {
        folder: PathBuf,
        source: Box<TableError>,
    },
    /// A name that is part of the name of the version's folder.
    #[error("{field}: it has {bytes} bytes, and {most} at most can be part of a folder's name")]
    LongName {
        /// `name` or `provenance.date`.
        field: &'static str,
        bytes: usize,
        most: usize,
    },
    /// A path that an environment file cannot contain.
    #[error("{} cannot be written into an environment file: it {reason}", path.display())]
    Path { path: PathBuf, reason: &'static str },
    /// Another process deploys there.
    #[error("another colltune is deploying to {}", folder.display())]
    Busy { folder: PathBuf },
    /// Another account could redirect what is written.
    #[error(transparent)]
    Untrusted(#[from] files::UntrustedFolder),
    /// Something that `deploy` did not create has the name of the link.
    #[error("`deploy` did not create {}: {reason}", path.display())]
    NotOurs { path: PathBuf, reason: String },
    /// The folder for one library and type of node is to have a table for another one.
    #[error("{} has the tables for {holds}, and this table is for {given}", folder.display())]
    OtherTarget {
        folder: PathBuf,
        /// A library and a type of node.
        holds: String,
        given: String,
    },
    /// It is not known which library and type of node the current version is for.
    #[error(
        "the table of the version {} cannot be read, so it is not known what jobs with it would lose: {source}",
        version.display()
    )]
    UnknownTarget {
        version: PathBuf,
        source: Box<TableError>,
    },
    /// A version never changes, so no other one is deployed into it.
    #[error("{} is a version of a deployed table, and not a folder of versions", version.display())]
    InVersion { version: PathBuf },
    /// A version whose files have changed since it was written.
    #[error("{file} of the version {} was changed or removed after deploying", folder.display())]
    Altered { folder: PathBuf, file: String },
    /// Nothing is deployed.
    #[error("no version is current in {}", folder.display())]
    NothingDeployed { folder: PathBuf },
    /// Nothing was deployed before.
    #[error("no version was current in {} before this one", folder.display())]
    NothingBefore { folder: PathBuf },
    /// The version to go back to was removed.
    #[error(
        "the version that was current before, {version}, is no longer in {}",
        folder.display()
    )]
    Gone { version: String, folder: PathBuf },
    /// A file or folder that cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl DeployError {
    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unconfirmed { .. }
            | Self::Nothing { .. }
            | Self::NothingForLibrary { .. }
            | Self::NothingDeployed { .. }
            | Self::NothingBefore { .. }
            | Self::Gone { .. } => ErrorKind::No,
            Self::Export(error) => error.kind(),
            Self::Busy { .. } => ErrorKind::Environment,
            Self::Table(_) => ErrorKind::Internal,
            _ => ErrorKind::Input,
        }
    }

    /// Makes an I/O error the error of a file.
    pub(super) fn for_file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }

    /// A remedy, as a sentence without a full stop.
    pub fn help(&self) -> Option<String> {
        let text = match self {
            Self::Unconfirmed { withheld } => {
                return Some(format!(
                    "{}; `--confirmed-only` leaves them to the library's default, `--unconfirmed` deploys them as they \
                     are",
                    remedy_for_withheld(withheld)
                ));
            }
            Self::Nothing { withheld } if withheld.is_empty() => {
                "the library's default is best everywhere in this table: there is nothing to do"
            }
            Self::Nothing { withheld } => {
                return Some(format!(
                    "{}; `--unconfirmed` and `--min-confidence` deploy it as it is",
                    remedy_for_withheld(withheld)
                ));
            }
            Self::NothingForLibrary { .. } => {
                "let programs decide by the table themselves with `--preload`, or measure the library's \
                 own algorithms, with `native:*` among the `candidates`"
            }
            Self::Export(error) => return error.help(),
            Self::LongName { .. } => "shorten it in the table",
            Self::Path { .. } => "name another folder",
            Self::Untrusted(error) => return error.help(),
            Self::Busy { .. } => "wait for it and try again",
            Self::NotOurs { .. } => {
                "name another folder with `--to`, or remove it; `colltune deploy --withdraw --to FOLDER` replaces a link \
                 `current` whose version was removed, and jobs that read it go on"
            }
            Self::OtherTarget { folder, .. } => {
                let above = folder.parent().unwrap_or(folder).to_string_lossy();
                return Some(format!(
                    "`--to {}` finds or makes the folder for the table; `--replace` deploys it here all the same",
                    quote_for_shell(&above)
                ));
            }
            Self::UnknownTarget { .. } => {
                "`--replace` deploys this table in its place; `colltune deploy --withdraw --to FOLDER` lets the library \
                 decide"
            }
            Self::InVersion { .. } => "`--to` names the folder above it",
            Self::Altered { .. } => {
                "restore the file, or deploy the table under another `name`; leave the version where it is, as \
                 jobs may use it"
            }
            Self::NothingDeployed { .. } => {
                "there is nothing to take back: `--to` names the folder of versions"
            }
            Self::NothingBefore { .. } => {
                "`colltune deploy --withdraw --to FOLDER` lets the library decide again; `colltune deploy --list --to \
                 FOLDER` lists the existing versions"
            }
            Self::Gone { .. } => {
                "deploy the `table.yaml` of a version that `colltune deploy --list --to FOLDER` shows; `colltune deploy \
                 --withdraw --to FOLDER` lets the library decide"
            }
            Self::NoTable { .. } => "remove the link `current`, and deploy a table",
            Self::Table(_) | Self::File { .. } => return None,
        };
        Some(text.to_owned())
    }
}

/// The remedy for withheld rules. All rules of a simulated machine fail the same requirement.
fn remedy_for_withheld(withheld: &[Withheld]) -> &'static str {
    let lacks = |lack| withheld.iter().any(|withheld| withheld.lack == lack);
    if lacks(Lack::Measurement) {
        "simulated machines are for experiments: tune on the machine itself"
    } else if lacks(Lack::Confirmation) {
        "`colltune validate --confirm` measures them in fresh launches"
    } else {
        "more `launches` in the campaign raise the confidence"
    }
}

/// Each rule on its own line.
pub(super) fn list_withheld(withheld: &[Withheld]) -> String {
    let lines = withheld.iter().map(|withheld| format!("\n  {withheld}"));
    lines.collect()
}

fn describe_reasons(withheld: &[Withheld]) -> String {
    match withheld {
        [] => ": it chooses the library's default everywhere".to_owned(),
        _ => format!(":{}", list_withheld(withheld)),
    }
}
