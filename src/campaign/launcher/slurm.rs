//! Slurm's commands.

use std::collections::BTreeMap;
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
        if let Some(shown) = shown {
            let value = |key: &str| value(&shown, key);
            let state = value("JobState").or(state).unwrap_or_default();
            return Ok(status(state, value("Reason"), || Details {
                code: code(value("ExitCode").unwrap_or_default()),
                failed: value("FailedNode").filter(|node| *node != "(null)"),
            }));
        }
        match state {
            Some(state) => Ok(status(state, None, Details::default)),
            None => Ok(self.accounted(job)),
        }
    }

    /// What the accounting knows of a job, if there is one that does.
    fn accounted(&self, job: &JobId) -> Option<Status> {
        let format = "--format=State,ExitCode";
        let arguments = ["-n", "-P", "-X", "-j", &job.id, format];
        let listed = self.about("sacct", job, &arguments).ok()??;
        let (state, exit) = listed.lines().next()?.split_once('|')?;
        status(state, None, || Details {
            code: code(exit),
            failed: None,
        })
    }
}

impl Scheduler for Slurm {
    fn check(&self, request: &Request<'_>) -> Result<(), LaunchError> {
        self.sbatch(request, &["--test-only"]).map(drop)
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
            Ok(_) => Ok(JobId { id, cluster }),
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
                    let (id, rest) = line.trim().split_once('|')?;
                    (id == job.id).then(|| rest.split_once('|')).flatten()
                });
                let line = lines.next();
                let now = line.and_then(|(state, reason)| {
                    let status = status(state, Some(reason), Details::default)?;
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
        let name = format!("--name={name}");
        let arguments = ["-h", "-a", "-t", "all", "-o", "%A", &name];
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

/// What is known of a job that has ended, beyond its state.
#[derive(Default)]
struct Details<'a> {
    code: Option<i32>,
    failed: Option<&'a str>,
}

/// What a state means, by the first of its words; `None` for one that is not known.
fn status<'a>(
    state: &str,
    reason: Option<&str>,
    details: impl FnOnce() -> Details<'a>,
) -> Option<Status> {
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
    let Details { code, failed } = details();
    Some(Status::Ended {
        end: end.unwrap_or(End::Exited(code.filter(|code| *code != 0).unwrap_or(1))),
        failed_nodes: failed.map(str::to_owned).into_iter().collect(),
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
