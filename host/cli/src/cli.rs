//! What was typed. No file is opened and nothing is decided here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::check;
use crate::new::{Kind, Language};
use crate::serve::Post;

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
    #[command(
        after_help = "Example:\n  tidegate call read_text '{\"path\":\"README.md\"}' --allow \
                            plugin=read-text\n\n--dry-run shows the same call without making it."
    )]
    Call(CallArguments),
    /// Lists the tools that the grants permit.
    #[command(after_help = "Example:\n  tidegate tools --allow 'tool=*'")]
    Tools(ToolsArguments),
    /// Runs a flow file: steps over tools, observations and deliveries.
    #[command(
        after_help = "Example:\n  tidegate run examples/read-and-deliver.yaml --allow \
                            plugin=read-text --allow plugin=console"
    )]
    Run(RunArguments),
    /// Turns an external result on stdin into an observation on stdout.
    #[command(
        after_help = "Example:\n  tidegate call read_text '{\"path\":\"README.md\"}' --allow \
                            plugin=read-text --json | tidegate observe\n\nExit codes: 0 for any \
                            valid result, whatever its status; 2 for an invalid one."
    )]
    Observe(ObserveArguments),
    /// Delivers one message from stdin to one sink and prints the receipt.
    ///
    /// Stdin holds one document, `{deliveryId, message: {role, content, name?}, artifacts?}`. Beside
    /// a sink that prints to stdout the receipt goes to stderr.
    #[command(
        after_help = "Example:\n  echo '{\"deliveryId\":\"d1\",\"message\":{\"role\":\
                            \"assistant\",\"content\":\"hello\"}}' | tidegate deliver --allow \
                            plugin=console\n\nExit codes: 0 accepted; 1 rejected, unknown or no \
                            valid receipt; 2 refused before the sink was asked."
    )]
    Deliver(DeliverArguments),
    /// Serves the permitted tools as an MCP server on standard input and output.
    ///
    /// It is started by an MCP client. It ends when its input is over and every request has its answer.
    #[command(
        after_help = "Example:\n  tidegate mcp --print-client-config --allow plugin=commands\n\nThe \
                      printed document is what clients that know `mcpServers` read."
    )]
    Mcp(McpArguments),
    /// Serves runs, worker I/O, calls and health over HTTP, until a signal ends it.
    ///
    /// Without a token file it listens on the loopback alone, and leaves the token of one operator
    /// in its state folder.
    #[command(
        args_conflicts_with_subcommands = true,
        after_help = "Examples:\n  tidegate serve --allow plugin=read-text\n  tidegate serve token \
                            --role observer --tenant acme\n\nSIGINT and SIGTERM end it: what runs \
                            is let to its end, within serve.limits.drain_ms. A second one quits."
    )]
    Serve(ServeArguments),
    /// Shows what a component exports and imports, the grants it needs, and its tools.
    #[command(
        after_help = "Examples:\n  tidegate inspect plugin.wasm\n  tidegate inspect \
                            builtin:commands --json\n  tidegate inspect new.wasm --diff old.wasm"
    )]
    Inspect(InspectArguments),
    /// Tests a component against the plugin contract and says what is wrong and how to mend it.
    ///
    /// Its tools, sink and worker are called with made input some dozens of times: grant it a scratch
    /// folder, not your own work.
    #[command(
        after_help = "Examples:\n  tidegate check plugin.wasm\n  tidegate check plugin.wasm --allow \
                            read --workspace fixtures --arguments calls.jsonl\n  tidegate check \
                            plugin.wasm --junit report.xml\n  tidegate check --rules\n\nA line of \
                            calls.jsonl:\n  {\"tool\":\"read_text\",\"arguments\":{\"path\":\
                            \"a.txt\"},\"expect\":\"success\"}\n\nExit codes: 0 no error was found; \
                            1 some were; 2 wrong usage, or no component. Warnings and notes fail \
                            nothing."
    )]
    Check(check::CheckArguments),
    /// Writes a small working project of a plugin: sources, build script, test, contract.
    #[command(
        after_help = "Example:\n  tidegate new word-count --lang rust --kind tool\n\nThe folder stands \
                            alone: it builds with the language's own tools, which its build.sh fetches \
                            once into the user's cache folder. docs/authoring.md goes on from here."
    )]
    New(NewArguments),
    /// Checks the config file, or prints its JSON Schema.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Trusts a config file of a working folder, once you have read it.
    ///
    /// A tidegate.yaml that is found in the working folder may name nothing outside that folder, and
    /// grants no environment, until its digest is recorded here. A changed file must be trusted
    /// again. A file that --config names needs no trust.
    #[command(
        after_help = "Examples:\n  tidegate trust\n  tidegate trust --list\n  tidegate trust \
                            --remove"
    )]
    Trust(TrustArguments),
    /// Prints the completions of a shell.
    #[command(after_help = "Example:\n  tidegate completions bash > \
                            ~/.local/share/bash-completion/completions/tidegate")]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Prints the man page.
    #[command(after_help = "Example:\n  tidegate man > ~/.local/share/man/man1/tidegate.1")]
    Man,
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
    /// network=ORIGIN, mcp=SERVER, env=NAME, stdout; or plugin=NAME, all that a carried plugin
    /// declares it needs. `*` stands for every name.
    #[arg(long, value_name = "KIND[=VALUE]")]
    pub(crate) allow: Vec<String>,
    /// Sets a limit of each call; may be repeated. See docs/limits.md for names and ranges.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) limit: Vec<String>,
    /// Appends one JSON line for each decision and each call to a file; `-` is stderr.
    #[arg(long, value_name = "FILE")]
    pub(crate) audit: Option<PathBuf>,
    /// Lets TIDEGATE_… variables widen the sandbox and change which plugins are loaded, not only
    /// narrow it.
    #[arg(long)]
    pub(crate) config_env: bool,
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
    /// Shows what would be granted and run, and runs nothing. Exit 2 where it would be refused.
    #[arg(long)]
    pub(crate) dry_run: bool,
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
    /// Shows what would be granted and run, and runs nothing. Exit 2 where it would be refused.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) plugins: PluginArguments,
}

