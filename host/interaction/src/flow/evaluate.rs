//! Evaluating expressions: bounded in what they copy, strict about types.

use serde_json::Value;
use thiserror::Error;
use tidegate_contract::json::{self, JsonBounds, JsonError, JsonObject};

use super::expression::Expression;
use super::path::{Path, PathError};

/// Why an expression gives no value in a context.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EvaluateError {
    /// A path leads nowhere.
    #[error(transparent)]
    Path(#[from] PathError),
    /// What is copied out of the context passes the flow's limit.
    #[error("the expression gathers more than gathered_bytes = {limit_bytes}")]
    TooLarge {
        /// The limit.
        limit_bytes: usize,
    },
    /// What is copied out of the context nests too deeply.
    #[error("the expression gathers a value that nests deeper than {limit} levels")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// A value of another type is needed.
    #[error("`{what}` takes {expected}, not {found}")]
    Type {
        /// The operator or key.
        what: &'static str,
        /// What it takes.
        expected: &'static str,
        /// The type of what was found.
        found: &'static str,
    },
    /// Two values have no order.
    #[error("`{what}` takes two numbers or two texts, not {left} and {right}")]
    NoOrder {
        /// The operator.
        what: &'static str,
        /// The type of the first value.
        left: &'static str,
        /// The type of the second value.
        right: &'static str,
    },
}

impl Expression {
    /// The value in a context. Each operand counts against `gathered_bytes`, so the work is bounded
    /// too.
    ///
    /// # Errors
    ///
    /// [`EvaluateError`]: a path leads nowhere, too much is gathered, or an operator meets a value
    /// of another type.
    pub fn evaluate(&self, context: &Value, gathered_bytes: usize) -> Result<Value, EvaluateError> {
        let mut gathering = Gathering {
            context,
            left_bytes: gathered_bytes,
            limit_bytes: gathered_bytes,
        };
        gathering.value(self)
    }
}

/// The name of a value's type, for errors.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// A boolean and nothing that may pass for one.
pub(super) fn boolean(what: &'static str, value: &Value) -> Result<bool, EvaluateError> {
    value.as_bool().ok_or_else(|| EvaluateError::Type {
        what,
        expected: "a boolean",
        found: type_of(value),
    })
}

/// One evaluation.
struct Gathering<'a> {
    context: &'a Value,
    left_bytes: usize,
    limit_bytes: usize,
}

