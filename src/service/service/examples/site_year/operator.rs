//! The person who decides: releases tables whose gates are open, accepts what is known to have changed, and rolls back
//! tables that a validation finds slower.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use service::{
    Actor, ChannelKey, Digest, ExpectedRevision, FindingCause, FindingFilter, FindingState,
    GateState, ListedFinding, Overrides, PauseRequest, ReleaseAction, ReleaseChannel,
    ReleaseRequest, ScheduleDefinition, ScheduleEvents, ScheduledChannel, Scope, Service, Slice,
    TaskKind, TaskRequest, TaskState, Triage,
};

use crate::BEGIN;
use crate::child::SERIES_OF_A_MACHINE;
use crate::report::{Act, Deed, Found, Report};
use crate::world::MACHINES;

/// The time within which the tasks of an hour must end.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// The time without a task after which an hour is over: several rounds of the queue.
const QUIET: Duration = Duration::from_millis(100);
/// A page of everything.
const ALL: Slice = Slice {
    before: None,
    limit: Some(200),
};

pub(crate) struct Operator<'a> {
    service: &'a Arc<Service>,
    actor: Actor,
    deeds: Vec<Deed>,
    /// Tables for which a validation was asked, and whether they are done with.
    tables: BTreeMap<(String, Digest), bool>,
    /// Findings of an algorithm, and the task that is to confirm each.
    confirmations: BTreeMap<u64, u64>,
    /// The library of each machine's check.
    checked: BTreeMap<String, String>,
    tuned: BTreeSet<String>,
}

impl<'a> Operator<'a> {
    pub(crate) fn new(service: &'a Arc<Service>) -> Self {
        Self {
            service,
            actor: Actor {
                name: "operator".to_owned(),
                scopes: vec![Scope::Admin],
                machines: Vec::new(),
            },
            deeds: Vec::new(),
            tables: BTreeMap::new(),
            confirmations: BTreeMap::new(),
            checked: BTreeMap::new(),
            tuned: BTreeSet::new(),
        }
    }

    /// Lets the service do what is due in an hour, and decides about its results until there are no more.
    pub(crate) fn attend(&mut self, night: u32) -> Result<(), Box<dyn Error>> {
        for machine in MACHINES {
            if self.tuned.insert(machine.to_owned()) {
                self.schedule_tuning(machine)?;
            }
        }
        // The service sees that the time is another one.
        self.service.stop_clock_at(jiff::Timestamp::now());
        loop {
            self.wait_for_tasks()?;
            let mut is_done = self.release_tables(night)?;
            is_done &= self.triage(night)?;
            is_done &= self.resume_schedules(night)?;
            if is_done {
                return Ok(());
            }
        }
    }

