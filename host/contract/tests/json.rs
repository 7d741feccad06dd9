//! JSON is read strictly and within bounds, and deep values never overflow a stack
//! (SPEC C1, C8; CASES IO10, OU07, OU12; GAP 15).

#![expect(clippy::expect_used, reason = "a helper of tests says what it expects")]

use proptest::prelude::*;
use serde_json::json;
use tidegate_contract::json::{self, MAX_DEPTH};
use tidegate_contract::{
    Content, Delivery, Document, ExternalResult, JsonBounds, JsonError, JsonObject, Message,
    ToolCall, ToolOutcome, Value,
};

fn read(text: &str) -> Result<Value, JsonError> {
    json::parse(text, &JsonBounds::default())
}

/// Arrays inside arrays, as text.
fn nested_text(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

/// Arrays and objects inside each other, built by code.
fn nested_value(depth: usize) -> Value {
    let mut value = Value::Null;
    for level in 0..depth {
        value = match level % 2 {
            0 => Value::Array(vec![value]),
            _ => Value::Object(JsonObject::from_iter([("a".to_owned(), value)])),
        };
    }
    value
}

#[test]
fn io10_a_text_may_be_128_deep_and_no_deeper() {
    for depth in [0, 1, 127, 128] {
        let text = format!("{}0{}", "[".repeat(depth), "]".repeat(depth));
        let value = read(&text).expect("within the bound");
        assert_eq!(value.to_string(), text);
        assert_eq!(format!("{:?}", value.clone()), format!("{value:?}"));
    }
    let too_deep = Err(JsonError::TooDeep { limit: 128 });
    for depth in [129, 1000, 100_000] {
        assert_eq!(read(&nested_text(depth)), too_deep);
        assert_eq!(read(&"[".repeat(depth)), too_deep);
        assert_eq!(read(&"{\"a\":".repeat(depth)), too_deep);
        assert_eq!(read(&"[{\"a\":".repeat(depth)), too_deep);
    }
}

#[test]
fn io10_brackets_in_strings_and_beside_each_other_are_no_depth() {
    let text = format!("[\"{}\", \"\\\"{}\"]", "[".repeat(1000), "{".repeat(1000));
    assert!(read(&text).is_ok());
    let text = format!("[{}[]]", "[],".repeat(1000));
    assert!(read(&text).is_ok());
}

#[test]
fn io10_a_bound_above_the_hard_one_is_lowered() {
    let bounds = JsonBounds {
        bytes: usize::MAX,
        depth: usize::MAX,
    };
    let parse = |depth| json::parse(&nested_text(depth), &bounds).map(|_value| ());
    assert_eq!(parse(MAX_DEPTH), Ok(()));
    assert_eq!(
        parse(MAX_DEPTH + 1),
        Err(JsonError::TooDeep { limit: MAX_DEPTH })
    );
    assert_eq!(parse(100_000), Err(JsonError::TooDeep { limit: MAX_DEPTH }));
}

#[test]
fn io10_the_deepest_value_fits_a_small_stack() {
    // What a thread has by default.
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    let body = || {
        let bounds = JsonBounds {
            bytes: usize::MAX,
            depth: MAX_DEPTH,
        };
        let text = format!("{}{}", "{\"a\":[".repeat(256), "]}".repeat(256));
        let value = json::parse(&text, &bounds).expect("within the bound");
        let copy = value.clone();
        assert_eq!(copy, value);
        assert!(!format!("{value:?}").is_empty());
        assert_eq!(value.to_string().len(), text.len());
    };
    thread
        .spawn(body)
        .expect("a thread")
        .join()
        .expect("no overflow");
}

#[test]
fn io10_a_value_built_by_code_is_checked_and_taken_apart_without_recursion() {
    let bounds = JsonBounds::default();
    for (depth, expected) in [
        (127, Ok(())),
        (128, Ok(())),
        (129, Err(JsonError::TooDeep { limit: 128 })),
        (100_000, Err(JsonError::TooDeep { limit: 128 })),
    ] {
        let value = nested_value(depth);
        assert_eq!(json::check(&value, &bounds), expected, "{depth}");
        json::discard(value);
        let document = Document::from_value(nested_value(depth), &bounds);
        assert_eq!(document.map(|_document| ()), expected, "{depth}");
    }
}

#[test]
fn io10_deep_values_are_refused_wherever_one_is_decoded() {
    let bounds = JsonBounds::default();
    let object = |entries: Vec<(&str, Value)>| {
        let entries = entries
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value));
        Value::Object(entries.collect())
    };
    let deep = || nested_value(100_000);
    let message = || object(vec![("role", json!("user")), ("content", deep())]);
    let call = object(vec![
        ("id", json!("1")),
        ("name", json!("a")),
        ("arguments", deep()),
    ]);
    assert!(ToolCall::from_value(call, &bounds).is_err());
    assert!(ToolCall::from_value(deep(), &bounds).is_err());
    assert!(Message::from_value(message()).is_err());
    let delivery = object(vec![("deliveryId", json!("1")), ("message", message())]);
    assert!(Delivery::from_value(delivery).is_err());
    let result = object(vec![
        ("callId", json!("1")),
        ("source", json!("a")),
        ("status", json!("success")),
        ("content", deep()),
    ]);
    assert!(ExternalResult::from_value(result, &bounds).is_err());

    let mut outcome = ToolOutcome::text("x");
    outcome.structured_content = Some(deep());
    assert!(outcome.check(&bounds).is_err());
    json::discard(outcome.structured_content.take().unwrap_or_default());
    outcome.content = Some(Content::Json(nested_value(128)));
    assert!(outcome.check(&bounds).is_ok());
    outcome.content = Some(Content::Json(nested_value(129)));
    assert!(outcome.check(&bounds).is_err());
}

