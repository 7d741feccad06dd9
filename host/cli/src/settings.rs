//! `tidegate config`: the config file's schema, and a check that runs nothing.

use anyhow::Context as _;
use tidegate::McpRegistry;
use tidegate_contract::Limits;

use crate::cli::{CheckArguments, ConfigCommand};
use crate::config::Grants;
use crate::loaded;
use crate::overrides::Widening;
use crate::print;
use crate::refusal::{self, Exit, Form};

/// The JSON Schema of `tidegate.yaml`; a test compares it with what the program reads.
pub(crate) const SCHEMA: &str = include_str!("../../../docs/tidegate.schema.json");

/// Runs the command.
pub(crate) fn run(command: &ConfigCommand) -> Exit {
    match command {
        ConfigCommand::Schema => {
            print::bytes(SCHEMA.as_bytes());
            Exit::Success
        }
        ConfigCommand::Check(arguments) => match check(arguments) {
            Ok(said) => {
                print::text(&said);
                Exit::Success
            }
            Err(error) => refusal::usage(&error, Form::Text),
        },
    }
}

fn check(arguments: &CheckArguments) -> anyhow::Result<String> {
    let named = arguments.file.as_deref();
    let Some((path, _)) = loaded::find(named) else {
        anyhow::bail!(
            "there is no {} here or in the user's config folder; name a file",
            loaded::FILE_NAME
        );
    };
    let loaded = loaded::load(named, Widening::Permitted, None)?;
    loaded.config.sandbox.grant()?;
    let interaction = &loaded.config.interaction;
    interaction.commands.settings("interaction.commands")?;
    interaction.web_search.settings()?;
    McpRegistry::new(interaction.mcp.settings(Limits::default())).context("interaction.mcp")?;
    loaded.config.network.open(&loaded.folder)?;
    loaded.config.serve.check()?;
    loaded.config.artifacts.bounds()?;
    for (name, source) in &loaded.config.secrets {
        source.check().with_context(|| format!("secrets.{name}"))?;
    }
    for (name, server) in &loaded.config.mcp {
        server.check().with_context(|| format!("mcp.{name}"))?;
    }
    for plugin in &loaded.config.plugins {
        plugin.grants.as_ref().map(Grants::grant).transpose()?;
    }
    Ok(format!("{}: OK\n", path.display()))
}
