//! Network origins: scheme, host and port, written one way.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::grant::GrantError;

/// The longest host name (RFC 1035 2.3.4).
const HOST_BYTES: usize = 253;

/// Reads `scheme://host[:port]` and writes it the one way that grants compare: lower case, the
/// default port of http and https left out, addresses in their canonical form.
///
/// A host is a name of letters, digits, `-`, `_` and dots (an international name in its `xn--`
/// form), an IPv4 address in four decimal parts, or an IPv6 address in brackets.
///
/// # Errors
/// `Origin` when there is a path, a query, user information or anything else beside.
pub fn normal_origin(text: &str) -> Result<String, GrantError> {
    let refuse = |reason| GrantError::Origin { reason };
    let lower = text.to_ascii_lowercase();
    let (scheme, rest) = lower.split_once("://").ok_or(refuse("it has no scheme"))?;
    if !is_scheme(scheme) {
        return Err(refuse("its scheme has another character"));
    }
    if rest.contains(['/', '?', '#', '\\']) {
        return Err(refuse("it has a path or query"));
    }
    if rest.contains('@') {
        return Err(refuse("it has user information"));
    }
    let (host, port) = split_port(rest).ok_or(refuse("its port is no number"))?;
    let host = normal_host(host).ok_or(refuse("its host is neither a name nor an address"))?;
    match (scheme, port) {
        (_, None) | ("http", Some(80)) | ("https", Some(443)) => Ok(format!("{scheme}://{host}")),
        (_, Some(0)) => Err(refuse("its port is 0")),
        (_, Some(port)) => Ok(format!("{scheme}://{host}:{port}")),
    }
}

fn is_scheme(scheme: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    scheme.starts_with(|first: char| first.is_ascii_lowercase()) && scheme.bytes().all(is_letter)
}

/// Host and port, where what stands after the last colon outside of brackets is a port.
fn split_port(rest: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => return Some((rest, None)),
    };
    let is_plain = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(port) if is_plain => Some((host, Some(port))),
        _ => None,
    }
}

fn normal_host(host: &str) -> Option<String> {
    if let Some(inside) = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        let address: Ipv6Addr = inside.parse().ok()?;
        return Some(format!("[{address}]"));
    }
    let last = host.rsplit('.').next().unwrap_or_default();
    // Whatever ends like a number is an address to a resolver: `127.1`, `0x7f.1`.
    let is_numeric = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
    if is_numeric {
        let address: Ipv4Addr = host.parse().ok()?;
        return Some(address.to_string());
    }
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(is_letter)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    (host.len() <= HOST_BYTES && host.split('.').all(is_label)).then(|| host.to_owned())
}
