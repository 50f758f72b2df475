//! A report as one HTML page with figures, which loads nothing and runs no script.
//!
//! The size of the page is bounded: figures and tables show what has most at stake, and the page says what was left
//! out. `maud` escapes texts from outside.
//!
//! A page has one section for each collective and one file here for each kind of figure. Figures define what is drawn,
//! `plot.rs` and `scale.rs` how. A content security policy forbids the page to load anything.

mod about;
mod blocks;
mod collective;
mod figure;
mod group;
mod guidelines;
mod kept;
mod legend;
mod map;
mod overview;
mod palette;
mod picture;
mod plot;
mod scale;
mod scaling;
mod sizes;
mod speedups;

pub use about::inline_code_html;
pub use map::render_maps;
pub use plot::render_times;
pub use scale::Quantity;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use printable::Plain;

use crate::markdown::TABLE_ALONE;
use crate::text::one_line;
use crate::view::{Basis, View};
use group::{Group, group_by_collective};
use picture::pattern_svg;

const STYLE: &str = include_str!("style.css");

/// The style sheet for a page that shows [`render_figures`]. It uses the colours `--ground`, `--ink`, `--quiet` and
/// `--line`, which the page must set for both colour schemes.
pub const FIGURE_STYLE: &str = concat!(include_str!("figures.css"), include_str!("picture.css"));

/// The content security policy: only the page's own style is allowed.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Renders a report as one HTML file.
pub fn render_html(view: &View) -> String {
    let groups = group_by_collective(view);
    let title = format!("colltune report: {}", view.name);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(FIGURE_STYLE)) }
            }
            body {
                (pattern_svg())
                (page_header(view))
                (page_contents(view, &groups))
                main {
                    @if !view.provenance.warnings.is_empty() {
                        (page_section("warnings", "Before you rely on this", &about::warnings_list(view)))
                    }
                    (page_section("summary", "In short", &overview::overview_content(view, &groups)))
                    (page_section("deploying", "What to do", &overview::deploying_content(view)))
                    @for group in &groups {
                        @let name = group.collective.name();
                        (page_section(name, name, &collective::collective_content(view, group)))
                    }
                    (page_section("guidelines", "Performance guidelines", &guidelines::guidelines_content(view)))
                    @if !view.pairs.is_empty() {
                        (page_section("pairs", "Against the library's own algorithms", &about::against_library(view)))
                    }
                    (page_section("machine", "Machine parameters", &about::machine_content(view)))
                    (page_section("failures", "Failures", &about::failures_content(view)))
                    (page_section("measuring", "Environment and provenance", &about::measuring_content(view)))
                }
            }
        }
    };
    Plain(page.into_string()).to_string()
}

/// The parts of a report for use in another page: warnings, gains, and every collective's decision maps, figures and
/// rules, as sections with headings of the second level. They need [`FIGURE_STYLE`], and contain no style or script.
pub fn render_figures(view: &View) -> Markup {
    let groups = group_by_collective(view);
    html! {
        (pattern_svg())
        @if !view.provenance.warnings.is_empty() {
            (page_section("warnings", "Before you rely on this", &about::warnings_list(view)))
        }
        (page_section("summary", "In short", &overview::overview_content(view, &groups)))
        @for group in &groups {
            @let name = group.collective.name();
            (page_section(name, name, &collective::collective_content(view, group)))
        }
    }
}

fn page_header(view: &View) -> Markup {
    let provenance = &view.provenance;
    html! {
        header {
            h1 { (view.name) }
            p {
                "Collectives of " strong { (provenance.library) }
                @if !provenance.hosts.is_empty() {
                    " on " (one_line(&provenance.hosts.join(", "))) ", " (provenance.cpu)
                }
                ", " (provenance.date) ", colltune " (provenance.colltune) "."
            }
            @if view.basis == Basis::TableAlone { p.warning { (TABLE_ALONE) } }
        }
    }
}

fn page_contents(view: &View, groups: &[Group<'_>]) -> Markup {
    let entry = |id: &str, name: &str| html! { li { a href=(format!("#{id}")) { (name) } } };
    html! {
        nav aria-label="Contents" {
            ul {
                @if !view.provenance.warnings.is_empty() { (entry("warnings", "Warnings")) }
                (entry("summary", "In short"))
                (entry("deploying", "What to do"))
                @for group in groups {
                    @let name = group.collective.name();
                    (entry(name, name))
                }
                (entry("guidelines", "Guidelines"))
                @if !view.pairs.is_empty() { (entry("pairs", "Against the library")) }
                (entry("machine", "Machine"))
                (entry("failures", "Failures"))
                (entry("measuring", "Provenance"))
            }
        }
    }
}

fn page_section(id: &str, name: &str, content: &Markup) -> Markup {
    let head = format!("{id}-head");
    html! {
        section id=(id) aria-labelledby=(head) {
            h2 id=(head) { (name) }
            (content)
        }
    }
}
