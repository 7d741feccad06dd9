//! Numbers within their bounds.

use tidegate_contract::{JsonObject, Value};

use super::Size;
use crate::check::random::Random;

/// How far from its one bound a number goes.
const REACH: i64 = 1_000;

pub(super) fn integer(schema: &JsonObject, size: Size, random: &mut Random) -> Value {
    let lower = whole(schema, "minimum")
        .max(whole(schema, "exclusiveMinimum").map(|n| n.saturating_add(1)));
    let upper = [
        whole(schema, "maximum"),
        whole(schema, "exclusiveMaximum").map(|n| n.saturating_sub(1)),
    ];
    let upper = upper.into_iter().flatten().min();
    let (lower, upper) = match (lower, upper) {
        (Some(lower), Some(upper)) => (lower, upper),
        (Some(lower), None) => (lower, lower.saturating_add(REACH)),
        (None, Some(upper)) => (upper.saturating_sub(REACH), upper),
        (None, None) => (-REACH, REACH),
    };
    let span = usize::try_from(upper.saturating_sub(lower)).unwrap_or(0);
    let chosen = match size {
        Size::Least => lower,
        Size::Most => upper,
        Size::Any => {
            let step = i64::try_from(random.below(span.saturating_add(1))).unwrap_or(0);
            lower.saturating_add(step)
        }
    };
    let Some(step) = whole(schema, "multipleOf").filter(|step| *step > 0) else {
        return Value::from(chosen);
    };
    // Up to the next multiple, and down from there where that is too far.
    let up = chosen.saturating_add((step - chosen.rem_euclid(step)) % step);
    Value::from(if up > upper {
        up.saturating_sub(step)
    } else {
        up
    })
}

pub(super) fn number(schema: &JsonObject, size: Size, random: &mut Random) -> Value {
    let bound = |keys: [&str; 2]| {
        let bounds = keys.map(|key| schema.get(key).and_then(Value::as_f64));
        bounds.into_iter().flatten().next()
    };
    let lower = bound(["minimum", "exclusiveMinimum"]);
    let upper = bound(["maximum", "exclusiveMaximum"]);
    let (lower, upper) = match (lower, upper) {
        (Some(lower), Some(upper)) => (lower, upper),
        (Some(lower), None) => (lower, lower + 1_000.0),
        (None, Some(upper)) => (upper - 1_000.0, upper),
        (None, None) => (-1_000.0, 1_000.0),
    };
    // A share of 1,000, so that bounds that are excluded are mostly missed.
    let share = match size {
        Size::Least if !schema.contains_key("exclusiveMinimum") => 0_u16,
        Size::Least => 1,
        Size::Most if !schema.contains_key("exclusiveMaximum") => 1_000,
        Size::Most => 999,
        Size::Any => u16::try_from(random.below(1_001)).unwrap_or(0),
    };
    let share = f64::from(share) / 1_000.0;
    // Their difference may be no number.
    let chosen = lower * (1.0 - share) + upper * share;
    match whole(schema, "multipleOf") {
        Some(_) => integer(schema, size, random),
        None => Value::from(chosen),
    }
}

/// A bound as a whole number, rounded into the range that it leaves.
fn whole(schema: &JsonObject, key: &str) -> Option<i64> {
    let bound = schema.get(key)?;
    if let Some(number) = bound.as_i64() {
        return Some(number);
    }
    if bound.is_u64() {
        return Some(i64::MAX);
    }
    let number = bound.as_f64()?;
    let rounded = if key.ends_with("inimum") {
        number.ceil()
    } else {
        number.floor()
    };
    format!("{rounded:.0}").parse().ok()
}
