//! The answer to a request: its status, and as much of its body as is asked for.

use std::fmt;

use wasip2::http::types::{
    FutureIncomingResponse, IncomingBody, IncomingResponse, http_error_code,
};
use wasip2::io::streams::{InputStream, StreamError};

use crate::deadline::Deadline;
use crate::fault::Fault;

/// How much of a body is asked for in one host call, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// The head of an answer, whose body has not been read yet. Dropping it ends the exchange.
pub struct Response {
    status: u16,
    incoming: IncomingResponse,
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Response({})", self.status)
    }
}

/// Waits for the head of an answer.
pub(crate) fn head(
    answer: &FutureIncomingResponse,
    deadline: &Deadline,
) -> Result<Response, Fault> {
    deadline.wait(&answer.subscribe())?;
    match answer.get() {
        Some(Ok(Ok(incoming))) => Ok(Response {
            status: incoming.status(),
            incoming,
        }),
        Some(Ok(Err(code))) => Err(Fault::of(&code)),
        // Neither can be: it is ready, and it is asked once.
        Some(Err(())) | None => Err(Fault::Broken("no-answer")),
    }
}

impl Response {
    /// The status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Reads the body to its end. It is counted while it comes, and one that is longer than
    /// `limit_bytes` is not read on.
    ///
    /// # Errors
    /// [`Fault::TooLong`], [`Fault::Timeout`], and [`Fault::Broken`] if the body stops before its
    /// end.
    pub fn read(self, limit_bytes: usize, deadline: &Deadline) -> Result<Vec<u8>, Fault> {
        let broken = |()| Fault::Broken("no-body");
        let body: IncomingBody = self.incoming.consume().map_err(broken)?;
        let stream = body.stream().map_err(broken)?;
        let mut bytes = Vec::new();
        while let Some(piece) = piece(&stream, deadline)? {
            if piece.len() > limit_bytes.saturating_sub(bytes.len()) {
                return Err(Fault::TooLong);
            }
            bytes.extend(piece);
        }
        Ok(bytes)
    }
}

/// The next bytes of a body, none at its end.
fn piece(stream: &InputStream, deadline: &Deadline) -> Result<Option<Vec<u8>>, Fault> {
    deadline.wait(&stream.subscribe())?;
    let ask = u64::try_from(PIECE_BYTES).unwrap_or(u64::MAX);
    match stream.read(ask) {
        Ok(piece) => Ok(Some(piece)),
        Err(StreamError::Closed) => Ok(None),
        Err(StreamError::LastOperationFailed(error)) => Err(http_error_code(&error)
            .map_or(Fault::Broken("body"), |code| {
                Fault::Broken(crate::fault::name(&code))
            })),
    }
}
