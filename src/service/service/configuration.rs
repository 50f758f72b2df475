//! The configuration of a service: `service.yaml`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::tz::TimeZone;
use serde::Deserialize;

use crate::ServiceError;

mod check;
mod definition;
mod problem;

pub(crate) use check::is_machine_name;

/// The longest outcome that a service keeps with its points, in bytes.
const LONGEST_OUTCOME: usize = 256 << 10;
/// As [`LONGEST_OUTCOME`], of an agent: with it, its request is below the limit of 1 MiB on bodies.
const LONGEST_OUTCOME_PASSED_ON: usize = 900 << 10;

/// The configuration of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// The absolute path of the project folder, which contains `tuning/` with campaigns and their results. Tasks run
    /// in this folder.
    pub folder: PathBuf,
    /// The folder of the service's state; `FOLDER/service` by default. Absolute.
    pub state: PathBuf,
    /// The address to listen on, unless systemd passes a socket.
    pub listen: Listen,
    /// The certificate, if the service itself speaks TLS.
    pub tls: Option<Tls>,
    /// Whether a proxy in front of the service speaks TLS.
    pub behind_proxy: bool,
    /// Host names of the service, besides `localhost` and any IP address. Requests for other hosts are refused.
    pub names: Vec<String>,
    /// Whether reading needs no token. True by default on loopback addresses and sockets, unless a proxy is in front.
    pub open_reading: bool,
    /// The machines that tasks run on: at least one, with distinct names; `local` by default.
    pub machines: Vec<ServiceMachine>,
    /// The age in days of the oldest validation that counts for the gates of releases; 30 by default.
    pub validation_days: u32,
    /// The time for which a table stays available to nodes after it was replaced; 7 days by default.
    pub longest_wall_time: Duration,
    /// The days for which it is kept what tables did for jobs; 90 by default.
    pub usage_days: u32,
    /// The time zone of the times and windows of schedules; UTC by default.
    pub time_zone: TimeZone,
    /// The longest outcome that is kept with its points, in bytes; 256 KiB unless an agent passes outcomes on.
    pub longest_outcome: usize,
    /// Whether webhooks may lead to private addresses and be unencrypted; false by default.
    pub private_webhooks: bool,
}

/// The address at which the service listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A TCP address, `127.0.0.1:7878` by default.
    Address(SocketAddr),
    /// A Unix socket.
    Socket(PathBuf),
}

/// The files of a certificate chain and its key, PEM.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The chain.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

/// A machine that tasks run on.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceMachine {
    /// Its name: 1 to 64 characters of `a-z0-9-_.`, not beginning with `.`.
    pub name: String,
    /// Campaigns that may run on it: patterns of paths in the folder, without `..`; `tuning/*.yaml` by default.
    pub campaigns: Vec<String>,
    /// The most tasks of campaigns with a batch system that run at once; 1 by default. Tasks that measure on the
    /// service's own host always run one at a time.
    pub tasks: u32,
    /// The node-hours per calendar month (UTC) after which no new work begins; absent for no limit.
    pub node_hours: Option<f64>,
    /// Whether an agent on another host carries out its tasks; `tasks` then limits tasks of any kind, and the campaigns
    /// are those of the agent's folder.
    pub has_agent: bool,
}

impl Configuration {
    /// Reads `service.yaml`. Paths in it are relative to the file's own folder.
    ///
    /// # Errors
    /// [`ServiceError::Configuration`] with file, line, field and remedy; a file that cannot be read.
    pub fn load(path: &Path) -> Result<Self, ServiceError> {
        let text = files::read_text(path).map_err(ServiceError::on_file("read", path))?;
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let folder = canonical_folder(folder)?;
        check::read_configuration(path, &text, folder)
            .map_err(|diagnostic| ServiceError::Configuration(diagnostic.to_string()))
    }

    /// The configuration of a project folder without `service.yaml`: loopback, port 7878, the machine `local`.
    ///
    /// # Errors
    /// If there is no such folder.
    pub fn for_folder(folder: &Path) -> Result<Self, ServiceError> {
        Ok(Self::defaults_for(canonical_folder(folder)?))
    }

    /// The configuration of a service without an address, which carries out tasks of a machine for another service:
    /// the campaigns that these patterns name, and any number of tasks of batch systems, as the other service limits them.
    /// Its state is in `state`; in `FOLDER/agent` by default.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] of the machine's name or a pattern; if there is no such folder.
    pub fn for_agent(
        folder: &Path,
        state: Option<&Path>,
        machine: &str,
        campaigns: &[String],
    ) -> Result<Self, ServiceError> {
        let mut configuration = Self::for_folder(folder)?;
        if !is_machine_name(machine) {
            let problem = "has 1 to 64 characters of `a-z0-9-_.`, not beginning with `.`";
            return Err(ServiceError::invalid("machine", problem));
        }
        if let Some(wrong) = campaigns.iter().find(|pattern| !check::is_within(pattern)) {
            let pattern = files::quoted(wrong, files::MOST_QUOTED);
            let problem = format!("`{pattern}` is not a pattern of paths in the folder");
            return Err(ServiceError::invalid("campaigns", problem));
        }
        configuration.state = match state {
            Some(path) => std::path::absolute(path).map_err(ServiceError::on_file("find", path))?,
            None => configuration.folder.join("agent"),
        };
        configuration.longest_outcome = LONGEST_OUTCOME_PASSED_ON;
        configuration.machines = vec![ServiceMachine {
            campaigns: campaigns.to_vec(),
            tasks: check::MOST_TASKS,
            ..ServiceMachine::defaults_for(machine.to_owned())
        }];
        Ok(configuration)
    }

    /// The defaults for an absolute project folder.
    fn defaults_for(folder: PathBuf) -> Self {
        Self {
            state: folder.join("service"),
            folder,
            listen: Listen::Address(SocketAddr::from((Ipv4Addr::LOCALHOST, 7878))),
            tls: None,
            behind_proxy: false,
            names: Vec::new(),
            open_reading: true,
            machines: vec![ServiceMachine::defaults_for("local".to_owned())],
            validation_days: 30,
            longest_wall_time: Duration::from_secs(7 * 86_400),
            usage_days: 90,
            time_zone: TimeZone::UTC,
            longest_outcome: LONGEST_OUTCOME,
            private_webhooks: false,
        }
    }

    /// A machine by its name.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`].
    pub fn find_machine(&self, name: &str) -> Result<&ServiceMachine, ServiceError> {
        let found = self.machines.iter().find(|machine| machine.name == name);
        found.ok_or_else(|| ServiceError::not_found("machine", name))
    }
}

impl Listen {
    /// Whether only this host can connect.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Address(address) => address.ip().is_loopback(),
            Self::Socket(_) => true,
        }
    }
}

impl ServiceMachine {
    /// The defaults of a machine with this name.
    fn defaults_for(name: String) -> Self {
        Self {
            name,
            campaigns: vec!["tuning/*.yaml".to_owned()],
            tasks: 1,
            node_hours: None,
            has_agent: false,
        }
    }
}

/// The absolute path of a folder that exists, without links.
fn canonical_folder(folder: &Path) -> Result<PathBuf, ServiceError> {
    let listed = std::fs::read_dir(folder).and_then(|_| folder.canonicalize());
    listed.map_err(ServiceError::on_file("open the folder", folder))
}
