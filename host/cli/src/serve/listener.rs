//! The loop that takes connections, the life of each, and the end of all.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::access::Peer;
use super::door::{Door, Ends};
use super::framing::{Framed, Gate};
use super::refused::Refused;
use super::routes;
use super::shares::Shares;

/// How long to wait after a connection could not be taken: what is missing is files or memory.
const PAUSE: Duration = Duration::from_millis(50);

/// How long answers to what was broken off may take to leave.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Takes connections until the service stops, then lets what is being done end, within its time.
pub(super) async fn serve(listener: TcpListener, door: Arc<Door>) {
    let router = routes::router(&door);
    let connections = usize::try_from(door.limits.connections).unwrap_or(usize::MAX);
    let room = Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS)));
    let shares = Shares::new(door.limits.peer_connections);
    let mut open = JoinSet::new();
    loop {
        // Room first: who is not taken yet waits in the system's queue and costs nothing here.
        let taken = tokio::select! {
            () = door.stopping.cancelled() => break,
            taken = take(&listener, &room) => taken,
        };
        while open.try_join_next().is_some() {}
        match taken {
            Some((stream, peer, place)) => {
                let peer = Peer::of(peer.ip());
                let Some(share) = shares.take(&peer.0) else {
                    door.metrics.over_share();
                    refuse(&stream);
                    continue;
                };
                let connection = converse(stream, peer, (Arc::clone(&door), router.clone()));
                open.spawn(async move {
                    connection.await;
                    drop((place, share));
                });
            }
            None => tokio::time::sleep(PAUSE).await,
        }
    }
    drop(listener);
    drain(&door, open).await;
}

/// Waits for room and for a connection; `None` where one could not be taken.
async fn take(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    // It is never closed.
    let place = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, peer, place)),
        Err(error) => {
            tracing::warn!(%error, "a connection could not be taken");
            None
        }
    }
}

/// Tells whoever has all the connections that it may have, as far as the system takes it at once.
fn refuse(stream: &TcpStream) {
    let refused = Refused::unavailable(
        "TOO_MANY_CONNECTIONS",
        "the address has all the connections that it may have",
    );
    let answer = refused.bytes();
    match stream.try_write(&answer) {
        Ok(_) => {}
        Err(error) => tracing::debug!(%error, "a connection over its share was not told"),
    }
}

/// Answers the requests of one connection, one after the other.
async fn converse(stream: TcpStream, peer: Peer, (door, router): (Arc<Door>, Router)) {
    let Ok(local) = stream.local_addr() else {
        // It has ended already.
        return;
    };
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "small answers may be held back");
    }
    let _counted = door.metrics.connected();
    let gate = Arc::new(Gate::default());
    let framed = Framed::new(stream, Arc::clone(&gate), door.limits);
    let ends = Ends {
        peer,
        local: local.ip(),
    };
    let service = service_fn(|request| {
        let (door, router) = (Arc::clone(&door), router.clone());
        let with = (ends.clone(), Arc::clone(&gate));
        async move { Ok::<_, std::convert::Infallible>(door.answer(router, request, with).await) }
    });
    let mut http = http1::Builder::new();
    // Heads are judged and timed before they come here.
    http.timer(TokioTimer::new()).header_read_timeout(None);
    http.pipeline_flush(true);
    let mut connection = pin!(http.serve_connection(TokioIo::new(framed), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = door.stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // What the library says may hold what was sent; its kind does not.
        let (timeout, broken) = (error.is_timeout(), error.is_incomplete_message());
        tracing::debug!(timeout, broken, "a connection ended early");
    }
}

/// Waits until all connections are over; breaks off what takes too long.
async fn drain(door: &Door, mut open: JoinSet<()>) {
    let within = Duration::from_millis(door.limits.drain_ms);
    let all = async { while open.join_next().await.is_some() {} };
    if timeout(within, all).await.is_ok() {
        return;
    }
    tracing::warn!("requests are broken off; they did not end in time");
    door.breaking.cancel();
    let all = async { while open.join_next().await.is_some() {} };
    if timeout(LAST_WORDS, all).await.is_err() {
        open.shutdown().await;
    }
}