/// The table: a row of JSON a line, with what a text comes to.
const TABLE: &str = include_str!("../../../tests/tables/json.jsonl");

/// The rows of the table; the table itself is read loosely.
fn rows() -> Vec<Value> {
    let row = |line| serde_json::from_str(line).expect("a row");
    TABLE.lines().map(row).collect()
}

/// A field of a row that is a string, or nothing.
fn field<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().unwrap_or_default()
}

/// The text of a row: as it is, as hexadecimal bytes, or a piece so many times.
fn text(row: &Value) -> Vec<u8> {
    let times = |name: &str| usize::try_from(row[name].as_u64().unwrap_or(0)).expect("small");
    if row["hex"].is_string() {
        let byte = |digits| u8::from_str_radix(digits, 16).expect("a byte");
        return field(row, "hex").split(' ').map(byte).collect();
    }
    if row["repeat"].is_string() {
        let start = field(row, "repeat").repeat(times("times"));
        let end = field(row, "then").repeat(times("then_times"));
        return format!("{start}{end}").into_bytes();
    }
    field(row, "text").as_bytes().to_vec()
}

/// What reading came to, in the words of the table.
fn told(read: &Result<Value, JsonError>) -> &'static str {
    match read {
        Ok(_) => "ok",
        Err(JsonError::Syntax { .. }) => "syntax",
        Err(JsonError::TooDeep { .. }) => "deep",
        Err(JsonError::DuplicateKey { .. }) => "duplicate",
        Err(JsonError::IntegerOutOfRange { .. }) => "range",
        Err(JsonError::NotUtf8 { .. }) => "not-utf8",
        Err(JsonError::TooLarge { .. }) => "large",
        Err(JsonError::NotAnObject) => "no object",
    }
}

#[test]
fn c1_io10_ou07_ou12_every_text_of_the_table_is_read_or_refused_for_its_reason() {
    let rows = rows();
    assert!(rows.len() >= 80, "only {} rows", rows.len());
    for row in &rows {
        let text = text(row);
        let read = json::parse_bytes(&text, &JsonBounds::default());
        assert_eq!(told(&read), field(row, "expect"), "{row:.200}");
        match &read {
            Ok(value) => {
                let as_written = row["value"].as_str().map_or(text.as_slice(), str::as_bytes);
                let compact = value.to_string();
                assert_eq!(compact.as_bytes(), as_written, "{row:.200}");
            }
            Err(error) => {
                assert!(error.to_string().len() < 1024, "{row:.200}");
                match error {
                    JsonError::DuplicateKey { pointer, key } => {
                        let expected = (field(row, "pointer"), field(row, "key"));
                        assert_eq!((pointer.as_str(), key.as_str()), expected, "{row}");
                    }
                    JsonError::NotUtf8 { at_byte } => {
                        assert_eq!(
                            u64::try_from(*at_byte).ok(),
                            row["at_byte"].as_u64(),
                            "{row}"
                        );
                    }
                    _ => {}
                }
            }
        }
    }
}

