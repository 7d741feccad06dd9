//! Environment variables over the config file: `TIDEGATE_LIMITS__DEADLINE_MS=500` (SPEC L4).
//!
//! A variable may narrow what the file grants. Widening it, or changing what is loaded, takes
//! `--config-env`: whoever sets a variable is not always whoever runs the command.

use anyhow::{Context as _, anyhow, bail};
use tidegate_contract::{JsonObject, Value};

use crate::config::Config;
use crate::secrets::Inject;
use crate::yaml;

const PREFIX: &str = "TIDEGATE_";

/// What a variable is told that would let others in.
const SERVE: &str = "a variable may not change where the service listens, whom it lets in and what \
                     it keeps; let it with --config-env, or type it";

/// Whether variables may grant more than the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Widening {
    Refused,
    Permitted,
}

/// The variables that override keys, outer keys first.
pub(crate) fn variables(environment: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut variables = environment;
    variables.retain(|(name, _)| name.starts_with(PREFIX));
    variables.sort();
    variables
}

/// The config with the variables laid over it; `value` is the file it was read from.
///
/// # Errors
///
/// Names the variable, and what is wrong with its key or value or that it would widen the sandbox.
pub(crate) fn apply(
    mut config: Config,
    mut value: Value,
    variables: &[(String, String)],
    widening: Widening,
) -> anyhow::Result<Config> {
    for (name, text) in variables {
        let key = name.strip_prefix(PREFIX).unwrap_or(name);
        let path: Vec<String> = key.split("__").map(str::to_ascii_lowercase).collect();
        set(&mut value, &path, yaml::parse(text, name)?).with_context(|| name.clone())?;
        let next: Config = yaml::from_value(&value).with_context(|| name.clone())?;
        if widening == Widening::Refused {
            check(&config, &next, &path).with_context(|| name.clone())?;
        }
        config = next;
    }
    Ok(config)
}

/// Puts a value at a path, making the mappings on the way.
fn set(place: &mut Value, path: &[String], value: Value) -> anyhow::Result<()> {
    let Some((key, rest)) = path.split_first() else {
        *place = value;
        return Ok(());
    };
    if let Value::Array(items) = place {
        return set(item(items, key)?, rest, value);
    }
    if !place.is_object() {
        *place = Value::Object(JsonObject::new());
    }
    match place {
        Value::Object(fields) => {
            let next = fields.entry(key.as_str()).or_insert(Value::Null);
            set(next, rest, value)
        }
        _ => Ok(()),
    }
}

/// An item of a list, by its index or by its `name`.
fn item<'a>(items: &'a mut [Value], key: &str) -> anyhow::Result<&'a mut Value> {
    let names: Vec<String> = items.iter().map(segment).collect();
    let at = key.parse().ok();
    let at = at.or_else(|| names.iter().position(|name| name == key));
    at.and_then(|at: usize| items.get_mut(at)).ok_or_else(|| {
        anyhow!(
            "the list has no item `{key}`; there are {} (by number from 0, or by name)",
            names.join(", ")
        )
    })
}

/// The name of an item as a variable spells it: lower case, `_` for all but letters and digits.
fn segment(item: &Value) -> String {
    let name = item.get("name").and_then(Value::as_str).unwrap_or_default();
    let letter = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
        _ => '_',
    };
    name.chars().map(letter).collect()
}

/// A variable narrows the sandbox, and leaves alone what is loaded and where.
fn check(before: &Config, after: &Config, path: &[String]) -> anyhow::Result<()> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["sandbox", ..] => {
            let (before, after) = (before.sandbox.grant()?, after.sandbox.grant()?);
            if before.narrow(&after) != after {
                bail!(
                    "a variable may only narrow the sandbox, and this one widens it; grant with \
                     --allow, or let variables widen with --config-env"
                );
            }
        }
        [
            "workspace" | "secrets" | "network" | "mcp" | "artifacts",
            ..,
        ]
        | ["plugins" | "output"]
        | ["plugins" | "output", _]
        | [
            "plugins" | "output",
            _,
            "name" | "component" | "digest" | "grants" | "inject",
            ..,
        ] => bail!(
            "a variable may not change which plugins are loaded, what each is granted, MCP servers, \
             secrets, artifacts, or the workspace; let it with --config-env"
        ),
        ["serve"] => bail!(SERVE),
        ["serve", key, ..] if *key != "limits" => bail!(SERVE),
        ["plugins" | "output", ..] if redirects(before, after) => bail!(
            "a variable may not change the config of a plugin whose requests carry a secret; let it \
             with --config-env"
        ),
        ["interaction", ..] => {
            let (before, after) = (&before.interaction.commands, &after.interaction.commands);
            if !before.runs_as(after) {
                bail!("a variable may not change what runs commands; let it with --config-env");
            }
        }
        _ => {}
    }
    Ok(())
}

/// Whether a plugin or sink that has headers injected is configured in another way: it may send them,
/// with what it sends, somewhere else.
fn redirects(before: &Config, after: &Config) -> bool {
    let plugins = before.plugins.iter().zip(&after.plugins);
    let mut plugins =
        plugins.map(|(before, after)| (&before.inject, &before.config, &after.config));
    let sinks = before.output.iter().zip(&after.output);
    let mut sinks = sinks.map(|(before, after)| (&before.inject, &before.config, &after.config));
    plugins.any(changes) || sinks.any(changes)
}

