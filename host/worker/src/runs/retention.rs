//! How many runs there may be: open ones of a tenant, and ended ones, of which the oldest make way.
//!
//! An open run is never removed. Removing one that has ended is many small writes, its own row the last
//! of them: what a stop leaves of it is found again at the next start. Deliberately absent: its files,
//! which are whoever's the folder is, and artifacts, whose store has bounds of its own.

use std::sync::Arc;
use std::time::Duration;

use tidegate_sandbox::ambient;

use super::{Runs, Shared};
use crate::error::WorkerError;

/// How often is looked for runs that have to go.
const PERIOD: Duration = Duration::from_mins(1);

/// Runs that are looked for at once.
const AT_ONCE: u32 = 16;

/// How many runs there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunBounds {
    /// Open runs of one tenant.
    pub open_runs: u64,
    /// Ended runs of one tenant that are kept: the newest.
    pub ended_runs: u64,
    /// How long an ended run is kept.
    pub ended_ms: u64,
}

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

impl RunBounds {
    /// The largest of each; the least is 1.
    pub const MAXIMUM: Self = Self {
        open_runs: 100_000,
        ended_runs: 10_000_000,
        ended_ms: 3_660 * DAY_MS,
    };
}

impl Default for RunBounds {
    fn default() -> Self {
        Self {
            open_runs: 1_000,
            ended_runs: 100_000,
            ended_ms: 90 * DAY_MS,
        }
    }
}

impl Runs {
    /// Removes the ended runs that the bounds do not keep; their files stay. Answers how many. After [`resume`](Self::resume) it is done by itself
    /// every minute.
    ///
    /// # Errors
    ///
    /// `Store`.
    pub async fn sweep(&self) -> Result<usize, WorkerError> {
        sweep(&self.shared).await
    }
}

/// Removes what has to go, now and then, until the service closes.
pub(super) async fn keep_within(shared: Arc<Shared>) {
    loop {
        tokio::select! {
            biased;
            () = shared.closing.cancelled() => return,
            swept = sweep(&shared) => match swept {
                Ok(0) => {}
                Ok(count) => tracing::info!("{count} ended runs were removed"),
                Err(error) => {
                    let cause: &dyn std::error::Error = &error;
                    tracing::error!(error = cause, "ended runs could not be removed");
                }
            },
        }
        tokio::select! {
            biased;
            () = shared.closing.cancelled() => return,
            () = tokio::time::sleep(PERIOD) => {}
        }
    }
}

async fn sweep(shared: &Arc<Shared>) -> Result<usize, WorkerError> {
    let of = Arc::clone(shared);
    let tenants = shared.blocking(move || of.store.tenants()).await??;
    let mut count = 0;
    for tenant in tenants {
        loop {
            let (of, tenant) = (Arc::clone(shared), tenant.clone());
            let retired = move || {
                let at = (ambient::now_ms(), AT_ONCE);
                of.store.retired(&tenant, &of.bounds, at)
            };
            let retired = shared.blocking(retired).await??;
            if retired.is_empty() {
                break;
            }
            for run in retired {
                while !shared.store.remove_some(&run).await? {}
                count += 1;
            }
        }
    }
    Ok(count)
}
