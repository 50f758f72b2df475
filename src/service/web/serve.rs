//! The accept loop. It limits the time that headers take and the number of connections; `axum::serve` does not.

use std::convert::Infallible;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use printable::Plain;
use rustix::process::{Resource, getrlimit, setrlimit};
use sd_notify::NotifyState;
use service::Service;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

use crate::document::PROBLEM;
use crate::listen::{Listener, Socket, write_at_once};
use crate::peer::Peer;
use crate::pools::{THREADS, refuse_full};
use crate::shares::{Full, Shares, TakenPlace};
use crate::tls::{self, Encryption};
use crate::{App, WebError, routes};

/// The most connections at a time. Further ones, and those beyond a client's share, are refused at once, with a status
/// unless TLS is used.
const CONNECTIONS: usize = 2048;
/// The longest time for a TLS handshake, and for the headers of a request.
const HEADERS: Duration = Duration::from_secs(10);
/// The longest request line and headers, in bytes.
const HEADER_BYTES: usize = 32 << 10;
const HEADER_LINES: usize = 64;
/// The time that running requests may take when the service stops.
const GRACE: Duration = Duration::from_secs(3);
/// The interval at which `stop` is read.
const LOOK: Duration = Duration::from_millis(200);

/// The answer to a connection for which there is no place.
fn encode_refusal(full: Full) -> Vec<u8> {
    let problem = refuse_full(full, "connections are open");
    let body = problem.json_body();
    let head = format!(
        "HTTP/1.1 {} {}\r\nRetry-After: 1\r\nContent-Type: {PROBLEM}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        problem.status.as_u16(),
        problem.title,
        body.len(),
    );
    [head.into_bytes(), body].concat()
}

/// Serves the interface and the pages until `stop` is set. Then running requests are answered and event streams end,
/// within five seconds. The threads started here run at a lower priority ([`service::lower_priority`]) and end before
/// this returns; the caller's thread keeps its priority. `ready` is called once connections are accepted.
///
/// # Errors
/// [`WebError`], before any connection is accepted.
pub fn serve_requests(
    service: Arc<Service>,
    socket: Socket,
    stop: Arc<AtomicBool>,
    ready: impl FnOnce() + Send + 'static,
) -> Result<(), WebError> {
    // TLS does not apply to a Unix socket that systemd passes.
    let tls = service.configuration().tls.as_ref();
    let tls = tls.filter(|_| socket.address().is_some());
    let tls = tls.map(Encryption::new).transpose()?;
    raise_open_files();
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(THREADS)
        .thread_name("web")
        .on_thread_start(service::lower_priority)
        .enable_all()
        .build()
        .map_err(WebError::Threads)?;
    let place = format!("{socket:?}");
    let (ends, ending) = watch::channel(false);
    let accepting = async move {
        let listener = socket
            .into_listener()
            .map_err(|source| WebError::Listen { place, source })?;
        if let Some(tls) = tls.clone() {
            tokio::spawn(tls.keep_renewed(tls::receive_hangups()?, Arc::clone(&service)));
        }
        let app = App::new(service, ending)?;
        let server = Server {
            connections: Shares::new(CONNECTIONS),
            is_behind_proxy: app.service.configuration().behind_proxy,
            router: routes::build_router(app.clone()),
            graceful: GracefulShutdown::new(),
            http: http_builder(),
            tls,
        };
        let pulls = tokio::spawn(app.shared.pulls.clone().write_batches(app.clone()));
        // The notifications have no effect if systemd did not start the process.
        let _ = sd_notify::notify(&[NotifyState::Ready]);
        ready();
        server.accept_connections(&listener, &stop).await;
        drop(listener);
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
        ends.send_replace(true);
        // Requests that are not answered in time are dropped.
        let _ = timeout(GRACE, server.graceful.shutdown()).await;
        let _ = timeout(Duration::from_secs(1), pulls).await;
        Ok(())
    };
    // Serve on another thread, as the caller's thread keeps its priority.
    let served = runtime.block_on(runtime.spawn(accepting));
    runtime.shutdown_timeout(Duration::from_millis(500));
    served.unwrap_or_else(|error| Err(WebError::Threads(error.into())))
}

/// Raises the limit of open files to what the connections need. It is not raised further, as some launchers close all
/// possible descriptors.
fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = limit
        .maximum
        .unwrap_or(u64::MAX)
        .min(2 * CONNECTIONS as u64);
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(wanted);
        // If this fails, connections beyond the limit wait.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

fn http_builder() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .max_header_size(HEADER_BYTES)
        .max_headers(HEADER_LINES)
        .max_buf_size(64 << 10);
    http
}

struct Server {
    connections: Shares,
    is_behind_proxy: bool,
    router: Router,
    graceful: GracefulShutdown,
    http: http1::Builder,
    tls: Option<Encryption>,
}

impl Server {
    async fn accept_connections(&self, listener: &Listener, stop: &AtomicBool) {
        let stopped = async {
            while !stop.load(Ordering::Relaxed) {
                sleep(LOOK).await;
            }
        };
        tokio::pin!(stopped);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut stopped => return,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    report_failed_accept(&error);
                    sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            // A proxy has many clients, whose shares are counted by request.
            let client = (!self.is_behind_proxy).then(|| peer.to_counted_client());
            let place = match self.connections.take_place(client) {
                Ok(place) => place,
                Err(reason) => {
                    if self.tls.is_none() {
                        write_at_once(stream, &encode_refusal(reason)).await;
                    }
                    continue;
                }
            };
            let connection = Connection {
                router: self.router.clone(),
                http: self.http.clone(),
                watcher: self.graceful.watcher(),
                peer,
                _place: place,
            };
            match self.tls.clone() {
                None => drop(tokio::spawn(connection.serve_stream(stream))),
                Some(tls) => drop(tokio::spawn(async move {
                    if let Some(stream) = tls.encrypt_stream(stream, HEADERS).await {
                        connection.serve_stream(stream).await;
                    }
                })),
            }
        }
    }
}

/// Reports an error of accepting, unless the peer has closed the connection before it was accepted.
fn report_failed_accept(error: &io::Error) {
    if error.kind() != io::ErrorKind::ConnectionAborted {
        // If standard error is closed, there is no other place to report it.
        let _ = writeln!(io::stderr(), "cannot accept a connection: {}", Plain(error));
    }
}

struct Connection {
    router: Router,
    http: http1::Builder,
    watcher: Watcher,
    peer: Peer,
    /// Released when the connection ends.
    _place: TakenPlace,
}

impl Connection {
    async fn serve_stream(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let (router, peer) = (self.router, self.peer);
        let answer = service_fn(move |request: hyper::Request<Incoming>| {
            let router = router.clone();
            async move {
                let mut request = request.map(Body::new);
                request.extensions_mut().insert(peer);
                let Ok(response) = router.oneshot(request).await;
                Ok::<_, Infallible>(response)
            }
        });
        let connection = self.http.serve_connection(TokioIo::new(stream), answer);
        // A peer may close the connection at any time.
        let _ = self.watcher.watch(connection).await;
    }
}
