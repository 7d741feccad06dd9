//! The time that one call has, and what ends it early.

use std::time::{Duration, Instant};

use tidegate_contract::limits::Limits;
use tidegate_contract::{CallError, Failure, Status};
use tidegate_engine::Deadline;
use tokio_util::sync::CancellationToken;

use crate::runtime::InvokeOptions;

/// How long a tool may take to end by itself once its deadline has passed or its caller has given
/// up. A component ends within it and says what it printed; a native tool that does not is dropped.
const GRACE: Duration = Duration::from_millis(50);

/// The time bound of one call; waiting counts.
pub(super) struct Bound {
    pub(super) asked: Instant,
    pub(super) deadline: Deadline,
}

impl Bound {
    pub(super) fn new(limits: &Limits, options: &InvokeOptions) -> Self {
        let deadline_ms = options
            .deadline_ms
            .unwrap_or(u64::MAX)
            .min(limits.deadline_ms);
        let asked = Instant::now();
        Self {
            asked,
            deadline: Deadline::since(asked, deadline_ms),
        }
    }

    /// Runs `work`, and drops it when it neither ends by the deadline nor soon after.
    pub(super) async fn race<T>(
        &self,
        cancel: &CancellationToken,
        work: impl Future<Output = Result<T, CallError>>,
        cut: impl Fn(Status, Failure) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        let given_up = async {
            tokio::select! {
                () = cancel.cancelled() => (Status::Cancelled, Failure::cancelled()),
                () = tokio::time::sleep_until(self.deadline.at.into()) => {
                    (Status::Timeout, Failure::deadline(self.deadline.after_ms))
                }
            }
        };
        tokio::pin!(work);
        tokio::select! {
            biased;
            end = &mut work => end,
            (status, failure) = given_up => {
                match tokio::time::timeout(GRACE, work).await {
                    Ok(end) => end,
                    Err(_still_running) => cut(status, failure),
                }
            }
        }
    }
}
