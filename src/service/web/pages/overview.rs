//! The overview: running tasks, and the releases, queue and open findings of each machine.

use std::collections::BTreeSet;

use answers::{PrintedEvent, ValidateFindings};
use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use jiff::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use service::{
    FindingState, MachineAgent, Release, Service, ServiceError, ServiceMachine, Slice, Task,
    TaskFilter, TaskState, Validation,
};

use super::elements::{
    age_element, channel_address, node_hours, scroll_box, table_link, task_link, task_subject,
};
use super::forms::Reader;
use super::layout::{EVENTS, Frame, with_query};
use super::progress;
use crate::{App, Problem, Visitor};

/// The most running tasks that are shown.
const MOST_RUNNING: u32 = 20;
/// The most releases for which validations are read, with a query each.
const MOST_VALIDATED: usize = 8;

#[derive(Debug)]
struct Overview {
    machines: Vec<ServiceMachine>,
    /// Node-seconds of this month, by machine.
    spent: Vec<f64>,
    /// The agents that were heard, by machine.
    agents: Vec<Option<MachineAgent>>,
    releases: Vec<(Release, Option<Validation>)>,
    counts: Vec<(String, TaskState, u64)>,
    findings: Vec<(String, FindingState, u64)>,
    running: Vec<(Task, Option<PrintedEvent>)>,
    problems: Vec<String>,
}

impl Overview {
    /// Reads the parts that concern machines that the visitor may read about.
    fn read_for_visitor(service: &Service, visitor: &Visitor) -> Result<Self, ServiceError> {
        let mut machines = service.configuration().machines.clone();
        machines.retain(|machine| visitor.may_read(Some(&machine.name)));
        let spent = machines
            .iter()
            .map(|machine| service.node_seconds_this_month(&machine.name))
            .collect::<Result<_, _>>()?;
        let agents = machines
            .iter()
            .map(|machine| service.find_agent(&machine.name))
            .collect::<Result<_, _>>()?;
        let mut channels = service.newest_releases()?;
        channels.retain(|release| visitor.may_read(Some(&release.key.machine)));
        // `production` comes first, so that its validations are read.
        channels.sort_by(|a, b| b.key.channel.cmp(&a.key.channel).then(a.key.cmp(&b.key)));
        let mut releases = Vec::new();
        for (index, release) in channels.into_iter().enumerate() {
            let validation = if index < MOST_VALIDATED {
                newest_validation(service, &release)?
            } else {
                None
            };
            releases.push((release, validation));
        }
        let filter = TaskFilter {
            state: Some(TaskState::Running),
            machines: visitor.readable_machines(),
            ..TaskFilter::default()
        };
        let slice = Slice {
            before: None,
            limit: Some(MOST_RUNNING),
        };
        let running = service.list_tasks(&filter, slice)?.items;
        let running = running.into_iter().map(|task| {
            let told = service.feed().last_progress(task.id);
            (task, told)
        });
        Ok(Self {
            spent,
            agents,
            machines,
            releases,
            counts: service.task_counts()?,
            findings: service.finding_counts()?,
            running: running.collect(),
            problems: if visitor.may_read(None) {
                service.list_problems()
            } else {
                Vec::new()
            },
        })
    }

    /// The machines of the configuration, and any others with releases.
    fn machine_names(&self) -> BTreeSet<&str> {
        let configured = self.machines.iter().map(|machine| machine.name.as_str());
        let released = self
            .releases
            .iter()
            .map(|(release, _)| release.key.machine.as_str());
        configured.chain(released).collect()
    }

    fn count_tasks(&self, machine: &str, state: TaskState) -> u64 {
        let found = self.counts.iter();
        let found = found.filter(|(name, of, _)| name == machine && *of == state);
        found.map(|(.., count)| count).sum()
    }

    fn count_open_findings(&self, machine: &str) -> u64 {
        let of_machine = self.findings.iter().filter(|(name, ..)| name == machine);
        let open = of_machine.filter(|(_, state, _)| *state == FindingState::Open);
        open.map(|(.., count)| count).sum()
    }
}

fn newest_validation(
    service: &Service,
    release: &Release,
) -> Result<Option<Validation>, ServiceError> {
    let found = service.list_validations(&release.key.machine, &release.digest)?;
    Ok(found.into_iter().next())
}

pub(super) async fn show_overview(
    State(app): State<App>,
    Reader(visitor): Reader,
) -> Result<Response, Problem> {
    let reader = visitor.clone();
    let read = app
        .run_reading(move |service| Overview::read_for_visitor(service, &reader))
        .await?;
    let frame = Frame::new("Overview", Some(&visitor), "/").with_live_events(EVENTS);
    let page: Html<String> = frame.render_html(&overview_content(&read, Timestamp::now()));
    Ok(page.into_response())
}

fn overview_content(read: &Overview, now: Timestamp) -> Markup {
    html! {
        div #problems data-live {
            @for problem in &read.problems { p.warning { (problem) } }
        }
        section #now data-live aria-labelledby="now-head" {
            h2 #now-head { "Running tasks" }
            (running_list(&read.running, now))
        }
        div #machines data-live {
            @for name in read.machine_names() { (machine_card(read, name, now)) }
        }
    }
}

