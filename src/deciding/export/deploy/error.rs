//! The errors of deployment.

use std::io;
use std::path::{Path, PathBuf};

use explained::Explained;
use table::{Lack, TableError, Withheld};
use thiserror::Error;
use vocabulary::{ErrorKind, Library, quote_for_shell};

use crate::ExportError;

/// An error of deploying a table, or of using a folder.
#[derive(Debug, Error, Explained)]
#[non_exhaustive]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum DeployError {
    /// Some rules are simulated, or fresh launches have not confirmed them.
    #[error(
        "the table has rules that are not confirmed by fresh launches on a real machine:{}",
        list_withheld(withheld)
    )]
    #[kind(No)]
    #[help(
        "{}; `--confirmed-only` leaves them to the library's default, `--unconfirmed` deploys them as they are",
        remedy_for_withheld(withheld)
    )]
    Unconfirmed { withheld: Vec<Withheld> },
    /// No rule is left.
    #[error("no rule of the table can be deployed{}", describe_reasons(withheld))]
    #[kind(No)]
    #[help(
        if withheld.is_empty(),
        "the library's default is best everywhere in this table: there is nothing to do"
    )]
    #[help(
        if withheld.iter().all(|rule| rule.lack.is_numerical()),
        "{}",
        remedy_for_withheld(withheld)
    )]
    #[help(
        "{}; `--unconfirmed` and `--min-confidence` deploy it as it is",
        remedy_for_withheld(withheld)
    )]
    Nothing { withheld: Vec<Withheld> },
    /// All rules need colltune inside the program.
    #[error("the table has no rule for the settings of {library} itself")]
    #[kind(No)]
    #[help(
        "let programs decide by the table themselves with `--preload`, or measure the library's own algorithms, with \
         `native:*` among the `candidates`"
    )]
    NothingForLibrary { library: Library },
    /// An error of the library's format.
    #[error(transparent)]
    #[kind(transparent)]
    #[help(transparent)]
    Export(#[from] ExportError),
    /// The deployed table cannot be read back; a defect of this crate.
    #[error("the table as deployed cannot be read: {0}")]
    #[kind(Internal)]
    Table(Box<TableError>),
    /// No version has a table that can be read.
    #[error("no table in {} can be read: {source}", folder.display())]
    #[kind(Input)]
    #[help("remove the link `current`, and deploy a table")]
    NoTable {
        folder: PathBuf,
        source: Box<TableError>,
    },
    /// A name that is part of the name of the version's folder.
    #[error("{field}: it has {bytes} bytes, and {most} at most can be part of a folder's name")]
    #[kind(Input)]
    #[help("shorten it in the table")]
    LongName {
        /// `name` or `provenance.date`.
        field: &'static str,
        bytes: usize,
        most: usize,
    },
    /// A path that an environment file cannot contain.
    #[error("{} cannot be written into an environment file: it {reason}", path.display())]
    #[kind(Input)]
    #[help("name another folder")]
    Path { path: PathBuf, reason: &'static str },
    /// Another process deploys there.
    #[error("another colltune is deploying to {}", folder.display())]
    #[kind(Environment)]
    #[help("wait for it and try again")]
    Busy { folder: PathBuf },
    /// Another account could redirect what is written.
    #[error(transparent)]
    #[kind(Input)]
    #[help(transparent)]
    Untrusted(#[from] files::UntrustedFolder),
    /// Something that `deploy` did not create has the name of the link.
    #[error("`deploy` did not create {}: {reason}", path.display())]
    #[kind(Input)]
    #[help(
        "name another folder with `--to`, or remove it; `colltune deploy --withdraw --to FOLDER` replaces a link \
         `current` whose version was removed, and jobs that read it go on"
    )]
    NotOurs { path: PathBuf, reason: String },
    /// The folder for one library and type of node is to have a table for another one.
    #[error("{} has the tables for {holds}, and this table is for {given}", folder.display())]
    #[kind(Input)]
    #[help(
        "`--to {}` finds or makes the folder for the table; `--replace` deploys it here all the same",
        quote_for_shell(&folder.parent().unwrap_or(folder).to_string_lossy())
    )]
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
    #[kind(Input)]
    #[help(
        "`--replace` deploys this table in its place; `colltune deploy --withdraw --to FOLDER` lets the library \
         decide"
    )]
    UnknownTarget {
        version: PathBuf,
        source: Box<TableError>,
    },
    /// A version never changes, so no other one is deployed into it.
    #[error("{} is a version of a deployed table, and not a folder of versions", version.display())]
    #[kind(Input)]
    #[help("`--to` names the folder above it")]
    InVersion { version: PathBuf },
    /// A version whose files have changed since it was written.
    #[error("{file} of the version {} was changed or removed after deploying", folder.display())]
    #[kind(Input)]
    #[help(
        "restore the file, or deploy the table under another `name`; leave the version where it is, as jobs may use \
         it"
    )]
    Altered { folder: PathBuf, file: String },
    /// Nothing is deployed.
    #[error("no version is current in {}", folder.display())]
    #[kind(No)]
    #[help("there is nothing to take back: `--to` names the folder of versions")]
    NothingDeployed { folder: PathBuf },
    /// Nothing was deployed before.
    #[error("no version was current in {} before this one", folder.display())]
    #[kind(No)]
    #[help(
        "`colltune deploy --withdraw --to FOLDER` lets the library decide again; `colltune deploy --list --to \
         FOLDER` lists the existing versions"
    )]
    NothingBefore { folder: PathBuf },
    /// The version to go back to was removed.
    #[error(
        "the version that was current before, {version}, is no longer in {}",
        folder.display()
    )]
    #[kind(No)]
    #[help(
        "deploy the `table.yaml` of a version that `colltune deploy --list --to FOLDER` shows; `colltune deploy \
         --withdraw --to FOLDER` lets the library decide"
    )]
    Gone { version: String, folder: PathBuf },
    /// A file or folder that cannot be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    #[kind(Input)]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl DeployError {
    /// Makes an I/O error the error of a file.
    pub(super) fn for_file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }
}

/// The remedy for withheld rules. All rules of a simulated machine fail the same requirement.
fn remedy_for_withheld(withheld: &[Withheld]) -> &'static str {
    let lacks = |lack| withheld.iter().any(|withheld| withheld.lack == lack);
    if lacks(Lack::Measurement) {
        "simulated machines are for experiments: tune on the machine itself"
    } else if lacks(Lack::Confirmation) {
        "`colltune validate --confirm` measures them in fresh launches"
    } else if withheld
        .iter()
        .any(|rule| matches!(rule.lack, Lack::Confidence(_)))
    {
        "more `launches` in the campaign raise the confidence"
    } else if withheld.iter().any(|rule| rule.lack.is_numerical()) {
        "a weaker requirement, or `--numerics none`, deploys rules whose bits depend on more"
    } else {
        "`colltune tune` measures again and chooses others"
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
