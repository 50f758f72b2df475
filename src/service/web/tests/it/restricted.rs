//! A token of one machine: other machines, and all that belongs to them, do not exist for it.

use serde_json::{Value, json};
use service::{
    Actor, ChannelKey, Digest, Overrides, ReleaseAction, ReleaseChannel, ReleaseRequest, Scope,
    ServiceMachine, TaskKind, TaskRequest,
};

use crate::fixture::{Answer, Site};
use crate::pages_bed::percent;

/// A word in all names of the other machine and of what belongs to it.
const WORD: &str = "walled";
const MACHINE: &str = "walled-machine";
const LIBRARY: &str = "openmpi-4.1.4";

/// A site with the machines `local` and [`MACHINE`], each with a task, a table and a release.
struct Divided {
    site: Site,
    /// The table of `local`.
    own: Digest,
    /// The table of the other machine.
    hidden: Digest,
    /// The header with a token for `local`.
    bearer: String,
}

fn admin() -> Actor {
    Actor {
        name: "administrator".to_owned(),
        scopes: vec![Scope::Admin],
        machines: Vec::new(),
    }
}

impl Divided {
    fn new() -> Self {
        let site = Site::with(|configuration, folder| {
            configuration.open_reading = false;
            let machine = |name: &str, own: &str| ServiceMachine {
                name: name.to_owned(),
                campaigns: vec![
                    format!("tuning/{own}.yaml"),
                    "tuning/shared.yaml".to_owned(),
                ],
                tasks: 1,
                node_hours: None,
                has_agent: false,
            };
            configuration.machines = vec![machine(MACHINE, "walled"), machine("local", "own")];
            std::fs::create_dir_all(folder.join("tuning/machines")).unwrap();
            let machines = include_str!("../../../../../tuning/machines/hydra.yaml");
            std::fs::write(folder.join("tuning/machines/hydra.yaml"), machines).unwrap();
            for name in ["walled", "own", "shared"] {
                let example = include_str!("../../../../../tuning/simulated-hydra.yaml");
                let campaign = example.replace("simulated-hydra", name);
                std::fs::write(folder.join(format!("tuning/{name}.yaml")), campaign).unwrap();
            }
        });
        // The task of the other machine has the number 1.
        for (machine, campaign) in [(MACHINE, "shared"), ("local", "own"), (MACHINE, "walled")] {
            let request = TaskRequest {
                kind: TaskKind::Tune,
                machine: Some(machine.to_owned()),
                campaign: Some(format!("tuning/{campaign}.yaml")),
                table: None,
                deployment: None,
                overrides: Overrides::default(),
            };
            site.service.submit_task(&admin(), &request, None).unwrap();
        }
        let [hidden, own] = [(MACHINE, WORD, "64K"), ("local", "own", "32K")].map(
            |(machine, name, block_bytes)| {
                let text = table(name, block_bytes);
                let taken = site.service.add_table(&admin(), machine, &text).unwrap();
                release(&site, machine, &taken.digest);
                taken.digest
            },
        );
        let token = site.token(&[Scope::Read, Scope::Submit, Scope::Publish], &["local"]);
        Self {
            bearer: format!("Authorization: Bearer {token}"),
            site,
            own,
            hidden,
        }
    }

    /// Sends a request with the token of `local`; `{machine}` and the like are replaced by these values.
    fn send(&self, bearer: &str, request: &Request, values: &[(&str, String)]) -> Answer {
        let filled = |text: &str| {
            values.iter().fold(text.to_owned(), |text, (name, value)| {
                text.replace(&format!("{{{name}}}"), value)
            })
        };
        let mut headers = vec![bearer, request.media];
        headers.extend(request.condition);
        let line = format!("{} {}", request.method, filled(&request.path));
        self.site.send(&line, &headers, &filled(&request.body))
    }

    /// The values of `local`.
    fn values(&self) -> Vec<(&'static str, String)> {
        let name = |name: &'static str, value: &str| (name, value.to_owned());
        vec![
            name("machine", "local"),
            name("library", LIBRARY),
            name("channel", "canary"),
            name("digest", self.own.as_str()),
            name("other", self.own.as_str()),
            name("format", "c-header"),
            name("id", "2"),
            name("campaign", "tuning/own.yaml"),
        ]
    }

    /// For each value: that of the other machine, and one that does not exist.
    fn others(&self) -> Vec<(&'static str, String, String)> {
        let unknown = Digest::of_bytes(b"none").to_string();
        let hidden = self.hidden.to_string();
        vec![
            ("machine", MACHINE.to_owned(), "absent-machine".to_owned()),
            ("digest", hidden.clone(), unknown.clone()),
            ("other", hidden, unknown),
            ("id", "1".to_owned(), "7777".to_owned()),
            (
                "campaign",
                "tuning/walled.yaml".to_owned(),
                "tuning/none.yaml".to_owned(),
            ),
        ]
    }
}

