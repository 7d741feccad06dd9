//! URLs of `http` and `https`, in the form in which they can be asked for.
//!
//! Stricter than a browser: nothing is repaired, so that two readers of one text can't take it for
//! two servers. Deliberately absent: names in other letters than ASCII (they have an ASCII form),
//! fragments, user info.

use std::fmt::Write as _;

/// A URL that has a server and nothing secret before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    https: bool,
    authority: String,
    path: String,
}

/// Why a text is no [`Url`]. Never repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UrlError(&'static str);

impl UrlError {
    /// What is wrong, to be put after the name of the thing.
    pub fn reason(self) -> &'static str {
        self.0
    }
}

impl Url {
    /// Reads `http://` or `https://`, a host, maybe a port, and maybe a path and a query.
    /// Characters that can't stand in a path are percent-encoded; a fragment is cut off.
    ///
    /// # Errors
    /// Which part is wrong.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        if text.chars().any(char::is_control) {
            return Err(UrlError("must be one line without control characters"));
        }
        let (scheme, rest) = text
            .split_once("://")
            .ok_or(UrlError("must be an https or http URL"))?;
        let https = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(UrlError("must be an https or http URL")),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        check_authority(authority)?;
        let (path, _fragment) = path.split_once('#').unwrap_or((path, ""));
        Ok(Self {
            https,
            authority: authority.to_ascii_lowercase(),
            path: if path.starts_with('/') {
                fit_for_url(path)
            } else {
                format!("/{}", fit_for_url(path))
            },
        })
    }

    /// Whether it is asked for by `https`.
    pub fn is_https(&self) -> bool {
        self.https
    }

    /// Host and port, in lower case.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Path and query; at least a slash.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether it names a server alone: no path but the slash, and no query.
    pub fn is_origin(&self) -> bool {
        self.path == "/"
    }
}

/// A part of a URL with each character percent-encoded that can stand in none. What is encoded
/// already stays as it is.
pub fn fit_for_url(part: &str) -> String {
    let mut fit = String::with_capacity(part.len());
    for character in part.chars() {
        if character.is_ascii_graphic() && !r#""<>\^`{|}"#.contains(character) {
            fit.push(character);
        } else {
            let mut bytes = [0; 4];
            encode(&mut fit, character.encode_utf8(&mut bytes).as_bytes());
        }
    }
    fit
}

/// A host and maybe a port: no user info, and none of what readers differ about.
fn check_authority(authority: &str) -> Result<(), UrlError> {
    if authority.contains('@') {
        return Err(UrlError("must not hold a user name or a password"));
    }
    let wrong = UrlError("must name a host, and maybe a port, in ASCII");
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or(wrong)?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_address = authority.starts_with('[');
    let fits = |byte: u8| match byte {
        b':' => is_address,
        b'.' => true,
        b'-' | b'_' => !is_address,
        other => other.is_ascii_alphanumeric(),
    };
    if host.is_empty() || host.len() > 253 || !host.bytes().all(fits) {
        return Err(wrong);
    }
    let Some(port) = port.strip_prefix(':') else {
        return if port.is_empty() { Ok(()) } else { Err(wrong) };
    };
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(1..) if digits => Ok(()),
        _ => Err(wrong),
    }
}

/// A text as one value of a query or of a header: all but letters, digits, `-`, `.`, `_` and `~`
/// percent-encoded as UTF-8 (RFC 3986, section 2.3).
pub fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encode(&mut encoded, &[byte]);
        }
    }
    encoded
}

fn encode(encoded: &mut String, bytes: &[u8]) {
    for byte in bytes {
        match write!(encoded, "%{byte:02X}") {
            // Writing to a string does not fail.
            Ok(()) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_and_made_fit_to_be_sent() {
        for (text, https, authority, path) in [
            ("https://a.example", true, "a.example", "/"),
            ("HTTP://A.Example:8080/", false, "a.example:8080", "/"),
            ("http://127.0.0.1:1?q", false, "127.0.0.1:1", "/?q"),
            ("http://[::1]:80/x", false, "[::1]:80", "/x"),
            ("https://a/x?y=z&w#part", true, "a", "/x?y=z&w"),
            ("https://a/\u{fc} \"%20", true, "a", "/%C3%BC%20%22%20"),
            ("https://a/b\\@c", true, "a", "/b%5C@c"),
        ] {
            let url = Url::parse(text).expect(text);
            assert_eq!(
                (url.is_https(), url.authority(), url.path()),
                (https, authority, path)
            );
        }
    }

    #[test]
    fn ne05_what_two_readers_could_take_for_two_servers_is_refused() {
        for text in [
            "http://allowed.example@evil.example/",
            "http://evil.example\\@allowed.example/",
            "http://evil.example\\.allowed.example/",
            "http://user:password@a/",
            "http://a b/",
            "http://a\u{e9}.example/",
            "http://a%2eb/",
            "http://",
            "http:///x",
            "http://:80/",
            "http://a:/",
            "http://a:0/",
            "http://a:65536/",
            "http://a:+1/",
            "http://a:80:80/",
            "http://[::1/",
            "http://[::1]x/",
            "http:a",
            "//a/",
            "ftp://a/",
            "javascript://a/",
            "file:///etc/passwd",
            "",
        ] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ne13_control_characters_never_get_into_a_request() {
        for text in [
            "http://a/x\r\nX-Evil: 1",
            "http://a/\0",
            "http://a\n/",
            "http://a/\u{85}",
        ] {
            assert!(Url::parse(text).is_err());
        }
        assert_eq!(
            percent_encoded("x\r\n\0 +&=\u{e9}~"),
            "x%0D%0A%00%20%2B%26%3D%C3%A9~"
        );
    }
}
