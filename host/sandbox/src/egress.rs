//! Reaching the network for a plugin (SPEC S3): one gate for requests and for raw sockets.
//!
//! A request is judged as a parsed URL, then again by every address that its host resolves to, and is
//! sent to a judged address only. Absent on purpose: redirects (a guest's next request passes the gate
//! like its first), proxies, cookies, and every variable of the environment that would name one.

mod address;
mod body;
mod client;
mod connect;
mod error;
mod gate;
mod tls;
mod turns;

use std::net::SocketAddr;
use std::sync::Arc;

use tidegate_contract::network::NetworkGrant;

use crate::denial::{Denial, Kind};
use crate::secret::Injection;

pub use body::ResponseBody;
pub use client::{BodyError, Bounds, RequestBody};
pub use connect::{Resolve, Resolving};
pub use error::{EgressError, TlsFault};
pub use gate::{Permitted, Refusal};
pub use tls::Network;

/// The network of one plugin, as far as it was granted. Connections are pooled here, so that no two
/// plugins share one. Cloning gives another handle to the same pool.
#[derive(Clone, Debug)]
pub struct Egress(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    grant: NetworkGrant,
    injections: Vec<Injection>,
    client: client::Client,
}

/// What a raw socket is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// A connection over TCP.
    Tcp,
    /// Datagrams over UDP.
    Udp,
}

impl Protocol {
    const fn scheme(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

impl Egress {
    /// The network as far as `grant` says, with what the host adds to requests.
    #[must_use]
    pub fn open(grant: &NetworkGrant, network: &Network, injections: Vec<Injection>) -> Self {
        Self(Arc::new(Inner {
            client: client::Client::new(grant, network),
            grant: grant.clone(),
            injections,
        }))
    }

    /// Whether a request by `method` may be sent to `url`, before anything of it is resolved.
    ///
    /// # Errors
    ///
    /// [`Refusal::Denied`] without a rule for it, [`Refusal::Invalid`] when it is no URL of http or
    /// https with a host and without user information.
    pub fn check(&self, method: &str, url: &str) -> Result<Permitted, Refusal> {
        gate::check(&self.0.grant, method, url)
    }

    /// Sends a request that passed [`check`](Self::check): the answer, its body still on the way.
    /// Must be driven where the timers and sockets of a runtime are.
    ///
    /// # Errors
    ///
    /// See [`EgressError`].
    pub async fn send(
        &self,
        permitted: Permitted,
        headers: http::HeaderMap,
        body: RequestBody,
        bounds: Bounds,
    ) -> Result<http::Response<ResponseBody>, EgressError> {
        let Inner {
            client, injections, ..
        } = &*self.0;
        let origin = permitted.origin().to_owned();
        let own = injections
            .iter()
            .filter(|injection| injection.origin() == origin);
        client
            .send(permitted.into_request(headers, own, body)?, bounds)
            .await
    }

    /// Whether a raw socket may be used with this very address.
    ///
    /// # Errors
    ///
    /// The denial to record.
    pub fn check_socket(&self, protocol: Protocol, address: SocketAddr) -> Result<(), Denial> {
        check_socket(&self.0.grant, protocol, address)
    }

    /// Whether any raw socket was granted.
    #[must_use]
    pub fn has_sockets(&self, protocol: Protocol) -> bool {
        let scheme = format!("{}://", protocol.scheme());
        let mut rules = self.0.grant.iter();
        rules.any(|rule| rule.origin().starts_with(&scheme))
    }
}

fn check_socket(
    grant: &NetworkGrant,
    protocol: Protocol,
    address: SocketAddr,
) -> Result<(), Denial> {
    let address = SocketAddr::new(address::judged(address.ip()), address.port());
    let origin = format!("{}://{address}", protocol.scheme());
    match grant.of(&origin).next() {
        Some(_rule) => Ok(()),
        None => Err(deny(&origin)),
    }
}

/// The record of what was refused: an origin, an address, or a host name that was looked up.
#[must_use]
pub fn deny(name: &str) -> Denial {
    Denial::new(Kind::Network, name)
}

/// As [`deny`], of a request.
#[must_use]
pub fn deny_request(url: &str) -> Denial {
    match gate::origin_of(url) {
        Some(origin) => deny(&origin),
        None => deny("an invalid URL"),
    }
}
