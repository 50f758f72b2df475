//! The report as a browser shows it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::chromium::Browser;
use crate::made;
use crate::run::Place;

const STORE: &str = ".colltune/made.db";

/// The values of an attribute.
fn attributes<'p>(page: &'p str, name: &str) -> BTreeSet<&'p str> {
    let start = format!(" {name}=\"");
    let values = page.split(&start).skip(1);
    values
        .filter_map(|rest| Some(rest.split_once('"')?.0))
        .collect()
}

/// A browser's parser finds no error in the whole page, and the page loads nothing.
#[track_caller]
fn check(browser: &Browser, place: &Place, page: &str, parts: &[&str]) {
    let address = format!("file://{}", place.path(page).display());
    browser.open(&address);
    browser.assert_quiet(&address);
    let dom = &browser.source();
    // In the parsed page every picture is still in a figure.
    let pictures = dom.matches("<svg").count();
    assert_eq!(pictures, dom.matches("<figure").count() + 1);
    for part in parts {
        assert!(dom.contains(part), "no {part}");
    }
    let ids = attributes(dom, "id");
    let links = attributes(dom, "href");
    assert!(links.len() > 5, "{links:?}");
    for link in links {
        let target = link.trim_start_matches('#');
        assert!(ids.contains(target), "{link} leads nowhere");
    }
}

#[test]
fn a_browser_shows_the_whole_page_and_loads_nothing() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let place = made::place();
    made::fail_a_candidate(&place.path(STORE));
    let args = ["report", STORE, "--format", "html", "-o", "page.html"];
    place.run(&args).good();
    let parts = [
        ">In short</h2>",
        ">What to do</h2>",
        ">allreduce</h2>",
        ">Time against size</h3>",
        " id=\"allreduce-map-2\"",
        " id=\"allreduce-time-1x2\"",
        ">Failures</h2>",
        "made up",
    ];
    check(&browser, &place, "page.html", &parts);
}

/// Part of a fat tree.
const CAMPAIGN: &str = "\
name: wide
launcher: {simulated: {machine: fat-tree.yaml}}
shapes: [2x1, 4x1]
collectives: [bcast]
sizes: [64, 64K, 1M]
strategy: exhaustive
candidates: {include: [bcast/binomial, bcast/chain]}
parameters: {block_bytes: [16K, 64K], predicted: false}
repetitions: {slice: 20ms}
budget: 10h
";

#[test]
fn a_browser_shows_what_tune_writes_with_every_kind_of_figure() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let place = Place::new();
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tuning/machines/fat-tree.yaml");
    place.write("fat-tree.yaml", fs::read(machine).unwrap());
    place.write("campaign.yaml", CAMPAIGN);
    let tuned = place.run(&["tune", "campaign.yaml"]);
    assert_eq!(tuned.code, Some(0), "{tuned:?}");
    let figures = [
        " id=\"bcast-map-1\"",
        " id=\"bcast-speedup-1\"",
        " id=\"bcast-time-4x1\"",
        " id=\"bcast-strong\"",
        " id=\"bcast-weak\"",
        " id=\"bcast-blocks-4x1-1048576\"",
        "measure on the real machine",
    ];
    check(&browser, &place, "reports/wide.html", &figures);
}
