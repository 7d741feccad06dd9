//! Arguments checked against a tool's JSON Schema before the tool sees them (SPEC T7).
//!
//! Schemas come from plugins, so compiling and checking one must be bounded: its size and depth, how
//! far its references unfold, and patterns without backtracking. References lead inside the schema
//! only; nothing is ever fetched.

use std::collections::BTreeSet;
use std::fmt;

use jsonschema::{PatternOptions, Validator};
use thiserror::Error;
use tidegate_contract::{JsonObject, Problem, Value, text};

/// Deepest nesting of a schema.
const DEPTH: usize = 64;

/// Most steps of following every reference. Doubling references reach millions in a few lines.
const UNFOLDED: u32 = 50_000;

/// Compiled size of one pattern, in bytes.
const PATTERN_BYTES: usize = 256 * 1024;

/// Most problems reported of one document.
const PROBLEMS: usize = 32;

/// Longest reason of one problem, in bytes.
const REASON_BYTES: usize = 240;

/// Why a schema can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SchemaError {
    /// Nested too deeply.
    #[error("it is nested deeper than {DEPTH}")]
    TooDeep,
    /// Its references unfold too far.
    #[error("its references unfold too far")]
    TooLarge,
    /// A recursion comes back to one place of the document more than once, so that a nested
    /// document would be checked an exponential number of times, or for ever.
    #[error("`{0}` is recursive and applies to one place more than once")]
    Recursive(String),
    /// A reference that is not a JSON Pointer into the schema, or leads nowhere.
    #[error("the reference `{0}` does not lead to a place in the schema (`#` or `#/...`)")]
    Reference(String),
    /// Not a JSON Schema.
    #[error("it is no JSON Schema: {0}")]
    Invalid(String),
}

/// A compiled schema.
pub(crate) struct Schema(Validator);

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schema")
    }
}

impl Schema {
    /// Checks that the schema is bounded, then compiles it.
    pub(crate) fn compile(schema: &JsonObject) -> Result<Self, SchemaError> {
        let document = Value::Object(schema.clone());
        depth(&document, 0)?;
        Unfolding::new(&document).check()?;
        jsonschema::options()
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES))
            .build(&document)
            .map(Self)
            .map_err(|error| SchemaError::Invalid(short(&error.to_string())))
    }

    /// Every problem of a document, up to [`PROBLEMS`]. Reasons never repeat the document's values.
    pub(crate) fn check(&self, document: &Value) -> Result<(), Vec<Problem>> {
        if self.0.is_valid(document) {
            return Ok(());
        }
        let problem = |error: jsonschema::ValidationError<'_>| Problem {
            pointer: error.instance_path().to_string(),
            reason: short(&error.masked().to_string()),
        };
        Err(self
            .0
            .iter_errors(document)
            .take(PROBLEMS)
            .map(problem)
            .collect())
    }
}

fn short(reason: &str) -> String {
    text::cut(reason, REASON_BYTES)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

fn depth(value: &Value, depth_so_far: usize) -> Result<(), SchemaError> {
    if depth_so_far > DEPTH {
        return Err(SchemaError::TooDeep);
    }
    match value {
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| depth(item, depth_so_far + 1)),
        Value::Object(map) => map
            .values()
            .try_for_each(|item| depth(item, depth_so_far + 1)),
        _ => Ok(()),
    }
}

/// Follows every reference of a schema, again from each place that references lead to.
///
/// Two things make a schema explode: references that double on the way down, and a recursion that
/// comes back twice to one place of the document, which a document nested n deep then answers 2^n
/// times. The first shows as too many steps, the second as two returns with one location.
struct Unfolding<'a> {
    root: &'a Value,
    steps: u32,
    /// References being followed: where they lead, and at which place of the document.
    open: Vec<(&'a str, String)>,
    /// Places below the start at which the walk came back to the start.
    returns: BTreeSet<String>,
    /// Everything references lead to.
    targets: BTreeSet<&'a str>,
}

impl<'a> Unfolding<'a> {
    fn new(root: &'a Value) -> Self {
        Self {
            root,
            steps: 0,
            open: Vec::new(),
            returns: BTreeSet::new(),
            targets: BTreeSet::from(["#"]),
        }
    }

    fn check(mut self) -> Result<(), SchemaError> {
        let mut done = BTreeSet::new();
        while let Some(target) = self.targets.difference(&done).next().copied() {
            done.insert(target);
            self.returns.clear();
            self.follow(target, "")?;
        }
        Ok(())
    }

    fn follow(&mut self, target: &'a str, place: &str) -> Result<(), SchemaError> {
        let nowhere = || SchemaError::Reference(short(target));
        let pointer = target.strip_prefix('#').ok_or_else(nowhere)?;
        let found = self.root.pointer(pointer).ok_or_else(nowhere)?;
        self.open.push((target, place.to_owned()));
        let outcome = self.walk(found, place);
        self.open.pop();
        outcome
    }