/// `tidegate observe`.
#[derive(Debug, Args)]
pub(crate) struct ObserveArguments {
    /// Prints an error as one JSON document on stdout too.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tidegate deliver`.
#[derive(Debug, Args)]
pub(crate) struct DeliverArguments {
    /// The sink, where there are several [default: the only one].
    #[arg(long, value_name = "NAME")]
    pub(crate) sink: Option<String>,
    /// Prints an error as one JSON document on stdout too.
    #[arg(long)]
    pub(crate) json: bool,
    /// Shows what would be granted and run, and runs nothing. Exit 2 where it would be refused.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) plugins: PluginArguments,
}

/// `tidegate mcp`.
#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    /// Prints what a client's configuration has to say to start this server, and serves nothing.
    #[arg(long)]
    pub(crate) print_client_config: bool,
    #[command(flatten)]
    pub(crate) plugins: PluginArguments,
}

/// `tidegate serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,
    /// The address and port to listen on [default: 127.0.0.1:7420].
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// The file of tokens that let operators and observers in.
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens: Option<PathBuf>,
    /// The folder to keep runs in [default: tidegate/serve in the user's state folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// A folder that runs may work in, with all below it; may be repeated.
    #[arg(long, value_name = "DIR")]
    pub(crate) work_root: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) plugins: PluginArguments,
}

/// What `tidegate serve` does in place of serving.
#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// Makes a token, prints it once, and prints its entry for the token file.
    #[command(after_help = "Example:\n  tidegate serve token --role operator --tenant acme")]
    Token(TokenArguments),
}

/// `tidegate serve token`.
#[derive(Debug, Args)]
pub(crate) struct TokenArguments {
    /// What it lets its holder do.
    #[arg(long, value_enum, default_value = "operator")]
    pub(crate) role: Post,
    /// Whose runs it is for.
    #[arg(long, default_value = "default")]
    pub(crate) tenant: String,
    /// The entry's name [default: a new one].
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Prints both as one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tidegate inspect`.
#[derive(Debug, Args)]
pub(crate) struct InspectArguments {
    /// The component, or `builtin:NAME` for a carried one.
    #[arg(value_name = "FILE")]
    pub(crate) component: PathBuf,
    /// Shows what changed since another one: capabilities and schemas.
    #[arg(long, value_name = "OLD")]
    pub(crate) diff: Option<PathBuf>,
    /// Prints one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tidegate new`.
#[derive(Debug, Args)]
pub(crate) struct NewArguments {
    /// The plugin's name, and the tool's: letters, digits and `-`.
    pub(crate) name: String,
    /// What it is written in.
    #[arg(long = "lang", value_enum, value_name = "LANGUAGE")]
    pub(crate) language: Language,
    /// What it is.
    #[arg(long, value_enum, default_value = "tool")]
    pub(crate) kind: Kind,
    /// The folder to write, which is missing or empty [default: NAME].
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Prints what was written, and what to do next, as one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tidegate config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Prints the JSON Schema of tidegate.yaml, for editors.
    #[command(
        after_help = "Example:\n  tidegate config schema > tidegate.schema.json\n\nA first line \
                            `# yaml-language-server: $schema=tidegate.schema.json` in the file makes \
                            editors complete and check it."
    )]
    Schema,
    /// Says OK, or the first error with its place; runs nothing.
    #[command(
        after_help = "Example:\n  tidegate config check tidegate.yaml\n\nVariables \
                            TIDEGATE_… are applied and checked too."
    )]
    Check(CheckArguments),
}

/// `tidegate config check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The config file [default: the one that would be read].
    pub(crate) file: Option<PathBuf>,
}

/// `tidegate trust`.
#[derive(Debug, Args)]
pub(crate) struct TrustArguments {
    /// The config file [default: tidegate.yaml].
    pub(crate) file: Option<PathBuf>,
    /// Lists what is trusted, and whether it has changed since.
    #[arg(long, conflicts_with_all = ["file", "remove"])]
    pub(crate) list: bool,
    /// Takes the trust back.
    #[arg(long)]
    pub(crate) remove: bool,
}
