//! What tables did for jobs: the lines that `libcolltune.so` writes, added up by day, table, collective and reason.
//!
//! Lines themselves are not kept, nor who ran which program. A table that the machine does not have here counts with others
//! of the kind, so that the number of rows has a bound whatever is sent: the days, times the machine's tables, times the
//! collectives and the reasons. A line counts once, by the number in it, as senders repeat what they are not sure of.

use std::collections::{BTreeMap, HashMap};

use answers::{MachineTraffic, TableTraffic, TrafficTable, UsageReceipt};
use profile::Time;
use profile::usage::{CarriedOutBy, CountedCalls, JobOutcome, JobUsage, TableUsage};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::database::{machine_id, query_rows, unreadable_column};
use crate::{Actor, Release, Scope, Service, ServiceError};

const DAY_SECONDS: u64 = 86_400;
/// The most calls in a row: sums of all days fit into an integer of SQLite.
const MOST_CALLS: i64 = 1 << 51;
/// The most jobs that are remembered in order to count them once; the oldest are forgotten first.
const MOST_SEEN: i64 = 2_000_000;
/// The digests of rows that are of no table of the machine.
const NO_TABLE: &str = "";
const OTHER_TABLES: &str = "other";

impl Service {
    /// Counts jobs of a machine, each a line of JSON. Needs the scope `usage` for the machine. If a line is wrong, none
    /// counts.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`], [`ServiceError::NotFound`]; [`ServiceError::Invalid`] with the number of a line;
    /// SQLite.
    pub fn add_usage(
        &self,
        actor: &Actor,
        machine: &str,
        text: &str,
    ) -> Result<UsageReceipt, ServiceError> {
        actor.require_scope(Scope::Usage, Some(machine))?;
        self.configuration.find_machine(machine)?;
        let jobs = read_lines(text)?;
        let (today, first) = (self.usage_today(), self.first_usage_day());
        self.database.write(|transaction| {
            let machine = machine_id(transaction, machine)?;
            let mut receipt = UsageReceipt::default();
            let mut adding = Adding {
                transaction,
                machine,
                known: HashMap::new(),
            };
            for job in &jobs {
                // A clock that is ahead must not keep rows for longer.
                let day = to_row((job.started / DAY_SECONDS).min(today.unsigned_abs()));
                if day < first {
                    receipt.too_old += 1;
                } else if adding.note_seen(job, day)? {
                    adding.add_job(job, day)?;
                    receipt.counted += 1;
                } else {
                    receipt.repeated += 1;
                }
            }
            remove_old(transaction, first)?;
            Ok(receipt)
        })
    }

    /// What tables did for a machine's jobs of the last days, at most those that are kept.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`]; [`ServiceError::Invalid`] for 0 days; SQLite.
    pub fn read_usage(
        &self,
        machine: &str,
        days: Option<u32>,
    ) -> Result<MachineTraffic, ServiceError> {
        self.configuration.find_machine(machine)?;
        let kept_days = self.configuration.usage_days;
        let days = days.unwrap_or(30).min(kept_days);
        if days == 0 {
            return Err(ServiceError::invalid("days", "write 1 or more"));
        }
        let first = self.usage_today() - i64::from(days) + 1;
        let by_digest = self.database.read(|connection| {
            let machine = machine_id(connection, machine)?;
            read_tables(connection, machine, first)
        })?;
        let mut current = self.newest_releases()?;
        current.retain(|release| release.key.machine == machine);
        let mut tables: Vec<TableTraffic> = by_digest
            .iter()
            .map(|(digest, usage)| table_traffic(digest, usage, &current))
            .collect();
        tables.sort_by_key(|table| {
            let calls = table.usage.coverage.calls;
            std::cmp::Reverse((!table.channels.is_empty(), calls, table.usage.jobs))
        });
        Ok(MachineTraffic {
            machine: machine.to_owned(),
            days,
            kept_days,
            tables,
        })
    }

    /// Removes what is older than the days that are kept.
    ///
    /// # Errors
    /// SQLite.
    pub(crate) fn remove_old_usage(&self) -> Result<(), ServiceError> {
        let first = self.first_usage_day();
        self.database
            .write(|transaction| remove_old(transaction, first))
    }

