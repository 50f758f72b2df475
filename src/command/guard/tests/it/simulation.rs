//! Launches on a simulated machine, without a store.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use guard::{GuardError, LaunchTimes, Measurer};
use launcher::{Job, Launcher, Outcome};
use model::{Machine, Noise};
use simulated::SimulatedLauncher;
use table::Table;
use tempfile::TempDir;
use tuner::{MeasurementContext, SearchPaths, Silent, tune_campaign};
use vocabulary::{CacheState, Candidate, Cell, Pattern, Placement, Repetition, Synchronisation};
use wire::{Plan, PlannedTask, PlannedWork, Record, WIRE_VERSION};

/// A machine with the noise of its file, and the table and the store of a campaign on it.
pub(crate) struct Tuned {
    pub(crate) folder: TempDir,
    pub(crate) table: Table,
}

fn machine_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tuning/machines/fat-tree.yaml")
}

/// Tunes two collectives on two shapes.
pub(crate) fn tuned() -> Tuned {
    let folder = TempDir::new().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let text = format!(
        "name: guarded\nconfirmation: off\nlauncher: {{simulated: {{machine: {}, seed: 7}}}}\nshapes: [4x4, 8x2]\n\
         collectives: [allreduce, bcast]\nsizes: [64, 2056, 64K, 1M]\nstrategy: exhaustive\n\
         parameters: {{block_bytes: 16K, predicted: false, radix: 4}}\nrepetitions: {{slice: 20ms}}\n\
         budget: 10h\noutput: {{store: {}, table: {}, report: {}}}\n",
        machine_file().display(),
        at("guarded.db").display(),
        at("guarded.yaml").display(),
        at("guarded.md").display()
    );
    let campaign = at("campaign.yaml");
    std::fs::write(&campaign, text).expect("written");
    let workplace =
        MeasurementContext::from_campaign_file(&campaign, None, &SearchPaths::default())
            .expect("a workplace");
    let tuned = tune_campaign(&workplace, &mut Silent, &AtomicBool::new(false)).expect("tuned");
    Tuned {
        table: tuned.table,
        folder,
    }
}

/// The machine that was tuned.
pub(crate) fn machine() -> SimulatedLauncher {
    with_noise(|noise| noise)
}

/// The same with other noise.
pub(crate) fn with_noise(change: impl FnOnce(Noise) -> Noise) -> SimulatedLauncher {
    let text = std::fs::read_to_string(machine_file()).expect("a machine");
    let mut machine = Machine::from_yaml(&text).expect("a machine");
    machine.noise = machine.noise.map(change);
    SimulatedLauncher::new(machine, Placement::Block).expect("a launcher")
}

/// Launches on a machine, with noise of a seed.
pub(crate) struct Simulation<'a> {
    pub(crate) machine: &'a SimulatedLauncher,
    pub(crate) folder: &'a Path,
    pub(crate) seed: u64,
    /// Launches so far.
    pub(crate) launches: u32,
    /// Repetitions of a candidate in a launch, at most.
    pub(crate) repetitions: u32,
}

impl Simulation<'_> {
    fn plan(&self, cells: &[(Cell, Vec<Candidate>)]) -> Plan {
        let tasks = cells
            .iter()
            .zip(0..)
            .map(|((cell, candidates), id)| PlannedTask {
                id,
                // The seed of random draws.
                round: self.launches,
                pattern: Pattern::Together,
                calls: None,
                work: PlannedWork::Compare {
                    cell: *cell,
                    candidates: candidates.clone(),
                },
            });
        Plan {
            version: WIRE_VERSION,
            campaign: "digest".to_owned(),
            launch: self.launches,
            purpose: None,
            seed: self.seed,
            library: self.machine.library().clone(),
            spool: self.folder.join("spool"),
            cores: None,
            switches: Vec::new(),
            pretended_ppn: None,
            parent_lock: None,
            deadline_seconds: None,
            watchdog_seconds: 30.0,
            repetition: Repetition {
                minimum: 10,
                maximum: self.repetitions,
                precision: 0.03,
                confidence: 0.95,
                slice_seconds: 0.05,
            },
            racing: None,
            synchronisation: Synchronisation::Barrier,
            cache: CacheState::Warm,
            tasks: tasks.collect(),
        }
    }

    /// The records that a launch writes.
    fn launch(&self, plan: &Plan) -> Vec<Record> {
        let file = self.folder.join("plan.json");
        std::fs::write(&file, serde_json::to_vec(plan).expect("JSON")).expect("written");
        // Launches append to a spool.
        let _ = std::fs::remove_file(&plan.spool);
        let job = Job {
            driver: PathBuf::new(),
            plan: file,
            ranks: 16,
            ppn: 4,
            log: self.folder.join("log"),
            environment: Vec::new(),
            timeout: None,
            begin_in: None,
            keep: false,
        };
        let mut running = self.machine.start(&job).expect("started");
        let minute = Duration::from_secs(60);
        let exit = running
            .wait_timeout(minute)
            .expect("polled")
            .expect("ended");
        assert_eq!(exit.outcome, Outcome::Success);
        let text = std::fs::read_to_string(&plan.spool).expect("a spool");
        let record = |line| serde_json::from_str(line).expect("a record");
        text.lines().map(record).collect()
    }
}

impl Measurer for Simulation<'_> {
    fn measure(
        &mut self,
        cells: &[(Cell, Vec<Candidate>)],
        launches: u32,
    ) -> Result<LaunchTimes, GuardError> {
        let mut times = LaunchTimes::default();
        for _ in 0..launches {
            self.launches += 1;
            for record in self.launch(&self.plan(cells)) {
                let Record::Done(done) = record else {
                    continue;
                };
                let (cell, candidates) = &cells[done.task as usize];
                for measured in done.measurements {
                    let candidate = candidates[measured.candidate as usize].clone();
                    let median = statistics::median(&measured.seconds).expect("repetitions");
                    let medians = times.medians.entry((*cell, candidate)).or_default();
                    medians.push((self.launches, median));
                }
            }
        }
        Ok(times)
    }
}
