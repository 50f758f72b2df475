//! What profiles say, in figures.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{CallShape, ComparedRanks, Profile, Time};

/// The figures of some profiles together.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Overview {
    /// The jobs.
    pub jobs: JobsOverview,
    /// The number of calls of collectives, of all ranks together.
    pub calls: u64,
    /// The time in collectives, of all ranks together.
    pub seconds: f64,
    /// The part of the ranks' time that was spent in collectives, from 0 to 1.
    pub share: f64,
    /// The estimated part of the ranks' time that was spent in collectives waiting for the last rank to arrive, from 0 to
    /// 1: no table helps there. Null without samples.
    pub waiting_share: Option<f64>,
    /// The part of the time in collectives that the estimate is for, from 0 to 1; it does not say anything about the rest,
    /// such as nonblocking collectives.
    pub sampled_share: f64,
    /// The part of the time in collectives that no table can serve, from 0 to 1.
    pub unserved_share: f64,
    /// The shapes of calls, those with the most time first.
    pub shapes: Vec<ShapeOverview>,
}

/// The jobs that profiles are of.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobsOverview {
    /// The number of jobs.
    pub count: u64,
    /// The number of jobs that did not end by `MPI_Finalize`.
    pub killed: u64,
    /// The number of those in which ranks of different nodes could not be compared, so that some of the waiting counts as
    /// communication.
    pub compared_within_nodes: u64,
    /// The number of ranks of killed jobs that no part is there of.
    pub missing_ranks: u64,
    /// The number of jobs by the names of their programs.
    pub programs: BTreeMap<String, u64>,
    /// The number of jobs by their MPI libraries.
    pub libraries: BTreeMap<String, u64>,
    /// The most ranks of a job.
    pub most_ranks: u64,
    /// The most nodes of a job.
    pub most_nodes: u64,
    /// The time between `MPI_Init` and `MPI_Finalize`, of all ranks of all jobs together.
    pub rank_seconds: f64,
}

/// The calls of one shape.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShapeOverview {
    /// What the calls have in common.
    pub call: CallShape,
    /// The number of calls, of all ranks together.
    pub calls: u64,
    /// The time in them, of all ranks together.
    pub seconds: f64,
    /// The part of the time in all collectives, from 0 to 1.
    pub share: f64,
    /// The estimated part of the time in these calls that was spent waiting for the last rank to arrive, from 0 to 1; null
    /// without samples.
    pub waiting_share: Option<f64>,
    /// The number of calls that the estimate comes from.
    pub sampled_calls: u64,
    /// The mean length of a call in bytes; null if it is not known.
    pub mean_bytes: Option<f64>,
    /// The longest call.
    pub longest_seconds: f64,
    /// Whether tables can serve such calls; null for `other`, calls of any kind that the profile had no place for or that failed.
    pub is_served: Option<bool>,
}

impl Profile {
    /// The figures.
    #[must_use]
    pub fn overview(&self) -> Overview {
        let rank_time: Time = self.jobs.values().map(|job| job.rank_time).sum();
        let time: Time = self.calls.values().map(|tally| tally.time).sum();
        let unserved: Time = self.time_of(|shape| shape.is_served() == Some(false));
        let of_all = |seconds: f64| share(seconds, time.seconds());
        // Shapes without samples say nothing about waiting.
        let estimates = self
            .calls
            .values()
            .filter_map(|tally| Some((tally.time.seconds(), tally.waiting_share()?)));
        let (sampled_seconds, waiting_seconds) =
            estimates.fold((0.0, 0.0), |(all, waiting), (seconds, waiting_share)| {
                (all + seconds, waiting + seconds * waiting_share)
            });
        let mut shapes: Vec<ShapeOverview> = self
            .calls
            .iter()
            .map(|(call, tally)| ShapeOverview {
                call: call.clone(),
                calls: tally.calls,
                seconds: tally.time.seconds(),
                share: of_all(tally.time.seconds()),
                waiting_share: tally.waiting_share(),
                sampled_calls: tally.sampled_calls,
                mean_bytes: call.bytes.map(|_| tally.mean_bytes()),
                longest_seconds: tally.longest.seconds(),
                is_served: call.is_served(),
            })
            .collect();
        shapes.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        Overview {
            jobs: self.jobs_overview(rank_time),
            calls: self
                .calls
                .values()
                .fold(0, |sum, tally| tally.calls.saturating_add(sum)),
            seconds: time.seconds(),
            share: time.share_of(rank_time),
            waiting_share: (sampled_seconds > 0.0)
                .then(|| share(waiting_seconds, rank_time.seconds())),
            sampled_share: of_all(sampled_seconds),
            unserved_share: unserved.share_of(time),
            shapes,
        }
    }

    /// The time in calls of some shapes.
    fn time_of(&self, is_counted: impl Fn(&CallShape) -> bool) -> Time {
        let calls = self.calls.iter();
        calls
            .filter(|(shape, _)| is_counted(shape))
            .map(|(_, tally)| tally.time)
            .sum()
    }

    fn jobs_overview(&self, rank_time: Time) -> JobsOverview {
        let mut jobs = JobsOverview {
            count: self.jobs.len() as u64,
            rank_seconds: rank_time.seconds(),
            ..JobsOverview::default()
        };
        for job in self.jobs.values() {
            *jobs.programs.entry(job.program.clone()).or_default() += 1;
            *jobs.libraries.entry(job.library.clone()).or_default() += 1;
            jobs.most_ranks = jobs.most_ranks.max(job.all_ranks);
            jobs.most_nodes = jobs.most_nodes.max(job.nodes);
            jobs.killed += u64::from(!job.is_whole());
            let is_partly_compared = job.arrivals == ComparedRanks::WithinNodes && job.nodes > 1;
            jobs.compared_within_nodes += u64::from(is_partly_compared);
            jobs.missing_ranks += job.all_ranks.saturating_sub(job.ranks);
        }
        jobs
    }
}

/// The part that a number is of another one; 0 of nothing.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