    fn usage_today(&self) -> i64 {
        self.clock.now().as_second() / DAY_SECONDS as i64
    }

    /// The first day that is kept.
    fn first_usage_day(&self) -> i64 {
        self.usage_today() - i64::from(self.configuration.usage_days) + 1
    }
}

/// The jobs in a text.
fn read_lines(text: &str) -> Result<Vec<JobUsage>, ServiceError> {
    let lines = text.lines().zip(1_u64..);
    let lines = lines.filter(|(line, _)| !line.trim().is_empty());
    lines
        .map(|(line, number)| {
            JobUsage::from_line(line.as_bytes()).map_err(|error| {
                let problem = format!("{error}; nothing was counted, delete or mend the line");
                ServiceError::invalid("body", format!("line {number}: {problem}"))
            })
        })
        .collect()
}

/// The addition of jobs of one machine.
struct Adding<'a> {
    transaction: &'a Transaction<'a>,
    machine: i64,
    /// Whether the machine has tables with these digests.
    known: HashMap<String, bool>,
}

impl Adding<'_> {
    /// Remembers a job; false if it has been counted.
    fn note_seen(&self, job: &JobUsage, day: i64) -> Result<bool, ServiceError> {
        let mut insert = self.transaction.prepare_cached(
            "INSERT OR IGNORE INTO usage_seen (machine, id, day) VALUES (?1, ?2, ?3)",
        )?;
        // The line has been checked: 16 hexadecimal digits, as many bits as an integer of SQLite has.
        let id = u64::from_str_radix(&job.id, 16).unwrap_or_default() as i64;
        Ok(insert.execute(params![self.machine, id, day])? == 1)
    }

    fn add_job(&mut self, job: &JobUsage, day: i64) -> Result<(), ServiceError> {
        let digest = self.digest_of(job)?;
        let mut add_job = self.transaction.prepare_cached(
            "INSERT INTO usage_jobs (machine, day, digest, outcome, jobs) VALUES (?1, ?2, ?3, ?4, 1) \
             ON CONFLICT DO UPDATE SET jobs = jobs + 1",
        )?;
        add_job.execute(params![self.machine, day, digest, job.outcome.name()])?;
        let mut add_calls = self.transaction.prepare_cached(
            "INSERT INTO usage_calls (machine, day, digest, collective, carried_by, calls, timed_calls, seconds) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
             ON CONFLICT DO UPDATE SET calls = min(calls + excluded.calls, ?9), \
             timed_calls = min(timed_calls + excluded.timed_calls, ?9), seconds = seconds + excluded.seconds",
        )?;
        for row in &job.calls {
            let calls = to_row(row.calls).min(MOST_CALLS);
            add_calls.execute(params![
                self.machine,
                day,
                digest,
                row.collective,
                row.by.name(),
                calls,
                row.time.map_or(0, |_| calls),
                row.time.unwrap_or_default().seconds(),
                MOST_CALLS
            ])?;
        }
        Ok(())
    }

    /// The digest of a job's rows.
    fn digest_of(&mut self, job: &JobUsage) -> Result<String, ServiceError> {
        let Some(table) = &job.table else {
            return Ok(NO_TABLE.to_owned());
        };
        let is_known = match self.known.get(&table.sha256) {
            Some(is_known) => *is_known,
            None => {
                let query = "SELECT 1 FROM version WHERE machine = ?1 AND digest = ?2";
                let mut find = self.transaction.prepare_cached(query)?;
                let found = find
                    .query_row(params![self.machine, table.sha256], |_| Ok(()))
                    .optional()?;
                self.known.insert(table.sha256.clone(), found.is_some());
                found.is_some()
            }
        };
        let digest = if is_known {
            &table.sha256
        } else {
            OTHER_TABLES
        };
        Ok(digest.to_owned())
    }
}

