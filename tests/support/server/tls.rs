//! Certificates of a test: an authority of its own, and what it vouches for.
//!
//! Deliberately absent: client certificates, revocation.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use tempfile::NamedTempFile;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

/// Who vouches for servers; several of one test may share it.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: NamedTempFile,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let name = "an authority of tests";
        params.distinguished_name.push(DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(issuer.pem().as_bytes()).unwrap();
        Self { issuer, file }
    }

    /// The certificate that a client has to trust.
    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// The same as a file, which is there as long as the authority.
    pub(crate) fn file(&self) -> &Path {
        self.file.path()
    }

    /// A certificate for names and addresses, and the protocols that its server offers: `h2`,
    /// `http/1.1`, both with the preferred one first, or none.
    pub(crate) fn identity(&self, names: &[&str], protocols: &[&str]) -> Identity {
        self.issue(&params(names), protocols)
    }

    /// The same, but out of date since 2001.
    pub(crate) fn expired(&self, names: &[&str], protocols: &[&str]) -> Identity {
        let mut params = params(names);
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(2001, 1, 1);
        self.issue(&params, protocols)
    }

    fn issue(&self, params: &CertificateParams, protocols: &[&str]) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let chain = vec![certificate.der().clone()];
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key.into())
            .unwrap();
        let protocols = protocols.iter().map(|name| name.as_bytes().to_vec());
        config.alpn_protocols = protocols.collect();
        Identity(Arc::new(config))
    }
}

/// A certificate with its key and the protocols offered beside it.
#[derive(Clone)]
pub(crate) struct Identity(Arc<ServerConfig>);

impl Identity {
    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0)
    }
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    CertificateParams::new(names).unwrap()
}
