//! The seconds that a table would save programs whose collectives were recorded.
//!
//! A call of a profile that takes `t` seconds beside waiting for late ranks takes `t / s` with a candidate that has the
//! speed-up `s` over the library's default: the table saves `t (1 - 1/s)`. The interval of the saving follows from an interval
//! of the speed-up. A job is one launch, and launches differ, so it is the interval in which the speed-up of a further launch
//! lies, by the launches in the table's store; that of the median over launches, in verdicts of `validate`, is part of it.
//! Without either, there is a saving without an interval. Where it is not known how long ranks wait, all of the time or none
//! of it may be waiting, so there is an interval and no value.
//!
//! `gain/measured.rs` compares a prediction with jobs that were recorded without and with the table.

mod measured;

pub use measured::{
    Agreement, ComparedCalls, ComparedSaving, JobPair, MeasuredGain, MeasuredSaving,
    compare_with_measured,
};

use std::collections::BTreeMap;
use std::path::Path;

use campaign::{Campaign, ProgramCalls};
use export::{Choices, Options};
use profile::{CallCost, CallShape, CommunicatorClass, Form, MadeBy, Profile, SizeClass, Time};
use schedule::Collective;
use schemars::JsonSchema;
use serde::Serialize;
use statistics::{Interval, prediction_interval};
use store::Store;
use table::{Decision, Deployment, OperatorClass, Policy, Query, ShapeMatch, Table};
use vocabulary::defaults::CONFIDENCE;
use vocabulary::{Candidate, CommShape, Operator, RankOrder};

use crate::{CampaignAnalysis, TunerError};

/// Calls of one mean length may be this much shorter than the smallest measured size, or longer than the largest one: a
/// campaign from a profile measures one size for all lengths from a power of two to the next.
const BEYOND: f64 = 2.0;

/// The seconds that a table would save, in each deployment.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Gain {
    /// The time in collectives of the jobs that the table is for, of all ranks together.
    pub seconds: f64,
    /// The estimated part of it that was spent waiting for late ranks, where no table helps.
    pub waiting_seconds: f64,
    /// The savings: through colltune, and through the library's own settings.
    pub deployments: Vec<DeploymentGain>,
    /// The reason why the store of the table gives no intervals; null if it does.
    pub no_store: Option<String>,
}

/// The savings in one deployment.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DeploymentGain {
    /// The way in which programs use the table.
    pub deployment: Deployment,
    /// The seconds saved in all calls together whose saving has a value and an interval.
    pub saved_seconds: f64,
    /// The sum of the lower ends of their intervals.
    pub saved_seconds_low: f64,
    /// The sum of the upper ends.
    pub saved_seconds_high: f64,
    /// The seconds saved in calls for which the speed-up has no interval; they are not in `saved_seconds`.
    pub without_interval_seconds: f64,
    /// The most that may be saved beside those in calls of which it is not known how long ranks wait in them.
    pub unknown_waiting_at_most_seconds: f64,
    /// The calls that the table makes faster, those with the largest possible saving first.
    pub calls: Vec<CallGain>,
    /// The time of all other calls, by the reason; the most time first.
    pub not_covered: Vec<NotCovered>,
}

/// The saving in calls of one collective, shape and size.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CallGain {
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
    /// The number of calls, of all ranks together.
    pub calls: u64,
    /// The time in them, of all ranks together.
    pub seconds: f64,
    /// The estimated part of it that is waiting for late ranks; null if it is not known.
    pub waiting_seconds: Option<f64>,
    /// The full name of the table's choice.
    pub candidate: String,
    /// The default's time divided by the choice's.
    pub speedup: f64,
    /// The interval in which the speed-up of a job lies, by the launches that measured it at the sizes nearest to the length;
    /// null if the table and its store have none.
    pub speedup_interval: Option<Interval>,
    /// The origin of that interval.
    pub interval_from: IntervalSource,
    /// The seconds saved; null if the waiting is not known.
    pub saved_seconds: Option<f64>,
    /// The least seconds saved, by the interval of the speed-up; negative if the choice may be slower. Null without an
    /// interval.
    pub saved_seconds_low: Option<f64>,
    /// The most seconds saved; null without an interval.
    pub saved_seconds_high: Option<f64>,
    /// What these calls have in common.
    #[serde(skip)]
    group: CallGroup,
}

