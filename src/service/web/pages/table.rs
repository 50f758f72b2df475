//! The page of a table: its origin, decisions, validations and release.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use maud::{Markup, html};
use serde::Deserialize;
use service::{Digest, Scope, Service, ServiceError, Slice, Validation, Version};

use super::elements::{
    markup_from_bytes, refusal_box, scroll_box, table_address, task_link, time_element,
};
use super::forms::{Fields, Reader};
use super::layout::{Frame, form_token};
use super::overview::validation_summary;
use super::release::{self, ReleaseTarget};
use super::{submit, tables};
use crate::extract::{Path, Query};
use crate::facts::Facts;
use crate::results::TableOutput;
use crate::{App, Problem, Visitor};

/// The most tables that are offered for a comparison.
const MOST_OTHERS: u32 = 50;

/// The query.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct TableQuery {
    /// The machine of the releases and validations to show; by default the first one that has the table.
    #[serde(default)]
    pub(super) machine: String,
    /// The channel of the release form; `candidate` by default.
    #[serde(default)]
    pub(super) channel: String,
}

#[derive(Debug)]
struct ShownTable {
    digest: Digest,
    facts: Facts,
    figures: Markup,
    uses: MachineUses,
}

/// What the service knows about a table beside its text.
#[derive(Debug, Default)]
struct MachineUses {
    versions: Vec<Version>,
    validations: Vec<Validation>,
    others: Vec<Version>,
    /// The paths of the machine's campaigns, with which the table can be measured.
    campaigns: Vec<String>,
    place: Option<ReleaseTarget>,
}

impl MachineUses {
    fn read_for_machine(
        service: &Service,
        digest: &Digest,
        asked: &TableQuery,
        versions: Vec<Version>,
        reader: &Visitor,
    ) -> Result<Self, ServiceError> {
        let wanted = versions
            .iter()
            .find(|version| version.machine == asked.machine);
        let Some(version) = wanted.or(versions.first()).cloned() else {
            return Ok(Self::default());
        };
        let slice = Slice {
            before: None,
            limit: Some(MOST_OTHERS),
        };
        let validations = service.list_validations(&version.machine, digest)?;
        let mut others = service
            .list_versions(Some(&version.machine), None, slice)?
            .items;
        others.retain(|other| other.digest != *digest);
        let of_machine = super::campaigns::readable_campaigns(service, reader)?
            .into_iter()
            .filter(|entry| entry.problem.is_none())
            .filter(|entry| entry.machines.contains(&version.machine));
        let campaigns = of_machine.map(|entry| entry.path).collect();
        Ok(Self {
            versions,
            validations,
            others,
            campaigns,
            place: Some(ReleaseTarget::read_current(
                service,
                digest,
                version,
                &asked.channel,
            )?),
        })
    }
}

