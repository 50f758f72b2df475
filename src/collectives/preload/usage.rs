//! A line about the job in the file that `COLLTUNE_USAGE` names, for a site's accounting.
//!
//! The setting of the first rank counts, which tells the others of it in `MPI_Init`. In `MPI_Finalize` the ranks add up
//! their counts in one reduction, and the first one adds a line to the file, by one call of the kernel at the file's end:
//! lines of other jobs are not disturbed, and nothing waits for a lock. Calls are counted anyway; the clock is read only if
//! a summary is asked for as well.
//!
//! Whatever goes wrong is one warning. A job never fails for the line, and does not wait for it longer than the file
//! system takes to add it.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use capi::print_warning;
use exec::constants::MPI_Comm;
use profile::Time;
use profile::usage::{
    COLLECTIVES, CarriedOutBy, JobOutcome, JobUsage, TableOfJob, USAGE_VERSION, UsageCalls,
    UsageFormat, collective_name, collective_number,
};
use runtime::{
    By, CallSummary, Dispatcher, FallbackReason, RuntimeError, SummaryRow, UnservedReason,
};

use crate::lifetime::NO_FINALIZE;
use crate::record::{add_on_first, broadcast, mix, program_name};

/// When the program has started MPI.
#[derive(Clone, Copy, Debug)]
struct Start {
    since: std::time::Duration,
    clock: Instant,
}

static STARTED: OnceLock<Start> = OnceLock::new();

/// The numbers that a rank gives for each collective and each of what carries out calls: calls, and nanoseconds.
const NUMBERS: usize = COLLECTIVES * CarriedOutBy::ALL.len();

/// Remembers when the program has started MPI.
pub(crate) fn note_start() {
    STARTED.get_or_init(|| Start {
        since: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default(),
        clock: Instant::now(),
    });
}

/// Whether the first rank is to write a line. Collective.
///
/// # Safety
///
/// MPI is in use, the communicator is a valid intracommunicator, and all of its ranks call this.
pub(crate) unsafe fn is_asked_for(world: MPI_Comm, usage: Option<&Path>) -> bool {
    let mut asked = [u8::from(usage.is_some())];
    // SAFETY: the caller promises a valid intracommunicator all of whose ranks call this; each gives one byte.
    let told = unsafe { broadcast(world, &mut asked) };
    told.is_ok() && asked == [1]
}

/// Writes a line about a job whose calls are not known.
pub(crate) fn write_outcome(
    file: &Path,
    outcome: JobOutcome,
    why: &str,
    library: Option<String>,
    ranks: Option<u64>,
) {
    let line = JobUsage {
        why: Some(why.to_owned()),
        library,
        ranks,
        ..describe_job(outcome)
    };
    write_line(file, &line);
}

/// Why a table is not used.
pub(crate) fn outcome_of_error(error: &RuntimeError) -> JobOutcome {
    match error {
        RuntimeError::Table(_) => JobOutcome::Unreadable,
        RuntimeError::Differs => JobOutcome::Differs,
        RuntimeError::Variable { .. } => JobOutcome::Setting,
        RuntimeError::TableMismatch(_) => JobOutcome::OtherSystem,
        _ => JobOutcome::MpiError,
    }
}

/// The calls of all ranks, as numbers that ranks can add up.
#[derive(Debug)]
pub(crate) struct AddedCalls(Vec<u64>);

impl AddedCalls {
    /// Adds up the calls of all ranks on the first one; `None` on the others. Collective.
    ///
    /// # Safety
    ///
    /// MPI is in use, the communicator is a valid intracommunicator of which this is the `rank`, and all of its ranks call
    /// this.
    pub(crate) unsafe fn of_all_ranks(
        world: MPI_Comm,
        rank: i32,
        dispatcher: &Dispatcher,
        summary: &CallSummary,
        is_timed: bool,
    ) -> Option<Self> {
        let own = numbers_of_rank(dispatcher, summary, is_timed);
        // SAFETY: the caller promises a valid intracommunicator all of whose ranks call this; all have as many numbers.
        match unsafe { add_on_first(world, rank, &own) } {
            Ok(sums) => sums.map(Self),
            Err(error) => {
                if rank == 0 {
                    print_warning(&format!("COLLTUNE_USAGE: no line is written: {error}"));
                }
                None
            }
        }
    }

    /// The rows of the line; with times if this many ranks, all of them, have measured them.
    fn rows(&self, ranks: u64) -> Vec<UsageCalls> {
        let number = |place: usize| self.0.get(place).copied().unwrap_or_default();
        let is_timed = number(2 * NUMBERS) == ranks;
        let places = (0..COLLECTIVES).flat_map(|collective| {
            let all = CarriedOutBy::ALL.into_iter();
            all.map(move |by| (collective, by, place_of(collective, by)))
        });
        places
            .filter(|(_, _, place)| number(*place) > 0)
            .filter_map(|(collective, by, place)| {
                Some(UsageCalls {
                    collective: collective_name(collective)?,
                    by,
                    calls: number(place),
                    time: is_timed.then(|| Time::from_nanoseconds(number(NUMBERS + place))),
                })
            })
            .collect()
    }

