//! `tidegate tools`: what the grants permit.

use crate::cli::ToolsArguments;
use crate::refusal::{self, Exit, Form};
use crate::{plugins, print};

/// Runs the command.
pub(crate) async fn run(arguments: &ToolsArguments) -> Exit {
    let form = Form::of(arguments.json);
    let host = match plugins::started(&arguments.plugins).await {
        Ok((host, _cancel)) => host,
        Err(error) => return refusal::usage(&error, form),
    };
    let tools = host.runtime.tools();
    host.close().await;
    if arguments.json {
        print::json(&tools);
        return Exit::Success;
    }
    if tools.is_empty() {
        print::warning(
            "no tool is permitted; grant one with --allow tool=NAME, or all with tool=*",
        );
    }
    let width = tools
        .iter()
        .map(|tool| tool.name.as_str().len())
        .max()
        .unwrap_or(0);
    let mut lines = String::new();
    for tool in tools {
        let about = tool.description.as_deref().unwrap_or_default();
        let about = about.lines().next().unwrap_or_default();
        let name = tool.name.as_str();
        lines.extend([&*format!("{name:width$}  "), about, "\n"]);
    }
    if !lines.is_empty() {
        print::text(&lines);
    }
    Exit::Success
}