/// The provenance of a table.
fn provenance_rows(facts: &Facts) -> [(&'static str, String); 8] {
    [
        ("MPI library", facts.library.clone()),
        ("CPU", facts.cpu.clone()),
        ("Hosts", facts.hosts.join(", ")),
        ("Measured until", facts.date.clone()),
        ("Launches", facts.launches.to_string()),
        ("Made by", format!("colltune {}", facts.colltune)),
        (
            "Least confidence of deployed rules",
            facts.min_confidence.clone(),
        ),
        ("Bits of sums", describe_numerics(facts)),
    ]
}

/// What the table promises about the bits of sums, and what that costs; empty if it promises nothing.
fn describe_numerics(facts: &Facts) -> String {
    if facts.numerics == "none" {
        return String::new();
    }
    let promise = format!("{}, among calls that colltune carries out", facts.numerics);
    let lines = std::iter::once(promise).chain(facts.numerics_costs.iter().cloned());
    lines.collect::<Vec<_>>().join("; ")
}

pub(super) async fn show_table(
    State(app): State<App>,
    Reader(visitor): Reader,
    Path(digest): Path<String>,
    Query(asked): Query<TableQuery>,
) -> Result<Response, Problem> {
    table_page(
        &app,
        &visitor,
        parse_digest(&digest)?,
        asked,
        &Fields::default(),
        None,
    )
    .await
}

/// Parses the digest of an address; 404 if it is invalid.
pub(super) fn parse_digest(digest: &str) -> Result<Digest, Problem> {
    digest
        .parse()
        .map_err(|_| Problem::not_found("table", digest))
}

/// The page, with the fields and the reason of a refused release form.
pub(super) async fn table_page(
    app: &App,
    visitor: &Visitor,
    digest: Digest,
    asked: TableQuery,
    fields: &Fields,
    refused: Option<&Problem>,
) -> Result<Response, Problem> {
    // Nothing about the table is read before it is known that the visitor may see it.
    let (reader, of) = (visitor.clone(), digest.clone());
    let versions = app.run_reading(move |service| reader.find_versions(service, &of));
    let versions = versions.await?;
    let facts = Facts::recall_or_read(app, &digest).await?;
    let figures = app
        .make_or_recall(TableOutput::Figures(digest.clone()))
        .await?;
    // The gates read tables.
    let (gate_reader, gate_digest) = (visitor.clone(), digest.clone());
    let uses = app.run_heavy(move |service| {
        MachineUses::read_for_machine(service, &gate_digest, &asked, versions, &gate_reader)
    });
    let shown = ShownTable {
        digest,
        facts,
        figures: markup_from_bytes(&figures),
        uses: uses.await?,
    };
    let title = format!("Table {}", shown.facts.name);
    let frame = Frame::new(&title, Some(visitor), "/tables");
    let status = refused.map_or(StatusCode::OK, |problem| problem.status);
    Ok((
        status,
        frame.render_html(&table_content(visitor, &shown, fields, refused)),
    )
        .into_response())
}

fn table_content(
    visitor: &Visitor,
    shown: &ShownTable,
    fields: &Fields,
    refused: Option<&Problem>,
) -> Markup {
    html! {
        (refusal_box(refused))
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
            @for (name, value) in provenance_rows(&shown.facts) {
                @if !value.is_empty() { dt { (name) } dd { (value) } }
            }
        }
        @if !shown.uses.versions.is_empty() { (scroll_box("Origin", &tables::versions_table(&shown.uses.versions))) }
        (validations_section(visitor, shown))
        @if let Some(place) = &shown.uses.place { (release::render_section(visitor, &shown.digest, place, &shown.uses.versions, fields)) }
        div.report { (shown.figures) }
        (exports_section(&shown.digest))
        (compare_section(shown))
    }
}

fn validations_section(visitor: &Visitor, shown: &ShownTable) -> Markup {
    let now = Timestamp::now();
    html! {
        section #validations aria-labelledby="validations-head" {
            h2 #validations-head { "Validations" }
            @if shown.uses.validations.is_empty() {
                p { "None: this table has not been measured against the library's default." }
            } @else {
                (scroll_box("Validations", &html! {
                    table {
                        thead { tr { th scope="col" { "task" } th scope="col" { "deployment" } th scope="col" { "ended" }
                            th.number scope="col" { "points" } th.number scope="col" { "not judged" } th.number scope="col" { "faster" } th.number scope="col" { "slower" } th scope="col" { "overall" } } }
                        tbody {
                            @for found in &shown.uses.validations {
                                tr {
                                    th scope="row" { (task_link(found.task)) }
                                    td { (found.deployment) }
                                    td { (time_element(found.at)) }
                                    td.number { (found.points) }
                                    td.number { (found.unjudged) }
                                    td.number { (found.faster) }
                                    td.number { (found.slower) }
                                    td { (validation_summary(Some(found), now)) }
                                }
                            }
                        }
                    }
                }))
            }
            @if let Some(place) = &shown.uses.place {
                @if visitor.actor.has_scope(Scope::Submit, Some(&place.key.machine)) && !visitor.is_anonymous() {
                    form.row method="post" action="/queue" {
                        (form_token(visitor))
                        (submit::idempotency_field(&Fields::default()))
                        input type="hidden" name="machine" value=(place.key.machine);
                        input type="hidden" name="table" value=(shown.digest);
                        div {
                            label for="deployment" { "Deployment" }
                            select #deployment name="deployment" {
                                @for deployment in &shown.facts.deployments { option value=(deployment) { (deployment) } }
                            }
                        }
                        div {
                            label for="measured-with" { "Campaign" }
                            select #measured-with name="campaign" {
                                option value="" { "the one that made the table" }
                                @for path in &shown.uses.campaigns { option value=(path) { (path) } }
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

fn exports_section(digest: &Digest) -> Markup {
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

fn compare_section(shown: &ShownTable) -> Markup {
    let parent = shown
        .uses
        .place
        .as_ref()
        .and_then(|place| place.parent.as_ref());
    html! {
        section #compare aria-labelledby="compare-head" {
            h2 #compare-head { "Compare" }
            @if shown.uses.others.is_empty() {
                p { "The machine has no other table." }
            } @else {
                form.row method="get" action=(format!("{}/diff", table_address(&shown.digest))) {
                    div {
                        label for="to" { "With the table" }
                        select #to name="to" {
                            @for other in &shown.uses.others {
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
