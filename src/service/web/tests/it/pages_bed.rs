//! A browser without script, and a site in which all names that may contain markup do.

use printable::is_unprintable;
use service::{
    Actor, ChannelKey, Configuration, Digest, ExpectedRevision, NewToken, ReleaseAction,
    ReleaseChannel, ReleaseRequest, ScheduleDefinition, ScheduleEvents, Scope, TaskKind,
    TaskRequest,
};
use testkit::html;

use crate::fixture::{Answer, Site};

/// A name that is markup.
pub(crate) const MARKUP: &str = "<i>\"'&amp;</i><script>alert(1)</script>";
/// The same with characters that terminals and browsers obey.
pub(crate) const HOSTILE: &str =
    "<i>\"'&amp;</i><script>alert(1)</script>\u{1b}[2J\u{85}\u{202e}\u{2028}\u{e0041}";
/// A campaign with such a path, as far as a file's name may be.
pub(crate) const CAMPAIGN: &str = "tuning/<i>\"'&amp;<script>alert(1)\u{1b}[2J\u{202e}.yaml";

/// A site with a task, tables, a channel with a history, tokens and an audit.
pub(crate) struct Busy {
    pub(crate) site: Site,
    pub(crate) old: Digest,
    pub(crate) new: Digest,
}

pub(crate) const CHANNEL: &str = "/channels/local/openmpi-4.1.4/canary";

pub(crate) fn key() -> ChannelKey {
    ChannelKey {
        machine: "local".to_owned(),
        library: "openmpi-4.1.4".to_owned(),
        channel: ReleaseChannel::Canary,
    }
}

/// The actor that prepares a test.
pub(crate) fn admin() -> Actor {
    Actor {
        name: HOSTILE.to_owned(),
        scopes: vec![Scope::Admin],
        machines: Vec::new(),
    }
}

impl Busy {
    pub(crate) fn new(open_reading: bool) -> Self {
        Self::with(|configuration| configuration.open_reading = open_reading)
    }

    /// With another configuration.
    pub(crate) fn with(change: impl FnOnce(&mut Configuration)) -> Self {
        let site = Site::with(|configuration, folder| {
            change(configuration);
            std::fs::create_dir(folder.join("tuning")).unwrap();
            let example = include_str!("../../../../../tuning/simulated-hydra.yaml");
            std::fs::write(folder.join(CAMPAIGN), example).unwrap();
            std::fs::write(folder.join("tuning/broken.yaml"), HOSTILE).unwrap();
            let machines = include_str!("../../../../../tuning/machines/hydra.yaml");
            std::fs::create_dir(folder.join("tuning/machines")).unwrap();
            std::fs::write(folder.join("tuning/machines/hydra.yaml"), machines).unwrap();
        });
        let [old, new] = ["64K", "32K"].map(|block_bytes| {
            let taken = site
                .service
                .add_table(&admin(), "local", &table(block_bytes));
            taken.unwrap().digest
        });
        for digest in [&old, &new] {
            release(&site, digest);
        }
        submit(&site);
        schedule(&site);
        let database = site.folder().join("service/service.db");
        let database = rusqlite::Connection::open(database).unwrap();
        database
            .execute("UPDATE task SET reason = ?1", [HOSTILE])
            .unwrap();
        add_trend(&database, "local", HOSTILE);
        add_webhook(&database, HOSTILE);
        site.service.note_pull(&key(), "n1", &old).unwrap();
        Self { site, old, new }
    }

    /// The addresses of all pages that readers may open.
    pub(crate) fn pages(&self) -> Vec<String> {
        let Self { old, new, .. } = self;
        let mut pages = [
            "/",
            "/queue",
            "/queue?state=waiting&machine=local&campaign=",
            "/queue?before=1",
            "/tasks/1",
            "/campaigns",
            "/campaigns/tuning/broken.yaml",
            "/tables",
            "/tables?machine=local",
            "/channels",
            CHANNEL,
            "/trends",
            "/trends?machine=local",
            "/trends/1",
            "/findings",
            "/findings?state=open",
            "/findings/1",
            "/schedules",
            "/schedules/nightly",
            "/fleet",
            "/usage",
        ]
        .map(str::to_owned)
        .to_vec();
        pages.extend([
            format!("/campaigns/{}", percent(CAMPAIGN)),
            format!("/tables/{new}"),
            format!("/tables/{new}?machine=local&channel=production"),
            format!("/tables/{new}/diff?to={old}"),
        ]);
        pages
    }

