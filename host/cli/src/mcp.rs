//! `tidegate mcp`: the permitted tools as an MCP server on standard input and output (SPEC M5, L3).
//!
//! Standard output carries messages and nothing else: what anything prints there goes to standard
//! error. Reading and writing have threads of their own, so that neither holds up a call.

use std::io::{self, Write as _};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::thread;

use serde_json::json;
use tidegate_mcp::{McpServer, ServerSettings};
use tidegate_sandbox::ambient;
use tidegate_sandbox::ambient::streams;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use crate::cli::{McpArguments, PluginArguments};
use crate::refusal::{self, Exit, Form};
use crate::{interrupt, plugins, print};

/// What is read at once.
const PIECE_BYTES: usize = 64 * 1024;

/// Pieces that were read and not taken yet.
const PIECES: usize = 4;

/// Runs the command.
pub(crate) async fn run(arguments: &McpArguments) -> Exit {
    if arguments.print_client_config {
        return match client_config(&arguments.plugins) {
            Ok(config) => {
                print::json(&config);
                Exit::Success
            }
            Err(error) => refusal::usage(&error, Form::Text),
        };
    }
    let host = match plugins::host(&arguments.plugins) {
        Ok(host) => host,
        Err(error) => return refusal::usage(&error, Form::Text),
    };
    let served = serve(&host).await;
    host.close().await;
    match served {
        Ok(()) => Exit::Success,
        Err(error) => {
            print::warning(&format!("error: {error}"));
            Exit::Failed
        }
    }
}

async fn serve(host: &plugins::Host) -> Result<(), String> {
    let cancel = interrupt::token();
    let output = streams::take_stdout().map_err(|error| format!("standard output: {error}"))?;
    let settings = ServerSettings::default();
    let server = McpServer::new(host.runtime.clone(), settings, Handle::current());
    let input = Input::start().map_err(|error| format!("standard input: {error}"))?;
    let mut written = None;
    let take_output = |lines| written = Some(write(output, lines));
    let served = server.serve_lines(input, take_output, cancel).await;
    if let Some(writer) = written.transpose().map_err(|error| error.to_string())? {
        // The last answer is on its way until the thread has written it.
        let joined = tokio::task::spawn_blocking(move || writer.join()).await;
        if !matches!(joined, Ok(Ok(()))) {
            return Err("writing to standard output ended early".to_owned());
        }
    }
    served
}

/// Writes lines on a thread of its own, each whole and at once.
fn write(
    mut output: std::fs::File,
    mut lines: mpsc::Receiver<Vec<u8>>,
) -> io::Result<thread::JoinHandle<()>> {
    let writer = thread::Builder::new().name("mcp-output".to_owned());
    writer.spawn(move || {
        while let Some(line) = lines.blocking_recv() {
            if let Err(error) = output.write_all(&line).and_then(|()| output.flush()) {
                tracing::debug!(%error, "the client reads no more");
                return;
            }
        }
    })
}

/// Standard input, read on a thread of its own.
struct Input {
    pieces: mpsc::Receiver<Vec<u8>>,
    rest: Vec<u8>,
    taken: usize,
}

impl Input {
    fn start() -> io::Result<Self> {
        let (sender, pieces) = mpsc::channel(PIECES);
        let reader = thread::Builder::new().name("mcp-input".to_owned());
        // The thread waits for the client, and must not hold up the end of the program.
        drop(reader.spawn(move || {
            let take = |piece| sender.blocking_send(piece).is_ok();
            if let Err(error) = streams::read_stdin(PIECE_BYTES, take) {
                tracing::warn!(%error, "standard input");
            }
        })?);
        Ok(Self {
            pieces,
            rest: Vec::new(),
            taken: 0,
        })
    }
}

impl AsyncRead for Input {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.taken >= self.rest.len() {
            match ready!(self.pieces.poll_recv(context)) {
                Some(piece) => (self.rest, self.taken) = (piece, 0),
                None => return Poll::Ready(Ok(())),
            }
        }
        let left = self.rest.get(self.taken..).unwrap_or_default();
        let fits = left.get(..buffer.remaining()).unwrap_or(left);
        buffer.put_slice(fits);
        let read = fits.len();
        self.taken += read;
        Poll::Ready(Ok(()))
    }
}

/// What a client's own configuration says to start this server: the same options, with absolute paths,
/// since a client starts it in a folder of its own.
fn client_config(arguments: &PluginArguments) -> anyhow::Result<serde_json::Value> {
    let absolute = |path: &Path| -> anyhow::Result<String> {
        Ok(ambient::absolute(path)?.display().to_string())
    };
    let mut words = vec!["mcp".to_owned()];
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    if let Some((path, _)) = crate::loaded::find(arguments.config.as_deref()) {
        option("--config", absolute(&path)?);
    }
    let workspace = arguments.workspace.as_deref().unwrap_or(Path::new("."));
    option("--workspace", absolute(workspace)?);
    for plugin in &arguments.plugin {
        option("--plugin", absolute(plugin)?);
    }
    for allow in &arguments.allow {
        option("--allow", allow.clone());
    }
    for limit in &arguments.limit {
        option("--limit", limit.clone());
    }
    if let Some(audit) = arguments
        .audit
        .as_deref()
        .filter(|audit| *audit != Path::new("-"))
    {
        option("--audit", absolute(audit)?);
    }
    if arguments.config_env {
        words.push("--config-env".to_owned());
    }
    let program = streams::this_program()?.display().to_string();
    Ok(json!({"mcpServers": {"tidegate": {"command": program, "args": words}}}))
}
