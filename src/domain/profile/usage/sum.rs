//! Sums of what tables did for many jobs.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{CarriedOutBy, JobOutcome, JobUsage};
use crate::Time;

/// Calls of one collective that one thing carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountedCalls {
    /// The number of calls, of all ranks of all jobs together.
    pub calls: u64,
    /// Those of them whose time was measured.
    pub timed_calls: u64,
    /// The time in these.
    pub time: Time,
}

impl CountedCalls {
    /// Adds other calls.
    pub fn add_calls(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.timed_calls = self.timed_calls.saturating_add(other.timed_calls);
        self.time += other.time;
    }
}

/// What identifies the table of jobs: the SHA-256 of its bytes; absent if no table was read.
pub type TableIdentity = Option<String>;

/// What a table did for jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableUsage {
    /// Its names.
    pub names: BTreeSet<String>,
    /// The jobs, by what became of the table.
    pub jobs: BTreeMap<JobOutcome, u64>,
    /// The numbers of jobs with each library.
    pub libraries: BTreeMap<String, u64>,
    /// The starts of the first and of the last job, in seconds since 1970.
    pub started: Option<(u64, u64)>,
    /// The calls, by collective and by what carried them out.
    pub calls: BTreeMap<(String, CarriedOutBy), CountedCalls>,
}

/// What tables did for many jobs. It does not depend on the order of the jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsageSum {
    /// By table.
    pub tables: BTreeMap<TableIdentity, TableUsage>,
    /// The number of lines of jobs that were there already, and do not count.
    pub repeated: u64,
    /// What identifies the jobs.
    seen: HashSet<String>,
}

impl UsageSum {
    /// Adds a job, unless it is there already.
    pub fn add_job(&mut self, job: &JobUsage) {
        if !self.seen.insert(job.id.clone()) {
            self.repeated += 1;
            return;
        }
        let identity = job.table.as_ref().map(|table| table.sha256.clone());
        self.tables.entry(identity).or_default().add_job(job);
    }
}

impl TableUsage {
    /// Adds a job with this table.
    pub fn add_job(&mut self, job: &JobUsage) {
        if let Some(table) = &job.table {
            self.names.insert(table.name.clone());
        }
        *self.jobs.entry(job.outcome).or_default() += 1;
        if let Some(library) = &job.library {
            *self.libraries.entry(library.clone()).or_default() += 1;
        }
        let (first, last) = self.started.unwrap_or((job.started, job.started));
        self.started = Some((first.min(job.started), last.max(job.started)));
        for row in &job.calls {
            let counted = CountedCalls {
                calls: row.calls,
                timed_calls: row.time.map_or(0, |_| row.calls),
                time: row.time.unwrap_or_default(),
            };
            self.add_calls(&row.collective, row.by, counted);
        }
    }

    /// Adds calls of a collective.
    pub fn add_calls(&mut self, collective: &str, by: CarriedOutBy, counted: CountedCalls) {
        let row = self.calls.entry((collective.to_owned(), by)).or_default();
        row.add_calls(counted);
    }
}
