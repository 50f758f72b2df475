//! Actions in the program's `MPI_Init` and `MPI_Finalize`.

use std::ffi::{OsStr, c_int};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use capi::{built_for, other_library, print_warning, read_with_settings};
use exec::constants::MPI_Comm;
use files::Plain;
use libraries::LibraryName;
use mpi::ffi;
use profile::usage::JobOutcome;
use runtime::{By, CallSummary, Dispatcher, FallbackReason, NotNonblocking, Settings};

use crate::chain;
use crate::counts::{start_counting, stop_counting};
use crate::environment::{Environment, Log};
use crate::gathering::wait_for_all_ranks;
use crate::nonblocking::{serve_nonblocking, stop_serving};
use crate::record::write_part_at_exit;
#[cfg(sessions)]
use crate::sessions;
use crate::usage::{self, AddedCalls};

/// The dispatcher in use; null before it is made and after the end.
static DISPATCHER: AtomicPtr<Dispatcher> = AtomicPtr::new(std::ptr::null_mut());

/// What is written when MPI ends.
static OUTPUTS: OnceLock<Outputs> = OnceLock::new();

/// The destinations of what is written about the calls.
#[derive(Debug)]
struct Outputs {
    /// That of the summary.
    log: Option<Log>,
    /// That of the line about the job.
    usage: Option<PathBuf>,
    /// Whether the first rank has one, so that ranks add up their calls.
    has_line: bool,
}

/// The reason why nonblocking collectives are left to the library although they are to be served.
static NOT_NONBLOCKING: OnceLock<NotNonblocking> = OnceLock::new();

/// Why nothing is known of the calls of a program that ends early, with the remedy.
pub(crate) const NO_FINALIZE: &str =
    "the program ended without MPI_Finalize, which all ranks must call before they end";

/// The process that has started MPI; 0 before. A child that it forks has not.
static STARTED_IN: AtomicU32 = AtomicU32::new(0);

/// The dispatcher in use.
#[inline]
pub(crate) fn dispatcher() -> Option<&'static Dispatcher> {
    // A thread that finds the dispatcher also finds what it consists of.
    let dispatcher = DISPATCHER.load(Ordering::Acquire);
    // SAFETY: set by `start_using_table`, and freed by `stop_using_table` when no more calls can come. Threads use it as the
    // program's promises to MPI allow, which are those that it relies on.
    unsafe { dispatcher.as_ref() }
}

/// The dispatcher, if [`dispatcher`] has just returned it.
///
/// # Safety
///
/// [`dispatcher`] has just returned it.
#[inline]
pub(crate) unsafe fn at_work() -> &'static Dispatcher {
    // SAFETY: the caller promises that `dispatcher` has just returned this one, so it has been set, and not freed
    // since.
    unsafe { &*DISPATCHER.load(Ordering::Acquire) }
}

/// Whether this process has started MPI.
pub(crate) fn has_started() -> bool {
    STARTED_IN.load(Ordering::Relaxed) != 0
}

/// Whether the program can be recorded: it runs with the library that this was built for, and no other program has spawned
/// it, whose profile might go to the same file. The first process says that the library is another one.
pub(crate) fn is_recordable() -> bool {
    if let Some(other) = other_library() {
        // With a table, `start_using_table` says it.
        if Environment::from_process().is_none() && is_launched_first() {
            print_warning(&describe_other_library(&other));
        }
        return false;
    }
    !is_spawned()
}

/// A sentence about the library that the program runs with, which is not that of this build.
fn describe_other_library(other: &str) -> String {
    let built_for = built_for();
    format!("this libcolltune.so was built for {built_for}, but the program runs with {other}")
}

