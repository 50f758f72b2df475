//! The service as a person uses it, with a real browser: from logging in to a table that jobs use, and to its rollback.

pub(crate) mod pages;
mod site;

use std::fs;

use serde_json::json;

use self::pages::assert_pages_fit;
use self::site::{CAMPAIGN, Site, channel};
use crate::chromium::{Browser, ENTER, TAB};
use crate::run::Place;
use crate::{guarded_mpi, mpi, unmodified};

/// Watches a task's page until the task is done. The page updates itself, without clicks or reloading.
fn follow(browser: &Browser) {
    let state = || browser.text("#state .badge");
    let first = state();
    assert!(!first.contains("done"), "there was nothing to watch");
    browser.evaluate("window.isThisVeryPage = true");
    browser.wait("ended", || {
        !["waiting", "running"]
            .iter()
            .any(|word| state().contains(word))
    });
    assert!(state().contains("done"), "{}", browser.text("body"));
    assert_eq!(browser.evaluate("return window.isThisVeryPage"), true);
}

/// Checks what a table's page shows of the table itself.
fn assert_table_is_shown(browser: &Browser) {
    let area =
        "const box = document.querySelector('.report figure svg.map').getBoundingClientRect();
        return box.width * box.height";
    assert!(browser.evaluate(area).as_f64().unwrap() > 20_000.0);
    let text = browser.text(".report");
    for part in ["default", "allreduce", "Time against size"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

/// Releases the table whose page is shown to production, with a reason, although gates are closed; ends on the
/// channel's page.
fn release(browser: &Browser, reason: &str) {
    browser.click("//nav[@aria-label='Channel']//a[.='production']");
    browser.wait("at production", || {
        browser.has("//button[.='Release to production']")
    });
    let gates = browser.text("ul.gates");
    for gate in ["readable", "library", "confirmed", "validated", "compared"] {
        assert!(gates.contains(gate), "no {gate} in {gates}");
    }
    assert!(gates.contains("closed"), "{gates}");
    browser.click("input[name=override]");
    browser.fill("#release-reason", reason);
    browser.click("//button[.='Release to production']");
    browser.wait("at the channel", || {
        browser.address().contains("/channels/")
    });
}

/// A node with a launcher that prints its arguments and environment.
fn node() -> Place {
    let node = Place::with_mpirun("echo \"$@\"");
    node.write("lib/openmpi-4.1.4/libcolltune.so", "");
    node
}

#[test]
fn a_user_goes_the_whole_way_from_logging_in_to_a_rollback() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let site = Site::simulated();
    site.log_in(&browser);

    let first = site.tune(&browser, "");
    assert_table_is_shown(&browser);
    browser.click("//button[.='Validate on local']");
    browser.wait("at the task", || browser.address().contains("/tasks/2"));
    browser.wait("validated", || {
        browser.text("#state .badge").contains("done")
    });
    browser.open(&format!("{}/tables/{first}", site.address));
    assert!(browser.text("#validations").contains("no point slower"));
    assert!(
        browser
            .text("#release")
            .contains("simulated machines are for experiments")
    );
    release(&browser, "the first table of this machine");
    assert!(browser.text(".headline").contains(&first[..12]));
    let page = browser.address();
    let before = site.current(&page);

    let (node, channel) = (node(), channel(&page));
    let pull = ["pull", &channel, "--to", "tables"];
    assert!(node.run(&pull).good().out.contains(&first));
    // Rules of a simulated machine are used only if the user asks for unconfirmed ones.
    let run = [
        "run",
        "--channel",
        &channel,
        "--force",
        "--",
        "mpirun",
        "-n",
        "2",
        "./solver",
    ];
    let ran = node.run(&run);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let given = ran
        .out
        .split(' ')
        .find(|word| word.starts_with("COLLTUNE_TABLE="));
    assert!(
        given.unwrap().ends_with(&format!("/{first}.yaml")),
        "{}",
        ran.out
    );

    let second = site.tune(&browser, "64, 16K");
    assert_ne!(second, first);
    release(&browser, "measured anew");
    assert!(node.run(&pull).good().out.contains(&second));
    assert_ne!(site.current(&page), before);

    browser.fill("#rollback-reason", "the solver is slower with it");
    browser.click("//button[.='Roll back']");
    browser.wait("rolled back", || {
        browser.text(".headline").contains(&first[..12])
    });
    assert_eq!(site.current(&page), before);
    assert!(node.run(&pull).good().out.contains(&first));

    assert_pages_fit(&browser, &site, &first, &second, &page);
    browser.assert_quiet(&site.address);
}

#[test]
fn a_user_goes_the_whole_way_on_real_ranks_of_openmpi() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let Some(place) = mpi::place_with("openmpi", "") else {
        return;
    };
    let measured = guarded_mpi::CAMPAIGN;
    let campaign = format!("name: night\nlibrary: openmpi\ncollectives: allreduce\n{measured}");
    place.write(CAMPAIGN, campaign);
    let site = Site::start(place);
    site.log_in(&browser);
    let digest = site.tune(&browser, "");
    assert_table_is_shown(&browser);
    release(&browser, "to try it");

    let (node, channel) = (Place::new(), channel(&browser.address()));
    unmodified::allreduce(&node, "MPICC_OPENMPI", "mpicc.openmpi");
    let launch = [
        "--",
        "mpirun.openmpi",
        "--allow-run-as-root",
        "-n",
        "2",
        "./start",
    ];
    let run = [
        &["run", "--channel", &channel, "--unconfirmed"],
        &launch[..],
    ]
    .concat();
    let ran = mpi::run(&node, &run);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(unmodified::calls(&ran, "") > 100, "{}", ran.out);
    let mut pulled = fs::read_dir(node.path(".colltune/channels")).unwrap();
    let pulled = pulled.next().unwrap().unwrap().path();
    assert!(pulled.join(format!("{digest}.yaml")).exists());

    browser.fill("#withdraw-reason", "it was tried");
    browser.click("//button[.='Withdraw']");
    browser.wait("withdrawn", || {
        browser.text(".headline").contains("an empty table")
    });
    browser.assert_quiet(&site.address);
}