impl Gathering<'_> {
    fn value(&mut self, expression: &Expression) -> Result<Value, EvaluateError> {
        match expression {
            Expression::Path(path) => self.copy(path),
            Expression::Literal(value) => Ok(value.clone()),
            Expression::Object(entries) => {
                let mut object = JsonObject::new();
                for (key, item) in entries {
                    object.insert(key.clone(), self.value(item)?);
                }
                Ok(Value::Object(object))
            }
            Expression::Array(items) => {
                let items = items.iter().map(|item| self.value(item));
                items.collect::<Result<_, _>>().map(Value::Array)
            }
            Expression::Compare(comparison, pair) => {
                let [left, right] = pair.as_ref();
                let (left, right) = (self.value(left)?, self.value(right)?);
                let holds = comparison.holds(&left, &right);
                holds
                    .map(Value::Bool)
                    .ok_or_else(|| EvaluateError::NoOrder {
                        what: comparison.as_str(),
                        left: type_of(&left),
                        right: type_of(&right),
                    })
            }
            Expression::Not(item) => Ok(Value::Bool(!boolean("$not", &self.value(item)?)?)),
            Expression::All(items) => self.until("$and", items, false),
            Expression::Any(items) => self.until("$or", items, true),
            Expression::Exists(path) => Ok(Value::Bool(path.get(self.context).is_ok())),
        }
    }

    /// The first item that is `end` ends it; without one, the other boolean.
    fn until(
        &mut self,
        operator: &'static str,
        items: &[Expression],
        end: bool,
    ) -> Result<Value, EvaluateError> {
        for item in items {
            if boolean(operator, &self.value(item)?)? == end {
                return Ok(Value::Bool(end));
            }
        }
        Ok(Value::Bool(!end))
    }

    /// Measured before it is copied: many paths may lead to one large value.
    fn copy(&mut self, path: &Path) -> Result<Value, EvaluateError> {
        let value = path.get(self.context)?;
        let bounds = JsonBounds {
            bytes: self.left_bytes,
            depth: json::MAX_DEPTH,
        };
        let bytes = json::measure(value, &bounds).map_err(|passed| match passed {
            JsonError::TooDeep { limit } => EvaluateError::TooDeep { limit },
            _ => EvaluateError::TooLarge {
                limit_bytes: self.limit_bytes,
            },
        })?;
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        Ok(value.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ROOM: usize = 1024 * 1024;

    #[test]
    fn i11_what_paths_gather_is_bounded() {
        // Written as JSON the text has two quotes more.
        let context = json!({ "ten": "x".repeat(8) });
        let three = json!({"$path": "$.ten"});
        let three = Expression::try_from(json!([three, {"$eq": [three, three]}])).unwrap();
        assert!(three.evaluate(&context, 31).is_ok());
        assert!(three.evaluate(&context, 30).is_ok());
        let passed = three.evaluate(&context, 29);
        assert_eq!(passed, Err(EvaluateError::TooLarge { limit_bytes: 29 }));
    }

    #[test]
    fn i11_conditions_are_strictly_boolean() {
        let context = json!({"t": true, "f": false, "n": null, "one": 1, "text": "a", "list": [1]});
        let check = |expression: Value, expected: Result<bool, &str>| {
            let read = Expression::try_from(expression.clone()).unwrap();
            let value = read
                .evaluate(&context, ROOM)
                .map_err(|error| error.to_string());
            let expected = expected.map(Value::Bool).map_err(str::to_owned);
            assert_eq!(value, expected, "{expression}");
        };
        let at = |name: &str| json!({ "$path": format!("$.{name}") });
        check(json!({"$eq": [at("one"), 1.0]}), Ok(true));
        check(json!({"$ne": [at("one"), "1"]}), Ok(true));
        check(json!({"$eq": [at("list"), {"$lit": [1]}]}), Ok(true));
        check(json!({"$lt": [at("one"), 2]}), Ok(true));
        check(json!({"$lte": [2, at("one")]}), Ok(false));
        check(json!({"$gt": [at("text"), "A"]}), Ok(true));
        check(json!({"$gte": ["a", at("text")]}), Ok(true));
        check(json!({"$not": at("f")}), Ok(true));
        check(
            json!({"$and": [at("t"), at("f"), at("missing")]}),
            Ok(false),
        );
        check(json!({"$or": [at("f"), at("t"), at("missing")]}), Ok(true));
        check(
            json!({"$and": [at("t"), {"$not": {"$eq": [1, 2]}}]}),
            Ok(true),
        );
        check(json!({"$or": [at("f")]}), Ok(false));
        check(json!({"$exists": "$.n"}), Ok(true));
        check(json!({"$exists": "$.list[1]"}), Ok(false));
        let no_boolean = |what: &str, found: &str| format!("`{what}` takes a boolean, not {found}");
        check(json!({"$not": at("n")}), Err(&no_boolean("$not", "null")));
        check(
            json!({"$and": [at("one")]}),
            Err(&no_boolean("$and", "a number")),
        );
        check(
            json!({"$or": [at("text")]}),
            Err(&no_boolean("$or", "a text")),
        );
        check(
            json!({"$lt": [at("one"), at("text")]}),
            Err("`$lt` takes two numbers or two texts, not a number and a text"),
        );
        check(
            json!({"$gte": [at("list"), at("list")]}),
            Err("`$gte` takes two numbers or two texts, not a list and a list"),
        );
        check(
            json!({"$eq": [at("missing"), 1]}),
            Err("the context has nothing at `$.missing`"),
        );
    }

    #[test]
    fn i11_values_stand_for_themselves_and_operators_are_marked() {
        let context = json!({"file": "a.md", "n": null});
        let check = |expression: Value, expected: Option<Value>| {
            let value = Expression::try_from(expression.clone())
                .ok()
                .and_then(|expression| expression.evaluate(&context, ROOM).ok());
            assert_eq!(value, expected, "{expression}");
        };
        check(json!({"path": "$.file"}), Some(json!({"path": "$.file"})));
        check(
            json!({"path": {"$path": "$.file"}}),
            Some(json!({"path": "a.md"})),
        );
        check(json!([{"$path": "$.n"}, 1]), Some(json!([null, 1])));
        check(
            json!({"$lit": {"$path": "$.file"}}),
            Some(json!({"$path": "$.file"})),
        );
        check(json!({"$path": "$.missing"}), None);
        check(json!({"$path": 1}), None);
        check(json!({"$upper": "a"}), None);
        check(json!({"$path": "$.file", "b": 1}), None);
    }
}
