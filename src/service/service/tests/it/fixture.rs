//! A service in a temporary folder.

use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::Connection;
use service::{Actor, Configuration, Digest, Scope, Service, ServiceError};
use tempfile::TempDir;

/// A project's folder with the service's state in it.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path("service")
    }

    pub(crate) fn configuration(&self) -> Configuration {
        Configuration::for_folder(self.0.path()).expect("a folder")
    }

    pub(crate) fn try_open(&self) -> Result<Arc<Service>, ServiceError> {
        Service::open(self.configuration(), PathBuf::from("/nowhere/colltune"))
    }

    pub(crate) fn open(&self) -> Arc<Service> {
        self.try_open().expect("opened")
    }

    /// A connection to the database that bypasses the service.
    pub(crate) fn database(&self) -> Connection {
        Connection::open(self.state().join("service.db")).expect("a database")
    }

    /// Adds a blob without the service; only the state folder must exist.
    pub(crate) fn add_blob(&self, bytes: &[u8]) -> Digest {
        let digest = Digest::of_bytes(bytes);
        let path = self.blob(&digest);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        std::fs::write(path, bytes).expect("written");
        let row = (digest.as_str(), bytes.len() as i64);
        let insert = "INSERT INTO blob (digest, bytes, added_at) VALUES (?1, ?2, 0)";
        self.database().execute(insert, row).expect("added");
        digest
    }

    pub(crate) fn blob(&self, digest: &Digest) -> PathBuf {
        let folder = self
            .state()
            .join("blobs/sha256")
            .join(&digest.as_str()[..2]);
        folder.join(format!("{digest}.yaml"))
    }
}

/// An actor with some scopes for all machines.
pub(crate) fn actor(scopes: &[Scope]) -> Actor {
    Actor {
        name: "tester".to_owned(),
        scopes: scopes.to_vec(),
        machines: Vec::new(),
    }
}

pub(crate) fn admin() -> Actor {
    actor(&[Scope::Admin])
}
