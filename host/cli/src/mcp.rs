//! `tidegate mcp`: the permitted tools as an MCP server on standard input and output (SPEC M5, L3).
//!
//! Standard output carries messages and nothing else: what anything prints there goes to standard
//! error.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tidegate_mcp::{LineInput, LineOutput, McpServer, ServerSettings};
use tidegate_sandbox::ambient;
use tidegate_sandbox::ambient::streams::{self, Stdin};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::cli::{McpArguments, PluginArguments};
use crate::refusal::{self, Exit, Form};
use crate::{plugins, print};

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
    let (host, cancel) = match plugins::started(&arguments.plugins).await {
        Ok(started) => started,
        Err(error) => return refusal::usage(&error, Form::Text),
    };
    let served = serve(&host, cancel).await;
    host.close().await;
    match served {
        Ok(()) => Exit::Success,
        Err(error) => {
            print::warning(&format!("error: {error}"));
            Exit::Failed
        }
    }
}

async fn serve(host: &plugins::Host, cancel: CancellationToken) -> Result<(), String> {
    let output = streams::take_stdout().map_err(|error| format!("standard output: {error}"))?;
    let settings = ServerSettings::default();
    let server = McpServer::new(host.runtime.clone(), settings, Handle::current());
    let input = Stdin::open().map_err(|error| format!("standard input: {error}"))?;
    let input = Input(input);
    let output = Output {
        tells_room: streams::tells_room(&output),
        stream: output,
    };
    server.serve_lines(input, output, cancel).await
}

/// Standard input.
struct Input(Stdin);

impl LineInput for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }

    fn read_soon(&mut self, buffer: &mut [u8], within: Duration) -> io::Result<Option<usize>> {
        self.0.read_soon(buffer, within)
    }
}

/// Standard output.
struct Output {
    stream: File,
    tells_room: bool,
}

impl LineOutput for Output {
    fn write_at_once(&self, line: &[u8]) -> io::Result<bool> {
        Ok(self.tells_room && streams::write_at_once(&self.stream, line)?)
    }

    fn write(&self, line: &[u8]) -> io::Result<()> {
        (&self.stream).write_all(line)
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
