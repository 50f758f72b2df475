//! Output of a task's programs that tries to become more than text: on pages, in JSON, in event streams, at terminals.
//! The service carries out tasks with a script in place of colltune itself, which would escape some of it.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use answers::PrintedEvent;
use serde_json::{Value, json};
use service::{Actor, Configuration, Listen, Scope, Service, TaskId, TaskKind, TaskRequest};

use crate::chromium::Browser;
use crate::run::Place;

/// Ends elements, attributes, comments and CDATA, and runs a script if that works.
const MARKUP: &str = "</pre></textarea>\"'--> ]]><script>window.owned = 1</script><img src=x onerror=window.owned=1>";

/// Clears the screen, sets the title of the terminal, turns the text round, ends a line early, and is no UTF-8.
const BYTES: &[u8] =
    b"\x1b[2J\x1b]0;owned\x07\xc2\x9b31m \xe2\x80\xae owned \0 \x08\x7f \xff\xfe 50 %\r60 %\r\n";

/// A frame of an event stream, as part of a text.
const FRAME: &str =
    "owned\r\n\r\nid: 1\r\nevent: release\ndata: {\"event\": \"release\"}\n\n: comment\n\n";

const CAMPAIGN: &str =
    "name: small\nlauncher: simulated\nshapes: [2x2]\ncollectives: [bcast]\nsizes: 64\n";

struct Site {
    place: Place,
    service: Arc<Service>,
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Site {
    /// A service whose tasks print these events and this log, and fail once the file `go` exists.
    fn start(events: &[Value], log: &[u8]) -> Self {
        let place = Place::new();
        place.write("tuning/small.yaml", CAMPAIGN);
        let events: String = events.iter().map(|event| format!("{event}\n")).collect();
        place.write("events", events);
        place.write("log", log);
        place.write(
            "task",
            "#!/bin/sh\ncat log >&2; cat events\nwhile [ ! -e go ]; do sleep 0.05; done\nexit 2\n",
        );
        let executable = place.path("task");
        fs::set_permissions(&executable, fs::Permissions::from_mode(0o755)).unwrap();

        let mut configuration = Configuration::for_folder(&place.path("")).unwrap();
        configuration.listen = Listen::Address("127.0.0.1:0".parse().unwrap());
        let socket = web::Socket::open(&configuration).unwrap();
        let address = socket.address().unwrap();
        let service = Service::open(configuration, executable).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, ready) = mpsc::channel();
        let serving = std::thread::spawn({
            let (service, stop) = (Arc::clone(&service), Arc::clone(&stop));
            move || {
                web::serve_requests(service, socket, stop, move || tell.send(()).unwrap()).unwrap()
            }
        });
        let running = std::thread::spawn({
            let (service, stop) = (Arc::clone(&service), Arc::clone(&stop));
            move || service.run_tasks(&stop)
        });
        ready.recv().unwrap();
        Self {
            place,
            service,
            address,
            stop,
            threads: vec![serving, running],
        }
    }

    fn submit(&self) -> TaskId {
        let admin = Actor {
            name: "test".to_owned(),
            scopes: vec![Scope::Admin],
            machines: Vec::new(),
        };
        let request = TaskRequest {
            kind: TaskKind::Tune,
            machine: None,
            campaign: Some("tuning/small.yaml".to_owned()),
            table: None,
            deployment: None,
            overrides: service::Overrides::default(),
        };
        self.service
            .submit_task(&admin, &request, None)
            .unwrap()
            .task
            .id
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Opens a connection with a request.
    fn ask(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let limit = Some(Duration::from_secs(20));
        stream.set_read_timeout(limit).unwrap();
        let host = self.address;
        let lines = "Connection: close\r\nAccept: text/html, */*";
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\n{lines}\r\n\r\n"
        )
        .unwrap();
        stream
    }