    /// A new token with these scopes.
    pub(crate) fn token(&self, scopes: &[Scope]) -> String {
        let made = self.site.service.list_tokens(&admin()).unwrap();
        let new = NewToken {
            name: format!("token {}", made.len()),
            scopes: scopes.to_vec(),
            machines: Vec::new(),
            days: None,
        };
        let (secret, _) = self.site.service.make_token(&admin(), &new).unwrap();
        secret.expose().to_owned()
    }

    /// A browser that has logged in with a new token with these scopes.
    pub(crate) fn browser(&self, scopes: &[Scope]) -> Browser<'_> {
        let token = self.token(scopes);
        let mut browser = self.stranger();
        let answer = browser.send("/login", &[("token", &token)]);
        assert_eq!((answer.status, location(&answer)), (303, "/"), "{answer:?}");
        let cookie = answer.header("set-cookie").unwrap();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
        browser.cookie = cookie.split(';').next().unwrap().to_owned();
        browser
    }

    /// A browser without a session.
    pub(crate) fn stranger(&self) -> Browser<'_> {
        Browser {
            site: &self.site,
            cookie: String::new(),
        }
    }
}

/// Adds a series of two points of task 1, which belong to two epochs, and a finding, all with this name.
pub(crate) fn add_trend(database: &rusqlite::Connection, machine: &str, name: &str) {
    let id = "(SELECT id FROM machine WHERE name = ?1)";
    let statements = [
        format!(
            "INSERT INTO series SELECT NULL, {id}, 'openmpi', 'driver', 'bcast', 1, 2, 64, 'any', ?2, ''"
        ),
        format!(
            "INSERT INTO epoch SELECT NULL, {id}, 'openmpi-4.1.4', ?2, json_object('kernel', ?2), 1764400000000"
        ),
        format!(
            "INSERT INTO epoch SELECT NULL, {id}, 'openmpi-4.1.5', ?2 || 2, json_object('cpu', ?2), 1764500000000"
        ),
    ];
    for statement in statements {
        database.execute(&statement, [machine, name]).unwrap();
    }
    database
        .execute_batch(
            "INSERT INTO point SELECT max(series.id), epoch.id, 1, began_at, 2e-6, 3e-6, epoch.id % 2 \
                 FROM series, epoch GROUP BY epoch.id HAVING epoch.machine = max(series.machine);
             INSERT INTO finding SELECT NULL, max(id), 'algorithm', 1, began_at, 'open' FROM epoch;
             INSERT INTO change SELECT NULL, (SELECT max(id) FROM finding), (SELECT max(id) FROM series), max(id), \
                 'ratio', 0.5, 0.6, 1, 1, began_at FROM epoch;",
        )
        .unwrap();
}

/// Adds a webhook at an address with this name, whose last message has failed for a reason with this name.
fn add_webhook(database: &rusqlite::Connection, name: &str) {
    let url = format!("https://site.example/{name}");
    database
        .execute(
            "INSERT INTO webhook (url, salt, hash, events, machines, created_at, created_by) \
             VALUES (?1, x'00', x'00', '[]', '[]', 0, ?2)",
            [&*url, name],
        )
        .unwrap();
    database
        .execute(
            "INSERT INTO message (webhook, name, body, created_at, state, attempts, problem, ended_at) \
             VALUES (1, 'msg_1', '{}', 0, 'failed', 8, ?1, 0)",
            [name],
        )
        .unwrap();
}

/// Adds a task that is never carried out.
pub(crate) fn submit(site: &Site) {
    let request = TaskRequest {
        kind: TaskKind::Tune,
        machine: Some("local".to_owned()),
        campaign: Some(CAMPAIGN.to_owned()),
        table: None,
        deployment: None,
        overrides: service::Overrides::default(),
    };
    site.service.submit_task(&admin(), &request, None).unwrap();
}

/// Adds a schedule of the campaign, and pauses and resumes it.
fn schedule(site: &Site) {
    let task = TaskRequest {
        kind: TaskKind::Tune,
        machine: Some("local".to_owned()),
        campaign: Some(CAMPAIGN.to_owned()),
        table: None,
        deployment: None,
        overrides: service::Overrides::default(),
    };
    let definition = ScheduleDefinition {
        task,
        channel: None,
        times: Some("30 2 * * *".to_owned()),
        events: ScheduleEvents::default(),
        windows: vec!["22:00-06:00".to_owned()],
    };
    let expected = ExpectedRevision::Missing;
    let put = site
        .service
        .put_schedule(&admin(), "nightly", &definition, expected);
    put.unwrap();
}

