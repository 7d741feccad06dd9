//! `tidegate serve token`: makes a token, shows it once, with the entry that stands for it.

use serde_json::json;
use tidegate_contract::Tenant;
use tidegate_sandbox::ambient;

use super::tokens::{Token, check_name};
use crate::cli::TokenArguments;
use crate::print;
use crate::refusal::{self, Exit, Form};

/// Runs the command.
pub(crate) fn run(arguments: &TokenArguments) -> Exit {
    let form = Form::of(arguments.json);
    if let Err(error) = check(arguments) {
        return refusal::usage(&error, form);
    }
    let role = arguments.role.word();
    let fresh = || {
        let id = ambient::random_id();
        format!("{role}-{}", id.get(..8).unwrap_or_default())
    };
    let name = arguments.name.clone().unwrap_or_else(fresh);
    let token = Token::mint();
    let (sha256, tenant) = (token.sha256(), &arguments.tenant);
    if arguments.json {
        let entry = json!({"name": name, "sha256": sha256, "role": role, "tenant": tenant});
        print::json(&json!({"token": token.reveal(), "entry": entry}));
    } else {
        print::text(&format!(
            "{}\n\n- name: {name}\n  sha256: \"{sha256}\"\n  role: {role}\n  tenant: {tenant}\n",
            token.reveal()
        ));
    }
    Exit::Success
}

fn check(arguments: &TokenArguments) -> anyhow::Result<()> {
    arguments.name.as_deref().map_or(Ok(()), check_name)?;
    Tenant::new(&arguments.tenant)?;
    Ok(())
}
