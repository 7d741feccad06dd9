//! Why an exchange gave no whole answer.

use std::fmt;

use wasip2::http::types::ErrorCode;

/// Why there is no whole answer. Shown as a few fixed words, fit for a log: nothing of the request
/// or of the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A part of the request cannot stand in one; which.
    Malformed(&'static str),
    /// The host gave this error, by its name in `wasi:http`, before anything was sent.
    Unsent(&'static str),
    /// The host gave this error when the request may have been sent, or part of it.
    Broken(&'static str),
    /// The deadline passed.
    Timeout,
    /// The body is longer than was allowed.
    TooLong,
}

/// What the other side can have seen of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// Nothing of it.
    Nothing,
    /// All of it, some of it or nothing.
    Maybe,
}

impl Fault {
    /// The fault of an error that came after the host had taken the request.
    pub(crate) fn of(code: &ErrorCode) -> Self {
        if is_before_sending(code) {
            Self::Unsent(name(code))
        } else {
            Self::Broken(name(code))
        }
    }

    /// What the other side can have seen.
    pub fn sent(&self) -> Sent {
        match self {
            Self::Malformed(_) | Self::Unsent(_) => Sent::Nothing,
            Self::Broken(_) | Self::Timeout | Self::TooLong => Sent::Maybe,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(part) => write!(f, "the {part} cannot be sent"),
            Self::Unsent(name) => write!(f, "nothing was sent: {name}"),
            Self::Broken(name) => write!(f, "the exchange broke: {name}"),
            Self::Timeout => f.write_str("the time was up"),
            Self::TooLong => f.write_str("the body is too long"),
        }
    }
}

/// Whether the host gives this error only while it looks the server up, connects and agrees on
/// encryption, or refuses the request. Everything else may have come later.
fn is_before_sending(code: &ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::DnsTimeout
            | ErrorCode::DnsError(_)
            | ErrorCode::DestinationNotFound
            | ErrorCode::DestinationUnavailable
            | ErrorCode::DestinationIpProhibited
            | ErrorCode::DestinationIpUnroutable
            | ErrorCode::ConnectionRefused
            | ErrorCode::ConnectionTimeout
            | ErrorCode::ConnectionLimitReached
            | ErrorCode::TlsProtocolError
            | ErrorCode::TlsCertificateError
            | ErrorCode::TlsAlertReceived(_)
            | ErrorCode::HttpRequestDenied
            | ErrorCode::HttpRequestMethodInvalid
            | ErrorCode::HttpRequestUriInvalid
    )
}

/// The name of an error in the WIT of `wasi:http`.
pub fn name(code: &ErrorCode) -> &'static str {
    match code {
        ErrorCode::DnsTimeout => "DNS-timeout",
        ErrorCode::DnsError(_) => "DNS-error",
        ErrorCode::DestinationNotFound => "destination-not-found",
        ErrorCode::DestinationUnavailable => "destination-unavailable",
        ErrorCode::DestinationIpProhibited => "destination-IP-prohibited",
        ErrorCode::DestinationIpUnroutable => "destination-IP-unroutable",
        ErrorCode::ConnectionRefused => "connection-refused",
        ErrorCode::ConnectionTerminated => "connection-terminated",
        ErrorCode::ConnectionTimeout => "connection-timeout",
        ErrorCode::ConnectionReadTimeout => "connection-read-timeout",
        ErrorCode::ConnectionWriteTimeout => "connection-write-timeout",
        ErrorCode::ConnectionLimitReached => "connection-limit-reached",
        ErrorCode::TlsProtocolError => "TLS-protocol-error",
        ErrorCode::TlsCertificateError => "TLS-certificate-error",
        ErrorCode::TlsAlertReceived(_) => "TLS-alert-received",
        ErrorCode::HttpRequestDenied => "HTTP-request-denied",
        ErrorCode::HttpRequestLengthRequired => "HTTP-request-length-required",
        ErrorCode::HttpRequestBodySize(_) => "HTTP-request-body-size",
        ErrorCode::HttpRequestMethodInvalid => "HTTP-request-method-invalid",
        ErrorCode::HttpRequestUriInvalid => "HTTP-request-URI-invalid",
        ErrorCode::HttpRequestUriTooLong => "HTTP-request-URI-too-long",
        ErrorCode::HttpRequestHeaderSectionSize(_) => "HTTP-request-header-section-size",
        ErrorCode::HttpRequestHeaderSize(_) => "HTTP-request-header-size",
        ErrorCode::HttpRequestTrailerSectionSize(_) => "HTTP-request-trailer-section-size",
        ErrorCode::HttpRequestTrailerSize(_) => "HTTP-request-trailer-size",
        ErrorCode::HttpResponseIncomplete => "HTTP-response-incomplete",
        ErrorCode::HttpResponseHeaderSectionSize(_) => "HTTP-response-header-section-size",
        ErrorCode::HttpResponseHeaderSize(_) => "HTTP-response-header-size",
        ErrorCode::HttpResponseBodySize(_) => "HTTP-response-body-size",
        ErrorCode::HttpResponseTrailerSectionSize(_) => "HTTP-response-trailer-section-size",
        ErrorCode::HttpResponseTrailerSize(_) => "HTTP-response-trailer-size",
        ErrorCode::HttpResponseTransferCoding(_) => "HTTP-response-transfer-coding",
        ErrorCode::HttpResponseContentCoding(_) => "HTTP-response-content-coding",
        ErrorCode::HttpResponseTimeout => "HTTP-response-timeout",
        ErrorCode::HttpUpgradeFailed => "HTTP-upgrade-failed",
        ErrorCode::HttpProtocolError => "HTTP-protocol-error",
        ErrorCode::LoopDetected => "loop-detected",
        ErrorCode::ConfigurationError => "configuration-error",
        ErrorCode::InternalError(_) => "internal-error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_sent_is_never_called_unsent() {
        for (code, sent) in [
            (ErrorCode::HttpRequestDenied, Sent::Nothing),
            (ErrorCode::DnsTimeout, Sent::Nothing),
            (ErrorCode::ConnectionRefused, Sent::Nothing),
            (ErrorCode::ConnectionTimeout, Sent::Nothing),
            (ErrorCode::TlsCertificateError, Sent::Nothing),
            (ErrorCode::ConnectionTerminated, Sent::Maybe),
            (ErrorCode::ConnectionReadTimeout, Sent::Maybe),
            (ErrorCode::ConnectionWriteTimeout, Sent::Maybe),
            (ErrorCode::HttpRequestBodySize(None), Sent::Maybe),
            (ErrorCode::HttpResponseTimeout, Sent::Maybe),
            (ErrorCode::HttpResponseIncomplete, Sent::Maybe),
            (ErrorCode::HttpProtocolError, Sent::Maybe),
            (ErrorCode::InternalError(None), Sent::Maybe),
        ] {
            assert_eq!(Fault::of(&code).sent(), sent, "{code:?}");
        }
        assert_eq!(Fault::Timeout.sent(), Sent::Maybe);
    }

    #[test]
    fn io07_a_fault_shows_none_of_the_hosts_words() {
        let code = ErrorCode::InternalError(Some("GET /x?key=sk-test-9".to_owned()));
        let shown = Fault::of(&code).to_string();
        assert_eq!(shown, "the exchange broke: internal-error");
    }
}
