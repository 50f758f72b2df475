//! What a table saved jobs that were recorded, beside what is predicted of it.
//!
//! Like is compared with like: the recorder measures jobs without the table and jobs with it, in the same way, and both times
//! are without the estimated waiting for late ranks. A call of a job without the table took `b` seconds on average, the same
//! call of a job with it `a` seconds; the table saved `b - a` in each of the calls that the prediction is about. What the
//! waiting changed by is in the time of all collectives only: it is the program's, not the prediction's.
//!
//! Jobs are compared in pairs, in the order in which they were started. Those that run in turns share what else the machine
//! does, and the savings of several pairs have an interval.

use std::collections::BTreeMap;

use profile::{CallCost, Profile};
use schemars::JsonSchema;
use serde::Serialize;
use statistics::{Interval, median, median_interval};
use table::{Deployment, OperatorClass};
use vocabulary::RankOrder;

use super::{CallGain, CallGroup, Gain, group_of_call, seconds_besides_waiting};

/// The wanted coverage of the interval of what was measured.
const CONFIDENCE: f64 = 0.95;

/// The jobs of which one ran without the table and the other with it.
#[derive(Clone, Copy, Debug)]
pub struct JobPair<'a> {
    /// The job without the table.
    pub without: &'a Profile,
    /// The job with it.
    pub with: &'a Profile,
}

/// The savings that were measured in one deployment, beside those that are predicted for the same calls.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredGain {
    /// The way in which the jobs used the table.
    pub deployment: Deployment,
    /// The number of pairs of jobs.
    pub pairs: u32,
    /// The saving in all calls that are compared; null if there are none.
    pub together: Option<ComparedSaving>,
    /// The savings in these calls, those with the largest predicted one first.
    pub calls: Vec<ComparedCalls>,
    /// The predicted seconds in calls that are not compared, since jobs of a pair lack them or it is not known how long ranks
    /// wait in them there.
    pub not_compared_seconds: f64,
    /// The seconds by which all collectives of all pairs took less time with the table, waiting included.
    pub all_collectives: MeasuredSaving,
}

/// The saving in calls of one collective, shape and size.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComparedCalls {
    /// The collective.
    #[schemars(schema_with = "vocabulary::collective_name::list_in_schema")]
    pub collective: String,
    /// The communicators, as nodes x ranks on each.
    pub shape: String,
    /// The order of the ranks on the nodes.
    pub order: RankOrder,
    /// Whether the operator commutes; null if nothing is combined.
    pub operators: Option<OperatorClass>,
    /// The mean length of a call.
    pub bytes: u64,
    /// The full name of the table's choice.
    pub candidate: String,
    /// What is predicted and what was measured.
    #[serde(flatten)]
    pub saving: ComparedSaving,
}

/// A predicted and a measured saving of the same calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComparedSaving {
    /// The predicted seconds.
    pub predicted_seconds: f64,
    /// The least that is predicted; null if a speed-up has no interval.
    pub predicted_seconds_low: Option<f64>,
    /// The most that is predicted.
    pub predicted_seconds_high: Option<f64>,
    /// What was measured.
    pub measured: MeasuredSaving,
    /// How both compare; null without intervals of the prediction.
    pub agreement: Option<Agreement>,
}

/// A saving that was measured on pairs of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredSaving {
    /// The median over the pairs.
    pub seconds: f64,
    /// The interval of that median; null for a single pair, which has none.
    pub interval: Option<Interval>,
}

/// How a measured saving compares with a predicted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// The measured saving lies within the predicted interval.
    Within,
    /// It does not, but its own interval overlaps with the predicted one.
    Overlapping,
    /// More was saved than is predicted.
    More,
    /// Less was saved.
    Less,
}

