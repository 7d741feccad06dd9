//! Comparing values: exactly, and only what can be compared.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `$eq`: the same value. 1 and 1.0 are; the order of an object's keys says nothing.
    Equal,
    /// `$ne`: not the same value.
    NotEqual,
    /// `$lt`: smaller.
    Less,
    /// `$lte`: smaller or the same.
    AtMost,
    /// `$gt`: larger.
    More,
    /// `$gte`: larger or the same.
    AtLeast,
}

impl Comparison {
    /// All of them.
    pub(super) const ALL: [Self; 6] = [
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::AtMost,
        Self::More,
        Self::AtLeast,
    ];

    /// The operator.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "$eq",
            Self::NotEqual => "$ne",
            Self::Less => "$lt",
            Self::AtMost => "$lte",
            Self::More => "$gt",
            Self::AtLeast => "$gte",
        }
    }

    /// Whether it holds. `None` when one of the values has no order: only two numbers have one, and
    /// two texts, by their code points.
    pub(super) fn holds(self, left: &Value, right: &Value) -> Option<bool> {
        let order = || match (left, right) {
            (Value::Number(left), Value::Number(right)) => order(left, right),
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            _ => None,
        };
        match self {
            Self::Equal => Some(equal(left, right)),
            Self::NotEqual => Some(!equal(left, right)),
            Self::Less => order().map(Ordering::is_lt),
            Self::AtMost => order().map(Ordering::is_le),
            Self::More => order().map(Ordering::is_gt),
            Self::AtLeast => order().map(Ordering::is_ge),
        }
    }
}

fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => order(left, right) == Some(Ordering::Equal),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(a, b)| equal(a, b))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, a)| right.get(key).is_some_and(|b| equal(a, b)))
        }
        (left, right) => left == right,
    }
}

/// Exact also where an integer has more digits than a float keeps.
fn order(left: &Number, right: &Number) -> Option<Ordering> {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        (Some(left), None) => with_float(left, right.as_f64()?),
        (None, Some(right)) => with_float(right, left.as_f64()?).map(Ordering::reverse),
        (None, None) => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

/// Compares an integer with a float through the float's whole part, which is written out in digits:
/// that is exact.
fn with_float(integer: i128, float: f64) -> Option<Ordering> {
    /// Far above any integer of JSON, far below what `i128` holds.
    const LARGE: f64 = 1e30;
    if float.abs() > LARGE {
        return 0.0.partial_cmp(&float);
    }
    let whole: i128 = format!("{:.0}", float.floor()).parse().ok()?;
    let fraction = if float > float.floor() {
        Ordering::Less
    } else {
        Ordering::Equal
    };
    Some(integer.cmp(&whole).then(fraction))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn i11_numbers_are_compared_exactly() {
        let check = |left: Value, right: Value, order: Ordering| {
            for (comparison, expected) in [
                (Comparison::Equal, order.is_eq()),
                (Comparison::NotEqual, order.is_ne()),
                (Comparison::Less, order.is_lt()),
                (Comparison::AtMost, order.is_le()),
                (Comparison::More, order.is_gt()),
                (Comparison::AtLeast, order.is_ge()),
            ] {
                let holds = comparison.holds(&left, &right);
                assert_eq!(holds, Some(expected), "{left} {comparison:?} {right}");
            }
        };
        check(json!(1), json!(1.0), Ordering::Equal);
        check(json!(1), json!(1.5), Ordering::Less);
        check(json!(-1), json!(-1.5), Ordering::Greater);
        check(json!(-1.5), json!(-1), Ordering::Less);
        check(json!(0), json!(-0.0), Ordering::Equal);
        check(json!(0.1), json!(0.2), Ordering::Less);
        check(json!(u64::MAX), json!(-1), Ordering::Greater);
        // Rounded to a float, these two would be the same.
        check(
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_992.0),
            Ordering::Greater,
        );
        check(json!(u64::MAX), json!(1e300), Ordering::Less);
        check(json!(i64::MIN), json!(-1e300), Ordering::Greater);
        check(json!("a"), json!("b"), Ordering::Less);
        check(json!("Z"), json!("a"), Ordering::Less);
        check(json!("é"), json!("é"), Ordering::Equal);
    }

    #[test]
    fn i11_any_values_are_equal_or_not_and_few_have_an_order() {
        let check = |left: Value, right: Value, same: bool| {
            assert_eq!(
                Comparison::Equal.holds(&left, &right),
                Some(same),
                "{left} {right}"
            );
            assert_eq!(Comparison::NotEqual.holds(&left, &right), Some(!same));
            assert_eq!(
                Comparison::Less.holds(&left, &right),
                None,
                "{left} {right}"
            );
        };
        check(json!(null), json!(null), true);
        check(json!(null), json!(false), false);
        check(json!(0), json!(false), false);
        check(json!(1), json!("1"), false);
        check(json!(true), json!(true), true);
        check(json!([1, [2]]), json!([1.0, [2]]), true);
        check(json!([1]), json!([1, 2]), false);
        check(json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1.0}), true);
        check(json!({"a": 1}), json!({"a": 1, "b": null}), false);
        check(json!({"a": null}), json!({"b": null}), false);
    }
}
