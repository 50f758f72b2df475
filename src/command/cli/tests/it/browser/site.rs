//! A service for tests with a browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::follow;
use crate::chromium::Browser;
use crate::mpi;
use crate::run::Place;
use crate::serve::Serving;

/// A small campaign, in which the default is not always the best. It takes a second.
const SIMULATED: &str = "\
name: night
launcher: {simulated: {machine: fat-tree.yaml, seed: 7}}
shapes: [4x2, 8x2]
collectives: [bcast, allreduce]
sizes: [64, 16K, 1M]
candidates: {include: ['*/binomial', '*/chain', '*/ring', '*/rabenseifner', bcast/scatter_allgather]}
parameters: {block_bytes: 16K, predicted: false, radix: 4}
strategy: exhaustive
repetitions: {slice: 20ms}
budget: 10h
";

pub(super) const CAMPAIGN: &str = "tuning/night.yaml";

/// A service of a new project, which ends with the test.
pub(super) struct Site {
    place: Place,
    _serving: Serving,
    /// The address, without a slash at its end.
    pub(super) address: String,
    pub(super) token: String,
}

impl Site {
    pub(super) fn simulated() -> Self {
        let place = Place::new();
        let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tuning/machines");
        place.write(
            "fat-tree.yaml",
            fs::read(machines.join("fat-tree.yaml")).unwrap(),
        );
        place.write(CAMPAIGN, SIMULATED);
        Self::start(place)
    }

    pub(super) fn start(place: Place) -> Self {
        let mut command = mpi::command(&place, &["serve", "--listen", "127.0.0.1:0"]);
        command.stderr(Stdio::inherit());
        let mut serving = Serving::start(&mut command);
        let address = format!("http://{}", serving.address());
        let line = serving.line();
        let token = line.strip_prefix("token for changes: ").unwrap().to_owned();
        Self {
            place,
            _serving: serving,
            address,
            token,
        }
    }

    pub(super) fn log_in(&self, browser: &Browser) {
        browser.open(&self.address);
        browser.click("//a[.='Log in']");
        browser.fill("#token", &self.token);
        browser.click("//main//button[.='Log in']");
        browser.wait("logged in", || browser.has("//button[.='Log out']"));
    }

    /// Submits the campaign by the button on its page, and ends on the task's page.
    pub(super) fn submit(&self, browser: &Browser, sizes: &str) {
        browser.open(&self.address);
        browser.click("//nav//a[.='Campaigns']");
        browser.click(&format!("//a[.='{CAMPAIGN}']"));
        browser.fill("#submit-sizes", sizes);
        browser.click("//section[@id='submit']//button[.='Submit']");
        browser.wait("at the task", || browser.address().contains("/tasks/"));
    }

    /// Submits the campaign, follows it, and goes to its table's page; returns the table's digest.
    pub(super) fn tune(&self, browser: &Browser, sizes: &str) -> String {
        self.submit(browser, sizes);
        follow(browser);
        browser.click("#state a[href^='/tables/']");
        browser.wait("at the table", || browser.has("#release"));
        let address = browser.address();
        address.rsplit('/').next().unwrap().to_owned()
    }

    /// The target of the link of a channel, which jobs resolve; the channel is given by its page.
    pub(super) fn current(&self, page: &str) -> PathBuf {
        let (_, channel) = page.split_once("/channels/").unwrap();
        let folder = format!("service/channels/{channel}/current");
        fs::read_link(self.place.path(&folder)).unwrap()
    }
}

/// A channel as `pull` takes it, from the address of its page.
pub(super) fn channel(page: &str) -> String {
    let (site, channel) = page.split_once("/channels/").unwrap();
    let parts: Vec<&str> = channel.split('/').collect();
    let [machine, library, name] = parts[..] else {
        panic!("{page}")
    };
    format!("{site}/machines/{machine}/libraries/{library}/channels/{name}")
}
