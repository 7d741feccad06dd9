//! What one plugin gets of the sandbox: its written grants, or what its tools declare.

use anyhow::bail;
use tidegate::Plugin;
use tidegate_contract::Effect;
use tidegate_contract::grant::{Grant, Names};

use crate::config::Grants;

/// What a plugin gets of the sandbox: what its written grants leave, else what its tools declare. A
/// sink, and a worker without tools, can't declare, and get the sandbox. A written grant that the
/// sandbox does not cover attaches to nothing, and is an error instead of a silent denial (CASES WA18).
pub(crate) fn plugin_grant(
    sandbox: &Grant,
    written: Option<&Grants>,
    plugin: &Plugin,
) -> anyhow::Result<Grant> {
    let Some(written) = written else {
        return Ok(if plugin.is_sink() || is_worker_alone(plugin) {
            sandbox.clone()
        } else {
            declared(sandbox, plugin)
        });
    };
    let asked = written.over(sandbox)?;
    let names = [
        ("tools", &asked.tools, &sandbox.tools),
        ("mcp", &asked.mcp, &sandbox.mcp),
        ("execute", &asked.execute, &sandbox.execute),
        ("env", &asked.env, &sandbox.env),
    ];
    for (kind, asked, has) in names {
        if let Names::These(names) = asked
            && let Some(name) = names.iter().find(|name| !has.allows(name))
        {
            bail!("`{kind}: {name}` is not in the sandbox; add it to `sandbox` or --allow");
        }
    }
    if let Some(rule) = asked
        .network
        .iter()
        .find(|rule| !sandbox.network.covers(rule))
    {
        bail!("`network: {rule}` is not in the sandbox; add it to `sandbox` or --allow");
    }
    let roots = [
        ("read", &asked.read, &sandbox.read),
        ("write", &asked.write, &sandbox.write),
    ];
    for (kind, asked, has) in roots {
        if let Some(root) = asked.iter().find(|root| !has.allows(root)) {
            let root = root.as_str();
            bail!("`{kind}: {root}` is not in the sandbox; add it to `sandbox` or --allow");
        }
    }
    if asked.stdout && !sandbox.stdout {
        bail!("`stdout` is not in the sandbox; add it to `sandbox` or --allow");
    }
    Ok(sandbox.narrow(&asked))
}

fn is_worker_alone(plugin: &Plugin) -> bool {
    plugin.is_worker() && plugin.definitions().is_empty()
}

/// What the effects of a plugin's tools say it touches. The environment can't be declared.
fn declared(sandbox: &Grant, plugin: &Plugin) -> Grant {
    let declares = |effect: Effect| {
        let mut tools = plugin.definitions().iter();
        tools.any(|tool| tool.effects.contains(&effect))
    };
    let mut grant = Grant {
        tools: sandbox.tools.clone(),
        mcp: sandbox.mcp.clone(),
        ..Grant::default()
    };
    if declares(Effect::Read) {
        grant.read = sandbox.read.clone();
    }
    if declares(Effect::Write) {
        grant.write = sandbox.write.clone();
    }
    if declares(Effect::Execute) {
        grant.execute = sandbox.execute.clone();
    }
    if declares(Effect::Network) {
        grant.network = sandbox.network.clone();
    }
    grant
}
