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
    /// The host's, made from the types of a component that knows nothing of the contract. The
    /// descriptions are the author's still, where the component has any.
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
    hidden(definition, &subject, findings);
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
}

/// Looks for what is hidden in the tool's description and in those of its schemas.
fn hidden(definition: &ToolDefinition, subject: &Subject, findings: &mut Findings) {
    let description = definition.description.as_deref().unwrap_or_default();
    if let Some(hidden) = first_hidden(description) {
        let saw = format!("{hidden} in the description");
        findings.add(&rules::DESCRIPTION_HIDDEN, subject, saw);
    }
    places::each_text(&definition.input_schema, |pointer, text| {
        if let Some(hidden) = first_hidden(text) {
            let saw = format!("{hidden} in a description");
            findings.at(&rules::DESCRIPTION_HIDDEN, subject, (pointer, &saw));
        }
    });
    if let Some(schema) = &definition.output_schema {
        places::each_text(schema, |pointer, text| {
            if let Some(hidden) = first_hidden(text) {
                let place = pointer.escape_debug();
                let saw = format!("{hidden} in the outputSchema at #{place}");
                findings.add(&rules::DESCRIPTION_HIDDEN, subject, saw);
            }
        });
    }
}

fn first_hidden(text: &str) -> Option<String> {
    let hidden = text.chars().find(|character| is_hidden(*character))?;
    Some(format!("U+{:04X}", u32::from(hidden)))
}

/// Whether a character is obeyed or read without being seen.
pub(super) fn is_hidden(character: char) -> bool {
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tidegate_contract::{ToolDefinition, ToolName};

    use super::{Words, look};
    use crate::check::findings::{Findings, Subject};
    use crate::check::rules::{DESCRIPTION_HIDDEN, DESCRIPTION_MISSING};

    /// What is found in a definition with these descriptions: of the tool, and in its schemas.
    fn found(description: &str, input: &Value, output: &Value, words: Words) -> Vec<String> {
        let definition = ToolDefinition {
            name: ToolName::new("tool").unwrap(),
            description: Some(description.to_owned()),
            input_schema: input.as_object().unwrap().clone(),
            output_schema: output.as_object().cloned(),
            effects: Vec::new(),
            requires_approval: false,
        };
        let mut findings = Findings::default();
        look(&definition, &[], words, &mut findings);
        let subject = Subject::Tool("tool".to_owned());
        let missing = findings.has(&DESCRIPTION_MISSING, &subject);
        let found = findings.into_sorted();
        let hidden = found
            .iter()
            .filter(|found| found.rule == DESCRIPTION_HIDDEN.id);
        let mut places: Vec<String> = hidden
            .map(|found| format!("{:?} {}", found.pointer, found.saw))
            .collect();
        places.extend(missing.then(|| "missing".to_owned()));
        places
    }

    #[test]
    fn p3_hidden_characters_are_found_in_every_description_whoever_made_the_definition() {
        let field = |said: &str| {
            json!({"type": "object", "additionalProperties": false, "properties": {
                "description": {"type": "null", "description": said, "default": null},
            }})
        };
        let (plain, null) = (field("plain"), Value::Null);
        for words in [Words::Own, Words::Derived] {
            let nothing: Vec<String> = Vec::new();
            assert_eq!(found("plain\n\ttext é", &plain, &plain, words), nothing);
            let of_tool = found("a\u{200b}b", &plain, &null, words);
            assert_eq!(of_tool, ["None U+200B in the description"]);
            let of_field = found("plain", &field("a\u{e0041}"), &null, words);
            let place = "Some(\"/properties/description\") U+E0041 in a description";
            assert_eq!(of_field, [place]);
            let of_answer = found("plain", &plain, &field("\u{1b}[8m"), words);
            let place = "None U+001B in the outputSchema at #/properties/description";
            assert_eq!(of_answer, [place]);
            let not = json!({"type": "object", "not": {"title": "\u{202e}", "const": "\u{202e}"}});
            let elsewhere = found("plain", &not, &null, words);
            assert_eq!(elsewhere, ["Some(\"/not\") U+202E in a description"]);
        }
        assert_eq!(found("", &plain, &null, Words::Own), ["missing"]);
        let nothing: Vec<String> = Vec::new();
        assert_eq!(found("", &plain, &null, Words::Derived), nothing);
    }
}
