//! Slurm's commands.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use super::scheduler::{Answer, Commands, End, JobId, Request, Scheduler, Status};
use super::{BatchEnd, LaunchError};

/// What commands say of a job that is no longer known, be it in the middle of a sentence.
const UNKNOWN: &str = "Invalid job id";
/// What commands say if the controller cannot be reached for the moment.
const AWAY: [&str; 6] = [
    "Unable to contact slurm controller",
    "Socket timed out",
    "Connection refused",
    "Zero Bytes were transmitted",
    "Slurm backup controller in standby mode",
    "temporarily unable to accept",
];

/// What `sbatch --test-only` says of nodes that are down.
const NOT_NOW: &str = "Requested node configuration is not available";

/// `sbatch`, `squeue`, `scontrol`, `sacct`, `scancel`.
pub(super) struct Slurm(pub(super) Commands);

impl Slurm {
    fn sbatch(&self, request: &Request<'_>, options: &[&str]) -> Result<Answer, LaunchError> {
        let mut arguments: Vec<OsString> = options.iter().map(OsString::from).collect();
        arguments.push(format!("--job-name={}", request.name).into());
        // In the name of this file `%` begins a pattern.
        let output = request.output.to_string_lossy().replace('%', "%%");
        arguments.push(format!("--output={output}").into());
        if !request.begin_in.is_zero() {
            arguments.push(format!("--begin=now+{}", request.begin_in.as_secs()).into());
        }
        arguments.push(request.script.into());
        let answer = self.0.ask("sbatch", arguments)?;
        match answer.succeeded {
            true => Ok(answer),
            false if is_away(&answer) => Err(silent("sbatch", &answer)),
            false => Err(LaunchError::Refused {
                program: "sbatch",
                message: answer.words(),
            }),
        }
    }

    /// Asks about a job; `None` if it is not known.
    fn about(
        &self,
        program: &'static str,
        job: &JobId,
        arguments: &[&str],
    ) -> Result<Option<String>, LaunchError> {
        let cluster = job.cluster.iter().map(|cluster| format!("-M{cluster}"));
        let arguments = cluster.chain(arguments.iter().map(|text| (*text).to_owned()));
        let answer = self.0.ask(program, arguments)?;
        match answer.succeeded {
            true => Ok(Some(answer.output)),
            false if answer.errors.contains(UNKNOWN) => Ok(None),
            false => Err(silent(program, &answer)),
        }
    }

    /// How a job ended that `squeue` does not list, or says no more of.
    fn ended(&self, job: &JobId, state: Option<&str>) -> Result<Option<Status>, LaunchError> {
        let shown = self.about("scontrol", job, &["show", "job", "-o", &job.id])?;
        let shown = shown.filter(|shown| value(shown, "JobName") == Some(&job.name));
        let Some(shown) = shown else {
            return Ok(match state {
                Some(state) => status(state, None, None),
                None => self.accounted(job),
            });
        };
        let value = |key| value(&shown, key);
        let exit = value("ExitCode").and_then(code);
        let state = value("JobState").or(state).unwrap_or_default();
        let mut status = status(state, value("Reason"), exit);
        if let Some(Status::Ended {
            end: End::By(BatchEnd::NodeFailed),
            failed_nodes,
        }) = &mut status
        {
            *failed_nodes = match value("FailedNode").filter(|node| *node != "(null)") {
                Some(node) => vec![node.to_owned()],
                None => self.down(job, value("NodeList").unwrap_or_default()),
            };
        }
        Ok(status)
    }

    /// Which of these nodes are down; older releases do not say which one a job has lost.
    fn down(&self, job: &JobId, nodes: &str) -> Vec<String> {
        let arguments = ["-h", "-N", "-n", nodes, "-o", "%N %t"];
        let listed = self.about("sinfo", job, &arguments);
        let listed = listed.ok().flatten().unwrap_or_default();
        let down = listed.lines().filter_map(|line| {
            let (node, state) = line.trim().split_once(' ')?;
            (state.starts_with("down") || state.ends_with('*')).then(|| node.to_owned())
        });
        let down: BTreeSet<String> = down.collect();
        down.into_iter().collect()
    }

    /// What the accounting knows of a job, if there is one that does.
    fn accounted(&self, job: &JobId) -> Option<Status> {
        let format = "--format=JobName,State,ExitCode";
        let arguments = ["-n", "-P", "-X", "-j", &job.id, format];
        let listed = self.about("sacct", job, &arguments).ok()??;
        let mut lines = listed.lines().filter_map(|line| {
            let (state, exit) = line
                .strip_prefix(&job.name)?
                .strip_prefix('|')?
                .split_once('|')?;
            status(state, None, code(exit))
        });
        lines.next()
    }
}

impl Scheduler for Slurm {
    fn check(&self, request: &Request<'_>) -> Result<(), LaunchError> {
        match self.sbatch(request, &["--test-only"]) {
            // So it is too where nodes are down for the moment; whatever can never be `sbatch` refuses.
            Err(LaunchError::Refused { message, .. }) if message.contains(NOT_NOW) => Ok(()),
            answer => answer.map(drop),
        }
    }