/// Starts using the table, once MPI has been initialised. Collective over `MPI_COMM_WORLD`.
pub(crate) fn start_using_table() {
    if STARTED_IN.swap(std::process::id(), Ordering::Relaxed) != 0 {
        return;
    }
    let Some(mut environment) = Environment::from_process() else {
        return;
    };
    usage::note_start();
    if let Some(other) = other_library() {
        if is_launched_first() {
            let why = describe_other_library(&other);
            print_warning(&why);
            if let Some(file) = environment.usage.filter(|_| is_first_of_step()) {
                usage::write_outcome(&file, JobOutcome::OtherLibrary, &why, Some(other), None);
            }
        }
        return;
    }
    if is_spawned() {
        if let Some(file) = &environment.usage
            && is_first()
        {
            write_unused(file, JobOutcome::Spawned, "another program has spawned it");
        }
        return;
    }
    wait_for_all_ranks(&environment.table, "COLLTUNE_TABLE");
    if let Some(log) = &environment.log
        && files_are_same(log, &environment.table)
    {
        if is_first() {
            print_warning(
                "COLLTUNE_LOG names the table, so the summary is not written: name another file",
            );
        }
        environment.log = None;
    }
    drop_usage_of_taken_file(&mut environment);
    // SAFETY: MPI has just been initialised, and all ranks have a table, for which they have waited.
    let has_line =
        unsafe { usage::is_asked_for(world_communicator(), environment.usage.as_deref()) };
    let (loaded, settings) = read_with_settings(&environment.table);
    let settings = Settings {
        timed: environment.log.is_some(),
        ..settings
    };
    // SAFETY: MPI is initialised, and this the right library.
    let dispatcher = unsafe { Dispatcher::new(loaded, world_communicator(), settings) };
    match dispatcher {
        Ok(dispatcher) => {
            if environment.log.is_some() || has_line {
                start_counting(environment.log.is_some());
            }
            if let Err(reason) = serve_nonblocking(&dispatcher) {
                // The summary says it in any case.
                if is_first() && dispatcher.forces_nonblocking() {
                    print_warning(&describe_refusal(reason));
                }
                // MPI is started only once.
                let _ = NOT_NONBLOCKING.set(reason);
            }
            // A job may take long, and the summary comes at its end.
            if let Some(separate) = describe_separate_worlds(count_ranks())
                && dispatcher.uses_rules()
                && writes_for_job()
            {
                print_warning(&separate);
            }
            // MPI is started only once.
            let _ = OUTPUTS.set(Outputs {
                log: environment.log,
                usage: environment.usage,
                has_line,
            });
            DISPATCHER.store(Box::into_raw(Box::new(dispatcher)), Ordering::Release);
        }
        Err(error) if is_first() => {
            print_warning(&format!("all collectives are the library's own: {error}"));
            if let Some(log @ Log::File(_)) = &environment.log {
                write_log(log, &format!("colltune: the table is not used: {error}\n"));
            }
            if let Some(file) = environment.usage.filter(|_| writes_for_job()) {
                write_unused(&file, usage::outcome_of_error(&error), &error.to_string());
            }
        }
        Err(_) => {}
    }
}

/// Runs when the process ends, also through `exit`.
#[used]
// SAFETY: the section has addresses of C functions without arguments.
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

/// Says why there is no summary, if the program has used MPI in a way that is not served. Processes that have not used
/// MPI, such as a shell that starts the program, write nothing.
extern "C" fn at_exit() {
    let started_in = STARTED_IN.load(Ordering::Relaxed);
    let is_forked = started_in != 0 && started_in != std::process::id();
    let is_in_use = !DISPATCHER.load(Ordering::Relaxed).is_null();
    if is_forked {
        return;
    }
    write_part_at_exit();
    if started_in != 0 && !is_in_use {
        return;
    }
    let why = if is_in_use {
        None
    } else {
        let Some(why) = why_unserved() else {
            return;
        };
        Some(why)
    };
    let line = match &why {
        Some(unserved) => format!("colltune: the table is not used: {}\n", unserved.why),
        None => format!("colltune: no summary: {NO_FINALIZE}\n"),
    };
    let Some(mut environment) = Environment::from_process().filter(|_| is_launched_first()) else {
        return;
    };
    drop_usage_of_taken_file(&mut environment);
    if let Some(file) = environment.usage.filter(|_| is_first_of_step()) {
        match (&why, dispatcher()) {
            (Some(unserved), _) => {
                // The library tells its name at any time, also after MPI has ended.
                let library = Some(exec::identify_library().to_string());
                usage::write_outcome(&file, unserved.outcome, &unserved.why, library, None);
            }
            (None, Some(dispatcher)) => usage::write_unfinished(&file, dispatcher),
            (None, None) => {}
        }
    }
    match environment.log {
        Some(log) if !files_are_same(&log, &environment.table) => write_log(&log, &line),
        _ => {
            if let Some(unserved) = why {
                let reason = unserved.why;
                print_warning(&format!("all collectives are the library's own: {reason}"));
            }
        }
    }
}

/// Why a table has served no call of a program that has not called `MPI_Init`, as far as is seen here.
struct Unserved {
    outcome: JobOutcome,
    why: String,
}

