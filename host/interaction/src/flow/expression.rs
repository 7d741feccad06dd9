//! Expressions: what a step's input, a loop's state and its end are made from.

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use super::arithmetic::Arithmetic;
use super::check::Places;
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
    /// `{$add: [a, b]}` and its kin: what two numbers give.
    Compute(Arithmetic, Box<[Self; 2]>),
    /// `{$len: a}`: the items of a list, the characters of a text, the keys of a mapping.
    Length(Box<Self>),
    /// `{$in: [a, b]}`: whether a list has an item, a text another text, a mapping a key.
    In(Box<[Self; 2]>),
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
         `$eq`, `$ne`, `$lt`, `$lte`, `$gt`, `$gte`, `$not`, `$and`, `$or`, `$exists`, `$add`, \
         `$sub`, `$mul`, `$div`, `$mod`, `$len`, `$in`"
    )]
    Operator(String),
    /// An operator stands beside other keys.
    #[error("`{0}` must be the only key of its mapping")]
    NotAlone(String),
    /// The operator takes a path.
    #[error("`{0}` takes a text like `$.a.b`")]
    NotAPath(&'static str),
    /// The operator takes two values.
    #[error("`{0}` takes a list of two expressions")]
    NotAPair(&'static str),
    /// The operator takes a list that is not empty.
    #[error("`{0}` takes a list of one expression or more")]
    NotAList(&'static str),
    /// The path can't be read.
    #[error(transparent)]
    Path(#[from] PathError),
    /// What describes the step is of another shape.
    #[error("`$step_meta` is a mapping with the one key `inline`, which is a mapping")]
    Meta,
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
            "$len" => Ok(Self::Length(Box::new(Self::new(argument, depth + 1)?))),
            "$in" => Ok(Self::In(Self::pair("$in", argument, depth)?)),
            other => {
                let mut comparisons = Comparison::ALL.into_iter();
                if let Some(known) = comparisons.find(|one| one.as_str() == other) {
                    let pair = Self::pair(known.as_str(), argument, depth)?;
                    return Ok(Self::Compare(known, pair));
                }
                let mut arithmetic = Arithmetic::ALL.into_iter();
                if let Some(known) = arithmetic.find(|one| one.as_str() == other) {
                    let pair = Self::pair(known.as_str(), argument, depth)?;
                    return Ok(Self::Compute(known, pair));
                }
                let shown = tidegate_contract::text::cut(other, 64);
                Err(ExpressionError::Operator(shown.to_owned()))
            }
        }
    }

    fn pair(
        operator: &'static str,
        argument: Value,
        depth: usize,
    ) -> Result<Box<[Self; 2]>, ExpressionError> {
        let pair = match argument {
            Value::Array(items) => Self::list(items, depth)?.try_into().ok(),
            _ => None,
        };
        let pair = pair.ok_or(ExpressionError::NotAPair(operator))?;
        Ok(Box::new(pair))
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

    /// Shows each path whose value the expression is sure to need. One that it asks `$exists` of, and
    /// what is inside, is not.
    pub(super) fn sure_paths<'a>(&'a self, see: &mut dyn FnMut(&'a Path)) {
        let mut asked = Vec::new();
        self.asked(&mut asked);
        let asked = Places::of(asked);
        self.needed(&mut |path| {
            if !asked.surround(path) {
                see(path);
            }
        });
    }

    fn asked<'a>(&'a self, asked: &mut Vec<&'a Path>) {
        if let Self::Exists(path) = self {
            asked.push(path);
        }
        self.items().for_each(|item| item.asked(asked));
    }

    fn needed<'a>(&'a self, see: &mut dyn FnMut(&'a Path)) {
        match self {
            Self::Path(path) => see(path),
            // The first of them decides whether the others are needed.
            Self::All(items) | Self::Any(items) => {
                items.iter().take(1).for_each(|item| item.needed(see));
            }
            other => other.items().for_each(|item| item.needed(see)),
        }
    }

    /// The expressions inside.
    fn items(&self) -> Box<dyn Iterator<Item = &Self> + '_> {
        match self {
            Self::Path(_) | Self::Exists(_) | Self::Literal(_) => Box::new(std::iter::empty()),
            Self::Object(entries) => Box::new(entries.iter().map(|(_, item)| item)),
            Self::Array(items) | Self::All(items) | Self::Any(items) => Box::new(items.iter()),
            Self::Compare(_, pair) | Self::Compute(_, pair) | Self::In(pair) => {
                Box::new(pair.iter())
            }
            Self::Not(item) | Self::Length(item) => Box::new(std::iter::once(item.as_ref())),
        }
    }

    /// How many expressions it is made of, itself among them.
    pub(super) fn parts(&self) -> usize {
        1 + self.items().map(Self::parts).sum::<usize>()
    }

    /// Shows each path that the expression reads.
    pub(super) fn paths<'a>(&'a self, see: &mut dyn FnMut(&'a Path)) {
        if let Self::Path(path) | Self::Exists(path) = self {
            see(path);
        }
        self.items().for_each(|item| item.paths(see));
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
            check(json!({ "$mod": wrong }), ExpressionError::NotAPair("$mod"));
            check(json!({ "$in": wrong }), ExpressionError::NotAPair("$in"));
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
