//! The experiments on the machine, sorted by the parameter that they determine.

use std::collections::BTreeMap;

use model::Level;
use vocabulary::{Datatype, Experiment, ExperimentKind, Operator, Subject, Through};

use crate::line::OperationTime;
use results::Summary;

/// The medians of launches of all experiments, sorted by the parameter that they determine.
#[derive(Default)]
pub(crate) struct Experiments {
    pub(crate) messages: BTreeMap<Level, LevelMessages>,
    /// Ping-pongs between two nodes by several pairs of ranks at once, by the number of pairs.
    pub(crate) injections: BTreeMap<u32, Vec<OperationTime>>,
    /// Bursts between two nodes by several pairs of ranks at once, by the number of pairs.
    pub(crate) crowded_bursts: BTreeMap<u32, Vec<OperationTime>>,
    pub(crate) combines: BTreeMap<(Datatype, Operator), Vec<OperationTime>>,
    pub(crate) copies: Vec<OperationTime>,
    /// The largest number of ranks on a node in any measurement.
    pub(crate) ranks_per_node: u32,
}

/// The measurements of messages on one level.
#[derive(Default)]
pub(crate) struct LevelMessages {
    pub(crate) ping_pongs: Vec<OperationTime>,
    pub(crate) exchanges: Vec<OperationTime>,
    pub(crate) bursts: Vec<OperationTime>,
    pub(crate) lates: Vec<OperationTime>,
    pub(crate) shifts: Vec<OperationTime>,
    /// Messages between one rank and several partners, by the number of partners.
    pub(crate) fan_outs: BTreeMap<u32, Vec<OperationTime>>,
    pub(crate) fan_ins: BTreeMap<u32, Vec<OperationTime>>,
    /// Messages that are combined as they arrive.
    pub(crate) combines: BTreeMap<(Datatype, Operator), Vec<OperationTime>>,
}

impl Experiments {
    pub(crate) fn from_summaries(summaries: &[Summary]) -> Self {
        let mut experiments = Self::default();
        for summary in summaries {
            let Subject::Experiment(experiment) = &summary.subject else {
                continue;
            };
            // The number of the turn.
            let medians = summary.launch_medians.iter().zip(1..);
            let points = medians.map(|(&(_, seconds), launch)| OperationTime {
                launch,
                bytes: experiment.bytes as f64,
                seconds,
            });
            experiments.points_of_experiment(experiment).extend(points);
        }
        let ppns = summaries.iter().map(|summary| summary.subject.shape().ppn);
        experiments.ranks_per_node = ppns.max().unwrap_or(1).max(1);
        experiments
    }

    /// The points to which those of an experiment are added.
    fn points_of_experiment(&mut self, experiment: &Experiment) -> &mut Vec<OperationTime> {
        let level = Level::of_experiment(experiment);
        let partners = experiment.shape.ranks().saturating_sub(1);
        match experiment.kind {
            ExperimentKind::PingPong => &mut self.messages_on(level).ping_pongs,
            ExperimentKind::Exchange => &mut self.messages_on(level).exchanges,
            ExperimentKind::Burst if experiment.is_among_nodes() => {
                let pairs = experiment.shape.ppn;
                self.crowded_bursts.entry(pairs).or_default()
            }
            ExperimentKind::Burst => &mut self.messages_on(level).bursts,
            ExperimentKind::Late => &mut self.messages_on(level).lates,
            ExperimentKind::Shift => &mut self.messages_on(level).shifts,
            ExperimentKind::FanOut => self
                .messages_on(level)
                .fan_outs
                .entry(partners)
                .or_default(),
            ExperimentKind::FanIn => self.messages_on(level).fan_ins.entry(partners).or_default(),
            ExperimentKind::Injection => {
                let pairs = experiment.shape.ppn;
                self.injections.entry(pairs).or_default()
            }
            ExperimentKind::Combine { datatype, operator } => {
                let combines = match experiment.through {
                    Through::Mpi => &mut self.combines,
                    Through::Shared => &mut self.messages_on(level).combines,
                };
                combines.entry((datatype, operator)).or_default()
            }
            ExperimentKind::Copy => &mut self.copies,
        }
    }

    fn messages_on(&mut self, level: Level) -> &mut LevelMessages {
        self.messages.entry(level).or_default()
    }
}
