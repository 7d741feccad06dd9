//! What connections are made with: a resolver, and whom to trust about names.

use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::ambient;
use crate::error::SandboxError;

use super::connect::{Link, Resolve, SystemResolver};
use super::error::{EgressError, TlsFault};

/// The network of the process, before anything of it is granted. Cloning gives another handle to the
/// same one. Default: the system's resolver and the system's certificate authorities, which are read
/// at the first secure connection.
#[derive(Clone, Debug)]
pub struct Network {
    resolver: Arc<dyn Resolve>,
    authorities: Arc<Authorities>,
}

#[derive(Debug, Default)]
struct Authorities {
    /// Only these, in place of the system's.
    own: Option<Vec<CertificateDer<'static>>>,
    /// None without any authority.
    config: OnceLock<Option<Arc<ClientConfig>>>,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            resolver: Arc::new(SystemResolver),
            authorities: Arc::default(),
        }
    }
}

impl Network {
    /// The same with another resolver.
    #[must_use]
    pub fn with_resolver(self, resolver: Arc<dyn Resolve>) -> Self {
        Self { resolver, ..self }
    }

    /// The same, trusting the certificate authorities of a PEM file and no other.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Authorities`] when it holds no certificate.
    pub fn with_authorities(self, pem: &[u8]) -> Result<Self, SandboxError> {
        let own: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let own = own.ok().filter(|own| !own.is_empty());
        Ok(Self {
            authorities: Arc::new(Authorities {
                own: Some(own.ok_or(SandboxError::Authorities)?),
                config: OnceLock::new(),
            }),
            ..self
        })
    }

    pub(super) fn resolver(&self) -> &dyn Resolve {
        &*self.resolver
    }

    /// Makes a connection secure for the name that was asked for; HTTP/2 where the server has it.
    pub(super) async fn secure(&self, host: &str, stream: TcpStream) -> Result<Link, EgressError> {
        let config = self.authorities.config.get_or_init(|| {
            let roots = match &self.authorities.own {
                Some(own) => roots(own.iter().cloned()),
                None => roots(ambient::certificate_authorities().into_iter()),
            };
            client(roots)
        });
        let config = config.clone();
        let config = config.ok_or(EgressError::Tls(TlsFault::NoAuthorities))?;
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())
            .map_err(|_syntax| EgressError::Tls(TlsFault::Certificate))?;
        let secured = TlsConnector::from(config).connect(name, stream).await;
        let stream = secured.map_err(|error| {
            let inner = error.get_ref();
            let fault = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>());
            EgressError::Tls(match fault {
                Some(rustls::Error::InvalidCertificate(_)) => TlsFault::Certificate,
                _ => TlsFault::Protocol,
            })
        })?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok(Link::new(stream, is_http2))
    }
}

fn roots(certificates: impl Iterator<Item = CertificateDer<'static>>) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    // A system has some that no longer parse; they vouch for nobody.
    let (_taken, _ignored) = roots.add_parsable_certificates(certificates);
    roots
}

fn client(roots: RootCertStore) -> Option<Arc<ClientConfig>> {
    if roots.is_empty() {
        return None;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = builder
        .ok()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Some(Arc::new(config))
}
