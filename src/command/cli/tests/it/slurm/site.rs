//! A campaign on a real Slurm.

use std::ffi::OsString;
use std::fs;
use std::process::{Child, Command, ExitStatus, Output};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::Value;
use std::os::unix::process::CommandExt;

use super::bed::Bed;
use crate::answers;
use crate::run::{Place, Ran, driver_of};

/// The time limit for each step.
const PATIENCE: Duration = Duration::from_secs(90);

/// A folder with a campaign for two nodes, and a Slurm that has these.
pub(super) struct Site {
    pub(super) bed: Bed,
    pub(super) place: Place,
}

/// A small campaign that, like all campaigns, first measures the machine, then a cell.
pub(super) const CAMPAIGN: &str = "\
name: small
library: openmpi
launcher:
  slurm:
    job: {partition: debug, wall_time: 5m}
    options: [--bind-to, none]
shapes: [2x1]
collectives: [bcast]
sizes: [64]
candidates: {include: [bcast/binomial]}
parameters: {block_bytes: 16K, predicted: false}
strategy: exhaustive
repetitions: {minimum: 3, maximum: 5, slice: 1ms}
launches: 1
confirmation: off
";

/// A running colltune with its descendants, which are killed when this is dropped.
pub(super) struct Run(Option<Child>);

impl Site {
    /// `None`, with a message, without Slurm or without a measuring program.
    pub(super) fn up() -> Option<Self> {
        driver_of("openmpi")?;
        let bed = Bed::up()?;
        let place = Place::new();
        place.write("small.yaml", CAMPAIGN);
        Some(Self { bed, place })
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.place.command(args);
        for name in ["PATH", "COLLTUNE_LIBDIR", "LD_LIBRARY_PATH", "HOME"] {
            command.env(name, std::env::var_os(name).unwrap_or_default());
        }
        command.envs(self.bed.environment());
        command
    }

    pub(super) fn start(&self, args: &[&str]) -> Run {
        Run::of(self.command(args))
    }

    /// The same, with a different host name for the command.
    pub(super) fn start_on(&self, host: &str, args: &[&str]) -> Run {
        let here = self.command(args);
        let mut there = Command::new("unshare");
        let line = format!("hostname {host} && exec \"$0\" \"$@\"");
        there.args(["--uts", "sh", "-c", &line]);
        there.arg(here.get_program()).args(here.get_args());
        there.current_dir(self.place.path("")).env_clear();
        let variables = here
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        there.envs(variables.map(|(name, value)| (OsString::from(name), OsString::from(value))));
        there.stdout(std::process::Stdio::piped());
        there.stderr(std::process::Stdio::piped());
        Run::of(there)
    }

    pub(super) fn run(&self, args: &[&str]) -> Ran {
        let ran = self.start(args).end(self);
        answers::check(args, &ran.out, ran.code == Some(0));
        ran
    }

    pub(super) fn jobs(&self) -> Vec<Value> {
        let ran = self.run(&["jobs", "--json"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.json().as_array().unwrap().clone()
    }

    /// The id of the first launch's job.
    pub(super) fn id(&self) -> String {
        let id = &self.jobs()[0]["id"];
        id.as_str().unwrap().to_owned()
    }

    /// Lines of `squeue`, without jobs that have ended.
    pub(super) fn queue(&self) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let ran = self
                .bed
                .run(&self.place.path(""), &["squeue", "-h", "-o", "%i %T"]);
            if !ran.out.contains("COMPLETING") {
                return ran.out;
            }
            assert!(Instant::now() < end, "{}", ran.out);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until a launch of a campaign has stored this many measurements in its spool.
    pub(super) fn wait_for(&self, campaign: &str, launch: u32, measurements: usize) {
        let spool = format!(".colltune/{campaign}.db.launches/{launch:04}.spool");
        let spool = self.place.path(&spool);
        wait_until(&format!("{measurements} measurements"), || {
            let text = fs::read_to_string(&spool).unwrap_or_default();
            text.matches("\"record\":\"done\"").count() >= measurements
        });
    }

    /// Process ids of ranks of this site's campaigns, on both nodes.
    pub(super) fn ranks(&self) -> Vec<Pid> {
        let folder = self.place.path("").display().to_string();
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let is_rank = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            let program = line.split('\0').next().unwrap_or_default();
            program.ends_with("/colltune-driver") && line.contains(&folder)
        };
        processes
            .filter_map(|entry| entry.file_name().to_string_lossy().parse().ok())
            .filter(is_rank)
            .map(Pid::from_raw)
            .collect()
    }
}

pub(super) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "{what}: this never happened");
        std::thread::sleep(Duration::from_millis(50));
    }
}

impl Run {
    fn of(mut command: Command) -> Self {
        Self(Some(command.process_group(0).spawn().unwrap()))
    }

    fn child(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }

    pub(super) fn signal(&mut self, signal: Signal) {
        let pid = i32::try_from(self.child().id()).unwrap();
        kill(Pid::from_raw(pid), signal).unwrap();
    }

    fn ended(&mut self) -> Option<ExitStatus> {
        self.child().try_wait().unwrap()
    }

    /// Waits for its end.
    pub(super) fn end(mut self, site: &Site) -> Ran {
        wait_until("colltune ends", || self.ended().is_some());
        let child = self.0.take().unwrap();
        let Output {
            status,
            stdout,
            stderr,
        } = child.wait_with_output().unwrap();
        Ran {
            code: status.code(),
            out: site.place.anonymous(&stdout),
            err: site.place.anonymous(&stderr),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let pid = i32::try_from(child.id()).unwrap();
            let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
            let _ = child.wait();
        }
    }
}
