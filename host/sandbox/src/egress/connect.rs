//! The vetting connector: it resolves a host itself, judges every address of the answer, and connects
//! to a judged address and to no other.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tidegate_contract::network::{NetworkGrant, NetworkRule};
use tidegate_contract::origin::normal_origin;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tower_service::Service;

use super::error::EgressError;
use super::tls::Network;
use super::turns::Turns;
use super::{address, deny};

/// Gives up on a connection after this, whatever it waits for.
const CONNECTING: Duration = Duration::from_secs(30);

/// Names of one plugin that are looked up at once: a look-up takes a thread until it ends, and calls
/// need threads too.
const LOOKUPS: usize = 4;

/// Gives up on one address after this, where there is another.
const ATTEMPT: Duration = Duration::from_secs(3);

/// The addresses of a host, on their way.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Looks up the addresses of host names; a port that an embedder can fill.
pub trait Resolve: fmt::Debug + Send + Sync {
    /// All addresses of a name. It is asked again for each connection.
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a>;
}

/// What the system's resolver says.
#[derive(Clone, Copy, Debug)]
pub(super) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Connects where one plugin may.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    grant: Arc<NetworkGrant>,
    network: Network,
    lookups: Arc<Semaphore>,
}

impl Connector {
    pub(super) fn new(grant: &NetworkGrant, network: &Network) -> Self {
        Self {
            grant: Arc::new(grant.clone()),
            network: network.clone(),
            lookups: Arc::new(Semaphore::new(LOOKUPS)),
        }
    }

    /// Looks up a name, in a task that nobody can give up: the permit is held as long as the thread.
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, EgressError> {
        let permit = Arc::clone(&self.lookups).acquire_owned().await;
        let permit = permit.map_err(|_closed| EgressError::Dns)?;
        let (network, host) = (self.network.clone(), host.to_owned());
        let lookup = Handle::current().spawn(async move {
            let found = network.resolver().resolve(&host).await;
            drop(permit);
            found
        });
        match lookup.await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(_)) | Err(_) => Err(EgressError::Dns),
        }
    }

    /// Within a time of its own: a request that has found another connection leaves this one to go on.
    async fn connect(self, uri: Uri) -> Result<Link, EgressError> {
        let connecting = timeout(CONNECTING, self.connect_in_time(uri)).await;
        connecting.unwrap_or(Err(EgressError::ConnectTimeout))
    }

    async fn connect_in_time(self, uri: Uri) -> Result<Link, EgressError> {
        let is_secure = uri.scheme_str() == Some("https");
        let host = uri.host().ok_or(EgressError::Dns)?;
        let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let addresses = self.vetted(&uri, host).await?;
        let stream = open(&addresses, port).await?;
        if is_secure {
            return self.network.secure(host, stream).await;
        }
        Ok(Link::new(stream, false))
    }

    /// The addresses of a host, each of which its origin's rules permit. One that is not is a reason to
    /// refuse them all: whoever answers for the name means harm, or the grant lacks it.
    async fn vetted(&self, uri: &Uri, host: &str) -> Result<Vec<IpAddr>, EgressError> {
        let (scheme, authority) = (uri.scheme_str(), uri.authority());
        let origin = match (scheme, authority) {
            (Some(scheme), Some(authority)) => normal_origin(&format!("{scheme}://{authority}")),
            _ => return Err(EgressError::Dns),
        };
        let origin = origin.map_err(|_syntax| EgressError::Dns)?;
        let named: BTreeSet<IpAddr> = self
            .grant
            .of(&origin)
            .flat_map(NetworkRule::addresses)
            .map(|&address| address::judged(address))
            .collect();
        let addresses = match host.trim_matches(['[', ']']).parse() {
            Ok(address) => vec![address],
            Err(_name) => self.resolve(host).await?,
        };
        for &found in &addresses {
            if !address::is_public(found) && !named.contains(&address::judged(found)) {
                let found = address::judged(found);
                return Err(EgressError::Denied(deny(&format!("{origin},{found}"))));
            }
        }
        Ok(addresses)
    }
}

/// Connects to the first address that takes the connection.
async fn open(addresses: &[IpAddr], port: u16) -> Result<TcpStream, EgressError> {
    let mut ahead = addresses.iter().peekable();
    while let Some(&address) = ahead.next() {
        let attempt = TcpStream::connect(SocketAddr::new(address, port));
        let connected = match ahead.peek() {
            None => attempt.await,
            Some(_other) => match timeout(ATTEMPT, attempt).await {
                Ok(connected) => connected,
                Err(_slow) => continue,
            },
        };
        if let Ok(stream) = connected {
            // Small requests must not wait for the answer to an earlier packet.
            return match stream.set_nodelay(true) {
                Ok(()) => Ok(stream),
                Err(_closed) => Err(EgressError::Refused),
            };
        }
    }
    if addresses.is_empty() {
        return Err(EgressError::Dns);
    }
    Err(EgressError::Refused)
}

impl Service<Uri> for Connector {
    type Response = Link;
    type Error = EgressError;
    type Future = Pin<Box<dyn Future<Output = Result<Link, EgressError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), EgressError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}

/// A stream of bytes both ways.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// One open connection.
pub(super) struct Link {
    stream: TokioIo<Turns<Box<dyn Duplex>>>,
    is_http2: bool,
}

impl Link {
    pub(super) fn new(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        is_http2: bool,
    ) -> Self {
        Self {
            stream: TokioIo::new(Turns::new(Box::new(stream))),
            is_http2,
        }
    }
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        let connected = Connected::new();
        if self.is_http2 {
            connected.negotiated_h2()
        } else {
            connected
        }
    }
}

impl hyper::rt::Read for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl hyper::rt::Write for Link {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }
}
