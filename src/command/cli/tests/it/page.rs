//! The report as a browser shows it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::browser::pages::{WIDTHS, overflow};
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

/// The contrast of texts in a map's fields with the fields, the worst, and of a page's text with the page.
const CONTRASTS: &str = "
    const parts = colour => colour.match(/[0-9.]+/g).slice(0, 3).map(Number);
    const light = colour => {
        const [r, g, b] = parts(colour).map(part => part / 255)
            .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (a, b) => {
        const [low, high] = [light(a), light(b)].sort((a, b) => a - b);
        return (high + 0.05) / (low + 0.05);
    };
    const style = element => getComputedStyle(element);
    const fields = [...document.querySelectorAll('svg.map > g:not(.ruled, .alone)')].filter(g => g.querySelector('.field'));
    const worst = fields.map(g => contrast(style(g.querySelector('.key')).fill, style(g.querySelector('.field')).fill));
    return [Math.min(...worst), contrast(style(document.body).color, style(document.body).backgroundColor)];
";

/// The page fits a desk and a phone in both colour schemes, and the texts of its pictures can be read there.
#[track_caller]
fn assert_readable(browser: &Browser, figures: &[&str]) {
    for width in WIDTHS {
        let grounds = ["light", "dark"].map(|scheme| {
            browser.show_as(width, scheme);
            assert_eq!(overflow(browser, width), None, "{width} wide, {scheme}");
            let contrasts = browser.evaluate(CONTRASTS);
            for contrast in contrasts.as_array().unwrap() {
                assert!(contrast.as_f64().unwrap() > 4.0, "{scheme}: {contrasts}");
            }
            browser.evaluate("return getComputedStyle(document.body).backgroundColor")
        });
        assert_ne!(grounds[0], grounds[1], "{width} wide");
        for figure in figures {
            // The height of the least text, in pixels of the window.
            let least = format!(
                "const texts = [...document.querySelectorAll('{figure} svg text')];
                return Math.min(...texts.map(text => text.getBoundingClientRect().height))"
            );
            let least = browser.evaluate(&least).as_f64().unwrap();
            assert!(least > 9.0, "{figure}, {width} wide: {least}");
        }
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
    assert_readable(&browser, &["#allreduce-map-2", "#allreduce-time-1x2"]);
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
    let machine =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tuning/machines/fat-tree.yaml");
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
    assert_readable(&browser, &["#bcast-map-1", "#bcast-blocks-4x1-1048576"]);
}
