//! A panic on the path of a request ends that request alone.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use rmcp::ErrorData;
use rmcp::model::ServerResult;

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

/// The answer of a request, which has one after a panic too: without it, it would keep its place for
/// ever.
pub(super) async fn answered(
    answering: impl Future<Output = Result<ServerResult, ErrorData>>,
) -> Result<ServerResult, ErrorData> {
    let failed = || Err(ErrorData::internal_error("the request failed", None));
    caught(Box::pin(answering)).await.unwrap_or_else(failed)
}
