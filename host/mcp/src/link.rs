//! The connection to one server: made by the first call that needs it, and made anew by the first one
//! after it has ended. No call is sent twice that a server may have taken.

use std::sync::Arc;
use std::time::Duration;

use tidegate::{CancellationToken, McpError};
use tokio::sync::{Mutex, Notify};

use crate::client::{Connection, Era};
use crate::error::StartError;
use crate::frame::MessageBounds;

/// How a server is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectSettings {
    /// What one message may be.
    pub messages: MessageBounds,
    /// How long the server may take until it has answered the first question of the protocol, in
    /// milliseconds. Default: 30,000; from 1 to 600,000.
    pub start_ms: u64,
    /// Which era of the protocol it speaks.
    pub era: Era,
}

impl Default for ConnectSettings {
    fn default() -> Self {
        Self {
            messages: MessageBounds::default(),
            start_ms: 30_000,
            era: Era::default(),
        }
    }
}

impl ConnectSettings {
    /// The longest start, in milliseconds.
    pub const MAXIMUM_START_MS: u64 = 600_000;

    pub(crate) fn check(&self) -> Result<(), StartError> {
        let bytes = u64::try_from(self.messages.message_bytes).unwrap_or(u64::MAX);
        let most = u64::try_from(MessageBounds::MAXIMUM_BYTES).unwrap_or(u64::MAX);
        let bounds = [
            ("message_bytes", bytes, most),
            ("start_ms", self.start_ms, Self::MAXIMUM_START_MS),
        ];
        for (name, value, maximum) in bounds {
            if !(1..=maximum).contains(&value) {
                return Err(StartError::Bound {
                    name,
                    minimum: 1,
                    maximum,
                });
            }
        }
        Ok(())
    }
}

/// A connection, and what carries it.
#[derive(Debug)]
pub(crate) struct Live<C> {
    pub(crate) connection: Connection,
    pub(crate) carrier: C,
}

/// At most one connection.
#[derive(Debug)]
pub(crate) struct Link<C> {
    /// The lock is held while a connection is made, so that calls at the same time make one.
    live: Mutex<Option<Arc<Live<C>>>>,
    /// Told when the server says that its tools are others now, over whichever connection.
    changed: Arc<Notify>,
}

impl<C> Default for Link<C> {
    fn default() -> Self {
        Self {
            live: Mutex::new(None),
            changed: Arc::default(),
        }
    }
}

impl<C> Link<C> {
    /// The connection; `make` makes it where there is none.
    pub(crate) async fn live(
        &self,
        make: impl Future<Output = Result<Live<C>, String>>,
        cancel: &CancellationToken,
    ) -> Result<Arc<Live<C>>, McpError> {
        let connected = async {
            let mut live = self.live.lock().await;
            if let Some(live) = live.as_ref().filter(|live| !live.connection.is_closed()) {
                return Ok(Arc::clone(live));
            }
            // What has ended is given back before another is made.
            *live = None;
            let made = Arc::new(make.await?);
            *live = Some(Arc::clone(&made));
            Ok(made)
        };
        tokio::select! {
            biased;
            connected = connected => connected.map_err(|reason| McpError::Unavailable { reason }),
            () = cancel.cancelled() => Err(McpError::Cancelled),
        }
    }

    /// Is told when the server says that its tools are others now.
    pub(crate) fn changed(&self) -> &Arc<Notify> {
        &self.changed
    }

    /// Gives up a connection, unless there is another already.
    pub(crate) async fn give_up(&self, over: &Arc<Live<C>>) {
        let mut live = self.live.lock().await;
        if live.as_ref().is_some_and(|live| Arc::ptr_eq(live, over)) {
            *live = None;
        }
    }

    /// The connection, where nobody else has it; a call that still runs ends it otherwise.
    pub(crate) async fn take(&self) -> Option<Live<C>> {
        self.live.lock().await.take().and_then(Arc::into_inner)
    }
}

/// Connects in so much time, in the era that is asked for. A server that breaks at the question which
/// era it is of is connected to again and greeted as those before were: nothing was asked of it yet.
pub(crate) async fn within<C, F>(
    start_ms: u64,
    era: Era,
    connect: impl Fn(Era) -> F,
) -> Result<Live<C>, String>
where
    F: Future<Output = Result<Live<C>, String>>,
{
    let start = async {
        match connect(era).await {
            Err(_reason) if era == Era::Ask => {
                tracing::debug!("greeting a server again");
                connect(Era::Handshake).await
            }
            end => end,
        }
    };
    tokio::time::timeout(Duration::from_millis(start_ms), start)
        .await
        .map_err(|_elapsed| format!("no answer within start_ms = {start_ms}"))?
}
