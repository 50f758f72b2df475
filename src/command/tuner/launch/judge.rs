//! The cause of a launch's end.
//!
//! A launch that dies is attributed to the candidate whose turn it was, unless a signal from outside may be the cause
//! (launchers then report no ranks, or only that one was ended by SIGKILL): then it is attributed only if it happens
//! twice and the candidate was not measured in between. An algorithm that is forced from the start of MPI is suspected as
//! well if its launch dies before the driver has started. Launches killed by the batch system are never attributed to a
//! candidate.

use launcher::{BatchEnd, Exit, LaunchError, Outcome};
use libraries::LibraryName;
use vocabulary::{Candidate, Subject};
use wire::{FailureKind, Record, exit_code};

use super::{LaunchEnd, RunningLaunch};
use crate::TunerError;

/// The prefix of the driver's own error messages.
const DRIVER_SAYS: &str = "colltune-driver: ";

impl RunningLaunch<'_> {
    /// Finds the cause from the way in which the launcher ended.
    pub(super) fn judge_exit(&mut self, exit: Exit) -> Result<LaunchEnd, TunerError> {
        if let Some(finish) = self.finish {
            return Ok(LaunchEnd::Finished(finish));
        }
        let described = LaunchError::Failed {
            outcome: exit.outcome,
            log: exit.log.clone(),
            tail: exit.tail.clone(),
            failed_nodes: exit.failed_nodes.clone(),
        };
        let message = described.to_string();
        if may_have_lost_nodes(exit.outcome)
            && let Some(lost) = find_lost_nodes(&exit.tail)
        {
            let end = BatchEnd::NodeFailed;
            // The batch system's list of nodes takes precedence.
            let failed_nodes = if exit.failed_nodes.is_empty() {
                lost
            } else {
                exit.failed_nodes
            };
            let failed = LaunchError::Failed {
                outcome: Outcome::Ended(end),
                log: exit.log,
                tail: exit.tail,
                failed_nodes,
            };
            let node_failure = failed.to_string();
            return Ok(LaunchEnd::Died {
                end: Some(end),
                message: node_failure,
            });
        }
        if let Outcome::Ended(end) = exit.outcome {
            let message = match end {
                BatchEnd::OutOfMemory => self.mention_turn(message),
                _ => message,
            };
            return Ok(LaunchEnd::Died {
                end: Some(end),
                message,
            });
        }
        // Launchers do not always report the code of the rank that ended first: MPICH's may report the signal by which
        // it ended the others. The driver's message is in the log.
        if exit.tail.iter().any(|line| line.starts_with(DRIVER_SAYS)) {
            return Err(described.into());
        }
        if !self.forcing.is_empty() && !self.has_started() {
            return self.suspect_forced_algorithm(message);
        }
        match exit.outcome {
            Outcome::Code(exit_code::HANG) => self.attribute_failure(FailureKind::Hang, message),
            Outcome::Code(
                exit_code::PLAN | exit_code::LIBRARY | exit_code::FAILED | exit_code::START,
            ) => Err(described.into()),
            // The driver itself ends turns that hang, so the candidate in flight at a timeout is not the cause.
            Outcome::Code(exit_code::ORPHANED)
            | Outcome::Signal(_)
            | Outcome::TimedOut
            | Outcome::Killed
                if self.has_started() =>
            {
                Ok(died_with_message(message))
            }
            Outcome::Code(exit_code::TURN) => {
                self.attribute_failure(FailureKind::MpiError, message)
            }
            Outcome::Code(code) if self.has_started() && is_termination_code(code) => {
                Ok(died_with_message(message))
            }
            Outcome::Code(code) if self.has_started() && is_kill_code(code) => {
                self.suspect_entrant(message)
            }
            outcome if self.has_started() && is_unexplained(outcome, &exit.tail) => {
                self.suspect_entrant(message)
            }
            _ if self.in_flight.is_some() => self.attribute_failure(FailureKind::Crash, message),
            _ if self.has_started() => Ok(died_with_message(message)),
            _ => Err(described.into()),
        }
    }

    /// Adds the candidate in flight to a message as a hint, without recording a failure.
    fn mention_turn(&self, message: String) -> String {
        match self.entrant_in_flight() {
            Some((subject, candidate)) => {
                format!("in the turn of {candidate} in {subject} {message}")
            }
            None => message,
        }
    }

    /// Handles an end that a signal from outside or the candidate in flight may have caused: the failure is attributed
    /// to the candidate if the same happens again in its next turn.
    fn suspect_entrant(&mut self, message: String) -> Result<LaunchEnd, TunerError> {
        let in_flight = self.entrant_in_flight();
        let was_suspect = in_flight.is_some_and(|entrant| !self.suspects.insert(entrant));
        if was_suspect {
            self.attribute_failure(FailureKind::Crash, message)
        } else {
            Ok(died_with_message(message))
        }
    }

    /// Handles an end before the driver has started MPI, in a launch whose algorithm is forced from the start of MPI. The
    /// launch without it has just ended well, so the algorithm is the likely cause. It counts as failed if this happens
    /// again.
    fn suspect_forced_algorithm(&mut self, message: String) -> Result<LaunchEnd, TunerError> {
        for task in &self.plan.tasks {
            // Such a task has one candidate.
            let suspected = self.find_entrant(task.id, 0);
            let was_suspect = suspected.is_some_and(|entrant| !self.suspects.insert(entrant));
            if was_suspect {
                self.store_record(&Record::Failed {
                    task: task.id,
                    candidate: 0,
                    kind: FailureKind::Crash,
                    message: message.clone(),
                })?;
            }
        }
        Ok(died_with_message(message))
    }

    fn entrant_in_flight(&self) -> Option<(Subject, Candidate)> {
        let (task, candidate) = self.in_flight?;
        self.find_entrant(task, candidate)
    }

    /// Records a failure of the candidate in flight, unless the driver has recorded it.
    fn attribute_failure(
        &mut self,
        kind: FailureKind,
        message: String,
    ) -> Result<LaunchEnd, TunerError> {
        if let Some((task, candidate)) = self.in_flight.take() {
            self.store_record(&Record::Failed {
                task,
                candidate,
                kind,
                message: message.clone(),
            })?;
        }
        Ok(died_with_message(message))
    }
}

