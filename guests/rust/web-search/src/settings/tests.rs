//! Settings that are taken, and those that are refused by name.

use serde_json::json;

use super::*;

fn read(config: &Value) -> Result<Settings, String> {
    Settings::read(&config.to_string())
}

#[test]
fn w2_what_is_not_set_has_its_default() {
    let settings = read(&json!({})).expect("settings");
    assert_eq!(settings.provider, Provider::Brave);
    assert_eq!(settings.origin.authority(), "api.search.brave.com");
    assert!(settings.origin.is_https());
    assert_eq!(settings.timeout, Duration::from_secs(30));
    assert_eq!(settings.max_response_bytes, 1_048_576);
}

#[test]
fn w2_each_number_is_taken_up_to_its_ends_and_not_past_them() {
    for (key, most) in [
        ("timeout_ms", 2_147_483_647_u64),
        ("max_response_bytes", 16_777_216),
    ] {
        for good in [1, most] {
            assert!(read(&json!({key: good})).is_ok(), "{key}: {good}");
        }
        let refusal = Err(format!(
            "config: `{key}` must be a whole number from 1 to {most}"
        ));
        for bad in [
            json!(0),
            json!(most + 1),
            json!(-1),
            json!(1.5),
            json!("1"),
            json!(null),
        ] {
            assert_eq!(read(&json!({key: bad})), refusal);
        }
    }
}

#[test]
fn w2_another_provider_needs_its_origin() {
    let searxng = json!({"provider": "searxng", "origin": "http://127.0.0.1:8888/"});
    let settings = read(&searxng).expect("settings");
    assert_eq!(settings.provider, Provider::Searxng);
    assert_eq!(settings.origin.authority(), "127.0.0.1:8888");
    assert!(!settings.origin.is_https());
    assert!(read(&json!({"provider": "searxng"})).is_err());
}

#[test]
fn w2_anything_else_is_an_error_that_names_the_key_and_nothing_more() {
    for (config, part) in [
        (json!({"provider": "bing"}), "`provider` must be"),
        (json!({"provider": null}), "`provider` must be"),
        (json!({"origin": 1}), "`origin` must be a string"),
        (
            json!({"origin": "ftp://a"}),
            "`origin` must be an https or http URL",
        ),
        (
            json!({"origin": "https://user:secret@a"}),
            "`origin` must not hold",
        ),
        (
            json!({"origin": "https://a/searx"}),
            "`origin` must have no path",
        ),
        (
            json!({"origin": "https://a/?key=secret"}),
            "`origin` must have no path",
        ),
        (
            json!({"origin": "https://a/#secret"}),
            "`origin` must have no path",
        ),
        (
            json!({"origin": "https://a\r\nx"}),
            "`origin` must be one line",
        ),
        (json!({"api_key": "secret"}), "`api_key` is no setting"),
        (json!({"/etc/x": 1}), "a key that is no setting"),
        (json!([]), "must be a JSON object"),
    ] {
        let reason = read(&config).expect_err("refused");
        assert!(reason.contains(part), "{config}: {reason}");
        assert!(
            !reason.contains('/') && !reason.contains("secret"),
            "{reason}"
        );
    }
    assert!(Settings::read("").is_err());
}
