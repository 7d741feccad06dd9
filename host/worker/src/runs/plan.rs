//! What a run goes on with after a start: its blueprint, its input, and what its caller may use.
//!
//! The caller's grant is kept, so that a run never has more after a start than it was launched with.
//! What can't be read back is a damaged plan, never a wider one.

use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::{Value, json};
use tidegate::Caller;
use tidegate_contract::grant::{Grant, Names};
use tidegate_contract::json::{self as strict_json, JsonBounds};
use tidegate_contract::network::NetworkRule;
use tidegate_contract::roots::{Root, Roots};
use tidegate_contract::{JsonObject, Tenant};

use crate::blueprint::Blueprint;

/// A run that can go on.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) blueprint: Blueprint,
    pub(super) init_ctx: JsonObject,
    pub(super) caller: Caller,
}

impl Plan {
    /// The plan as it is kept.
    pub(super) fn text(&self) -> String {
        let grant = self.caller.grant.as_deref();
        let plan = json!({
            "blueprint": self.blueprint.text(),
            "init_ctx": self.init_ctx,
            "grant": grant,
            "concurrency": self.caller.concurrency.map(NonZeroU32::get),
        });
        plan.to_string()
    }

    /// Reads a plan back; `None` when it is damaged, or another version wrote it.
    pub(super) fn read(text: &str, tenant: &Tenant, run: &str) -> Option<Self> {
        let parse = |text: &str| {
            let bounds = JsonBounds {
                bytes: text.len(),
                depth: strict_json::MAX_DEPTH,
            };
            strict_json::parse(text, &bounds).ok()
        };
        let plan = parse(text)?;
        let grant = match plan.get("grant")? {
            Value::Null => None,
            grant => Some(Arc::new(grant_of(grant)?)),
        };
        let concurrency = match plan.get("concurrency")? {
            Value::Null => None,
            number => Some(NonZeroU32::new(u32::try_from(number.as_u64()?).ok()?)?),
        };
        Some(Self {
            blueprint: Blueprint::from_value(parse(plan.get("blueprint")?.as_str()?)?).ok()?,
            init_ctx: plan.get("init_ctx")?.as_object()?.clone(),
            caller: Caller {
                tenant: tenant.clone(),
                grant,
                concurrency,
                run: Some(run.into()),
            },
        })
    }
}

/// A grant from the form that it is written in.
fn grant_of(value: &Value) -> Option<Grant> {
    let roots = |key: &str| -> Option<Roots> {
        let each = |root: &Value| Root::parse(root.as_str()?).ok();
        value.get(key)?.as_array()?.iter().map(each).collect()
    };
    let rules = value.get("network")?.as_array()?.iter();
    let rules = rules.map(|rule| rule_of(rule.as_str()?));
    Some(Grant {
        tools: names_of(value.get("tools")?)?,
        mcp: names_of(value.get("mcp")?)?,
        read: roots("read")?,
        write: roots("write")?,
        network: rules.collect::<Option<_>>()?,
        execute: names_of(value.get("execute")?)?,
        env: names_of(value.get("env")?)?,
        stdout: value.get("stdout")?.as_bool()?,
    })
}

fn names_of(value: &Value) -> Option<Names> {
    if value == "*" {
        return Some(Names::All);
    }
    let names = value.as_array()?.iter();
    let names = names.map(|name| name.as_str().map(str::to_owned));
    Some(names.collect::<Option<Vec<_>>>()?.into_iter().collect())
}

/// `ORIGIN[,ADDRESS...] [METHOD,...] [/PATH,...]`.
fn rule_of(text: &str) -> Option<NetworkRule> {
    let mut words = text.split(' ');
    let mut rule = NetworkRule::parse(words.next()?).ok()?;
    for word in words {
        let items: Vec<String> = word.split(',').map(str::to_owned).collect();
        rule = match word.chars().next()? {
            '/' => rule.with_paths(&items).ok()?,
            _ => rule.with_methods(&items).ok()?,
        };
    }
    // What is not read as it was written is not what was granted.
    (rule.to_string() == text).then_some(rule)
}

#[cfg(test)]
mod tests {
    use tidegate_contract::grant::parse_allow;

    use super::*;

    fn grant(lines: &[&str]) -> Grant {
        let mut grant = Grant::default();
        for line in lines {
            parse_allow(line, &mut grant).unwrap();
        }
        grant
    }

    #[test]
    fn x7_a_grant_is_read_back_as_it_was_and_never_wider() {
        let mut narrow = grant(&["tool=a", "tool=b", "read=docs", "write=out", "stdout"]);
        let rule = NetworkRule::parse("https://example.com,10.0.0.1").unwrap();
        let rule = rule.with_methods(&["GET".to_owned()]).unwrap();
        let rule = rule
            .with_paths(&["/api".to_owned(), "/b".to_owned()])
            .unwrap();
        narrow.network.insert(rule);
        for grant in [
            Grant::default(),
            narrow,
            grant(&[
                "tool=*",
                "mcp=*",
                "env=HOME",
                "execute=*",
                "network=http://127.0.0.1:80",
            ]),
            grant(&["network=tcp://10.0.0.1:5"]),
        ] {
            let written = serde_json::to_value(&grant).unwrap();
            assert_eq!(grant_of(&written), Some(grant));
        }
        for damaged in [json!({}), json!(null), json!([]), json!({"tools": "all"})] {
            assert_eq!(grant_of(&damaged), None, "{damaged}");
        }
        let no_method = NetworkRule::parse("https://example.com").unwrap();
        let no_method = no_method.with_methods(&[]).unwrap();
        assert_eq!(rule_of(&no_method.to_string()), None);
    }
}
