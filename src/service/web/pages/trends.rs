//! Trends: the series, and the line of one of them with epochs, changes and releases.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use service::{
    FindingNote, FindingState, FoundChange, MeasuredNight, Release, ReleaseAction, Service,
    ServiceError, Slice, Trend, TrendQuantity, TrendSeries,
};
use vocabulary::units::format_seconds;

use super::elements::{
    channel_address, pager_links, scroll_box, table_link, task_link, time_element,
};
use super::findings::finding_address;
use super::forms::Reader;
use super::layout::{Frame, with_query};
use super::levels::levels_section;
use super::tables::readable_machine_names;
use crate::api::find_visible_trend;
use crate::extract::{Path, Query};
use crate::{App, Problem};

/// The newest points that a page lists.
const LISTED: usize = 50;
/// The newest releases of each channel that a page marks.
const MARKED: u32 = 20;
/// The size of the figure, in its own units.
const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 240.0;
/// The distance of points from the figure's edges.
const MARGIN: f64 = 24.0;

#[derive(Debug, Default, Deserialize)]
pub(super) struct TrendsQuery {
    #[serde(default)]
    machine: String,
    #[serde(default)]
    before: Option<u64>,
}

pub(super) fn series_address(id: u64) -> String {
    format!("/trends/{id}")
}

pub(super) async fn list_series(
    State(app): State<App>,
    Reader(visitor): Reader,
    Query(asked): Query<TrendsQuery>,
) -> Result<Response, Problem> {
    let machine = Some(asked.machine.clone()).filter(|name| !name.is_empty());
    let slice = Slice {
        before: asked.before,
        limit: None,
    };
    let reader = visitor.clone();
    let (levels, series, machines) = app
        .run_reading(move |service| {
            let readable = reader.readable_machines();
            let levels = service.list_levels(readable.as_deref(), machine.as_deref())?;
            let series = service.list_series(readable.as_deref(), machine.as_deref(), slice)?;
            Ok((levels, series, readable_machine_names(service, &reader)))
        })
        .await?;
    let frame = Frame::new("Trends", Some(&visitor), "/trends");
    let content = html! {
        form.row method="get" action="/trends" role="search" aria-label="Filter the trends" {
            div {
                label for="machine" { "Machine" }
                select #machine name="machine" {
                    option value="" { "any" }
                    @for name in &machines { option value=(name) selected[*name == asked.machine] { (name) } }
                }
            }
            button.quiet { "Filter" }
        }
        @if asked.before.is_none() { (levels_section(&levels)) }
        @if series.items.is_empty() {
            p { "No check or validation of a table has measured anything yet." }
        } @else {
            h2 { "Series" }
            (scroll_box("Trends", &series_table(&series.items)))
        }
        (pager_links(&with_query("/trends", &[("machine", &asked.machine)]), asked.before, series.next))
    };
    Ok(frame.render_html(&content).into_response())
}

fn series_table(series: &[TrendSeries]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "series" } th scope="col" { "machine" } th scope="col" { "library" }
                th scope="col" { "measured by way of" } } }
            tbody {
                @for one in series {
                    tr {
                        th scope="row" { a href=(series_address(one.id)) { (one.describe()) } }
                        td { (one.machine) }
                        td { (one.library) }
                        td { (one.via) }
                    }
                }
            }
        }
    }
}

pub(super) async fn show_trend(
    State(app): State<App>,
    Reader(visitor): Reader,
    Path(id): Path<u64>,
) -> Result<Response, Problem> {
    let trend = find_visible_trend(&app, &visitor, id).await?;
    let (trend, changes, releases) = app
        .run_reading(move |service| {
            let changes = read_changes(service, &trend)?;
            let releases = read_releases(service, &trend)?;
            Ok((trend, changes, releases))
        })
        .await?;
    let title = trend.series.describe();
    let frame = Frame::new(&title, Some(&visitor), "/trends");
    let content = html! {
        p { "On " (trend.series.machine) " with " (trend.series.library) ": the time of the table's choice divided by the \
             default's, from one check or validation to the next." }
        @if let Some(task) = trend.suspected_since {
            p.warning { "The newest points since " (task_link(task)) " suggest another level; further ones will show it." }
        }
        (draw_trend(&trend, &changes, &releases))
        (epochs_section(&trend))
        (changes_section(&changes))
        (releases_section(&releases))
        section aria-labelledby="points-head" {
            h2 #points-head { "Newest points" }
            (scroll_box("Newest points", &points_table(&trend.points)))
        }
    };
    Ok(frame.render_html(&content).into_response())
}

