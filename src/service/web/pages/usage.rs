//! What tables did for jobs: the share of the traffic that each release serves, and what is not covered.

use answers::{MachineTraffic, TableTraffic, TrafficTable};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use profile::usage::{CarriedCalls, CoverageOverview, TableCoverage};
use service::{ChannelKey, Digest};

use super::elements::{channel_address, scroll_box, table_link};
use super::forms::Reader;
use super::layout::Frame;
use super::tables::readable_machine_names;
use crate::{App, Problem};

/// The days that the page is about.
const DAYS: u32 = 30;
/// The most reasons that are listed for a table.
const REASONS: usize = 8;

pub(super) async fn show_usage(
    State(app): State<App>,
    Reader(visitor): Reader,
) -> Result<Response, Problem> {
    let names = readable_machine_names(&app.service, &visitor);
    let machines = app
        .run_reading(move |service| {
            let read = names
                .iter()
                .map(|name| service.read_usage(name, Some(DAYS)));
            read.collect::<Result<Vec<_>, _>>()
        })
        .await?;
    let frame = Frame::new("Usage", Some(&visitor), "/usage");
    let has_jobs = machines.iter().any(|machine| !machine.tables.is_empty());
    let content = html! {
        p {
            "What tables did for the jobs of the last " (DAYS) " days. Jobs with " code { "COLLTUNE_USAGE" }
            " write lines about their calls, and the site sends them here."
        }
        @if !has_jobs { p { "No lines about jobs have been sent." } }
        @for machine in machines.iter().filter(|machine| !machine.tables.is_empty()) {
            (machine_section(machine))
        }
    };
    Ok(frame.render_html(&content).into_response())
}

fn machine_section(machine: &MachineTraffic) -> Markup {
    let name = &machine.machine;
    html! {
        section {
            h2 { (name) }
            (scroll_box(&format!("Tables of jobs on {name}"), &tables_table(machine)))
            @for table in machine.tables.iter().filter(|table| table.usage.coverage.calls > 0) {
                (table_section(name, table))
            }
            p { "The sums of each day are kept for " (machine.kept_days) " days." }
        }
    }
}

/// A row for each table.
fn tables_table(machine: &MachineTraffic) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th scope="col" { "table" } th scope="col" { "current in" } th scope="col" { "jobs" } th scope="col" { "calls" }
                    th scope="col" { "by colltune" } th scope="col" { "left to the library by the table" }
                    th scope="col" { "not covered" }
                }
            }
            tbody {
                @for table in &machine.tables {
                    @let coverage = &table.usage.coverage;
                    tr {
                        th scope="row" { (table_name(table)) }
                        td { (channel_links(&table.channels)) }
                        td { (job_counts(table)) }
                        td { (coverage.calls) }
                        @if coverage.calls > 0 { (share_cells(coverage)) } @else { td {} td {} td {} }
                    }
                }
            }
        }
    }
}

fn table_name(table: &TableTraffic) -> Markup {
    let digest: Option<Digest> = table
        .usage
        .sha256
        .as_deref()
        .and_then(|digits| digits.parse().ok());
    html! {
        @match (table.table, &digest) {
            (TrafficTable::Known, Some(digest)) => (table_link(digest)),
            (TrafficTable::None, _) => "no table was read",
            _ => "tables that are not here",
        }
    }
}

fn channel_links(channels: &[ChannelKey]) -> Markup {
    html! {
        @for (place, key) in channels.iter().enumerate() {
            @if place > 0 { ", " }
            a href=(channel_address(key)) { (key.library) " " (key.channel) }
        }
    }
}

/// The number of jobs, with those that did not use the table.
fn job_counts(table: &TableTraffic) -> Markup {
    let unused = table.usage.outcomes.iter();
    let unused: Vec<String> = unused
        .filter(|(outcome, _)| **outcome != profile::usage::JobOutcome::Used)
        .map(|(outcome, jobs)| format!("{jobs} {}", outcome.describe()))
        .collect();
    html! {
        (table.usage.jobs)
        @if !unused.is_empty() { ", of which " (unused.join(", ")) }
    }
}

fn share_cells(coverage: &CoverageOverview) -> Markup {
    html! {
        td { strong { (percent(coverage.served_share)) } }
        td { (percent(coverage.left_by_table_share)) }
        td { (percent(coverage.not_covered_share)) }
    }
}

/// The collectives of a table's jobs, and the reasons why calls are not covered.
fn table_section(machine: &str, table: &TableTraffic) -> Markup {
    let usage = &table.usage;
    let is_uncovered = |row: &&CarriedCalls| row.by.coverage() == TableCoverage::NotCovered;
    let reasons: Vec<&CarriedCalls> = usage.by.iter().filter(is_uncovered).collect();
    let label = format!("Collectives of jobs on {machine}");
    html! {
        h3 { (table_name(table)) }
        @if reasons.is_empty() { p { "All calls are covered." } }
        @else {
            p { "Not covered:" }
            ul { @for row in reasons.iter().take(REASONS) { li { (percent(row.share)) " of the calls: " (row.by.describe()) } } }
        }
        @if let (Some(served), Some(uncovered)) = (usage.coverage.served_seconds_share, usage.coverage.not_covered_seconds_share) {
            p {
                "Of the time in the " (percent(usage.coverage.timed_share)) " of the calls that were timed, "
                (percent(served)) " is in calls by colltune, " (percent(uncovered)) " in those that are not covered."
            }
        }
        (scroll_box(&label, &html! {
            table {
                thead {
                    tr {
                        th scope="col" { "collective" } th scope="col" { "calls" } th scope="col" { "by colltune" }
                        th scope="col" { "left by the table" } th scope="col" { "not covered" }
                    }
                }
                tbody {
                    @for collective in &usage.collectives {
                        tr {
                            th scope="row" { (collective.collective) }
                            td { (collective.coverage.calls) }
                            (share_cells(&collective.coverage))
                        }
                    }
                }
            }
        }))
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
