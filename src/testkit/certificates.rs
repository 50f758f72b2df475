//! Certificates for TLS, made for one test.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

/// A certificate authority.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A certificate and its private key, PEM.
#[derive(Clone, Debug)]
pub struct Certified {
    /// The certificate.
    pub certificate: String,
    /// The key.
    pub key: String,
}

impl Authority {
    /// An authority with a key of its own.
    ///
    /// # Panics
    /// If there are no random numbers.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let own = params.self_signed(&key).expect("a certificate");
        Self {
            pem: own.pem(),
            issuer: Issuer::new(params, key),
        }
    }

    /// The authority's own certificate, PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The authority's own certificate with its key.
    pub fn own_certificate(&self) -> Certified {
        Certified {
            certificate: self.pem.clone(),
            key: self.issuer.key().serialize_pem(),
        }
    }

    /// A certificate for host names and addresses, valid from one year's beginning to another's.
    ///
    /// # Panics
    /// If a name is none.
    pub fn certify(&self, names: &[&str], years: [i32; 2]) -> Certified {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names");
        [params.not_before, params.not_after] = years.map(|year| date_time_ymd(year, 1, 1));
        let key = KeyPair::generate().expect("a key");
        let signed = params.signed_by(&key, &self.issuer).expect("signed");
        Certified {
            certificate: signed.pem(),
            key: key.serialize_pem(),
        }
    }
}
