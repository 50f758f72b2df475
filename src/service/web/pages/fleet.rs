//! The fleet: which hosts have pulled which table, and which of them are behind.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use maud::{Markup, html};
use service::{Pull, Release};

use super::elements::{age_element, channel_address, scroll_box, table_link};
use super::forms::Reader;
use super::layout::Frame;
use crate::{App, Problem};

/// The most hosts of a channel that are listed; the number of all is shown.
const LISTED: usize = 500;

/// A channel with the last pull of each host.
struct PulledChannel {
    newest: Release,
    pulls: Vec<Pull>,
}

impl PulledChannel {
    /// Whether a host's last pull was of another table than the current one.
    fn is_behind(&self, pull: &Pull) -> bool {
        pull.digest != self.newest.digest
    }
}

pub(super) async fn show_fleet(
    State(app): State<App>,
    Reader(visitor): Reader,
) -> Result<Response, Problem> {
    let reader = visitor.clone();
    let channels = app
        .run_reading(move |service| {
            let mut newest = service.newest_releases()?;
            newest.retain(|release| reader.may_read(Some(&release.key.machine)));
            newest.sort_by(|a, b| a.key.cmp(&b.key));
            let with_pulls = newest.into_iter().map(|release| {
                let pulls = service.list_pulls(&release.key)?;
                Ok(PulledChannel {
                    newest: release,
                    pulls,
                })
            });
            with_pulls.collect::<Result<Vec<_>, _>>()
        })
        .await?;
    let frame = Frame::new("Fleet", Some(&visitor), "/fleet");
    let content = html! {
        @if channels.is_empty() {
            p { "No table is released, so no host has pulled one." }
        }
        @for channel in &channels { (channel_section(channel)) }
    };
    Ok(frame.render_html(&content).into_response())
}

fn channel_section(channel: &PulledChannel) -> Markup {
    let key = &channel.newest.key;
    let behind = channel.pulls.iter().filter(|pull| channel.is_behind(pull));
    let behind = behind.count();
    html! {
        section {
            h2 { a href=(channel_address(key)) { (key) } }
            p { "Hosts: " (channel.pulls.len()) "; behind the current table " (table_link(&channel.newest.digest)) ": " (behind) "." }
            @if !channel.pulls.is_empty() { (scroll_box(&format!("Hosts of {key}"), &hosts_table(channel))) }
        }
    }
}

/// The hosts of a channel, those that are behind first.
fn hosts_table(channel: &PulledChannel) -> Markup {
    let now = Timestamp::now();
    let mut pulls: Vec<&Pull> = channel.pulls.iter().collect();
    pulls.sort_by_key(|pull| !channel.is_behind(pull));
    html! {
        table {
            thead { tr { th scope="col" { "host" } th scope="col" { "table" } th scope="col" { "state" } th scope="col" { "pulled" } } }
            tbody {
                @for pull in pulls.iter().take(LISTED) {
                    tr {
                        th scope="row" { (pull.client) }
                        td { (table_link(&pull.digest)) }
                        td { @if channel.is_behind(pull) { strong { "behind" } } @else { "current" } }
                        td { (age_element(pull.at, now)) }
                    }
                }
            }
        }
        @if pulls.len() > LISTED { p { "And " (pulls.len() - LISTED) " others." } }
    }
}