    /// Writes the line of a job whose table decided about its calls.
    pub(crate) fn write(
        &self,
        file: &Path,
        dispatcher: &Dispatcher,
        ranks: u64,
        separate: Option<String>,
    ) {
        let outcome = match separate {
            None => JobOutcome::Used,
            Some(_) => JobOutcome::SeparateWorlds,
        };
        let line = JobUsage {
            why: separate,
            library: Some(exec::identify_library().to_string()),
            ranks: Some(ranks),
            table: Some(table_of(dispatcher)),
            calls: self.rows(ranks),
            ..describe_job(outcome)
        };
        write_line(file, &line);
    }
}

fn table_of(dispatcher: &Dispatcher) -> TableOfJob {
    TableOfJob {
        name: dispatcher.table().name.clone(),
        sha256: dispatcher.table_sha256(),
        replacements: dispatcher.replacements(),
    }
}

/// Writes the line of a job that ends without `MPI_Finalize`.
pub(crate) fn write_unfinished(file: &Path, dispatcher: &Dispatcher) {
    let line = JobUsage {
        why: Some(NO_FINALIZE.to_owned()),
        library: Some(exec::identify_library().to_string()),
        table: Some(table_of(dispatcher)),
        ..describe_job(JobOutcome::NoFinalize)
    };
    write_line(file, &line);
}

/// The place of the number of calls, and of the nanoseconds after those of all.
const fn place_of(collective: usize, by: CarriedOutBy) -> usize {
    collective * CarriedOutBy::ALL.len() + by as usize
}

/// What this rank adds to the sums: all numbers of calls, then the nanoseconds, then 1 if these were measured.
fn numbers_of_rank(dispatcher: &Dispatcher, summary: &CallSummary, is_timed: bool) -> Vec<u64> {
    let mut numbers = vec![0_u64; 2 * NUMBERS + 1];
    let mut add = |name: &str, by, calls: u64, time: Duration| {
        // MPI has every collective that is intercepted.
        let Some(collective) = collective_number(name) else {
            return;
        };
        let place = place_of(collective, by);
        if let Some(number) = numbers.get_mut(place) {
            *number += calls;
        }
        if let Some(number) = numbers.get_mut(NUMBERS + place) {
            *number += u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        }
    };
    for row in &summary.rows {
        let by = carried_out_by(row, dispatcher);
        add(&row.name(), by, row.calls, row.time);
    }
    for row in &summary.unserved {
        let by = match row.collective.reason {
            UnservedReason::Nonblocking => CarriedOutBy::Nonblocking,
            UnservedReason::Persistent => CarriedOutBy::Persistent,
            UnservedReason::Neighbourhood => CarriedOutBy::Neighbourhood,
        };
        add(row.collective.name, by, row.calls, row.time);
    }
    if let Some(number) = numbers.last_mut() {
        *number = u64::from(is_timed);
    }
    numbers
}

/// What carried out the calls of a row of the summary.
fn carried_out_by(row: &SummaryRow, dispatcher: &Dispatcher) -> CarriedOutBy {
    let reason = match row.by {
        By::Table => return CarriedOutBy::Table,
        By::Nearest => return CarriedOutBy::Nearest,
        By::Library(reason) => reason,
    };
    match reason {
        FallbackReason::Default | FallbackReason::NoRules
            if !dispatcher.has_rules_for(row.collective) =>
        {
            CarriedOutBy::NotInTable
        }
        FallbackReason::Default | FallbackReason::NoRules => CarriedOutBy::Default,
        FallbackReason::Native => CarriedOutBy::Native,
        FallbackReason::Unsuited | FallbackReason::Scratch => CarriedOutBy::Unsuited,
        FallbackReason::Unordered => CarriedOutBy::Unordered,
        FallbackReason::Descending => CarriedOutBy::Descending,
        FallbackReason::Undefined { .. } => CarriedOutBy::Undefined,
        FallbackReason::Empty => CarriedOutBy::Empty,
        FallbackReason::TooLarge => CarriedOutBy::TooLarge,
        FallbackReason::Invalid => CarriedOutBy::Invalid,
        FallbackReason::Intercommunicator => CarriedOutBy::Intercommunicator,
        FallbackReason::Alone => CarriedOutBy::Alone,
        FallbackReason::OtherWorld => CarriedOutBy::OtherWorld,
        FallbackReason::FirstCalls => CarriedOutBy::FirstCalls,
        FallbackReason::Shape => CarriedOutBy::Shape,
        FallbackReason::Rounding => CarriedOutBy::Rounding,
        FallbackReason::Withheld => CarriedOutBy::Withheld,
        FallbackReason::NoChannels(_) => CarriedOutBy::NoChannels,
        FallbackReason::Networks => CarriedOutBy::Networks,
        FallbackReason::Devices => CarriedOutBy::Devices,
        FallbackReason::NoCommunicator => CarriedOutBy::NoCommunicator,
    }
}

