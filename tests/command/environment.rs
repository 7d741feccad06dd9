//! `TIDEGATE_…` variables over the config file (SPEC L4).

use std::fs;

use tempfile::TempDir;

use crate::support::{Output, tidegate_with};

const CALL: [&str; 3] = ["call", "read_text", r#"{"path":"a.txt"}"#];

fn call(more: &[&str], environment: &[(&str, &str)]) -> Output {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.txt"), "a").unwrap();
    let config = "sandbox: { tools: [read_text], read: true }\n";
    fs::write(folder.path().join("tidegate.yaml"), config).unwrap();
    tidegate_with(folder.path(), &[&CALL, more].concat(), "", environment)
}

#[test]
fn l4_a_variable_sets_a_key_and_narrows_the_sandbox() {
    assert_eq!(call(&[], &[]).stdout, "a");
    let limited = call(&["--json"], &[("TIDEGATE_LIMITS__RESULT_BYTES", "0x1")]);
    assert_eq!(limited.exit, 0, "{}", limited.stderr);
    let narrowed = call(&["--json"], &[("TIDEGATE_SANDBOX__READ", "false")]);
    assert_eq!(narrowed.exit, 2);
    assert_eq!(narrowed.json()["error"]["code"], "PERMISSION_DENIED");
}

#[test]
fn l4_a_variable_widens_only_with_config_env_and_a_wrong_one_is_named() {
    let widening = [("TIDEGATE_SANDBOX__STDOUT", "true")];
    let refused = call(&[], &widening);
    assert_eq!((refused.exit, refused.stdout.as_str()), (2, ""));
    for word in ["TIDEGATE_SANDBOX__STDOUT", "--config-env"] {
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
    }
    assert_eq!(call(&["--config-env"], &widening).exit, 0);
    let unknown = call(&[], &[("TIDEGATE_SANDBX__READ", "false")]);
    assert_eq!(unknown.exit, 2);
    for word in ["TIDEGATE_SANDBX__READ", "`sandbox`?"] {
        assert!(unknown.stderr.contains(word), "{}", unknown.stderr);
    }
}
