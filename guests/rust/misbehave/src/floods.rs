//! Tools that print without end.

use std::io::{self, Write};

use crate::bindings::tidegate::plugin::types::Outcome;
use crate::outcome;

/// How much is printed when not told: a million pieces.
const FLOOD_BYTES: usize = 64_000_000;

const PIECE: &[u8; 64] = b"the same sixty-three characters and a newline, again and again.\n";

/// Prints to standard output.
pub(crate) fn stdout(arguments: &str) -> Outcome {
    flood(&mut io::stdout(), arguments)
}

/// Prints to standard error.
pub(crate) fn stderr(arguments: &str) -> Outcome {
    flood(&mut io::stderr(), arguments)
}

fn flood(stream: &mut dyn Write, arguments: &str) -> Outcome {
    let mut left = outcome::number(arguments, "bytes", FLOOD_BYTES);
    while left > 0 {
        let piece = PIECE.get(..left).unwrap_or(PIECE);
        match stream.write_all(piece) {
            // A program that does not look whether its printing worked: the case to be tested.
            Ok(()) | Err(_) => left -= piece.len(),
        }
    }
    match stream.flush() {
        // The same holds for what the standard library still keeps.
        Ok(()) | Err(_) => {}
    }
    outcome::text("done".to_owned())
}