/// Compares a prediction with what pairs of jobs measured in a deployment. The prediction is for the jobs without the table
/// together.
#[must_use]
pub fn compare_with_measured(
    gain: &Gain,
    deployment: Deployment,
    pairs: &[JobPair<'_>],
) -> MeasuredGain {
    let grouped: Vec<[GroupCosts; 2]> = pairs
        .iter()
        .map(|pair| [pair.without, pair.with].map(|job| add_up_groups(job, deployment)))
        .collect();
    let predicted = gain
        .deployments
        .iter()
        .filter(|of| of.deployment == deployment)
        .flat_map(|of| &of.calls);
    let mut calls = Vec::new();
    let mut not_compared_seconds = 0.0;
    // The savings of each pair in all calls, as their sum has another interval than the sums of the ends.
    let mut sums = vec![0.0; pairs.len()];
    for call in predicted {
        let Some(predicted_seconds) = call.saved_seconds else {
            continue;
        };
        let Some(saved) = savings_of_pairs(call, &grouped) else {
            not_compared_seconds += predicted_seconds;
            continue;
        };
        for (sum, seconds) in sums.iter_mut().zip(&saved) {
            *sum += seconds;
        }
        let measured = MeasuredSaving::of_pairs(&saved);
        calls
            .extend(measured.map(|measured| ComparedCalls::new(call, predicted_seconds, measured)));
    }
    let together = MeasuredSaving::of_pairs(&sums)
        .filter(|_| !calls.is_empty())
        .map(|measured| ComparedSaving::of_all(&calls, measured));
    MeasuredGain {
        deployment,
        pairs: pairs.len() as u32,
        together,
        calls,
        not_compared_seconds,
        all_collectives: measure_all_collectives(pairs),
    }
}

/// The costs of the calls of a job by what one rule may serve.
type GroupCosts = BTreeMap<CallGroup, CallCost>;

fn add_up_groups(job: &Profile, deployment: Deployment) -> GroupCosts {
    let mut groups = GroupCosts::new();
    for (call, cost) in &job.calls {
        if let Ok((group, _)) = group_of_call(call, deployment) {
            groups.entry(group).or_default().add_calls(cost);
        }
    }
    groups
}

/// The savings in calls by each pair; `None` if a job lacks them, or does not know how long ranks wait in them.
fn savings_of_pairs(call: &CallGain, grouped: &[[GroupCosts; 2]]) -> Option<Vec<f64>> {
    let mean_seconds = |groups: &GroupCosts| {
        let cost = groups.get(&call.group)?;
        cost.waiting_share()?;
        Some(seconds_besides_waiting(cost) / cost.calls.max(1) as f64)
    };
    let of_pair = |[without, with]: &[GroupCosts; 2]| {
        Some((mean_seconds(without)? - mean_seconds(with)?) * call.calls as f64)
    };
    grouped.iter().map(of_pair).collect()
}

fn measure_all_collectives(pairs: &[JobPair<'_>]) -> MeasuredSaving {
    let seconds_of = |job: &Profile| -> f64 {
        let costs = job.calls.values();
        costs.map(|cost| cost.time.seconds()).sum()
    };
    let count = pairs.len() as f64;
    let saved: Vec<f64> = pairs
        .iter()
        .map(|pair| (seconds_of(pair.without) - seconds_of(pair.with)) * count)
        .collect();
    MeasuredSaving::of_pairs(&saved).unwrap_or(MeasuredSaving {
        seconds: 0.0,
        interval: None,
    })
}

impl MeasuredSaving {
    /// The saving by those of pairs; `None` if there are none.
    fn of_pairs(saved: &[f64]) -> Option<Self> {
        Some(Self {
            seconds: median(saved)?,
            interval: median_interval(saved, CONFIDENCE).filter(|interval| interval.coverage > 0.0),
        })
    }
}

impl ComparedCalls {
    fn new(call: &CallGain, predicted_seconds: f64, measured: MeasuredSaving) -> Self {
        let ends = call.saved_seconds_low.zip(call.saved_seconds_high);
        Self {
            collective: call.collective.clone(),
            shape: call.shape.clone(),
            order: call.order,
            operators: call.operators,
            bytes: call.bytes,
            candidate: call.candidate.clone(),
            saving: ComparedSaving::new(predicted_seconds, ends, measured),
        }
    }
}

impl ComparedSaving {
    fn new(predicted_seconds: f64, ends: Option<(f64, f64)>, measured: MeasuredSaving) -> Self {
        Self {
            predicted_seconds,
            predicted_seconds_low: ends.map(|(low, _)| low),
            predicted_seconds_high: ends.map(|(_, high)| high),
            measured,
            agreement: ends.map(|ends| Agreement::of_saving(ends, measured)),
        }
    }

    /// The saving in all calls: the prediction is the sum of theirs, with an interval if all have one.
    fn of_all(calls: &[ComparedCalls], measured: MeasuredSaving) -> Self {
        let savings = || calls.iter().map(|compared| compared.saving);
        let low: Option<f64> = savings().map(|saving| saving.predicted_seconds_low).sum();
        let high: Option<f64> = savings().map(|saving| saving.predicted_seconds_high).sum();
        let predicted_seconds = savings().map(|saving| saving.predicted_seconds).sum();
        Self::new(predicted_seconds, low.zip(high), measured)
    }
}

impl Agreement {
    fn of_saving((low, high): (f64, f64), measured: MeasuredSaving) -> Self {
        let seconds = measured.seconds;
        if (low..=high).contains(&seconds) {
            return Self::Within;
        }
        let overlaps = |interval: Interval| interval.low <= high && low <= interval.high;
        if measured.interval.is_some_and(overlaps) {
            Self::Overlapping
        } else if seconds > high {
            Self::More
        } else {
            Self::Less
        }
    }

    /// The comparison in words.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Within => "the measured saving lies within the predicted interval",
            Self::Overlapping => "the intervals overlap",
            Self::More => "more was saved than is predicted",
            Self::Less => "less was saved than is predicted",
        }
    }
}
