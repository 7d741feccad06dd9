//! Settings that are taken, and those that are refused by name.

use serde_json::json;

use super::*;

const DEFAULT: Settings = Settings {
    max_entries: 1_000,
    max_output_bytes: 65_536,
    max_error_bytes: 8_192,
    no_match: NoMatch::Failed,
};

fn read(config: &Value) -> Result<Settings, String> {
    Settings::read(&config.to_string())
}

#[test]
fn r4_what_is_not_set_has_its_default() {
    assert_eq!(read(&json!({})), Ok(DEFAULT));
    let set = json!({"max_output_bytes": 10, "no_match": "success"});
    let expected = Settings {
        max_output_bytes: 10,
        no_match: NoMatch::Success,
        ..DEFAULT
    };
    assert_eq!(read(&set), Ok(expected));
}

#[test]
fn r4_each_bound_is_taken_up_to_its_ends_and_not_past_them() {
    for (key, most) in [
        ("max_entries", 10_000),
        ("max_output_bytes", 1_048_576),
        ("max_error_bytes", 65_536),
    ] {
        for good in [1, 2, most - 1, most] {
            assert!(read(&json!({key: good})).is_ok(), "{key}: {good}");
        }
        let refusal = Err(format!(
            "config: `{key}` must be a whole number from 1 to {most}"
        ));
        for bad in [
            json!(0),
            json!(most + 1),
            json!(-1),
            json!("1"),
            json!(null),
        ] {
            assert_eq!(read(&json!({key: bad})), refusal);
        }
    }
}

#[test]
fn r4_anything_else_is_an_error_that_names_the_key() {
    for (config, part) in [
        (json!({"no_match": "ok"}), "`no_match` must be"),
        (json!({"no_match": null}), "`no_match` must be"),
        (json!({"max_lines": 1}), "`max_lines` is no setting"),
        (json!({"/etc/x": 1}), "a key that is no setting"),
        (json!({"": 1}), "a key that is no setting"),
        (json!([]), "must be a JSON object"),
    ] {
        let reason = read(&config).expect_err("refused");
        assert!(reason.contains(part), "{config}: {reason}");
        assert!(!reason.contains('/'), "{reason}");
    }
    assert!(Settings::read("").is_err());
}