/// The end of a launch that the batch system did not end.
fn died_with_message(message: String) -> LaunchEnd {
    let end = None;
    LaunchEnd::Died { end, message }
}

/// Whether a lost node may be the cause. A batch system that ends a job for another reason also ends the launcher's
/// processes on the nodes, possibly before the launcher itself.
fn may_have_lost_nodes(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Ended(end) => matches!(end, BatchEnd::NodeFailed | BatchEnd::Lost),
        _ => true,
    }
}

/// The nodes with which the launcher reports a lost connection. A failing candidate ends ranks, but not the launcher's
/// processes on their nodes. The launcher notices a lost node before the batch system does.
fn find_lost_nodes(tail: &[String]) -> Option<Vec<String>> {
    let printed: Vec<&str> = tail.iter().flat_map(|text| text.lines()).collect();
    let mut libraries = LibraryName::ALL.iter();
    libraries.find_map(|library| library.lost_nodes(&printed))
}

/// Whether an exit code means SIGHUP, SIGINT or SIGTERM to the ranks or the launcher, which no candidate causes.
/// Launchers report 128 plus the signal's number, MPICH's also the bare number.
fn is_termination_code(code: i32) -> bool {
    matches!(code, 129 | 130 | 143 | 2 | 15)
}

/// Whether an exit code means a rank's end by SIGKILL, sent by a user or by the kernel when memory ran out. MPICH's
/// launcher may also report the SIGKILL by which it ended the other ranks after a crash.
fn is_kill_code(code: i32) -> bool {
    matches!(code, 137 | 9)
}

/// Whether a launcher ended early without naming a process that ended first. Launchers do so when they are asked to
/// end: MPICH's often reports success, and Open MPI's exits with 1. Both print several lines if a rank ends first.
fn is_unexplained(outcome: Outcome, tail: &[String]) -> bool {
    let names_a_process = |line: &String| {
        let line = line.to_lowercase();
        !line.contains("ctrl-c") && (line.contains("process") || line.contains("rank"))
    };
    match outcome {
        Outcome::Success => true,
        Outcome::Code(1) => !tail.iter().any(names_a_process),
        _ => false,
    }
}