/// A script for pages, after which their connections to events are made only when `connect()` is called.
const LATE_EVENTS: &str = "
    const Connected = window.EventSource;
    window.EventSource = function (address) {
        const listeners = [];
        window.connect = () => {
            const events = new Connected(address);
            listeners.forEach((listener) => events.addEventListener(...listener));
        };
        return { addEventListener: (...listener) => listeners.push(listener), close() {} };
    };";

/// A task ends after its page was made and before the page is connected to events: no later event says so.
#[test]
fn a_page_shows_what_happened_before_it_listened_to_events() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let site = Site::simulated();
    site.log_in(&browser);
    let script = json!({"source": LATE_EVENTS});
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", script);
    site.submit(&browser, "64, 16K");
    let state = || browser.text("#state .badge");
    assert!(!state().contains("done"), "the task has ended");
    let page = "return fetch(location.href).then((page) => page.text())";
    browser.wait("done", || {
        let page = browser.evaluate(page);
        page.as_str().unwrap().contains("/tables/")
    });
    assert!(!state().contains("done"), "the page is connected to events");
    browser.evaluate("connect()");
    browser.wait("shown as done", || state().contains("done"));
}

#[test]
fn the_pages_work_without_scripts() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let off = json!({"value": true});
    browser.devtools("Emulation.setScriptExecutionDisabled", off);
    let site = Site::simulated();
    site.log_in(&browser);
    site.submit(&browser, "64, 16K");
    let task = browser.address();
    browser.wait("done", || {
        browser.open(&task);
        browser.text("#state .badge").contains("done")
    });
    browser.click("#state a[href^='/tables/']");
    release(&browser, "to try it");
    assert!(browser.text("#history").contains("to try it"));
    let requests = browser.requests();
    assert!(requests.iter().any(|url| url.ends_with("/style.css")));
    assert!(
        !requests.iter().any(|url| url.ends_with(".js")),
        "scripts are not off"
    );
    assert_eq!(browser.complaints(), [] as [&str; 0]);
}

/// Presses Tab until an element that matches a selector has the focus. That must take few steps, and the focus must be
/// visible at each of them.
#[track_caller]
fn tab_to(browser: &Browser, selector: &str) {
    let stop = format!(
        "const at = document.activeElement; const style = getComputedStyle(at);
         return [at.matches('{selector}'), style.outlineStyle, at.outerHTML]"
    );
    for _ in 0..40 {
        browser.press(TAB);
        let at = browser.evaluate(&stop);
        assert_ne!(at[1], "none", "{} cannot be seen to have the focus", at[2]);
        if at[0] == true {
            return;
        }
    }
    panic!("Tab does not come to {selector} of {}", browser.address());
}

#[test]
fn logging_in_and_submitting_need_only_the_keyboard() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let site = Site::simulated();
    browser.open(&site.address);
    tab_to(&browser, ".person a");
    browser.press(ENTER);
    browser.wait("at the form", || browser.has("#token"));
    tab_to(&browser, "#token");
    browser.press(&site.token);
    tab_to(&browser, "main button");
    browser.press(ENTER);
    browser.wait("logged in", || browser.has("form[action=\"/logout\"]"));
    // The first focusable element of a page is a link that skips its navigation.
    browser.press(TAB);
    browser.press(ENTER);
    tab_to(&browser, "main a[href=\"/queue#submit\"]");
    browser.press(ENTER);
    browser.wait("at the form", || browser.has("#submit-sizes"));
    tab_to(&browser, "#submit-sizes");
    browser.press("64");
    tab_to(&browser, "#submit button");
    browser.press(ENTER);
    browser.wait("at the task", || browser.address().ends_with("/tasks/1"));
    tab_to(&browser, "#state form button");
    browser.press(ENTER);
    browser.wait("cancelled", || {
        browser.text("#state .badge").contains("cancelled")
    });
    browser.assert_quiet(&site.address);
}
