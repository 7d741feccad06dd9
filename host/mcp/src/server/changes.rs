//! Telling a client on a connection that the tools are others now (`notifications/tools/list_changed`):
//! one of the era with a handshake without being asked, one of the stateless era that listens
//! (`subscriptions/listen`).

use std::time::Duration;

use rmcp::Peer;
use rmcp::model::SubscriptionFilter;
use rmcp::service::{RoleServer, SubscriptionContext};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Tools that come and go together are told of together.
const TOGETHER: Duration = Duration::from_millis(50);

/// What can be listened for.
pub(super) fn accepted() -> SubscriptionFilter {
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = Some(true);
    filter
}

/// Tells one that listens, until it does no more or its input is over.
pub(super) async fn tell(
    mut changes: watch::Receiver<()>,
    listener: &SubscriptionContext,
    over: &CancellationToken,
) {
    loop {
        tokio::select! {
            changed = next(&mut changes) => {
                if !changed || listener.sink().notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
            () = listener.cancelled() => return,
            () = over.cancelled() => return,
        }
    }
}

/// Tells a client of the era with a handshake, as long as it is there.
pub(super) async fn tell_peer(mut changes: watch::Receiver<()>, peer: Peer<RoleServer>) {
    while next(&mut changes).await {
        if peer.notify_tool_list_changed().await.is_err() {
            return;
        }
    }
}

/// Waits for a change and for those that come with it; false when there will be none.
async fn next(changes: &mut watch::Receiver<()>) -> bool {
    if changes.changed().await.is_err() {
        return false;
    }
    tokio::time::sleep(TOGETHER).await;
    changes.mark_unchanged();
    true
}
