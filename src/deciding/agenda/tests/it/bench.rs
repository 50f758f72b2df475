//! A campaign whose launches are carried out in memory: no store, no launcher, no clock.

use std::path::Path;

use agenda::{Agenda, ConfirmedPattern, History, LatestFit, NextLaunch, NextStep};
use campaign::Campaign;
use schedule::Collective;
use vocabulary::{
    Candidate, Cell, CommShape, Experiment, ExperimentKind, Library, Pattern, Purpose, Sample,
    Subject,
};
use wire::{PlannedTask, PlannedWork};

const ALPHA: f64 = 1e-6;
const BETA: f64 = 1e-9;

/// The time of a candidate in a cell, in seconds.
pub(crate) type Formula = fn(&Cell, &Candidate) -> f64;

/// A campaign, and what its launches have left so far.
pub(crate) struct Bench {
    pub(crate) campaign: Campaign,
    pub(crate) history: History,
    /// The number of launches made.
    pub(crate) launches: u32,
    latest: LatestFit,
    truth: Formula,
}

pub(crate) fn library() -> Library {
    Library {
        name: "openmpi".to_owned(),
        version: "4.1.4".to_owned(),
    }
}

/// The default takes as long as two messages a doubling; `bcast/linear` half of that up to 4 KiB and twice that from
/// there on; all others three times.
pub(crate) fn linear_is_fast_when_small(cell: &Cell, candidate: &Candidate) -> f64 {
    let default = 2.0 * f64::from(cell.shape.ranks().ilog2()) * (ALPHA + BETA * cell.bytes as f64);
    match candidate {
        Candidate::Default => default,
        _ if candidate.algorithm() != "bcast/linear" => 3.0 * default,
        _ if cell.bytes <= 4096 => 0.5 * default,
        _ => 2.0 * default,
    }
}

/// A campaign's lines, and the usual ones with other keys.
fn with_usual(lines: &str, usual: &str) -> String {
    let key = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    let given: Vec<String> = lines.lines().map(key).collect();
    let others = usual.lines().filter(|line| !given.contains(&key(line)));
    others
        .chain(lines.lines())
        .map(|line| format!("{line}\n"))
        .collect()
}

fn experiment_seconds(experiment: &Experiment) -> f64 {
    let message = ALPHA + BETA * experiment.bytes as f64;
    match experiment.kind {
        ExperimentKind::PingPong | ExperimentKind::Exchange | ExperimentKind::Shift => message,
        ExperimentKind::Burst => message - 0.5 * ALPHA,
        ExperimentKind::FanOut | ExperimentKind::FanIn => {
            ALPHA + f64::from(experiment.shape.ranks() - 1) * message
        }
        ExperimentKind::Injection => ALPHA + message,
        ExperimentKind::Late if experiment.bytes > 4096 => 1e-3 + message,
        ExperimentKind::Late => message - ALPHA,
        ExperimentKind::Combine { .. } | ExperimentKind::Copy => message - ALPHA,
    }
}

impl Bench {
    /// A campaign of `bcast` with these lines, in a store in which nothing was measured.
    pub(crate) fn new(lines: &str, truth: Formula) -> Self {
        let usual = "name: bench\nlauncher: {simulated: {seed: 3}}\ncollectives: bcast\n\
                     repetitions: {slice: 20ms}\nlaunches: 3\nbudget: 10h\n";
        let text = with_usual(lines, usual);
        Self {
            campaign: Campaign::parse_for(&text, Path::new("bench.yaml"), 4).expect("a campaign"),
            history: History {
                has_store: true,
                ..History::default()
            },
            launches: 0,
            latest: LatestFit::default(),
            truth,
        }
    }

    /// A campaign with these lines; for what they leave out, three sizes, and three candidates besides the default.
    pub(crate) fn exhaustive(lines: &str) -> Self {
        let usual = "strategy: exhaustive\nshapes: 4x1\nsizes: [1K, 64K, 1M]\n\
                     candidates: {include: [bcast/linear, bcast/binomial, bcast/chain]}\n\
                     parameters: {block_bytes: 64K, predicted: false}\n";
        Self::new(&with_usual(lines, usual), linear_is_fast_when_small)
    }

    pub(crate) fn agenda(&self) -> Agenda {
        self.agenda_after(&self.history)
    }

    pub(crate) fn agenda_after(&self, history: &History) -> Agenda {
        Agenda::with_latest_fit(&self.latest, &self.campaign, history, &library(), &[])
            .expect("an agenda")
    }

    pub(crate) fn next_step(&self) -> NextStep {
        self.agenda().next_step(&self.campaign, &self.history)
    }

