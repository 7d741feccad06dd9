//! What a plain export returned, as an outcome (SPEC T7).
//!
//! A top-level `result` decides success; everything else that returns is a success. A number that JSON
//! can't carry is the plugin's fault, never null or 0 (CASES OU12).

use serde_json::{Map, Number, Value, json};
use tidegate_contract::{Failure, ToolOutcome};
use wasmtime::component::Val;

use super::schema::RESULT;
use crate::convert::Broken;

/// The code of a function that returned its error case.
const ERROR: &str = "TOOL_ERROR";

/// The outcome of a call that returned.
///
/// # Errors
///
/// [`Broken::Contract`] when a value has no JSON.
pub(crate) fn outcome(returned: Option<&Val>) -> Result<ToolOutcome, Broken> {
    match returned {
        Some(Val::Result(Ok(value))) => success(value.as_deref()),
        Some(Val::Result(Err(value))) => failed(value.as_deref()),
        other => success(other),
    }
}

/// Text is read as it is; anything else is data.
fn success(value: Option<&Val>) -> Result<ToolOutcome, Broken> {
    if let Some(Val::String(text)) = value {
        return Ok(ToolOutcome::text(text.as_str()));
    }
    Ok(ToolOutcome::data(json!({ RESULT: payload(value)? })))
}

/// The error case in its own words where they are fit for the public; the whole of it as data.
fn failed(value: Option<&Val>) -> Result<ToolOutcome, Broken> {
    let own = match value {
        Some(Val::String(text) | Val::Enum(text) | Val::Variant(text, _)) => {
            Failure::new(ERROR, text).ok()
        }
        _ => None,
    };
    let failure = match own {
        Some(failure) => failure,
        None => Failure::new(ERROR, "the tool returned its error case")
            .map_err(|error| Broken::Contract(error.to_string()))?,
    };
    let told = failure.message();
    let is_told = matches!(value, None | Some(Val::Enum(_)))
        || matches!(value, Some(Val::String(text)) if text == told);
    let mut outcome = ToolOutcome::failed(failure);
    if !is_told && !matches!(value, Some(Val::String(_))) {
        // A text that is not fit for the public is not passed on by another way.
        outcome.structured_content = Some(json!({ "error": payload(value)? }));
    }
    Ok(outcome)
}

fn payload(value: Option<&Val>) -> Result<Value, Broken> {
    value.map_or(Ok(Value::Null), json)
}

/// One value as JSON.
fn json(value: &Val) -> Result<Value, Broken> {
    Ok(match value {
        Val::Bool(value) => Value::Bool(*value),
        Val::S8(value) => (*value).into(),
        Val::U8(value) => (*value).into(),
        Val::S16(value) => (*value).into(),
        Val::U16(value) => (*value).into(),
        Val::S32(value) => (*value).into(),
        Val::U32(value) => (*value).into(),
        Val::S64(value) => (*value).into(),
        Val::U64(value) => (*value).into(),
        // The shortest text that means the same 32 bits, not the longer one of 64.
        Val::Float32(value) => number(value.to_string().parse::<f64>().ok())?,
        Val::Float64(value) => number(Some(*value))?,
        Val::Char(value) => Value::String(value.to_string()),
        Val::String(value) | Val::Enum(value) => Value::String(value.clone()),
        Val::List(items) | Val::Tuple(items) => items.iter().map(json).collect::<Result<_, _>>()?,
        Val::Record(fields) => {
            let entry = |(name, value): &(String, Val)| Ok((name.clone(), json(value)?));
            Value::Object(
                fields
                    .iter()
                    .map(entry)
                    .collect::<Result<Map<_, _>, Broken>>()?,
            )
        }
        Val::Variant(name, None) => json!({ "tag": name }),
        Val::Variant(name, Some(value)) => json!({ "tag": name, "val": json(value)? }),
        Val::Option(None) => Value::Null,
        Val::Option(Some(value)) if matches!(**value, Val::Option(_)) => {
            json!({ "some": json(value)? })
        }
        Val::Option(Some(value)) => json(value)?,
        Val::Result(Ok(value)) => json!({ "ok": payload(value.as_deref())? }),
        Val::Result(Err(value)) => json!({ "err": payload(value.as_deref())? }),
        Val::Flags(names) => names.iter().cloned().map(Value::String).collect(),
        _ => return Err(Broken::Contract("the result has no JSON value".to_owned())),
    })
}

fn number(value: Option<f64>) -> Result<Value, Broken> {
    let number = value.and_then(Number::from_f64).map(Value::Number);
    let not_json = "the result holds a number that JSON can't carry (NaN or an infinity)";
    number.ok_or_else(|| Broken::Contract(not_json.to_owned()))
}