/// What is known of the job without its calls.
fn describe_job(outcome: JobOutcome) -> JobUsage {
    note_start();
    let start = STARTED.get();
    let since = start.map(|start| start.since).unwrap_or_default();
    let elapsed = start.map(|start| start.clock.elapsed()).unwrap_or_default();
    let identity = mix(since.as_nanos() as u64 ^ u64::from(std::process::id()) << 40);
    let mut jobs = libraries::JOB_VARIABLES.iter();
    JobUsage {
        format: UsageFormat::default(),
        version: USAGE_VERSION,
        id: format!("{:016x}", identity ^ mix(host_number())),
        job: jobs.find_map(|name| std::env::var(name).ok()),
        program: program_name(),
        library: None,
        started: since.as_secs(),
        time: Time::from_nanoseconds(elapsed.as_nanos() as u64),
        ranks: None,
        outcome,
        why: None,
        table: None,
        calls: Vec::new(),
    }
}

/// The name of this host, up to its first dot.
fn host_name() -> String {
    let name = environment::host_name();
    let first = name.split('.').next().unwrap_or_default();
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    first.chars().filter(is_plain).collect()
}

/// A number of this host, so that processes that start on several hosts at once have different identities.
fn host_number() -> u64 {
    let bytes = host_name().into_bytes().into_iter();
    bytes.fold(0, |number, byte| mix(number ^ u64::from(byte)))
}

/// Adds a line to the file, or to this host's and user's file of the month in the folder.
fn write_line(file: &Path, line: &JobUsage) {
    let mut text = line.to_line();
    if text.len() > profile::usage::MOST_LINE_BYTES {
        // Each collective may have been carried out in every way, but no program does that.
        print_warning("COLLTUNE_USAGE: no line is written: it would be too long");
        return;
    }
    let path = if file.is_dir() {
        file.join(name_in_folder(line.started))
    } else {
        file.to_owned()
    };
    let is_in_folder = path != file;
    if let Err(error) = append(&path, &mut text, is_in_folder) {
        print_warning(&format!("COLLTUNE_USAGE: {}: {error}", path.display()));
    }
}

/// The name of this host's and user's file: one host adds lines to it, as network file systems do not let several do so
/// at once, and one user, so that folders may be shared as `/tmp` is.
fn name_in_folder(started: u64) -> OsString {
    // SAFETY: may be called at any time.
    let user = unsafe { libc::geteuid() };
    let (year, month) = month_of(started);
    format!("usage-{}-{user}-{year:04}-{month:02}.jsonl", host_name()).into()
}

/// The year and the month, in UTC, of a time in seconds since 1970.
fn month_of(seconds: u64) -> (i32, i32) {
    let seconds = libc::time_t::try_from(seconds).unwrap_or(0);
    // SAFETY: integers and an address, for which zeros are valid.
    let mut time: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both addresses are of variables; the second one is written by the call.
    unsafe { libc::gmtime_r(&raw const seconds, &raw mut time) };
    (time.tm_year + 1900, time.tm_mon + 1)
}

/// Adds a line to a file by one call, without ever waiting for a reader. In a shared folder the file `is_own`: a link, or a
/// file of another user, is refused.
fn append(path: &Path, text: &mut String, is_own: bool) -> io::Result<()> {
    let is_special = files::is_special(path);
    let link = if is_own { libc::O_NOFOLLOW } else { 0 };
    let mut file = OpenOptions::new()
        .read(!is_special)
        .append(true)
        .create(true)
        .mode(0o644)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | link)
        .open(path)?;
    if is_own {
        check_own(&file)?;
    }
    // After a full disk the last line may lack its end.
    if !is_special && !ends_with_line(&file)? {
        text.insert(0, '\n');
    }
    let written = file.write(text.as_bytes())?;
    if written < text.len() {
        return Err(io::Error::other(format!(
            "only {written} of {} bytes of the line could be written",
            text.len()
        )));
    }
    Ok(())
}

fn check_own(file: &File) -> io::Result<()> {
    let about = file.metadata()?;
    // SAFETY: may be called at any time.
    let user = unsafe { libc::geteuid() };
    if about.is_file() && about.uid() == user {
        Ok(())
    } else {
        Err(io::Error::other("no file of this user"))
    }
}

/// Whether a file is empty or ends with the end of a line.
fn ends_with_line(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let mut last = [0];
    if length == 0 {
        return Ok(true);
    }
    file.read_exact_at(&mut last, length - 1)?;
    Ok(last == *b"\n")
}

/// Whether the line would go into the table or into the summary.
pub(crate) fn is_taken(usage: &Path, others: [Option<&PathBuf>; 2]) -> bool {
    let mut others = others.into_iter().flatten();
    others.any(|other| usage == other || files::is_same(usage, other))
}
