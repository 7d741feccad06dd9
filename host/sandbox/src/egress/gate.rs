//! The first look at a request: its parsed URL against the rules.

use http::header::{ACCEPT_ENCODING, HOST, HeaderValue, RANGE};
use http::{HeaderMap, Method, Request, Uri};
use tidegate_contract::network::{NetworkGrant, NetworkRule};
use tidegate_contract::origin::normal_origin;
use url::{Position, Url};

use crate::denial::Denial;
use crate::secret::Injection;

use super::client::RequestBody;
use super::deny;
use super::error::EgressError;

/// Why a request is not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No rule permits it.
    Denied(Denial),
    /// It is no URL that could be permitted.
    Invalid,
}

/// A request that one rule at least permits. Only [`Egress::check`](super::Egress::check) makes one.
#[derive(Clone, Debug)]
pub struct Permitted {
    method: Method,
    uri: Uri,
    origin: String,
}

impl Permitted {
    /// Where it goes, normalised.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The request as it is sent: the guest's headers, then the host's over them.
    pub(super) fn into_request<'a>(
        self,
        mut headers: HeaderMap,
        injections: impl Iterator<Item = &'a Injection>,
        body: RequestBody,
    ) -> Result<Request<RequestBody>, EgressError> {
        // The client writes the one that the URL means.
        headers.remove(HOST);
        // The host decodes, so it says what it can decode; of a part of a body it can't.
        let codings = if headers.contains_key(RANGE) {
            "identity"
        } else {
            "gzip, deflate"
        };
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(codings));
        for injection in injections {
            headers.insert(injection.header().clone(), injection.value());
        }
        let mut request = Request::builder()
            .method(self.method)
            .uri(self.uri)
            .body(body)
            .map_err(|_uri| EgressError::Protocol)?;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

/// Judges a request as the URL parser of browsers understands it, which is what is sent.
pub(super) fn check(grant: &NetworkGrant, method: &str, url: &str) -> Result<Permitted, Refusal> {
    let mut url = parse(url).ok_or(Refusal::Invalid)?;
    url.set_fragment(None);
    let method = Method::from_bytes(method.as_bytes()).map_err(|_syntax| Refusal::Invalid)?;
    if method == Method::CONNECT || method == Method::TRACE {
        // The first would make a tunnel out of the connection, past every look at what is sent; the
        // second would have the server say what the host added (RFC 9110 9.3.8).
        return Err(Refusal::Invalid);
    }
    let origin = origin(&url).ok_or(Refusal::Invalid)?;
    let mut rules = grant.of(&origin);
    let permits = |rule: &NetworkRule| rule.permits(method.as_str(), url.path());
    let first = rules.next().ok_or_else(|| Refusal::Denied(deny(&origin)))?;
    if !permits(first) && !rules.any(permits) {
        return Err(Refusal::Denied(deny(&format!("{origin} {method}"))));
    }
    // Of the origin and not of the text, so that the dot after a name and a default port are gone.
    let rest = &url[Position::BeforePath..Position::AfterQuery];
    let uri = format!("{origin}{rest}");
    let uri = uri.parse().map_err(|_syntax| Refusal::Invalid)?;
    drop(rules);
    Ok(Permitted {
        method,
        uri,
        origin,
    })
}

/// The origin of a URL, for the record of its denial; user information is no part of it.
pub(super) fn origin_of(url: &str) -> Option<String> {
    origin(&Url::parse(url).ok()?)
}

fn parse(url: &str) -> Option<Url> {
    let url = Url::parse(url).ok()?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none();
    plain.then_some(url)
}

/// As grants write it.
fn origin(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    // The dot of the root names the same host; grants are written without it.
    let host = host.strip_suffix('.').unwrap_or(host);
    let port = url.port_or_known_default()?;
    normal_origin(&format!("{}://{host}:{port}", url.scheme())).ok()
}