/// The origin of an interval of a speed-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntervalSource {
    /// A verdict of `colltune validate`, in fresh launches, and the launches in the store, if it is here.
    Validation,
    /// The launches in the store that the decision was made from.
    Store,
    /// There is none.
    None,
}

/// Time in calls that a table does not make shorter.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NotCovered {
    /// The reason, as a clause.
    pub reason: String,
    /// The time in these calls without the estimated waiting, of all ranks together.
    pub seconds: f64,
}

/// The calls that one rule may serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CallGroup {
    collective: Collective,
    nodes: u32,
    ppn: u32,
    order: &'static str,
    commutes: bool,
    size: Option<SizeClass>,
}

/// What a profile has of such calls.
#[derive(Clone, Debug)]
struct GroupedCalls {
    group: CallGroup,
    query: Query,
    cost: CallCost,
    knows_bytes: bool,
}

/// The seconds by reason.
type ReasonSeconds = BTreeMap<String, f64>;

/// The seconds that a table would save the programs of a profile, with the intervals of the verdicts in the table and of
/// the decisions in `store`, if that file exists and the table was made from it.
///
/// # Errors
/// Only for a store that exists and cannot be read or analysed.
pub fn predict_gain(
    table: &Table,
    profile: &Profile,
    policy: Policy,
    store: &Path,
) -> Result<Gain, TunerError> {
    let (analysis, no_store) = match read_evidence(table, store)? {
        StoredEvidence::Found(analysis) => (Some(analysis), None),
        StoredEvidence::Lacking(reason) => (None, Some(reason)),
    };
    let gain = gain_by_evidence(table, profile, policy, analysis.as_deref());
    Ok(Gain { no_store, ..gain })
}

/// The seconds that a table would save the programs whose calls its campaign names, with the intervals of the launches that
/// the table was made from. `None` if the campaign names no calls.
#[must_use]
pub fn predict_traffic_gain(
    campaign: &Campaign,
    table: &Table,
    analysis: &CampaignAnalysis,
) -> Option<Gain> {
    if campaign.traffic.is_empty() {
        return None;
    }
    let profile = traffic_profile(&campaign.traffic, campaign);
    // No rule of a simulated machine is ever deployed, and what it would save there is what is asked.
    let policy = Policy {
        unconfirmed: table.provenance.library.is_simulated(),
        ..Policy::default()
    };
    Some(gain_by_evidence(table, &profile, policy, Some(analysis)))
}

/// The calls that a campaign names as a profile. Their seconds are without waiting, and they are of programs with the
/// campaign's operator.
fn traffic_profile(traffic: &[ProgramCalls], campaign: &Campaign) -> Profile {
    let mut profile = Profile::default();
    let commutes = campaign
        .operators
        .iter()
        .any(|operator| operator.commutes());
    for calls in traffic {
        let has_data = calls.collective.has_data();
        let shape = CallShape {
            collective: calls.collective.name().to_owned(),
            communicator: Some(CommunicatorClass {
                ranks: calls.shape.ranks(),
                nodes: Some(calls.shape.nodes),
                ppn: Some(calls.shape.ppn),
                order: RankOrder::Unknown,
                made_by: MadeBy::Unknown,
            }),
            bytes: has_data.then(|| SizeClass::of_bytes(calls.bytes)),
            operator: (!commutes).then(|| Operator::Noncommutative.name().to_owned()),
            ..CallShape::other()
        };
        let time = Time::from_nanoseconds((calls.seconds * 1e9) as u64);
        let cost = CallCost {
            calls: calls.calls,
            time,
            bytes: calls.bytes.saturating_mul(calls.calls),
            sampled_calls: calls.calls,
            sampled: time,
            ..CallCost::default()
        };
        profile.add_calls(shape, &cost);
    }
    profile
}

