//! Progress of a call, told to a client that asked for it by a token (`notifications/progress`).
//!
//! Reports never hold up the guest: what a client does not take in time is left out. Each that is told
//! is further than the one before, as the protocol demands, and none comes after the answer.

use rmcp::Peer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{RequestContext, RoleServer};
use tidegate::{CallProgress, ProgressSink};
use tokio::sync::mpsc;

/// Reports that a client has not taken yet.
const REPORTS: usize = 16;

/// One report on its way.
struct Report {
    done: u64,
    total: Option<u64>,
    note: String,
}

/// The reports of one call, and whom they are told.
pub(super) struct Reports {
    taken: mpsc::Receiver<Report>,
    token: ProgressToken,
    peer: Peer<RoleServer>,
    /// What was told last.
    told: Option<u64>,
}

/// Both ends, where the client asked for progress.
pub(super) fn channel(
    context: &RequestContext<RoleServer>,
) -> (Option<ProgressSink>, Option<Reports>) {
    let Some(token) = context.meta.get_progress_token() else {
        return (None, None);
    };
    let (sender, taken) = mpsc::channel(REPORTS);
    let sink = ProgressSink::new(move |progress: &CallProgress<'_>| {
        let report = Report {
            done: progress.done,
            total: progress.total,
            note: progress.note.to_owned(),
        };
        if sender.try_send(report).is_err() {
            // The client is behind, or nobody waits any more: the next report says more.
        }
    });
    let reports = Reports {
        taken,
        token,
        peer: context.peer.clone(),
        told: None,
    };
    (Some(sink), Some(reports))
}

/// Tells reports until the work is done.
pub(super) async fn while_waiting<T>(reports: Option<Reports>, work: impl Future<Output = T>) -> T {
    let Some(mut reports) = reports else {
        return work.await;
    };
    tokio::pin!(work);
    loop {
        let report = tokio::select! {
            biased;
            Some(report) = reports.taken.recv() => report,
            done = &mut work => {
                while let Ok(report) = reports.taken.try_recv() {
                    reports.tell(report).await;
                }
                return done;
            }
        };
        reports.tell(report).await;
    }
}

impl Reports {
    async fn tell(&mut self, report: Report) {
        let Report { done, total, note } = report;
        if self.told.is_some_and(|told| done <= told) {
            return;
        }
        self.told = Some(done);
        let mut progress = ProgressNotificationParam::new(self.token.clone(), number(done));
        progress.total = total.map(number);
        progress.message = (!note.is_empty()).then_some(note);
        if let Err(error) = self.peer.notify_progress(progress).await {
            tracing::debug!(%error, "telling progress");
        }
    }
}

/// The protocol counts in floating point.
fn number(count: u64) -> f64 {
    serde_json::Number::from(count).as_f64().unwrap_or_default()
}
