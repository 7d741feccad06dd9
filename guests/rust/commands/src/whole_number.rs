//! Whole numbers within a range, in arguments and in settings.

use std::ops::RangeInclusive;

use serde_json::Value;

/// Reads a whole number. `20.0` is one too, since JSON Schema takes it for an integer.
///
/// # Errors
/// What it must be.
pub(crate) fn read(value: &Value, range: &RangeInclusive<u32>) -> Result<u32, String> {
    let number = match value {
        Value::Number(number) => {
            let text = number.to_string();
            text.strip_suffix(".0").unwrap_or(&text).parse().ok()
        }
        _ => None,
    };
    number
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            let (start, end) = (range.start(), range.end());
            format!("must be a whole number from {start} to {end}")
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_is_whole_and_within_its_range() {
        let range = 1..=1_000;
        for (good, number) in [
            (json!(1), 1),
            (json!(20), 20),
            (json!(20.0), 20),
            (json!(1_000), 1_000),
        ] {
            assert_eq!(read(&good, &range), Ok(number));
        }
        let refusal = Err("must be a whole number from 1 to 1000".to_owned());
        for bad in [
            json!(0),
            json!(1_001),
            json!(-1),
            json!(1.5),
            json!(-0.0),
            json!(1e300),
            json!(u64::MAX),
            json!("20"),
            json!(true),
            json!(null),
            json!([1]),
        ] {
            assert_eq!(read(&bad, &range), refusal, "{bad}");
        }
    }
}