fn gain_by_evidence(
    table: &Table,
    profile: &Profile,
    policy: Policy,
    analysis: Option<&CampaignAnalysis>,
) -> Gain {
    let exported = OperatorClass::ALL.map(|class| exported_choices(table, policy, class));
    let total = |seconds: fn(&CallCost) -> f64| profile.calls.values().map(seconds).sum();
    let predict = |deployment| {
        let prediction = Prediction {
            table,
            policy,
            deployment,
            analysis,
            exported: &exported,
        };
        prediction.add_up_calls(profile)
    };
    Gain {
        seconds: total(|cost| cost.time.seconds()),
        waiting_seconds: total(|cost| cost.time.seconds() - seconds_besides_waiting(cost)),
        deployments: Deployment::ALL.into_iter().map(predict).collect(),
        no_store: None,
    }
}

/// The measurements behind a table.
enum StoredEvidence {
    Found(Box<CampaignAnalysis>),
    /// The reason why there are none.
    Lacking(String),
}

fn read_evidence(table: &Table, path: &Path) -> Result<StoredEvidence, TunerError> {
    let shown = path.display();
    if !path.exists() {
        return Ok(StoredEvidence::Lacking(format!(
            "the store {shown} is not here; name it with `--store`"
        )));
    }
    let store = Store::open(path)?;
    let library = &table.provenance.library;
    if !store.libraries()?.contains(library) {
        return Ok(StoredEvidence::Lacking(format!(
            "{shown} has no measurements of {library}; name another store with `--store`"
        )));
    }
    let analysis = CampaignAnalysis::from_store(&store, Some(library), None)?;
    let is_of_table =
        analysis.found.pattern == table.provenance.pattern && analysis.agrees_with(table);
    Ok(if is_of_table {
        StoredEvidence::Found(Box::new(analysis))
    } else {
        StoredEvidence::Lacking(format!(
            "the table was made from other measurements than those in {shown}, or with other settings"
        ))
    })
}

fn seconds_besides_waiting(cost: &CallCost) -> f64 {
    cost.time.seconds() * (1.0 - cost.waiting_share().unwrap_or(0.0))
}

/// What a prediction for one deployment rests on.
struct Prediction<'a> {
    table: &'a Table,
    policy: Policy,
    deployment: Deployment,
    analysis: Option<&'a CampaignAnalysis>,
    /// What the library's own settings can say about the table, in the order of [`OperatorClass::ALL`].
    exported: &'a [Choices; 2],
}

/// The speed-up of a choice.
struct KnownSpeedup {
    value: f64,
    interval: Option<Interval>,
    source: IntervalSource,
}

