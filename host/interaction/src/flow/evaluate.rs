//! Evaluating expressions: bounded in what they copy, strict about types.

use serde_json::Value;
use thiserror::Error;
use tidegate_contract::json::{self, JsonBounds, JsonError, JsonObject};

use super::arithmetic::{Arithmetic, NoNumber};
use super::comparison::Comparison;
use super::expression::Expression;
use super::path::{Path, PathError};
use super::scope::Scope;

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
    /// What the run holds in its context passes the flow's limit.
    #[error("the contexts of the run grow past context_bytes = {limit_bytes}")]
    Context {
        /// The limit.
        limit_bytes: usize,
    },
    /// The outputs of a fanout's lanes pass the flow's limit together.
    #[error("the outputs of the lanes are more than gathered_bytes = {limit_bytes}")]
    Lanes {
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
    /// Two values are not both numbers.
    #[error("`{what}` takes two numbers, not {left} and {right}")]
    NoNumbers {
        /// The operator.
        what: &'static str,
        /// The type of the first value.
        left: &'static str,
        /// The type of the second value.
        right: &'static str,
    },
    /// Nothing can be divided by zero.
    #[error("`{what}` divides by zero")]
    ByZero {
        /// The operator.
        what: &'static str,
    },
    /// The number is out of range.
    #[error("`{what}` gives a number that is out of range: whole ones are from -2^63 to 2^64-1")]
    Overflow {
        /// The operator.
        what: &'static str,
    },
    /// A value of one type can't be in one of another.
    #[error(
        "`$in` looks for anything in a list, or for a text in a text or in the keys of a mapping, not for {item} in {whole}"
    )]
    NotIn {
        /// The type of what is looked for.
        item: &'static str,
        /// The type of what it is looked for in.
        whole: &'static str,
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
        self.evaluate_in(&Scope::reading(context), gathered_bytes)
    }

    pub(super) fn evaluate_in(
        &self,
        scope: &Scope<'_>,
        gathered_bytes: usize,
    ) -> Result<Value, EvaluateError> {
        let mut gathering = Gathering {
            scope,
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
    scope: &'a Scope<'a>,
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
            Expression::Compute(arithmetic, pair) => self.compute(*arithmetic, pair),
            Expression::Length(item) => length(&self.value(item)?),
            Expression::In(pair) => {
                let [item, whole] = pair.as_ref();
                let (item, whole) = (self.value(item)?, self.value(whole)?);
                contains(&item, &whole).map(Value::Bool)
            }
            Expression::Not(item) => Ok(Value::Bool(!boolean("$not", &self.value(item)?)?)),
            Expression::All(items) => self.until("$and", items, false),
            Expression::Any(items) => self.until("$or", items, true),
            Expression::Exists(path) => Ok(Value::Bool(self.scope.has(path))),
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

    fn compute(
        &mut self,
        arithmetic: Arithmetic,
        [left, right]: &[Expression; 2],
    ) -> Result<Value, EvaluateError> {
        let what = arithmetic.as_str();
        let (left, right) = (self.value(left)?, self.value(right)?);
        let (Value::Number(left), Value::Number(right)) = (&left, &right) else {
            return Err(EvaluateError::NoNumbers {
                what,
                left: type_of(&left),
                right: type_of(&right),
            });
        };
        let number = arithmetic.of(left, right).map_err(|error| match error {
            NoNumber::Zero => EvaluateError::ByZero { what },
            NoNumber::Overflow => EvaluateError::Overflow { what },
        });
        number.map(Value::Number)
    }

    /// Measured before it is copied: many paths may lead to one large value.
    fn copy(&mut self, path: &Path) -> Result<Value, EvaluateError> {
        let scope = self.scope;
        scope.copy(path, &mut |value| {
            let bytes = measure(value, self.left_bytes, self.limit_bytes)?;
            self.left_bytes = self.left_bytes.saturating_sub(bytes);
            Ok(())
        })
    }
}

fn length(value: &Value) -> Result<Value, EvaluateError> {
    let length = match value {
        Value::Array(items) => items.len(),
        Value::String(text) => text.chars().count(),
        Value::Object(map) => map.len(),
        other => {
            return Err(EvaluateError::Type {
                what: "$len",
                expected: "a list, a text or a mapping",
                found: type_of(other),
            });
        }
    };
    Ok(length.into())
}

fn contains(item: &Value, whole: &Value) -> Result<bool, EvaluateError> {
    match (item, whole) {
        (item, Value::Array(items)) => {
            let same = |other| Comparison::Equal.holds(item, other) == Some(true);
            Ok(items.iter().any(same))
        }
        (Value::String(part), Value::String(text)) => Ok(text.contains(part.as_str())),
        (Value::String(key), Value::Object(map)) => Ok(map.contains_key(key)),
        (item, whole) => Err(EvaluateError::NotIn {
            item: type_of(item),
            whole: type_of(whole),
        }),
    }
}

/// The bytes of a value as JSON, at most `left_bytes` of `limit_bytes`.
pub(super) fn measure(
    value: &Value,
    left_bytes: usize,
    limit_bytes: usize,
) -> Result<usize, EvaluateError> {
    let bounds = JsonBounds {
        bytes: left_bytes,
        depth: json::MAX_DEPTH,
    };
    json::measure(value, &bounds).map_err(|passed| match passed {
        JsonError::TooDeep { limit } => EvaluateError::TooDeep { limit },
        _ => EvaluateError::TooLarge { limit_bytes },
    })
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
    fn i11_numbers_lengths_and_members_are_computed_or_refused() {
        let context = json!({"n": 3, "text": "héé", "list": [1, {"a": 1}], "map": {"k": 1}});
        let at = |name: &str| json!({ "$path": format!("$.{name}") });
        let check = |expression: Value, expected: Result<Value, &str>| {
            let read = Expression::try_from(expression.clone()).unwrap();
            let value = read.evaluate(&context, ROOM);
            let value = value.map_err(|error| error.to_string());
            assert_eq!(value, expected.map_err(str::to_owned), "{expression}");
        };
        check(json!({"$add": [at("n"), {"$mul": [2, 2]}]}), Ok(json!(7)));
        check(json!({"$div": [at("n"), 2]}), Ok(json!(1.5)));
        check(json!({"$mod": [{"$sub": [0, at("n")]}, 2]}), Ok(json!(1)));
        check(json!({"$div": [1, 0]}), Err("`$div` divides by zero"));
        let range = "gives a number that is out of range: whole ones are from -2^63 to 2^64-1";
        check(
            json!({"$add": [u64::MAX, 1]}),
            Err(&format!("`$add` {range}")),
        );
        check(
            json!({"$add": [at("text"), 1]}),
            Err("`$add` takes two numbers, not a text and a number"),
        );
        check(json!({"$len": at("text")}), Ok(json!(3)));
        check(json!({"$len": at("list")}), Ok(json!(2)));
        check(json!({"$len": at("map")}), Ok(json!(1)));
        check(json!({"$len": ""}), Ok(json!(0)));
        check(
            json!({"$len": at("n")}),
            Err("`$len` takes a list, a text or a mapping, not a number"),
        );
        check(json!({"$in": [1.0, at("list")]}), Ok(json!(true)));
        check(json!({"$in": [{"a": 1}, at("list")]}), Ok(json!(true)));
        check(json!({"$in": ["1", at("list")]}), Ok(json!(false)));
        check(json!({"$in": ["éé", at("text")]}), Ok(json!(true)));
        check(json!({"$in": ["k", at("map")]}), Ok(json!(true)));
        check(json!({"$in": ["x", at("map")]}), Ok(json!(false)));
        let nowhere = "`$in` looks for anything in a list, or for a text in a text or in the keys \
                       of a mapping, not for a number in a text";
        check(json!({"$in": [1, at("text")]}), Err(nowhere));
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
