//! What may be reached over the network, as data: rules, each for one exact origin.
//!
//! Deliberately absent: resolving names, judging addresses and connecting.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::{fmt, slice};

use serde::{Serialize, Serializer};

use crate::grant::GrantError;
use crate::origin::normal_origin;

/// The longest path prefix and the longest method, in bytes.
const PATH_BYTES: usize = 1024;
const METHOD_BYTES: usize = 32;

/// One origin, and what of it may be used.
///
/// An origin of http or https is for requests; one of `tcp` or `udp` with an address and a port is for
/// raw sockets. Its text is `ORIGIN[,ADDRESS...]`.
///
/// Source: SPEC S3.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NetworkRule {
    origin: String,
    methods: Option<BTreeSet<String>>,
    paths: Option<BTreeSet<String>>,
    addresses: BTreeSet<IpAddr>,
}

impl NetworkRule {
    /// Every method and path of an origin, at public addresses; an origin whose host is an address
    /// means that address, public or not.
    ///
    /// # Errors
    /// `Origin` when it is no exact origin, or of a scheme that nothing here speaks.
    pub fn new(origin: &str) -> Result<Self, GrantError> {
        let origin = normal_origin(origin)?;
        let refuse = |reason| Err(GrantError::Origin { reason });
        let (scheme, authority) = origin.split_once("://").unwrap_or_default();
        let with_port = authority.parse::<SocketAddr>().ok();
        match (scheme, with_port) {
            ("http" | "https", _) | ("tcp" | "udp", Some(_)) => {}
            ("tcp" | "udp", None) => return refuse("a raw socket needs an address and a port"),
            _ => return refuse("its scheme is none of http, https, tcp and udp"),
        }
        let without_port = || authority.trim_matches(['[', ']']).parse().ok();
        let address = with_port.map(|address| address.ip()).or_else(without_port);
        Ok(Self {
            addresses: address.into_iter().collect(),
            origin,
            methods: None,
            paths: None,
        })
    }

    /// Reads `ORIGIN[,ADDRESS...]`.
    ///
    /// # Errors
    /// `Origin` when a part is none.
    pub fn parse(text: &str) -> Result<Self, GrantError> {
        let mut parts = text.split(',');
        let mut rule = Self::new(parts.next().unwrap_or_default())?;
        for address in parts {
            rule = rule.with_address(address)?;
        }
        Ok(rule)
    }

    /// Also permits connecting to one address that is not public: the origin's name may lead there.
    ///
    /// # Errors
    /// `Origin` when it is no address.
    pub fn with_address(mut self, address: &str) -> Result<Self, GrantError> {
        let address = address.parse().map_err(|_syntax| GrantError::Origin {
            reason: "what follows a comma is no IP address",
        })?;
        self.addresses.insert(address);
        Ok(self)
    }

    /// Permits only these methods, as they are written on the wire.
    ///
    /// # Errors
    /// `Origin` when one is no method, or the origin is for raw sockets.
    pub fn with_methods(mut self, methods: &[String]) -> Result<Self, GrantError> {
        let is_method = |method: &String| {
            (1..=METHOD_BYTES).contains(&method.len())
                && method
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
        };
        if self.is_socket() || !methods.iter().all(is_method) {
            let reason = "its methods are not names such as GET";
            return Err(GrantError::Origin { reason });
        }
        self.methods = Some(methods.iter().cloned().collect());
        Ok(self)
    }

    /// Permits only these paths and what is below them, whole segments. `/api` is `/api` and `/api/x`,
    /// not `/apis`.
    ///
    /// # Errors
    /// `Origin` when one is no plain absolute path, or the origin is for raw sockets.
    pub fn with_paths(mut self, paths: &[String]) -> Result<Self, GrantError> {
        let is_plain = |path: &String| {
            path.starts_with('/')
                && path.len() <= PATH_BYTES
                && path.bytes().all(|byte| byte.is_ascii_graphic())
                && !path.contains(['?', '#', '\\', '%'])
                && !path.split('/').any(|part| part == "." || part == "..")
        };
        if self.is_socket() || !paths.iter().all(is_plain) {
            let reason = "its paths are not plain and absolute such as /api";
            return Err(GrantError::Origin { reason });
        }
        self.paths = Some(outermost(&paths.iter().cloned().collect()));
        Ok(self)
    }

    /// The origin, normalised.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Addresses that may be connected to although they are not public.
    #[must_use]
    pub fn addresses(&self) -> &BTreeSet<IpAddr> {
        &self.addresses
    }

    /// Whether it is for raw sockets.
    #[must_use]
    pub fn is_socket(&self) -> bool {
        self.origin.starts_with("tcp:") || self.origin.starts_with("udp:")
    }

    /// Whether a request by `method` for the normalised `path` is permitted. Where paths are restricted,
    /// a path in which a separator is encoded is not: a server may read it as another path.
    #[must_use]
    pub fn permits(&self, method: &str, path: &str) -> bool {
        let by_method = match &self.methods {
            None => true,
            Some(methods) => methods.contains(method),
        };
        let by_path = match &self.paths {
            None => true,
            Some(paths) => {
                let lower = path.to_ascii_lowercase();
                let codes = ["%2f", "%5c", "%2e", "%25"];
                let is_encoded = codes.iter().any(|code| lower.contains(code));
                // With parameters a segment is one of dots to some servers.
                let mut segments = path.split('/');
                let climbs = segments.any(|part| part.starts_with(".;") || part.starts_with("..;"));
                !is_encoded && !climbs && paths.iter().any(|prefix| is_below(path, prefix))
            }
        };
        by_method && by_path
    }