/// A change of the series, with its finding's number, state and newest decision.
struct SeriesChange {
    finding: u64,
    state: FindingState,
    decision: Option<FindingNote>,
    change: FoundChange,
}

fn read_changes(service: &Service, trend: &Trend) -> Result<Vec<SeriesChange>, ServiceError> {
    let mut of_series = Vec::new();
    for id in &trend.findings {
        let finding = service.read_finding(*id)?;
        let decision = finding.notes.into_iter().next();
        let changes = finding.changes.into_iter();
        let own = changes.filter(|change| change.series == trend.series.id);
        of_series.extend(own.map(|change| SeriesChange {
            finding: *id,
            state: finding.state,
            decision: decision.clone(),
            change,
        }));
    }
    Ok(of_series)
}

/// The releases to the machine's channels of the libraries that were measured, since the first point, newest first.
fn read_releases(service: &Service, trend: &Trend) -> Result<Vec<Release>, ServiceError> {
    let Some(first) = trend.points.first() else {
        return Ok(Vec::new());
    };
    let slice = Slice {
        before: None,
        limit: Some(MARKED),
    };
    let mut releases = Vec::new();
    for newest in service.newest_releases()? {
        let key = &newest.key;
        let is_measured = |library: &str| trend.epochs.iter().any(|of| of.library == library);
        if key.machine == trend.series.machine && is_measured(&key.library) {
            releases.extend(service.list_releases(key, slice)?.items);
        }
    }
    releases.retain(|release| release.at >= first.at);
    releases.sort_by_key(|release| Reverse(release.sequence));
    Ok(releases)
}

/// The line of the ratio: points at equal distances, since nights may be left out, with a line where an epoch or a new
/// level begins, and a triangle above the first point after a release. Points of a busy machine are hollow.
fn draw_trend(trend: &Trend, changes: &[SeriesChange], releases: &[Release]) -> Markup {
    let points = &trend.points;
    let ratios: Vec<f64> = points.iter().map(ratio).collect();
    let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = ratios.iter().copied().fold(0.0, f64::max);
    let span = (highest - lowest).max(0.02 * highest);
    let step = (WIDTH - 2.0 * MARGIN) / points.len().saturating_sub(1).max(1) as f64;
    let x = |index: usize| format!("{:.1}", MARGIN + step * index as f64);
    let y = |value: f64| {
        let share = (value - lowest) / span;
        format!("{:.1}", HEIGHT - MARGIN - share * (HEIGHT - 2.0 * MARGIN))
    };
    let new_epochs: Vec<usize> = (1..points.len())
        .filter(|index| points[*index].epoch != points[index - 1].epoch)
        .collect();
    let of_ratio = changes
        .iter()
        .filter(|of| of.change.quantity == TrendQuantity::Ratio);
    let first_since = |time: Timestamp| points.iter().position(|point| point.at >= time);
    let new_levels: Vec<usize> = of_ratio
        .filter_map(|of| first_since(of.change.began_at))
        .collect();
    // Several releases between two points are one triangle.
    let released = releases.iter().filter_map(|of| first_since(of.at));
    let released: BTreeSet<usize> = released.collect();
    let label = format!(
        "The ratio at {} points, from {lowest:.3} to {highest:.3}; new epochs: {}; new levels: {}; points after a \
         release: {}",
        points.len(),
        new_epochs.len(),
        new_levels.len(),
        released.len()
    );
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) width="100%" role="img" aria-label=(label) {
            text x="4" y="14" fill="currentColor" font-size="12" { (format!("{highest:.3}")) }
            text x="4" y=(HEIGHT - 6.0) fill="currentColor" font-size="12" { (format!("{lowest:.3}")) }
            @for index in &new_epochs {
                line x1=(x(*index)) x2=(x(*index)) y1="18" y2=(HEIGHT - 18.0) stroke="currentColor" stroke-dasharray="2 4" {}
                text x=(x(*index)) y=(HEIGHT - 6.0) fill="currentColor" font-size="12" text-anchor="middle" { "epoch" }
            }
            @for index in &new_levels {
                line x1=(x(*index)) x2=(x(*index)) y1="18" y2=(HEIGHT - 18.0) stroke="currentColor" stroke-width="2" {}
                text x=(x(*index)) y="14" fill="currentColor" font-size="12" text-anchor="middle" { "change" }
            }
            @for index in &released {
                path d=(format!("M {} 18 l 5 8 h -10 z", x(*index))) fill="currentColor" {}
            }
            @for (index, point) in points.iter().enumerate() {
                circle cx=(x(index)) cy=(y(ratio(point))) r="3" stroke="currentColor"
                    fill=(if point.busy { "none" } else { "currentColor" }) {}
            }
        }
    }
}

