//! A folder that tables are pulled to, and a service.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use client::{ChannelAddress, Folder, PullError, Pulled, Remote};
use tempfile::TempDir;
use testkit::tables;
use testkit::web::{HttpRequest, Reply, Server, Site};

/// A time limit that is long enough for a service that works.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

/// A different table for each name.
pub(crate) fn table(name: &str) -> String {
    tables::table_yaml(
        name,
        "openmpi",
        "4.1.4",
        "  bcast:\n    message_size: bytes of one rank's vector\n    shapes:\n      - nodes: 1\n        ppn: 2\n        \
         rules:\n          - {from: 0, candidate: default, confidence: high}\n",
    )
}

pub(crate) struct Place {
    folder: TempDir,
    pub(crate) site: Site,
    pub(crate) server: Server,
}

impl Place {
    /// A service that works, except where `replace` changes its answer to a request.
    pub(crate) fn with(
        replace: impl Fn(&HttpRequest, Reply) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let site = Site::default();
        let own = site.clone();
        Self {
            folder: tempfile::tempdir().unwrap(),
            site,
            server: Server::start(move |request| replace(request, own.answer_request(request))),
        }
    }

    pub(crate) fn new() -> Self {
        Self::with(|_, reply| reply)
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().join("tables")
    }

    pub(crate) fn pull(&self) -> Result<Pulled, PullError> {
        self.pull_within(LIMIT)
    }

    pub(crate) fn pull_within(&self, limit: Duration) -> Result<Pulled, PullError> {
        pull(&self.server.url(), &self.folder(), limit)
    }

    /// The names of files that are not hidden.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.folder()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| !matches!(name.as_str(), ".lock" | ".pulled.json"))
            .collect()
    }

    /// Asserts that the folder has this table as its current one.
    #[track_caller]
    pub(crate) fn has(&self, digest: &str) {
        let current = fs::canonicalize(self.folder().join("current")).unwrap();
        assert_eq!(current.file_stem().unwrap(), digest);
        let (found, path) = Folder::last_good(&self.folder()).unwrap();
        assert_eq!(found, digest);
        table::Table::load(&path).unwrap();
    }
}

/// Pulls the channel of a service at `url`.
pub(crate) fn pull(url: &str, folder: &Path, limit: Duration) -> Result<Pulled, PullError> {
    let (url, channel) = ChannelAddress::from_url(&format!("{url}{}", Site::CHANNEL))?;
    client::pull_table(Remote::new(url, None, None)?, channel, folder, limit)
}

/// The content of a folder to which only these tables were pulled.
pub(crate) fn only(digests: &[&str]) -> BTreeSet<String> {
    let tables = digests.iter().map(|digest| format!("{digest}.yaml"));
    tables.chain(["current".to_owned()]).collect()
}
