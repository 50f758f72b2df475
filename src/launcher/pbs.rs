//! The commands of OpenPBS and PBS Professional.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use super::scheduler::{Answer, Commands, End, JobId, Request, Scheduler, Status};
use super::{BatchEnd, LaunchError};

/// What commands say of a job that is no longer known.
const UNKNOWN: [&str; 2] = ["Unknown Job Id", "Job has finished"];
/// What commands say if the server cannot be reached for the moment.
const AWAY: [&str; 4] = [
    "cannot connect to server",
    "Connection refused",
    "Communication failure",
    "Connection timed out",
];
/// Exit codes that PBS itself gives a job.
const KILLED_FOR_MEMORY: [i32; 2] = [-27, -26];
const KILLED_FOR_TIME: i32 = -29;
/// Exit codes from here on tell a signal.
const SIGNALS: i32 = 256;

/// `qsub`, `qstat`, `qdel`.
pub(super) struct Pbs(pub(super) Commands);

impl Pbs {
    /// `CCYYMMDDhhmm.SS` so much after now, in local time, which `date` knows.
    fn time_in(&self, delay: Duration) -> Result<String, LaunchError> {
        let delay = format!("+{} seconds", delay.as_secs());
        let arguments = ["-d", &delay, "+%Y%m%d%H%M.%S"];
        let answer = self.0.ask("date", arguments)?;
        match answer.succeeded {
            true => Ok(answer.output.trim().to_owned()),
            false => Err(silent("date", &answer)),
        }
    }

    /// What `qstat -f` says of these jobs; nothing of those that are not known.
    fn show(&self, jobs: &[&str]) -> Result<Vec<Shown>, LaunchError> {
        // With those that have ended, where the server keeps them.
        let with_history = ["-x", "-f"].into_iter().chain(jobs.iter().copied());
        let mut answer = self.0.ask("qstat", with_history)?;
        if !answer.succeeded && answer.errors.contains("job_history_enable") {
            let without = std::iter::once("-f").chain(jobs.iter().copied());
            answer = self.0.ask("qstat", without)?;
        }
        let is_unknown = UNKNOWN.iter().any(|text| answer.errors.contains(text));
        match answer.succeeded || is_unknown {
            true => Ok(shown(&answer.output)),
            false => Err(silent("qstat", &answer)),
        }
    }
}

impl Scheduler for Pbs {
    fn check(&self, _request: &Request<'_>) -> Result<(), LaunchError> {
        // There is no way to ask.
        Ok(())
    }

    fn submit(&self, request: &Request<'_>) -> Result<JobId, LaunchError> {
        let mut output = request.output.as_os_str().to_owned();
        output.push(".pbs");
        let mut arguments: Vec<OsString> = vec!["-N".into(), request.name.into()];
        arguments.extend(["-o".into(), output]);
        if !request.begin_in.is_zero() {
            arguments.extend(["-a".into(), self.time_in(request.begin_in)?.into()]);
        }
        arguments.push(request.script.into());
        let answer = self.0.ask("qsub", arguments)?;
        let id = answer.output.lines().last().unwrap_or_default().trim();
        match answer.succeeded {
            true if id.starts_with(|c: char| c.is_ascii_digit()) => Ok(JobId {
                id: id.to_owned(),
                cluster: None,
                name: request.name.to_owned(),
            }),
            true => Err(silent("qsub", &answer)),
            false if is_away(&answer) => Err(silent("qsub", &answer)),
            false => Err(refused("qsub", &answer)),
        }
    }

    fn status(&self, jobs: &[JobId]) -> Result<BTreeMap<JobId, Status>, LaunchError> {
        let ids: Vec<&str> = jobs.iter().map(|job| job.id.as_str()).collect();
        let shown = self.show(&ids)?;
        let known = jobs.iter().filter_map(|job| {
            let shown = shown.iter().find(|shown| shown.is(job))?;
            Some((job.clone(), shown.status()?))
        });
        Ok(known.collect())
    }

    fn find(&self, name: &str) -> Result<Option<JobId>, LaunchError> {
        let mut shown = self.show(&[])?;
        shown.retain(|shown| shown.value("Job_Name") == Some(name));
        Ok(shown.pop().map(|shown| JobId {
            id: shown.id,
            cluster: None,
            name: name.to_owned(),
        }))
    }

