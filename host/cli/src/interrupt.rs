//! SIGINT: the first cancels the running call and lets it drain, the second ends the process.

use tokio_util::sync::CancellationToken;

/// A token that the first interrupt cancels.
pub(crate) fn token() -> CancellationToken {
    let token = CancellationToken::new();
    let cancelled = token.clone();
    tokio::runtime::Handle::current().spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            cancelled.cancel();
            crate::print::warning("cancelling; interrupt again to quit at once");
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            quit();
        }
    });
    token
}

#[expect(clippy::exit, reason = "the second interrupt asks for exactly this")]
fn quit() {
    std::process::exit(130);
}
