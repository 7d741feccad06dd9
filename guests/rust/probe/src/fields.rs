//! Header fields of `wasi:http` in unusual amounts.

use serde_json::json;
use wasip2::http::types::{Fields, HeaderError, OutgoingRequest};

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

/// Copies fields of so many bytes again and again, and changes each copy, so that none is shared.
pub(crate) fn copy(arguments: &Arguments) -> Outcome {
    let fields = Fields::new();
    let value = vec![b'a'; arguments.size("bytes", 1)];
    if let Err(error) = fields.append(&name(0), &value) {
        return outcome::reported(error_name(error));
    }
    let copies: Vec<Fields> = (0..arguments.number("count", 1))
        .map(|number| {
            let copy = fields.clone();
            match copy.append(&name(number + 1), b"a") {
                Ok(()) | Err(_) => copy,
            }
        })
        .collect();
    outcome::detailed("ok", &json!({ "ok": copies.len() }))
}

/// Makes requests whose bodies are written as far as the host takes it, and sends none.
pub(crate) fn bodies(arguments: &Arguments) -> Outcome {
    let kept: Vec<OutgoingRequest> = (0..arguments.number("count", 1))
        .map(|_number| {
            let request = OutgoingRequest::new(Fields::new());
            if let Ok(body) = request.body()
                && let Ok(stream) = body.write()
            {
                // Until it has no more room, or says that it has an end.
                while let Ok(room @ 1..) = stream.check_write() {
                    let piece = vec![b'b'; usize::try_from(room).unwrap_or_default()];
                    if stream.write(&piece).is_err() {
                        break;
                    }
                }
            }
            request
        })
        .collect();
    outcome::detailed("ok", &json!({ "ok": kept.len() }))
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
