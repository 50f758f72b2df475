//! An HTTP server on loopback with scripted, possibly faulty, answers.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, sleep};
use std::time::Duration;

use sha2::{Digest, Sha256};

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// `GET` and the like.
    pub method: String,
    /// The path with the query.
    pub path: String,
    /// The headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The bytes after the headers.
    pub body: String,
}

/// A scripted answer: pieces of bytes, each sent after a pause; then the connection is closed.
#[derive(Clone, Debug, Default)]
pub struct Reply(Vec<(Duration, Vec<u8>)>);

impl Reply {
    /// An answer with a `Content-Length`.
    pub fn new(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut text = format!("HTTP/1.1 {status} Status\r\nconnection: close\r\n");
        if status != 304 {
            text += &format!("content-length: {}\r\n", body.len());
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        let mut bytes = (text + "\r\n").into_bytes();
        bytes.extend(body);
        Self(vec![(Duration::ZERO, bytes)])
    }

    /// An answer in JSON.
    pub fn json(status: u16, body: &str) -> Self {
        Self::new(status, &[("content-type", "application/json")], body)
    }

    /// An error response in JSON (RFC 9457).
    pub fn problem(status: u16, detail: &str) -> Self {
        let body = format!("{{\"status\": {status}, \"title\": \"T\", \"detail\": \"{detail}\"}}");
        Self::new(
            status,
            &[("content-type", "application/problem+json")],
            body,
        )
    }

    /// An answer of raw bytes.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self(vec![(Duration::ZERO, bytes.into())])
    }

    /// The same without its last bytes.
    #[must_use]
    pub fn without_last(mut self, bytes: usize) -> Self {
        if let Some((_, last)) = self.0.last_mut() {
            last.truncate(last.len().saturating_sub(bytes));
        }
        self
    }

    /// The same, each byte after a pause.
    #[must_use]
    pub fn byte_by_byte(self, pause: Duration) -> Self {
        let bytes = self.0.into_iter().flat_map(|(_, bytes)| bytes);
        Self(bytes.map(|byte| (pause, vec![byte])).collect())
    }

    /// The same after a pause.
    #[must_use]
    pub fn after_pause(mut self, pause: Duration) -> Self {
        self.0.insert(0, (pause, Vec::new()));
        self
    }
}

/// A running server; it lives as long as the process.
#[derive(Clone, Debug)]
pub struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<HttpRequest>>>,
}

impl Server {
    /// Starts a server at a free port. Each request is answered by `answer`, in its own thread.
    ///
    /// # Panics
    /// If no port is free.
    pub fn start(answer: impl Fn(&HttpRequest) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let received = Arc::default();
        let server = Self {
            address,
            requests: received,
        };
        let (answer, requests) = (Arc::new(answer), Arc::clone(&server.requests));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, requests) = (Arc::clone(&answer), Arc::clone(&requests));
                thread::spawn(move || serve_request(stream, &*answer, &requests));
            }
        });
        server
    }

    /// Its URL, as in `http://127.0.0.1:40000`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<HttpRequest> {
        lock_mutex(&self.requests).clone()
    }
}

/// Starts a server at a Unix socket, which lives as long as the process.
///
/// # Panics
/// If the socket cannot be made.
pub fn serve_at(socket: &Path, answer: impl Fn(&HttpRequest) -> Reply + Send + 'static) {
    let listener = UnixListener::bind(socket).expect("a socket");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            serve_request(stream, &answer, &Mutex::default());
        }
    });
}

fn serve_request(
    stream: impl Read + Write,
    answer: &dyn Fn(&HttpRequest) -> Reply,
    seen: &Mutex<Vec<HttpRequest>>,
) {
    let mut stream = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        Some(line.trim_end().to_owned())
    };
    let Some(first) = line() else { return };
    let mut words = first.split(' ').map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return;
    };
    let mut headers = BTreeMap::new();
    while let Some((name, value)) = line().as_deref().and_then(|line| line.split_once(": ")) {
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").and_then(|n| n.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    if stream.read_exact(&mut body).is_err() {
        return;
    }
    let request = HttpRequest {
        method,
        path,
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    lock_mutex(seen).push(request.clone());
    for (pause, bytes) in answer(&request).0 {
        sleep(pause);
        if stream.get_mut().write_all(&bytes).is_err() {
            return;
        }
    }
}

/// A service that publishes one channel: `/api/v1/machines/here/libraries/openmpi-4.1.4/channels/production`.
#[derive(Clone, Debug, Default)]
pub struct Site(Arc<Mutex<PublishedTables>>);

#[derive(Debug, Default)]
struct PublishedTables {
    sequence: u64,
    /// Digests, the current one last.
    released: Vec<String>,
    blobs: BTreeMap<String, Vec<u8>>,
}

impl Site {
    /// The path of the channel.
    pub const CHANNEL: &str = "/api/v1/machines/here/libraries/openmpi-4.1.4/channels/production";

    /// Releases a table, and returns its digest.
    pub fn release_table(&self, text: impl AsRef<[u8]>) -> String {
        let bytes = text.as_ref().to_vec();
        let digest = Sha256::digest(&bytes);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut published = lock_mutex(&self.0);
        published.sequence += 1;
        published.released.retain(|other| *other != digest);
        published.released.push(digest.clone());
        published.blobs.insert(digest.clone(), bytes);
        digest
    }

    /// Keeps only this many of the newest tables.
    pub fn keep_newest(&self, newest: usize) {
        let mut published = lock_mutex(&self.0);
        let old = published.released.len().saturating_sub(newest);
        published.released.drain(..old);
        published.sequence += 1;
    }

    /// Answers a request.
    pub fn answer_request(&self, request: &HttpRequest) -> Reply {
        let published = lock_mutex(&self.0);
        if let Some(digest) = request.path.strip_prefix("/api/v1/blobs/") {
            return match published.blobs.get(digest) {
                Some(bytes) => Reply::new(200, &[], bytes),
                None => Reply::problem(404, "there is no table of this digest"),
            };
        }
        let path = request.path.split('?').next();
        let is_channel = path == Some(Self::CHANNEL);
        let Some(digest) = published.released.last().filter(|_| is_channel) else {
            return Reply::problem(404, "there is no such channel");
        };
        let etag = format!("\"{}\"", published.sequence);
        if request.headers.get("if-none-match") == Some(&etag) {
            return Reply::new(304, &[("etag", &etag)], "");
        }
        let keep: Vec<_> = published
            .released
            .iter()
            .rev()
            .map(|d| format!("\"{d}\""))
            .collect();
        let body = format!(
            "{{\"machine\": \"here\", \"library\": \"openmpi-4.1.4\", \"channel\": \"production\", \
             \"sequence\": {}, \"digest\": \"{digest}\", \"keep\": [{}]}}",
            published.sequence,
            keep.join(", ")
        );
        Reply::new(200, &[("etag", &etag)], body)
    }
}

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
