//! Work that takes its time says so on a terminal, after a second (SPEC L5).

use std::io::{IsTerminal as _, stderr};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Shorter work is not worth a line.
pub(crate) const SILENT: Duration = Duration::from_secs(1);

/// Does something on this thread, and says what it is if it takes longer than a second.
pub(crate) fn shown<T>(what: &str, work: impl FnOnce() -> T) -> T {
    if !stderr().is_terminal() {
        return work();
    }
    let (working, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if ended.recv_timeout(SILENT) == Err(RecvTimeoutError::Timeout) {
                let bar = bar(what);
                // Nothing is ever sent: the wait is over when the sender is gone.
                while ended.recv().is_ok() {}
                bar.finish_and_clear();
            }
        });
        let done = work();
        drop(working);
        done
    })
}

/// A line that counts the seconds of what has gone on for one already.
pub(crate) fn bar(what: &str) -> ProgressBar {
    let bar = ProgressBar::no_length()
        .with_elapsed(SILENT)
        .with_message(what.to_owned());
    if let Ok(style) = ProgressStyle::with_template("{msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(SILENT);
    bar
}