/// What no table holds well: the deepest object, and a key as long as the text.
#[test]
fn c1_a_duplicate_key_is_found_at_the_deepest_place_and_told_in_short() {
    let twice = r#"{"k":1,"k":2}"#;
    let deep = format!("{}{twice}{}", "[".repeat(127), "]".repeat(127));
    assert!(matches!(read(&deep), Err(JsonError::DuplicateKey { .. })));
    let long = format!(r#"{{"{0}":1,"{0}":2}}"#, "é".repeat(100_000));
    assert!(read(&long).expect_err("twice").to_string().len() < 400);
}

#[test]
fn ou12_an_integer_out_of_range_is_told_by_its_place() {
    let place = JsonError::IntegerOutOfRange { line: 3, column: 4 };
    assert_eq!(read("[1,\n2,\n   18446744073709551616]"), Err(place));
    let error = read("[1,\n x]").expect_err("no JSON");
    assert_eq!(error.to_string(), "expected value at line 2 column 2");
}

#[test]
fn c1_a_duplicate_key_is_refused_through_serde_too() {
    let decode = serde_json::from_str::<Content>;
    let error = decode(r#"{"a":[{"b":1,"b":2}]}"#).expect_err("a duplicate");
    assert!(
        error.to_string().starts_with("duplicate key `b` at `/a/0`"),
        "{error}"
    );
    let result = r#"{"callId":"1","source":"a","status":"success","content":1,"content":2}"#;
    assert!(serde_json::from_str::<ExternalResult>(result).is_err());
}

#[test]
fn c1_a_present_null_is_a_value() {
    assert_eq!(read("null"), Ok(Value::Null));
    assert_eq!(read("{\"a\":null}"), Ok(json!({"a": null})));
}

#[test]
fn c8_the_size_bound_comes_as_a_pair() {
    let bounds = JsonBounds {
        bytes: 10,
        depth: 4,
    };
    let at = "\"12345678\"";
    let over = "\"123456789\"";
    let too_large = Err(JsonError::TooLarge {
        bytes: 11,
        limit_bytes: 10,
    });
    assert_eq!(json::parse(at, &bounds).map(|_value| ()), Ok(()));
    assert_eq!(json::parse(over, &bounds).map(|_value| ()), too_large);
    assert_eq!(
        json::parse_bytes(over.as_bytes(), &bounds).map(|_value| ()),
        too_large
    );
    assert_eq!(json::check(&json!("12345678"), &bounds), Ok(()));
    assert_eq!(json::check(&json!("123456789"), &bounds), too_large);
    assert_eq!(json::check(&json!({"a": [1, 2]}), &bounds), too_large);
}

/// Texts are gone through in wide steps: each byte is put before, at and behind the edge of one.
#[test]
fn c8_a_text_has_its_written_size_and_its_end_wherever_its_escapes_stand() {
    for character in (0..0x80).chain([0xe9, 0x2028, 0x1f600]) {
        let character = char::from_u32(character).unwrap();
        for before in [0, 1, 14, 15, 16, 17, 30, 31, 32, 33, 200] {
            let text = format!("{}{character}{character}x", "a".repeat(before));
            let value = json!({ text.as_str(): [text.as_str(), 1] });
            let written = value.to_string();
            let size = json::measure(&value, &JsonBounds::default());
            assert_eq!(size, Ok(written.len()), "{written}");
            assert_eq!(read(&written), Ok(value));
        }
    }
}

#[test]
fn c1_a_document_keeps_its_text_and_is_compared_by_value() {
    let bounds = JsonBounds::default();
    let spaced = Document::parse("{ \"b\" : 1, \"a\" : 2 }".to_owned(), &bounds).expect("JSON");
    assert_eq!(spaced.text(), "{ \"b\" : 1, \"a\" : 2 }");
    let built = Document::from_value(json!({"b": 1, "a": 2}), &bounds).expect("in bounds");
    assert_eq!(built.text(), r#"{"b":1,"a":2}"#);
    assert_eq!(spaced, built);
    assert_eq!(
        serde_json::to_string(&spaced).expect("JSON"),
        r#"{"b":1,"a":2}"#
    );
    assert_eq!(Document::empty_object().text(), "{}");
    assert!(
        Document::empty_object()
            .as_object()
            .is_some_and(JsonObject::is_empty)
    );
    let list = Document::parse("[]".to_owned(), &bounds).expect("JSON");
    assert_eq!(list.as_object(), None);
}

/// Any JSON value, with numbers of all three kinds.
fn value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(Value::from),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number,
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        let object = proptest::collection::vec((any::<String>(), inner.clone()), 0..6);
        prop_oneof![
            proptest::collection::vec(inner, 0..6).prop_map(Value::from),
            object.prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn c1_a_value_survives_writing_and_reading(value in value()) {
        let text = value.to_string();
        let back = read(&text).expect("our own text");
        prop_assert_eq!(&back, &value);
        prop_assert_eq!(back.to_string(), text);
    }

    #[test]
    fn c8_the_counted_size_is_the_written_size(value in value()) {
        let bytes = value.to_string().len();
        let bounds = |bytes| JsonBounds { bytes, depth: 128 };
        prop_assert_eq!(json::check(&value, &bounds(bytes)), Ok(()));
        prop_assert!(json::check(&value, &bounds(bytes - 1)).is_err());
    }

    #[test]
    fn c1_any_text_is_read_as_serde_json_does_or_refused(text in r#"[\[\]{}",:0-9eE.+\-a-z\\ ]{0,40}"#) {
        let strict = read(&text);
        match serde_json::from_str::<Value>(&text) {
            Ok(loose) => prop_assert!(strict.is_err() || strict == Ok(loose)),
            Err(_) => prop_assert!(strict.is_err()),
        }
    }

    #[test]
    fn c8_any_bytes_are_an_answer_and_no_panic(bytes in any::<Vec<u8>>()) {
        let _either = json::parse_bytes(&bytes, &JsonBounds::default()).is_ok();
    }
}