    fn submit(&self, request: &Request<'_>) -> Result<JobId, LaunchError> {
        let answer = self.sbatch(request, &["--parsable"])?;
        let line = answer.output.lines().last().unwrap_or_default().trim();
        let (id, cluster) = match line.split_once(';') {
            Some((id, cluster)) => (id, Some(cluster.to_owned())),
            None => (line, None),
        };
        let id = id.to_owned();
        match id.parse::<u64>() {
            Ok(_) => Ok(JobId {
                id,
                cluster,
                name: request.name.to_owned(),
            }),
            Err(_) => Err(silent("sbatch", &answer)),
        }
    }

    fn status(&self, jobs: &[JobId]) -> Result<BTreeMap<JobId, Status>, LaunchError> {
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
                "%i|%T|%r",
                "-j",
                &ids.join(","),
            ];
            let listed = self.about("squeue", first, &arguments)?.unwrap_or_default();
            for job in members {
                let mut lines = listed.lines().filter_map(|line| {
                    let mut fields = line.trim().splitn(4, '|');
                    let (id, state) = (fields.next()?, fields.next()?);
                    let is_it = id == job.id && fields.next()? == job.name;
                    is_it.then_some((state, fields.next()?))
                });
                let line = lines.next();
                let now = line.and_then(|(state, reason)| {
                    let status = status(state, Some(reason), None)?;
                    (!matches!(status, Status::Ended { .. })).then_some(status)
                });
                let status = match now {
                    Some(status) => Some(status),
                    None => self.ended(job, line.map(|(state, _)| state))?,
                };
                known.extend(status.map(|status| ((*job).clone(), status)));
            }
        }
        Ok(known)
    }

    fn find(&self, name: &str) -> Result<Option<JobId>, LaunchError> {
        let named = format!("--name={name}");
        let arguments = ["-h", "-a", "-t", "all", "-o", "%A", &named];
        let answer = self.0.ask("squeue", arguments)?;
        if !answer.succeeded {
            return Err(silent("squeue", &answer));
        }
        let ids = answer
            .output
            .lines()
            .filter_map(|line| line.trim().parse::<u64>().ok());
        Ok(ids.max().map(|id| JobId {
            id: id.to_string(),
            cluster: None,
            name: name.to_owned(),
        }))
    }

    fn cancel(&self, job: &JobId) -> Result<(), LaunchError> {
        let cluster = job.cluster.iter().map(|cluster| format!("-M{cluster}"));
        let arguments = cluster.chain([job.id.clone()]);
        let answer = self.0.ask("scancel", arguments)?;
        let is_over = ["already completing", "already completed", UNKNOWN];
        match answer.succeeded {
            true => Ok(()),
            false if is_over.iter().any(|text| answer.errors.contains(text)) => Ok(()),
            false if is_away(&answer) => Err(silent("scancel", &answer)),
            false => Err(LaunchError::Refused {
                program: "scancel",
                message: answer.words(),
            }),
        }
    }
}

fn is_away(answer: &Answer) -> bool {
    AWAY.iter().any(|text| answer.errors.contains(text))
}

fn silent(program: &'static str, answer: &Answer) -> LaunchError {
    LaunchError::Silent {
        program,
        message: answer.words(),
    }
}

/// What a state means, by the first of its words; `None` for one that is not known.
fn status(state: &str, reason: Option<&str>, exit: Option<i32>) -> Option<Status> {
    let by = |end| Some(End::By(end));
    let end = match state.split_whitespace().next()? {
        "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "RESV_DEL_HOLD"
        | "SPECIAL_EXIT" => {
            let said = reason.filter(|reason| !["", "None", "(null)"].contains(reason));
            let reason = said.map(str::to_owned);
            return Some(Status::Queued { reason });
        }
        "RUNNING" | "CONFIGURING" | "COMPLETING" | "RESIZING" | "SIGNALING" | "STAGE_OUT"
        | "STOPPED" | "SUSPENDED" => return Some(Status::Running),
        "COMPLETED" => Some(End::Exited(0)),
        "TIMEOUT" | "DEADLINE" => by(BatchEnd::WallTime),
        "CANCELLED" | "REVOKED" => by(BatchEnd::Cancelled),
        "PREEMPTED" => by(BatchEnd::Preempted),
        "NODE_FAIL" | "BOOT_FAIL" => by(BatchEnd::NodeFailed),
        "OUT_OF_MEMORY" => by(BatchEnd::OutOfMemory),
        "FAILED" => None,
        _ => return None,
    };
    Some(Status::Ended {
        end: end.unwrap_or(End::Exited(exit.filter(|code| *code != 0).unwrap_or(1))),
        failed_nodes: Vec::new(),
    })
}

/// `CODE:SIGNAL` as a shell would tell it.
fn code(text: &str) -> Option<i32> {
    let (code, signal) = text.split_once(':')?;
    match (code.parse().ok()?, signal.parse().ok()?) {
        (0, signal @ 1..) => Some(128 + signal),
        (code, _) => Some(code),
    }
}

/// The value of `KEY=...` on a line.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let mut words = line.split_whitespace();
    words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}
