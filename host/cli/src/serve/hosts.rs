//! For whom this service answers: the names in Host, and the pages in Origin (CASES MC11).
//!
//! A page of another site can make a browser send requests to the loopback; what it can't do is
//! send them in a name that is this service's.

use std::net::IpAddr;

use axum::http::uri::Authority;
use http::StatusCode;
use http::header::{self, HeaderMap};

use super::refused::Refused;

/// The names and pages that are ours.
#[derive(Clone, Debug, Default)]
pub(super) struct Hosts {
    /// Names beside the loopback's and the address that a connection came to.
    pub(super) names: Vec<String>,
    /// Origins beside the service's own.
    pub(super) origins: Vec<String>,
}

impl Hosts {
    /// Whether a request is meant for this service; `local` is the address it came to.
    ///
    /// # Errors
    ///
    /// 403 where Host or Origin is another's.
    pub(super) fn check(&self, fields: &HeaderMap, local: IpAddr) -> Result<(), Refused> {
        let host = only(fields, &header::HOST).unwrap_or_default();
        if !self.is_ours(host, local) {
            return Err(foreign("FOREIGN_HOST", "the Host field names another host"));
        }
        if !fields.contains_key(header::ORIGIN) {
            return Ok(());
        }
        let origin = only(fields, &header::ORIGIN).unwrap_or_default();
        let authority = ["http://", "https://"]
            .into_iter()
            .find_map(|scheme| origin.strip_prefix(scheme));
        let is_own = authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host));
        if is_own || self.origins.iter().any(|listed| listed == origin) {
            Ok(())
        } else {
            Err(foreign(
                "FOREIGN_ORIGIN",
                "the Origin field names another site",
            ))
        }
    }

    fn is_ours(&self, host: &str, local: IpAddr) -> bool {
        let Ok(authority) = host.parse::<Authority>() else {
            return false;
        };
        if host.contains('@') {
            return false;
        }
        let name = authority.host();
        let bare = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        match bare.unwrap_or(name).parse::<IpAddr>() {
            Ok(address) => {
                let address = address.to_canonical();
                address.is_loopback() || address == local.to_canonical()
            }
            Err(_a_name) => {
                let mut names = self.names.iter().map(String::as_str).chain(["localhost"]);
                names.any(|ours| ours.eq_ignore_ascii_case(name))
            }
        }
    }
}

/// The value of a field that stands once.
fn only<'a>(fields: &'a HeaderMap, name: &header::HeaderName) -> Option<&'a str> {
    let mut values = fields.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn foreign(code: &'static str, message: &'static str) -> Refused {
    Refused::new(StatusCode::FORBIDDEN, code, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(host: &str, origin: Option<&str>) -> bool {
        let hosts = Hosts {
            names: vec!["tide.example".to_owned()],
            origins: vec!["https://app.example".to_owned()],
        };
        let mut fields = HeaderMap::new();
        fields.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            fields.insert(header::ORIGIN, origin.parse().unwrap());
        }
        hosts.check(&fields, "10.1.2.3".parse().unwrap()).is_ok()
    }

    #[test]
    fn mc11_only_our_own_names_are_answered() {
        for host in [
            "localhost",
            "LOCALHOST:7420",
            "127.0.0.1",
            "127.8.9.1:80",
            "[::1]:7420",
            "[::ffff:127.0.0.1]",
            "10.1.2.3:7420",
            "tide.example",
            "Tide.Example:443",
        ] {
            assert!(passes(host, None), "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "tide.example.evil.example",
            "10.1.2.4",
            "0.0.0.0",
            "localhost@evil.example",
            "evil.example@localhost",
            "2130706433",
            "",
            "127.0.0.1, evil.example",
            "[::2]",
        ] {
            assert!(!passes(host, None), "{host}");
        }
    }

    #[test]
    fn mc11_only_our_own_pages_and_listed_ones_may_ask() {
        for origin in [
            "http://127.0.0.1:7420",
            "https://127.0.0.1:7420",
            "https://app.example",
        ] {
            assert!(passes("127.0.0.1:7420", Some(origin)), "{origin}");
        }
        for origin in [
            "null",
            "",
            "http://evil.example",
            "http://localhost:7420",
            "http://127.0.0.1:3000",
            "http://127.0.0.1",
            "http://127.0.0.1:7420.evil.example",
            "https://app.example:8443",
            "http://app.example",
            "file://127.0.0.1:7420",
        ] {
            assert!(!passes("127.0.0.1:7420", Some(origin)), "{origin}");
        }
    }
}
