//! The places of an input schema, one after the other: bounds that are missing or exclude each other,
//! and examples that do not fit.
//!
//! References are not followed: what they lead to is a place of its own.

use tidegate::Schema;
use tidegate_contract::{JsonObject, Value};

use super::findings::{Findings, Subject};
use super::generate::texts_of;
use super::rules;

/// Keywords that hold one schema, a list of them, or a mapping to them.
const ONE: [&str; 7] = [
    "items",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "if",
    "then",
    "else",
];
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
const MAPS: [&str; 4] = [
    "properties",
    "patternProperties",
    "$defs",
    "dependentSchemas",
];

/// Pairs of bounds of which the first is at most the second.
const PAIRS: [(&str, &str); 4] = [
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
    ("minimum", "maximum"),
];

/// Looks at every place of a schema.
pub(super) fn look(root: &JsonObject, subject: &Subject, findings: &mut Findings) {
    let mut walk = Walk { subject, findings };
    walk.schema(root, "", Part::Whole);
}

/// Whether a schema stands for a whole value, or for one side of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Whole,
    Side,
}

struct Walk<'a> {
    subject: &'a Subject,
    findings: &'a mut Findings,
}

impl Walk<'_> {
    fn schema(&mut self, schema: &JsonObject, pointer: &str, part: Part) {
        self.contradictions(schema, pointer);
        self.examples(schema, pointer);
        if part == Part::Whole {
            self.bounds(schema, pointer);
        }
        for key in ONE {
            let part = if key == "items" || key == "additionalProperties" {
                Part::Whole
            } else {
                Part::Side
            };
            self.inside(schema.get(key), &format!("{pointer}/{key}"), part);
        }
        for key in LISTS {
            // A side need not say what another says.
            let part = if key == "allOf" {
                Part::Side
            } else {
                Part::Whole
            };
            let items = schema
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            for (at, item) in items.enumerate() {
                self.inside(Some(item), &format!("{pointer}/{key}/{at}"), part);
            }
        }
        for key in MAPS {
            let entries = schema
                .get(key)
                .and_then(Value::as_object)
                .into_iter()
                .flatten();
            for (name, entry) in entries {
                let place = format!("{pointer}/{key}/{}", escaped(name));
                if key == "properties" {
                    self.description(entry, &place);
                }
                self.inside(Some(entry), &place, Part::Whole);
            }
        }
    }

    fn inside(&mut self, schema: Option<&Value>, pointer: &str, part: Part) {
        if let Some(Value::Object(schema)) = schema {
            self.schema(schema, pointer, part);
        }
    }

    fn description(&mut self, property: &Value, pointer: &str) {
        if let Value::Object(property) = property
            && !property.contains_key("description")
            && !property.contains_key("$ref")
        {
            let at = (pointer, "no `description`");
            self.findings
                .at(&rules::SCHEMA_UNDESCRIBED, self.subject, at);
        }
    }

    fn contradictions(&mut self, schema: &JsonObject, pointer: &str) {
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        let mut seen: Vec<String> = Vec::new();
        for (lower, upper) in PAIRS {
            if let (Some(least), Some(most)) = (number(lower), number(upper))
                && least > most
            {
                seen.push(format!("`{lower}` {least} is over `{upper}` {most}"));
            }
        }
        for (lower, upper) in [
            ("exclusiveMinimum", "maximum"),
            ("minimum", "exclusiveMaximum"),
            ("exclusiveMinimum", "exclusiveMaximum"),
        ] {
            if let (Some(least), Some(most)) = (number(lower), number(upper))
                && least >= most
            {
                seen.push(format!(
                    "`{lower}` {least} leaves nothing below `{upper}` {most}"
                ));
            }
        }
        if schema
            .get("enum")
            .and_then(Value::as_array)
            .is_some_and(Vec::is_empty)
        {
            seen.push("`enum` is empty".to_owned());
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
            && !schema.contains_key("patternProperties");
        for name in texts_of(schema.get("required")) {
            let is_known = properties.is_some_and(|known| known.contains_key(name));
            if closed && !is_known {
                seen.push(format!(
                    "`{name}` is required and is none of the properties"
                ));
            }
        }
        for saw in seen {
            let at = (pointer, saw.as_str());
            self.findings
                .at(&rules::SCHEMA_CONTRADICTS, self.subject, at);
        }
    }

    /// Examples of a place that refers to no other: the host's check takes one schema as a whole.
    fn examples(&mut self, schema: &JsonObject, pointer: &str) {
        let examples = schema.get("examples").and_then(Value::as_array);
        let examples = examples.into_iter().flatten();
        let mut given = examples.chain(schema.get("default")).peekable();
        if given.peek().is_none() || (!pointer.is_empty() && refers(schema)) {
            return;
        }
        let Ok(check) = Schema::compile(schema) else {
            return;
        };
        for example in given {
            if let Err(problems) = check.check(example) {
                let reason = problems.first().map(|problem| problem.reason.as_str());
                let saw = format!("{example}: {}", reason.unwrap_or("it does not fit"));
                let at = (pointer, saw.as_str());
                self.findings.at(&rules::SCHEMA_EXAMPLE, self.subject, at);
            }
        }
    }

    fn bounds(&mut self, schema: &JsonObject, pointer: &str) {
        if schema.contains_key("enum") || schema.contains_key("const") {
            return;
        }
        let kinds = match schema.get("type") {
            Some(Value::String(kind)) => vec![kind.as_str()],
            list => texts_of(list),
        };
        let is = |kind: &str| kinds.contains(&kind);
        let lacks = |keys: &[&str]| !keys.iter().any(|key| schema.contains_key(*key));
        let mut seen: Vec<&str> = Vec::new();
        if is("string") && lacks(&["maxLength", "format"]) && !is_short(schema) {
            seen.push("a text without `maxLength`");
        }
        if is("array") && lacks(&["maxItems"]) {
            seen.push("a list without `maxItems`");
        }
        if is("integer") || is("number") {
            if lacks(&["minimum", "exclusiveMinimum"]) {
                seen.push("a number without `minimum`");
            }
            if lacks(&["maximum", "exclusiveMaximum"]) {
                seen.push("a number without `maximum`");
            }
        }
        if !seen.is_empty() {
            let saw = seen.join(", ");
            let at = (pointer, saw.as_str());
            self.findings.at(&rules::SCHEMA_UNBOUNDED, self.subject, at);
        }
        let is_object = is("object") || schema.contains_key("properties");
        let closing = [
            "additionalProperties",
            "unevaluatedProperties",
            "patternProperties",
        ];
        // One of several branches may close what this one opens.
        let branching = ["allOf", "anyOf", "oneOf", "$ref"];
        if is_object && lacks(&closing) && lacks(&branching) {
            let at = (pointer, "no `additionalProperties`");
            self.findings.at(&rules::SCHEMA_OPEN, self.subject, at);
        }
    }
}

