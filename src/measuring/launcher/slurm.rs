//! Slurm.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::batch_system::{
    BatchSystem, JobEnd, JobId, JobRequest, JobStatus, Receipt, Words, hours_minutes_seconds,
};
use super::command_line::PRELOADING;
use super::commands::{CommandAnswer, Commands};
use super::{BatchEnd, LaunchError};

/// Part of the message of commands about a job that is no longer known.
const UNKNOWN: &str = "Invalid job id";
/// Messages of `scancel` about a job that has ended.
const OVER: [&str; 3] = ["already completing", "already completed", UNKNOWN];
/// Messages of commands that have not reached the controller.
const UNREACHED: [&str; 4] = [
    "Unable to contact slurm controller",
    "Connection refused",
    "Slurm backup controller in standby mode",
    "temporarily unable to accept",
];
/// Messages of commands that the controller may have obeyed without an answer.
const UNANSWERED: [&str; 2] = ["Socket timed out", "Zero Bytes were transmitted"];

/// The message of `sbatch --test-only` about nodes that are down.
const NOT_NOW: &str = "Requested node configuration is not available";

const WORDS: Words = Words {
    name: "slurm",
    title: "Slurm",
    mark: "#SBATCH",
    partition: "partition",
    lacks: &[],
    template: include_str!("../../../jobs/templates/slurm.sh.j2"),
    bootstrap: Some("slurm"),
    switches: Some(["SLURM_TOPOLOGY_ADDR", "SLURMD_NODENAME"]),
    step: Some("srun"),
    submit: "sbatch",
};

/// Slurm: `sbatch`, `squeue`, `scontrol`, `sacct`, `sinfo`, `scancel`.
#[derive(Debug)]
pub(super) struct Slurm;

impl BatchSystem for Slurm {
    fn words(&self) -> &'static Words {
        &WORDS
    }

    /// A wall time with the days as a separate field.
    fn wall_time(&self, seconds: u64) -> String {
        let time = hours_minutes_seconds(seconds % 86400);
        match seconds / 86400 {
            0 => time,
            days => format!("{days}-{time}"),
        }
    }

    fn step_arguments(
        &self,
        arguments: &[OsString],
        variables: &[(&str, OsString)],
        value: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Vec<OsString>, LaunchError> {
        // The first one that is set takes precedence.
        let mut own = EXPORTING.into_iter().filter_map(|name| {
            let value = value(name).filter(|value| !value.is_empty())?;
            Some((name, value))
        });
        let own = own.next();
        let mut words = Vec::new();
        // Each part of a heterogeneous step has its own options.
        for (number, part) in arguments.split(|word| word == ":").enumerate() {
            words.extend((number > 0).then(|| ":".into()));
            words.extend(export_arguments(part, variables, own.as_ref())?);
        }
        Ok(words)
    }

    fn check(&self, commands: &Commands, request: &JobRequest<'_>) -> Result<(), LaunchError> {
        let answer = run_sbatch(commands, request, "--test-only")?;
        // The message also appears if nodes are temporarily down; `sbatch` itself refuses impossible requests.
        if answer.fails_with(&[NOT_NOW]) {
            Ok(())
        } else {
            check_success(answer)
        }
    }

    fn submit_script(
        &self,
        commands: &Commands,
        request: &JobRequest<'_>,
    ) -> Result<Receipt, LaunchError> {
        let answer = match run_sbatch(commands, request, "--parsable") {
            // It was ended, perhaps after the controller had the script.
            Err(LaunchError::Silent { message, .. }) => return Ok(Receipt::Unreadable(message)),
            answer => answer?,
        };
        if answer.fails_with(&UNANSWERED) {
            return Ok(Receipt::Unreadable(answer.printed_text()));
        }
        let answer = answer.require_success(&UNREACHED)?;
        Ok(match printed_id(answer.last_line()) {
            Some((id, cluster)) => Receipt::Id(JobId {
                id: id.to_owned(),
                cluster: cluster.map(str::to_owned),
                name: request.name.to_owned(),
            }),
            None => Receipt::Unreadable(answer.printed_text()),
        })
    }

    fn query_statuses(
        &self,
        commands: &Commands,
        jobs: &[JobId],
    ) -> Result<BTreeMap<JobId, JobStatus>, LaunchError> {
        let mut known = BTreeMap::new();
        let mut clusters: BTreeMap<&Option<String>, Vec<&JobId>> = BTreeMap::new();
        for job in jobs {
            clusters.entry(&job.cluster).or_default().push(job);
        }
        for members in clusters.values() {
            let Some(first) = members.first() else {
                continue;
            };
            let ids: Vec<&str> = members.iter().map(|job| job.id.as_str()).collect();
            let arguments = [
                "-h",
                "-a",
                "-t",
                "all",
                "-o",
                "%i|%T|%j|%r",
                "-j",
                &ids.join(","),
            ];
            let listed = query_job(commands, "squeue", first, &arguments)?.unwrap_or_default();
            for job in members {
                let entry = listed
                    .lines()
                    .filter_map(parse_squeue_line)
                    .find(|entry| entry.id == job.id && entry.name == job.name);
                let now = entry.as_ref().and_then(|entry| {
                    let status = status_from_state(entry.state, Some(entry.reason), None)?;
                    (!matches!(status, JobStatus::Ended { .. })).then_some(status)
                });
                let status = match now {
                    Some(status) => Some(status),
                    None => status_of_vanished_job(commands, job, entry.map(|entry| entry.state))?,
                };
                known.extend(status.map(|status| ((*job).clone(), status)));
            }
        }
        Ok(known)
    }

    fn find_job_named(
        &self,
        commands: &Commands,
        name: &str,
    ) -> Result<Option<JobId>, LaunchError> {
        let named = format!("--name={name}");
        let arguments = ["-h", "-a", "-t", "all", "-o", "%A", &named];
        let listed = commands.run_command("squeue", arguments)?.into_output()?;
        let ids = listed
            .lines()
            .filter_map(|line| line.trim().parse::<u64>().ok());
        Ok(ids.max().map(|id| JobId {
            id: id.to_string(),
            cluster: None,
            name: name.to_owned(),
        }))
    }

    fn cancel_job(&self, commands: &Commands, job: &JobId) -> Result<(), LaunchError> {
        let arguments = cluster_option(job).chain([job.id.clone()]);
        let answer = commands.run_command("scancel", arguments)?;
        if answer.fails_with(&OVER) {
            Ok(())
        } else {
            check_success(answer)
        }
    }

    fn cancel_jobs_named(
        &self,
        commands: &Commands,
        name: &str,
        cluster: Option<&str>,
    ) -> Result<(), LaunchError> {
        let cluster = cluster.map(|cluster| format!("-M{cluster}"));
        let arguments = [format!("--name={name}")].into_iter().chain(cluster);
        let answer = commands.run_command("scancel", arguments)?;
        if answer.fails_with(&OVER) {
            Ok(())
        } else {
            check_success(answer)
        }
    }
}

