//! `serve` in the config file: where to listen, whom to answer, what to keep, and the bounds of
//! connections.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use axum::http::uri::Authority;
use serde::Deserialize;
use tidegate_worker::runs::RunBounds;

/// Where the service listens where nobody says.
pub(crate) const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7420);

/// `serve`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServeConfig {
    pub(crate) listen: Option<String>,
    /// The token file, relative to the config file.
    pub(crate) tokens: Option<PathBuf>,
    /// The folder of the database, relative to the config file.
    pub(crate) state: Option<PathBuf>,
    /// Where workers reach the service, where that is not where it listens.
    pub(crate) base_url: Option<String>,
    /// Names that the Host field may hold.
    pub(crate) hosts: Vec<String>,
    /// Sites whose pages may ask.
    pub(crate) origins: Vec<String>,
    /// Folders below which a launch may name its own.
    pub(crate) work_roots: Vec<PathBuf>,
    pub(crate) limits: ServeLimits,
}

impl ServeConfig {
    /// Checks what can be checked without opening anything.
    ///
    /// # Errors
    ///
    /// A value is none of its kind, or out of its range; the message names it.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.address().context("serve.listen")?;
        self.limits.check().context("serve.limits")?;
        for name in &self.hosts {
            let host = name.parse::<Authority>();
            if !host.is_ok_and(|host| host.host() == name) {
                bail!("serve.hosts: `{name}` is no host name without a port");
            }
        }
        for origin in &self.origins {
            let rest = origin.strip_prefix("https://");
            let rest = rest.or_else(|| origin.strip_prefix("http://"));
            let host = rest.and_then(|rest| rest.parse::<Authority>().ok());
            if !host.is_some_and(|host| rest == Some(host.as_str()) && !origin.contains('@')) {
                bail!("serve.origins: `{origin}` is no origin such as https://example.com");
            }
        }
        if let Some(base) = &self.base_url
            && !(base.starts_with("http://") || base.starts_with("https://"))
        {
            bail!("serve.base_url: expected a URL that starts with http:// or https://");
        }
        Ok(())
    }

    /// The address to listen on.
    pub(crate) fn address(&self) -> anyhow::Result<SocketAddr> {
        match &self.listen {
            None => Ok(LISTEN),
            Some(listen) => address(listen),
        }
    }

    /// What of it reaches out of the file's folder or to other machines, by key: all but the bounds.
    pub(crate) fn reaches(&self) -> Vec<(String, String)> {
        let path = |path: &PathBuf| path.display().to_string();
        let texts = |key: &'static str, texts: Vec<String>| {
            texts.into_iter().map(move |text| (key, text)).collect()
        };
        let named: [Vec<(&str, String)>; 7] = [
            texts("listen", self.listen.iter().cloned().collect()),
            texts("tokens", self.tokens.iter().map(path).collect()),
            texts("state", self.state.iter().map(path).collect()),
            texts("base_url", self.base_url.iter().cloned().collect()),
            texts("hosts", self.hosts.clone()),
            texts("origins", self.origins.clone()),
            texts("work_roots", self.work_roots.iter().map(path).collect()),
        ];
        let named = named.into_iter().flatten();
        named
            .map(|(key, text)| (format!("serve.{key}"), text))
            .collect()
    }
}

/// An address as it is typed.
pub(crate) fn address(text: &str) -> anyhow::Result<SocketAddr> {
    text.parse()
        .with_context(|| format!("`{text}` is no address and port such as {LISTEN}"))
}

/// The bounds of connections and requests.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServeLimits {
    /// Connections at once; more wait to be taken.
    pub(crate) connections: u64,
    /// Connections at once of one address; of IPv6 of one /64 network.
    pub(crate) peer_connections: u64,
    /// Streams of events at once of one token.
    pub(crate) token_streams: u64,
    /// Open runs of one tenant.
    pub(crate) open_runs: u64,
    /// Ended runs of one tenant that are kept: the newest.
    pub(crate) ended_runs: u64,
    /// How long an ended run is kept.
    pub(crate) ended_ms: u64,
    /// A request's first line and header fields.
    pub(crate) head_bytes: u64,
    /// A part or a submit.
    pub(crate) body_bytes: u64,
    /// A JSON document that is sent: a call, a launch.
    pub(crate) document_bytes: u64,
    /// Until a head has come, from its first byte or the connection's start.
    pub(crate) head_ms: u64,
    /// Until a body has come, from the end of its head.
    pub(crate) body_ms: u64,
    /// Until the next request on a kept connection.
    pub(crate) idle_ms: u64,
    /// Until the client takes more of an answer.
    pub(crate) write_ms: u64,
    /// Until a request is answered that waits for nobody.
    pub(crate) request_ms: u64,
    /// Until requests are broken off when the service ends.
    pub(crate) drain_ms: u64,
    /// Between two signs of life of a stream of events.
    pub(crate) heartbeat_ms: u64,
}

const KIB: u64 = 1024;