fn changes((inject, before, after): (&Vec<Inject>, &JsonObject, &JsonObject)) -> bool {
    !inject.is_empty() && before != after
}

#[cfg(test)]
mod tests {
    use tidegate_contract::{Limits, Value};

    use super::{Widening, apply, variables};
    use crate::config::Config;
    use crate::yaml;

    const FILE: &str = "sandbox: { read: [docs, src], tools: '*' }\nplugins: [{ name: my-tool, \
                        component: x.wasm }]\n";

    fn over(name: &str, value: &str, widening: Widening) -> Result<Config, String> {
        let config = yaml::parse(FILE, "f").unwrap();
        let base: Value = yaml::parse(FILE, "f").unwrap();
        let variables = [(name.to_owned(), value.to_owned())];
        apply(config, base, &variables, widening).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn l4_variables_set_keys_and_name_themselves_in_errors() {
        let set = over("TIDEGATE_LIMITS__DEADLINE_MS", "500", Widening::Refused).unwrap();
        let mut limits = Limits::default();
        set.limits.apply(&mut limits).unwrap();
        assert_eq!(limits.deadline_ms, 500);
        let by_name = "TIDEGATE_PLUGINS__MY_TOOL__PREFIX";
        for name in [by_name, "TIDEGATE_PLUGINS__0__PREFIX"] {
            let set = over(name, "a_", Widening::Refused).unwrap();
            assert_eq!(set.plugins[0].prefix, "a_", "{name}");
        }
        for (name, value, word) in [
            ("TIDEGATE_SANDBX__READ", "false", "`sandbox`"),
            ("TIDEGATE_SANDBOX__RAED", "false", "`read`"),
            ("TIDEGATE_LIMITS__CPUMS", "1", "`cpu_ms`"),
            ("TIDEGATE_PLUGINS__OTHER__PREFIX", "a", "my_tool"),
            ("TIDEGATE_PLUGINS__1__PREFIX", "a", "my_tool"),
            ("TIDEGATE_LIMITS__CPU_MS", "-1", "whole number"),
            ("TIDEGATE_LIMITS__CPU_MS", "[", ""),
        ] {
            let error = over(name, value, Widening::Permitted).unwrap_err();
            assert!(error.starts_with(name) && error.contains(word), "{error}");
        }
    }

    #[test]
    fn l4_variables_narrow_the_sandbox_and_widen_it_only_when_let() {
        for (name, value) in [
            ("TIDEGATE_SANDBOX__READ", "false"),
            ("TIDEGATE_SANDBOX__READ", "[docs]"),
            ("TIDEGATE_SANDBOX__TOOLS", "[grep]"),
            ("TIDEGATE_SANDBOX", "{}"),
            ("TIDEGATE_INTERACTION__COMMANDS__MAX_ENTRIES", "5"),
            ("TIDEGATE_INTERACTION__COMMANDS__EXECUTOR", "component"),
            ("TIDEGATE_SERVE__LIMITS__HEAD_MS", "5"),
        ] {
            over(name, value, Widening::Refused).unwrap();
        }
        for (name, value) in [
            ("TIDEGATE_SANDBOX__READ", "true"),
            ("TIDEGATE_SANDBOX__READ", "[docs, out]"),
            ("TIDEGATE_SANDBOX__WRITE", "[docs]"),
            ("TIDEGATE_SANDBOX__STDOUT", "true"),
            ("TIDEGATE_WORKSPACE", "sub"),
            ("TIDEGATE_MCP__FILES", "{ command: sh }"),
            ("TIDEGATE_ARTIFACTS__AGE_MS", "1"),
            ("TIDEGATE_SERVE", "{ listen: '0.0.0.0:80' }"),
            ("TIDEGATE_SERVE__LISTEN", "'0.0.0.0:80'"),
            ("TIDEGATE_SERVE__TOKENS", "mine.yaml"),
            ("TIDEGATE_SERVE__ORIGINS", "['https://a.example']"),
            ("TIDEGATE_PLUGINS", "[]"),
            ("TIDEGATE_PLUGINS__0__COMPONENT", "y.wasm"),
            ("TIDEGATE_PLUGINS__MY_TOOL__GRANTS", "{ read: [docs] }"),
            ("TIDEGATE_INTERACTION__COMMANDS__EXECUTOR", "native"),
            ("TIDEGATE_INTERACTION__COMMANDS__ALLOW_MISSING", "[seccomp]"),
            (
                "TIDEGATE_INTERACTION",
                "{ commands: { native: [{ name: cat, path: /bin/sh }] } }",
            ),
        ] {
            let error = over(name, value, Widening::Refused).unwrap_err();
            assert!(
                error.starts_with(name) && error.contains("--config-env"),
                "{error}"
            );
            over(name, value, Widening::Permitted).unwrap();
        }
    }

    #[test]
    fn outer_keys_are_laid_before_inner_ones() {
        let pair = |name: &str| (name.to_owned(), String::new());
        let sorted = variables(vec![
            pair("TIDEGATE_LIMITS__CPU_MS"),
            pair("PATH"),
            pair("TIDEGATE_LIMITS"),
        ]);
        assert_eq!(
            sorted,
            [pair("TIDEGATE_LIMITS"), pair("TIDEGATE_LIMITS__CPU_MS")]
        );
    }
}
