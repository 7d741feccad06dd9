//! Who is let in: the token file, the token that is made, and what each holder may do.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::Request;
use super::service::Service;
use crate::support::{tidegate, tidegate_in};

/// A fresh token and its entry.
fn fresh(options: &[&str]) -> (String, Value) {
    let output = tidegate(&[&["serve", "token", "--json"], options].concat());
    assert_eq!(output.exit, 0, "{}", output.stderr);
    let made = output.json();
    let token = made["token"].as_str().unwrap().to_owned();
    (token, made["entry"].clone())
}

/// Writes a token file that only its owner can read.
fn write(folder: &TempDir, entries: &[Value]) {
    let path = folder.path().join("tokens.json");
    fs::write(&path, json!(entries).to_string()).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
}

/// A service over a token file.
fn over(entries: &[Value], options: &[&str]) -> Service {
    let (folder, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write(&folder, entries);
    fs::write(folder.path().join("note.txt"), "noted").unwrap();
    let config = "serve: { tokens: tokens.json }";
    Service::over(config, options, (folder, state))
}

fn read_note(token: &str) -> Request {
    let call = json!({"name": "read_text", "arguments": {"path": "note.txt"}});
    Request::post("/v1/calls").bearer(token).json(&call)
}

#[test]
fn i2_a_made_token_is_left_for_its_owner_alone_and_never_said() {
    let service = Service::start(&[]);
    let path = service.state.path().join("operator.token");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let token = service.token();
    assert_eq!(token.len(), 3 + 64);
    let said = service.said();
    assert!(said.contains(path.to_str().unwrap()), "{said}");
    assert!(!said.contains(&token), "{said}");
    let next = Service::start(&[]);
    assert_ne!(next.token(), token);
    next.send(&read_note(&token)).is(401, "UNAUTHORIZED");
    next.send(&read_note(&next.token()))
        .is(403, "PERMISSION_DENIED");
}

#[test]
fn x7_each_holder_has_its_role_its_tenant_and_its_grants() {
    let (operator, entry) = fresh(&["--tenant", "acme", "--name", "one"]);
    assert_eq!(
        (&entry["name"], &entry["tenant"]),
        (&json!("one"), &json!("acme"))
    );
    let (narrow, mut narrowed) = fresh(&["--tenant", "globex"]);
    narrowed["grant"] = json!({"tools": ["ls"], "read": true});
    let (reader, mut reading) = fresh(&["--tenant", "globex"]);
    reading["grant"] = json!({"tools": ["read_text"], "read": true});
    let (observer, observing) = fresh(&["--role", "observer"]);
    let (unknown, _) = fresh(&[]);
    let entries = [entry, narrowed, reading, observing];
    let service = over(&entries, &["--allow", "plugin=read-text"]);
    assert!(!service.state.path().join("operator.token").exists());
    for token in [&operator, &reader] {
        let result = service.send(&read_note(token)).is(200, "").json();
        assert_eq!(result["content"], "noted", "{result}");
    }
    service
        .send(&read_note(&narrow))
        .is(403, "PERMISSION_DENIED");
    service.send(&read_note(&observer)).is(403, "FORBIDDEN");
    service.send(&read_note(&unknown)).is(401, "UNAUTHORIZED");
    // A worker's credential that nobody has handed out is no more known here than there.
    let handle = format!("wh-{}", "1".repeat(32));
    service.send(&read_note(&handle)).is(401, "UNAUTHORIZED");
}

#[test]
fn x7_the_steps_of_a_run_may_use_what_its_launcher_may() {
    let (wide, entry) = fresh(&[]);
    let (narrow, mut narrowed) = fresh(&[]);
    narrowed["grant"] = json!({"tools": ["ls"], "read": true});
    let service = over(&[entry, narrowed], &["--allow", "plugin=read-text"]);
    let arguments = json!({"path": "note.txt"});
    let call = json!({"id": "r", "name": "read_text", "arguments": arguments});
    let input = json!({ "call": call });
    let read = json!({"name": "read", "node": "INTERACTION.ACT.TOOL", "in": input});
    let blueprint = json!({
        "id": "reading", "flow": {"step": read}, "result": {"$path": "$.read.content"},
    });
    let launch = json!({ "blueprint": blueprint });
    assert_eq!(service.run(&wide, &launch)["result"], "noted");
    let refused = service.run(&narrow, &launch);
    assert_eq!(refused["status"], "failed", "{refused}");
    assert_eq!(refused["error"]["code"], "PERMISSION_DENIED", "{refused}");
}

#[test]
fn gap4_guesses_of_tokens_are_throttled() {
    let service = Service::start(&[]);
    let mut answers = (0..64).map(|guess| service.send(&read_note(&format!("tg-{guess}"))).status);
    assert!(answers.by_ref().take(32).all(|status| status == 401));
    assert!(answers.any(|status| status == 429));
    // Guessing is held up, not whoever has a right one.
    let right = service.send(&read_note(&service.token()));
    right.is(403, "PERMISSION_DENIED");
}

/// What a start with these options comes to, where it must not succeed.
fn refused(folder: &TempDir, options: &[&str]) -> String {
    let state = TempDir::new().unwrap();
    let state = state.path().to_str().unwrap();
    let start = [&["serve", "--state", state], options].concat();
    let output = tidegate_in(folder.path(), &start);
    assert_eq!(output.exit, 2, "{}", output.stderr);
    output.stderr
}

#[test]
fn i2_off_the_loopback_a_token_file_is_needed() {
    let folder = TempDir::new().unwrap();
    let said = refused(&folder, &["--listen", "0.0.0.0:0"]);
    assert!(said.contains("token file"), "{said}");
    let said = refused(&folder, &["--listen", "localhost:0"]);
    assert!(said.contains("--listen"), "{said}");
}

#[test]
fn i2_a_token_file_that_others_can_read_or_that_is_not_right_is_refused() {
    let folder = TempDir::new().unwrap();
    let (_, entry) = fresh(&[]);
    let path = folder.path().join("tokens.json");
    write(&folder, std::slice::from_ref(&entry));
    for mode in [0o644, 0o640, 0o604] {
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        let said = refused(&folder, &["--tokens", "tokens.json"]);
        assert!(said.contains("chmod 600"), "{said}");
    }
    fs::set_permissions(&path, PermissionsExt::from_mode(0o400)).unwrap();
    let mut wrong = entry;
    wrong["tokn"] = json!("x");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    fs::write(&path, json!([wrong]).to_string()).unwrap();
    let said = refused(&folder, &["--tokens", "tokens.json"]);
    assert!(
        said.contains("tokens.json:1:") && said.contains("tokn"),
        "{said}"
    );
    let said = refused(&folder, &["--tokens", "absent.json"]);
    assert!(said.contains("absent.json"), "{said}");
}

#[test]
fn s1_x7_beside_a_token_file_each_entry_names_its_folders() {
    let folder = TempDir::new().unwrap();
    let (_, mut entry) = fresh(&[]);
    write(&folder, std::slice::from_ref(&entry));
    let tokens = ["--tokens", "tokens.json"];
    let said = refused(&folder, &[&tokens[..], &["--work-root", "."]].concat());
    assert!(said.contains("work_roots"), "{said}");
    entry["work_roots"] = json!(["absent"]);
    write(&folder, &[entry]);
    let said = refused(&folder, &tokens);
    assert!(said.contains("folders of work"), "{said}");
}

#[test]
fn l4_a_found_file_may_not_say_where_to_listen_and_whom_to_let_in() {
    for key in [
        "listen: '127.0.0.1:0'",
        "tokens: t.json",
        "hosts: [a]",
        "work_roots: [.]",
    ] {
        let folder = TempDir::new().unwrap();
        fs::write(
            folder.path().join("tidegate.yaml"),
            format!("serve: {{ {key} }}"),
        )
        .unwrap();
        let said = refused(&folder, &[]);
        assert!(
            said.contains("`serve.") && said.contains("tidegate trust"),
            "{said}"
        );
    }
}

#[test]
fn i2_one_folder_is_kept_in_by_one_service() {
    let service = Service::start(&[]);
    let state = service.state.path().to_str().unwrap();
    let folder = TempDir::new().unwrap();
    let start = ["serve", "--state", state, "--listen", "127.0.0.1:0"];
    let output = tidegate_in(folder.path(), &start);
    assert_eq!(output.exit, 2);
    assert!(
        output.stderr.contains("another service"),
        "{}",
        output.stderr
    );
}

#[test]
fn i2_where_other_machines_reach_the_service_its_counts_want_a_token() {
    let (observer, entry) = fresh(&["--role", "observer"]);
    let (unknown, _) = fresh(&[]);
    let entries = [entry];
    let service = over(&entries, &["--listen", "0.0.0.0:0"]);
    let ask = |token: &str| service.send(&Request::get("/metrics").bearer(token));
    service
        .send(&Request::get("/metrics"))
        .is(401, "UNAUTHORIZED");
    ask(&unknown).is(401, "UNAUTHORIZED");
    ask(&observer).is(200, "");
    let here = over(&entries, &[]);
    here.send(&Request::get("/metrics")).is(200, "");
}