fn table(name: &str, block_bytes: &str) -> String {
    let rules = format!(
        "  allreduce:\n    message_size: bytes of one rank's vector\n    shapes:\n      - nodes: 1\n        ppn: 2\n        \
         rules:\n          - {{from: 0, candidate: default, confidence: high}}\n          - {{from: 1500, candidate: \
         allreduce/dual_root, block_bytes: {block_bytes}, speedup: 1.3, confidence: high, confirmed: true}}\n"
    );
    testkit::tables::table_yaml(name, "openmpi", "4.1.4", &rules)
}

fn release(site: &Site, machine: &str, digest: &Digest) {
    let key = ChannelKey {
        machine: machine.to_owned(),
        library: LIBRARY.to_owned(),
        channel: ReleaseChannel::Canary,
    };
    let request = ReleaseRequest {
        digest: Some(digest.clone()),
        action: ReleaseAction::Release,
        reason: format!("of {machine}"),
        override_gates: true,
    };
    site.service
        .make_release(&admin(), &key, &request, None)
        .unwrap();
}

/// A request, with `{machine}` and the like in its path and body.
#[derive(Clone, Debug)]
struct Request {
    method: String,
    path: String,
    body: String,
    media: &'static str,
    condition: Option<&'static str>,
}

const JSON: &str = "Content-Type: application/json";
const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

/// All operations of the interface, with several bodies and conditions, and all pages.
fn requests(document: &Value) -> Vec<Request> {
    let mut all = Vec::new();
    let mut add = |method: &str, path: &str, body: String, media, condition| {
        let (method, path) = (method.to_owned(), path.to_owned());
        all.push(Request {
            method,
            path,
            body,
            media,
            condition,
        });
    };
    let bodies = [
        json!({}),
        json!([]),
        json!({"kind": "tune", "campaign": "{campaign}"}),
        json!({"kind": "report", "campaign": "{campaign}", "machine": "{machine}"}),
        json!({"kind": "validate", "table": "{digest}", "machine": "local"}),
        json!({"kind": "check", "table": "{digest}", "machine": "{machine}"}),
        json!({"action": "release", "digest": "{digest}", "reason": "try"}),
        json!({"action": "rollback", "digest": "{digest}", "reason": "try"}),
        json!({"action": "withdraw", "reason": "try"}),
        json!({"name": "new", "scopes": ["read"], "machines": ["{machine}"]}),
    ];
    let conditions = [
        None,
        Some("If-Match: \"1\""),
        Some("If-None-Match: *"),
        Some("If-Match: \"1-{digest}\""),
    ];
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in ["GET", "POST", "DELETE"] {
            if !item[method.to_lowercase()].is_object() {
                continue;
            }
            let of_method = if method == "POST" {
                &bodies[..]
            } else {
                &bodies[..1]
            };
            for body in of_method {
                for condition in conditions {
                    add(method, path, body.to_string(), JSON, condition);
                }
            }
        }
    }
    let lookup = "/api/v1/machines/{machine}/libraries/{library}/channels/{channel}";
    for path in [
        "/api/v1/tasks?machine={machine}&campaign={campaign}",
        "/api/v1/machines/{machine}/tables?limit=1",
        &format!("{lookup}/lookup?collective=allreduce&nodes=1&ppn=2&bytes=64K"),
        &format!("{lookup}?client=n1"),
        "/metrics",
        "/healthz",
        "/readyz",
        "/",
        "/queue",
        "/queue?machine={machine}",
        "/queue?campaign={campaign}",
        "/tasks/{id}",
        "/campaigns",
        "/campaigns/{campaign}",
        "/campaigns/tuning/shared.yaml",
        "/tables",
        "/tables?machine={machine}",
        "/tables/{digest}",
        "/tables/{digest}?machine={machine}&channel=canary",
        "/tables/{digest}/diff?to={other}",
        "/channels",
        "/channels/{machine}/{library}/{channel}",
        "/machines/{machine}/libraries/{library}/channels/{channel}",
        "/tokens",
        "/audit",
        "/login?next=/tasks/{id}",
    ] {
        add("GET", path, String::new(), FORM, None);
    }
    let forms = [
        ("/queue", "kind=tune&campaign={campaign}&machine={machine}"),
        ("/queue", "kind=tune&campaign={campaign}"),
        ("/queue", "kind=validate&table={digest}&machine={machine}"),
        ("/tasks/{id}/cancel", ""),
        (
            "/tables/{digest}/release",
            "machine={machine}&library={library}&channel=canary&expected=1",
        ),
        (
            "/channels/{machine}/{library}/{channel}/rollback",
            "digest={digest}&reason=try&expected=1",
        ),
        (
            "/channels/{machine}/{library}/{channel}/withdraw",
            "reason=try&expected=1",
        ),
        ("/tokens", "name=new&scope=read&machine={machine}"),
        ("/tokens/{id}/revoke", ""),
    ];
    for (path, body) in forms {
        add("POST", path, body.to_owned(), FORM, None);
    }
    all
}