fn running_list(tasks: &[(Task, Option<PrintedEvent>)], now: Timestamp) -> Markup {
    html! {
        @if tasks.is_empty() {
            p { "None. " a href="/queue#submit" { "Submit a task" } "." }
        } @else {
            ul.plain {
                @for (task, told) in tasks {
                    li {
                        (task_link(task.id)) " on " strong { (task.request.machine.as_deref().unwrap_or("?")) } ": "
                        (task_subject(task))
                        @if let Some(at) = task.started_at { ", started " (age_element(at, now)) }
                        @match told {
                            Some(told) => { (progress::progress_with_bar(told)) }
                            None => p { (task.reason) },
                        }
                    }
                }
            }
        }
    }
}

fn machine_card(read: &Overview, name: &str, now: Timestamp) -> Markup {
    let head = format!("machine-{name}");
    let configured = read
        .machines
        .iter()
        .position(|machine| machine.name == name);
    let releases: Vec<_> = read
        .releases
        .iter()
        .filter(|(release, _)| release.key.machine == name)
        .collect();
    html! {
        section.card aria-labelledby=(head) {
            h2 id=(head) { (name) }
            @if releases.is_empty() {
                p { "No table is released: every call uses the library's default." }
            } @else {
                (scroll_box(&format!("Releases of {name}"), &releases_table(&releases, now)))
            }
            dl {
                dt { "Queue" }
                dd {
                    a href=(with_query("/queue", &[("machine", name), ("state", "running")])) { (read.count_tasks(name, TaskState::Running)) " running" } ", "
                    a href=(with_query("/queue", &[("machine", name), ("state", "waiting")])) { (read.count_tasks(name, TaskState::Waiting)) " waiting" } ", "
                    a href=(with_query("/queue", &[("machine", name), ("state", "failed")])) { (read.count_tasks(name, TaskState::Failed)) " failed" }
                }
                dt { "Findings" }
                dd { a href=(with_query("/findings", &[("state", "open"), ("machine", name)])) { (read.count_open_findings(name)) " open" } }
                @if let Some(index) = configured {
                    @if read.machines[index].has_agent {
                        dt { "Agent" }
                        dd { (agent_presence(read.agents[index].as_ref(), now)) }
                    }
                    dt { "Node-hours this month" }
                    dd { (node_hours_account(read.spent[index], read.machines[index].node_hours)) }
                } @else {
                    dt { "Configuration" }
                    dd { "The machine is no longer in " code { "service.yaml" } ": nothing is measured on it." }
                }
            }
        }
    }
}

fn releases_table(releases: &[&(Release, Option<Validation>)], now: Timestamp) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "channel" } th scope="col" { "library" } th scope="col" { "table" }
                th scope="col" { "released" } th scope="col" { "validated speed-up" } } }
            tbody {
                @for (release, validation) in releases {
                    tr {
                        td { a href=(channel_address(&release.key)) { (release.key.channel) } }
                        td { (release.key.library) }
                        td { (table_link(&release.digest)) }
                        td { (age_element(release.at, now)) }
                        td { (validation_summary(validation.as_ref(), now)) }
                    }
                }
            }
        }
    }
}

/// The overall result of a validation.
pub(super) fn validation_summary(validation: Option<&Validation>, now: Timestamp) -> Markup {
    let Some(validation) = validation else {
        return html! { span.quiet { "not validated" } };
    };
    let found = ValidateFindings::deserialize(&validation.details);
    let mean = found.ok().and_then(|found| found.speedups.geometric_mean);
    html! {
        @if let Some(mean) = mean { strong { (format!("{mean:.2}x")) } ", " }
        @if validation.slower > 0 { strong { (validation.slower) " of " (validation.points) " points slower" } }
        @else if validation.unjudged > 0 { "no judged point slower, " (validation.unjudged) " of " (validation.points) " not judged" }
        @else { "no point slower" }
        " (" (validation.deployment) ")"
        ", " (age_element(validation.at, now))
    }
}

/// Where a machine's agent runs, and when it was heard.
fn agent_presence(agent: Option<&MachineAgent>, now: Timestamp) -> Markup {
    html! {
        @if let Some(agent) = agent { "on " (agent.host) ", last heard " (age_element(agent.heard_at, now)) }
        @else { strong { "never heard" } ": tasks wait for it" }
    }
}

/// Node-hours of a month, and their limit.
fn node_hours_account(node_seconds: f64, limit: Option<f64>) -> Markup {
    html! {
        (node_hours(node_seconds))
        @if let Some(limit) = limit {
            " of " (format!("{limit}")) " "
            meter min="0" max=(limit) value=(node_seconds / 3600.0) aria-label="share of the month's node-hours" {}
            @if node_seconds / 3600.0 >= limit { " " strong { "The limit is reached: no new tasks start this month." } }
        } @else { ", without a limit" }
    }
}
