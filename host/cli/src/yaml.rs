//! Reading YAML files strictly: duplicate keys, unknown keys, wrong types and numbers that could not
//! be kept exactly are errors with file, line and column.

use std::fmt;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use tidegate_contract::Value;
use tidegate_contract::nearest::nearest;
use tidegate_sandbox::ambient;

/// Largest config or flow file.
pub(crate) const FILE_BYTES: u64 = 1024 * 1024;

/// Most nodes in one file; anchors can't multiply past it.
const NODES: usize = 20_000;

/// From here on a float stands for many whole numbers: 2^63.
const INEXACT: f64 = 9_223_372_036_854_775_808.0;

/// Reads one document.
///
/// # Errors
///
/// The file, the place and what is wrong there.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let bytes = ambient::read_file(path, FILE_BYTES)?;
    parse_bytes(bytes, &path.display().to_string())
}

/// Reads one document from the bytes of a file; `name` stands for the file in errors.
pub(crate) fn parse_bytes<T: DeserializeOwned>(bytes: Vec<u8>, name: &str) -> anyhow::Result<T> {
    let text = String::from_utf8(bytes).with_context(|| format!("{name} is not UTF-8"))?;
    parse(&text, name)
}

/// Reads one document from text; `name` stands for the file in errors.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, name: &str) -> anyhow::Result<T> {
    typed::<Exact>(text)
        .and_then(|Exact| typed(text))
        .map_err(|error| {
            let place = error.location().map_or_else(String::new, |location| {
                format!(":{}:{}", location.line(), location.column())
            });
            anyhow!("{name}{place}: {}", reason(error.without_snippet()))
        })
}

/// Reads a value by the rules of a file, of which JSON is a part.
///
/// # Errors
///
/// What is wrong, without a place.
pub(crate) fn from_value<T: DeserializeOwned>(value: &Value) -> anyhow::Result<T> {
    typed(&value.to_string()).map_err(|error| anyhow!(reason(error.without_snippet())))
}

fn typed<T: DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    let budget = serde_saphyr::budget! {
        max_nodes: NODES,
        max_events: NODES * 4,
        max_aliases: 100,
        max_anchors: 100,
    };
    let options = serde_saphyr::options! {
        budget: budget,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
    };
    serde_saphyr::from_str_with_options(text, options)
}

/// The library's words without the place, which stands in front, and without its own options.
fn reason(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error;

    match error {
        Error::DuplicateMappingKey { key, .. } => {
            let key = key.as_deref().unwrap_or("?");
            return format!("the key `{key}` stands twice in one mapping");
        }
        Error::SerdeUnknownField {
            field, expected, ..
        } => return unknown(field, expected),
        Error::SerdeUnknownVariant {
            variant, expected, ..
        } => return unknown(variant, expected),
        Error::SerdeMissingField { field, .. } => return format!("the key `{field}` is missing"),
        Error::InvalidScalar { ty, .. } if matches!(*ty, "u64" | "u32" | "usize") => {
            return "expected a whole number, not negative and below 2^64".to_owned();
        }
        Error::InvalidBooleanStrict { .. } => return "expected true or false".to_owned(),
        _ => {}
    }
    let words = error.to_string();
    let place = words.rfind(" at line ").filter(|&at| {
        words.get(at..).is_some_and(|place| {
            place
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || " ,".contains(c))
        })
    });
    place
        .and_then(|at| words.get(..at))
        .unwrap_or(&words)
        .to_owned()
}

/// An unknown key with the right one, or with all there are.
pub(crate) fn unknown(key: &str, known: &[&str]) -> String {
    match nearest(key, known) {
        Some(near) => format!("unknown key `{key}`; did you mean `{near}`?"),
        None => format!("unknown key `{key}`; there are {}", known.join(", ")),
    }
}

/// A document whose numbers were all kept as they are written.
struct Exact;

impl<'de> Deserialize<'de> for Exact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Numbers)
    }
}

/// Walks a document and refuses a number that was rounded to be read.
struct Numbers;

impl<'de> Visitor<'de> for Numbers {
    type Value = Exact;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a YAML value")
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Exact, E> {
        if number.is_finite() && number.abs() < INEXACT {
            Ok(Exact)
        } else {
            Err(E::custom(
                "the number is too large to be kept exactly; put it in quotes to keep it as text",
            ))
        }
    }

    fn visit_bool<E>(self, _value: bool) -> Result<Exact, E> {
        Ok(Exact)
    }

    fn visit_i64<E>(self, _number: i64) -> Result<Exact, E> {
        Ok(Exact)
    }

    fn visit_u64<E>(self, _number: u64) -> Result<Exact, E> {
        Ok(Exact)
    }

    fn visit_str<E>(self, _text: &str) -> Result<Exact, E> {
        Ok(Exact)
    }

    fn visit_unit<E>(self) -> Result<Exact, E> {
        Ok(Exact)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Exact, A::Error> {
        while let Some(Exact) = items.next_element()? {}
        Ok(Exact)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Exact, A::Error> {
        while let Some(IgnoredAny) = entries.next_key()? {
            let Exact = entries.next_value()?;
        }
        Ok(Exact)
    }
}

#[cfg(test)]
mod tests {
    use tidegate_contract::Value;

    use super::parse;

    #[test]
    fn c1_numbers_are_exact_or_refused_with_their_place() {
        for kept in ["18446744073709551615", "-9223372036854775808", "0", "1.5"] {
            let value: Value = parse(&format!("a: [{kept}]"), "f").unwrap();
            assert_eq!(value.to_string(), format!("{{\"a\":[{kept}]}}"));
        }
        for refused in ["18446744073709551616", "-9223372036854775809", "1e300"] {
            let error = parse::<Value>(&format!("a:\n  b: [{refused}]"), "f").unwrap_err();
            let text = error.to_string();
            assert!(
                text.starts_with("f:2:") && text.contains("exactly"),
                "{text}"
            );
        }
        let text: Value = parse("a: 0123\nb: no", "f").unwrap();
        assert_eq!(text.to_string(), r#"{"a":"0123","b":"no"}"#);
    }
}
