//! Expressions: what a step's input, a loop's state and its end are made from.

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use super::comparison::Comparison;
use super::path::{Path, PathError};

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
    /// `{$eq: [a, b]}` and its kin: whether two values compare so.
    Compare(Comparison, Box<[Self; 2]>),
    /// `{$not: a}`: the other boolean.
    Not(Box<Self>),
    /// `{$and: […]}`: whether all are true. The first false one ends it.
    All(Vec<Self>),
    /// `{$or: […]}`: whether one is true. The first true one ends it.
    Any(Vec<Self>),
    /// `{$exists: "$.a.b"}`: whether something is at a place of the context. A null is something.
    Exists(Path),
}

/// Why a value is no expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExpressionError {
    /// A key that starts with `$` is no operator.
    #[error(
        "unknown operator `{0}`; there are `$path`, `$lit` (which takes any value as it is), \
         `$eq`, `$ne`, `$lt`, `$lte`, `$gt`, `$gte`, `$not`, `$and`, `$or`, `$exists`"
    )]
    Operator(String),
    /// An operator stands beside other keys.
    #[error("`{0}` must be the only key of its mapping")]
    NotAlone(String),
    /// The operator takes a path.
    #[error("`{0}` takes a text like `$.a.b`")]
    NotAPath(&'static str),
    /// The operator compares two values.
    #[error("`{0}` takes a list of two expressions")]
    NotAPair(&'static str),
    /// The operator takes a list that is not empty.
    #[error("`{0}` takes a list of one expression or more")]
    NotAList(&'static str),
    /// The path can't be read.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Nested too deeply.
    #[error("nested deeper than {DEPTH}")]
    TooDeep,
}

impl Expression {
    /// The expression that gives null.
    #[must_use]
    pub fn null() -> Self {
        Self::Literal(Value::Null)
    }

    /// The expression that gives an empty object.
    #[must_use]
    pub fn empty_object() -> Self {
        Self::Object(Vec::new())
    }

    fn new(value: Value, depth: usize) -> Result<Self, ExpressionError> {
        if depth > DEPTH {
            return Err(ExpressionError::TooDeep);
        }
        match value {
            Value::Array(items) => Self::list(items, depth).map(Self::Array),
            Value::Object(map) => {
                if let Some(operator) = map.keys().find(|key| key.starts_with('$')).cloned() {
                    let mut entries = map.into_iter();
                    return match (entries.next(), entries.next()) {
                        (Some((key, argument)), None) => Self::operator(&key, argument, depth),
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

    fn list(items: Vec<Value>, depth: usize) -> Result<Vec<Self>, ExpressionError> {
        let items = items.into_iter().map(|item| Self::new(item, depth + 1));
        items.collect()
    }

    fn operator(name: &str, argument: Value, depth: usize) -> Result<Self, ExpressionError> {
        match name {
            "$path" => Ok(Self::Path(path("$path", &argument)?)),
            "$exists" => Ok(Self::Exists(path("$exists", &argument)?)),
            "$lit" => Ok(Self::Literal(argument)),
            "$not" => Ok(Self::Not(Box::new(Self::new(argument, depth + 1)?))),
            "$and" => Ok(Self::All(Self::some("$and", argument, depth)?)),
            "$or" => Ok(Self::Any(Self::some("$or", argument, depth)?)),
            other => {
                let mut comparisons = Comparison::ALL.into_iter();
                let Some(comparison) = comparisons.find(|known| known.as_str() == other) else {
                    let shown = tidegate_contract::text::cut(other, 64);
                    return Err(ExpressionError::Operator(shown.to_owned()));
                };
                let pair = match argument {
                    Value::Array(items) => Self::list(items, depth)?.try_into().ok(),
                    _ => None,
                };
                let pair = pair.ok_or(ExpressionError::NotAPair(comparison.as_str()))?;
                Ok(Self::Compare(comparison, Box::new(pair)))
            }
        }
    }

    fn some(
        operator: &'static str,
        argument: Value,
        depth: usize,
    ) -> Result<Vec<Self>, ExpressionError> {
        match argument {
            Value::Array(items) if !items.is_empty() => Self::list(items, depth),
            _ => Err(ExpressionError::NotAList(operator)),
        }
    }

    /// Shows each path that the expression reads.
    pub(super) fn paths<'a>(&'a self, see: &mut dyn FnMut(&'a Path)) {
        let items = match self {
            Self::Path(path) | Self::Exists(path) => return see(path),
            Self::Literal(_) => return,
            Self::Object(entries) => {
                for (_key, item) in entries {
                    item.paths(see);
                }
                return;
            }
            Self::Array(items) | Self::All(items) | Self::Any(items) => items,
            Self::Compare(_, pair) => pair.as_slice(),
            Self::Not(item) => std::slice::from_ref(item.as_ref()),
        };
        for item in items {
            item.paths(see);
        }
    }
}

fn path(operator: &'static str, argument: &Value) -> Result<Path, ExpressionError> {
    match argument {
        Value::String(path) => Ok(Path::parse(path)?),
        _ => Err(ExpressionError::NotAPath(operator)),
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
    fn i11_operators_say_what_they_take() {
        let check = |expression: Value, error: ExpressionError| {
            let read = Expression::try_from(expression.clone());
            assert_eq!(read, Err(error), "{expression}");
        };
        for wrong in [json!(1), json!([1]), json!([1, 2, 3]), json!({"a": 1})] {
            check(json!({ "$eq": wrong }), ExpressionError::NotAPair("$eq"));
        }
        for wrong in [json!(true), json!([])] {
            check(json!({ "$and": wrong }), ExpressionError::NotAList("$and"));
            check(json!({ "$or": wrong }), ExpressionError::NotAList("$or"));
        }
        let path = json!({"$path": "$.a"});
        check(
            json!({ "$exists": path }),
            ExpressionError::NotAPath("$exists"),
        );
        check(json!({"$path": 1}), ExpressionError::NotAPath("$path"));
        check(
            json!({"$xor": [1, 2]}),
            ExpressionError::Operator("$xor".to_owned()),
        );
        check(
            json!({"$eq": [1, 1], "$not": true}),
            ExpressionError::NotAlone("$eq".to_owned()),
        );
    }

    #[test]
    fn i11_expressions_nest_at_most_64_deep() {
        let nested = |depth: usize| {
            let nest = |inside: Value, _| json!({ "$not": inside });
            Expression::try_from((0..depth).fold(json!(true), nest))
        };
        assert!(nested(63).is_ok());
        assert!(nested(64).is_ok());
        assert_eq!(nested(65), Err(ExpressionError::TooDeep));
    }
}