    /// What both rules permit of their origin; none if the origins differ or nothing is left.
    fn narrow(&self, by: &Self) -> Option<Self> {
        if self.origin != by.origin {
            return None;
        }
        let methods = narrower(
            self.methods.as_ref(),
            by.methods.as_ref(),
            |ours, theirs| ours.intersection(theirs).cloned().collect(),
        );
        let paths = narrower(self.paths.as_ref(), by.paths.as_ref(), |ours, theirs| {
            let inside = |these: &BTreeSet<String>, those: &BTreeSet<String>| {
                let within = |path: &&String| those.iter().any(|prefix| is_below(path, prefix));
                these.iter().filter(within).cloned().collect::<Vec<_>>()
            };
            let both = inside(ours, theirs).into_iter().chain(inside(theirs, ours));
            outermost(&both.collect())
        });
        let is_left =
            |set: &Option<BTreeSet<String>>| set.as_ref().is_none_or(|set| !set.is_empty());
        (is_left(&methods) && is_left(&paths)).then(|| Self {
            origin: self.origin.clone(),
            methods,
            paths,
            addresses: self
                .addresses
                .intersection(&by.addresses)
                .copied()
                .collect(),
        })
    }

    /// Whether everything that `other` permits is permitted by this rule.
    fn covers(&self, other: &Self) -> bool {
        self.narrow(other).as_ref() == Some(other)
    }
}

/// The paths without those that are below another.
fn outermost(paths: &BTreeSet<String>) -> BTreeSet<String> {
    let is_inner = |path: &String| {
        let mut others = paths.iter().filter(|other| *other != path);
        others.any(|other| is_below(path, other))
    };
    paths
        .iter()
        .filter(|path| !is_inner(path))
        .cloned()
        .collect()
}

/// Whether a path is a prefix or below it.
fn is_below(path: &str, prefix: &str) -> bool {
    let own = prefix.strip_suffix('/').unwrap_or(prefix);
    path.strip_prefix(own)
        .is_some_and(|rest| (rest.is_empty() && own == prefix) || rest.starts_with('/'))
}

fn narrower(
    ours: Option<&BTreeSet<String>>,
    theirs: Option<&BTreeSet<String>>,
    both: impl FnOnce(&BTreeSet<String>, &BTreeSet<String>) -> BTreeSet<String>,
) -> Option<BTreeSet<String>> {
    match (ours, theirs) {
        (None, set) | (set, None) => set.cloned(),
        (Some(ours), Some(theirs)) => Some(both(ours, theirs)),
    }
}

impl fmt::Display for NetworkRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.origin)?;
        let own = Self::new(&self.origin).map(|rule| rule.addresses);
        let own = own.unwrap_or_default();
        for address in self.addresses.difference(&own) {
            write!(formatter, ",{address}")?;
        }
        for set in [&self.methods, &self.paths].into_iter().flatten() {
            let items: Vec<&str> = set.iter().map(String::as_str).collect();
            write!(formatter, " {}", items.join(","))?;
        }
        Ok(())
    }
}

impl Serialize for NetworkRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A set of rules, sorted. Default: none, so that nothing can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct NetworkGrant(Vec<NetworkRule>);

impl NetworkGrant {
    /// Adds a rule, unless one that is there covers it.
    pub fn insert(&mut self, rule: NetworkRule) {
        if self.covers(&rule) {
            return;
        }
        self.0.retain(|held| !rule.covers(held));
        let at = self.0.partition_point(|held| *held < rule);
        self.0.insert(at, rule);
    }

    /// Whether one rule permits all that another does.
    #[must_use]
    pub fn covers(&self, rule: &NetworkRule) -> bool {
        self.0.iter().any(|held| held.covers(rule))
    }

    /// What both permit.
    #[must_use]
    pub fn narrow(&self, by: &Self) -> Self {
        let both = self.0.iter().flat_map(|ours| {
            let with = |theirs| ours.narrow(theirs);
            by.0.iter().filter_map(with)
        });
        both.collect()
    }

    /// The rules of one origin.
    pub fn of<'a>(&'a self, origin: &'a str) -> impl Iterator<Item = &'a NetworkRule> {
        self.0.iter().filter(move |rule| rule.origin == origin)
    }

    /// Whether there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rules, sorted.
    pub fn iter(&self) -> slice::Iter<'_, NetworkRule> {
        self.0.iter()
    }
}

impl FromIterator<NetworkRule> for NetworkGrant {
    fn from_iter<I: IntoIterator<Item = NetworkRule>>(rules: I) -> Self {
        let mut set = Self::default();
        rules.into_iter().for_each(|rule| set.insert(rule));
        set
    }
}

impl<'a> IntoIterator for &'a NetworkGrant {
    type Item = &'a NetworkRule;
    type IntoIter = slice::Iter<'a, NetworkRule>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
