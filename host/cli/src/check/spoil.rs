//! Arguments that a schema refuses: good ones with one thing made wrong.

use serde_json::json;
use tidegate::Schema;
use tidegate_contract::{JsonObject, Value};

use super::generate::{bound, texts_of};

/// The longest text or list that is made too long by one.
const LONGEST: usize = 5_000;

/// Most properties that are spoilt.
const PROPERTIES: usize = 64;

/// Bad arguments, each with what is wrong with it. Each was refused by the host's own check.
pub(super) fn bad(root: &JsonObject, schema: &Schema, good: &Value) -> Vec<(String, Value)> {
    let Value::Object(good) = good else {
        return Vec::new();
    };
    let mut tried = Vec::new();
    for name in texts_of(root.get("required")).into_iter().take(PROPERTIES) {
        let mut object = good.clone();
        object.remove(name);
        tried.push((format!("`{name}` left out"), object));
    }
    let properties = root.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten().take(PROPERTIES) {
        for (what, value) in wrong(property) {
            let mut object = good.clone();
            object.insert(name.clone(), value);
            tried.push((format!("`{name}` {what}"), object));
        }
    }
    let mut object = good.clone();
    object.insert("no-such-property".to_owned(), json!(true));
    tried.push(("an unknown property".to_owned(), object));
    tried
        .into_iter()
        .map(|(what, object)| (what, Value::Object(object)))
        .filter(|(_, value)| schema.check(value).is_err())
        .collect()
}

/// Values that a property's schema may refuse.
fn wrong(property: &Value) -> Vec<(&'static str, Value)> {
    let mut values = vec![
        ("null", Value::Null),
        ("a list", json!([])),
        ("an object", json!({})),
        ("a text", json!("no such value")),
        ("a number", json!(7)),
        ("a truth value", json!(true)),
    ];
    let Value::Object(property) = property else {
        return values;
    };
    if let Some(most) = bound(property, "maxLength").filter(|most| *most <= LONGEST) {
        values.push(("one character too long", json!("a".repeat(most + 1))));
    }
    if let Some(least) = bound(property, "minLength").filter(|least| (1..=LONGEST).contains(least))
    {
        values.push(("one character too short", json!("a".repeat(least - 1))));
    }
    if let Some(most) = bound(property, "maxItems").filter(|most| *most <= LONGEST) {
        values.push(("one item too long", json!(vec!["a"; most + 1])));
    }
    if let Some(number) = property.get("maximum").and_then(Value::as_i64) {
        values.push(("one too large", json!(number.saturating_add(1))));
    }
    if let Some(number) = property.get("minimum").and_then(Value::as_i64) {
        values.push(("one too small", json!(number.saturating_sub(1))));
    }
    values
}
