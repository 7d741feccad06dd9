//! The task that closes attempts whose time has run out, when it runs out.

use std::sync::Arc;
use std::time::Duration;

use tidegate_sandbox::ambient;

use super::Shared;

/// The longest that credentials of settled attempts are kept over their time: a minute.
const IDLE: Duration = Duration::from_mins(1);

/// Sleeps until the next attempt expires, until one may that was not there before, or for a while.
pub(super) async fn expire(shared: Arc<Shared>) {
    loop {
        let next = {
            let of = Arc::clone(&shared);
            let expired = shared.blocking(move || {
                of.service.expire(ambient::now_ms())?;
                Ok::<_, crate::error::WorkerError>(of.store.next_expiry()?)
            });
            match expired.await {
                Ok(Ok(next)) => next,
                Ok(Err(error)) | Err(error) => {
                    tracing::error!("attempts could not be expired: {error}");
                    None
                }
            }
        };
        let left = next.map(|next| next.saturating_sub(ambient::now_ms()));
        let wait = left.map_or(IDLE, Duration::from_millis).min(IDLE);
        tokio::select! {
            biased;
            () = shared.closing.cancelled() => return,
            () = shared.expiry.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}
