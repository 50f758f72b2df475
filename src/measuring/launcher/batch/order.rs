//! The folder through which a job gets orders and returns their outcomes.
//!
//! An order is a file `NUMBER.order`. The job claims it by renaming the file to `NUMBER.begun` and updating its time;
//! the command that gave the order withdraws it by removing the file. Only one of the two can succeed, so a job that
//! ends at that moment has either begun the launch or not. The outcome is in `NUMBER.exit`. The job creates `open` when
//! it is ready, and `closed` before it looks for orders the last time.
//! Files are found by listing their folder, since network file systems may report a new file as missing for a while.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::{LaunchError, Outcome};

/// The folder of a job, beside the plans of the launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobFolder(PathBuf);

/// The information that a ready job gives about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadyJob {
    /// The time in seconds since 1970 after which no measurement is begun.
    until: u64,
    /// Its nodes.
    pub(crate) nodes: Vec<String>,
}

/// The stage of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The job has not claimed the order; `closed` is the job's exit code once it begins no more launches.
    Waiting { closed: Option<i32> },
    /// The job has been carrying out the order since this time.
    Begun { since: SystemTime },
    /// The launch has ended.
    Ended(Outcome),
}

impl JobFolder {
    pub(crate) fn at_path(path: PathBuf) -> Self {
        Self(path)
    }

    /// The folder of the nth job that begins with a launch: `NUMBER.alloc`, then `NUMBER-2.alloc`.
    pub(super) fn for_nth_job(launches: &Path, number: &str, count: u32) -> Self {
        Self(launches.join(match count {
            1 => format!("{number}.alloc"),
            _ => format!("{number}-{count}.alloc"),
        }))
    }

    /// A new folder for the next job that begins with a launch.
    pub(crate) fn create_next(launches: &Path, number: &str) -> Result<Self, LaunchError> {
        let mut count = 1;
        loop {
            let folder = Self::for_nth_job(launches, number, count);
            match fs::create_dir(&folder.0) {
                Ok(()) => return Ok(folder),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => count += 1,
                Err(source) => return Err(LaunchError::for_file("create", &folder.0, source)),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The file in which a script lists its hosts for launchers that need it.
    pub(super) fn hosts_path(&self) -> PathBuf {
        self.0.join("hosts")
    }

    /// The output of the job.
    pub(super) fn output_path(&self) -> PathBuf {
        self.0.join("output")
    }

    pub(super) fn script_path(&self) -> PathBuf {
        self.0.join("script.sh")
    }

    /// Orders a launch with a time limit, or without one.
    pub(super) fn write_order(
        &self,
        number: &str,
        plan: &str,
        log: &str,
        limit: Option<Duration>,
    ) -> Result<(), LaunchError> {
        let seconds = limit.map_or(0, |limit| limit.as_secs().max(1));
        let text = format!("{plan}\n{log}\n{seconds}\n");
        write_atomically(&self.0.join(format!("{number}.order")), &text)
    }

    /// Withdraws an order; returns false if the job has begun it.
    pub(crate) fn withdraw_order(&self, number: &str) -> Result<bool, LaunchError> {
        let path = self.0.join(format!("{number}.order"));
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(LaunchError::for_file("remove", &path, source)),
        }
    }

    /// The stage of an order.
    pub(crate) fn read_stage(&self, number: &str) -> Result<Stage, LaunchError> {
        let names = self.file_names()?;
        let exit = format!("{number}.exit");
        if names.contains(&exit) {
            let path = self.0.join(exit);
            let text = read_file(&path)?;
            return Ok(Stage::Ended(parse_outcome(&path, &text)?));
        }
        let begun = format!("{number}.begun");
        if names.contains(&begun) {
            let path = self.0.join(begun);
            let changed = fs::metadata(&path).and_then(|meta| meta.modified());
            let since =
                changed.map_err(|source| LaunchError::for_file("look at", &path, source))?;
            return Ok(Stage::Begun { since });
        }
        let closed = if names.contains("closed") {
            Some(
                read_file(&self.0.join("closed"))?
                    .trim()
                    .parse()
                    .unwrap_or(1),
            )
        } else {
            None
        };
        Ok(Stage::Waiting { closed })
    }

    /// The job's information about itself, once it is ready.
    pub(crate) fn read_ready_job(&self) -> Option<ReadyJob> {
        let text = files::read_text(&self.0.join("open")).ok()?;
        let mut lines = text.lines();
        let until = lines.next()?.parse().ok()?;
        let nodes = lines.map(str::to_owned).collect();
        Some(ReadyJob { until, nodes })
    }

    /// The nodes of the job; empty until it is ready.
    pub(crate) fn nodes(&self) -> Vec<String> {
        self.read_ready_job()
            .map(|opened| opened.nodes)
            .unwrap_or_default()
    }

    /// Whether the job may begin a launch that needs this much time; true for a job that is not yet ready.
    pub(super) fn has_time(&self, least: Duration) -> bool {
        let closed = self
            .file_names()
            .map_or(true, |names| names.contains("closed"));
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let needed = now.unwrap_or_default() + least;
        let in_time = |opened: ReadyJob| opened.until >= needed.as_secs();
        !closed && self.read_ready_job().is_none_or(in_time)
    }

    /// Makes the job end when its orders are carried out.
    pub(super) fn request_end(&self) -> Result<(), LaunchError> {
        write_atomically(&self.0.join("finish"), "")
    }

    fn file_names(&self) -> Result<BTreeSet<String>, LaunchError> {
        let failed = |source| LaunchError::for_file("list", &self.0, source);
        let entries = fs::read_dir(&self.0).map_err(failed)?;
        entries
            .map(|entry| Ok(entry.map_err(failed)?.file_name().to_string_lossy().into()))
            .collect()
    }
}

fn parse_outcome(path: &Path, text: &str) -> Result<Outcome, LaunchError> {
    match text.trim() {
        "timeout" => Ok(Outcome::TimedOut),
        "0" => Ok(Outcome::Success),
        code => code
            .parse()
            .map(Outcome::Code)
            .map_err(|_| LaunchError::Record {
                path: path.to_owned(),
                message: format!("`{code}` is not an exit code"),
            }),
    }
}

fn read_file(path: &Path) -> Result<String, LaunchError> {
    files::read_text(path).map_err(|source| LaunchError::for_file("read", path, source))
}

/// Writes a file atomically.
pub(crate) fn write_atomically(path: &Path, text: &str) -> Result<(), LaunchError> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let failed = |source| LaunchError::for_file("write", path, source);
    fs::write(&new, text).map_err(failed)?;
    fs::rename(&new, path).map_err(failed)
}
