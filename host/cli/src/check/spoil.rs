//! Arguments that a schema refuses: good ones with one thing made wrong.

use serde_json::json;
use tidegate::Schema;
use tidegate_contract::{JsonObject, Value};

use super::generate::{bound, fits, texts_of};

/// The longest text or list that is made too long by one.
const LONGEST: usize = 5_000;

/// Most properties that are spoilt.
const PROPERTIES: usize = 64;

/// One thing that is made wrong in good arguments.
#[derive(Debug)]
pub(super) struct Spoilt {
    pub(super) what: String,
    property: String,
    /// What the property has; none where it is left out.
    value: Option<Value>,
}

impl Spoilt {
    /// The arguments with that thing wrong.
    pub(super) fn arguments(&self, good: &JsonObject) -> Value {
        let mut spoilt = good.clone();
        match &self.value {
            Some(value) => spoilt.insert(self.property.clone(), value.clone()),
            None => spoilt.remove(&self.property),
        };
        Value::Object(spoilt)
    }
}

/// What makes these arguments bad: each was refused by the host's own check. What is too large for any
/// tool is left out. The arguments are made one by one, since all of them may be large.
pub(super) fn bad(root: &JsonObject, schema: &Schema, good: &JsonObject) -> Vec<Spoilt> {
    let mut tried = Vec::new();
    for name in texts_of(root.get("required")).into_iter().take(PROPERTIES) {
        tried.push(Spoilt {
            what: format!("`{name}` left out"),
            property: name.to_owned(),
            value: None,
        });
    }
    let properties = root.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten().take(PROPERTIES) {
        let wrong = wrong(property).into_iter();
        tried.extend(wrong.map(|(what, value)| Spoilt {
            what: format!("`{name}` {what}"),
            property: name.clone(),
            value: Some(value),
        }));
    }
    tried.push(Spoilt {
        what: "an unknown property".to_owned(),
        property: "no-such-property".to_owned(),
        value: Some(json!(true)),
    });
    tried.retain(|spoilt| {
        let arguments = spoilt.arguments(good);
        fits(&arguments) && schema.check(&arguments).is_err()
    });
    tried
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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tidegate::Schema;

    use super::bad;
    use crate::check::generate::fits;

    #[test]
    fn p3_arguments_that_are_spoilt_are_no_larger_than_arguments_may_be() {
        let schema = json!({
            "type": "object",
            "properties": {"large": {"type": "string"}, "text": {"type": "string", "maxLength": 3}},
            "required": ["large", "text"],
            "additionalProperties": false,
        });
        let root = schema.as_object().unwrap();
        let compiled = Schema::compile(root).unwrap();
        for (length, is_whole) in [(10, true), ((1 << 20) - 30, false)] {
            let good = json!({"large": "x".repeat(length), "text": "abc"});
            assert!(fits(&good) && compiled.check(&good).is_ok());
            let good = good.as_object().unwrap();
            let all = bad(root, &compiled, good);
            let of_unknown = all
                .iter()
                .any(|spoilt| spoilt.what == "an unknown property");
            assert_eq!(of_unknown, is_whole);
            assert!(all.iter().any(|spoilt| spoilt.what == "`text` left out"));
            for spoilt in all {
                let arguments = spoilt.arguments(good);
                assert!(fits(&arguments) && compiled.check(&arguments).is_err());
            }
        }
    }
}
