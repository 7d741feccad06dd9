//! Arguments made from a schema: small ones, large ones, and any between.
//!
//! What is made is a good guess and no more: it counts once the host's own check has taken it.
//! Deliberately absent: text for a `pattern` beyond a few common forms.

mod numbers;
mod texts;

use tidegate::Schema;
use tidegate_contract::{JsonBounds, JsonObject, Value, json};

use super::random::Random;

/// Deepest place that is filled with more than the least, and deepest that is filled at all.
const DEPTH: usize = 12;
const DEEPEST: usize = 48;

/// Most guesses for each document that is wanted.
const GUESSES: usize = 12;

/// Most values of one document, and of all that are made of one schema: a schema can ask for more
/// than there is memory.
const VALUES: usize = 2_000;
const ALL_VALUES: usize = 50_000;

/// Most bytes of all that is made of one schema, kept or not. One document is as large as arguments may
/// be.
const ALL_BYTES: usize = 16 * 1024 * 1024;

/// Most items of a list, unless its schema asks for more.
const ITEMS: usize = 4;

/// How large a value is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    /// What is required, at its lower bound.
    Least,
    /// Everything, at its upper bound.
    Most,
    /// By chance.
    Any,
}

/// How much may still be made.
#[derive(Debug)]
struct Room {
    values: usize,
    bytes: usize,
}

impl Room {
    /// Takes a part of it. Where that is too much, nothing is left.
    fn take(&mut self, values: usize, bytes: usize) -> bool {
        let values = self.values.checked_sub(values);
        let left = values.zip(self.bytes.checked_sub(bytes));
        (self.values, self.bytes) = left.unwrap_or_default();
        left.is_some()
    }
}

/// Makes documents of one schema.
#[derive(Debug)]
pub(super) struct Maker<'a> {
    root: Value,
    schema: &'a Schema,
    random: Random,
    /// What is left of the document's room, and of that for all.
    left: Room,
    left_in_all: Room,
}

impl<'a> Maker<'a> {
    pub(super) fn new(root: &JsonObject, schema: &'a Schema, random: Random) -> Self {
        Self {
            root: Value::Object(root.clone()),
            schema,
            random,
            left: Room {
                values: 0,
                bytes: 0,
            },
            left_in_all: Room {
                values: ALL_VALUES,
                bytes: ALL_BYTES,
            },
        }
    }

    /// Up to `wanted` different objects that the schema takes: the least, the most, then others.
    pub(super) fn good(&mut self, wanted: usize) -> Vec<Value> {
        let mut made: Vec<Value> = Vec::new();
        let root = self.root.clone();
        for guess in 0..wanted.saturating_mul(GUESSES) {
            if made.len() >= wanted || self.left_in_all.values == 0 {
                break;
            }
            self.left = Room {
                values: VALUES,
                bytes: JsonBounds::default().bytes,
            };
            let size = match guess {
                0 => Size::Least,
                1 => Size::Most,
                _ => Size::Any,
            };
            let value = self.make(&root, size, 0);
            let is_fit = value.is_object() && fits(&value) && self.schema.check(&value).is_ok();
            if is_fit && !made.contains(&value) {
                made.push(value);
            }
        }
        made
    }

    fn take(&mut self, values: usize, bytes: usize) -> bool {
        self.left.take(values, bytes) && self.left_in_all.take(values, bytes)
    }

    /// The value where there is room for it.
    fn kept(&mut self, value: Value) -> Value {
        if self.take(0, value.to_string().len()) {
            value
        } else {
            Value::Null
        }
    }

