//! How far a check is, on stderr, once it has taken a second on a terminal (SPEC L5).

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

const SECOND: Duration = Duration::from_secs(1);

/// Shows nothing within the first second, and nothing at all where nobody watches.
#[derive(Debug)]
pub(super) struct Progress {
    started: Instant,
    bar: Option<ProgressBar>,
    about: String,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            started: Instant::now(),
            bar: None,
            about: String::new(),
        }
    }

    /// Says what the next calls are for.
    pub(super) fn about(&mut self, about: &str) {
        about.clone_into(&mut self.about);
    }

    /// One more call is made.
    pub(super) fn step(&mut self, calls: usize) {
        if self.started.elapsed() < SECOND || !std::io::stderr().is_terminal() {
            return;
        }
        let bar = self.bar.get_or_insert_with(bar);
        bar.set_message(format!("checking {}: call {calls}", self.about));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::no_length().with_elapsed(SECOND);
    if let Ok(style) = ProgressStyle::with_template("{msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(SECOND);
    bar
}
