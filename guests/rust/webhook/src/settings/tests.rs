//! Settings that are taken, and those that are refused by name.

use serde_json::json;

use super::*;

fn read(config: &Value) -> Result<Settings, String> {
    Settings::read(&config.to_string())
}

#[test]
fn d2_a_url_is_enough() {
    let settings = read(&json!({"url": "https://a.example/hook?x=1"})).expect("settings");
    assert_eq!(settings.url.authority(), "a.example");
    assert_eq!(settings.url.path(), "/hook?x=1");
    assert!(settings.headers.is_empty());
    assert_eq!(settings.timeout, Duration::from_secs(30));
}

#[test]
fn d2_headers_and_timeout_are_taken() {
    let settings = json!({"url": "http://127.0.0.1:1", "headers": {"X-A": "b c"}, "timeout_ms": 1});
    let settings = read(&settings).expect("settings");
    assert_eq!(settings.headers, [("X-A".to_owned(), "b c".to_owned())]);
    assert_eq!(settings.timeout, Duration::from_millis(1));
}

#[test]
fn ne13_headers_that_could_change_a_request_are_refused() {
    for headers in [
        json!({"x": "a\r\nX-Evil: 1"}),
        json!({"x": "a\0"}),
        json!({"x": "\u{e9}"}),
        json!({"x": " a"}),
        json!({"x": "a\n"}),
        json!({"x\r\nX-Evil": "1"}),
        json!({"x y": "1"}),
        json!({"": "1"}),
        json!({"Host": "evil.example"}),
        json!({"Transfer-Encoding": "chunked"}),
        json!({"content-length": "5"}),
        json!({"Content-Type": "text/plain"}),
        json!({"Idempotency-Key": "x"}),
        json!({"connection": "close"}),
        json!({"x": 1}),
        json!({"x": null}),
        json!([]),
        json!(null),
    ] {
        let config = json!({"url": "https://a/", "headers": headers});
        let reason = read(&config).expect_err("refused");
        assert!(reason.starts_with("config: `headers` must"), "{reason}");
    }
}

#[test]
fn d2_anything_else_is_an_error_that_repeats_no_value() {
    for (config, part) in [
        (json!({}), "`url` is required"),
        (json!({"url": 1}), "`url` must be a string"),
        (
            json!({"url": "https://user:secret@a"}),
            "`url` must not hold",
        ),
        (
            json!({"url": "ftp://secret"}),
            "`url` must be an https or http",
        ),
        (
            json!({"url": "https://a/\r\nsecret"}),
            "`url` must be one line",
        ),
        (
            json!({"url": "https://a", "timeout_ms": 0}),
            "`timeout_ms` must",
        ),
        (
            json!({"url": "https://a", "timeout_ms": 2_147_483_648_u64}),
            "`timeout_ms` must",
        ),
        (
            json!({"url": "https://a", "timeout_ms": "1"}),
            "`timeout_ms` must",
        ),
        (
            json!({"url": "https://a", "secret": 1}),
            "a key that is no setting",
        ),
        (json!([]), "must be a JSON object"),
    ] {
        let reason = read(&config).expect_err("refused");
        assert!(reason.contains(part), "{config}: {reason}");
        assert!(
            !reason.contains("secret") && !reason.contains('/'),
            "{reason}"
        );
    }
}