    /// A value for one place.
    fn make(&mut self, schema: &Value, size: Size, depth: usize) -> Value {
        if depth > DEEPEST || !self.take(1, 0) {
            return Value::Null;
        }
        let Value::Object(schema) = schema else {
            return Value::from("anything");
        };
        let size = if depth > DEPTH { Size::Least } else { size };
        let schema = self.plain(schema.clone(), size);
        if let Some(value) = self.written(&schema, size) {
            return self.kept(value);
        }
        let value = match self.kind(&schema) {
            "object" => return self.object(&schema, size, depth),
            "array" => return self.list(&schema, size, depth),
            "string" => texts::make(&schema, size, &mut self.random),
            "integer" => numbers::integer(&schema, size, &mut self.random),
            "number" => numbers::number(&schema, size, &mut self.random),
            "boolean" => Value::Bool(match size {
                Size::Least => false,
                Size::Most => true,
                Size::Any => self.random.coin(),
            }),
            _ => Value::Null,
        };
        self.kept(value)
    }

    /// A value that the schema itself has written down.
    fn written(&mut self, schema: &JsonObject, size: Size) -> Option<Value> {
        if let Some(value) = schema.get("const") {
            return Some(value.clone());
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            let value = match size {
                Size::Least => values.first(),
                Size::Most => values.last(),
                Size::Any => self.random.pick(values),
            };
            return Some(value.cloned().unwrap_or_default());
        }
        if let (Size::Any, Some(Value::Array(examples))) = (size, schema.get("examples"))
            && self.random.coin()
        {
            return self.random.pick(examples).cloned();
        }
        None
    }

    /// The schema with its references followed and its branches chosen.
    fn plain(&mut self, mut schema: JsonObject, size: Size) -> JsonObject {
        // The host has checked that references end; branches in branches may not.
        for _ in 0..DEPTH {
            let target = schema.remove("$ref");
            let target = target.as_ref().and_then(Value::as_str);
            if let Some(pointer) = target.and_then(|target| target.strip_prefix('#')) {
                let found = self.root.pointer(pointer).cloned();
                lay_over(&mut schema, found.as_ref());
                continue;
            }
            let all = schema.remove("allOf");
            let any = schema.remove("anyOf").or_else(|| schema.remove("oneOf"));
            if all.is_none() && any.is_none() {
                break;
            }
            for part in all.iter().filter_map(Value::as_array).flatten() {
                lay_over(&mut schema, Some(part));
            }
            if let Some(Value::Array(branches)) = any {
                let branch = match size {
                    Size::Least => branches.first(),
                    Size::Most => branches.last(),
                    Size::Any => self.random.pick(&branches),
                };
                lay_over(&mut schema, branch);
            }
        }
        schema
    }

    /// Which type a value is to have.
    fn kind(&mut self, schema: &JsonObject) -> &'static str {
        let named = match schema.get("type") {
            Some(Value::String(name)) => Some(name.as_str()),
            Some(Value::Array(names)) => self.random.pick(names).and_then(Value::as_str),
            _ => None,
        };
        let kinds = [
            "object", "array", "string", "integer", "number", "boolean", "null",
        ];
        if let Some(kind) = kinds.into_iter().find(|kind| Some(*kind) == named) {
            return kind;
        }
        let has = |keys: &[&str]| keys.iter().any(|key| schema.contains_key(*key));
        if has(&["properties", "required", "additionalProperties"]) {
            "object"
        } else if has(&["items", "prefixItems", "maxItems"]) {
            "array"
        } else if has(&["minimum", "maximum", "multipleOf"]) {
            "integer"
        } else {
            "string"
        }
    }

    fn object(&mut self, schema: &JsonObject, size: Size, depth: usize) -> Value {
        let mut made = JsonObject::new();
        let required: Vec<&str> = texts_of(schema.get("required"));
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let is_wanted = match size {
                Size::Least => false,
                Size::Most => true,
                Size::Any => self.random.coin(),
            };
            if is_wanted || required.contains(&name.as_str()) {
                made.insert(name.clone(), self.make(property, size, depth + 1));
            }
        }
        let others = schema.get("additionalProperties").cloned();
        let others = others.unwrap_or(Value::Bool(true));
        for name in required {
            if !made.contains_key(name) {
                made.insert(name.to_owned(), self.make(&others, size, depth + 1));
            }
        }
        let least = bound(schema, "minProperties").unwrap_or(0);
        for number in 0..least.min(ITEMS) {
            if made.len() < least {
                made.insert(format!("key{number}"), self.make(&others, size, depth + 1));
            }
        }
        if self.take(0, made.keys().map(String::len).sum()) {
            Value::Object(made)
        } else {
            Value::Null
        }
    }

    fn list(&mut self, schema: &JsonObject, size: Size, depth: usize) -> Value {
        let first: &[Value] = match schema.get("prefixItems") {
            Some(Value::Array(items)) => items,
            _ => &[],
        };
        let least = bound(schema, "minItems").unwrap_or(0);
        let most = bound(schema, "maxItems").unwrap_or(usize::MAX);
        let least = least.min(VALUES);
        let usual = least.max(first.len()).max(ITEMS).min(most);
        let length = match size {
            Size::Least => least,
            Size::Most => usual,
            Size::Any => {
                let span = usual.saturating_sub(least);
                least + self.random.below(span.saturating_add(1))
            }
        };
        let rest = schema.get("items").cloned().unwrap_or(Value::Bool(true));
        let items = (0..length).map(|at| {
            let item = first.get(at).unwrap_or(&rest);
            self.make(item, size, depth + 1)
        });
        let mut items: Vec<Value> = items.collect();
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            let mut different: Vec<Value> = Vec::new();
            for item in items {
                if !different.contains(&item) {
                    different.push(item);
                }
            }
            items = different;
        }
        Value::Array(items)
    }
}

