//! Header fields of `wasi:http` in unusual amounts.

use serde_json::json;
use wasip2::http::types::{Fields, HeaderError};

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::types::Outcome;
use crate::outcome;

/// Makes fields of many pairs in one host call.
pub(crate) fn from_list(arguments: &Arguments) -> Outcome {
    let pairs: Vec<(String, Vec<u8>)> = (0..arguments.number("count", 1))
        .map(|number| (name(number), b"a".to_vec()))
        .collect();
    match Fields::from_list(&pairs) {
        Ok(_fields) => outcome::reported("ok"),
        Err(error) => outcome::reported(error_name(error)),
    }
}

/// Makes empty fields and keeps the handle of each.
pub(crate) fn keep(arguments: &Arguments) -> Outcome {
    let kept: Vec<Fields> = (0..arguments.number("count", 1))
        .map(|_number| Fields::new())
        .collect();
    outcome::detailed("ok", &json!({ "ok": kept.len() }))
}

/// Appends to the same fields until the host refuses.
pub(crate) fn grow(arguments: &Arguments) -> Outcome {
    let fields = Fields::new();
    let value = vec![b'a'; arguments.size("bytes", 1)];
    for number in 0..arguments.number("count", 1) {
        if let Err(error) = fields.append(&name(number), &value) {
            let error = error_name(error);
            return outcome::detailed(error, &json!({ "ok": number, "error": error }));
        }
    }
    let count = arguments.number("count", 1);
    outcome::detailed("ok", &json!({ "ok": count, "error": null }))
}

/// The name of an error in the WIT of `wasi:http`.
pub(crate) fn error_name(error: HeaderError) -> &'static str {
    match error {
        HeaderError::InvalidSyntax => "invalid-syntax",
        HeaderError::Forbidden => "forbidden",
        HeaderError::Immutable => "immutable",
    }
}

fn name(number: u64) -> String {
    format!("x-{number:05}")
}