impl Default for ServeLimits {
    fn default() -> Self {
        let runs = RunBounds::default();
        Self {
            connections: 1_024,
            peer_connections: 512,
            token_streams: 64,
            open_runs: runs.open_runs,
            ended_runs: runs.ended_runs,
            ended_ms: runs.ended_ms,
            head_bytes: 16 * KIB,
            body_bytes: 2 * KIB * KIB,
            document_bytes: 2 * KIB * KIB,
            head_ms: 10_000,
            body_ms: 60_000,
            idle_ms: 75_000,
            write_ms: 30_000,
            request_ms: 30_000,
            drain_ms: 10_000,
            heartbeat_ms: 15_000,
        }
    }
}

impl ServeLimits {
    /// The largest values; the least of each is 1.
    pub(crate) const MAXIMUM: Self = Self {
        connections: 65_536,
        peer_connections: 65_536,
        token_streams: 65_536,
        open_runs: RunBounds::MAXIMUM.open_runs,
        ended_runs: RunBounds::MAXIMUM.ended_runs,
        ended_ms: RunBounds::MAXIMUM.ended_ms,
        head_bytes: 64 * KIB,
        body_bytes: 16 * KIB * KIB,
        // The largest arguments of a call, and what stands around them.
        document_bytes: 16 * KIB * KIB + 64 * KIB,
        head_ms: 600_000,
        body_ms: 3_600_000,
        idle_ms: 3_600_000,
        write_ms: 600_000,
        request_ms: 600_000,
        drain_ms: 600_000,
        heartbeat_ms: 60_000,
    };

    /// The bound of a head as a size in memory.
    pub(crate) fn head_size(&self) -> usize {
        usize::try_from(self.head_bytes).unwrap_or(usize::MAX)
    }

    /// The bounds of runs among them.
    pub(super) fn runs(&self) -> RunBounds {
        RunBounds {
            open_runs: self.open_runs,
            ended_runs: self.ended_runs,
            ended_ms: self.ended_ms,
        }
    }

    fn values(&self) -> [(&'static str, u64); 16] {
        [
            ("connections", self.connections),
            ("peer_connections", self.peer_connections),
            ("token_streams", self.token_streams),
            ("open_runs", self.open_runs),
            ("ended_runs", self.ended_runs),
            ("ended_ms", self.ended_ms),
            ("head_bytes", self.head_bytes),
            ("body_bytes", self.body_bytes),
            ("document_bytes", self.document_bytes),
            ("head_ms", self.head_ms),
            ("body_ms", self.body_ms),
            ("idle_ms", self.idle_ms),
            ("write_ms", self.write_ms),
            ("request_ms", self.request_ms),
            ("drain_ms", self.drain_ms),
            ("heartbeat_ms", self.heartbeat_ms),
        ]
    }

    fn check(&self) -> anyhow::Result<()> {
        for ((name, value), (_, most)) in self.values().into_iter().zip(Self::MAXIMUM.values()) {
            if !(1..=most).contains(&value) {
                bail!("{name} must be from 1 to {most}, not {value}");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    fn check(text: &str) -> Result<(), String> {
        let config: ServeConfig = yaml::parse(text, "f").map_err(|error| error.to_string())?;
        config.check().map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn l4_each_bound_of_the_service_has_its_range() {
        for (name, most) in ServeLimits::MAXIMUM.values() {
            for (value, holds) in [
                (0, false),
                (1, true),
                (most - 1, true),
                (most, true),
                (most + 1, false),
            ] {
                let said = check(&format!("limits: {{ {name}: {value} }}"));
                assert_eq!(said.is_ok(), holds, "{name}: {value}");
                assert!(said.is_ok() || said.is_err_and(|said| said.contains(name)));
            }
        }
    }

    #[test]
    fn l4_the_schema_has_the_bounds_of_the_service() {
        let schema: serde_json::Value = serde_json::from_str(crate::settings::SCHEMA).unwrap();
        let shown = &schema["$defs"]["serve_limits"]["properties"];
        let defaults = ServeLimits::default().values();
        let maxima = ServeLimits::MAXIMUM.values();
        for ((name, default), (_, most)) in defaults.into_iter().zip(maxima) {
            assert_eq!(shown[name]["default"], default, "{name}");
            assert_eq!(shown[name]["maximum"], most, "{name}");
            assert_eq!(shown[name]["minimum"], 1, "{name}");
        }
    }

    #[test]
    fn l4_names_and_addresses_are_checked_before_anything_is_opened() {
        for good in [
            "{}",
            "listen: '127.0.0.1:0'",
            "listen: '[::]:80'",
            "hosts: [tide.example, '[::1]']",
            "origins: ['https://app.example', 'http://localhost:3000']",
            "base_url: https://tide.example",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, key) in [
            ("listen: localhost", "listen"),
            ("listen: '7420'", "listen"),
            ("hosts: ['tide.example:80']", "hosts"),
            ("hosts: ['https://a']", "hosts"),
            ("origins: [tide.example]", "origins"),
            ("origins: ['https://a/']", "origins"),
            ("origins: ['https://u@a']", "origins"),
            ("origins: ['null']", "origins"),
            ("base_url: tide.example", "base_url"),
            ("port: 1", "port"),
        ] {
            assert!(check(bad).unwrap_err().contains(key), "{bad}");
        }
    }
}
