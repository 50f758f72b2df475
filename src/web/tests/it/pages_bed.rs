//! A service with pages, and a browser without script.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use service::{Actor, Configuration, Listen, NewToken, Scope, Service};
use tempfile::TempDir;
use testkit::html;
use web::Socket;

/// A running service. Its folder has the campaign `tuning/<i>&.yaml`.
pub(crate) struct Bed {
    pub(crate) service: Arc<Service>,
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
    _folder: TempDir,
}

/// A name that is markup.
pub(crate) const HOSTILE: &str = "<i>\"'&amp;</i><script>alert(1)</script>";

const CAMPAIGN: &str = "\
name: quick
launcher: {kind: simulated, machine: {latency: 1us, bandwidth: 10G}}
";

impl Bed {
    pub(crate) fn new(open_reading: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("tuning")).expect("a folder");
        std::fs::write(campaign(folder.path()), CAMPAIGN).expect("a campaign");
        let configuration = Configuration {
            listen: Listen::Address(([127, 0, 0, 1], 0).into()),
            open_reading,
            ..Configuration::of_folder(folder.path()).expect("a configuration")
        };
        let socket = Socket::open(&configuration).expect("a socket");
        let address = socket.address().expect("an address");
        // No task is started.
        let service = Service::open(configuration, "/bin/false".into()).expect("opened");
        let stop = Arc::new(AtomicBool::new(false));
        let (is_ready, ready) = channel();
        let (its, until) = (Arc::clone(&service), Arc::clone(&stop));
        let serving = thread::spawn(move || {
            let tell = move || is_ready.send(()).expect("waited for");
            web::serve(its, socket, until, tell).expect("served");
        });
        ready.recv_timeout(Duration::from_secs(20)).expect("ready");
        Self {
            service,
            address,
            stop,
            serving: Some(serving),
            _folder: folder,
        }
    }

    /// A browser that has logged in with a token of these scopes.
    pub(crate) fn browser(&self, scopes: &[Scope]) -> Browser {
        let new = NewToken {
            name: "tester".to_owned(),
            scopes: scopes.to_vec(),
            machines: Vec::new(),
            days: None,
        };
        let (secret, _) = self.service.make_token(&admin(), &new).expect("a token");
        let mut browser = self.stranger();
        let answer = browser.send("/login", &[("token", secret.expose())]);
        assert_eq!((answer.status, answer.location()), (303, "/"), "{}", answer.body);
        let cookie = answer.header("set-cookie").expect("a cookie");
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
        browser.cookie = cookie.split(';').next().expect("a pair").to_owned();
        browser
    }

    /// A browser without a session.
    pub(crate) fn stranger(&self) -> Browser {
        Browser {
            address: self.address,
            cookie: String::new(),
        }
    }
}

fn campaign(folder: &Path) -> std::path::PathBuf {
    folder.join("tuning/<i>&.yaml")
}

/// Who prepares a test.
pub(crate) fn admin() -> Actor {
    Actor {
        name: HOSTILE.to_owned(),
        scopes: vec![Scope::Admin],
        machines: Vec::new(),
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(serving) = self.serving.take() {
            // A panic there has failed the test already.
            let _ = serving.join();
        }
    }
}

/// Sends what a browser would.
pub(crate) struct Browser {
    address: SocketAddr,
    cookie: String,
}

/// What it was answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let (_, value) = lines.find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        Some(value)
    }

    pub(crate) fn location(&self) -> &str {
        self.header("location").unwrap_or_default()
    }
}

impl Browser {
    /// Asks for a page.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.exchange("GET", path, "")
    }

    /// A page that is there, after everything was checked that holds for every page.
    #[track_caller]
    pub(crate) fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        check(&answer);
        answer.body
    }

    /// Sends a form as its fields stand, with no form token unless it is among them.
    pub(crate) fn send(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let fields: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", percent(value)))
            .collect();
        self.exchange("POST", path, &fields.join("&"))
    }

    /// Sends a form of its own page.
    pub(crate) fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let page = self.page("/queue");
        let (_, rest) = page.split_once("name=\"form_token\" value=\"").expect("a token");
        let (token, _) = rest.split_once('"').expect("its end");
        self.send(path, &[&[("form_token", token)], fields].concat())
    }

    fn exchange(&self, method: &str, path: &str, body: &str) -> Answer {
        let Self { address, cookie } = self;
        let mut stream = TcpStream::connect(address).expect("connected");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nAccept: text/html\r\n\
             Cookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("UTF-8");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        Answer {
            status: head[9..12].parse().expect("a status"),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }
}

/// A text in a form or a query.
pub(crate) fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// What holds for every page, also those of problems.
#[track_caller]
pub(crate) fn check(answer: &Answer) {
    let media = answer.header("content-type").unwrap_or_default();
    assert!(media.starts_with("text/html"), "{media}");
    let policy = answer.header("content-security-policy").expect("a policy");
    assert!(!policy.contains("unsafe"), "{policy}");
    let page = &answer.body;
    html::check(page);
    html::check_accessible(page);
    html::check_nothing_inline(page);
    assert!(!page.contains("<script>alert"), "markup of a name is markup of the page");
    for address in ["href", "src", "action"].iter().flat_map(|name| html::attributes(page, name)) {
        let is_own = address.starts_with('/') && !address.starts_with("//");
        assert!(is_own || address.starts_with('#'), "{address} leads elsewhere");
    }
}
