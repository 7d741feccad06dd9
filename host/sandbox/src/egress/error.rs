//! Why a request got no answer, or its body no end.

use std::error::Error;
use std::io;

use crate::denial::Denial;

/// What went wrong, said by what it means for the effects of the request: up to
/// [`Tls`](Self::Tls) nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// An address that its host has is not granted.
    #[error("denied: {0}")]
    Denied(Denial),
    /// Its host has no address.
    #[error("the host has no address")]
    Dns,
    /// No address took the connection.
    #[error("the connection was refused")]
    Refused,
    /// No connection within the time for it.
    #[error("no connection within the time for it")]
    ConnectTimeout,
    /// No secure connection: a certificate that is not right, or no TLS at all.
    #[error("no secure connection")]
    Tls(TlsFault),
    /// No answer within the time for its first byte.
    #[error("no answer within the time for its first byte")]
    FirstByteTimeout,
    /// Nothing more of the body within the time between its bytes.
    #[error("nothing more of the body within the time for it")]
    BetweenBytesTimeout,
    /// The connection ended before the answer did.
    #[error("the connection ended before the answer")]
    Terminated,
    /// What came is no HTTP.
    #[error("the answer is no HTTP")]
    Protocol,
    /// The body has a coding that the host can't undo, or that is broken.
    #[error("the body is coded in a way that is not known, or broken")]
    ContentCoding,
    /// The answer's headers are over the bound.
    #[error("the headers are too large")]
    HeadersTooLarge,
    /// The answer's body is over the bound.
    #[error("the body is too large")]
    BodyTooLarge,
}

/// What was wrong with TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsFault {
    /// The certificate is not right for the name that was asked for.
    Certificate,
    /// The handshake failed.
    Protocol,
    /// The host has no certificate authorities to trust.
    NoAuthorities,
}

impl EgressError {
    /// The same, where an interface takes errors of I/O only.
    pub(super) fn into_io(self) -> io::Error {
        io::Error::other(self)
    }

    /// What an error of I/O means: one of ours that was passed through it, or broken content.
    pub(super) fn of_decoding(error: &io::Error) -> Self {
        let own = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<Self>());
        own.cloned().unwrap_or(Self::ContentCoding)
    }

    /// What an error of the client means.
    pub(super) fn of_client(error: &hyper_util::client::legacy::Error) -> Self {
        let mut cause: Option<&(dyn Error + 'static)> = error.source();
        while let Some(error) = cause {
            if let Some(own) = error.downcast_ref::<Self>() {
                return own.clone();
            }
            if let Some(hyper) = error.downcast_ref::<hyper::Error>() {
                return Self::of_hyper(hyper);
            }
            cause = error.source();
        }
        if error.is_connect() {
            Self::Refused
        } else {
            Self::Terminated
        }
    }

    /// What an error of the connection means.
    pub(super) fn of_hyper(error: &hyper::Error) -> Self {
        if error.is_parse_too_large() {
            return Self::HeadersTooLarge;
        }
        if error.is_parse() || error.is_parse_status() {
            return Self::Protocol;
        }
        let mut cause = error.source();
        while let Some(error) = cause {
            if let Some(own) = error.downcast_ref::<Self>() {
                return own.clone();
            }
            if error.is::<io::Error>() && error.to_string().starts_with("chunk trailers ") {
                // The client reads 16 KiB of them at most, and gives that no type; a test holds it.
                return Self::HeadersTooLarge;
            }
            cause = error.source();
        }
        Self::Terminated
    }
}
