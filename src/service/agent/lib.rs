//! The agent of a machine that a service does not reach: `colltune agent` on a login node.
//!
//! An agent is a [`service::Service`] without an address: its own queue, database and child processes carry out what it
//! claims, so that tasks survive a kill of the agent as they survive one of the service. This crate is the exchange with
//! the other service ([`Agent::run`]): it tells it the campaigns of the agent's folder, claims tasks, reports of them
//! (`tending`), and sends each result until it is acknowledged.
//!
//! - The agent opens every connection, over HTTP(S), and accepts none.
//! - Every request may be lost, with its answer or before it: each is repeated, and what the service has done already is
//!   not done again. A task's result is a row of the agent's database until it is acknowledged.
//! - What is executed are campaigns of the agent's folder and nothing else, whatever the service says.

mod error;
mod tending;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use answers::{AgentCampaigns, ClaimId, ClaimRequest, ClaimedTask};
use client::{Ask, Remote, RemoteError, encode_step, host_delay, host_name};
use serde::Deserialize;
use serde_json::json;
use service::Service;
use vocabulary::ErrorKind;

pub use error::AgentError;
use error::Refusal;
use tending::Told;

/// The times between requests.
#[derive(Clone, Copy, Debug)]
pub struct AgentPace {
    /// The time between two looks at the tasks here.
    pub round: Duration,
    /// The time between two requests for a task.
    pub claim: Duration,
    /// The time between two heartbeats of a task of which there is no news.
    pub heartbeat: Duration,
    /// The pause after the first failed request; it doubles with each further one.
    pub first_pause: Duration,
    /// The longest pause after a failed request.
    pub longest_pause: Duration,
}

impl Default for AgentPace {
    fn default() -> Self {
        Self {
            round: Duration::from_secs(1),
            claim: Duration::from_secs(5),
            heartbeat: Duration::from_secs(10),
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(60),
        }
    }
}

/// What an agent does, for its log.
#[derive(Debug)]
pub enum AgentNote<'a> {
    /// The service has answered for the first time: it knows the machine, and the token is that of its agent.
    Connected,
    /// A task of the service was taken in.
    Claimed {
        /// The service's number of it.
        task: u64,
    },
    /// A result was acknowledged.
    Acknowledged {
        /// The service's number of the task.
        task: u64,
        /// Whether it ended the task.
        counts: bool,
    },
    /// The service does not want the result of a task, which stays here only.
    Unwanted {
        /// The service's number of the task.
        task: u64,
        /// The reason.
        reason: &'a RemoteError,
    },
    /// The service does not take the campaigns of the folder, for instance because they are too long.
    CampaignsRefused {
        /// The reason.
        reason: &'a RemoteError,
    },
    /// Requests fail; they are repeated.
    Failing {
        /// The first error in a row.
        reason: &'a AgentError,
    },
    /// Requests succeed again.
    Recovered,
}

/// An agent: the service here that carries out tasks, and the one elsewhere that it works for.
#[derive(Debug)]
pub struct Agent {
    local: Arc<Service>,
    remote: Remote,
    machine: String,
    /// The path of the agent's requests.
    path: String,
    name: String,
    pace: AgentPace,
    /// The campaigns that the service has.
    told_campaigns: Option<AgentCampaigns>,
    /// What was last told of each task, by the number of its claim.
    told: HashMap<u64, Told>,
    claimed_at: Option<Instant>,
}

/// The parts of a claim that every version understands.
#[derive(Deserialize)]
struct UnreadableClaim {
    claim: ClaimId,
    task: u64,
}

impl Agent {
    /// The agent of a machine. `local` must know the machine by the same name, and must run its tasks
    /// ([`Service::run_tasks`]).
    ///
    /// # Errors
    /// If the agent's name can neither be read nor made.
    pub fn new(
        local: Arc<Service>,
        remote: Remote,
        machine: &str,
        pace: AgentPace,
    ) -> Result<Self, AgentError> {
        let name = local.agent_name()?;
        Ok(Self {
            local,
            remote,
            machine: machine.to_owned(),
            path: format!("/machines/{}/agent", encode_step(machine)),
            name,
            pace,
            told_campaigns: None,
            told: HashMap::new(),
            claimed_at: None,
        })
    }

