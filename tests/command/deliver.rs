//! `tidegate observe` and `tidegate deliver` (SPEC L1, L3, D1, D2).

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Output, root, tidegate_with};

fn observe(document: &str) -> Output {
    tidegate_with(&root(), &["observe", "--json"], document, &[])
}

fn deliver(more: &[&str], document: &str) -> Output {
    let folder = TempDir::new().unwrap();
    let arguments = [&["deliver", "--json"], more].concat();
    tidegate_with(folder.path(), &arguments, document, &[])
}

const MESSAGE: &str = r#"{"deliveryId":"d-1","message":{"role":"assistant","content":"hello"}}"#;

#[test]
fn l1_observe_exits_0_for_any_valid_result() {
    for (status, error, content) in [
        ("success", json!(null), "text"),
        (
            "failed",
            json!({"code": "NO", "message": "no"}),
            "failed: NO: no",
        ),
        (
            "timeout",
            json!({"code": "LATE", "message": "late"}),
            "timeout: LATE: late",
        ),
    ] {
        let mut result = json!({"callId": "c", "source": "s", "status": status});
        match error {
            Value::Null => result["content"] = json!("text"),
            error => result["error"] = error,
        }
        let output = observe(&result.to_string());
        assert_eq!(output.exit, 0, "{}", output.stderr);
        let observation = output.json();
        assert_eq!(observation["message"]["content"], content);
        assert_eq!(observation["message"]["role"], "tool");
        assert_eq!(output.stdout.lines().count(), 1);
    }
}

#[test]
fn l1_observe_exits_2_for_an_invalid_result_and_names_what_is_wrong() {
    for (document, word) in [
        ("", "JSON"),
        ("{", "JSON"),
        ("[]", "object"),
        (r#"{"callId":"c"}"#, "source"),
        (
            r#"{"callId":"c","source":"s","status":"success"}"#,
            "content",
        ),
        (r#"{"callId":"c","source":"s","status":"failed"}"#, "error"),
        (
            r#"{"callId":"c","source":"s","status":"success","content":1,"more":1}"#,
            "more",
        ),
        (r#"{"callId":"c","callId":"d"}"#, "callId"),
    ] {
        let output = observe(document);
        assert_eq!(output.exit, 2, "{document}");
        let error = &output.json()["error"];
        assert_eq!(error["code"], "INVALID_CALL", "{document}");
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
    }
}

#[test]
fn d2_beside_a_sink_that_prints_the_receipt_goes_to_stderr() {
    let output = deliver(&["--allow", "plugin=console"], MESSAGE);
    assert_eq!(output.exit, 0, "{}", output.stderr);
    let line = json!({"id": "d-1", "message": {"role": "assistant", "content": "hello"}});
    assert_eq!(output.json(), line, "stdout is the sink's alone");
    let receipt: Value = serde_json::from_str(output.stderr.trim()).unwrap();
    assert_eq!(receipt["deliveryId"], "d-1");
    assert_eq!(receipt["status"], "accepted");
}

#[test]
fn l1_a_delivery_is_refused_with_exit_2_before_the_sink_is_asked() {
    let console: &[&str] = &["--allow", "stdout"];
    for (more, document, code) in [
        (console, "{}", "INVALID_CALL"),
        (console, "", "INVALID_CALL"),
        (
            console,
            r#"{"deliveryId":"d","message":{"role":"robot","content":""}}"#,
            "INVALID_CALL",
        ),
        (&[], MESSAGE, "NOT_INJECTED"),
        (&["--allow", "plugin=consle"], MESSAGE, "INVALID_CALL"),
    ] {
        for dry in [&[][..], &["--dry-run"]] {
            let output = deliver(&[more, dry].concat(), document);
            assert_eq!(output.exit, 2, "{document} {more:?} {dry:?}");
            let error = output.json()["error"].clone();
            assert_eq!(error["code"], code, "{document} {more:?} {dry:?} {error}");
        }
    }
}

#[test]
fn l3_a_sink_without_its_grant_is_refused_dry_or_not() {
    let folder = TempDir::new().unwrap();
    let config = "output: [{ name: out, component: 'builtin:console' }]\n";
    std::fs::write(folder.path().join("tidegate.yaml"), config).unwrap();
    for dry in [&[][..], &["--dry-run"]] {
        let arguments = [&["deliver", "--json"], dry].concat();
        let output = tidegate_with(folder.path(), &arguments, MESSAGE, &[]);
        assert_eq!(output.exit, 2, "{dry:?}");
        assert_eq!(output.json()["error"]["code"], "PERMISSION_DENIED");
    }
}

#[test]
fn d2_an_unknown_sink_is_refused_with_the_names_there_are() {
    let output = deliver(&["--allow", "stdout", "--sink", "file"], MESSAGE);
    assert_eq!((output.exit, output.stdout.as_str()), (2, ""));
    for word in ["INVALID_CALL", "there are: console"] {
        assert!(output.stderr.contains(word), "{}", output.stderr);
    }
}
