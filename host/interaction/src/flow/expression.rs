//! Expressions: what a step's input is made from.

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;
use tidegate_contract::json::{self, JsonBounds, JsonObject};

use super::path::{Path, PathError};

/// Most bytes that one expression copies out of the context: more than any node takes.
pub const GATHERED_BYTES: usize = 32 * 1024 * 1024;

/// Deepest nesting of an expression.
const DEPTH: usize = 64;

/// Something that gives a value when it meets a context.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub enum Expression {
    /// `{$path: "$.a.b"}`: the value at a place of the context.
    Path(Path),
    /// `{$lit: …}`, or any scalar: the value itself.
    Literal(Value),
    /// A mapping, each value an expression.
    Object(Vec<(String, Self)>),
    /// A list, each item an expression.
    Array(Vec<Self>),
}

/// Why a value is no expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExpressionError {
    /// A key that starts with `$` is no operator.
    #[error(
        "unknown operator `{0}`; there are `$path` and `$lit` (which takes any value as it is)"
    )]
    Operator(String),
    /// An operator stands beside other keys.
    #[error("`{0}` must be the only key of its mapping")]
    NotAlone(String),
    /// `$path` takes a path.
    #[error("`$path` takes a text like `$.a.b`")]
    NotAPath,
    /// The path can't be read.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Nested too deeply.
    #[error("nested deeper than {DEPTH}")]
    TooDeep,
}

impl Expression {
    fn new(value: Value, depth: usize) -> Result<Self, ExpressionError> {
        if depth > DEPTH {
            return Err(ExpressionError::TooDeep);
        }
        match value {
            Value::Array(items) => {
                let items = items.into_iter().map(|item| Self::new(item, depth + 1));
                Ok(Self::Array(items.collect::<Result<_, _>>()?))
            }
            Value::Object(map) => {
                if let Some(operator) = map.keys().find(|key| key.starts_with('$')).cloned() {
                    let mut entries = map.into_iter();
                    return match (entries.next(), entries.next()) {
                        (Some((key, argument)), None) => Self::operator(&key, argument),
                        _ => Err(ExpressionError::NotAlone(operator)),
                    };
                }
                let entries = map
                    .into_iter()
                    .map(|(key, item)| Ok((key, Self::new(item, depth + 1)?)));
                Ok(Self::Object(
                    entries.collect::<Result<_, ExpressionError>>()?,
                ))
            }
            scalar => Ok(Self::Literal(scalar)),
        }
    }

    fn operator(name: &str, argument: Value) -> Result<Self, ExpressionError> {
        match (name, argument) {
            ("$path", Value::String(path)) => Ok(Self::Path(Path::parse(&path)?)),
            ("$path", _) => Err(ExpressionError::NotAPath),
            ("$lit", value) => Ok(Self::Literal(value)),
            (other, _) => Err(ExpressionError::Operator(other.to_owned())),
        }
    }

    /// The value in a context.
    ///
    /// # Errors
    ///
    /// [`PathError::NotFound`] when a path leads nowhere, [`PathError::TooLarge`] when paths gather
    /// more than [`GATHERED_BYTES`].
    pub fn evaluate(&self, context: &Value) -> Result<Value, PathError> {
        self.gather(context, &mut { GATHERED_BYTES })
    }

    fn gather(&self, context: &Value, left_bytes: &mut usize) -> Result<Value, PathError> {
        match self {
            Self::Path(path) => {
                let value = path.get(context)?;
                let bounds = JsonBounds {
                    bytes: *left_bytes,
                    depth: json::MAX_DEPTH,
                };
                // Measured before it is copied: many paths may lead to one large value.
                let size =
                    json::measure(value, &bounds).map_err(|_passed| PathError::TooLarge {
                        limit_bytes: GATHERED_BYTES,
                    })?;
                *left_bytes = left_bytes.saturating_sub(size);
                Ok(value.clone())
            }
            Self::Literal(value) => Ok(value.clone()),
            Self::Object(entries) => {
                let mut object = JsonObject::new();
                for (key, item) in entries {
                    object.insert(key.clone(), item.gather(context, left_bytes)?);
                }
                Ok(Value::Object(object))
            }
            Self::Array(items) => {
                let items = items.iter().map(|item| item.gather(context, left_bytes));
                items.collect::<Result<_, _>>().map(Value::Array)
            }
        }
    }
}

impl TryFrom<Value> for Expression {
    type Error = ExpressionError;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        Self::new(value, 0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn i11_what_paths_gather_is_bounded() {
        let large = "x".repeat(1024 * 1024);
        let context = json!({ "large": large });
        let many = |count: usize| {
            let path = json!({"$path": "$.large"});
            Expression::try_from(Value::Array(vec![path; count])).unwrap()
        };
        assert!(many(31).evaluate(&context).is_ok());
        let passed = many(32).evaluate(&context);
        assert!(matches!(passed, Err(PathError::TooLarge { .. })));
    }

    #[test]
    fn i11_values_stand_for_themselves_and_operators_are_marked() {
        let context = json!({"file": "a.md", "n": null});
        let check = |expression: Value, expected: Option<Value>| {
            let value = Expression::try_from(expression.clone())
                .ok()
                .and_then(|expression| expression.evaluate(&context).ok());
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