/// Whether a host takes a value as arguments at all: it is neither too large nor too deep.
pub(super) fn fits(value: &Value) -> bool {
    json::check(value, &JsonBounds::default()).is_ok()
}

/// Lays a second schema over the first: mappings are joined, lists of names too, bounds replaced.
fn lay_over(schema: &mut JsonObject, other: Option<&Value>) {
    for (key, value) in other.and_then(Value::as_object).into_iter().flatten() {
        match (schema.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(more)) if key == "properties" => {
                known.extend(more.clone());
            }
            (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                known.extend(more.clone());
            }
            _ => {
                schema.insert(key.clone(), value.clone());
            }
        }
    }
}

/// A bound that is a whole number, not below 0.
pub(super) fn bound(schema: &JsonObject, key: &str) -> Option<usize> {
    let number = schema.get(key)?;
    let number = number.as_u64().map(usize::try_from)?;
    Some(number.unwrap_or(usize::MAX))
}

/// The texts of a list.
pub(super) fn texts_of(list: Option<&Value>) -> Vec<&str> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tidegate::Schema;
    use tidegate_contract::Value;

    use super::{ALL_BYTES, Maker};
    use crate::check::random::Random;

    fn good(schema: &Value, seed: u64) -> Vec<Value> {
        let root = schema.as_object().unwrap();
        let compiled = Schema::compile(root).unwrap();
        Maker::new(root, &compiled, Random::new(seed)).good(8)
    }

    #[test]
    fn p3_arguments_are_made_for_every_kind_of_keyword() {
        for property in [
            json!({"type": "string", "minLength": 3, "maxLength": 5}),
            json!({"type": "integer", "minimum": -3, "maximum": 3}),
            json!({"type": "integer", "exclusiveMinimum": 10, "multipleOf": 5}),
            json!({"type": "number", "exclusiveMaximum": 0.5}),
            json!({"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 2, "maxItems": 3}),
            json!({"type": "array", "prefixItems": [{"type": "null"}], "items": false, "maxItems": 1}),
            json!({"type": ["boolean", "null"]}),
            json!({"anyOf": [{"const": "a"}, {"type": "integer"}]}),
            json!({"allOf": [{"type": "string"}, {"maxLength": 2}]}),
            json!({"$ref": "#/$defs/node"}),
            json!({"type": "string", "format": "date-time"}),
            json!({"type": "string", "pattern": "^[0-9]+$"}),
            json!({"minimum": 5, "maximum": 5}),
        ] {
            let schema = json!({
                "type": "object",
                "properties": {"value": property},
                "required": ["value"],
                "additionalProperties": false,
                "$defs": {"node": {
                    "type": "object",
                    "properties": {"next": {"$ref": "#/$defs/node"}},
                    "additionalProperties": false,
                }},
            });
            let made = good(&schema, 1);
            assert!(!made.is_empty(), "{schema}");
            assert_eq!(made, good(&schema, 1), "the same seed makes the same");
        }
    }

    #[test]
    fn p3_a_schema_that_asks_for_too_much_gets_little() {
        let schema = |property: Value| {
            json!({
                "type": "object",
                "properties": {"value": property},
                "required": ["value"],
                "$defs": {
                    "tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
                    "chain": {
                        "type": "object",
                        "properties": {"next": {"$ref": "#/$defs/chain"}},
                        "required": ["next"],
                    },
                },
            })
        };
        for (property, is_made) in [
            (json!({"type": "string", "minLength": u64::MAX}), false),
            (json!({"type": "array", "minItems": u64::MAX}), false),
            (json!({"type": "object", "minProperties": u64::MAX}), false),
            (json!({"$ref": "#/$defs/chain"}), false),
            (json!({"$ref": "#/$defs/tree"}), true),
            (
                json!({"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX}),
                true,
            ),
            (json!({"type": "integer", "minimum": 1e300}), false),
            (
                json!({"type": "number", "minimum": -1e308, "maximum": 1e308}),
                true,
            ),
        ] {
            let made = good(&schema(property.clone()), 1);
            assert_eq!(!made.is_empty(), is_made, "{property}");
        }
    }

    #[test]
    fn p3_what_is_made_is_no_larger_than_arguments_may_be() {
        let text = |length: usize| json!({"type": "string", "minLength": length});
        let texts = |count: usize| {
            let names: Vec<String> = (0..count).map(|at| format!("text{at}")).collect();
            let properties = names.iter().map(|name| (name.clone(), text(100_000)));
            let properties = Value::Object(properties.collect());
            json!({"type": "object", "properties": properties, "required": names})
        };
        for made in good(&texts(10), 1) {
            assert!(made.to_string().len() > 1_000_000);
        }
        assert!(!good(&texts(10), 1).is_empty());
        assert!(good(&texts(11), 1).is_empty());
        let long = "x".repeat(20_000);
        let list = json!({
            "type": "object",
            "properties": {"list": {"type": "array", "minItems": 1_000, "items": {"const": long}}},
            "required": ["list"],
        });
        assert!(good(&list, 1).is_empty());
        let some = json!({
            "type": "object",
            "properties": {"text": text(90_000), "more": texts(11)},
            "required": ["text"],
        });
        let made = good(&some, 1);
        assert!(!made.is_empty(), "the large guesses alone are left out");
        assert!(made.iter().all(|made| made.to_string().len() <= 1 << 20));
    }

    #[test]
    fn p3_all_that_is_made_of_one_schema_is_bounded_together() {
        let text = json!({"type": "string", "minLength": 100_000, "maxLength": 100_060});
        let properties = json!({"a": text, "b": text, "c": text, "d": text, "e": text});
        let required = json!(["a", "b", "c", "d", "e"]);
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let root = schema.as_object().unwrap();
        let compiled = Schema::compile(root).unwrap();
        let made = Maker::new(root, &compiled, Random::new(1)).good(1_000);
        let bytes: usize = made.iter().map(|made| made.to_string().len()).sum();
        assert!(made.len() > 8 && bytes <= ALL_BYTES + 1_000 * made.len());
    }

    #[test]
    fn p3_another_seed_makes_others() {
        let text = json!({"type": "string", "maxLength": 40});
        let schema = json!({"properties": {"text": text}, "required": ["text"]});
        assert_ne!(good(&schema, 1), good(&schema, 2));
    }

    #[test]
    fn p3_nothing_is_made_where_nothing_fits() {
        let never = json!({"type": "object", "required": ["a"], "properties": {"a": false}});
        assert!(good(&never, 1).is_empty());
    }
}
