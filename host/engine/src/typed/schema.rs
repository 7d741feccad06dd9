//! The JSON Schema (2020-12) of a component's types (SPEC T7).
//!
//! What a schema permits is what [`arguments`](super::arguments) reads and what
//! [`results`](super::results) writes. Deliberately absent: resources, futures and streams, which no
//! JSON value stands for.

use serde_json::{Value, json};
use tidegate_contract::JsonObject;
use wasmtime::component::Type;

/// The key of the value that a structured result holds: a schema of results has to be an object's.
pub(crate) const RESULT: &str = "result";

/// The schema of an object with one property for each parameter, in their order. A parameter that is
/// an option may be left out.
///
/// `None` when a parameter has a type that no JSON value stands for.
pub(crate) fn of_parameters<'a>(
    parameters: impl Iterator<Item = (&'a str, &'a Type)>,
) -> Option<JsonObject> {
    match object(parameters)? {
        Value::Object(schema) => Some(schema),
        _ => None,
    }
}

/// The schema of a structured result that holds a value of this type; null where there is no type.
pub(crate) fn of_result(of: Option<&Type>) -> Option<JsonObject> {
    let schema = of_payload(of)?;
    match json!({
        "type": "object",
        "properties": { RESULT: schema },
        "required": [RESULT],
        "additionalProperties": false,
    }) {
        Value::Object(schema) => Some(schema),
        _ => None,
    }
}

/// The schema of one type; `None` where no JSON value stands for it.
pub(crate) fn of(of: &Type) -> Option<Value> {
    Some(match of {
        Type::Bool => json!({"type": "boolean"}),
        Type::S8 => integer(i8::MIN, i8::MAX),
        Type::U8 => integer(u8::MIN, u8::MAX),
        Type::S16 => integer(i16::MIN, i16::MAX),
        Type::U16 => integer(u16::MIN, u16::MAX),
        Type::S32 => integer(i32::MIN, i32::MAX),
        Type::U32 => integer(u32::MIN, u32::MAX),
        Type::S64 => integer(i64::MIN, i64::MAX),
        Type::U64 => integer(u64::MIN, u64::MAX),
        Type::Float32 | Type::Float64 => json!({"type": "number"}),
        Type::Char => json!({"type": "string", "minLength": 1, "maxLength": 1}),
        Type::String => json!({"type": "string"}),
        Type::List(list) => json!({"type": "array", "items": self::of(&list.ty())?}),
        Type::Tuple(tuple) => {
            let items: Vec<Value> = tuple
                .types()
                .map(|item| self::of(&item))
                .collect::<Option<_>>()?;
            let length = items.len();
            json!({
                "type": "array", "prefixItems": items, "items": false,
                "minItems": length, "maxItems": length,
            })
        }
        Type::Record(record) => {
            let fields: Vec<(String, Type)> = record
                .fields()
                .map(|field| (field.name.to_owned(), field.ty))
                .collect();
            object(fields.iter().map(|(name, of)| (name.as_str(), of)))?
        }
        Type::Enum(names) => json!({"enum": names.names().collect::<Vec<_>>()}),
        Type::Flags(names) => json!({
            "type": "array", "uniqueItems": true,
            "items": {"enum": names.names().collect::<Vec<_>>()},
        }),
        Type::Variant(variant) => {
            let cases: Vec<Value> = variant
                .cases()
                .map(|case| tagged("tag", case.name, case.ty.as_ref()))
                .collect::<Option<_>>()?;
            json!({ "oneOf": cases })
        }
        Type::Option(option) => {
            let some = option.ty();
            let schema = self::of(&some)?;
            if is_option(&some) {
                json!({"oneOf": [{"type": "null"}, only("some", &schema)]})
            } else {
                json!({"anyOf": [schema, {"type": "null"}]})
            }
        }
        Type::Result(result) => {
            let ok = of_payload(result.ok().as_ref())?;
            let err = of_payload(result.err().as_ref())?;
            json!({"oneOf": [only("ok", &ok), only("err", &err)]})
        }
        _ => return None,
    })
}

/// Whether a type unfolds to no more types than are left, all of them with JSON values.
pub(crate) fn fits(of: &Type, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else {
        return false;
    };
    *left = rest;
    let mut all = |types: &mut dyn Iterator<Item = Type>| {
        let mut types = types;
        Iterator::all(&mut types, |of| fits(&of, left))
    };
    match of {
        Type::List(list) => all(&mut std::iter::once(list.ty())),
        Type::Option(option) => all(&mut std::iter::once(option.ty())),
        Type::Tuple(tuple) => all(&mut tuple.types()),
        Type::Record(record) => all(&mut record.fields().map(|field| field.ty)),
        Type::Variant(variant) => all(&mut variant.cases().filter_map(|case| case.ty)),
        Type::Result(result) => all(&mut result.ok().into_iter().chain(result.err())),
        // A type that is only its names; each takes room in the schema.
        Type::Enum(names) => names.names().len() <= *left,
        Type::Flags(names) => names.names().len() <= *left,
        Type::Own(_) | Type::Borrow(_) | Type::Future(_) | Type::Stream(_) => false,
        _ => true,
    }
}

/// Whether a value of this type may be null itself, so that an option around it needs a wrapper.
pub(crate) fn is_option(of: &Type) -> bool {
    matches!(of, Type::Option(_))
}

fn integer(
    minimum: impl Into<serde_json::Number>,
    maximum: impl Into<serde_json::Number>,
) -> Value {
    let (minimum, maximum) = (minimum.into(), maximum.into());
    json!({"type": "integer", "minimum": minimum, "maximum": maximum})
}

/// A payload that may be absent: null then.
fn of_payload(payload: Option<&Type>) -> Option<Value> {
    match payload {
        None => Some(json!({"type": "null"})),
        Some(payload) => of(payload),
    }
}

fn only(key: &str, schema: &Value) -> Value {
    json!({
        "type": "object", "properties": { key: schema }, "required": [key],
        "additionalProperties": false,
    })
}

/// `{tag: NAME}` or `{tag: NAME, val: …}`.
fn tagged(tag: &str, name: &str, payload: Option<&Type>) -> Option<Value> {
    Some(match payload {
        None => only(tag, &json!({ "const": name })),
        Some(payload) => json!({
            "type": "object",
            "properties": { tag: { "const": name }, "val": of(payload)? },
            "required": [tag, "val"],
            "additionalProperties": false,
        }),
    })
}

fn object<'a>(fields: impl Iterator<Item = (&'a str, &'a Type)>) -> Option<Value> {
    let mut properties = JsonObject::new();
    let mut required = Vec::new();
    for (name, field) in fields {
        properties.insert(name.to_owned(), of(field)?);
        if !is_option(field) {
            required.push(name.to_owned());
        }
    }
    Some(json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    }))
}