/// The outcome of a command that changes something.
fn check_success(answer: CommandAnswer) -> Result<(), LaunchError> {
    let away = [&UNREACHED[..], &UNANSWERED].concat();
    answer.require_success(&away).map(drop)
}

/// The id and the cluster in a line of `sbatch`: `ID` or `ID;CLUSTER` with `--parsable`, otherwise
/// `Submitted batch job ID`, possibly with ` on cluster CLUSTER`.
fn printed_id(line: &str) -> Option<(&str, Option<&str>)> {
    let (id, cluster) = match line.strip_prefix("Submitted batch job ") {
        Some(rest) => match rest.split_once(" on cluster ") {
            Some((id, cluster)) => (id, Some(cluster)),
            None => (rest, None),
        },
        None => match line.split_once(';') {
            Some((id, cluster)) => (id, Some(cluster)),
            None => (line, None),
        },
    };
    let is_id = id.bytes().all(|byte| byte.is_ascii_digit()) && id.parse::<u64>().is_ok();
    let is_cluster = |name: &str| {
        let usable = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        !name.is_empty() && !name.starts_with('-') && name.chars().all(usable)
    };
    (is_id && cluster.is_none_or(is_cluster)).then_some((id, cluster))
}

/// The option for the variables that ranks get.
const EXPORT: &str = "--export";
/// Variables with the same meaning as this option.
const EXPORTING: [&str; 2] = ["SRUN_EXPORT_ENV", "SLURM_EXPORT_ENV"];

/// The value of a word that is [`EXPORT`], possibly abbreviated; the inner `None` if the next word is the value.
fn parse_export_option(word: &OsStr) -> Option<Option<&OsStr>> {
    let bytes = word.as_encoded_bytes().strip_prefix(b"--")?;
    let mut parts = bytes.splitn(2, |byte| *byte == b'=');
    let name = parts.next()?;
    let value = parts.next().map(OsStr::from_bytes);
    (name.len() >= "exp".len() && b"export".starts_with(name)).then_some(value)
}

fn step_error(message: String) -> LaunchError {
    LaunchError::Step {
        program: "srun",
        message,
    }
}

