//! OpenPBS and PBS Professional.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use super::batch_system::{BatchSystem, JobEnd, JobId, JobRequest, JobStatus, Receipt, Words};
use super::commands::{CommandAnswer, Commands};
use super::{BatchEnd, LaunchError};

/// Messages of commands about a job that is no longer known.
const UNKNOWN: [&str; 2] = ["Unknown Job Id", "Job has finished"];
/// Messages of commands that have not reached the server.
const UNREACHED: [&str; 2] = ["cannot connect to server", "Connection refused"];
/// Messages of commands that the server may have obeyed without an answer.
const UNANSWERED: [&str; 2] = ["Communication failure", "Connection timed out"];
/// Exit codes that PBS itself gives to jobs.
const KILLED_FOR_MEMORY: [i32; 2] = [-27, -26];
const KILLED_FOR_TIME: i32 = -29;
/// Exit codes from here on represent signals.
const SIGNALS: i32 = 256;

const WORDS: Words = Words {
    name: "pbs",
    title: "PBS",
    mark: "#PBS",
    partition: "queue",
    lacks: &["qos"],
    template: include_str!("../../../jobs/templates/pbs.sh.j2"),
    bootstrap: None,
    switches: None,
    step: None,
    submit: "qsub",
};

/// PBS: `qsub`, `qstat`, `qdel`.
#[derive(Debug)]
pub(super) struct Pbs;

impl BatchSystem for Pbs {
    fn words(&self) -> &'static Words {
        &WORDS
    }

    /// A name of at most 15 characters, which all servers accept.
    fn job_name(&self, _campaign: &str, number: &str, mark: &str) -> String {
        format!("ct{number:.4}-{mark}")
    }

    fn submit_script(
        &self,
        commands: &Commands,
        request: &JobRequest<'_>,
    ) -> Result<Receipt, LaunchError> {
        let mut output = request.output.as_os_str().to_owned();
        output.push(".pbs");
        let mut arguments: Vec<OsString> = vec!["-N".into(), request.name.into()];
        arguments.extend(["-o".into(), output]);
        if !request.begin_in.is_zero() {
            let begin = time_after(commands, request.begin_in)?;
            arguments.extend(["-a".into(), begin.into()]);
        }
        arguments.push(request.script.into());
        let answer = match commands.run_command(WORDS.submit, arguments) {
            // It was ended, perhaps after the server had the script.
            Err(LaunchError::Silent { message, .. }) => return Ok(Receipt::Unreadable(message)),
            answer => answer?,
        };
        // A server that was not reached is named in the last line.
        if answer.fails_with(&UNANSWERED) && !answer.fails_with(&UNREACHED) {
            return Ok(Receipt::Unreadable(answer.printed_text()));
        }
        let answer = answer.require_success(&UNREACHED)?;
        Ok(match answer.last_line() {
            id if is_id(id) => Receipt::Id(JobId {
                id: id.to_owned(),
                cluster: None,
                name: request.name.to_owned(),
            }),
            _ => Receipt::Unreadable(answer.printed_text()),
        })
    }

    fn query_statuses(
        &self,
        commands: &Commands,
        jobs: &[JobId],
    ) -> Result<BTreeMap<JobId, JobStatus>, LaunchError> {
        let ids: Vec<&str> = jobs.iter().map(|job| job.id.as_str()).collect();
        let shown = query_jobs(commands, &ids)?;
        let known = jobs.iter().filter_map(|job| {
            let shown = shown.iter().find(|shown| shown.is_job(job))?;
            Some((job.clone(), shown.status()?))
        });
        Ok(known.collect())
    }

    fn find_job_named(
        &self,
        commands: &Commands,
        name: &str,
    ) -> Result<Option<JobId>, LaunchError> {
        let mut shown = query_jobs(commands, &[])?;
        shown.retain(|shown| shown.attribute("Job_Name") == Some(name));
        Ok(shown.pop().map(|shown| JobId {
            id: shown.id,
            cluster: None,
            name: name.to_owned(),
        }))
    }

    fn cancel_job(&self, commands: &Commands, job: &JobId) -> Result<(), LaunchError> {
        delete_job(commands, &job.id)
    }

    fn cancel_jobs_named(
        &self,
        commands: &Commands,
        name: &str,
        _cluster: Option<&str>,
    ) -> Result<(), LaunchError> {
        let listed = commands.run_command("qselect", ["-N", name]);
        let ids: Vec<String> = match listed.and_then(CommandAnswer::into_output) {
            Ok(listed) => listed.lines().map(|line| line.trim().to_owned()).collect(),
            // The command may be missing here.
            Err(_) => {
                let shown = query_jobs(commands, &[])?.into_iter();
                let named = shown.filter(|shown| shown.attribute("Job_Name") == Some(name));
                named.map(|job| job.id).collect()
            }
        };
        let mut ids = ids.iter().filter(|id| is_id(id));
        ids.try_for_each(|id| delete_job(commands, id))
    }
}

/// Requests the end of a job; does nothing if it has ended.
fn delete_job(commands: &Commands, id: &str) -> Result<(), LaunchError> {
    let answer = commands.run_command("qdel", [id])?;
    let away = [&UNREACHED[..], &UNANSWERED].concat();
    if answer.fails_with(&UNKNOWN) {
        Ok(())
    } else {
        answer.require_success(&away).map(drop)
    }
}

