//! `colltune serve` as a process: its output, its message to systemd when it is ready, and its end.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::run::Place;
use crate::unit;

/// A service that ends with the test.
pub(crate) struct Serving {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Serving {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    /// A line of standard output.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The address that it prints first.
    pub(crate) fn address(&mut self) -> String {
        let line = self.line();
        let (_, url) = line
            .split_once(" at http://")
            .unwrap_or_else(|| panic!("{line}"));
        url.trim_end_matches('/').to_owned()
    }

    /// Its standard error, if `command` pipes it.
    pub(crate) fn stderr(&mut self) -> ChildStderr {
        self.child.stderr.take().unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(pid(&self.child), signal).unwrap();
    }

    fn end(mut self, signal: Signal) -> ExitStatus {
        let start = Instant::now();
        self.signal(signal);
        let status = self.child.wait().unwrap();
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{:?}",
            start.elapsed()
        );
        status
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap())
}

/// The status of the answer to a GET.
fn get(address: &str, path: &str, header: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn a_folder_is_served_with_an_address_and_a_token() {
    let place = Place::new();
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut serving = Serving::start(&mut command);
        let address = serving.address();
        let line = serving.line();
        let token = line
            .strip_prefix("token for changes: ")
            .unwrap_or_else(|| panic!("{line}"));
        let kept = place.path("service/token");
        assert_eq!(std::fs::read_to_string(&kept).unwrap().trim(), token);
        assert_eq!(
            std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(get(&address, "/readyz", ""), "200");
        assert_eq!(get(&address, "/api/v1/tokens", ""), "401");
        assert_eq!(
            get(
                &address,
                "/api/v1/tokens",
                &format!("Authorization: Bearer {token}\r\n")
            ),
            "200"
        );
        // A second service in this folder, or at this address, is refused.
        for args in [
            ["serve", "--listen", "127.0.0.1:0"],
            ["serve", "--listen", &address],
        ] {
            let ran = place.run(&args);
            assert_eq!(ran.code, Some(3), "{ran:?}");
        }
        assert_eq!(serving.end(signal).code(), Some(0));
    }
}

/// Nothing is silent: the service cannot open the folders above its own.
#[test]
fn a_configured_service_says_that_jobs_cannot_reach_its_channels() {
    let place = Place::new();
    place.write("service.yaml", "listen: 127.0.0.1:0\n");
    for (mode, expected) in [(0o700, true), (0o711, false)] {
        let opened = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.path(""), opened).unwrap();
        let err_file = std::fs::File::create(place.path("err")).unwrap();
        let mut command = place.command(&["serve", "--config", "service.yaml"]);
        let mut serving = Serving::start(command.stderr(err_file));
        serving.address();
        assert_eq!(serving.end(Signal::SIGTERM).code(), Some(0));
        let warning = "jobs of other users cannot read the channels: ";
        let err = place.read("err");
        assert_eq!(err.contains(warning), expected, "{mode:o}: {err}");
    }
}