/// The words without the first [`EXPORT`] with a value, and that value. The option belongs to `srun` if only options
/// precede it. Otherwise it may be an argument of the program, and is an error.
fn without_export(
    arguments: &[OsString],
) -> Result<(Vec<OsString>, Option<OsString>), LaunchError> {
    let is_option =
        |word: &&OsString| word.len() > 1 && word.as_encoded_bytes()[0] == b'-' && *word != "--";
    let options = arguments.iter().take_while(is_option).count();
    let found = arguments.iter().enumerate();
    let mut found = found.filter_map(|(place, word)| Some((place, parse_export_option(word)?)));
    match found.next() {
        None => Ok((arguments.to_vec(), None)),
        Some((place, Some(value))) if place < options => {
            let mut kept = arguments.to_vec();
            let value = value.to_owned();
            kept.remove(place);
            Ok((kept, Some(value)))
        }
        Some((place, _)) => Err(step_error(format!(
            "colltune cannot tell whether {} is an option of srun or an argument of the program: write \
             {EXPORT}=VALUE, {EXPORT}=ALL if nothing else is meant, before all other options of srun",
            arguments[place].display()
        ))),
    }
}

/// Arguments of `srun` that export these variables besides those that its option or variable already names. Variables
/// that are not preloaded are only named: their values, which may contain commas, are in the environment of `srun`.
fn export_arguments(
    arguments: &[OsString],
    variables: &[(&str, OsString)],
    own: Option<&(&str, OsString)>,
) -> Result<Vec<OsString>, LaunchError> {
    let (mut words, option) = without_export(arguments)?;
    let (name, given) = match (option, own) {
        (Some(value), _) => (EXPORT, value),
        (None, Some((name, value))) => (*name, value.clone()),
        (None, None) => (EXPORT, "ALL".into()),
    };
    if given.eq_ignore_ascii_case("NONE") || given.eq_ignore_ascii_case("NIL") {
        let given = given.display();
        return Err(step_error(format!(
            "{name}={given} exports no variable to the ranks: remove it, or name those that ranks need"
        )));
    }
    // Ours comes first, so that it is certainly an option.
    let mut export = OsString::from("--export=");
    export.push(given);
    for (variable, value) in variables {
        export.push(",");
        export.push(variable);
        if *variable == PRELOADING {
            if value.to_string_lossy().contains(',') {
                let value = value.display();
                return Err(step_error(format!(
                    "{variable}={value} has a comma, which separates variables in --export"
                )));
            }
            export.push("=");
            export.push(value);
        }
    }
    words.insert(0, export);
    Ok(words)
}

/// The option with a job's cluster.
fn cluster_option(job: &JobId) -> impl Iterator<Item = String> {
    job.cluster.iter().map(|cluster| format!("-M{cluster}"))
}

fn run_sbatch(
    commands: &Commands,
    request: &JobRequest<'_>,
    option: &str,
) -> Result<CommandAnswer, LaunchError> {
    // In this name, Slurm takes `%` as the beginning of a pattern.
    let output = request.output.to_string_lossy().replace('%', "%%");
    let mut arguments: Vec<OsString> = vec![
        option.into(),
        format!("--job-name={}", request.name).into(),
        format!("--output={output}").into(),
    ];
    if !request.begin_in.is_zero() {
        arguments.push(format!("--begin=now+{}", request.begin_in.as_secs()).into());
    }
    arguments.push(request.script.into());
    commands.run_command(WORDS.submit, arguments)
}

/// Queries a job; `None` if it is not known.
fn query_job(
    commands: &Commands,
    program: &'static str,
    job: &JobId,
    arguments: &[&str],
) -> Result<Option<String>, LaunchError> {
    let arguments = cluster_option(job).chain(arguments.iter().map(|text| (*text).to_owned()));
    let answer = commands.run_command(program, arguments)?;
    if answer.fails_with(&[UNKNOWN]) {
        Ok(None)
    } else {
        answer.into_output().map(Some)
    }
}

/// A job that `squeue` lists.
struct ListedJob<'l> {
    id: &'l str,
    state: &'l str,
    name: &'l str,
    reason: &'l str,
}

fn parse_squeue_line(line: &str) -> Option<ListedJob<'_>> {
    let mut fields = line.trim().splitn(4, '|');
    Some(ListedJob {
        id: fields.next()?,
        state: fields.next()?,
        name: fields.next()?,
        reason: fields.next()?,
    })
}

/// The end of a job that `squeue` does not list, or lists without details.
fn status_of_vanished_job(
    commands: &Commands,
    job: &JobId,
    state: Option<&str>,
) -> Result<Option<JobStatus>, LaunchError> {
    let shown = query_job(commands, "scontrol", job, &["show", "job", "-o", &job.id])?;
    let shown = shown.filter(|shown| scontrol_field(shown, "JobName") == Some(&job.name));
    let Some(shown) = shown else {
        return Ok(match state {
            Some(state) => status_from_state(state, None, None),
            None => status_from_accounting(commands, job),
        });
    };
    let field = |key| scontrol_field(&shown, key);
    let exit = field("ExitCode").and_then(parse_exit_code);
    let state = field("JobState").or(state).unwrap_or_default();
    let mut status = status_from_state(state, field("Reason"), exit);
    if let Some(JobStatus::Ended {
        end: JobEnd::By(BatchEnd::NodeFailed),
        failed_nodes,
    }) = &mut status
    {
        *failed_nodes = match field("FailedNode").filter(|node| *node != "(null)") {
            Some(node) => vec![node.to_owned()],
            None => query_down_nodes(commands, job, field("NodeList").unwrap_or_default()),
        };
    }
    Ok(status)
}

