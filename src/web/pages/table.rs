//! The page of a table: its origin, decisions, validations and release.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use maud::{Markup, html};
use report::View;
use serde::Deserialize;
use service::{Digest, Scope, Service, ServiceError, Slice, Validation, Version};
use table::{Deployment, Table};

use super::elements::{refusal, table_address, task_link, when, wide};
use super::forms::{Fields, Reader};
use super::layout::{Frame, form_token};
use super::overview::speedup;
use super::release::{self, Place};
use super::{submit, tables};
use crate::extract::{Path, Query};
use crate::{App, Problem, Visitor};

/// The most tables that are offered for a comparison.
const MOST_OTHERS: u32 = 50;

/// The query.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Asked {
    /// The machine of the releases and validations to show; by default the first one that has the table.
    #[serde(default)]
    pub(super) machine: String,
    /// The channel of the release form; `candidate` by default.
    #[serde(default)]
    pub(super) channel: String,
}

#[derive(Debug)]
struct Shown {
    digest: Digest,
    name: String,
    about: Vec<(&'static str, String)>,
    figures: String,
    versions: Vec<Version>,
    validations: Vec<Validation>,
    deployments: Vec<Deployment>,
    others: Vec<Version>,
    /// The paths of the machine's campaigns, with which the table can be measured.
    campaigns: Vec<String>,
    place: Option<Place>,
}

impl Shown {
    fn read(
        service: &Service,
        digest: Digest,
        asked: &Asked,
        reader: &Visitor,
    ) -> Result<Self, ServiceError> {
        let versions = reader.versions_of(service, &digest)?;
        let table = service.table(&digest)?;
        let wanted = versions
            .iter()
            .find(|version| version.machine == asked.machine);
        let version = wanted.or(versions.first()).cloned();
        let (mut validations, mut others, mut place) = (Vec::new(), Vec::new(), None);
        let mut campaigns = Vec::new();
        if let Some(version) = version {
            let slice = Slice {
                before: None,
                limit: Some(MOST_OTHERS),
            };
            validations = service.validations(&version.machine, &digest)?;
            others = service.versions(Some(&version.machine), None, slice)?.items;
            others.retain(|other| other.digest != digest);
            let of_machine = super::campaigns::readable(service, reader)?
                .into_iter()
                .filter(|entry| entry.problem.is_none())
                .filter(|entry| entry.machines.contains(&version.machine));
            campaigns = of_machine.map(|entry| entry.path).collect();
            place = Some(Place::read(service, &digest, version, &asked.channel)?);
        }
        Ok(Self {
            name: table.name.clone(),
            deployments: deployments(&table),
            about: about(&table),
            figures: report::figures(&View::of_table(&table)).into_string(),
            digest,
            versions,
            validations,
            others,
            campaigns,
            place,
        })
    }
}

/// The deployments that can be validated, first those that a release activates.
fn deployments(table: &Table) -> Vec<Deployment> {
    let activated = service::activated(table);
    let mut deployments = Deployment::ALL.to_vec();
    deployments.sort_by_key(|deployment| !activated.contains(deployment));
    deployments
}

/// The provenance of a table.
fn about(table: &Table) -> Vec<(&'static str, String)> {
    let of = &table.provenance;
    vec![
        ("MPI library", of.library.to_string()),
        ("CPU", of.cpu.clone()),
        ("Hosts", of.hosts.join(", ")),
        ("Measured until", of.date.clone()),
        ("Launches", of.launches.to_string()),
        ("Made by", format!("colltune {}", of.colltune)),
        (
            "Least confidence of deployed rules",
            of.min_confidence.to_string(),
        ),
    ]
}

pub(super) async fn show(
    State(app): State<App>,
    Reader(visitor): Reader,
    Path(digest): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Response, Problem> {
    page(
        &app,
        &visitor,
        parsed(&digest)?,
        asked,
        &Fields::default(),
        None,
    )
    .await
}

/// Parses the digest of an address; 404 if it is invalid.
pub(super) fn parsed(digest: &str) -> Result<Digest, Problem> {
    digest
        .parse()
        .map_err(|_| Problem::not_found("table", digest))
}

/// The page, with the fields and the reason of a refused release form.
pub(super) async fn page(
    app: &App,
    visitor: &Visitor,
    digest: Digest,
    asked: Asked,
    fields: &Fields,
    refused: Option<&Problem>,
) -> Result<Response, Problem> {
    let reader = visitor.clone();
    let shown = app
        .ask(move |service| Shown::read(service, digest, &asked, &reader))
        .await?;
    let title = format!("Table {}", shown.name);
    let frame = Frame::new(&title, Some(visitor), "/tables");
    let status = refused.map_or(StatusCode::OK, |problem| problem.status);
    Ok((
        status,
        frame.html(&content(visitor, &shown, fields, refused)),
    )
        .into_response())
}

fn content(visitor: &Visitor, shown: &Shown, fields: &Fields, refused: Option<&Problem>) -> Markup {
    html! {
        (refusal(refused))
        @if refused.is_some() { p { a href="#release" { "To the form" } } }
        nav.contents aria-label="Parts of the page" {
            ul {
                li { a href="#validations" { "Validations" } }
                li { a href="#release" { "Release" } }
                li { a href="#summary" { "What it gains" } }
                li { a href="#exports" { "Exports" } }
                li { a href="#compare" { "Compare" } }
            }
        }
        dl {
            dt { "Digest" } dd { code { (shown.digest) } }
            @for (name, value) in &shown.about {
                @if !value.is_empty() { dt { (name) } dd { (value) } }
            }
        }
        @if !shown.versions.is_empty() { (wide("Origin", &tables::rows(&shown.versions))) }
        (validations(visitor, shown))
        @if let Some(place) = &shown.place { (release::section(visitor, &shown.digest, place, &shown.versions, fields)) }
        div.report { (maud::PreEscaped(&shown.figures)) }
        (exports(&shown.digest))
        (compare(shown))
    }
}

fn validations(visitor: &Visitor, shown: &Shown) -> Markup {
    let now = Timestamp::now();
    html! {
        section #validations aria-labelledby="validations-head" {
            h2 #validations-head { "Validations" }
            @if shown.validations.is_empty() {
                p { "None: this table has not been measured against the library's default." }
            } @else {
                (wide("Validations", &html! {
                    table {
                        thead { tr { th scope="col" { "task" } th scope="col" { "deployment" } th scope="col" { "ended" }
                            th.number scope="col" { "points" } th.number scope="col" { "not judged" } th.number scope="col" { "faster" } th.number scope="col" { "slower" } th scope="col" { "overall" } } }
                        tbody {
                            @for found in &shown.validations {
                                tr {
                                    th scope="row" { (task_link(found.task)) }
                                    td { (found.deployment) }
                                    td { (when(found.at)) }
                                    td.number { (found.points) }
                                    td.number { (found.unjudged) }
                                    td.number { (found.faster) }
                                    td.number { (found.slower) }
                                    td { (speedup(Some(found), now)) }
                                }
                            }
                        }
                    }
                }))
            }
            @if let Some(place) = &shown.place {
                @if visitor.actor.may(Scope::Submit, Some(&place.key.machine)) && !visitor.is_anonymous() {
                    form.row method="post" action="/queue" {
                        (form_token(visitor))
                        (submit::once(&Fields::default()))
                        input type="hidden" name="machine" value=(place.key.machine);
                        input type="hidden" name="table" value=(shown.digest);
                        div {
                            label for="deployment" { "Deployment" }
                            select #deployment name="deployment" {
                                @for deployment in &shown.deployments { option value=(deployment) { (deployment) } }
                            }
                        }
                        div {
                            label for="measured-with" { "Campaign" }
                            select #measured-with name="campaign" {
                                option value="" { "the one that made the table" }
                                @for path in &shown.campaigns { option value=(path) { (path) } }
                            }
                        }
                        button.quiet name="kind" value="validate" { "Validate on " (place.key.machine) }
                        button.quiet name="kind" value="check" { "Check on " (place.key.machine) }
                    }
                }
            }
        }
    }
}

