//! The console sink: writes each delivery as one line of JSON to standard output.
//!
//! It writes straight to the stream of WASI, because the receipt depends on whether the line was
//! taken: the host puts out whole lines at a flush, and refuses the write of a line that is too
//! long for it. Deliberately absent: colours, pretty printing, dropping repeats.

use tidegate_plugin::{Delivery, Receipt, Sink};
use wasip2::cli::stdout::get_stdout;
use wasip2::io::streams::{OutputStream, StreamError};

struct Console;

tidegate_plugin::export_sink!(Console);

impl Sink for Console {
    fn deliver(delivery: Delivery) -> Receipt {
        let mut line = delivery.to_json();
        line.push('\n');
        match write_line(&get_stdout(), line.as_bytes()) {
            Ok(()) => delivery.accepted(None),
            Err(_closed_or_refused) => {
                delivery.rejected("CONSOLE_REJECTED", "the console did not take the message")
            }
        }
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
