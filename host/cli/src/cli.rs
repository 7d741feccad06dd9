//! What was typed. No file is opened and nothing is decided here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Runs tools, sinks and flows as sandboxed WebAssembly plugins.
#[derive(Debug, Parser)]
#[command(
    name = "tidegate",
    version,
    after_help = "Nothing is granted by default: a call needs --allow for its tool and for what \
                  the tool touches.\n\nExample:\n  tidegate call read_text '{\"path\":\"README.md\"}' \
                  --allow tool=read_text --allow read\n\nExit codes: 0 success; 1 the call failed, \
                  timed out, was cancelled or gave no valid result; 2 it was refused before it ran, \
                  or the command line is wrong."
)]
pub(crate) struct Cli {
    /// Logs more to stderr: once for what plugins log and what is loaded, twice for all.
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One door each.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Calls one tool and prints what it says.
    Call(CallArguments),
    /// Lists the tools that the grants permit.
    Tools(ToolsArguments),
    /// Runs a flow file: steps over tools, observations and deliveries.
    Run(RunArguments),
}

/// Options of every command that runs plugins.
#[derive(Debug, Args)]
pub(crate) struct PluginArguments {
    /// The config file [default: tidegate.yaml here, then in the user's config folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Adds a plugin; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub(crate) plugin: Vec<PathBuf>,
    /// The folder that relative grants mean [default: the working folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Grants something; may be repeated: tool=NAME, read[=DIR], write[=DIR], execute=COMMAND,
    /// network=ORIGIN, mcp=SERVER, env=NAME, stdout. `*` stands for every name.
    #[arg(long, value_name = "KIND[=VALUE]")]
    pub(crate) allow: Vec<String>,
    /// Sets a limit of each call; may be repeated. See docs/limits.md for names and ranges.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) limit: Vec<String>,
}

/// `tidegate call`.
#[derive(Debug, Args)]
pub(crate) struct CallArguments {
    /// The tool's name.
    pub(crate) tool: String,
    /// The arguments: JSON text, `-` for stdin, or `@FILE`.
    #[arg(default_value = "{}")]
    pub(crate) arguments: String,
    /// Prints the whole result as one JSON document.
    #[arg(long, conflicts_with = "observe")]
    pub(crate) json: bool,
    /// Prints the observation as one JSON document.
    #[arg(long)]
    pub(crate) observe: bool,
    /// The call's id [default: a new one].
    #[arg(long)]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) plugins: PluginArguments,
}

/// `tidegate tools`.
#[derive(Debug, Args)]
pub(crate) struct ToolsArguments {
    /// Prints the definitions as one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) plugins: PluginArguments,
}

/// `tidegate run`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The flow file.
    pub(crate) flow: PathBuf,
    /// A JSON object laid over the flow's initial context.
    #[arg(long, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// Prints the flow's result, or its final context where it declares none, as one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) plugins: PluginArguments,
}
