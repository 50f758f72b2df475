//! A service in a temporary folder, and a client that sends given requests.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;
use service::{Actor, Configuration, Listen, NewToken, Scope, Service};
use tempfile::TempDir;
use web::{Socket, WebError};

/// A service that is served on this host.
pub(crate) struct Site {
    pub(crate) service: Arc<Service>,
    /// The token of its owner.
    pub(crate) owner: String,
    pub(crate) address: Option<SocketAddr>,
    stop: Arc<AtomicBool>,
    serving: Option<JoinHandle<Result<(), WebError>>>,
    folder: TempDir,
}

impl Site {
    pub(crate) fn new() -> Self {
        Self::with(|_, _| {})
    }

    /// With the machines `local` and `other`.
    pub(crate) fn of_two_machines(change: impl FnOnce(&mut Configuration)) -> Self {
        Self::with(|configuration, _| {
            let mut other = configuration.machines[0].clone();
            other.name = "other".to_owned();
            configuration.machines.push(other);
            change(configuration);
        })
    }

    /// With another configuration; the second argument is the site's folder.
    pub(crate) fn with(change: impl FnOnce(&mut Configuration, &Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut configuration = Configuration::for_folder(folder.path()).unwrap();
        configuration.listen = Listen::Address((Ipv4Addr::LOCALHOST, 0).into());
        change(&mut configuration, folder.path());
        let socket = Socket::open(&configuration).unwrap();
        let address = socket.address();
        let service = Service::open(configuration, "colltune".into()).unwrap();
        let owner = service.owner_token().unwrap().expose().to_owned();
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, ready) = mpsc::channel();
        let serving = std::thread::spawn({
            let (service, stop) = (Arc::clone(&service), Arc::clone(&stop));
            move || web::serve_requests(service, socket, stop, move || tell.send(()).unwrap())
        });
        ready.recv().unwrap();
        Self {
            service,
            owner,
            address,
            stop,
            serving: Some(serving),
            folder,
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A token with these scopes.
    pub(crate) fn token(&self, scopes: &[Scope], machines: &[&str]) -> String {
        let admin = Actor {
            name: "test".to_owned(),
            scopes: vec![Scope::Admin],
            machines: Vec::new(),
        };
        static TOKENS: AtomicU32 = AtomicU32::new(0);
        let new = NewToken {
            name: format!("test {}", TOKENS.fetch_add(1, Ordering::Relaxed)),
            scopes: scopes.to_vec(),
            machines: machines.iter().map(|&name| name.to_owned()).collect(),
            days: None,
        };
        let (secret, _) = self.service.make_token(&admin, &new).unwrap();
        secret.expose().to_owned()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address.unwrap()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        stream
    }

    /// Sends a request with headers, each `Name: value`, on a new connection.
    pub(crate) fn send(&self, line: &str, headers: &[&str], body: &str) -> Answer {
        let text = self.request(line, headers, body);
        exchange(self.connect(), text.as_bytes())
    }

    /// The same as the user `nobody`, which needs root.
    pub(crate) fn send_as_nobody(&self, line: &str, headers: &[&str], body: &str) -> Answer {
        let port = self.address.unwrap().port();
        let script = "exec 3<>/dev/tcp/127.0.0.1/$0 && cat >&3 && exec cat <&3";
        let mut command = Command::new("setpriv");
        let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        command
            .args(nobody)
            .args(["bash", "-c", script, &port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut running = command.spawn().unwrap();
        let text = self.request(line, headers, body);
        let mut stdin = running.stdin.take().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        drop(stdin);
        Answer::of(&running.wait_with_output().unwrap().stdout)
    }

    fn request(&self, line: &str, headers: &[&str], body: &str) -> String {
        let host = self.address.unwrap();
        let mut text = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|header| header.starts_with("Host:")) {
            text += &format!("Host: {host}\r\n");
        }
        for header in headers {
            text += &format!("{header}\r\n");
        }
        if !body.is_empty() || line.starts_with("POST") {
            text += &format!("Content-Length: {}\r\n", body.len());
        }
        text += "\r\n";
        text += body;
        text
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path}"), &[], "")
    }

    /// Sends JSON with the owner's token.
    pub(crate) fn post(&self, path: &str, headers: &[&str], body: &Value) -> Answer {
        let token = self.bearer();
        let mut all = vec![token.as_str(), "Content-Type: application/json"];
        all.extend(headers);
        self.send(&format!("POST {path}"), &all, &body.to_string())
    }

    /// The header with the owner's token.
    pub(crate) fn bearer(&self) -> String {
        format!("Authorization: Bearer {}", self.owner)
    }

    /// Ends the service and returns when it has ended.
    pub(crate) fn end(&mut self) -> Result<(), WebError> {
        self.stop.store(true, Ordering::Relaxed);
        self.serving.take().unwrap().join().unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if self.serving.is_some() {
            let ended = self.end();
            assert!(ended.is_ok() || std::thread::panicking(), "{ended:?}");
        }
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// 0 if the connection was closed without one.
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        Self {
            status: status.unwrap_or(0),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Fails unless the status is this one, and an error is a problem in JSON.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        if status >= 400 {
            assert_eq!(
                self.header("content-type"),
                Some("application/problem+json")
            );
            let json = self.json();
            assert_eq!(json["status"], status);
            assert!(
                json["detail"]
                    .as_str()
                    .is_some_and(|detail| !detail.is_empty())
            );
        }
        self
    }
}

/// Writes and reads until the other end closes.
pub(crate) fn exchange(mut stream: impl Read + Write, bytes: &[u8]) -> Answer {
    // A server that refuses a request need not read it to its end.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    Answer::of(&answer)
}

pub(crate) fn exchange_at_socket(path: &Path, text: &str) -> Answer {
    let stream = UnixStream::connect(path).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    exchange(stream, text.as_bytes())
}
