//! A real browser, headless, driven through `chromedriver` as WebDriver describes it (<https://www.w3.org/TR/webdriver2/>):
//! JSON over HTTP.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::process;
use ureq::Agent;

/// Seconds after which `timeout` ends the browser, in case the test was killed and cannot end it.
const LIFE: &str = "170";
/// The time limit for one command to the browser, which waits until the page that it opens is loaded.
const COMMAND: Duration = Duration::from_secs(40);
/// The time limit for something to appear on a page.
const PATIENCE: Duration = Duration::from_secs(60);

const ARGUMENTS: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-breakpad",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    // The browser itself cannot connect to other machines either.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/// The key that goes to the next element.
pub(crate) const TAB: &str = "\u{e004}";
/// The key that sends a form.
pub(crate) const ENTER: &str = "\u{e007}";

/// A browser with a profile of its own. All its processes end with it.
pub(crate) struct Browser {
    agent: Agent,
    /// The address of the session.
    session: String,
    driver: Child,
    profile: TempDir,
}

impl Browser {
    /// `None` where Chromium or its driver is not installed.
    pub(crate) fn start() -> Option<Self> {
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let program = testkit::require(
            "Chromium",
            names.into_iter().find_map(process::find_program),
        )?;
        let driver = testkit::require("chromedriver", process::find_program("chromedriver"))?;
        let profile = tempfile::tempdir().unwrap();
        let mut driver = Command::new("timeout")
            .args(["--kill-after=5", LIFE])
            .arg(driver)
            .arg("--port=0")
            // Files that the browser leaves here are removed with the profile.
            .env("TMPDIR", profile.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.map(Result::unwrap).find_map(|line| {
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse::<u16>().ok()
        });
        let agent = Agent::config_builder()
            .timeout_global(Some(COMMAND))
            .http_status_as_error(false)
            .build();
        let mut browser = Self {
            agent: agent.into(),
            session: format!("http://127.0.0.1:{}/session", port.unwrap_or_default()),
            driver,
            profile,
        };
        let folder = format!(
            "--user-data-dir={}/profile",
            browser.profile.path().display()
        );
        let arguments: Vec<&str> = ARGUMENTS.into_iter().chain([&*folder]).collect();
        let wanted = json!({
            "goog:chromeOptions": {"binary": program, "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        });
        let begun = browser.post("", &json!({"capabilities": {"alwaysMatch": wanted}}));
        browser.session += &format!("/{}", begun["sessionId"].as_str().unwrap());
        Some(browser)
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.ask(path, body).unwrap_or_else(|why| panic!("{why}"))
    }

    /// The driver's answer to a command, or the kind and the message of its error.
    fn ask(&self, path: &str, body: &Value) -> Result<Value, String> {
        let answer = self.agent.post(format!("{}{path}", self.session));
        let mut answer = answer.send_json(body).map_err(|error| error.to_string())?;
        let is_good = answer.status().is_success();
        let value: Value = answer.body_mut().read_json().unwrap();
        let value = value["value"].clone();
        if is_good {
            Ok(value)
        } else {
            Err(format!(
                "{path} {body}: {}: {}",
                value["error"], value["message"]
            ))
        }
    }

    /// A command of the DevTools protocol.
    pub(crate) fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({"cmd": command, "params": parameters});
        self.post("/goog/cdp/execute", &body)
    }

    /// Goes to an address and waits until it is loaded.
    pub(crate) fn open(&self, address: &str) {
        self.post("/url", &json!({"url": address}));
    }

    /// The value that a function with this body returns.
    pub(crate) fn evaluate(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    pub(crate) fn address(&self) -> String {
        let address = self.evaluate("return location.href");
        address.as_str().unwrap().to_owned()
    }

    pub(crate) fn source(&self) -> String {
        let source = self.evaluate("return document.documentElement.outerHTML");
        source.as_str().unwrap().to_owned()
    }

    /// The first element of a CSS selector, or of an `XPath` that begins with `//`, without waiting for it.
    fn look(&self, selector: &str) -> Option<String> {
        let using = if selector.starts_with("//") {
            "xpath"
        } else {
            "css selector"
        };
        let found = self.ask("/element", &json!({"using": using, "value": selector}));
        let element = found
            .ok()?
            .as_object()?
            .values()
            .next()?
            .as_str()?
            .to_owned();
        Some(format!("/element/{element}"))
    }

    pub(crate) fn has(&self, selector: &str) -> bool {
        self.look(selector).is_some()
    }

    /// Waits for an element and does something with it; again if the page replaced it meanwhile.
    #[track_caller]
    fn with<T>(&self, selector: &str, work: impl Fn(&str) -> Result<T, String>) -> T {
        let begun = Instant::now();
        let mut why = "it is not there".to_owned();
        while begun.elapsed() < PATIENCE {
            match self.look(selector).map(|element| work(&element)) {
                Some(Ok(done)) => return done,
                Some(Err(error)) => why = error,
                None => std::thread::sleep(Duration::from_millis(50)),
            }
        }
        panic!(
            "{selector} of {}: {why}:\n{}",
            self.address(),
            self.text("body")
        );
    }

    #[track_caller]
    pub(crate) fn click(&self, selector: &str) {
        self.with(selector, |element| {
            self.ask(&format!("{element}/click"), &json!({}))
        });
    }

    /// Types a text into a field, in place of its value.
    #[track_caller]
    pub(crate) fn fill(&self, selector: &str, text: &str) {
        self.with(selector, |element| {
            self.ask(&format!("{element}/clear"), &json!({}))?;
            self.ask(&format!("{element}/value"), &json!({"text": text}))
        });
    }

    /// The visible text of the first element of a CSS selector.
    #[track_caller]
    pub(crate) fn text(&self, selector: &str) -> String {
        let body = json!({
            "script": "return document.querySelector(arguments[0])?.innerText", "args": [selector],
        });
        let text = self.post("/execute/sync", &body);
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Presses keys, one after the other, wherever the focus is.
    pub(crate) fn press(&self, keys: &str) {
        let presses = keys.chars().flat_map(|key| {
            let of = |kind| json!({"type": kind, "value": key});
            [of("keyDown"), of("keyUp")]
        });
        let presses: Vec<Value> = presses.collect();
        let keyboard = json!({"type": "key", "id": "keyboard", "actions": presses});
        self.post("/actions", &json!({"actions": [keyboard]}));
    }

    /// Waits until a condition holds; if it does not in time, panics with the page's text.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, holds: impl Fn() -> bool) {
        let begun = Instant::now();
        while !holds() {
            let text = || format!("{}:\n{}", self.address(), self.text("body"));
            assert!(begun.elapsed() < PATIENCE, "never {what} at {}", text());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Sets the window's width, like that of a phone if it is narrow, and the colour scheme: `light` or `dark`.
    pub(crate) fn show_as(&self, width: u32, scheme: &str) {
        let height = if width < 600 { 844 } else { 900 };
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", size);
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        self.devtools("Emulation.setEmulatedMedia", json!({"features": [feature]}));
    }

    /// A picture of the page (PNG), cut off at this height.
    pub(crate) fn picture(&self, width: u32, most: u32) -> Vec<u8> {
        let height = self.evaluate("return document.documentElement.scrollHeight");
        let height = height.as_u64().unwrap().min(most.into());
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        let asked = json!({"captureBeyondViewport": true, "clip": clip, "optimizeForSpeed": false});
        let taken = self.devtools("Page.captureScreenshot", asked);
        BASE64_STANDARD
            .decode(taken["data"].as_str().unwrap())
            .unwrap()
    }

    /// The warnings and errors that pages caused in the console since the last call.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let entries = self.post("/se/log", &json!({"type": "browser"}));
        let entries = entries.as_array().unwrap().iter();
        let is_bad =
            |entry: &&Value| ["SEVERE", "WARNING"].contains(&entry["level"].as_str().unwrap());
        let bad = entries.filter(is_bad);
        bad.map(|entry| entry["message"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The addresses that were requested since the last call, also if the request was refused or never answered.
    pub(crate) fn requests(&self) -> Vec<String> {
        let entries = self.post("/se/log", &json!({"type": "performance"}));
        let address = |entry: &Value| {
            let event: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let event = &event["message"];
            let url = match event["method"].as_str()? {
                "Network.requestWillBeSent" => &event["params"]["request"]["url"],
                "Network.webSocketCreated" => &event["params"]["url"],
                _ => return None,
            };
            Some(url.as_str()?.to_owned())
        };
        let addresses = entries.as_array().unwrap().iter().filter_map(address);
        // The latter belong to the empty page with which the browser begins; other pages cannot request them.
        let is_inside = |url: &String| {
            ["data:", "chrome://"]
                .iter()
                .any(|start| url.starts_with(start))
        };
        addresses.filter(|url| !is_inside(url)).collect()
    }

    /// Asserts that no page caused a warning, and that all requests went to this address.
    #[track_caller]
    pub(crate) fn assert_quiet(&self, address: &str) {
        assert_eq!(self.complaints(), [] as [&str; 0], "the console");
        let requests = self.requests();
        assert!(!requests.is_empty(), "requests are not seen");
        let foreign = requests.iter().find(|url| !url.starts_with(address));
        assert_eq!(foreign, None, "asked by a page of {address}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver removes its other files; whether or not that works, the process group is killed.
        let _ = self.agent.delete(&self.session).call();
        let group = Pid::from_raw(self.driver.id().cast_signed());
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.driver.wait();
    }
}