    fn cancel(&self, job: &JobId) -> Result<(), LaunchError> {
        let answer = self.0.ask("qdel", [&job.id])?;
        match answer.succeeded {
            true => Ok(()),
            false if UNKNOWN.iter().any(|text| answer.errors.contains(text)) => Ok(()),
            false if is_away(&answer) => Err(silent("qdel", &answer)),
            false => Err(refused("qdel", &answer)),
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

fn refused(program: &'static str, answer: &Answer) -> LaunchError {
    LaunchError::Refused {
        program,
        message: answer.words(),
    }
}

/// A job as `qstat -f` shows it.
#[derive(Default)]
struct Shown {
    id: String,
    attributes: Vec<(String, String)>,
}

/// Reads the blocks of `qstat -f`: `Job Id: ID`, then `    NAME = VALUE`, continued on lines that begin with
/// a tab.
fn shown(text: &str) -> Vec<Shown> {
    let mut jobs: Vec<Shown> = Vec::new();
    for line in text.lines() {
        if let Some(id) = line.strip_prefix("Job Id:") {
            jobs.push(Shown {
                id: id.trim().to_owned(),
                ..Shown::default()
            });
        }
        let Some(job) = jobs.last_mut() else {
            continue;
        };
        match (line.strip_prefix('\t'), job.attributes.last_mut()) {
            (Some(more), Some((_, value))) => value.push_str(more),
            _ => {
                if let Some((name, value)) = line.split_once(" = ") {
                    let (name, value) = (name.trim().to_owned(), value.to_owned());
                    job.attributes.push((name, value));
                }
            }
        }
    }
    jobs
}

impl Shown {
    fn is(&self, job: &JobId) -> bool {
        self.id == job.id && self.value("Job_Name") == Some(&job.name)
    }

    fn value(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        let (_, value) = attributes.find(|(key, _)| key == name)?;
        Some(value.trim())
    }

    /// `None` for a state that is not known.
    fn status(&self) -> Option<Status> {
        let comment = self.value("comment");
        Some(match self.value("job_state")? {
            "Q" | "H" | "W" | "T" | "M" => Status::Queued {
                reason: comment.map(str::to_owned),
            },
            "R" | "E" | "S" | "B" | "U" => Status::Running,
            "F" | "X" | "C" => Status::Ended {
                end: self.end(),
                failed_nodes: Vec::new(),
            },
            _ => return None,
        })
    }

    fn end(&self) -> End {
        let exit: Option<i32> = self.value("Exit_status").and_then(|text| text.parse().ok());
        match exit {
            // Deleted before it ran.
            None => End::By(BatchEnd::Cancelled),
            Some(KILLED_FOR_TIME) => End::By(BatchEnd::WallTime),
            Some(code) if KILLED_FOR_MEMORY.contains(&code) => End::By(BatchEnd::OutOfMemory),
            Some(_) if self.lost_a_node() => End::By(BatchEnd::NodeFailed),
            // Who is over time gets the same signal as who is deleted.
            Some(code @ (SIGNALS.. | 143)) if self.is_over_time() && code != 0 => {
                End::By(BatchEnd::WallTime)
            }
            Some(SIGNALS.. | 143) => End::By(BatchEnd::Cancelled),
            Some(code) => End::Exited(code),
        }
    }

    fn lost_a_node(&self) -> bool {
        let comment = self.value("comment").unwrap_or_default().to_lowercase();
        comment.contains("node") && (comment.contains("down") || comment.contains("fail"))
    }

    fn is_over_time(&self) -> bool {
        let seconds = |name| self.value(name).and_then(seconds);
        match (
            seconds("resources_used.walltime"),
            seconds("Resource_List.walltime"),
        ) {
            (Some(used), Some(allowed)) => used >= allowed,
            _ => false,
        }
    }
}

/// `HH:MM:SS` in seconds.
fn seconds(text: &str) -> Option<u64> {
    text.split(':').try_fold(0, |total: u64, part| {
        let part: u64 = part.parse().ok()?;
        total.checked_mul(60)?.checked_add(part)
    })
}