/// The reason why the table has served no call; `None` if MPI has not been started.
fn why_unserved() -> Option<Unserved> {
    #[cfg(sessions)]
    if sessions::are_used() {
        let why = "the program starts MPI by sessions, without MPI_Init, and their communicators are not served: only a program \
                   that calls MPI_Init, and makes its communicators from MPI_COMM_WORLD, can use a table";
        return Some(Unserved {
            outcome: JobOutcome::Sessions,
            why: why.to_owned(),
        });
    }
    let mut initialized = 0;
    // SAFETY: may be called at any time; the result is written by the call.
    let code = unsafe { ffi::PMPI_Initialized(&mut initialized) };
    if code != 0 || initialized == 0 {
        return None;
    }
    let why = match chain::first_tool() {
        Some(tool) => format!(
            "{}, which comes after libcolltune.so, calls the MPI library past it: put it before libcolltune.so in LD_PRELOAD",
            tool.display()
        ),
        None => "the program calls MPI's functions by addresses of its own, for instance from dlopen, and not by their names: \
                 have it look them up by dlsym(RTLD_DEFAULT, ...) or in libcolltune.so, or link it to the MPI library"
            .to_owned(),
    };
    Some(Unserved {
        outcome: JobOutcome::Bypassed,
        why,
    })
}

/// Whether this process is the first rank, as far as the launcher's variables say.
fn is_launched_first() -> bool {
    let libraries = LibraryName::ALL.iter();
    libraries
        .flat_map(|library| library.facts().rank_variables)
        .find_map(std::env::var_os)
        .is_none_or(|rank| rank == OsStr::new("0"))
}

/// Whether this process is the first one of its step, as far as the batch system says. A library's launcher within a step
/// says which rank is the first one. It also says how many ranks there are, which nothing else does: Open MPI gives a
/// process that no launcher has started the rank 0.
fn is_first_of_step() -> bool {
    let libraries = LibraryName::ALL.iter();
    let has_launcher = libraries
        .flat_map(|library| library.facts().size_variables)
        .any(|name| std::env::var_os(name).is_some());
    let number = std::env::var_os(libraries::STEP_RANK_VARIABLE);
    has_launcher || number.is_none_or(|number| number == OsStr::new("0"))
}

/// Whether this process writes for the job: it is the first rank, and of processes that were started together and do not
/// find each other the first one.
fn writes_for_job() -> bool {
    let is_alone = || describe_separate_worlds(count_ranks()).is_some();
    is_first() && (!is_alone() || is_launched_first() && is_first_of_step())
}

/// Writes the line of a job whose table is not used.
fn write_unused(file: &Path, outcome: JobOutcome, why: &str) {
    let library = exec::identify_library().to_string();
    let ranks = u64::try_from(count_ranks()).ok();
    usage::write_outcome(file, outcome, why, Some(library), ranks);
}

/// Forgets where to write the line about the job if that is where something else is.
fn drop_usage_of_taken_file(environment: &mut Environment) {
    let log = match &environment.log {
        Some(Log::File(log)) => Some(log),
        _ => None,
    };
    let others = [Some(&environment.table), log];
    let usage = environment.usage.as_deref();
    if usage.is_some_and(|usage| usage::is_taken(usage, others)) {
        if is_launched_first() {
            print_warning(
                "COLLTUNE_USAGE names the table or the summary, so no line about the job is written: name another file",
            );
        }
        environment.usage = None;
    }
}

/// Whether the summary would replace the table.
fn files_are_same(log: &Log, table: &Path) -> bool {
    matches!(log, Log::File(log) if files::is_same(log, table))
}

/// Stops using the table, before MPI is finalised. Collective.
pub(crate) fn stop_using_table() {
    let dispatcher = DISPATCHER.swap(std::ptr::null_mut(), Ordering::AcqRel);
    if dispatcher.is_null() {
        return;
    }
    stop_serving();
    // SAFETY: made by `start_using_table`; no later call finds it.
    let dispatcher = unsafe { Box::from_raw(dispatcher) };
    let summary = CallSummary {
        unserved: stop_counting(),
        ..dispatcher.summary()
    };
    let Some(outputs) = OUTPUTS.get() else {
        return;
    };
    if let Some(log) = &outputs.log
        && is_first()
    {
        write_log(log, &summary_text(&dispatcher, &summary));
    }
    if outputs.has_line {
        let (world, rank) = (world_communicator(), own_rank());
        let is_timed = outputs.log.is_some();
        // SAFETY: MPI has not been finalised, and all ranks of the world call this, as the first one has told them.
        let added =
            unsafe { AddedCalls::of_all_ranks(world, rank, &dispatcher, &summary, is_timed) };
        if let (Some(added), Some(file)) = (added, &outputs.usage)
            && writes_for_job()
        {
            let ranks = count_ranks();
            let separate = describe_separate_worlds(ranks);
            added.write(file, &dispatcher, ranks.unsigned_abs().into(), separate);
        }
    }
}