/// Whether a text is the id of a job, as in `1234.server` and `1234[].server`.
fn is_id(text: &str) -> bool {
    let (number, server) = match text.split_once('.') {
        Some((number, server)) => (number, Some(server)),
        None => (text, None),
    };
    let number = match number.split_once('[') {
        Some((number, index)) if index.ends_with(']') => number,
        _ => number,
    };
    let usable = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && server.is_none_or(|name| !name.is_empty() && name.chars().all(usable))
}

/// The time after a delay as `CCYYMMDDhhmm.SS`, in local time, which `date` computes.
fn time_after(commands: &Commands, delay: Duration) -> Result<String, LaunchError> {
    let delay = format!("+{} seconds", delay.as_secs());
    let time = commands.run_command("date", ["-d", &delay, "+%Y%m%d%H%M.%S"])?;
    Ok(time.into_output()?.trim().to_owned())
}

/// The output of `qstat -f` for those of these jobs that are known.
fn query_jobs(commands: &Commands, jobs: &[&str]) -> Result<Vec<ShownJob>, LaunchError> {
    // Includes jobs that have ended, if the server keeps them.
    let with_history = ["-x", "-f"].into_iter().chain(jobs.iter().copied());
    let mut answer = commands.run_command("qstat", with_history)?;
    if answer.fails_with(&["job_history_enable"]) {
        let without = std::iter::once("-f").chain(jobs.iter().copied());
        answer = commands.run_command("qstat", without)?;
    }
    if answer.fails_with(&UNKNOWN) {
        // It prints the known jobs nevertheless.
        Ok(parse_jobs(&answer.output))
    } else {
        Ok(parse_jobs(&answer.into_output()?))
    }
}

/// A job in the output of `qstat -f`.
#[derive(Default)]
struct ShownJob {
    id: String,
    attributes: Vec<(String, String)>,
}

/// Parses the blocks of `qstat -f`: `Job Id: ID`, then `    NAME = VALUE`, continued on lines that begin with a tab.
fn parse_jobs(text: &str) -> Vec<ShownJob> {
    let mut jobs: Vec<ShownJob> = Vec::new();
    for line in text.lines() {
        if let Some(id) = line.strip_prefix("Job Id:") {
            jobs.push(ShownJob {
                id: id.trim().to_owned(),
                ..ShownJob::default()
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

impl ShownJob {
    fn is_job(&self, job: &JobId) -> bool {
        self.id == job.id && self.attribute("Job_Name") == Some(&job.name)
    }

    fn attribute(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        let (_, value) = attributes.find(|(key, _)| key == name)?;
        Some(value.trim())
    }

    /// The status; `None` for an unknown state.
    fn status(&self) -> Option<JobStatus> {
        let comment = self.attribute("comment");
        Some(match self.attribute("job_state")? {
            "Q" | "H" | "W" | "T" | "M" => JobStatus::Queued {
                reason: comment.map(str::to_owned),
            },
            "R" | "E" | "S" | "B" | "U" => JobStatus::Running,
            "F" | "X" | "C" => JobStatus::Ended {
                end: self.job_end(),
                failed_nodes: Vec::new(),
            },
            _ => return None,
        })
    }

    fn job_end(&self) -> JobEnd {
        let exit: Option<i32> = self
            .attribute("Exit_status")
            .and_then(|text| text.parse().ok());
        match exit {
            // The job was deleted before it ran.
            None => JobEnd::By(BatchEnd::Cancelled),
            Some(KILLED_FOR_TIME) => JobEnd::By(BatchEnd::WallTime),
            Some(code) if KILLED_FOR_MEMORY.contains(&code) => JobEnd::By(BatchEnd::OutOfMemory),
            Some(_) if self.lost_a_node() => JobEnd::By(BatchEnd::NodeFailed),
            // A job over its time limit gets the same signal as a deleted one.
            Some(code @ (SIGNALS.. | 143)) if self.is_over_time() && code != 0 => {
                JobEnd::By(BatchEnd::WallTime)
            }
            Some(SIGNALS.. | 143) => JobEnd::By(BatchEnd::Cancelled),
            Some(code) => JobEnd::Exited(code),
        }
    }

    fn lost_a_node(&self) -> bool {
        let comment = self.attribute("comment").unwrap_or_default().to_lowercase();
        comment.contains("node") && (comment.contains("down") || comment.contains("fail"))
    }

    fn is_over_time(&self) -> bool {
        let attribute_seconds = |name| self.attribute(name).and_then(parse_clock_seconds);
        match (
            attribute_seconds("resources_used.walltime"),
            attribute_seconds("Resource_List.walltime"),
        ) {
            (Some(used), Some(allowed)) => used >= allowed,
            _ => false,
        }
    }
}

/// `HH:MM:SS` in seconds.
fn parse_clock_seconds(text: &str) -> Option<u64> {
    text.split(':').try_fold(0, |total: u64, part| {
        let part: u64 = part.parse().ok()?;
        total.checked_mul(60)?.checked_add(part)
    })
}

#[cfg(test)]
mod tests {
    use super::is_id;

    #[test]
    fn an_id_is_a_number_and_possibly_a_server() {
        for id in [
            "1234.pbs",
            "1234",
            "1234.pbs-1.site.org",
            "1234[].pbs",
            "1234[7].pbs",
        ] {
            assert!(is_id(id), "{id}");
        }
        for text in [
            "",
            ".pbs",
            "1234.",
            "pbs.1234",
            "1234 pbs",
            "12 node-hours",
            "2026-11-28",
            "1234[.pbs",
        ] {
            assert!(!is_id(text), "{text}");
        }
    }
}
