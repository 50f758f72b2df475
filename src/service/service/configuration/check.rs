//! Checks every value of a configuration file.

use std::net::SocketAddr;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use jiff::tz::TimeZone;
use strict_yaml::{Diagnostic, Document, Field, OneOrMany};
use vocabulary::units::parse_seconds;

use super::definition::{Definition, KIND, MachineDefinition};
use super::problem::{LONGEST_SOCKET, Problem};
use super::{Configuration, Listen, ServiceMachine, Tls};

/// The most tasks of a machine that may run at once.
pub(super) const MOST_TASKS: u32 = 1000;
/// The largest limit of node-hours per month.
const MOST_NODE_HOURS: f64 = 1e9;
/// The largest age of the oldest validation that counts, and the longest time for which usage is kept, in days.
const MOST_DAYS: u32 = 3660;

/// The result of one check.
type Checked<T> = Result<T, Box<Diagnostic>>;

/// The context of a check.
struct Checker<'a> {
    document: &'a Document<'a>,
    /// The absolute folder that relative paths are relative to.
    base: PathBuf,
}

/// Reads a configuration from the text of a file in the folder `base`.
pub(super) fn read_configuration(path: &Path, text: &str, base: PathBuf) -> Checked<Configuration> {
    let document = Document::parse(&KIND, path, text)?;
    let definition: Definition = document.read_values()?;
    let checker = Checker {
        document: &document,
        base,
    };
    let folder = checker.check_folder(definition.folder.as_deref())?;
    let default = Configuration::defaults_for(folder);
    let listen = match definition.listen {
        Some(listen) => checker.parse_listen(&listen.0)?,
        None => default.listen,
    };
    let tls = definition.tls.as_ref();
    let tls = tls.map(|tls| checker.check_tls(tls, &listen)).transpose()?;
    let behind_proxy = definition.behind_proxy.unwrap_or(default.behind_proxy);
    if let (Listen::Address(address), None, false) = (&listen, &tls, behind_proxy)
        && !listen.is_local()
    {
        let problem = Problem::Unencrypted { address: *address };
        return Err(document.error_at_value(&Field::from_key("listen"), problem));
    }
    let is_closed_to_others = listen.is_local() && !behind_proxy;
    Ok(Configuration {
        folder: default.folder,
        state: match definition.state {
            Some(state) => checker.resolve_path(&Field::from_key("state"), &state)?,
            None => default.state,
        },
        open_reading: definition.open_reading.unwrap_or(is_closed_to_others),
        listen,
        tls,
        behind_proxy,
        names: checker.check_names(definition.names)?,
        machines: match definition.machines {
            Some(machines) => checker.check_machines(machines)?,
            None => default.machines,
        },
        validation_days: match definition.gates.and_then(|gates| gates.validation_days) {
            Some(days) => {
                let field = Field::from_key("gates").key("validation_days");
                checker.check_count(&field, days, MOST_DAYS)?
            }
            None => default.validation_days,
        },
        longest_wall_time: match definition.longest_wall_time {
            Some(time) => checker.parse_duration("longest_wall_time", &time.0)?,
            None => default.longest_wall_time,
        },
        usage_days: match definition.usage.and_then(|usage| usage.days) {
            Some(days) => {
                let field = Field::from_key("usage").key("days");
                checker.check_count(&field, days, MOST_DAYS)?
            }
            None => default.usage_days,
        },
        time_zone: match definition.time_zone {
            Some(name) => checker.find_time_zone(&name)?,
            None => default.time_zone,
        },
        longest_outcome: default.longest_outcome,
        private_webhooks: definition
            .webhooks
            .and_then(|webhooks| webhooks.private_addresses)
            .unwrap_or(default.private_webhooks),
    })
}

