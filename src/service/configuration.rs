//! `service.yaml`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ServiceError;

/// What the service is told at its start.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// The project folder: `tuning/` with campaigns, and what these write; the working directory of tasks. Absolute.
    pub folder: PathBuf,
    /// Where the service keeps what is its own; `FOLDER/service` by default. Absolute.
    pub state: PathBuf,
    /// Where it listens, unless systemd hands it a socket.
    pub listen: Listen,
    /// The certificate, where it speaks TLS itself.
    pub tls: Option<Tls>,
    /// Whether a proxy in front of it speaks TLS.
    pub behind_proxy: bool,
    /// Whether reading needs no token. True by default on loopback and sockets.
    pub open_reading: bool,
    /// The machines that tasks run on, at least one; `local` by default.
    pub machines: Vec<Machine>,
    /// What a release must meet.
    pub gates: Gating,
    /// Nodes keep each digest that was released within this time. 7 days by default.
    pub longest_wall_time: Duration,
}

/// Where the service listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A TCP address, `127.0.0.1:7878` by default.
    Address(SocketAddr),
    /// A Unix socket.
    Socket(PathBuf),
}

/// The files of a certificate chain and its key, PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The chain.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

/// A machine that tasks run on.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its name: 1 to 64 of `a-z0-9-_.`, not beginning with `.`.
    pub name: String,
    /// Campaigns that may run on it: patterns of paths in the folder, `tuning/*.yaml` by default.
    pub campaigns: Vec<String>,
    /// Tasks of campaigns with a batch system that run at once; 1 by default. Those that measure on the service's
    /// own host always run one at a time.
    pub tasks: u32,
    /// Node-hours a calendar month (UTC) after which no new work begins; absent for no limit.
    pub node_hours: Option<f64>,
}

/// What a release must meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gating {
    /// The oldest validation of the digest that counts, in days; 30 by default.
    pub validation_days: u32,
}

impl Configuration {
    /// Reads `service.yaml`. Paths in it are relative to the file's own folder.
    ///
    /// # Errors
    /// [`ServiceError::Configuration`] with file, line, field and remedy; a file that cannot be read.
    pub fn load(path: &Path) -> Result<Self, ServiceError> {
        todo!("{path:?}")
    }

    /// The configuration of a project folder without `service.yaml`: loopback, port 7878, the machine `local`.
    ///
    /// # Errors
    /// If the folder's absolute path is not known.
    pub fn of_folder(folder: &Path) -> Result<Self, ServiceError> {
        todo!("{folder:?}")
    }

    /// A machine by its name.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`].
    pub fn machine(&self, name: &str) -> Result<&Machine, ServiceError> {
        let found = self.machines.iter().find(|machine| machine.name == name);
        found.ok_or_else(|| ServiceError::NotFound {
            kind: "machine",
            name: name.to_owned(),
        })
    }
}
