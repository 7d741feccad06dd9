//! SIGINT: the first cancels the running call and lets it drain, the second ends the process.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that the first interrupt cancels, from the moment this returns.
pub(crate) fn token() -> CancellationToken {
    let token = CancellationToken::new();
    match signal(SignalKind::interrupt()) {
        Ok(interrupts) => {
            let work = cancel(interrupts, token.clone());
            drop(tokio::runtime::Handle::current().spawn(work));
        }
        // Without a handler an interrupt ends the process, as for any program.
        Err(error) => tracing::warn!(%error, "an interrupt can't be caught"),
    }
    token
}

/// Ends with the runtime, which outlives every call.
async fn cancel(mut interrupts: Signal, token: CancellationToken) {
    if interrupts.recv().await.is_some() {
        token.cancel();
        crate::print::warning("cancelling; interrupt again to quit at once");
    }
    if interrupts.recv().await.is_some() {
        quit();
    }
}

#[expect(clippy::exit, reason = "the second interrupt asks for exactly this")]
fn quit() {
    std::process::exit(130);
}
