//! Problems with the encryption of a connection, with their remedies.

use std::io;

use rustls::pki_types::UnixTime;
use rustls::{CertificateError, Error, InvalidMessage};

/// Describes an error of a connection, if TLS is its cause.
pub(crate) fn describe_tls_error(error: &ureq::Error) -> Option<String> {
    match error {
        ureq::Error::Io(error) => tls_cause(error).map(tls_problem),
        ureq::Error::Rustls(error) => Some(tls_problem(error)),
        _ => None,
    }
}

fn tls_cause(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

fn tls_problem(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(wrong) => certificate_problem(wrong),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "its answer is not encrypted; write http:// in place of https:// if it is a service without TLS".to_owned()
        }
        other => format!("TLS failed: {other}"),
    }
}

fn certificate_problem(wrong: &CertificateError) -> String {
    match wrong {
        CertificateError::UnknownIssuer => {
            "its certificate is not of a trusted authority; `--ca FILE` names the authority's certificate".to_owned()
        }
        CertificateError::ExpiredContext { not_after, .. } => {
            format!("its certificate has expired on {}; it must be renewed", format_day(*not_after))
        }
        CertificateError::NotValidYetContext { not_before, .. } => format!(
            "its certificate is not valid before {}; or the clock of this host is wrong",
            format_day(*not_before)
        ),
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            // The names are those of a stranger's certificate.
            let names = files::quoted(&presented.join(", "), files::MOST_QUOTED);
            let host = expected.to_str();
            format!("its certificate is not for the host {host}, but for `{names}`")
        }
        other if other.to_string().contains("CaUsedAsEndEntity") => {
            "its certificate is that of an authority; the service needs one of its own, with CA:FALSE".to_owned()
        }
        other => format!("its certificate cannot be used: {other}"),
    }
}

fn format_day(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    match jiff::Timestamp::from_second(seconds) {
        Ok(day) => day.strftime("%Y-%m-%d").to_string(),
        Err(_) => "a day beyond the calendar".to_owned(),
    }
}
