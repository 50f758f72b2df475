//! TLS by rustls.

use std::fs;
use std::future::poll_fn;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::StatusCode;
use service::{Service, Tls, lock_ignoring_poison};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadBuf, copy, sink};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{interval, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;

use crate::listen::Stream;
use crate::{Problem, WebError};

/// The interval at which the files of the certificate and its key are read again.
const RENEWAL: Duration = Duration::from_secs(10);

/// The most bytes that are read of a request that is not encrypted.
const MOST_UNREAD: u64 = 1 << 20;

/// The subject of problems with the certificate.
const SUBJECT: &str = "the certificate";

/// The service's end of TLS connections: versions 1.2 and 1.3, HTTP/1.1 only.
#[derive(Clone, Debug)]
pub(crate) struct Encryption {
    config: Arc<ServerConfig>,
    identity: Arc<Identity>,
}

impl Encryption {
    /// Reads the certificate and its key.
    ///
    /// # Errors
    /// [`WebError`] if they cannot be read or used.
    pub(crate) fn new(files: &Tls) -> Result<Self, WebError> {
        let identity = Arc::new(Identity {
            current: Mutex::new(Arc::new(read_identity(files)?)),
            files: files.clone(),
        });
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(WebError::Tls)?
            .with_no_client_auth()
            .with_cert_resolver(identity.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            config: Arc::new(config),
            identity,
        })
    }

    /// Makes a connection encrypted, within `limit`. `None` if the peer does not manage that; one that speaks HTTP is
    /// told to use HTTPS.
    pub(crate) async fn encrypt_stream(
        &self,
        mut stream: Box<dyn Stream>,
        limit: Duration,
    ) -> Option<TlsStream<Box<dyn Stream>>> {
        let accepted = async {
            let mut first = [0];
            poll_fn(|context| stream.poll_peek(context, &mut ReadBuf::new(&mut first))).await?;
            // The first byte of a method of HTTP is a letter, that of a TLS handshake is 22.
            if first[0].is_ascii_uppercase() {
                refuse_plain(stream).await
            } else {
                TlsAcceptor::from(Arc::clone(&self.config))
                    .accept(stream)
                    .await
                    .map(Some)
            }
        };
        timeout(limit, accepted).await.ok()?.ok()?
    }

    /// Reads the certificate and its key again every ten seconds and whenever the process gets SIGHUP. While they cannot
    /// be used, the former ones remain in use, and [`Service::problems`] has the reason.
    pub(crate) async fn keep_renewed(self, mut hangups: Signal, service: Arc<Service>) {
        let mut ticks = interval(RENEWAL);
        let mut failed_before = false;
        loop {
            let is_requested = tokio::select! {
                _ = ticks.tick() => false,
                _ = hangups.recv() => true,
            };
            let identity = Arc::clone(&self.identity);
            let renewed = tokio::task::spawn_blocking(move || identity.read_again()).await;
            let problem = match renewed {
                Ok(Ok(false)) => None,
                Ok(Ok(true)) => {
                    let path = self.identity.files.certificate.display();
                    // If standard error is closed, there is no other place to report it.
                    let _ = writeln!(io::stderr(), "uses the new certificate in {path}");
                    None
                }
                Ok(Err(error)) => Some(format!(
                    "the former certificate remains in use, as the new one cannot be used: {error}"
                )),
                Err(error) => Some(error.to_string()),
            };
            // While the two files are being replaced, one after the other, they do not belong together.
            let is_reported = problem.is_none() || is_requested || failed_before;
            failed_before = problem.is_some();
            if is_reported {
                service.note_problem(SUBJECT, problem);
            }
        }
    }
}

/// Registers for SIGHUP, which ends the process otherwise.
///
/// # Errors
/// [`WebError::Signals`].
pub(crate) fn receive_hangups() -> Result<Signal, WebError> {
    signal(SignalKind::hangup()).map_err(WebError::Signals)
}

/// Answers a request that is not encrypted.
async fn refuse_plain(
    mut stream: Box<dyn Stream>,
) -> io::Result<Option<TlsStream<Box<dyn Stream>>>> {
    stream.write_all(plain_answer().as_bytes()).await?;
    stream.shutdown().await?;
    // Closing a connection with bytes that have not been read would destroy the answer.
    copy(&mut stream.take(MOST_UNREAD), &mut sink()).await?;
    Ok(None)
}

/// The answer to a request that is not encrypted.
fn plain_answer() -> String {
    let detail = "this address is encrypted: write https:// in place of http://";
    let problem = Problem::new(StatusCode::BAD_REQUEST, detail);
    // A problem has nothing that JSON lacks.
    let body = serde_json::to_string(&problem).unwrap_or_default();
    format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The certificate and its key, as they were last read.
#[derive(Debug)]
struct Identity {
    files: Tls,
    current: Mutex<Arc<CertifiedKey>>,
}

impl Identity {
    /// Reads the files again; returns whether the certificate has changed.
    fn read_again(&self) -> Result<bool, WebError> {
        let found = read_identity(&self.files)?;
        let mut current = lock_ignoring_poison(&self.current);
        let is_new = current.cert != found.cert;
        if is_new {
            *current = Arc::new(found);
        }
        Ok(is_new)
    }
}

impl ResolvesServerCert for Identity {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&lock_ignoring_poison(&self.current)))
    }
}

/// Reads a certificate chain and its key, and checks that they belong together.
fn read_identity(files: &Tls) -> Result<CertifiedKey, WebError> {
    let (certificate, key) = (&files.certificate, &files.key);
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(unreadable_pem(certificate, NO_CERTIFICATE))?;
    if chain.is_empty() {
        return Err(unreadable_pem(certificate, NO_CERTIFICATE)(
            pem::Error::NoItemsFound,
        ));
    }
    check_key_mode(key)?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(unreadable_pem(key, NO_KEY))?;
    let private = ring::default_provider()
        .key_provider
        .load_private_key(private)
        .map_err(|error| unusable_file(key, error))?;
    let both = CertifiedKey::new(chain, private);
    match both.keys_match() {
        Ok(()) => Ok(both),
        Err(rustls::Error::InconsistentKeys(_)) => Err(WebError::OtherKey {
            certificate: certificate.clone(),
            key: key.clone(),
        }),
        Err(error) => Err(unusable_file(certificate, error)),
    }
}

fn unusable_file(path: &Path, error: rustls::Error) -> WebError {
    WebError::Unusable {
        path: path.to_owned(),
        problem: match error {
            rustls::Error::General(problem) => problem,
            other => other.to_string(),
        },
    }
}

const NO_CERTIFICATE: &str = "it has no certificate in PEM format";
const NO_KEY: &str = "it has no private key in PEM format; one with a passphrase cannot be used";

/// Refuses a key that every user of this host can read or replace.
fn check_key_mode(key: &Path) -> Result<(), WebError> {
    let found = fs::metadata(key).map_err(|error| WebError::Pem {
        path: key.to_owned(),
        problem: error.to_string(),
    })?;
    match found.mode() & 0o007 {
        0 => Ok(()),
        _ => Err(WebError::OpenKey {
            path: key.to_owned(),
        }),
    }
}

fn unreadable_pem(path: &Path, absent: &'static str) -> impl FnOnce(pem::Error) -> WebError {
    move |error| WebError::Pem {
        path: path.to_owned(),
        problem: match error {
            pem::Error::Io(error) => error.to_string(),
            pem::Error::NoItemsFound => absent.to_owned(),
            _ => "its PEM format is damaged".to_owned(),
        },
    }
}
