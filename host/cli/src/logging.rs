//! Logs to stderr. What plugins say has been bounded and cleaned before it comes here.

use std::io;

use tracing::Level;

/// Starts logging: warnings always; `-v` adds what is loaded and what plugins log, `-vv` all.
pub(crate) fn start(verbose: u8) {
    let level = match verbose {
        0 => Level::WARN,
        1 => Level::INFO,
        _ => Level::TRACE,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .with_writer(io::stderr)
        .init();
}
