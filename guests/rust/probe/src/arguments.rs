//! The arguments of a call, read leniently: what is absent or of another type is a default, since
//! it is the host that is tested here.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

/// The object of arguments and its text.
pub(crate) struct Arguments {
    text: String,
    value: Value,
}

impl Arguments {
    pub(crate) fn parse(text: String) -> Result<Self, serde_json::Error> {
        let value = serde_json::from_str(&text)?;
        Ok(Self { text, value })
    }

    /// The string under `key`, or `default`.
    pub(crate) fn text<'a>(&'a self, key: &str, default: &'a str) -> &'a str {
        self.value
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or(default)
    }

    /// The string under `key`, if there is one.
    pub(crate) fn optional_text(&self, key: &str) -> Option<&str> {
        self.value.get(key).and_then(Value::as_str)
    }

    /// The number under `key`, or `default`.
    pub(crate) fn number(&self, key: &str, default: u64) -> u64 {
        self.optional_number(key).unwrap_or(default)
    }

    /// The number under `key`, if there is one.
    pub(crate) fn optional_number(&self, key: &str) -> Option<u64> {
        self.value.get(key).and_then(Value::as_u64)
    }

    /// A count of bytes in memory under `key`, or `default`.
    pub(crate) fn size(&self, key: &str, default: usize) -> usize {
        self.optional_number(key)
            .and_then(|size| usize::try_from(size).ok())
            .unwrap_or(default)
    }

    /// Whether `key` is `true`.
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.value
            .get(key)
            .and_then(Value::as_bool)
            .unwrap_or(false)
    }

    /// The strings in the list under `key`.
    pub(crate) fn list(&self, key: &str) -> Vec<&str> {
        let items = self.value.get(key).and_then(Value::as_array);
        items
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect()
    }

    /// The pairs of strings in the list under `key`.
    pub(crate) fn pairs(&self, key: &str) -> Vec<(&str, &str)> {
        let items = self.value.get(key).and_then(Value::as_array);
        items
            .into_iter()
            .flatten()
            .filter_map(|item| Some((item.get(0)?.as_str()?, item.get(1)?.as_str()?)))
            .collect()
    }

    /// The value under `key` exactly as it was written.
    pub(crate) fn raw(&self, key: &str) -> Option<String> {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(&self.text).ok()?;
        members.get(key).map(|value| value.get().to_owned())
    }
}
