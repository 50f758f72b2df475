//! The process that holds a lock.

use std::fmt;
use std::fs;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

/// A process that measures into a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its id on its host.
    pub pid: u32,
    /// The host's name.
    pub host: String,
    /// The time it began, by the host's clock, since the Unix epoch.
    pub since: Duration,
}

impl Holder {
    /// This process, starting now.
    pub(crate) fn this_process() -> Self {
        Self {
            pid: std::process::id(),
            host: host_name(),
            since: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default(),
        }
    }

    /// Whether it ran on this host and has ended; false for other hosts, where this is unknown.
    pub(crate) fn is_dead(&self) -> bool {
        let pid = i32::try_from(self.pid).unwrap_or(i32::MAX);
        self.host == host_name() && kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH)
    }

    /// One line, read back by [`Self::from_str`]; no two holders have the same line.
    pub(crate) fn to_line(&self) -> String {
        let since = self.since.as_nanos();
        format!("{} {} {since}\n", self.pid, self.host)
    }
}

impl FromStr for Holder {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [pid, host, since] = words[..] else {
            return Err(());
        };
        Ok(Self {
            pid: pid.parse().map_err(|_| ())?,
            host: host.to_owned(),
            since: Duration::from_nanos(since.parse().map_err(|_| ())?),
        })
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}", self.pid, self.host)?;
        let seconds = i64::try_from(self.since.as_secs()).unwrap_or(0);
        match jiff::Timestamp::from_second(seconds) {
            Ok(time) => write!(f, ", since {}", time.strftime("%Y-%m-%d %H:%M:%S UTC")),
            Err(_) => Ok(()),
        }
    }
}

/// The name of this host.
fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.split_whitespace().next() {
        Some(name) => name.to_owned(),
        None => "localhost".to_owned(),
    }
}
