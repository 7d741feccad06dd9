//! SIGINT: the first cancels the running call and lets it drain, the second ends the process.

use std::io;
use std::thread;

use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;
use tokio_util::sync::CancellationToken;

/// A token that the first interrupt cancels, from the moment this returns.
pub(crate) fn token() -> CancellationToken {
    let token = CancellationToken::new();
    // Without a handler an interrupt ends the process, as for any program.
    if let Err(error) = watch(token.clone()) {
        tracing::warn!(%error, "an interrupt can't be caught");
    }
    token
}

/// Watches from a thread of its own. An interrupt is kept from the moment it is caught: tokio's
/// listener would lose one that comes between the handler and the listener.
fn watch(token: CancellationToken) -> io::Result<()> {
    let mut interrupts = Signals::new([SIGINT])?;
    let thread = thread::Builder::new().name("interrupts".to_owned());
    thread
        .spawn(move || {
            for (earlier, _) in interrupts.forever().enumerate() {
                if earlier > 0 {
                    quit();
                }
                token.cancel();
                crate::print::warning("cancelling; interrupt again to quit at once");
            }
        })
        .map(drop)
}

#[expect(clippy::exit, reason = "the second interrupt asks for exactly this")]
fn quit() {
    std::process::exit(130);
}