fn summary_text(dispatcher: &Dispatcher, summary: &CallSummary) -> String {
    let (table, ranks) = (&dispatcher.table().name, count_ranks());
    let mut lines = vec![format!(
        "table {table}, calls of rank 0 of {ranks}; the expected gain is from the table's times, not measured here"
    )];
    lines.extend(describe_separate_worlds(ranks));
    lines.extend(summary.to_string().lines().map(str::to_owned));
    lines.extend(dispatcher.report_unused_rules());
    let numerics = dispatcher.required_numerics();
    if !numerics.is_none() {
        lines.push(format!(
            "numerics {numerics}: holds for the reductions that colltune carried out; those left to the library carry \
             no promise"
        ));
    }
    if let Some(tool) = chain::first_tool() {
        let tool = tool.display();
        lines.push(format!(
            "{tool} intercepts MPI, too, and sees the program's calls first"
        ));
    }
    let is_unmeasured = |(by, _): &(By, u64)| *by == By::Library(FallbackReason::Shape);
    if summary.calls_by().iter().any(is_unmeasured) {
        lines.push(
            "shapes that were not measured are left to the library: measure them, or let the nearest measured \
             shape's rules serve them with COLLTUNE_EXTRAPOLATE=1 (`colltune run --extrapolate`)"
                .to_owned(),
        );
    }
    lines.extend(
        NOT_NONBLOCKING
            .get()
            .filter(|_| dispatcher.wants_nonblocking())
            .map(|reason| describe_refusal(*reason)),
    );
    match dispatcher.replacements() {
        0 => {}
        1 => lines.push("the table was replaced once".to_owned()),
        often => lines.push(format!("the table was replaced {often} times")),
    }
    if summary.total_calls() == 0 && summary.unserved.is_empty() {
        lines.push("no collective was intercepted".to_owned());
    }
    lines
        .iter()
        .map(|line| format!("colltune: {line}\n"))
        .collect()
}

/// A line about nonblocking collectives that are not served although the table or the user asks for it.
fn describe_refusal(reason: NotNonblocking) -> String {
    format!("nonblocking collectives are left to the library: {reason}")
}

/// A line about processes that were started together and do not find each other, so that each is a world of one rank.
fn describe_separate_worlds(ranks: i32) -> Option<String> {
    // A library's launcher may run within a step of the batch system, so its number counts first.
    let libraries = LibraryName::ALL.iter();
    let names = libraries.flat_map(|library| library.facts().size_variables);
    let started = names
        .chain([&libraries::STEP_SIZE_VARIABLE])
        .find_map(|name| std::env::var(name).ok())?;
    let started: u32 = started.parse().ok()?;
    (ranks == 1 && started > 1).then(|| {
        format!(
            "{started} processes were started together, but each is a world of one rank, with a summary of its own: use \
             the launcher of the program's MPI library, or {}",
            libraries::STEP_WITH_LIBRARY
        )
    })
}

/// Writes to the log, with unprintable characters escaped.
fn write_log(log: &Log, text: &str) {
    let text = &Plain(text).to_string();
    let outcome = match log {
        Log::Standard => io::stderr().write_all(text.as_bytes()),
        Log::File(path) => write_to(path, text).map_err(|error| {
            io::Error::other(format!("COLLTUNE_LOG: {}: {error}", path.display()))
        }),
    };
    if let Err(error) = outcome {
        print_warning(&error.to_string());
    }
}

/// Writes to a file, a device or a FIFO without ever blocking: a FIFO without a reader is an error.
fn write_to(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    file.write_all(text.as_bytes())
}

fn world_communicator() -> MPI_Comm {
    // SAFETY: a constant of the library.
    unsafe { ffi::RSMPI_COMM_WORLD }
}

/// Whether another program has spawned this one, and may use the same log.
fn is_spawned() -> bool {
    // SAFETY: MPI is running; the handle is written by the call.
    unsafe {
        let mut parent = ffi::RSMPI_COMM_NULL;
        ffi::PMPI_Comm_get_parent(&mut parent) == 0 && parent != ffi::RSMPI_COMM_NULL
    }
}

fn is_first() -> bool {
    own_rank() == 0
}

/// This process's rank in `MPI_COMM_WORLD`.
pub(crate) fn own_rank() -> c_int {
    let mut rank = 0;
    // SAFETY: MPI is running.
    unsafe { ffi::PMPI_Comm_rank(world_communicator(), &mut rank) };
    rank
}

fn count_ranks() -> i32 {
    let mut ranks = 0;
    // SAFETY: MPI is running.
    unsafe { ffi::PMPI_Comm_size(world_communicator(), &mut ranks) };
    ranks
}