impl Prediction<'_> {
    fn add_up_calls(&self, profile: &Profile) -> DeploymentGain {
        // What differs only in what tables do not distinguish is one row.
        let mut groups: BTreeMap<CallGroup, GroupedCalls> = BTreeMap::new();
        let mut reasons = ReasonSeconds::new();
        for (call, cost) in &profile.calls {
            match group_of_call(call, self.deployment) {
                Ok((group, query)) => {
                    let knows_bytes = call.bytes.is_some();
                    let grouped = groups.entry(group).or_insert_with(|| GroupedCalls {
                        group,
                        query,
                        cost: CallCost::default(),
                        knows_bytes,
                    });
                    grouped.cost.add_calls(cost);
                }
                Err(reason) => add_seconds(&mut reasons, reason, seconds_besides_waiting(cost)),
            }
        }
        let mut calls = Vec::new();
        for grouped in groups.into_values() {
            let seconds = seconds_besides_waiting(&grouped.cost);
            match self.gain_in_calls(&grouped) {
                Ok(gain) => calls.push(gain),
                Err(reason) => add_seconds(&mut reasons, &reason, seconds),
            }
        }
        sum_gains(self.deployment, calls, reasons)
    }

    /// The saving in some calls, or the reason why there is none.
    fn gain_in_calls(&self, grouped: &GroupedCalls) -> Result<CallGain, String> {
        let GroupedCalls {
            group,
            query,
            cost,
            knows_bytes,
        } = grouped;
        let collective = query.collective;
        if !knows_bytes && collective.decides_by_size() && collective.has_data() {
            return Err("the length of the calls is not known".to_owned());
        }
        let bytes = cost.mean_bytes().round() as u64;
        let query = Query { bytes, ..*query };
        let decision = self.table.lookup(&query);
        self.check_decision(&query, &decision)?;
        let speedup = self.find_speedup(&query, &decision).ok_or_else(|| {
            format!(
                "the table states no speed-up of {} at that length",
                decision.candidate
            )
        })?;
        let waiting_share = cost.waiting_share();
        let seconds = seconds_besides_waiting(cost);
        let saved_by = |ratio: f64| seconds * (1.0 - 1.0 / ratio);
        let ends = speedup.interval.map(|interval| {
            let [low, high] = [saved_by(interval.low), saved_by(interval.high)];
            if waiting_share.is_some() {
                [low, high]
            } else {
                // All of the time may be waiting, where nothing is saved.
                [low.min(0.0), high.max(0.0)]
            }
        });
        Ok(CallGain {
            collective: collective.to_string(),
            shape: query.shape.to_string(),
            order: query.order,
            operators: collective.is_reduction().then_some(query.operators),
            bytes,
            calls: cost.calls,
            seconds: cost.time.seconds(),
            waiting_seconds: waiting_share.map(|share| share * cost.time.seconds()),
            candidate: decision.candidate.to_string(),
            speedup: speedup.value,
            speedup_interval: speedup.interval,
            interval_from: speedup.source,
            saved_seconds: waiting_share.map(|_| saved_by(speedup.value)),
            saved_seconds_low: ends.map(|[low, _]| low),
            saved_seconds_high: ends.map(|[_, high]| high),
            group: *group,
        })
    }

    /// Whether a decision is carried out and rests on measurements near the call; otherwise the reason.
    fn check_decision(&self, query: &Query, decision: &Decision<'_>) -> Result<(), String> {
        match decision.matched {
            ShapeMatch::Measured => {}
            ShapeMatch::Absent => {
                return Err(format!("the table has no rules for {}", query.collective));
            }
            ShapeMatch::Model
            | ShapeMatch::Interpolated(..)
            | ShapeMatch::Nearest(_)
            | ShapeMatch::OtherOrder(..) => {
                return Err(
                    "nothing was measured on communicators of that shape or order of ranks"
                        .to_owned(),
                );
            }
        }
        if !self.is_near_measured_size(query) {
            return Err("the length is outside the measured sizes".to_owned());
        }
        if *decision.candidate == Candidate::Default {
            return Err("the table leaves the calls to the library's default".to_owned());
        }
        if let Some(reason) = decision.reason_withheld(self.policy) {
            return Err(format!("the rule is not deployed: {reason}"));
        }
        match self.deployment {
            Deployment::Colltune if !decision.candidate.is_ours() => {
                Err("the choice is one of the library's own algorithms, which libcolltune does not carry out".to_owned())
            }
            Deployment::Library if !is_exported(query, self.exported) => {
                Err("exports cannot express the rule".to_owned())
            }
            Deployment::Colltune | Deployment::Library => Ok(()),
        }
    }

    /// Whether there are measured sizes near the call, or around it. Where tables do not decide by size, any is.
    fn is_near_measured_size(&self, query: &Query) -> bool {
        if !query.collective.decides_by_size() || !query.collective.has_data() {
            return true;
        }
        let entries = self.table.collectives.get(&query.collective);
        let of_shape = entries.into_iter().flatten().filter(|entry| {
            entry.shape == query.shape
                && entry.holds_for_order(query.order)
                && entry.deployments.hold_for(self.deployment)
                && (!query.collective.is_reduction() || entry.operators.hold_for(query.operators))
        });
        let sizes: Vec<u64> = of_shape
            .flat_map(|entry| entry.measured.iter().map(|point| point.bytes))
            .collect();
        let bytes = query.bytes as f64;
        let least = sizes.iter().min().map(|least| *least as f64);
        let most = sizes.iter().max().map(|most| *most as f64);
        least
            .zip(most)
            .is_some_and(|(least, most)| least / BEYOND <= bytes && bytes <= most * BEYOND)
    }

    /// The speed-up of a decision's candidate: that of `validate` at this size, or else the table's.
    fn find_speedup(&self, query: &Query, decision: &Decision<'_>) -> Option<KnownSpeedup> {
        let about_query = self.table.verdicts.iter().filter(|verdict| {
            verdict.collective == query.collective
                && verdict.shape == query.shape
                && verdict.order.may_be(query.order)
                && verdict.bytes == query.bytes
                && verdict.deployment == query.deployment
                && verdict.candidate == *decision.candidate
                && verdict.library == self.table.provenance.library
                && verdict.pattern == self.table.provenance.pattern
                && (!query.collective.is_reduction() || verdict.operators == query.operators)
        });
        let newest = about_query.max_by_key(|verdict| verdict.unix_seconds);
        let validated = newest
            .and_then(|verdict| verdict.speedup)
            .filter(|ratio| ratio.interval.known_ends().is_some());
        let value = validated.map_or(decision.speedup, |ratio| Some(ratio.median))?;
        let of_launches = self.interval_of_launches(query, decision);
        let known = validated.map(|ratio| ratio.interval).into_iter();
        let interval = known
            .chain(of_launches)
            .reduce(Interval::hull)
            .map(|interval| interval.with_value(value));
        let source = match (validated, interval) {
            (Some(_), _) => IntervalSource::Validation,
            (None, Some(_)) => IntervalSource::Store,
            (None, None) => IntervalSource::None,
        };
        Some(KnownSpeedup {
            value,
            interval,
            source,
        })
    }

    /// The interval in which a launch's own speed-up lies, by those in the store at the nearest measured sizes.
    fn interval_of_launches(&self, query: &Query, decision: &Decision<'_>) -> Option<Interval> {
        let speedups = self.analysis?.found.launch_speedups_for(query, decision);
        let intervals = speedups
            .iter()
            .filter_map(|of_size| prediction_interval(of_size, CONFIDENCE))
            .filter(|interval| interval.known_ends().is_some());
        intervals.reduce(Interval::hull)
    }
}