    fn walk(&mut self, schema: &'a Value, place: &str) -> Result<(), SchemaError> {
        self.steps += 1;
        if self.steps > UNFOLDED {
            return Err(SchemaError::TooLarge);
        }
        match schema {
            Value::Array(items) => items.iter().try_for_each(|item| self.walk(item, place)),
            Value::Object(map) => map.iter().try_for_each(|(key, item)| match key.as_str() {
                "$ref" => self.reference(item, place),
                "$dynamicRef" | "$recursiveRef" | "$id" => {
                    Err(SchemaError::Reference(short(&item.to_string())))
                }
                "$defs" | "definitions" | "const" | "enum" | "default" | "examples" => Ok(()),
                "properties" => self.properties(item, place),
                "items"
                | "prefixItems"
                | "contains"
                | "additionalProperties"
                | "patternProperties"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties" => self.walk(item, &format!("{place}/*")),
                _ => self.walk(item, place),
            }),
            _ => Ok(()),
        }
    }

    fn properties(&mut self, properties: &'a Value, place: &str) -> Result<(), SchemaError> {
        let properties = properties.as_object().into_iter().flatten();
        properties.into_iter().try_for_each(|(name, schema)| {
            self.walk(schema, &format!("{place}/{}", name.replace('/', "~1")))
        })
    }

    fn reference(&mut self, target: &'a Value, place: &str) -> Result<(), SchemaError> {
        let Some(target) = target.as_str() else {
            return Err(SchemaError::Reference(short(&target.to_string())));
        };
        self.targets.insert(target);
        let Some(depth) = self.open.iter().position(|(open, _)| *open == target) else {
            return self.follow(target, place);
        };
        // Deeper cycles are measured when the walk starts at their own target.
        if depth == 0 && !self.returns.insert(place.to_owned()) {
            return Err(SchemaError::Recursive(short(target)));
        }
        if self
            .open
            .get(depth)
            .is_some_and(|(_, start)| start == place)
        {
            return Err(SchemaError::Recursive(short(target)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compile(schema: Value) -> Result<Schema, SchemaError> {
        let Value::Object(schema) = schema else {
            panic!("a schema is an object")
        };
        Schema::compile(&schema)
    }

    #[test]
    fn t7_problems_name_the_place_and_hide_the_value() {
        let schema = compile(json!({
            "type": "object",
            "properties": {"path": {"type": "string", "minLength": 1}},
            "required": ["path"],
            "additionalProperties": false,
        }))
        .unwrap();
        assert!(schema.check(&json!({"path": "a"})).is_ok());
        let problems = schema.check(&json!({"path": 31337})).unwrap_err();
        assert_eq!(problems[0].pointer, "/path");
        assert!(
            !problems[0].reason.contains("31337"),
            "{}",
            problems[0].reason
        );
        assert!(schema.check(&json!({})).is_err());
        assert!(schema.check(&json!({"path": "a", "more": 1})).is_err());
    }

    #[test]
    fn t7_schemas_that_explode_are_refused() {
        let mut definitions = JsonObject::new();
        for level in 0..40 {
            let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
            definitions.insert(format!("l{level}"), json!({"allOf": [next, next]}));
        }
        definitions.insert("l40".to_owned(), json!({"type": "string"}));
        let doubling = json!({"$defs": definitions, "$ref": "#/$defs/l0"});
        assert_eq!(compile(doubling).unwrap_err(), SchemaError::TooLarge);

        let step = |more: Value| json!({"properties": {"x": {"$ref": "#"}}, "required": more});
        let twice = json!({"anyOf": [step(json!(["y"])), step(json!(["z"]))]});
        assert_eq!(
            compile(twice).unwrap_err(),
            SchemaError::Recursive("#".to_owned())
        );

        let through =
            |name: &str| json!({"properties": {"x": {"$ref": format!("#/$defs/{name}")}}});
        let both = json!({"allOf": [{"$ref": "#/$defs/c"}, {"$ref": "#/$defs/d"}]});
        let hidden = json!({
            "properties": {"a": {"$ref": "#/$defs/c"}, "b": {"$ref": "#/$defs/d"}},
            "$defs": {"a": through("b"), "b": both, "c": through("a"), "d": through("a")},
        });
        assert!(matches!(
            compile(hidden).unwrap_err(),
            SchemaError::Recursive(_)
        ));
        let forever = json!({"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"});
        assert!(matches!(
            compile(forever).unwrap_err(),
            SchemaError::Recursive(_)
        ));

        let mut deep = json!({"type": "string"});
        for _ in 0..100 {
            deep = json!({"not": deep});
        }
        assert_eq!(compile(deep).unwrap_err(), SchemaError::TooDeep);
    }

    #[test]
    fn t7_recursion_on_places_of_their_own_is_fine() {
        let tree = json!({
            "type": "object",
            "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}},
        });
        assert!(compile(tree).is_ok());
        let optional = json!({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]});
        let node = json!({"properties": {"left": optional, "right": optional}});
        let schema = json!({"$defs": {"node": node}, "$ref": "#/$defs/node"});
        assert!(compile(schema).is_ok());
    }

    #[test]
    fn t7_references_lead_nowhere_but_inside() {
        for target in [
            "https://example.com/schema",
            "other.json#/a",
            "#/$defs/missing",
            "#anchor",
        ] {
            assert!(compile(json!({"$ref": target})).is_err(), "{target}");
        }
    }

    #[test]
    fn t7_patterns_never_backtrack() {
        let schema = compile(json!({"type": "string", "pattern": "^(a+)+$"})).unwrap();
        let hostile = format!("{}!", "a".repeat(60_000));
        assert!(schema.check(&Value::String(hostile)).is_err());
        assert!(compile(json!({"pattern": "(a{1000}){1000}"})).is_err());
    }
}