    /// The head and the body of an answer.
    fn get(&self, path: &str) -> (String, Vec<u8>) {
        let mut answer = Vec::new();
        self.ask(path).read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let body = answer.split_off(end.unwrap() + 4);
        let head = String::from_utf8(answer).unwrap().to_lowercase();
        assert!(head.contains("x-content-type-options: nosniff"), "{head}");
        (head, body)
    }

    /// Runs `colltune remote`, and fails if its output could control a terminal.
    fn remote(&self, args: &[&str]) -> (Option<i32>, String) {
        let url = self.url();
        let args = [&["remote", "--url", &url], args].concat();
        let ran = self.place.run(&args);
        for text in [&ran.out, &ran.err] {
            let found = text
                .chars()
                .find(|&c| c.is_control() && c != '\n' && c != '\t');
            assert_eq!(found, None, "{args:?}: {text:?}");
        }
        (ran.code, ran.out)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.place.write("go", "");
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

/// What a task reports: each text is in each kind of event that pages show.
fn events() -> Vec<Value> {
    let terminal = String::from_utf8_lossy(BYTES);
    let all = format!("{MARKUP}{terminal}");
    let texts = [FRAME, &terminal, &all];
    let of_one = |text: &&str| {
        [
            json!({"event": "queued", "id": text, "reason": text}),
            json!({"event": "running", "id": text, "nodes": [text, text]}),
            json!({"event": "failed", "candidate": text, "subject": text}),
            json!({"event": "replaces", "library": text}),
            json!({"event": text, text.to_owned(): text}),
            json!({"event": "release", "release": {"sequence": 99, "reason": text}, "id": 7}),
            json!({"event": "launch", "number": 1e300, "left_seconds": -1e308}),
            // The last one is shown.
            json!({"event": "died", "number": 4, "message": text, "left_seconds": -1e308,
                "progress": {"done": u64::MAX, "total": 1}}),
        ]
    };
    texts.iter().flat_map(of_one).collect()
}

fn log() -> Vec<u8> {
    let long = "long ".repeat(40_000);
    let last = [b"error: ", MARKUP.as_bytes(), BYTES].concat();
    [
        MARKUP.as_bytes(),
        b"\n",
        FRAME.as_bytes(),
        BYTES,
        long.as_bytes(),
        b"\n",
        &last,
    ]
    .concat()
}

/// Waits until the last event is shown.
fn until_reported(site: &Site, id: TaskId) {
    let end = Instant::now() + Duration::from_secs(20);
    let is_last = |event: PrintedEvent| {
        let event = serde_json::to_value(event).unwrap();
        event["event"] == "died" && event["message"].to_string().contains("60 %")
    };
    while !site.service.feed().last_progress(id).is_some_and(is_last) {
        assert!(Instant::now() < end, "{:?}", site.service.read_task(id));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn what_programs_print_stays_text_everywhere() {
    let site = Site::start(&events(), &log());
    let mut stream = site.ask("/api/v1/events");
    let mut start = [0; 15];
    stream.read_exact(&mut start).unwrap();
    let id = site.submit();
    until_reported(&site, id);
    let task = format!("/tasks/{id}");
    let (head, page) = site.get(&task);
    assert!(head.contains("text/html"), "{head}");
    check_page(&page);
    check_page(&site.get("/").1);

    site.place.write("go", "");
    let (code, watched) = site.remote(&["watch", "1"]);
    assert_eq!(code, Some(2), "{watched}");
    for path in [&task, "/queue"] {
        check_page(&site.get(path).1);
    }
    check_stream(stream);
    for args in [
        &["task", "1"][..],
        &["task", "1", "--json"],
        &["tasks"],
        &["tasks", "--json"],
    ] {
        assert_eq!(site.remote(args).0, Some(0));
    }

    let (log_head, body) = site.get("/api/v1/tasks/1/log");
    assert!(
        log_head.contains("content-type: application/json\r\n"),
        "{log_head}"
    );
    assert!(
        !body.iter().any(|byte| *byte < b' '),
        "control characters in JSON"
    );
    let body: Value = serde_json::from_slice(&body).unwrap();
    let text = body["text"].as_str().unwrap();
    assert!(text.contains(MARKUP) && text.contains("\u{1b}[2J") && text.contains('\u{fffd}'));
    let (_, plain) = site.remote(&["log", "1"]);
    assert!(
        plain.contains(MARKUP) && plain.contains("\\u001b[2J"),
        "{plain}"
    );
    let (_, printed) = site.remote(&["log", "1", "--json"]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["text"], text);
}

#[track_caller]
fn check_page(page: &[u8]) {
    let page = String::from_utf8(page.to_vec()).unwrap();
    assert!(page.contains("&lt;script&gt;window.owned"), "{page}");
    for markup in ["<script>", "<img src=x", "]]><", "</pre></textarea>"] {
        assert!(!page.contains(markup), "{markup}: {page}");
    }
    // A line of 200 KB is cut off, and a number of 300 digits is not shown.
    assert!(page.len() < 100_000, "{}", page.len());
    assert!(!page.contains("minutes of the budget are left"), "{page}");
}

/// Checks each frame that has come: name, number and one line of JSON.
fn check_stream(mut stream: TcpStream) {
    let mut bytes = vec![0; 1 << 20];
    stream
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let mut length = 0;
    while let Ok(read @ 1..) = stream.read(&mut bytes[length..]) {
        length += read;
    }
    let text = String::from_utf8(bytes[..length].to_vec()).unwrap();
    let (_, chunks) = text.split_once("\r\n\r\n").unwrap();
    let mut names = Vec::new();
    for frame in unchunked(chunks)
        .split("\n\n")
        .filter(|frame| !frame.is_empty())
    {
        let lines: Vec<&str> = frame.split('\n').collect();
        let [first, second, third] = lines[..] else {
            panic!("{frame:?}")
        };
        let mut fields = [first, second, third];
        fields.sort();
        let [data, name, number] = fields;
        let value: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        let number: u64 = number.strip_prefix("id: ").unwrap().parse().unwrap();
        let name = name.strip_prefix("event: ").unwrap();
        assert_eq!(
            (&value["event"], &value["id"]),
            (&json!(name), &json!(number))
        );
        // JSON escapes what would end a line or a frame.
        assert!(!frame.contains(|c: char| c < ' ' && c != '\n'), "{frame:?}");
        names.push(name.to_owned());
    }
    names.sort();
    let progress = names.iter().filter(|name| *name == "progress").count();
    names.dedup();
    assert_eq!(
        (names, progress),
        (
            vec!["progress".to_owned(), "task".to_owned()],
            events().len()
        )
    );
}

/// The content of a chunked body, as far as it has come.
fn unchunked(text: &str) -> String {
    let (mut rest, mut content) = (text, String::new());
    while let Some((length, after)) = rest.split_once("\r\n") {
        let Ok(length) = usize::from_str_radix(length, 16) else {
            break;
        };
        let Some(chunk) = after.get(..length) else {
            break;
        };
        content += chunk;
        rest = after.get(length + 2..).unwrap_or_default();
    }
    content
}

#[test]
fn a_browser_runs_nothing_that_programs_print() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let site = Site::start(&events(), &log());
    let id = site.submit();
    until_reported(&site, id);
    browser.open(&format!("{}/tasks/{id}", site.url()));
    let title = browser.evaluate("return document.title");
    assert!(browser.text("#log").contains("<script>window.owned"));
    // The script of the page replaces its parts when the task ends.
    site.place.write("go", "");
    browser.wait("ended", || browser.text("#state .badge").contains("failed"));
    assert!(browser.text("#state").contains("<script>window.owned"));
    browser.open(&format!("{}/queue", site.url()));
    assert!(browser.text("main").contains("<script>window.owned"));
    assert_eq!(browser.evaluate("return window.owned ?? null"), Value::Null);
    assert!(!title.as_str().unwrap().contains("owned"));
    browser.assert_quiet(&site.url());
}
