//! The frame of all pages: head and navigation.

use axum::response::Html;
use maud::{DOCTYPE, Markup, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use printable::Plain;
use service::Scope;

use super::assets;
use crate::Visitor;

/// A page without its content.
pub(super) struct Frame<'a> {
    /// The title, which is also the heading of the first level.
    title: &'a str,
    visitor: Option<&'a Visitor>,
    /// The address of the page's entry in the navigation; empty if it has none.
    place: &'a str,
    /// The address of the events that trigger a refresh of the page's parts marked `data-live`.
    events: Option<&'a str>,
}

/// The address of the feed of all events.
pub(super) const EVENTS: Option<&str> = Some("/api/v1/events");

const PLACES: [(&str, &str); 10] = [
    ("/", "Overview"),
    ("/queue", "Queue"),
    ("/schedules", "Schedules"),
    ("/campaigns", "Campaigns"),
    ("/tables", "Tables"),
    ("/channels", "Channels"),
    ("/trends", "Trends"),
    ("/findings", "Findings"),
    ("/fleet", "Fleet"),
    ("/usage", "Usage"),
];
/// The entries of the navigation for administrators.
const ADMIN_PLACES: [(&str, &str); 3] = [
    ("/tokens", "Tokens"),
    ("/webhooks", "Webhooks"),
    ("/audit", "Audit"),
];

impl<'a> Frame<'a> {
    pub(super) fn new(title: &'a str, visitor: Option<&'a Visitor>, place: &'a str) -> Self {
        Self {
            title,
            visitor,
            place,
            events: None,
        }
    }

    /// The page with parts that these events refresh.
    pub(super) fn with_live_events(self, events: Option<&'a str>) -> Self {
        Self { events, ..self }
    }

    pub(super) fn render_html(&self, content: &Markup) -> Html<String> {
        let admin = self
            .visitor
            .is_some_and(|visitor| visitor.actor.has_scope(Scope::Admin, None));
        // Only visitors who may read about all machines may listen to all events.
        let reads_all = self.visitor.is_some_and(|visitor| visitor.may_read(None));
        let events = self
            .events
            .filter(|events| reads_all || Some(*events) != EVENTS);
        let of_admin = if admin { &ADMIN_PLACES[..] } else { &[] };
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " – colltune" }
                    link rel="stylesheet" href=(assets::versioned_address("style.css"));
                    link rel="icon" type="image/svg+xml" href=(assets::versioned_address("icon.svg"));
                    @if events.is_some() { script src=(assets::versioned_address("refresh.js")) defer {} }
                }
                body data-events=[events] {
                    a.skip href="#content" { "Skip to the content" }
                    header.top {
                        nav aria-label="Pages" {
                            ul {
                                @for (address, name) in PLACES.iter().chain(of_admin) {
                                    li { a href=(address) aria-current=[(*address == self.place).then_some("page")] { (name) } }
                                }
                            }
                        }
                        (self.visitor_box())
                    }
                    main id="content" tabindex="-1" {
                        h1 { (self.title) }
                        (content)
                    }
                    footer { p { "colltune " (env!("CARGO_PKG_VERSION")) " · times are UTC · " a href="/api/v1/openapi.json" { "API" } } }
                }
            }
        };
        // Markup stays as it is: it has no unprintable characters of its own.
        Html(Plain(page.into_string()).to_string())
    }

    fn visitor_box(&self) -> Markup {
        html! {
            @if let Some(visitor) = self.visitor {
                div.person {
                    @if visitor.is_anonymous() { a href="/login" { "Log in" } }
                    @else { span { "User: " strong { (visitor.actor.name) } } }
                    @if visitor.form_token.is_some() {
                        form method="post" action="/logout" {
                            (form_token(visitor))
                            button.quiet { "Log out" }
                        }
                    }
                }
            }
        }
    }
}

/// The hidden field that proves that a form comes from this visitor's own page.
pub(super) fn form_token(visitor: &Visitor) -> Markup {
    html! {
        @if let Some(token) = &visitor.form_token { input type="hidden" name="form_token" value=(token); }
    }
}

/// Characters that need no escaping in a part of a path or in a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Escapes a text for a part of a path or a query.
pub(super) fn encode_component(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// Escapes a path, keeping its `/`.
pub(super) fn encode_path(path: &str) -> String {
    let parts: Vec<String> = path.split('/').map(encode_component).collect();
    parts.join("/")
}

/// An address with a query of the non-empty fields.
pub(super) fn with_query(path: &str, fields: &[(&str, &str)]) -> String {
    let given = fields.iter().filter(|(_, value)| !value.is_empty());
    let query: Vec<String> = given
        .map(|(name, value)| format!("{name}={}", encode_component(value)))
        .collect();
    if query.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", query.join("&"))
    }
}
