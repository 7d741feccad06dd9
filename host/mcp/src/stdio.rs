//! A server that is a program of the operator, talked to over its standard streams.
//!
//! What it says on its standard error is logged, bounded. Deliberately absent: a shell.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tidegate::{BoxFuture, CancellationToken, McpClient, McpError, McpPage, McpToolResult};
use tidegate_contract::JsonObject;
use tidegate_sandbox::{ChildProgram, ChildStreams, RunningChild};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::client::{self, Connection, Era};
use crate::error::StartError;
use crate::lines::ClientLines;
use crate::link::{self, ConnectSettings, Link, Live};
use crate::said::{PeerName, Said};
use crate::unsent::{Line, Unsent};

/// What is read of its standard error at once.
const STDERR_PIECE_BYTES: usize = 1024;

/// What is held of one line of it: more than the longest secret, so that one in what is shown is known.
const STDERR_LINE_BYTES: usize = 32 * 1024;

/// How long a server whose input was closed may take to end by itself.
const END_WITHIN: Duration = Duration::from_millis(500);

/// A server that is a program. Cloning gives another handle to the same one; dropping the last kills
/// what was started.
#[derive(Clone, Debug)]
pub struct StdioServer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    name: PeerName,
    program: ChildProgram,
    settings: ConnectSettings,
    link: Link<Carrier>,
}

/// What carries the connection: a program, and what drives its streams.
#[derive(Debug)]
struct Carrier {
    child: RunningChild,
    streams: JoinSet<()>,
}

impl StdioServer {
    /// A server under its name in the registry, with the secrets that it is given where there are any.
    /// Nothing is started yet.
    ///
    /// # Errors
    ///
    /// [`StartError::Bound`] when a setting is out of range.
    pub fn new(
        name: impl Into<PeerName>,
        program: ChildProgram,
        settings: ConnectSettings,
    ) -> Result<Self, StartError> {
        settings.check()?;
        Ok(Self(Arc::new(Inner {
            name: name.into(),
            program,
            settings,
            link: Link::default(),
        })))
    }

    /// Ends what was started: the server's input is closed, and half a second later its process group
    /// is killed. A later call would start it again.
    pub async fn close(&self) {
        let Some(Live {
            connection,
            carrier: Carrier { child, streams },
        }) = self.0.link.take().await
        else {
            return;
        };
        drop((connection, streams));
        let ended = tokio::task::spawn_blocking(move || child.end_within(END_WITHIN));
        if let Err(error) = ended.await {
            tracing::debug!(%error, "ending an MCP server");
        }
    }

    async fn live(&self, cancel: &CancellationToken) -> Result<Arc<Live<Carrier>>, McpError> {
        let ConnectSettings { start_ms, era, .. } = self.0.settings;
        let make = link::within(start_ms, era, |era| self.0.connect(era));
        self.0.link.live(make, cancel).await
    }
}

impl Inner {
    async fn connect(&self, era: Era) -> Result<Live<Carrier>, String> {
        let (child, streams) = self.program.start().map_err(|error| error.to_string())?;
        let (unsent, outgoing) = Unsent::queue();
        let carried = carry(&self.name, streams, outgoing);
        let (stdout, streams) = carried.map_err(|error| error.to_string())?;
        let lines = ClientLines::new(
            stdout,
            (unsent, Arc::clone(self.link.changed())),
            (self.name.clone(), self.settings.messages),
        );
        let connection = Connection::open(lines, era).await?;
        Ok(Live {
            connection,
            carrier: Carrier { child, streams },
        })
    }
}

/// Drives the streams that nobody waits for.
fn carry(
    name: &PeerName,
    streams: ChildStreams,
    mut outgoing: mpsc::Receiver<Line>,
) -> io::Result<(pipe::Receiver, JoinSet<()>)> {
    let mut stdin = pipe::Sender::from_owned_fd(streams.stdin)?;
    let stdout = pipe::Receiver::from_owned_fd(streams.stdout)?;
    let mut stderr = pipe::Receiver::from_owned_fd(streams.stderr)?;
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Some(line) = outgoing.recv().await {
            if stdin.write_all(&line.bytes).await.is_err() {
                // It has closed its input. What waits for an answer is told by the end of its output.
                return;
            }
        }
    });
    let mut said = Said::new(name.clone());
    tasks.spawn(async move {
        let mut piece = vec![0; STDERR_PIECE_BYTES];
        let mut line = Vec::new();
        while let Ok(read @ 1..) = stderr.read(&mut piece).await {
            for byte in piece.get(..read).unwrap_or_default() {
                if *byte == b'\n' {
                    log(&mut said, &line);
                    line.clear();
                } else if line.len() < STDERR_LINE_BYTES {
                    line.push(*byte);
                }
            }
        }
        log(&mut said, &line);
    });
    Ok((stdout, tasks))
}

fn log(said: &mut Said, line: &[u8]) {
    if !line.is_empty()
        && let Some(stderr) = said.shown(line)
    {
        tracing::info!(server = said.by(), stderr, "an MCP server says");
    }
}

impl McpClient for StdioServer {
    fn list_tools<'a>(
        &'a self,
        cursor: Option<&'a str>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<McpPage, McpError>> {
        Box::pin(async move {
            let live = self.live(cancel).await?;
            client::list_tools(&live.connection.peer(), cursor, cancel).await
        })
    }

    fn call_tool<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a JsonObject,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<McpToolResult, McpError>> {
        Box::pin(async move {
            let live = self.live(cancel).await?;
            client::call_tool(&live.connection.peer(), (name, arguments), cancel).await
        })
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.link.changed().notified())
    }
}
