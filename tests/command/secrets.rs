//! Where secrets come from, and who may name them (SPEC S7, L4).

use std::os::unix::fs::PermissionsExt as _;

use tempfile::TempDir;

use crate::support::server::{Answer, Server};
use crate::support::{Output, tidegate_with};

const KEY: &str = "key-0123456789abcdef";

/// A webhook whose requests carry the secret `key`, which comes from `source`.
fn folder(server: &Server, source: &str) -> TempDir {
    folder_at(&server.origin(), source)
}

fn folder_at(origin: &str, source: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let config = format!(
        r#"
sandbox: {{ network: ["{origin}"] }}
output:
  - name: out
    component: builtin:webhook
    config: {{ url: "{origin}/hook", headers: {{ authorization: mine }} }}
    inject: [{{ origin: "{origin}", header: Authorization, secret: key, prefix: "Bearer " }}]
secrets: {{ key: {source} }}
"#
    );
    std::fs::write(folder.path().join("tidegate.yaml"), config).unwrap();
    folder
}

const DELIVERY: &str = r#"{"deliveryId":"d-1","message":{"role":"user","content":"x"}}"#;

fn deliver(folder: &TempDir, more: &[&str]) -> Output {
    let arguments = [&["deliver", "--json"], more].concat();
    tidegate_with(folder.path(), &arguments, DELIVERY, &[("THE_KEY", KEY)])
}

const CHOSEN: [&str; 2] = ["--config", "tidegate.yaml"];

#[test]
fn s7_a_secret_comes_from_the_environment_a_file_a_command_or_a_marked_value() {
    let server = Server::start(|_request| Answer::status(200));
    let program = TempDir::new().unwrap();
    let script = program.path().join("show");
    std::fs::write(&script, format!("#!/bin/sh\necho {KEY}\n")).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
    for source in [
        "{ env: THE_KEY }".to_owned(),
        "{ file: key.txt }".to_owned(),
        format!("{{ command: [{}] }}", script.display()),
        format!("{{ value: {KEY}, inline: true }}"),
    ] {
        let folder = folder(&server, &source);
        std::fs::write(folder.path().join("key.txt"), format!("{KEY}\n")).unwrap();
        let output = deliver(&folder, &CHOSEN);
        assert_eq!(output.exit, 0, "{source}: {}", output.stderr);
        let requests = server.requests();
        let sent = requests.last().unwrap();
        assert_eq!(sent.count("authorization"), 1, "the host's is the only one");
        let expected = format!("Bearer {KEY}");
        assert_eq!(sent.header("authorization"), Some(&*expected), "{source}");
    }
}

#[test]
fn s7_a_source_that_gives_no_value_is_named_without_what_it_gave() {
    let server = Server::start(|_request| Answer::status(200));
    for (source, words) in [
        ("{ env: NOT_SET }", vec!["secrets.key", "NOT_SET"]),
        ("{ file: missing.txt }", vec!["secrets.key", "missing.txt"]),
        ("{ file: short.txt }", vec!["secrets.key", "8 bytes"]),
        (
            "{ command: [/bin/false] }",
            vec!["secrets.key", "/bin/false"],
        ),
        ("{ command: [] }", vec!["secrets.key", "command"]),
        (
            "{ value: key-0123456789abcdef }",
            vec!["secrets.key", "inline"],
        ),
        (
            "{ env: THE_KEY, file: key.txt }",
            vec!["secrets.key", "exactly one"],
        ),
        ("{ }", vec!["secrets.key", "exactly one"]),
        (
            "{ value: \"two words and more\", inline: true }",
            vec!["secrets.key", "space"],
        ),
    ] {
        let folder = folder(&server, source);
        std::fs::write(folder.path().join("short.txt"), "hunter2").unwrap();
        let output = deliver(&folder, &CHOSEN);
        assert_eq!(output.exit, 2, "{source}: {}", output.stdout);
        for word in words {
            assert!(output.stderr.contains(word), "{source}: {}", output.stderr);
        }
        for value in ["hunter2", "two words", KEY] {
            assert!(!output.stderr.contains(value), "{}", output.stderr);
            assert!(!output.stdout.contains(value), "{}", output.stdout);
        }
    }
    assert!(server.requests().is_empty());
}

#[test]
fn l4_a_file_that_was_found_names_no_secret_until_it_is_trusted() {
    for source in [
        "{ env: THE_KEY }",
        "{ file: key.txt }",
        "{ command: [/bin/echo, x] }",
    ] {
        let folder = folder_at("https://hooks.example", source);
        let output = deliver(&folder, &[]);
        assert_eq!(output.exit, 2, "{source}");
        for word in ["secrets.key", "tidegate trust"] {
            assert!(output.stderr.contains(word), "{source}: {}", output.stderr);
        }
    }
}

#[test]
fn s7_a_program_that_closes_its_output_and_stays_is_given_a_minute_and_not_more() {
    let server = Server::start(|_request| Answer::status(200));
    let script = format!("echo {KEY}; exec 1>&-; sleep 0.2");
    let folder = folder(
        &server,
        &format!("{{ command: [/bin/sh, -c, \"{script}\"] }}"),
    );
    assert_eq!(deliver(&folder, &CHOSEN).exit, 0);
    let long = format!("{{ command: [/bin/sh, -c, \"yes {KEY}\"] }}");
    let output = deliver(&self::folder(&server, &long), &CHOSEN);
    assert_eq!(output.exit, 2, "more than a secret: {}", output.stdout);
    assert!(output.stderr.contains("16 KiB"), "{}", output.stderr);
}

#[test]
fn l4_a_file_that_was_found_grants_no_address_that_it_names() {
    for origin in [
        "http://127.0.0.1:8080",
        "http://[::1]:8080",
        "https://intern.example,10.0.0.1",
        "tcp://10.0.0.5:5432",
    ] {
        let folder = TempDir::new().unwrap();
        let config = format!("sandbox: {{ network: [\"{origin}\"] }}\n");
        std::fs::write(folder.path().join("tidegate.yaml"), config).unwrap();
        let found = tidegate_with(folder.path(), &["tools"], "", &[]);
        assert_eq!(found.exit, 2, "{origin}");
        for word in ["sandbox.network", origin, "tidegate trust"] {
            assert!(found.stderr.contains(word), "{origin}: {}", found.stderr);
        }
        let chosen = [&["tools"], &CHOSEN[..]].concat();
        assert_eq!(tidegate_with(folder.path(), &chosen, "", &[]).exit, 0);
    }
}

#[test]
fn l4_no_variable_of_the_environment_changes_a_secret() {
    let server = Server::start(|_request| Answer::status(200));
    let folder = folder(&server, "{ env: THE_KEY }");
    for name in [
        "TIDEGATE_SECRETS__KEY__ENV",
        "TIDEGATE_OUTPUT__0__INJECT",
        "TIDEGATE_NETWORK__CA_FILE",
        "TIDEGATE_OUTPUT__OUT__CONFIG__URL",
    ] {
        let arguments = [&["deliver"], &CHOSEN[..]].concat();
        let environment = [("THE_KEY", KEY), (name, "[]")];
        let output = tidegate_with(folder.path(), &arguments, DELIVERY, &environment);
        assert_eq!(output.exit, 2, "{name}: {}", output.stdout);
    }
    assert!(server.requests().is_empty());
}
