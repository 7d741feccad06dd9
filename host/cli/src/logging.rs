//! Logs to stderr. What plugins say has been bounded and cleaned before it comes here.

use std::io;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt, registry};

/// Starts logging: warnings always; `-v` adds what is loaded and what plugins log, `-vv` all.
pub(crate) fn start(verbose: u8) {
    let level = match verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        _ => LevelFilter::TRACE,
    };
    // What the libraries below say holds what guests and servers sent: URLs with their queries, one line
    // for each request that is malformed.
    let ours = Targets::new().with_target("tidegate", level);
    let lines = fmt::layer()
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .with_writer(io::stderr);
    registry().with(lines.with_filter(ours)).init();
}
