//! Who asks: the credential of a request, and whether its role has the verb (SPEC I2).
//!
//! A credential stands in the Authorization field and nowhere else. Deliberately absent: cookies,
//! and credentials in a query or a path.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

use axum::extract::Request;
use http::header::{self, HeaderMap};
use tidegate_sandbox::ambient;
use tidegate_worker::error::WorkerError;
use tidegate_worker::service::{Caller, Service};
use tidegate_worker::token::{Credential, Throttle, Verb};

use super::refused::Refused;
use super::tokens::{Holder, Tokens};

/// Whom failed look-ups are counted for: an address, of which a peer can't have many.
#[derive(Clone, Debug)]
pub(super) struct Peer(pub(super) String);

impl Peer {
    /// The peer of an address. Whoever has one address of version 6 has the 2^64 beside it.
    pub(super) fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => {
                let network = u128::from(address) & (u128::MAX << 64);
                Ipv6Addr::from(network).to_string()
            }
        })
    }
}

/// A request that may be a worker's.
#[derive(Clone)]
pub(super) struct Guest {
    credential: String,
    peer: Peer,
}

impl Guest {
    /// The guest as the service knows callers.
    pub(super) fn caller(&self) -> Caller<'_> {
        Caller {
            credential: &self.credential,
            peer: &self.peer.0,
            now_ms: ambient::now_ms(),
        }
    }
}

/// The token file with what was tried in vain.
#[derive(Debug)]
pub(super) struct Access {
    tokens: Tokens,
    throttle: Mutex<Throttle>,
}

impl Access {
    pub(super) fn new(tokens: Tokens) -> Self {
        Self {
            tokens,
            throttle: Mutex::default(),
        }
    }

    /// The guest of a request to a worker's route; what its credential is worth is the service's to
    /// say.
    ///
    /// # Errors
    ///
    /// 401 where there is none that could be a worker's, 403 where it is another role's.
    pub(super) fn guest(&self, request: &Request) -> Result<Guest, Refused> {
        let credential = bearer(request.headers()).ok_or_else(Refused::unauthorized)?;
        if Credential::parse(credential).is_none() {
            let known = self.look_up(credential, request)?;
            return Err(known.map_or_else(Refused::unauthorized, |_holder| Refused::forbidden()));
        }
        Ok(Guest {
            credential: credential.to_owned(),
            peer: peer(request),
        })
    }

    /// The holder of the token of a request, who may do this.
    ///
    /// # Errors
    ///
    /// 401 for a missing or unknown token, 403 where its role does not have the verb, 429 for one
    /// that tried too many.
    pub(super) fn holder(
        &self,
        request: &Request,
        verb: Verb,
        service: &Service,
    ) -> Result<Holder, Refused> {
        let text = bearer(request.headers()).ok_or_else(Refused::unauthorized)?;
        if Credential::parse(text).is_some() {
            return Err(not_a_workers(text, request, service));
        }
        let holder = self.look_up(text, request)?;
        let holder = holder.ok_or_else(Refused::unauthorized)?;
        tracing::debug!(token = holder.name, ?verb, "let in or refused by its role");
        if !holder.role.may(verb) {
            return Err(Refused::forbidden());
        }
        Ok(holder.clone())
    }

    /// Looks a token up, or counts that it was not found.
    fn look_up(&self, text: &str, request: &Request) -> Result<Option<&Holder>, Refused> {
        let throttle = || self.throttle.lock().unwrap_or_else(PoisonError::into_inner);
        let (peer, now_ms) = (peer(request), ambient::now_ms());
        // A right token is let in however many wrong ones came from its address, which may be a
        // proxy's: what is held up is guessing.
        let found = self.tokens.holder(text);
        if found.is_none() {
            let held_up = throttle().check(&peer.0, now_ms);
            held_up.map_err(|retry_after_ms| WorkerError::Throttled { retry_after_ms })?;
            throttle().count_failure(&peer.0, now_ms);
        }
        Ok(found)
    }
}

/// What a worker's credential gets where an operator's token is wanted: 403 where it is one.
fn not_a_workers(credential: &str, request: &Request, service: &Service) -> Refused {
    let peer = peer(request);
    let caller = Caller {
        credential,
        peer: &peer.0,
        now_ms: ambient::now_ms(),
    };
    match known(service, caller) {
        Ok(()) => Refused::forbidden(),
        Err(error) => error.into(),
    }
}

/// Whether a credential is one, whatever it may do now; asked where nothing else is to be done yet.
///
/// # Errors
///
/// `Unauthorized` where it is none, `Throttled`, `Store`.
pub(super) fn known(service: &Service, caller: Caller<'_>) -> Result<(), WorkerError> {
    match service.system(caller) {
        Ok(_) | Err(WorkerError::Gone | WorkerError::NotFound | WorkerError::Forbidden) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The value of the Authorization field after its scheme; `None` unless it stands there once.
fn bearer(fields: &HeaderMap) -> Option<&str> {
    let mut values = fields.get_all(header::AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?;
    if values.next().is_some() {
        return None;
    }
    let (scheme, credential) = value.split_once(' ')?;
    let is_whole = !credential.is_empty() && !credential.contains([' ', '\t', ',']);
    (is_whole && scheme.eq_ignore_ascii_case("bearer")).then_some(credential)
}

fn peer(request: &Request) -> Peer {
    let peer = request.extensions().get::<Peer>();
    // Every request of a connection is given one; without it all would count as one peer.
    peer.cloned().unwrap_or_else(|| Peer(String::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gap4_a_peer_is_an_address_and_never_a_port_or_a_neighbour() {
        for (address, peer) in [
            ("127.0.0.1", "127.0.0.1"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2::", "2001:db8:1:2::"),
            ("::1", "::"),
        ] {
            assert_eq!(Peer::of(address.parse().unwrap()).0, peer);
        }
    }

    #[test]
    fn i2_a_credential_stands_once_behind_its_scheme() {
        let of = |values: &[&str]| {
            let mut fields = HeaderMap::new();
            for value in values {
                fields.append(header::AUTHORIZATION, value.parse().unwrap());
            }
            bearer(&fields).map(str::to_owned)
        };
        assert_eq!(of(&["Bearer abc"]).as_deref(), Some("abc"));
        assert_eq!(of(&["bearer abc"]).as_deref(), Some("abc"));
        for values in [
            &[][..],
            &[""],
            &["Bearer"],
            &["Bearer "],
            &["Bearer  abc"],
            &["Bearer abc "],
            &["Bearer a b"],
            &["Bearer a,b"],
            &["Basic abc"],
            &["abc"],
            &["Bearer abc", "Bearer abc"],
        ] {
            assert_eq!(of(values), None, "{values:?}");
        }
    }
}
