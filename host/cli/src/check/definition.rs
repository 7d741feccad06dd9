//! What a tool says of itself, before any call of it.

use serde_json::Value;
use tidegate::Schema;
use tidegate_contract::{Effect, JsonObject, ToolDefinition};

use super::findings::{Findings, Subject};
use super::places;
use super::rules;

/// Interfaces by the start of their names, without which an effect is impossible.
const NEEDED: [(Effect, &[&str]); 4] = [
    (
        Effect::Read,
        &[
            "wasi:filesystem/",
            "tidegate:plugin/file-status",
            "tidegate:plugin/exec",
        ],
    ),
    (Effect::Write, &["wasi:filesystem/"]),
    (Effect::Execute, &["tidegate:plugin/exec"]),
    (Effect::Network, &["wasi:http/", "wasi:sockets/"]),
];

/// The compiled schemas of one tool.
#[derive(Debug)]
pub(super) struct Schemas {
    pub(super) input: Schema,
    pub(super) output: Option<Schema>,
}

/// Whose words the definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// The author's.
    Own,
    /// The host's, made from the types of a component that knows nothing of the contract.
    Derived,
}

/// Looks at one definition; gives its schemas where it can be called.
pub(super) fn look(
    definition: &ToolDefinition,
    imports: &[String],
    words: Words,
    findings: &mut Findings,
) -> Option<Schemas> {
    let subject = Subject::Tool(definition.name.to_string());
    if words == Words::Own {
        description(definition, &subject, findings);
        effects(definition, imports, (&subject, findings));
        places::look(&definition.input_schema, &subject, findings);
    }
    let mut compiled = |of: &str, schema: &JsonObject| {
        Schema::compile(schema)
            .inspect_err(|error| {
                findings.add(&rules::SCHEMA_INVALID, &subject, format!("{of}: {error}"));
            })
            .ok()
    };
    let input = compiled("inputSchema", &definition.input_schema);
    let output = definition.output_schema.as_ref();
    let output = output.map(|schema| compiled("outputSchema", schema));
    if input.is_some() && !takes_objects(&definition.input_schema) {
        let kind = definition.input_schema.get("type");
        let saw = format!("type {}", kind.unwrap_or(&Value::Null));
        findings.add(&rules::SCHEMA_TAKES_NO_OBJECT, &subject, saw);
    }
    Some(Schemas {
        input: input?,
        output: output.flatten(),
    })
}

fn description(definition: &ToolDefinition, subject: &Subject, findings: &mut Findings) {
    let description = definition.description.as_deref().unwrap_or_default();
    if description.trim().is_empty() {
        findings.add(&rules::DESCRIPTION_MISSING, subject, "no description");
    }
    if let Some(hidden) = description.chars().find(|character| is_hidden(*character)) {
        let saw = format!("U+{:04X} in the description", u32::from(hidden));
        findings.add(&rules::DESCRIPTION_HIDDEN, subject, saw);
    }
}

/// Whether a character is obeyed or read without being seen.
fn is_hidden(character: char) -> bool {
    let is_invisible = matches!(
        character,
        // Letters of no width, marks that reorder text, tags.
        '\u{200b}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    );
    is_invisible || (character.is_control() && !matches!(character, '\n' | '\t'))
}

fn effects(
    definition: &ToolDefinition,
    imports: &[String],
    (subject, findings): (&Subject, &mut Findings),
) {
    for (effect, needed) in NEEDED {
        let imported = imports
            .iter()
            .any(|import| needed.iter().any(|start| import.starts_with(start)));
        if definition.effects.contains(&effect) && !imported {
            let saw = format!(
                "it declares `{}` and imports none of {}",
                effect.as_str(),
                needed.join(", ")
            );
            findings.add(&rules::EFFECT_IMPOSSIBLE, subject, saw);
        }
    }
}

fn takes_objects(schema: &JsonObject) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.contains(&Value::from("object")),
        _ => true,
    }
}