/// The nodes that are down; older releases do not report which node a job has lost.
fn query_down_nodes(commands: &Commands, job: &JobId, nodes: &str) -> Vec<String> {
    let arguments = ["-h", "-N", "-n", nodes, "-o", "%N %t"];
    let listed = query_job(commands, "sinfo", job, &arguments);
    let listed = listed.ok().flatten().unwrap_or_default();
    let down = listed.lines().filter_map(|line| {
        let (node, state) = line.trim().split_once(' ')?;
        (state.starts_with("down") || state.ends_with('*')).then(|| node.to_owned())
    });
    let down: BTreeSet<String> = down.collect();
    down.into_iter().collect()
}

/// The accounting's information about a job, if there is accounting.
fn status_from_accounting(commands: &Commands, job: &JobId) -> Option<JobStatus> {
    let format = "--format=JobName,State,ExitCode";
    let arguments = ["-n", "-P", "-X", "-j", &job.id, format];
    let listed = query_job(commands, "sacct", job, &arguments).ok()??;
    let mut lines = listed.lines().filter_map(|line| {
        let (state, exit) = line
            .strip_prefix(&job.name)?
            .strip_prefix('|')?
            .split_once('|')?;
        status_from_state(state, None, parse_exit_code(exit))
    });
    lines.next()
}

/// The meaning of a state, by its first word; `None` for an unknown one.
fn status_from_state(state: &str, reason: Option<&str>, exit: Option<i32>) -> Option<JobStatus> {
    let by = |end| Some(JobEnd::By(end));
    let end = match state.split_whitespace().next()? {
        "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "RESV_DEL_HOLD"
        | "SPECIAL_EXIT" => {
            let said = reason.filter(|reason| !["", "None", "(null)"].contains(reason));
            let known_reason = said.map(str::to_owned);
            return Some(JobStatus::Queued {
                reason: known_reason,
            });
        }
        "RUNNING" | "CONFIGURING" | "COMPLETING" | "RESIZING" | "SIGNALING" | "STAGE_OUT"
        | "STOPPED" | "SUSPENDED" => return Some(JobStatus::Running),
        "COMPLETED" => Some(JobEnd::Exited(0)),
        "TIMEOUT" | "DEADLINE" => by(BatchEnd::WallTime),
        "CANCELLED" | "REVOKED" => by(BatchEnd::Cancelled),
        "PREEMPTED" => by(BatchEnd::Preempted),
        "NODE_FAIL" | "BOOT_FAIL" => by(BatchEnd::NodeFailed),
        "OUT_OF_MEMORY" => by(BatchEnd::OutOfMemory),
        "FAILED" => None,
        _ => return None,
    };
    Some(JobStatus::Ended {
        end: end.unwrap_or(JobEnd::Exited(exit.filter(|code| *code != 0).unwrap_or(1))),
        failed_nodes: Vec::new(),
    })
}

/// The exit code of a shell for `CODE:SIGNAL`.
fn parse_exit_code(text: &str) -> Option<i32> {
    let (code, signal) = text.split_once(':')?;
    match (code.parse().ok()?, signal.parse().ok()?) {
        (0, signal @ 1..) => Some(128 + signal),
        (code, _) => Some(code),
    }
}

/// The value of `KEY=...` on a line.
fn scontrol_field<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let mut words = line.split_whitespace();
    words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::printed_id;

    #[test]
    fn an_id_is_read_with_its_cluster() {
        let check = |line, expected| assert_eq!(printed_id(line), expected, "{line}");
        check("132826", Some(("132826", None)));
        check("75168975;nautilus", Some(("75168975", Some("nautilus"))));
        check("Submitted batch job 7", Some(("7", None)));
        check(
            "Submitted batch job 7 on cluster n-1",
            Some(("7", Some("n-1"))),
        );
    }

    #[test]
    fn a_line_with_more_than_an_id_has_none() {
        for line in [
            "",
            "+7",
            "-7",
            "7 8",
            "7;",
            "7;-Mx",
            "7;a b",
            "Job 7",
            "12 node-hours",
            "18446744073709551616",
            "Submitted batch job",
            "Submitted batch job 7 on cluster ",
        ] {
            assert_eq!(printed_id(line), None, "{line}");
        }
    }
}
