use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use profile::{
    AddedUp, CallShape, CommunicatorClass, Form, Overview, Profile, ProfileError, Root,
    ShapeOverview, add_up,
};
use report::text_table;
use schemars::JsonSchema;
use serde::Serialize;
use vocabulary::units::{
    format_bytes, format_count, format_counted, format_duration, format_seconds,
};

use super::{Answer, CliError, Console};

pub(crate) mod usage;

/// Show what the collectives of recorded programs cost
///
/// Adds up profiles that `colltune record` or programs with COLLTUNE_RECORD have written, of one job or of many: of each
/// FILE, with the parts that killed jobs have left of it, and of all profiles in a folder, whose names end with `.json` or
/// `.part-RANK`. A job that is there twice counts once.
///
/// First comes the share of collectives in the time of all ranks, between MPI_Init and MPI_Finalize, and the part of it
/// that is waiting for late ranks, where no table helps: the work of the program is not balanced. It is estimated from the
/// times at which ranks arrive in some of the blocking calls. Then come the forms of calls that take the most time:
///
/// the communicator as nodes x ranks on each, with their order and how the program made it; the mean length of a call in
/// bytes, as tables have it; the calls and the time of all ranks together; the share of the time in all collectives; and
/// the estimated share of waiting in the time of these calls. `not served` marks those that no table can serve, such as
/// persistent ones.
///
/// A file that cannot be read is an error with the place in it; the others are added up and shown nevertheless.
///
/// FILE may also have the lines that COLLTUNE_USAGE lets each job with a table write, in files whose names end with
/// `.jsonl`. Then the output shows for each table, named by the SHA-256 of its bytes, its jobs and what became of it there;
/// the share of the calls that colltune carried out, that the table leaves to the library's default, and that are not
/// covered; and, for each collective, the most frequent reason of the latter.
///
/// `colltune schema profile` describes what --json prints, for lines `colltune schema usage`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  colltune profile profile.json
  colltune profile profiles/ --top 50
  colltune profile monday.json tuesday.json --json
  colltune profile /var/log/colltune/usage/")]