/// The answer to a request with a token.
fn answer(address: &str, line: &str, token: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The state is on a small file system, which only the service sees.
#[test]
fn a_full_disk_is_reported_until_there_is_space() {
    let works = Command::new("unshare").args(["--mount", "true"]).status();
    let works = works.is_ok_and(|status| status.success());
    if testkit::require("namespaces and other users", works.then_some(())).is_none() {
        return;
    }
    let place = Place::new();
    std::fs::create_dir(place.path("service")).unwrap();
    let here = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut there = Command::new("unshare");
    let script = "mount -t tmpfs -o size=8m,mode=0700 none service && exec \"$0\" \"$@\"";
    there.args(["--mount", "sh", "-c", script]);
    there.arg(here.get_program()).args(here.get_args());
    let errors = File::create(place.path("errors")).unwrap();
    there.current_dir(place.path("")).stderr(errors);
    let mut serving = Serving::start(&mut there);
    let address = serving.address();
    let line = serving.line();
    let token = line.strip_prefix("token for changes: ").unwrap();
    let change = |name: &str| {
        let new = format!("{{\"name\": \"{name}\", \"scopes\": [\"read\"]}}");
        let answer = answer(&address, "POST /api/v1/tokens", token, &new);
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    let count_problems = || {
        let metrics = answer(&address, "GET /metrics", token, "");
        let mut lines = metrics.lines();
        let number = lines.find_map(|metric| metric.strip_prefix("colltune_problems "));
        number.unwrap().to_owned()
    };
    let reports = || {
        loop {
            let before = count_problems();
            let overview = answer(&address, "GET /", token, "");
            // The disk is looked at in between, too.
            if before == count_problems() {
                let is_told = overview.contains("is full: changes are refused");
                assert_eq!(before != "0", is_told, "{overview}");
                return before;
            }
        }
    };
    assert_eq!((change("first").as_str(), reports().as_str()), ("201", "0"));
    let state = format!(
        "/proc/{}/root{}",
        pid(&serving.child),
        place.path("service").display()
    );
    let filler = Path::new(&state).join("filler");
    let mut file = File::create(&filler).unwrap();
    while file.write_all(&[b'x'; 4096]).is_ok() {}
    // The database may have a little room left in its log.
    let refused = (0..1000).any(|number| change(&format!("token {number}")) == "507");
    assert!(refused);
    assert_eq!(reports(), "1");
    assert!(
        place
            .read("errors")
            .contains("is full: changes are refused")
    );
    assert_eq!(get(&address, "/api/v1/machines", ""), "200");
    std::fs::remove_file(&filler).unwrap();
    drop(file);
    let start = Instant::now();
    while reports() != "0" {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(change("last"), "201");
}

#[test]
fn serve_says_why_it_cannot_start() {
    let place = Place::new();
    place.write("service.yaml", "listen: 0.0.0.0:0\n");
    place.write("other.yaml", "colour: red\n");
    for (args, code, expected) in [
        (
            &["serve", "--config", "service.yaml"][..],
            2,
            "not be encrypted",
        ),
        (&["serve", "--config", "other.yaml"], 2, "colour"),
        (&["serve", "--config", "absent.yaml"], 2, "absent.yaml"),
        (&["serve", "absent"], 2, "absent"),
        (&["serve", "--listen", "0.0.0.0:0"], 2, "without TLS"),
        (&["serve", "--listen", "somewhere"], 2, "127.0.0.1:8000"),
    ] {
        let ran = place.run(args);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.err.contains(expected), "{ran:?}");
    }
}

#[test]
fn a_socket_of_systemd_is_used_and_systemd_is_notified() {
    if unit::systemd("systemd-socket-activate").is_none() {
        return;
    }
    let place = Place::new();
    place.write("service.yaml", "listen: 127.0.0.1:1\n");
    let told = UnixDatagram::bind(place.path("notify")).unwrap();
    told.set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let address = format!("127.0.0.1:{port}");
    let colltune = place.command(&[]);
    let mut command = Command::new("systemd-socket-activate");
    command
        .arg(format!("--listen={address}"))
        .arg(format!(
            "--setenv=NOTIFY_SOCKET={}",
            place.path("notify").display()
        ))
        .arg(colltune.get_program())
        .args(["serve", "--config", "service.yaml"])
        .current_dir(place.path(""))
        .stderr(Stdio::null());
    let serving = Serving::start(&mut command);
    let deadline = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(&address).is_err() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut message = [0; 64];
    let read = told.recv(&mut message).unwrap();
    assert_eq!(&message[..read], b"READY=1\n");
    assert_eq!(get(&address, "/healthz", ""), "200");
    assert_eq!(serving.end(Signal::SIGTERM).code(), Some(0));
    let last_read = told.recv(&mut message).unwrap();
    assert_eq!(&message[..last_read], b"STOPPING=1\n");
}