impl Checker<'_> {
    fn error_at(&self, field: &Field, problem: Problem) -> Box<Diagnostic> {
        self.document.error_at_value(field, problem)
    }

    fn resolve_path(&self, field: &Field, path: &Path) -> Checked<PathBuf> {
        if path.as_os_str().is_empty() {
            Err(self.error_at(field, Problem::NoPath))
        } else {
            Ok(resolve_relative(&self.base, path))
        }
    }

    fn check_folder(&self, path: Option<&Path>) -> Checked<PathBuf> {
        let field = Field::from_key("folder");
        let path = self.resolve_path(&field, path.unwrap_or(Path::new(".")))?;
        let listed = std::fs::read_dir(&path).and_then(|_| path.canonicalize());
        listed.map_err(|error| {
            let reason = error.to_string();
            self.error_at(&field, Problem::Folder { path, reason })
        })
    }

    fn parse_listen(&self, text: &str) -> Checked<Listen> {
        let field = Field::from_key("listen");
        if let Some(path) = text.strip_prefix("unix:") {
            let path = self.resolve_path(&field, Path::new(path))?;
            let bytes = path.as_os_str().len();
            return if bytes > LONGEST_SOCKET {
                Err(self.error_at(&field, Problem::LongSocket { bytes }))
            } else {
                Ok(Listen::Socket(path))
            };
        }
        let address = text.parse::<SocketAddr>();
        address.map(Listen::Address).map_err(|_| {
            let text = text.to_owned();
            self.error_at(&field, Problem::Listen { text })
        })
    }

    fn check_tls(&self, tls: &Tls, listen: &Listen) -> Checked<Tls> {
        let field = Field::from_key("tls");
        if let Listen::Socket(_) = listen {
            return Err(self.document.error_at_key(&field, Problem::TlsOnSocket));
        }
        let file = |key, path: &Path| {
            let field = field.key(key);
            let path = self.resolve_path(&field, path)?;
            match files::open_regular(&path) {
                Ok(_) => Ok(path),
                Err(error) => {
                    let reason = error.to_string();
                    Err(self.error_at(&field, Problem::File { path, reason }))
                }
            }
        };
        Ok(Tls {
            certificate: file("certificate", &tls.certificate)?,
            key: file("key", &tls.key)?,
        })
    }

    fn check_names(&self, names: Option<OneOrMany<String>>) -> Checked<Vec<String>> {
        let names = names.map(|names| names.0).unwrap_or_default();
        match names.iter().position(|name| !is_host_name(name)) {
            Some(index) => {
                let name = names[index].clone();
                let field = Field::from_key("names").index(index);
                Err(self.error_at(&field, Problem::HostName { name }))
            }
            None => Ok(names),
        }
    }

    fn check_machines(&self, definitions: Vec<MachineDefinition>) -> Checked<Vec<ServiceMachine>> {
        let field = Field::from_key("machines");
        if definitions.is_empty() {
            return Err(self.error_at(&field, Problem::EmptyList));
        }
        let mut machines: Vec<ServiceMachine> = Vec::new();
        for (index, definition) in definitions.into_iter().enumerate() {
            let field = field.index(index);
            let machine = self.check_machine(&field, definition)?;
            if machines.iter().any(|other| other.name == machine.name) {
                let name = machine.name;
                return Err(self.error_at(&field.key("name"), Problem::SameName { name }));
            }
            machines.push(machine);
        }
        Ok(machines)
    }

    fn check_machine(
        &self,
        field: &Field,
        definition: MachineDefinition,
    ) -> Checked<ServiceMachine> {
        let name = definition.name.0;
        if !is_machine_name(&name) {
            return Err(self.error_at(&field.key("name"), Problem::Name { name }));
        }
        let mut machine = ServiceMachine::defaults_for(name);
        if let Some(patterns) = definition.campaigns {
            let field = field.key("campaigns");
            machine.campaigns = patterns.0;
            if machine.campaigns.is_empty() {
                return Err(self.error_at(&field, Problem::EmptyList));
            }
            let mut indexed_patterns = machine.campaigns.iter().enumerate();
            if let Some((index, pattern)) =
                indexed_patterns.find(|(_, pattern)| !is_within(pattern))
            {
                let pattern = pattern.clone();
                return Err(self.error_at(&field.index(index), Problem::Pattern { pattern }));
            }
        }
        if let Some(tasks) = definition.tasks {
            machine.tasks = self.check_count(&field.key("tasks"), tasks, MOST_TASKS)?;
        }
        machine.node_hours = definition.node_hours;
        machine.has_agent = definition.agent.unwrap_or_default();
        match machine.node_hours {
            // NaN is outside the range, too.
            Some(hours) if !(hours > 0.0 && hours <= MOST_NODE_HOURS) => {
                let expected = format!("a number above 0, up to {MOST_NODE_HOURS}");
                Err(self
                    .document
                    .unfit_value_error(&field.key("node_hours"), &expected))
            }
            _ => Ok(machine),
        }
    }

    fn check_count(&self, field: &Field, number: u32, most: u32) -> Checked<u32> {
        if (1..=most).contains(&number) {
            Ok(number)
        } else {
            let expected = format!("a whole number from 1 to {most}");
            Err(self.document.unfit_value_error(field, &expected))
        }
    }

    fn find_time_zone(&self, name: &str) -> Checked<TimeZone> {
        let zone = TimeZone::get(name);
        zone.map_err(|_| {
            let name = name.to_owned();
            self.error_at(&Field::from_key("time_zone"), Problem::TimeZone { name })
        })
    }

    fn parse_duration(&self, key: &str, text: &str) -> Checked<Duration> {
        let seconds = parse_seconds(text);
        let seconds =
            seconds.map_err(|error| self.error_at(&Field::from_key(key), error.into()))?;
        Ok(Duration::from_secs_f64(seconds))
    }
}

/// Resolves a path relative to a folder, without `.` and `..`.
fn resolve_relative(base: &Path, path: &Path) -> PathBuf {
    path.components().fold(base.to_owned(), |mut path, step| {
        match step {
            Component::CurDir => {}
            // `..` after a link is the parent of the link's target, not of the link.
            Component::ParentDir => {
                path = path.canonicalize().unwrap_or(path);
                path.pop();
            }
            other_step => path.push(other_step),
        }
        path
    })
}

/// Whether a text can be the name of a machine or a schedule.
pub(crate) fn is_machine_name(name: &str) -> bool {
    let is_usable = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    (1..=64).contains(&name.len()) && !name.starts_with('.') && name.chars().all(is_usable)
}

/// Whether a pattern of paths stays within the folder.
pub(super) fn is_within(pattern: &str) -> bool {
    let is_name = |component| matches!(component, Component::Normal(_));
    !pattern.is_empty() && Path::new(pattern).components().all(is_name)
}

/// Whether a text can be a host name in the `Host` header, without a port.
fn is_host_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    (1..=253).contains(&name.len()) && name.bytes().all(is_plain)
}
