//! The console sink: writes each delivery as one line of JSON to standard output.
//!
//! It writes straight to the stream of WASI, because the receipt depends on whether the line was
//! taken: the host puts out whole lines at a flush, and refuses the write of a line that is too
//! long for it. Deliberately absent: colours, pretty printing, dropping repeats.

use bindings::exports::tidegate::plugin::sink::Guest;
use bindings::tidegate::plugin::types::{Artifact, Delivery, Failure, Receipt, ReceiptStatus};
use wasip2::cli::stdout::get_stdout;
use wasip2::io::streams::{OutputStream, StreamError};

mod bindings;
mod line;

struct Console;

bindings::export!(Console with_types_in bindings);

impl Guest for Console {
    fn deliver(delivery: Delivery) -> Receipt {
        let error = match write_line(&get_stdout(), line::line(&delivery).as_bytes()) {
            Ok(()) => None,
            Err(_closed_or_refused) => Some(Failure {
                code: "CONSOLE_REJECTED".to_owned(),
                message: "the console did not take the message".to_owned(),
                retryable: None,
            }),
        };
        receipt(delivery, error)
    }
}

/// Writes the whole line and flushes once, at its end.
fn write_line(stdout: &OutputStream, line: &[u8]) -> Result<(), StreamError> {
    let mut rest = line;
    while !rest.is_empty() {
        let permitted = usize::try_from(stdout.check_write()?).unwrap_or(usize::MAX);
        if permitted == 0 {
            stdout.subscribe().block();
            continue;
        }
        let (chunk, after) = rest.split_at(permitted.min(rest.len()));
        stdout.write(chunk)?;
        rest = after;
    }
    stdout.blocking_flush()
}

/// Accepted with the artifacts of the delivery, or rejected with the error.
fn receipt(delivery: Delivery, error: Option<Failure>) -> Receipt {
    let artifacts: Vec<Artifact> = delivery.artifacts;
    let (status, artifacts) = match error {
        Some(_) => (ReceiptStatus::Rejected, None),
        None => (
            ReceiptStatus::Accepted,
            Some(artifacts).filter(|list| !list.is_empty()),
        ),
    };
    Receipt {
        delivery_id: delivery.delivery_id,
        status,
        artifacts,
        error,
        metadata: None,
    }
}
