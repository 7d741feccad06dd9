//! A panic on the path of a call ends that call alone.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// What the work comes to; none when it panicked. It is not polled again then.
pub(super) async fn caught<T>(work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(end)) => Poll::Ready(Some(end)),
            Err(_panic) => {
                tracing::error!("a call panicked");
                Poll::Ready(None)
            }
        },
    )
    .await
}
