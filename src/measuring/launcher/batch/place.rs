//! The paths of the files of a launch.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf, absolute};
use std::time::{Duration, UNIX_EPOCH};

use sha2::{Digest, Sha256};

use super::order::{self, JobFolder};
use crate::BatchSystem;
use crate::{Job, LaunchError, Submission};

/// The files of a launch, by absolute paths, since jobs run in other directories. All are beside the plan, and begin
/// with the launch's number, as the plan does.
pub(super) struct LaunchFiles {
    pub(super) launches: PathBuf,
    pub(super) number: String,
    pub(super) driver: String,
    pub(super) log: PathBuf,
    plan: String,
}

impl LaunchFiles {
    pub(super) fn for_job(job: &Job) -> Result<Self, LaunchError> {
        let full = |path: &Path| {
            absolute(path).map_err(|source| LaunchError::for_file("find", path, source))
        };
        let plan = full(&job.plan)?;
        let name = plan.file_name().unwrap_or_default().to_string_lossy();
        let number = name.split('.').next().unwrap_or_default().to_owned();
        Ok(Self {
            launches: plan.parent().unwrap_or(Path::new("/")).to_owned(),
            number,
            driver: path_without_line_breaks(full(&job.driver)?)?,
            log: full(&job.log)?,
            plan: path_without_line_breaks(plan)?,
        })
    }

    /// Orders the launch from a job.
    pub(super) fn order_launch(
        &self,
        folder: &JobFolder,
        limit: Option<Duration>,
    ) -> Result<(), LaunchError> {
        folder.write_order(
            &self.number,
            &self.plan,
            &path_without_line_breaks(self.log.clone())?,
            limit,
        )
    }

    /// The folder of the first job that begins with this launch.
    pub(super) fn first_folder(&self) -> JobFolder {
        JobFolder::for_nth_job(&self.launches, &self.number, 1)
    }

    /// The folder of the last job that began with this launch.
    pub(super) fn last_folder(&self) -> Option<JobFolder> {
        let folders =
            (1..).map(|count| JobFolder::for_nth_job(&self.launches, &self.number, count));
        folders.take_while(|folder| folder.path().is_dir()).last()
    }

    /// The name of a folder's job in the queue; the path of the folder makes it unique.
    pub(super) fn job_name(
        &self,
        system: &dyn BatchSystem,
        campaign: &str,
        folder: &JobFolder,
    ) -> String {
        let path = folder.path().as_os_str().as_encoded_bytes();
        let mark = files::hexadecimal(&Sha256::digest(path)[..4]);
        system.job_name(campaign, &self.number, &mark)
    }

    fn record_path(&self) -> PathBuf {
        self.launches.join(format!("{}.job.json", self.number))
    }

    /// Records the job that carries out the launch.
    pub(super) fn record_submission(&self, submission: &Submission) -> Result<(), LaunchError> {
        submission.write_to(&self.record_path())
    }

    /// The job that carries out the launch, if it was recorded.
    pub(super) fn read_submission(&self) -> Result<Option<Submission>, LaunchError> {
        Submission::read_from(&self.record_path())
    }
}

impl Submission {
    pub(crate) fn write_to(&self, path: &Path) -> Result<(), LaunchError> {
        let text = serde_json::to_string_pretty(self).map_err(|error| LaunchError::Record {
            path: path.to_owned(),
            message: error.to_string(),
        })?;
        order::write_atomically(path, &text)
    }

    /// Reads a submission; `None` if there is no such file.
    pub(crate) fn read_from(path: &Path) -> Result<Option<Self>, LaunchError> {
        let json = match files::read_text(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(LaunchError::for_file("read", path, source)),
        };
        let refused = |message| LaunchError::Record {
            path: path.to_owned(),
            message,
        };
        let read: Self = serde_json::from_str(&json).map_err(|error| refused(error.to_string()))?;
        // They become arguments of the batch system's commands.
        for (key, text) in [("id", Some(&read.id)), ("cluster", read.cluster.as_ref())] {
            if let Some(text) = text.filter(|text| !is_argument(text)) {
                let text = files::quoted(text, files::MOST_QUOTED);
                return Err(refused(format!("{key}: `{text}` is none of a job")));
            }
        }
        Ok(Some(read))
    }
}

/// Whether a text can be one argument of a command without being taken for an option.
fn is_argument(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('-') && text.chars().all(|c| c.is_ascii_graphic())
}

/// The modification time of a file, in seconds since 1970.
pub(super) fn modification_time(path: &Path) -> u64 {
    let changed = fs::metadata(path).and_then(|meta| meta.modified());
    let since = changed
        .ok()
        .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_secs())
}

/// A path without line breaks, as text.
fn path_without_line_breaks(path: PathBuf) -> Result<String, LaunchError> {
    let text = utf8_text(path.into())?;
    if text.contains('\n') {
        Err(LaunchError::NotText { what: text.into() })
    } else {
        Ok(text)
    }
}

pub(super) fn utf8_text(word: OsString) -> Result<String, LaunchError> {
    word.into_string()
        .map_err(|what| LaunchError::NotText { what })
}

/// The name of a variable, if shells allow it.
pub(super) fn variable_name(name: &OsStr) -> Result<String, LaunchError> {
    let name = utf8_text(name.to_owned())?;
    if is_variable(&name) {
        Ok(name)
    } else {
        Err(LaunchError::NotText { what: name.into() })
    }
}

/// Whether shells allow a variable of this name.
pub fn is_variable(name: &str) -> bool {
    let usable = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.starts_with(|c: char| c.is_ascii_digit()) && !name.is_empty() && name.chars().all(usable)
}