/// A stream of events, which does not end.
fn is_stream(request: &Request) -> bool {
    request.path.ends_with("/events")
}

#[test]
fn nothing_of_another_machine_is_named() {
    let divided = Divided::new();
    let document = divided.site.get("/api/v1/openapi.json").expect(200).json();
    let requests = requests(&document);
    assert!(requests.len() > 100, "{}", requests.len());
    let hidden = divided.hidden.to_string();
    let names = |answer: &Answer| {
        let text = format!("{}\n{}", answer.head, answer.body);
        let found = [
            WORD,
            &hidden[..12],
            "/tasks/1\"",
            "task 1<",
            "\"id\":1,",
            "\"id\":3,",
        ];
        found.into_iter().any(|name| text.contains(name))
    };
    let (owner, mut revealing) = (divided.site.bearer(), 0);
    for request in requests.iter().filter(|request| !is_stream(request)) {
        // The owner's answers name what this test looks for.
        if request.method == "GET" {
            let answer = divided.send(&owner, request, &divided.values());
            revealing += usize::from(names(&answer));
        }
        let answer = divided.send(&divided.bearer, request, &divided.values());
        assert!(!names(&answer), "{request:?}: {answer:?}");
        assert!(answer.status < 500, "{request:?}: {answer:?}");
    }
    assert!(revealing > 12, "{revealing}");
}

#[test]
fn what_belongs_to_another_machine_does_not_exist() {
    let divided = Divided::new();
    let document = divided.site.get("/api/v1/openapi.json").expect(200).json();
    let mut compared = 0;
    for request in requests(&document) {
        for (name, hidden, unknown) in divided.others() {
            let place = format!("{{{name}}}");
            if !request.path.contains(&place) && !request.body.contains(&place) {
                continue;
            }
            let answer = |value: &str| {
                let mut values = divided.values();
                let in_path = request.path.contains(&place) && name == "campaign";
                let sent = if in_path {
                    percent(value)
                } else {
                    value.to_owned()
                };
                for (of, given) in &mut values {
                    if *of == name {
                        given.clone_from(&sent);
                    }
                }
                let answer = divided.send(&divided.bearer, &request, &values);
                (answer.status, without(&answer.body, value))
            };
            let (hidden, unknown) = (answer(&hidden), answer(&unknown));
            assert_eq!(hidden, unknown, "{name} of {request:?}");
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
    // Nothing was changed there.
    let task = divided.site.service.read_task(1).unwrap();
    assert_eq!(task.state, service::TaskState::Waiting);
}

/// A body without the value that was sent, and without keys that differ from form to form.
fn without(body: &str, value: &str) -> String {
    // Every page has this, which a number 1 would match.
    let mut body = body.replace("initial-scale=1", "");
    for (before, after) in [
        ("`", "`"),
        (">", "<"),
        ("/", "\""),
        ("=", "\""),
        ("\"", "\""),
    ] {
        body = body.replace(&format!("{before}{value}{after}"), "(value)");
    }
    if value.len() > 6 {
        body = body
            .replace(value, "(value)")
            .replace(&value[..12.min(value.len())], "(value)");
    }
    let mut parts = body.split("value=\"page-");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.trim_start_matches(|c: char| c.is_ascii_digit())
    })
}

/// As after a withdrawal: a table that was never added to the machine.
#[test]
fn readers_of_a_machine_get_all_that_was_released_to_it() {
    let divided = Divided::new();
    let channel = format!("/api/v1/machines/local/libraries/{LIBRARY}/channels/canary");
    let withdraw = json!({"action": "withdraw", "reason": "slower"});
    let site = &divided.site;
    let released = site.post(&format!("{channel}/releases"), &["If-Match: *"], &withdraw);
    let digest = released.expect(201).json()["digest"]
        .as_str()
        .unwrap()
        .to_owned();
    let get = |path: &str| site.send(&format!("GET {path}"), &[&divided.bearer], "");
    assert_eq!(get(&channel).expect(200).json()["digest"], digest.as_str());
    get(&format!("/api/v1/blobs/{digest}")).expect(200);
    get(&format!("/api/v1/tables/{digest}")).expect(200);
    assert_eq!(get(&format!("/tables/{digest}")).status, 200);
    get(&format!("/api/v1/blobs/{}", divided.hidden)).expect(404);
}
