//! A service in a temporary folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, params};
use service::{
    Actor, ChannelKey, Configuration, Digest, Release, ReleaseAction, ReleaseChannel,
    ReleaseRequest, Scope, Service, ServiceError,
};
use tempfile::TempDir;
use testkit::tables;

/// The machine of a service that is not configured.
pub(crate) const MACHINE: &str = "local";

/// A folder, and the service that uses it. It is closed by [`Bed::close`].
pub(crate) struct Bed {
    folder: TempDir,
    change: fn(&mut Configuration),
    service: Option<Arc<Service>>,
}

impl Bed {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// With another configuration.
    pub(crate) fn with(change: fn(&mut Configuration)) -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            change,
            service: None,
        }
        .opened()
    }

    /// A folder without a service.
    pub(crate) fn closed(change: fn(&mut Configuration)) -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            change,
            service: None,
        }
    }

    pub(crate) fn opened(mut self) -> Self {
        let mut configuration = Configuration::for_folder(self.folder.path()).expect("configured");
        (self.change)(&mut configuration);
        let executable = self.folder.path().join("bin/colltune");
        self.service = Some(Service::open(configuration, executable).expect("open"));
        self
    }

    pub(crate) fn close(&mut self) {
        let service = self.service.take().expect("it is open");
        assert_eq!(Arc::strong_count(&service), 1);
    }

    pub(crate) fn restarted(mut self) -> Self {
        self.close();
        self.opened()
    }

    pub(crate) fn restarted_with(mut self, change: fn(&mut Configuration)) -> Self {
        self.close();
        self.change = change;
        self.opened()
    }

    pub(crate) fn service(&self) -> &Arc<Service> {
        self.service.as_ref().expect("it is open")
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder().join("service")
    }

    /// The folder of the channel for production.
    pub(crate) fn channel(&self) -> PathBuf {
        self.state().join("channels/local/openmpi-4.1.4/production")
    }

    /// The target of its link; `None` without one.
    pub(crate) fn current(&self) -> Option<String> {
        let target = std::fs::read_link(self.channel().join("current")).ok()?;
        let digest = self.channel().join(&target).join("digest");
        let digest = std::fs::read_to_string(digest).expect("a version");
        Some(digest.trim_end().to_owned())
    }

    /// A second connection to the database.
    pub(crate) fn database(&self) -> Connection {
        Connection::open(self.state().join("service.db")).expect("a database")
    }

    /// Adds a table.
    pub(crate) fn added(&self, text: &str) -> Digest {
        let version = self.service().add_table(&publisher(), MACHINE, text);
        version.expect("taken in").digest
    }

    /// Adds a table with a validation of this moment.
    pub(crate) fn validated(&self, text: &str) -> Digest {
        let digest = self.added(text);
        self.validate(&digest, 0, 0);
        digest
    }

    /// Adds a validation of a table, made `days` days ago, with `slower` of ten points slower.
    pub(crate) fn validate(&self, digest: &Digest, days: i64, slower: u32) {
        let details = r#"{"deployment": "library"}"#;
        self.validate_with(digest, days, slower, details);
    }

    /// Adds a validation with this output of `colltune validate --json`.
    pub(crate) fn validate_with(&self, digest: &Digest, days: i64, slower: u32, details: &str) {
        let database = self.database();
        let at = jiff::Timestamp::now().as_millisecond() - days * 24 * 3_600_000;
        let task = "INSERT INTO task (kind, machine, digest, request, state, reason, actor, submitted_at) \
                    VALUES ('validate', (SELECT id FROM machine WHERE name = ?1), ?2, ?3, 'done', 'done', 'ann', ?4)";
        let request = r#"{"kind": "validate", "machine": "local"}"#;
        database
            .execute(task, params![MACHINE, digest.as_str(), request, at])
            .expect("a task");
        let validation = "INSERT INTO validation (machine, digest, task, at, slower, faster, points, details) \
                          VALUES ((SELECT id FROM machine WHERE name = ?1), ?2, last_insert_rowid(), ?3, ?4, 5, 10, ?5)";
        database
            .execute(
                validation,
                params![MACHINE, digest.as_str(), at, slower, details],
            )
            .expect("a validation");
    }

    pub(crate) fn release(&self, digest: &Digest) -> Result<Release, ServiceError> {
        self.act(ReleaseAction::Release, Some(digest), None)
    }

    pub(crate) fn act(
        &self,
        action: ReleaseAction,
        digest: Option<&Digest>,
        expected: Option<u64>,
    ) -> Result<Release, ServiceError> {
        let request = ReleaseRequest {
            reason: "a test".to_owned(),
            ..asking(action, digest)
        };
        self.service()
            .make_release(&publisher(), &production(), &request, expected)
    }
}

pub(crate) fn asking(action: ReleaseAction, digest: Option<&Digest>) -> ReleaseRequest {
    ReleaseRequest {
        digest: digest.cloned(),
        action,
        reason: String::new(),
        override_gates: false,
    }
}

pub(crate) fn production() -> ChannelKey {
    ChannelKey {
        machine: MACHINE.to_owned(),
        library: "openmpi-4.1.4".to_owned(),
        channel: ReleaseChannel::Production,
    }
}

pub(crate) fn actor(name: &str, scopes: &[Scope]) -> Actor {
    Actor {
        name: name.to_owned(),
        scopes: scopes.to_vec(),
        machines: Vec::new(),
    }
}

pub(crate) fn publisher() -> Actor {
    actor("pub", &[Scope::Read, Scope::Publish])
}

/// A table of Open MPI with one confirmed rule, which chooses this algorithm for broadcasts.
pub(crate) fn choosing(algorithm: &str) -> String {
    table("night", algorithm, "confirmed: true")
}

pub(crate) fn table(name: &str, algorithm: &str, more: &str) -> String {
    let collectives = format!(
        "  bcast:\n    message_size: bytes of one rank's vector\n    shapes:\n      - nodes: 1\n        ppn: 2\n        \
         deployment: any\n        rules:\n          - {{from: 0, candidate: 'native:bcast/{algorithm}', speedup: 2.0, \
         confidence: high, {more}}}\n"
    );
    tables::table_yaml(name, "openmpi", "4.1.4", &collectives)
}