/// The rules that the library's own settings can express, of a table, for programs with these operators.
fn exported_choices(table: &Table, policy: Policy, operators: OperatorClass) -> Choices {
    let (deployed, _) = table.deployed_by(policy);
    let options = Options {
        policy,
        ..Options::default()
    };
    Choices::from_table(&deployed, &table.provenance.library, operators, &options)
}

/// Whether the library's own settings can say what the table says about a call.
fn is_exported(query: &Query, exported: &[Choices; 2]) -> bool {
    let place = OperatorClass::ALL
        .iter()
        .position(|class| *class == query.operators);
    let Some(choices) = place.and_then(|place| exported.get(place)) else {
        return false;
    };
    let of_ranks = choices.collectives.get(&query.collective);
    let mut of_ranks = of_ranks.into_iter().flatten();
    let ranks = query.shape.ranks();
    let found = of_ranks.find(|rules| (rules.first..=rules.last).contains(&ranks));
    found.is_some_and(|rules| rules.native_at(query.bytes).is_some())
}

/// The group of a call and the query about it, or the reason why no table serves it.
fn group_of_call(
    call: &CallShape,
    deployment: Deployment,
) -> Result<(CallGroup, Query), &'static str> {
    let is_served = call.is_served();
    if is_served == Some(true) && call.form != Form::Blocking {
        return Err("the saving of nonblocking calls is not predicted");
    }
    let collective = Collective::from_name(&call.collective)
        .filter(|_| is_served == Some(true))
        .ok_or("tables do not serve persistent, neighbourhood, most nonblocking and other calls")?;
    let unequal = "the communicator's nodes have different numbers of its ranks, or are not known";
    let class = call.communicator.as_ref().ok_or(unequal)?;
    let (nodes, ppn) = class.nodes.zip(class.ppn).ok_or(unequal)?;
    let shape = CommShape::try_new(nodes, ppn)
        .filter(|shape| shape.ranks() > 1)
        .ok_or("the communicator has one rank, or too many")?;
    let order = class.order.on_shape(shape);
    let operators =
        OperatorClass::from_commutes(call.operator.as_deref() != Some("noncommutative"));
    let group = CallGroup {
        collective,
        nodes,
        ppn,
        order: order.name(),
        commutes: operators == OperatorClass::Commutative,
        size: call.bytes,
    };
    let query = Query {
        collective,
        shape,
        order,
        bytes: 0,
        operators,
        deployment,
    };
    Ok((group, query))
}

