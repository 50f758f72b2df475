//! The report as a browser shows it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use testkit::process;

use crate::made;
use crate::run::Place;

const STORE: &str = ".colltune/made.db";

/// How long a browser may take.
const PATIENCE: Duration = Duration::from_secs(90);

/// The browser's program, if it is installed.
fn chromium() -> Option<&'static str> {
    let runs = |name: &&str| {
        let ran = Command::new(name).arg("--version").output();
        ran.is_ok_and(|output| output.status.success())
    };
    let names = ["chromium", "chromium-browser", "google-chrome"];
    testkit::require("Chromium", names.into_iter().find(runs))
}

/// What the browser made of a page.
struct Rendered {
    dom: String,
    /// What it logged, the page's console included.
    log: String,
    /// Addresses that the page asked for.
    requests: BTreeSet<String>,
}

/// Opens a page of a place, and ends every process of the browser.
fn render(browser: &str, place: &Place, page: &str) -> Rendered {
    let mut command = Command::new(browser);
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ])
        .args([
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
        ])
        .args([
            "--enable-logging=stderr",
            "--v=0",
            "--virtual-time-budget=4000",
            "--dump-dom",
        ])
        // Not even the browser itself leaves this machine.
        .arg("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
        .arg(format!(
            "--user-data-dir={}",
            place.path("browser").display()
        ))
        .arg(format!(
            "--log-net-log={}",
            place.path("net.json").display()
        ))
        .arg(format!("file://{}", place.path(page).display()));
    let ended = process::run(&mut command, PATIENCE);
    let log = ended.err;
    assert!(ended.status.success(), "{}: {log}", ended.status);
    Rendered {
        dom: ended.out,
        requests: requests(&log_of_network(place)),
        log,
    }
}

fn log_of_network(place: &Place) -> String {
    let bytes = fs::read(place.path("net.json")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The addresses that a page asked for, in the browser's log of its network, which has an event a
/// line; what the browser wants for itself has no origin.
fn requests(log: &str) -> BTreeSet<String> {
    let value = |line: &str, name: &str| {
        let (_, rest) = line.split_once(&format!("\"{name}\":\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let of_page = |line: &&str| value(line, "initiator").is_some_and(|by| by != "not an origin");
    let lines = log.lines().filter(of_page);
    lines.filter_map(|line| value(line, "url")).collect()
}

/// The values of an attribute.
fn attributes<'p>(page: &'p str, name: &str) -> BTreeSet<&'p str> {
    let start = format!(" {name}=\"");
    let values = page.split(&start).skip(1);
    values
        .filter_map(|rest| Some(rest.split_once('"')?.0))
        .collect()
}

/// The parser of a browser finds the whole page sound, and the page asks for nothing.
#[track_caller]
fn check(browser: &str, place: &Place, page: &str, parts: &[&str]) {
    let rendered = render(browser, place, page);
    let mut lines = rendered.log.lines();
    let complaint = lines.find(|line| line.contains("CONSOLE"));
    assert_eq!(complaint, None, "the page's console has something to say");
    assert_eq!(rendered.requests, BTreeSet::new());
    let dom = &rendered.dom;
    // As it understood the page, every picture still is in a figure.
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
    let Some(browser) = chromium() else { return };
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
    check(browser, &place, "page.html", &parts);
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
    let Some(browser) = chromium() else { return };
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
        "measure on the machine that is meant",
    ];
    check(browser, &place, "reports/wide.html", &figures);
}

/// Otherwise the tests above would prove nothing.
#[test]
fn a_page_that_complains_or_loads_is_found_out() {
    let Some(browser) = chromium() else { return };
    let place = Place::new();
    place.write(
        "page.html",
        "<!DOCTYPE html><title>x</title><script>console.error('oops')</script>\
         <img src=\"http://127.0.0.1:9/x.png\">",
    );
    let rendered = render(browser, &place, "page.html");
    assert!(rendered.log.contains("oops"), "{}", rendered.log);
    let found = |url: &String| url.starts_with("http://127.0.0.1:9/");
    assert!(
        rendered.requests.iter().any(found),
        "{:?}",
        rendered.requests
    );
}