/// Whether a pattern bounds the text by itself: anchored, and without anything that repeats on.
fn is_short(schema: &JsonObject) -> bool {
    let pattern = schema.get("pattern").and_then(Value::as_str);
    pattern.is_some_and(|pattern| {
        let anchored = pattern.starts_with('^') && pattern.ends_with('$');
        anchored && !pattern.contains(['*', '+', '|']) && !pattern.contains(",}")
    })
}

fn refers(schema: &JsonObject) -> bool {
    let mut ahead: Vec<&Value> = schema.values().collect();
    if schema.contains_key("$ref") {
        return true;
    }
    while let Some(value) = ahead.pop() {
        match value {
            Value::Object(map) if map.contains_key("$ref") => return true,
            Value::Object(map) => ahead.extend(map.values()),
            Value::Array(items) => ahead.extend(items),
            _ => {}
        }
    }
    false
}

/// Every `title` and `description` anywhere in a schema, with the pointer of the place that it is of:
/// a model reads keywords that no check knows too. Data, as an example is, holds none.
pub(super) fn each_text(root: &JsonObject, mut look: impl FnMut(&str, &str)) {
    let mut ahead: Vec<(String, &Value, Keys)> = Vec::new();
    each_of_schema(root, "", &mut ahead, &mut look);
    while let Some((pointer, value, keys)) = ahead.pop() {
        match (value, keys) {
            (Value::Object(schema), Keys::Words) => {
                each_of_schema(schema, &pointer, &mut ahead, &mut look);
            }
            (Value::Object(schemas), Keys::Names) => {
                let schemas = schemas.iter();
                ahead.extend(schemas.map(|(name, schema)| {
                    (format!("{pointer}/{}", escaped(name)), schema, Keys::Words)
                }));
            }
            (Value::Array(items), _) => {
                let items = items.iter().enumerate();
                ahead
                    .extend(items.map(|(at, item)| (format!("{pointer}/{at}"), item, Keys::Words)));
            }
            _ => {}
        }
    }
}

/// What the keys of an object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    /// Keywords: it is a schema.
    Words,
    /// Names of schemas.
    Names,
}

fn each_of_schema<'a>(
    schema: &'a JsonObject,
    pointer: &str,
    ahead: &mut Vec<(String, &'a Value, Keys)>,
    look: &mut impl FnMut(&str, &str),
) {
    for (key, value) in schema {
        match (key.as_str(), value) {
            ("title" | "description", Value::String(text)) => look(pointer, text),
            ("const" | "enum" | "default" | "examples", _) => {}
            (key, _) => {
                let keys = if MAPS.contains(&key) {
                    Keys::Names
                } else {
                    Keys::Words
                };
                ahead.push((format!("{pointer}/{}", escaped(key)), value, keys));
            }
        }
    }
}

/// A name in a JSON Pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Whether a text stands anywhere whose value the schema leaves open: what it has to be like may be a
/// rule that no schema can say.
pub(super) fn has_free_text(root: &JsonObject) -> bool {
    let mut ahead: Vec<&JsonObject> = vec![root];
    while let Some(schema) = ahead.pop() {
        let kinds = match schema.get("type") {
            Some(Value::String(kind)) => vec![kind.as_str()],
            list => texts_of(list),
        };
        if kinds.contains(&"string") && !schema.contains_key("enum") {
            return true;
        }
        for value in schema.values() {
            match value {
                Value::Object(map) => ahead.push(map),
                Value::Array(items) => ahead.extend(items.iter().filter_map(Value::as_object)),
                _ => {}
            }
        }
    }
    false
}