    /// The next launch, which there must be.
    #[track_caller]
    pub(crate) fn next_launch(&self) -> NextLaunch {
        match self.next_step() {
            NextStep::Launch(next) => next,
            other => panic!("no launch: {other:?}"),
        }
    }

    /// Makes a launch that takes this time in all.
    pub(crate) fn carry_out(&mut self, next: &NextLaunch, seconds: f64) {
        self.carry_out_part(next, next.tasks.len(), seconds);
    }

    /// Makes a launch that ends after some of its tasks.
    pub(crate) fn carry_out_part(&mut self, next: &NextLaunch, tasks: usize, seconds: f64) {
        self.launches += 1;
        self.history.measured_launches += 1;
        for task in &next.tasks[..tasks] {
            let samples = self.measure(task);
            match next.purpose {
                Purpose::Exploring => self.history.explored.extend(samples),
                Purpose::Confirming => self.confirmed_in(task.pattern).samples.extend(samples),
            }
        }
        self.history.unfinished_tasks = match next.purpose {
            Purpose::Exploring => next.tasks[tasks..].to_vec(),
            Purpose::Confirming => Vec::new(),
        };
        let of_purpose = match next.purpose {
            Purpose::Exploring => &mut self.history.spent_exploring,
            Purpose::Confirming => &mut self.history.spent_confirming,
        };
        for spent in [of_purpose, &mut self.history.spent] {
            spent.measuring_seconds += seconds;
            spent.launch_seconds += seconds;
        }
    }

    /// Makes all launches that are left, at most 100, each in this time; returns them.
    pub(crate) fn carry_out_all(&mut self, seconds: f64) -> Vec<NextLaunch> {
        let mut made = Vec::new();
        while let NextStep::Launch(next) = self.next_step() {
            assert!(made.len() < 100, "there is no end");
            self.carry_out(&next, seconds);
            made.push(next);
        }
        made
    }

    fn confirmed_in(&mut self, pattern: Pattern) -> &mut ConfirmedPattern {
        let confirmed = &mut self.history.confirmed;
        let known = confirmed.iter().position(|known| known.pattern == pattern);
        let index = known.unwrap_or_else(|| {
            confirmed.push(ConfirmedPattern {
                pattern,
                ..ConfirmedPattern::default()
            });
            confirmed.len() - 1
        });
        &mut confirmed[index]
    }

    fn measure(&self, task: &PlannedTask) -> Vec<Sample> {
        match &task.work {
            PlannedWork::Experiment(experiment) => {
                let subject = Subject::Experiment(*experiment);
                let seconds = experiment_seconds(experiment);
                vec![self.sample(subject, &Candidate::Default, seconds)]
            }
            PlannedWork::Compare { cell, candidates } => {
                let sample = |candidate: &Candidate| {
                    let seconds = (self.truth)(cell, candidate);
                    self.sample(Subject::Cell(*cell), candidate, seconds)
                };
                candidates.iter().map(sample).collect()
            }
        }
    }

    /// Repetitions that vary by 2 %, and launches by as much.
    fn sample(&self, subject: Subject, candidate: &Candidate, seconds: f64) -> Sample {
        let noise = |number: u32| 1.0 + f64::from(number % 5) / 250.0;
        let repetitions = 0..10;
        Sample {
            launch: self.launches,
            subject,
            candidate: candidate.clone(),
            batch: 1,
            seconds: repetitions
                .map(|repetition| seconds * noise(7 * self.launches) * noise(repetition))
                .collect(),
            invalid: 0,
            residual_seconds: None,
            left: None,
        }
    }
}

/// A cell of `bcast`.
pub(crate) fn bcast(bytes: u64, nodes: u32) -> Cell {
    Cell {
        collective: Collective::Bcast,
        shape: CommShape { nodes, ppn: 1 },
        bytes,
        datatype: vocabulary::Datatype::Byte,
        operator: None,
        distribution: schedule::Distribution::Uniform,
    }
}

/// The cells of a launch with their candidates.
pub(crate) fn compared(next: &NextLaunch) -> Vec<(Cell, Vec<Candidate>)> {
    let cells = next.tasks.iter().filter_map(|task| match &task.work {
        PlannedWork::Compare { cell, candidates } => Some((*cell, candidates.clone())),
        PlannedWork::Experiment(_) => None,
    });
    cells.collect()
}

/// The largest round of a launch's tasks.
pub(crate) fn newest_round(next: &NextLaunch) -> u32 {
    let rounds = next.tasks.iter().map(|task| task.round);
    rounds.max().expect("a task")
}
