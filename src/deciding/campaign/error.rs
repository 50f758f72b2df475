//! Errors of this crate.

use std::io;
use std::path::PathBuf;

use explained::Explained;
use strict_yaml::{Diagnostic, Kind};
use thiserror::Error;

pub(crate) const CAMPAIGN: Kind = Kind {
    name: "a campaign",
    start: "begin with `name: ...`; `colltune init` writes an example",
    reference: Some("`colltune init --reference` prints every key"),
};
pub(crate) const JOB: Kind = Kind {
    name: "a job specification",
    start: "write keys such as `partition: NAME`; jobs/cluster.yaml has all",
    reference: Some("jobs/cluster.yaml has all keys"),
};

/// An error of reading a campaign.
#[derive(Debug, Error, Explained)]
#[expect(missing_docs, reason = "messages name the fields")]
pub enum CampaignError {
    /// The file cannot be read.
    #[error("cannot read the campaign `{}`: {source}", path.display())]
    #[help(
        if source.kind() == io::ErrorKind::NotFound,
        "`colltune init` writes a campaign for this machine"
    )]
    Read { path: PathBuf, source: io::Error },
    /// The file, or one that it names, is invalid; the diagnostic has the place and a remedy.
    #[error(transparent)]
    Invalid(#[from] Box<Diagnostic>),
}