pub(crate) struct ProfileArgs {
    /// Profiles or lines about jobs, or folders of them
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The number of forms of calls, or of collectives, to show
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    top: usize,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

/// The output with `--json`.
#[derive(JsonSchema, Serialize)]
pub(crate) struct ProfileOutput {
    /// The files that were added up.
    files: Vec<String>,
    /// Those among them that did not count, because another one has the same job.
    repeated: Vec<String>,
    /// The figures of all together.
    #[serde(flatten)]
    overview: Overview,
}

impl ProfileArgs {
    pub(crate) fn run(&self, console: Console) -> Result<Answer, CliError> {
        let given = GivenFiles::from_paths(&self.files)?;
        if !given.usage.is_empty() {
            return usage::show_usage(&given.usage, self.top, self.json, console);
        }
        let read = ReadProfiles::read(given.profiles);
        if !read.files.is_empty() {
            let overview = read.profile.overview();
            if self.json {
                console.print_json(&ProfileOutput {
                    files: read.files.clone(),
                    repeated: read.repeated.clone(),
                    overview: overview.clone(),
                })?;
            } else {
                read.warn_of_repeated(console);
                console.print(describe(&overview, self.top))?;
            }
        }
        read.into_error().map_or(Ok(Answer::Good), Err)
    }
}

/// The files that arguments stand for, of one of two kinds.
#[derive(Debug, Default)]
struct GivenFiles {
    profiles: Vec<PathBuf>,
    /// Files with lines about jobs.
    usage: Vec<PathBuf>,
}

impl GivenFiles {
    fn from_paths(given: &[PathBuf]) -> Result<Self, CliError> {
        let mut found = Self::default();
        for path in given {
            if path.is_dir() {
                let lines = usage::usage_in(path).map_err(|source| CliError::Profile {
                    path: path.clone(),
                    source: source.into(),
                    others: 0,
                })?;
                let has_lines = !lines.is_empty();
                found.usage.extend(lines);
                match files_of(path) {
                    Err(CliError::NoProfiles { .. }) if has_lines => {}
                    profiles => found.profiles.extend(profiles?),
                }
            } else if usage::has_usage(path) {
                found.usage.push(path.clone());
            } else {
                found.profiles.extend(files_of(path)?);
            }
        }
        match (found.profiles.first(), found.usage.first()) {
            (Some(profile), Some(lines)) => Err(CliError::TwoKindsOfProfiles {
                profile: profile.clone(),
                lines: lines.clone(),
            }),
            _ => Ok(found),
        }
    }
}

/// The sum of profiles, if all of them can be read.
pub(super) fn read_profiles(given: &[PathBuf]) -> Result<Profile, CliError> {
    let mut paths = Vec::new();
    for path in given {
        paths.extend(files_of(path)?);
    }
    let mut read = ReadProfiles::read(paths);
    let profile = std::mem::take(&mut read.profile);
    read.into_error().map_or(Ok(profile), Err)
}

/// Profiles by whether all of their jobs were recorded with one library.
pub(super) struct ProfilesByLibrary {
    /// Those of that library.
    pub(super) same: Profile,
    /// All others.
    pub(super) others: Profile,
}

/// The sums of the profiles of a library and of others, if all of them can be read.
pub(super) fn read_profiles_by_library(
    given: &[PathBuf],
    library: &str,
    console: Console,
) -> Result<ProfilesByLibrary, CliError> {
    let profiles = read_all_profiles(given)?;
    let (same, others): (Vec<_>, Vec<_>) = profiles
        .into_iter()
        .partition(|(_, profile)| profile.jobs.values().all(|job| job.library == library));
    let [same, others] = [same, others].map(|of_library| {
        let AddedUp { profile, repeated } = add_up(of_library);
        warn_of_repeated(&repeated, console);
        profile
    });
    Ok(ProfilesByLibrary { same, others })
}

/// All profiles in files and folders, with the names of their files.
///
/// # Errors
/// The first one that cannot be read.
fn read_all_profiles(given: &[PathBuf]) -> Result<Vec<(String, Profile)>, CliError> {
    let mut paths = Vec::new();
    for path in given {
        paths.extend(files_of(path)?);
    }
    let ReadFiles {
        profiles,
        unreadable,
    } = ReadFiles::read(paths);
    if let Some(error) = error_of_unreadable(unreadable) {
        return Err(error);
    }
    Ok(profiles)
}

/// The profiles of the jobs of a library, in the order in which these were started.
pub(super) fn read_jobs_of_library(
    given: &[PathBuf],
    library: &str,
    console: Console,
) -> Result<Vec<Profile>, CliError> {
    let profiles = read_all_profiles(given)?;
    // A job that was killed has several parts.
    let mut parts_by_job: BTreeMap<String, Vec<(String, Profile)>> = BTreeMap::new();
    for (name, profile) in profiles {
        let mut jobs = profile.jobs.iter();
        let (Some((id, job)), None) = (jobs.next(), jobs.next()) else {
            return Err(CliError::SeveralJobs {
                name,
                jobs: profile.jobs.len(),
            });
        };
        if job.library == library {
            let parts = parts_by_job.entry(id.clone()).or_default();
            parts.push((name, profile));
        }
    }
    let mut of_jobs: Vec<Profile> = Vec::new();
    for parts in parts_by_job.into_values() {
        let AddedUp { profile, repeated } = add_up(parts);
        warn_of_repeated(&repeated, console);
        of_jobs.push(profile);
    }
    of_jobs.sort_by_key(|profile| profile.jobs.values().map(|job| job.started).min());
    Ok(of_jobs)
}

fn warn_of_repeated(repeated: &[String], console: Console) {
    for name in repeated {
        console.warn(format_args!(
            "{name} does not count: another file has the same job."
        ));
    }
}

/// The reason why a file did not count.
#[derive(Debug)]
struct Unreadable {
    path: PathBuf,
    source: UnreadableReason,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum UnreadableReason {
    #[error("{0}")]
    File(#[from] io::Error),
    #[error("{0}")]
    Profile(#[from] ProfileError),
}

/// The profiles of files by name, and the files that cannot be read.
#[derive(Debug, Default)]
struct ReadFiles {
    profiles: Vec<(String, Profile)>,
    unreadable: Vec<Unreadable>,
}

impl ReadFiles {
    fn read(paths: Vec<PathBuf>) -> Self {
        let mut read = Self::default();
        for path in paths {
            match read_profile(&path) {
                Ok(profile) => read.profiles.push((path.display().to_string(), profile)),
                Err(source) => read.unreadable.push(Unreadable { path, source }),
            }
        }
        read
    }
}

/// The error about the first file that cannot be read, with the number of others; `None` if there is none.
fn error_of_unreadable(unreadable: Vec<Unreadable>) -> Option<CliError> {
    let count = unreadable.len();
    let first = unreadable.into_iter().next()?;
    Some(CliError::Profile {
        path: first.path,
        source: first.source,
        others: count - 1,
    })
}

/// Profiles that were read and added up.
#[derive(Debug, Default)]
pub(super) struct ReadProfiles {
    pub(super) profile: Profile,
    files: Vec<String>,
    repeated: Vec<String>,
    unreadable: Vec<Unreadable>,
}

impl ReadProfiles {
    /// Reads files; those that cannot be read are left out.
    pub(super) fn read(paths: Vec<PathBuf>) -> Self {
        let ReadFiles {
            profiles,
            unreadable,
        } = ReadFiles::read(paths);
        let files = profiles.iter().map(|(name, _)| name.clone()).collect();
        let AddedUp { profile, repeated } = add_up(profiles);
        Self {
            profile,
            files,
            repeated,
            unreadable,
        }
    }

    fn warn_of_repeated(&self, console: Console) {
        warn_of_repeated(&self.repeated, console);
    }

    /// Warns of all files that did not count.
    pub(super) fn warn(&self, console: Console) {
        self.warn_of_repeated(console);
        for Unreadable { path, source } in &self.unreadable {
            console.warn(format_args!("{}: {source}", path.display()));
        }
    }

    /// The error, if there are files that could not be read.
    fn into_error(self) -> Option<CliError> {
        error_of_unreadable(self.unreadable)
    }
}

fn read_profile(path: &Path) -> Result<Profile, UnreadableReason> {
    let text = files::read_text(path)?;
    Ok(Profile::from_json(&text)?)
}

/// The files that an argument stands for.
fn files_of(path: &Path) -> Result<Vec<PathBuf>, CliError> {
    if path.is_dir() {
        let found = profiles_in(path).map_err(|source| CliError::Profile {
            path: path.to_owned(),
            source: source.into(),
            others: 0,
        })?;
        if found.is_empty() {
            return Err(CliError::NoProfiles {
                folder: path.to_owned(),
            });
        }
        return Ok(found);
    }
    let mut found = parts_of(path);
    // Without parts, the error of reading it says what is wrong.
    if found.is_empty() || path.exists() {
        found.insert(0, path.to_owned());
    }
    Ok(found)
}

/// The profiles in a folder, by name.
pub(super) fn profiles_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_named = name.ends_with(".json") || part_number(&name).is_some();
        if is_named && !name.starts_with('.') && path.is_file() {
            found.push(path);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The parts of a profile whose job was killed, by name.
pub(super) fn parts_of(path: &Path) -> Vec<PathBuf> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let own = path.file_name().unwrap_or_default().to_string_lossy();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let rest = name.strip_prefix(&*own);
            rest.and_then(part_number).is_some_and(may_name_job)
        })
        .map(|entry| path.with_file_name(entry.file_name()))
        .collect();
    found.sort_unstable();
    found
}

/// Whether what is between the name of a profile and the end of a part's name can be the identity of a job, which colltune
/// 0.2 did not write.
fn may_name_job(between: &str) -> bool {
    let Some(identity) = between.strip_prefix('.') else {
        return between.is_empty();
    };
    identity.len() == 16 && identity.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What comes before the end of a part's name; `None` if it is none.
fn part_number(name: &str) -> Option<&str> {
    let (before, number) = name.rsplit_once(".part-")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(before)
}

/// What `record` says after a program.
pub(super) fn short_text(profile: &Profile) -> String {
    describe(&profile.overview(), 5)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The figures as text.
fn describe(overview: &Overview, top: usize) -> String {
    let mut lines = vec![describe_jobs(overview)];
    lines.extend(describe_gaps(overview));
    lines.push(describe_share(overview));
    if !overview.shapes.is_empty() {
        let shown = overview.shapes.iter().take(top);
        let table = text_table(
            "collective | communicator | bytes> | more | calls> | seconds> | share> | waiting> | longest> | tables?",
            shown.map(shape_row),
        );
        lines.push(String::new());
        lines.push(table.to_text().trim_end().to_owned());
        let hidden = overview.shapes.len().saturating_sub(top);
        if hidden > 0 {
            lines.push(format!("and {hidden} more (--top)"));
        }
    }
    lines.join("\n")
}

fn describe_jobs(overview: &Overview) -> String {
    let jobs = &overview.jobs;
    let names = |counts: &std::collections::BTreeMap<String, u64>| {
        let names: Vec<&str> = counts.keys().map(String::as_str).take(4).collect();
        let more = if counts.len() > names.len() {
            ", ..."
        } else {
            ""
        };
        names.join(", ") + more
    };
    format!(
        "{} of {} with {}; at most {} on {}; {} of all ranks",
        format_counted(jobs.count, "job"),
        names(&jobs.programs),
        names(&jobs.libraries),
        format_counted(jobs.most_ranks, "rank"),
        format_counted(jobs.most_nodes, "node"),
        if jobs.rank_seconds < 10.0 {
            format_seconds(jobs.rank_seconds)
        } else {
            format_duration(jobs.rank_seconds.round())
        }
    )
}

/// What the figures lack.
fn describe_gaps(overview: &Overview) -> Vec<String> {
    let jobs = &overview.jobs;
    let mut lines = Vec::new();
    if jobs.killed > 0 {
        let missing = match jobs.missing_ranks {
            0 => String::new(),
            ranks => format!(", and {} left nothing", format_counted(ranks, "rank")),
        };
        lines.push(format!(
            "{} did not end with MPI_Finalize: the last seconds are missing{missing}",
            format_counted(jobs.killed, "job")
        ));
    }
    if jobs.compared_within_nodes > 0 {
        lines.push(format!(
            "in {}, waiting for ranks of other nodes counts as communication",
            format_counted(jobs.compared_within_nodes, "killed job")
        ));
    }
    lines
}

fn describe_share(overview: &Overview) -> String {
    let mut text = format!(
        "{} of the time is spent in {} of collectives",
        percent(overview.share),
        format_counted(format_count(overview.calls), "call"),
    );
    match overview.waiting_share {
        Some(waiting) => {
            text += &format!(
                ": {} is waiting for late ranks, where no table helps, and {} is communication",
                percent(waiting),
                percent((overview.share * overview.sampled_share - waiting).max(0.0))
            );
            let unknown = overview.share * (1.0 - overview.sampled_share);
            if unknown >= 0.0005 {
                text += &format!("; of {} it is not known", percent(unknown));
            }
        }
        None => text += "; no arrivals were compared, so waiting is not known",
    }
    if overview.unserved_share > 0.0 {
        text += &format!(
            "\n{} of the time in collectives is spent in those that no table serves",
            percent(overview.unserved_share)
        );
    }
    text
}

fn shape_row(shape: &ShapeOverview) -> [String; 10] {
    let bytes = shape
        .mean_bytes
        .filter(|_| shape.call.collective != "barrier");
    let unserved = match shape.is_served {
        Some(false) => "not served",
        Some(true) | None => "",
    };
    [
        describe_collective(&shape.call),
        shape
            .call
            .communicator
            .as_ref()
            .map_or_else(|| "others".to_owned(), describe_communicator),
        bytes.map_or_else(String::new, |bytes| format_bytes(bytes.round() as u64)),
        describe_arguments(&shape.call),
        shape.calls.to_string(),
        format!("{:.6}", shape.seconds),
        percent(shape.share),
        shape
            .waiting_share
            .map_or_else(|| "unknown".to_owned(), percent),
        format_seconds(shape.longest_seconds),
        unserved.to_owned(),
    ]
}

fn describe_collective(call: &CallShape) -> String {
    match call.form {
        Form::Blocking => call.collective.clone(),
        Form::Nonblocking => format!("i{}", call.collective),
        Form::Persistent => format!("{}_init", call.collective),
    }
}

fn describe_communicator(class: &CommunicatorClass) -> String {
    let CommunicatorClass {
        ranks,
        nodes,
        ppn,
        order,
        made_by,
    } = class;
    let shape = match (nodes, ppn) {
        (Some(nodes), Some(ppn)) => format!("{nodes}x{ppn}"),
        (Some(nodes), None) => format!("{ranks} on {nodes}"),
        _ => ranks.to_string(),
    };
    let has_orders = nodes.is_some_and(|nodes| nodes > 1 && nodes < *ranks);
    let order = if has_orders {
        format!(" {}", order.name())
    } else {
        String::new()
    };
    format!("{shape}{order}, {}", made_by.name())
}

fn describe_arguments(call: &CallShape) -> String {
    let mut parts: Vec<&str> = Vec::new();
    parts.extend(call.datatype.as_deref());
    parts.extend(call.operator.as_deref());
    if call.in_place {
        parts.push("in place");
    }
    if call.root == Some(Root::Other) {
        parts.push("other root");
    }
    parts.join(" ")
}
