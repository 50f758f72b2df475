//! What sums say: shares of calls, and what is not covered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CarriedOutBy, CountedCalls, JobOutcome, TableCoverage, TableUsage, UsageSum};

/// What tables did for jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UsageOverview {
    /// The number of jobs.
    pub jobs: u64,
    /// The number of lines about jobs that were there already, and did not count.
    pub repeated_lines: u64,
    /// The calls of all jobs.
    pub coverage: CoverageOverview,
    /// By table, first that with the most calls.
    pub tables: Vec<TableUsageOverview>,
}

/// Shares of calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoverageOverview {
    /// The number of calls, of all ranks together.
    pub calls: u64,
    /// The part of them that colltune carried out, from 0 to 1.
    pub served_share: f64,
    /// The part that the library carried out because the table says so.
    pub left_by_table_share: f64,
    /// The part that the library carried out for other reasons.
    pub not_covered_share: f64,
    /// The part of the calls whose time was measured.
    pub timed_share: f64,
    /// The time in these calls, of all ranks together.
    pub seconds: f64,
    /// The part of this time in calls that colltune carried out; null if no time was measured.
    pub served_seconds_share: Option<f64>,
    /// The part of this time in calls that are not covered; null if no time was measured.
    pub not_covered_seconds_share: Option<f64>,
}

/// Calls by what carried them out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CarriedCalls {
    /// What carried them out.
    pub by: CarriedOutBy,
    /// The number of calls.
    pub calls: u64,
    /// The part of the calls of the collective, or of all, from 0 to 1.
    pub share: f64,
    /// The time in those calls whose time was measured; null if there are none.
    pub seconds: Option<f64>,
}

/// The calls of one collective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CollectiveUsage {
    /// MPI's name in lower case.
    pub collective: String,
    /// The shares.
    #[serde(flatten)]
    pub coverage: CoverageOverview,
    /// What carried them out, most calls first.
    pub by: Vec<CarriedCalls>,
}

/// What one table did for jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TableUsageOverview {
    /// The SHA-256 of the table's bytes; null for jobs that have read none.
    pub sha256: Option<String>,
    /// Its names.
    pub names: Vec<String>,
    /// The number of jobs.
    pub jobs: u64,
    /// The jobs by what became of the table.
    pub outcomes: BTreeMap<JobOutcome, u64>,
    /// The numbers of jobs with each library.
    pub libraries: BTreeMap<String, u64>,
    /// The start of the first job, in seconds since 1970; null if it is not known.
    pub first_started: Option<u64>,
    /// The start of the last one.
    pub last_started: Option<u64>,
    /// The calls of these jobs.
    pub coverage: CoverageOverview,
    /// What carried them out, most calls first.
    pub by: Vec<CarriedCalls>,
    /// By collective, most calls first.
    pub collectives: Vec<CollectiveUsage>,
}

impl UsageSum {
    /// The figures.
    #[must_use]
    pub fn overview(&self) -> UsageOverview {
        let mut all: BTreeMap<CarriedOutBy, CountedCalls> = BTreeMap::new();
        let mut tables = Vec::new();
        for (identity, usage) in &self.tables {
            for ((_, by), counted) in &usage.calls {
                all.entry(*by).or_default().add_calls(*counted);
            }
            tables.push(usage.overview(identity.clone()));
        }
        tables.sort_by_key(|table| std::cmp::Reverse((table.coverage.calls, table.jobs)));
        UsageOverview {
            jobs: tables.iter().map(|table| table.jobs).sum(),
            repeated_lines: self.repeated,
            coverage: coverage_of(&all),
            tables,
        }
    }
}

impl TableUsage {
    /// The figures.
    #[must_use]
    pub fn overview(&self, sha256: Option<String>) -> TableUsageOverview {
        let mut all: BTreeMap<CarriedOutBy, CountedCalls> = BTreeMap::new();
        let mut by_collective: BTreeMap<&str, BTreeMap<CarriedOutBy, CountedCalls>> =
            BTreeMap::new();
        for ((collective, by), counted) in &self.calls {
            all.entry(*by).or_default().add_calls(*counted);
            let of_collective = by_collective.entry(collective).or_default();
            of_collective.entry(*by).or_default().add_calls(*counted);
        }
        let mut collectives: Vec<CollectiveUsage> = by_collective
            .into_iter()
            .map(|(collective, counted)| CollectiveUsage {
                collective: collective.to_owned(),
                coverage: coverage_of(&counted),
                by: carried_calls(&counted),
            })
            .collect();
        collectives.sort_by_key(|usage| std::cmp::Reverse(usage.coverage.calls));
        TableUsageOverview {
            sha256,
            names: self.names.iter().cloned().collect(),
            jobs: self.jobs.values().sum(),
            outcomes: self.jobs.clone(),
            libraries: self.libraries.clone(),
            first_started: self.started.map(|(first, _)| first),
            last_started: self.started.map(|(_, last)| last),
            coverage: coverage_of(&all),
            by: carried_calls(&all),
            collectives,
        }
    }
}

fn carried_calls(counted: &BTreeMap<CarriedOutBy, CountedCalls>) -> Vec<CarriedCalls> {
    let all = add_up(counted, |_| true);
    let mut rows: Vec<CarriedCalls> = counted
        .iter()
        .map(|(by, calls)| CarriedCalls {
            by: *by,
            calls: calls.calls,
            share: part_of(calls.calls, all.calls),
            seconds: (calls.timed_calls > 0).then(|| calls.time.seconds()),
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.calls));
    rows
}

fn coverage_of(counted: &BTreeMap<CarriedOutBy, CountedCalls>) -> CoverageOverview {
    let all = add_up(counted, |_| true);
    let [served, left, not_covered] = [
        TableCoverage::Served,
        TableCoverage::LeftByTable,
        TableCoverage::NotCovered,
    ]
    .map(|coverage| add_up(counted, |by| by.coverage() == coverage));
    let is_timed = !all.time.is_zero();
    CoverageOverview {
        calls: all.calls,
        served_share: part_of(served.calls, all.calls),
        left_by_table_share: part_of(left.calls, all.calls),
        not_covered_share: part_of(not_covered.calls, all.calls),
        timed_share: part_of(all.timed_calls, all.calls),
        seconds: all.time.seconds(),
        served_seconds_share: is_timed.then(|| served.time.share_of(all.time)),
        not_covered_seconds_share: is_timed.then(|| not_covered.time.share_of(all.time)),
    }
}

/// The calls that something carried out for which the condition holds.
fn add_up(
    counted: &BTreeMap<CarriedOutBy, CountedCalls>,
    is_counted: impl Fn(CarriedOutBy) -> bool,
) -> CountedCalls {
    let mut sum = CountedCalls::default();
    for (by, calls) in counted {
        if is_counted(*by) {
            sum.add_calls(*calls);
        }
    }
    sum
}

fn part_of(part: u64, whole: u64) -> f64 {
    if whole > 0 {
        part as f64 / whole as f64
    } else {
        0.0
    }
}
