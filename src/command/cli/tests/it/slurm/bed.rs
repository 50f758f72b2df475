//! A real Slurm for one test, started by `scripts/virtual-slurm`.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::run::{Ran, script};

/// Two nodes of four cores and a controller, for one test, which end when this is dropped.
///
/// Half a second after [`Bed::up`] jobs can be submitted. Partitions are `debug`, of at most ten
/// minutes, and `long`.
pub(crate) struct Bed {
    pub(super) id: String,
    /// The variables that the script prints for using it, with their values.
    environment: Vec<(String, String)>,
}

impl Bed {
    /// `None`, with a message, if Slurm cannot be started here. If this process is killed, the script still ends
    /// everything.
    pub(crate) fn up() -> Option<Self> {
        let process = std::process::id().to_string();
        let (code, printed) = script(
            "virtual-slurm",
            &["up", "2", "--id", "new", "--while", &process],
        );
        match code {
            Some(0) => Some(Self::told(&printed)),
            Some(3) => {
                eprintln!("{printed}");
                testkit::require("Slurm", None)
            }
            _ => panic!("{printed}"),
        }
    }

    fn told(printed: &str) -> Self {
        let exports = printed
            .lines()
            .filter_map(|line| line.strip_prefix("export "));
        let settings = exports.flat_map(str::split_whitespace);
        let environment: Vec<(String, String)> = settings
            .filter_map(|setting| setting.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let folder = environment
            .iter()
            .find(|(name, _)| name == "SLURM_CONF")
            .map(|(_, path)| path.trim_end_matches("/slurm.conf"));
        let id = folder.unwrap().rsplit('-').next().unwrap().to_owned();
        Self { id, environment }
    }

    /// A node's name; numbers begin with 1.
    pub(crate) fn node(&self, number: u32) -> String {
        format!("colltune-{}-{number}", self.id)
    }

    /// Sets the variables that a program needs to use this Slurm, and Open MPI as root.
    pub(crate) fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.environment.iter();
        pairs.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Runs one of Slurm's commands in a folder; it is killed after 60 s.
    pub(crate) fn run(&self, folder: &Path, command: &[&str]) -> Ran {
        let output = Command::new("timeout")
            .args(["--kill-after=5", "60"])
            .args(command)
            .current_dir(folder)
            .envs(self.environment())
            .output()
            .unwrap();
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Submits a job from a folder and waits until it has ended, for at most 60 s; returns its last state. `sbatch
    /// --wait` would query the state only every few seconds.
    pub(crate) fn finish(&self, folder: &Path, sbatch: &[&str]) -> String {
        let submit = [&["sbatch", "--parsable"], sbatch].concat();
        let job = self.run(folder, &submit).good().out;
        let show = ["scontrol", "show", "job", "-o", job.trim()];
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let told = self.run(folder, &show).good().out;
            let mut fields = told.split(' ');
            let state = fields.find_map(|field| field.strip_prefix("JobState="));
            match state.unwrap() {
                "PENDING" | "CONFIGURING" | "RUNNING" | "COMPLETING" => {
                    assert!(Instant::now() < end, "never ends: {told}");
                    std::thread::sleep(Duration::from_millis(100));
                }
                ended => return ended.to_owned(),
            }
        }
    }

    /// Kills a node, `1` or `2`, with all of its processes, or the `controller`.
    pub(crate) fn kill(&self, what: &str) {
        let (code, printed) = script("virtual-slurm", &["kill", what, "--id", &self.id]);
        assert_eq!(code, Some(0), "{printed}");
    }

    /// Whether the controller has saved that jobs run on nodes. It saves its state every few seconds, and after a crash
    /// it starts jobs again unless the saved state says that they run.
    pub(super) fn saved_that_jobs_run(&self) -> bool {
        let (_, configuration) = self
            .environment()
            .find(|(name, _)| *name == "SLURM_CONF")
            .unwrap();
        let state = Path::new(configuration).with_file_name("state/job_state");
        let nodes = format!("colltune-{}-[", self.id);
        let state = std::fs::read(state).unwrap_or_default();
        state
            .windows(nodes.len())
            .any(|part| part == nodes.as_bytes())
    }

    /// Starts the killed parts again, and returns when they can be used.
    pub(crate) fn restore(&self) {
        let (code, printed) = script("virtual-slurm", &["up", "--id", &self.id]);
        assert_eq!(code, Some(0), "{printed}");
    }
}

impl Drop for Bed {
    /// Ends everything; after a failure, prints Slurm's logs first.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "{}",
                script("virtual-slurm", &["status", "--id", &self.id]).1
            );
        }
        script("virtual-slurm", &["down", "--id", &self.id]);
    }
}
