//! A service for tests with a browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rusqlite::Connection;

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

/// Forty nights of a machine that has a validation and a release: validations, points of three series in two epochs, two
/// findings, pulls of seven hosts, and the calls of 240 jobs.
const HISTORY: &str = "
CREATE TEMP TABLE night AS WITH RECURSIVE counted (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < 40)
    SELECT i, now - (40 - i) * 86400000 AS at, iif(i < 20, 1.2e-4, 1e-4) AS default_seconds,
        iif(i < 15, 0.68, 0.6) * iif(i = 24, 1.1, 1) * (1 + ((i * 7919) % 13 - 6) / 400.0) AS ratio
    FROM counted, (SELECT unixepoch() * 1000 AS now);
CREATE TEMP TABLE newest AS SELECT machine, library, channel, digest, (SELECT max(id) FROM task) AS last_task,
    (SELECT max(id) FROM epoch) AS last_epoch, (SELECT max(id) FROM series) AS last_series
    FROM release ORDER BY sequence DESC LIMIT 1;
INSERT INTO task (kind, machine, digest, request, state, reason, actor, submitted_at, started_at, ended_at, attempts, exit_code)
    SELECT kind, task.machine, task.digest, request, state, reason, 'schedule nightly', at, at, at, 1, 0
    FROM task, night WHERE kind = 'validate' ORDER BY i;
INSERT INTO epoch (machine, library, fingerprint, measured, began_at)
    SELECT machine, library, kernel, json_object('cpu', 'AMD EPYC 7763', 'kernel', kernel), at
    FROM newest, (SELECT '6.1.0-37' AS kernel, 1 AS first UNION ALL SELECT '6.1.0-40', 15), night WHERE i = first;
INSERT INTO series (machine, library, via, collective, nodes, ppn, bytes, operators, chosen, distribution)
    SELECT machine, 'simulated', 'driver', collective, 8, 2, bytes, 'any', chosen, ''
    FROM newest, (SELECT 'bcast' AS collective, 32768 AS bytes, 'bcast/chain' AS chosen
        UNION ALL SELECT 'allreduce', 32768, 'allreduce/rabenseifner'
        UNION ALL SELECT 'allreduce', 2097152, 'allreduce/ring') ORDER BY collective DESC, bytes;
INSERT INTO point (series, epoch, task, at, seconds, default_seconds, busy)
    SELECT series.id, last_epoch + iif(i < 15, 1, 2), last_task + i, at,
        default_seconds * ratio * iif(i > 33 AND collective = 'allreduce', 1.12, 1), default_seconds, i = 24
    FROM series, night, newest WHERE series.id > last_series;
INSERT INTO finding (epoch, cause, slower, found_at, state)
    SELECT last_epoch + 2, cause, cause = 'algorithm', at, state
    FROM (SELECT 'machine' AS cause, 'accepted' AS state, 25 AS found UNION ALL SELECT 'algorithm', 'acknowledged', 38),
        night, newest WHERE i = found ORDER BY at;
INSERT INTO change (finding, series, epoch, quantity, before, after, first_task, found_by, began_at)
    SELECT 1, last_series + 1, last_epoch + 2, 'default', 1.2e-4, 1e-4, last_task + 20, last_task + 25, at
    FROM newest, night WHERE i = 20
    UNION ALL SELECT 2, series.id, last_epoch + 2, 'ratio', 0.6, 0.672, last_task + 34, last_task + 38, at
    FROM series, newest, night WHERE i = 34 AND series.id > last_series AND collective = 'allreduce';
INSERT INTO finding_note (finding, at, actor, state, reason)
    SELECT 1, at, 'operator', 'accepted', 'the second power supply is back' FROM night WHERE i = 26
    UNION ALL SELECT 2, at, 'operator', 'acknowledged', 'new firmware of the switch?' FROM night WHERE i = 39;
INSERT INTO pull (client, machine, library, channel, digest, at)
    SELECT 'node' || i, machine, library, channel, iif(i = 5, other, digest), last_at - i * 60000
    FROM newest, night, (SELECT digest AS other FROM release ORDER BY sequence LIMIT 1 OFFSET 1),
        (SELECT max(at) AS last_at FROM night) WHERE i < 8;
INSERT INTO usage_jobs (machine, day, digest, outcome, jobs)
    SELECT machine, at / 86400000, digest, 'used', 12 FROM newest, night WHERE i > 20;
INSERT INTO usage_calls (machine, day, digest, collective, carried_by, calls, timed_calls, seconds)
    SELECT machine, at / 86400000, digest, collective, carried_by, calls, calls, calls * 2e-5
    FROM newest, night, (SELECT 'allreduce' AS collective, 'table' AS carried_by, 81000 AS calls
        UNION ALL SELECT 'bcast', 'table', 9400 UNION ALL SELECT 'ibcast', 'nonblocking', 6100) WHERE i > 20;
INSERT INTO message (webhook, name, body, created_at, state, attempts, ended_at)
    SELECT 1, 'msg_1', '{}', at, 'delivered', 1, at FROM night WHERE i = 38;
";

/// The same with words that have nowhere to break.
const LONG_WORDS: &str = "
INSERT INTO finding_note (finding, at, actor, state, reason)
    SELECT id, found_at, 'operator', state, replace(hex(zeroblob(150)), '0', 'W') FROM finding WHERE id = 2;
UPDATE schedule SET pause_reason = replace(hex(zeroblob(150)), '0', 'W');
UPDATE webhook SET url = url || replace(hex(zeroblob(150)), '0', 'W');
UPDATE pull SET client = replace(hex(zeroblob(100)), '0', 'W') WHERE client = 'node5';
";

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

    /// Runs `colltune remote` with the token for changes.
    fn remote(&self, args: &[&str]) {
        let session = [
            "remote",
            "--url",
            &self.address,
            "--token-file",
            "service/token",
        ];
        self.place.run(&[&session[..], args].concat()).good();
    }

    fn open_database(&self) -> Connection {
        Connection::open(self.place.path("service/service.db")).unwrap()
    }

    /// Adds what the pages about weeks of service show: schedules, trends, findings, hosts, jobs and a webhook. Returns the
    /// number of a series with a change.
    pub(super) fn add_history(&self, channel: &str) -> u64 {
        let (_, channel) = channel.split_once("/channels/local/").unwrap();
        let nightly = [
            &["schedule", "nightly", "check", "--machine", "local"][..],
            &["--channel", channel, "--times", "30 2 * * *"],
            &["--window", "22:00-06:00", "--on", "suspicion"],
        ];
        self.remote(&nightly.concat());
        let monthly = ["schedule", "monthly", "tune", "--campaign", CAMPAIGN];
        let when = ["--age-days", "30", "--window", "Sat,Sun 00:00-24:00"];
        self.remote(&[&monthly[..], &when].concat());
        let why = "until the new switch is in place";
        self.remote(&["pause", "monthly", "--reason", why]);
        let events = ["--event", "finding.opened,schedule.paused"];
        let make = ["webhooks", "--make", "https://chat.example/hook"];
        self.remote(&[&make[..], &events].concat());
        let database = self.open_database();
        database.execute_batch(HISTORY).unwrap();
        let newest = "SELECT max(id) FROM series";
        database.query_row(newest, [], |row| row.get(0)).unwrap()
    }

    /// Adds long words to what [`Site::add_history`] has added.
    pub(super) fn add_long_words(&self) {
        self.open_database().execute_batch(LONG_WORDS).unwrap();
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