fn add_seconds(reasons: &mut ReasonSeconds, reason: &str, seconds: f64) {
    *reasons.entry(reason.to_owned()).or_default() += seconds;
}

/// The sums over the calls of a deployment.
fn sum_gains(
    deployment: Deployment,
    mut calls: Vec<CallGain>,
    reasons: ReasonSeconds,
) -> DeploymentGain {
    let most = |call: &CallGain| {
        let estimate = call.saved_seconds.or(call.saved_seconds_high);
        estimate.unwrap_or_else(|| call.seconds_saved_at_most())
    };
    calls.sort_by(|one, other| most(other).total_cmp(&most(one)));
    let mut gain = DeploymentGain {
        deployment,
        saved_seconds: 0.0,
        saved_seconds_low: 0.0,
        saved_seconds_high: 0.0,
        without_interval_seconds: 0.0,
        unknown_waiting_at_most_seconds: 0.0,
        calls: Vec::new(),
        not_covered: Vec::new(),
    };
    for call in &calls {
        match (
            call.saved_seconds,
            call.saved_seconds_low,
            call.saved_seconds_high,
        ) {
            (Some(saved), Some(low), Some(high)) => {
                gain.saved_seconds += saved;
                gain.saved_seconds_low += low;
                gain.saved_seconds_high += high;
            }
            (Some(saved), ..) => gain.without_interval_seconds += saved,
            (None, ..) => gain.unknown_waiting_at_most_seconds += call.seconds_saved_at_most(),
        }
    }
    gain.calls = calls;
    let not_covered = reasons.into_iter().filter(|(_, seconds)| *seconds > 0.0);
    gain.not_covered = not_covered
        .map(|(reason, seconds)| NotCovered { reason, seconds })
        .collect();
    let by_time = |one: &NotCovered, other: &NotCovered| other.seconds.total_cmp(&one.seconds);
    gain.not_covered.sort_by(by_time);
    gain
}

impl CallGain {
    /// The most that can be saved if ranks do not wait in the calls.
    fn seconds_saved_at_most(&self) -> f64 {
        let besides_waiting = self.seconds - self.waiting_seconds.unwrap_or(0.0);
        let without_interval = besides_waiting * (1.0 - 1.0 / self.speedup);
        self.saved_seconds_high.unwrap_or(without_interval).max(0.0)
    }
}

impl DeploymentGain {
    /// Whether any time may be saved.
    #[must_use]
    pub fn may_save(&self) -> bool {
        self.calls
            .iter()
            .any(|call| call.seconds_saved_at_most() > 0.0)
    }
}
