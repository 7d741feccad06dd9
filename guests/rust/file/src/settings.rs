//! The operator's settings for the sink, from the plugin's config.

use serde_json::Value;

/// The file when the operator says nothing.
const PATH: &str = "deliveries.jsonl";

/// The longest path, in characters.
const PATH_CHARACTERS: usize = 1_024;

/// The path of the file, relative to the workspace.
///
/// # Errors
/// Which key is wrong and what was expected, in one line that repeats no value.
pub(crate) fn path(config: &str) -> Result<String, String> {
    let Ok(Value::Object(mut left)) = serde_json::from_str(config) else {
        return Err("the config of the file sink must be a JSON object".to_owned());
    };
    let path = match left.remove("path") {
        None => PATH.to_owned(),
        Some(Value::String(path)) => path,
        Some(_) => return Err("config: `path` must be a string".to_owned()),
    };
    check(&path).map_err(|reason| format!("config: `path` {reason}"))?;
    if left.is_empty() {
        Ok(path)
    } else {
        Err("config: it has a key that is no setting; there is path".to_owned())
    }
}

/// A path that means the same wherever it is read, and leads nowhere but down.
fn check(path: &str) -> Result<(), &'static str> {
    if path.is_empty() || path.chars().count() > PATH_CHARACTERS {
        return Err("must have 1 to 1,024 characters");
    }
    if path.contains(['\\', ':']) || path.chars().any(char::is_control) {
        return Err("must have no backslash, colon or control character");
    }
    let is_plain = |segment: &str| !matches!(segment, "" | "." | "..");
    if path.split('/').all(is_plain) {
        Ok(())
    } else {
        Err("must be relative, without empty, `.` or `..` segments")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(config: &Value) -> Result<String, String> {
        path(&config.to_string())
    }

    #[test]
    fn d2_a_relative_path_is_taken_and_there_is_a_default() {
        assert_eq!(read(&json!({})).as_deref(), Ok("deliveries.jsonl"));
        for good in ["out/x.jsonl", "a..b", ".hidden", "\u{e9} x"] {
            assert_eq!(read(&json!({"path": good})).as_deref(), Ok(good));
        }
    }

    #[test]
    fn io01_a_path_that_leads_elsewhere_is_refused() {
        for bad in [
            "", "/abs", "../x", "a/../x", "a//b", "a/", "./x", "a/.", ".", "..", "c:x", "a\\b",
            "a\0b", "a\nb", "a\u{85}b",
        ] {
            let reason = read(&json!({"path": bad})).expect_err(bad);
            assert!(reason.starts_with("config: `path` must"), "{reason}");
            assert!(!reason.contains('/'), "{reason}");
        }
        let long = "x".repeat(1_025);
        assert!(read(&json!({"path": long})).is_err());
    }

    #[test]
    fn d2_anything_else_is_an_error() {
        for bad in [
            json!({"path": null}),
            json!({"path": 1}),
            json!({"file": "x"}),
            json!({"path": "x", "/etc/x": 1}),
            json!([]),
        ] {
            assert!(read(&bad).is_err(), "{bad}");
        }
        assert!(path("").is_err());
    }
}