fn ratio(point: &MeasuredNight) -> f64 {
    point.seconds / point.default_seconds
}

fn epochs_section(trend: &Trend) -> Markup {
    html! {
        section aria-labelledby="epochs-head" {
            h2 #epochs-head { "Epochs" }
            p { "Points are compared within an epoch only." }
            ul.plain {
                @for epoch in &trend.epochs {
                    li {
                        "Since " (time_element(epoch.began_at)) ": " (epoch.library)
                        @if !epoch.measured.cpu.is_empty() { ", " (epoch.measured.cpu) }
                        @if !epoch.measured.kernel.is_empty() { ", kernel " (epoch.measured.kernel) }
                        @if !epoch.measured.transports.is_empty() { ", " (epoch.measured.transports.join(", ")) }
                    }
                }
            }
        }
    }
}

fn changes_section(changes: &[SeriesChange]) -> Markup {
    html! {
        @if !changes.is_empty() {
            section aria-labelledby="changes-head" {
                h2 #changes-head { "Changes" }
                ul.plain {
                    @for SeriesChange { finding, state, decision, change } in changes {
                        li {
                            "Since " (time_element(change.began_at)) " the "
                            @match change.quantity {
                                TrendQuantity::Ratio => { "ratio is " (format!("{:.3}", change.after)) ", before " (format!("{:.3}", change.before)) }
                                TrendQuantity::Default => {
                                    "default takes " (format_seconds(change.after)) ", before " (format_seconds(change.before))
                                }
                            }
                            ": " a href=(finding_address(*finding)) { "finding " (finding) } ", " strong { (state) }
                            @if let Some(decision) = decision {
                                " by " (decision.actor) ", " (time_element(decision.at)) ": " (decision.reason)
                            }
                        }
                    }
                }
            }
        }
    }
}

fn releases_section(releases: &[Release]) -> Markup {
    html! {
        @if !releases.is_empty() {
            section aria-labelledby="releases-head" {
                h2 #releases-head { "Releases" }
                p { "The newest releases to channels of the machine and its libraries; triangles mark them in the figure." }
                ul.plain {
                    @for release in releases {
                        li {
                            (time_element(release.at)) ", "
                            a href=(channel_address(&release.key)) { (release.key.channel) " of " (release.key.library) }
                            ": " (action_noun(release.action)) " "
                            @if release.action != ReleaseAction::Withdraw { (table_link(&release.digest)) " " }
                            "by " (release.actor)
                            @if !release.reason.is_empty() { ": " (release.reason) }
                        }
                    }
                }
            }
        }
    }
}

fn action_noun(action: ReleaseAction) -> &'static str {
    match action {
        ReleaseAction::Release => "release of",
        ReleaseAction::Rollback => "rollback to",
        ReleaseAction::Withdraw => "withdrawal",
    }
}

fn points_table(points: &[MeasuredNight]) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "when" } th scope="col" { "by" } th.number scope="col" { "ratio" }
                th.number scope="col" { "table's choice" } th.number scope="col" { "default" } th scope="col" { "remark" } } }
            tbody {
                @for point in points.iter().rev().take(LISTED) {
                    tr {
                        th scope="row" { (time_element(point.at)) }
                        td { (task_link(point.task)) }
                        td.number { (format!("{:.3}", ratio(point))) }
                        td.number { (format_seconds(point.seconds)) }
                        td.number { (format_seconds(point.default_seconds)) }
                        td { @if point.busy { "other work was running; not compared" } }
                    }
                }
            }
        }
    }
}