    /// Works for the service until `stop` is set. Failed requests are repeated after growing pauses, for ever.
    ///
    /// # Errors
    /// If the first request is refused, for instance because the token is wrong.
    pub fn run(
        &mut self,
        stop: &AtomicBool,
        mut report: impl FnMut(AgentNote<'_>),
    ) -> Result<(), AgentError> {
        let mut failures = 0;
        let mut has_succeeded = false;
        while !stop.load(Ordering::Relaxed) {
            let pause = match self.run_round(&mut report) {
                Ok(()) => {
                    if !has_succeeded {
                        report(AgentNote::Connected);
                    } else if failures > 0 {
                        report(AgentNote::Recovered);
                    }
                    failures = 0;
                    has_succeeded = true;
                    self.pace.round
                }
                Err(error) if !has_succeeded && error.kind() != ErrorKind::Environment => {
                    return Err(error);
                }
                Err(error) => {
                    if failures == 0 {
                        report(AgentNote::Failing { reason: &error });
                    }
                    failures += 1;
                    self.pause_after(failures, &error)
                }
            };
            sleep_unless_stopped(pause, stop);
        }
        Ok(())
    }

    /// Exchanges everything that is due with the service, once.
    ///
    /// # Errors
    /// The first request that fails; the next round repeats it.
    pub fn run_round(&mut self, report: &mut impl FnMut(AgentNote<'_>)) -> Result<(), AgentError> {
        let is_due = self
            .claimed_at
            .is_none_or(|claimed_at| claimed_at.elapsed() >= self.pace.claim);
        if is_due {
            self.tell_campaigns(report)?;
        }
        for held in self.local.held_claims()? {
            self.tend_claim(&held, report)?;
        }
        if is_due {
            self.claim_task(report)?;
            self.claimed_at = Some(Instant::now());
        }
        Ok(())
    }

    /// Tells the service the campaigns of the folder, if they have changed.
    fn tell_campaigns(&mut self, report: &mut impl FnMut(AgentNote<'_>)) -> Result<(), AgentError> {
        let campaigns = self.local.list_own_campaigns(&self.machine)?;
        if self.told_campaigns.as_ref() == Some(&campaigns) {
            return Ok(());
        }
        let path = format!("{}/campaigns", self.path);
        let told = self.remote.request_json(Ask::put(&path, &json!(campaigns)));
        match told {
            // Those that were told before remain, and so do the tasks.
            Err(reason) if Refusal::of_error(&reason) == Refusal::Content => {
                report(AgentNote::CampaignsRefused { reason: &reason });
            }
            answer => drop(answer?),
        }
        self.told_campaigns = Some(campaigns);
        Ok(())
    }

    /// Asks for a task, and takes it in.
    fn claim_task(&self, report: &mut impl FnMut(AgentNote<'_>)) -> Result<(), AgentError> {
        let held = self.local.held_claims()?;
        let body = json!(ClaimRequest {
            agent: self.name.clone(),
            host: host_name(),
            held: held.iter().map(|known| known.claim.fence).collect(),
        });
        let path = format!("{}/claim", self.path);
        let answer = self.remote.request_json(Ask::post(&path, &body))?;
        if answer.is_null() {
            return Ok(());
        }
        let task = match ClaimedTask::deserialize(&answer) {
            Ok(claimed) => {
                self.local.hold_claim(&claimed)?;
                claimed.task
            }
            Err(error) => {
                let unreadable = UnreadableClaim::deserialize(&answer);
                let UnreadableClaim { claim, task } =
                    unreadable.map_err(|wrong| self.remote.unexpected_answer(&path, wrong))?;
                let problem = format!(
                    "the agent's version of colltune cannot do what is asked ({error}); upgrade it"
                );
                self.local.refuse_claim(&claim, task, &problem)?;
                task
            }
        };
        report(AgentNote::Claimed { task });
        Ok(())
    }

    /// The pause after this number of failures in a row. It differs between hosts, so that agents do not all ask a service
    /// at the moment at which it is back.
    fn pause_after(&self, failures: u32, error: &AgentError) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1).min(16));
        let pause = self.pace.first_pause.saturating_mul(doubled);
        let pause = pause.min(self.pace.longest_pause);
        let spread = pause / 2 + host_delay(pause / 2);
        spread.max(error.retry_after().min(self.pace.longest_pause))
    }
}

/// Sleeps, and wakes up soon after `stop` is set.
fn sleep_unless_stopped(time: Duration, stop: &AtomicBool) {
    let end = Instant::now() + time;
    while !stop.load(Ordering::Relaxed) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        sleep(left.min(Duration::from_millis(100)));
    }
}