/// A number of a line as one of SQLite.
fn to_row(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Removes rows of days before the first one, and the oldest of too many jobs.
fn remove_old(transaction: &Transaction<'_>, first: i64) -> Result<(), ServiceError> {
    for table in ["usage_jobs", "usage_calls", "usage_seen"] {
        transaction.execute(&format!("DELETE FROM {table} WHERE day < ?1"), [first])?;
    }
    let count = "SELECT count(*) FROM usage_seen";
    let seen: i64 = transaction.query_row(count, [], |row| row.get(0))?;
    if seen > MOST_SEEN {
        let oldest = "DELETE FROM usage_seen WHERE (machine, id) IN \
                      (SELECT machine, id FROM usage_seen ORDER BY day LIMIT ?1)";
        transaction.execute(oldest, [seen - MOST_SEEN])?;
    }
    Ok(())
}

/// The jobs of a table with one outcome.
struct JobsRow {
    digest: String,
    outcome: JobOutcome,
    jobs: u64,
    first_day: u64,
    last_day: u64,
}

/// The calls of one collective, of jobs with a table, that one thing carried out.
struct CallsRow {
    digest: String,
    collective: String,
    by: CarriedOutBy,
    counted: CountedCalls,
}

/// What each table did since a day, by digest.
fn read_tables(
    connection: &Connection,
    machine: i64,
    first: i64,
) -> Result<BTreeMap<String, TableUsage>, ServiceError> {
    let mut tables: BTreeMap<String, TableUsage> = BTreeMap::new();
    let select_jobs = "SELECT digest, outcome, sum(jobs), min(day), max(day) FROM usage_jobs \
                       WHERE machine = ?1 AND day >= ?2 GROUP BY digest, outcome";
    let job_rows = query_rows(connection, select_jobs, params![machine, first], |row| {
        Ok(JobsRow {
            digest: row.get(0)?,
            outcome: known_word(row, 1, JobOutcome::from_name)?,
            jobs: row.get(2)?,
            first_day: row.get(3)?,
            last_day: row.get(4)?,
        })
    })?;
    for row in job_rows {
        let usage = tables.entry(row.digest).or_default();
        usage.jobs.insert(row.outcome, row.jobs);
        let [from, to] = [row.first_day, row.last_day].map(|day| day.saturating_mul(DAY_SECONDS));
        let (known_from, known_to) = usage.started.unwrap_or((from, to));
        usage.started = Some((known_from.min(from), known_to.max(to)));
    }
    let select_calls = "SELECT digest, collective, carried_by, sum(calls), sum(timed_calls), sum(seconds) \
                        FROM usage_calls WHERE machine = ?1 AND day >= ?2 GROUP BY digest, collective, carried_by";
    let call_rows = query_rows(connection, select_calls, params![machine, first], |row| {
        Ok(CallsRow {
            digest: row.get(0)?,
            collective: row.get(1)?,
            by: known_word(row, 2, CarriedOutBy::from_name)?,
            counted: CountedCalls {
                calls: row.get(3)?,
                timed_calls: row.get(4)?,
                time: Time::from_nanoseconds((row.get::<_, f64>(5)? * 1e9) as u64),
            },
        })
    })?;
    for row in call_rows {
        let usage = tables.entry(row.digest).or_default();
        usage.add_calls(&row.collective, row.by, row.counted);
    }
    Ok(tables)
}

/// A word in a column.
fn known_word<T>(
    row: &Row<'_>,
    column: usize,
    find: impl FnOnce(&str) -> Option<T>,
) -> rusqlite::Result<T> {
    let name: String = row.get(column)?;
    find(&name).ok_or_else(|| {
        let problem = format!("`{name}` is not known");
        unreadable_column(std::io::Error::other(problem))
    })
}

fn table_traffic(digest: &str, usage: &TableUsage, current: &[Release]) -> TableTraffic {
    let (table, sha256) = match digest {
        NO_TABLE => (TrafficTable::None, None),
        OTHER_TABLES => (TrafficTable::Other, None),
        known => (TrafficTable::Known, Some(known.to_owned())),
    };
    let releases = current.iter();
    let channels = releases
        .filter(|release| release.digest.as_str() == digest)
        .map(|release| release.key.clone());
    TableTraffic {
        table,
        channels: channels.collect(),
        usage: usage.overview(sha256),
    }
}
