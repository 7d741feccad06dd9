//! SIGINT, and SIGTERM for a service: the first cancels what runs and lets it drain, the second ends
//! the process.

use std::io;
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio_util::sync::CancellationToken;

/// A token that the first interrupt cancels, from the moment this returns.
pub(crate) fn token() -> CancellationToken {
    watched(&[SIGINT], "cancelling; interrupt again to quit at once")
}

/// A token that the first signal to end a service cancels, from the moment this returns.
pub(crate) fn ending() -> CancellationToken {
    watched(&[SIGINT, SIGTERM], "stopping; signal again to quit at once")
}

fn watched(signals: &[i32], said: &'static str) -> CancellationToken {
    let token = CancellationToken::new();
    // Without a handler a signal ends the process, as for any program.
    if let Err(error) = watch(signals, said, token.clone()) {
        tracing::warn!(%error, "a signal can't be caught");
    }
    token
}

/// Watches from a thread of its own. A signal is kept from the moment it is caught: tokio's listener
/// would lose one that comes between the handler and the listener.
fn watch(signals: &[i32], said: &'static str, token: CancellationToken) -> io::Result<()> {
    let mut caught = Signals::new(signals)?;
    let thread = thread::Builder::new().name("interrupts".to_owned());
    thread
        .spawn(move || {
            for (earlier, _) in caught.forever().enumerate() {
                if earlier > 0 {
                    quit();
                }
                token.cancel();
                crate::print::warning(said);
            }
        })
        .map(drop)
}

#[expect(clippy::exit, reason = "the second signal asks for exactly this")]
fn quit() {
    std::process::exit(130);
}
