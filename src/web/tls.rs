//! TLS by rustls.

use std::path::Path;
use std::sync::Arc;

use service::Tls;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::WebError;

/// Makes an acceptor of TLS connections: versions 1.2 and 1.3, HTTP/1.1 only.
pub(crate) fn acceptor(tls: &Tls) -> Result<TlsAcceptor, WebError> {
    let certificates = CertificateDer::pem_file_iter(&tls.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(unreadable(&tls.certificate))?;
    if certificates.is_empty() {
        return Err(WebError::Pem {
            path: tls.certificate.clone(),
            problem: "it contains no PEM certificate".to_owned(),
        });
    }
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(unreadable(&tls.key))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(WebError::Tls)?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(WebError::Tls)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn unreadable(path: &Path) -> impl FnOnce(pem::Error) -> WebError {
    move |error| WebError::Pem {
        path: path.to_owned(),
        problem: error.to_string(),
    }
}
