//! Jobs of a batch system.

use std::ffi::OsString;

use super::{Installation, Job, LaunchError, Launcher, Running};
use crate::BatchOptions;

/// Starts programs with one MPI library in jobs of a batch system.
///
/// One allocation serves several launches, one after the other, as long as its wall time allows.
#[derive(Debug)]
pub struct BatchLauncher {
    installation: Installation,
    options: BatchOptions,
    /// Of the campaign; jobs are called after it.
    name: String,
    path: OsString,
}

impl BatchLauncher {
    /// A launcher for the library of this installation, whose files are the same on all nodes.
    /// The batch system's commands are looked for on `path`, the value of `$PATH`.
    pub fn new(
        installation: Installation,
        options: BatchOptions,
        name: String,
        path: OsString,
    ) -> Self {
        Self {
            installation,
            options,
            name,
            path,
        }
    }

    /// The script that would be submitted for a job.
    ///
    /// # Errors
    /// A template that cannot be read or rendered.
    pub fn render(&self, job: &Job) -> Result<String, LaunchError> {
        let _ = (
            job,
            &self.installation,
            &self.options,
            &self.name,
            &self.path,
        );
        unimplemented!()
    }
}

impl Launcher for BatchLauncher {
    fn start(&self, job: &Job) -> Result<Box<dyn Running>, LaunchError> {
        self.render(job)?;
        unimplemented!()
    }

    fn outlives(&self) -> bool {
        true
    }
}