fn exports(digest: &Digest) -> Markup {
    html! {
        section #exports aria-labelledby="exports-head" {
            h2 #exports-head { "Exports" }
            ul {
                li { a href=(format!("/api/v1/blobs/{digest}")) download=(format!("{}.yaml", digest.short())) { "the table itself" } }
                @for format in export::FORMATS {
                    li {
                        a href=(format!("/api/v1/tables/{digest}/export/{}", format.name()))
                            download=(format!("{}.{}", digest.short(), format.suffix())) { (format.name()) }
                        " (" (format.releases()) ")"
                    }
                }
            }
        }
    }
}

fn compare(shown: &Shown) -> Markup {
    let parent = shown.place.as_ref().and_then(|place| place.parent.as_ref());
    html! {
        section #compare aria-labelledby="compare-head" {
            h2 #compare-head { "Compare" }
            @if shown.others.is_empty() {
                p { "The machine has no other table." }
            } @else {
                form.row method="get" action=(format!("{}/diff", table_address(&shown.digest))) {
                    div {
                        label for="to" { "With the table" }
                        select #to name="to" {
                            @for other in &shown.others {
                                option value=(other.digest) selected[Some(&other.digest) == parent] {
                                    (other.name) " " (other.digest.short()) ", " (other.library) ", "
                                    (other.added_at.strftime("%Y-%m-%d").to_string())
                                }
                            }
                        }
                    }
                    button.quiet { "Show what changed" }
                }
            }
        }
    }
}