    /// Waits until no task waits or runs, and none is submitted for a while.
    fn wait_for_tasks(&self) -> Result<(), Box<dyn Error>> {
        let end = Instant::now() + LONGEST_WAIT;
        let mut idle_since = Instant::now();
        while idle_since.elapsed() < QUIET {
            let counts = self.service.task_counts()?;
            let is_active =
                |state: &TaskState| matches!(state, TaskState::Waiting | TaskState::Running);
            if counts
                .iter()
                .any(|(_, state, count)| is_active(state) && *count > 0)
            {
                idle_since = Instant::now();
            }
            if Instant::now() > end {
                return Err(format!("tasks do not end: {counts:?}").into());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// Lets schedules go on that have paused themselves. Returns whether there were none.
    fn resume_schedules(&mut self, night: u32) -> Result<bool, Box<dyn Error>> {
        let mut is_done = true;
        for schedule in self.service.list_schedules(None, None)? {
            let Some(pause) = &schedule.paused else {
                continue;
            };
            let machine = schedule.definition.task.machine.clone().unwrap_or_default();
            let what = format!("{} resumed: {}", schedule.name, pause.reason);
            self.note(night, &machine, Act::Resumed, what);
            let request = PauseRequest {
                reason: "other work has ended".to_owned(),
            };
            self.service
                .resume_schedule(&self.actor, &schedule.name, &request)?;
            is_done = false;
        }
        Ok(is_done)
    }

    fn schedule_tuning(&self, machine: &str) -> Result<(), Box<dyn Error>> {
        let definition = ScheduleDefinition {
            task: TaskRequest {
                campaign: Some(format!("tuning/{machine}.yaml")),
                ..request(TaskKind::Tune, machine)
            },
            channel: None,
            times: None,
            events: ScheduleEvents {
                fingerprint: true,
                suspicion: false,
                age_days: Some(90),
            },
            windows: Vec::new(),
        };
        let name = format!("tune-{machine}");
        let expected = ExpectedRevision::Missing;
        self.service
            .put_schedule(&self.actor, &name, &definition, expected)?;
        Ok(())
    }

    /// Checks a channel every night from now on, and again if newest points suggest a change.
    fn schedule_check(&mut self, key: &ChannelKey) -> Result<(), Box<dyn Error>> {
        let definition = ScheduleDefinition {
            task: request(TaskKind::Check, &key.machine),
            channel: Some(ScheduledChannel {
                library: key.library.clone(),
                channel: key.channel,
            }),
            times: Some("0 2 * * *".to_owned()),
            events: ScheduleEvents {
                suspicion: true,
                ..ScheduleEvents::default()
            },
            windows: Vec::new(),
        };
        let before = self
            .checked
            .insert(key.machine.clone(), key.library.clone());
        let expected = if before.is_some() {
            ExpectedRevision::Any
        } else {
            ExpectedRevision::Missing
        };
        let name = format!("check-{}", key.machine);
        self.service
            .put_schedule(&self.actor, &name, &definition, expected)?;
        Ok(())
    }

    /// Has new tables validated, and releases them if their gates are open. Returns whether nothing was left to do.
    fn release_tables(&mut self, night: u32) -> Result<bool, Box<dyn Error>> {
        let mut is_done = true;
        for version in self.service.list_versions(None, None, ALL)?.items {
            let table = (version.machine.clone(), version.digest.clone());
            match self.tables.get(&table) {
                None => {
                    self.submit_for_table(TaskKind::Validate, &version.machine, &version.digest)?;
                    self.tables.insert(table, false);
                    is_done = false;
                }
                Some(true) => {}
                Some(false) => {
                    let key = ChannelKey {
                        machine: version.machine.clone(),
                        library: version.library.clone(),
                        channel: ReleaseChannel::Production,
                    };
                    let gates = self.service.evaluate_gates(&key, &version.digest)?;
                    let closed: Vec<_> = gates
                        .iter()
                        .filter(|gate| gate.state == GateState::Closed)
                        .map(|gate| gate.reason.clone())
                        .collect();
                    let name = &version.library;
                    if closed.is_empty() {
                        self.release(
                            &key,
                            ReleaseAction::Release,
                            Some(version.digest.clone()),
                            "gates are open",
                        )?;
                        self.note(
                            night,
                            &version.machine,
                            Act::Released,
                            format!("table for {name} released"),
                        );
                        self.schedule_check(&key)?;
                    } else {
                        let reasons = closed.join("; ");
                        self.note(
                            night,
                            &version.machine,
                            Act::HeldBack,
                            format!("table for {name} held back: {reasons}"),
                        );
                    }
                    self.tables.insert(table, true);
                }
            }
        }
        Ok(is_done)
    }

    /// Decides about open findings. Returns whether nothing was left to do.
    fn triage(&mut self, night: u32) -> Result<bool, Box<dyn Error>> {
        let open = FindingFilter {
            state: Some(FindingState::Open),
            ..FindingFilter::default()
        };
        let mut is_done = true;
        for finding in self.service.list_findings(&open, ALL)?.items {
            let key = ChannelKey {
                machine: finding.machine.clone(),
                library: self.checked[&finding.machine].clone(),
                channel: ReleaseChannel::Production,
            };
            if finding.cause == FindingCause::Machine {
                let reason = "the machine has changed; accepted as the new level";
                self.decide(night, &finding, FindingState::Accepted, reason)?;
                continue;
            }
            let released = self.service.channel_manifest(&key)?.digest;
            let Some(task) = self.confirmations.get(&finding.id) else {
                let task =
                    self.submit_for_table(TaskKind::Validate, &finding.machine, &released)?;
                self.confirmations.insert(finding.id, task);
                is_done = false;
                continue;
            };
            let outcome = self.service.read_task(*task)?.outcome.unwrap_or_default();
            let slower = outcome["slower"].as_u64().unwrap_or(0);
            if slower == 0 {
                self.decide(
                    night,
                    &finding,
                    FindingState::Invalid,
                    "a validation finds no slower point",
                )?;
                continue;
            }
            let reason = format!("a validation finds {slower} points slower than the default");
            self.release(&key, ReleaseAction::Rollback, None, &reason)?;
            self.note(
                night,
                &finding.machine,
                Act::RolledBack,
                format!("rolled back: {reason}"),
            );
            self.decide(night, &finding, FindingState::Fixed, "rolled back")?;
        }
        Ok(is_done)
    }

    fn decide(
        &mut self,
        night: u32,
        finding: &ListedFinding,
        state: FindingState,
        reason: &str,
    ) -> Result<(), Box<dyn Error>> {
        let triage = Triage {
            state,
            reason: reason.to_owned(),
        };
        self.service
            .decide_finding(&self.actor, finding.id, &triage)?;
        let what = format!("finding {}: {state}, {reason}", finding.id);
        self.note(night, &finding.machine, Act::Decided, what);
        Ok(())
    }

    fn release(
        &self,
        key: &ChannelKey,
        action: ReleaseAction,
        digest: Option<Digest>,
        reason: &str,
    ) -> Result<(), Box<dyn Error>> {
        let request = ReleaseRequest {
            digest,
            action,
            reason: reason.to_owned(),
            override_gates: false,
        };
        self.service
            .make_release(&self.actor, key, &request, None)?;
        Ok(())
    }

    fn submit_for_table(
        &self,
        kind: TaskKind,
        machine: &str,
        digest: &Digest,
    ) -> Result<u64, Box<dyn Error>> {
        let request = TaskRequest {
            table: Some(digest.clone()),
            ..request(kind, machine)
        };
        let submitted = self.service.submit_task(&self.actor, &request, None)?;
        Ok(submitted.task.id)
    }

    fn note(&mut self, night: u32, machine: &str, act: Act, what: String) {
        self.deeds.push(Deed {
            night,
            machine: machine.to_owned(),
            act,
            what,
        });
    }

    /// What became of the year.
    pub(crate) fn report(self, nights: u32) -> Result<Report, Box<dyn Error>> {
        let mut report = Report {
            nights,
            deeds: self.deeds,
            series_each_night: MACHINES.len() * SERIES_OF_A_MACHINE,
            problems: self.service.list_problems(),
            ..Report::default()
        };
        let findings = self.service.list_findings(&FindingFilter::default(), ALL)?;
        for finding in findings.items.into_iter().rev() {
            let found_at = finding.found_at.to_zoned(TimeZone::UTC).datetime();
            let night = (found_at - BEGIN).get_days().try_into()?;
            report.findings.push(Found { finding, night });
        }
        for (_, state, count) in self.service.task_counts()? {
            *report.tasks.entry(state.to_string()).or_default() += count;
        }
        let mut slice = ALL;
        loop {
            let page = self.service.list_series(None, None, slice)?;
            report.series += page.items.len();
            let Some(next) = page.next else { break };
            slice.before = Some(next);
        }
        Ok(report)
    }
}

fn request(kind: TaskKind, machine: &str) -> TaskRequest {
    TaskRequest {
        kind,
        machine: Some(machine.to_owned()),
        campaign: None,
        table: None,
        deployment: None,
        overrides: Overrides::default(),
    }
}