fn release(site: &Site, digest: &Digest) {
    let request = ReleaseRequest {
        digest: Some(digest.clone()),
        action: ReleaseAction::Release,
        reason: HOSTILE.to_owned(),
        override_gates: true,
    };
    let released = site.service.make_release(&admin(), &key(), &request, None);
    released.unwrap();
}

/// A table that chooses this block size, made on a host and CPU with markup as names.
fn table(block_bytes: &str) -> String {
    let rules = format!(
        r#"
  allreduce:
    message_size: bytes of one rank's vector
    shapes:
      - nodes: 1
        ppn: 2
        operators: any
        rules:
          - {{from: 0, candidate: default, confidence: high}}
          - {{from: 1500, candidate: allreduce/dual_root, block_bytes: {block_bytes}, speedup: 1.3, confidence: high, confirmed: true}}
        measured:
          bytes: [64, 1M]
          microseconds: [2, 512]
          default_microseconds: [2, 768]
"#
    );
    let hostile = serde_json::Value::from(HOSTILE).to_string();
    testkit::tables::table_yaml("night", "openmpi", "4.1.4", &rules)
        .replace("cpu: any", &format!("cpu: {hostile}"))
        .replace("hosts: [n1]", &format!("hosts: [{hostile}]"))
        .replace("warnings: []", &format!("warnings: [{hostile}]"))
}

/// Sends the request that a browser would send.
pub(crate) struct Browser<'s> {
    site: &'s Site,
    cookie: String,
}

impl Browser<'_> {
    /// Asks for a page.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.exchange("GET", path, "")
    }

    /// An existing page, after the checks for all pages.
    #[track_caller]
    pub(crate) fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        check(&answer);
        answer.body
    }

    /// Sends a form with these fields, with no form token unless it is among them.
    pub(crate) fn send(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let pair = |(name, value): &(&str, &str)| format!("{name}={}", percent(value));
        let fields: Vec<String> = fields.iter().map(pair).collect();
        self.exchange("POST", path, &fields.join("&"))
    }

    /// Sends a form with the token that the session's pages have.
    #[track_caller]
    pub(crate) fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let token = field(&self.page("/channels"), "form_token");
        self.send(path, &[&[("form_token", token.as_str())], fields].concat())
    }

    fn exchange(&self, method: &str, path: &str, body: &str) -> Answer {
        let origin = format!("Origin: http://{}", self.site.address.unwrap());
        let cookie = format!("Cookie: {}", self.cookie);
        let headers = [
            "Accept: text/html,application/xhtml+xml",
            "Content-Type: application/x-www-form-urlencoded",
            &origin,
            &cookie,
        ];
        self.site.send(&format!("{method} {path}"), &headers, body)
    }
}

pub(crate) fn has_no_unprintable(text: &str) -> bool {
    !text.contains(|c| is_unprintable(c) && !"\n\t".contains(c))
}

/// The value of the first field of this name.
#[track_caller]
pub(crate) fn field(page: &str, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let (_, rest) = page.split_once(&start).unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

pub(crate) fn location(answer: &Answer) -> &str {
    answer.header("location").unwrap_or_default()
}

/// A text in a form or an address.
pub(crate) fn percent(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'/' => "/".to_owned(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// Checks the properties of all pages, also those of problems.
#[track_caller]
pub(crate) fn check(answer: &Answer) {
    let media = answer.header("content-type").unwrap_or_default();
    assert!(media.starts_with("text/html"), "{media}");
    let policy = answer.header("content-security-policy").unwrap();
    assert!(!policy.contains("unsafe"), "{policy}");
    let page = &answer.body;
    assert!(has_no_unprintable(page), "{page:?}");
    html::check_structure(page);
    html::check_accessible(page);
    html::check_nothing_inline(page);
    let names = ["href", "src", "action"].into_iter();
    for address in names.flat_map(|name| html::attribute_values(page, name)) {
        let is_own = address.starts_with('/') && !address.starts_with("//");
        assert!(
            is_own || address.starts_with('#'),
            "{address} leads elsewhere"
        );
    }
}
