//! Executors that fail: the call is rejected, nothing is tried twice, and the next call is as good
//! as the first (SPEC R5, S4, S5).

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tidegate::Executor;
use tidegate_contract::Names;
use tidegate_sandbox::command::{Launcher, Layer, NativeCommand, NativeCommands, Options};

use crate::support::{COMMANDS, Fixture, ask, commands, engine};

/// A command component whose `run` is this body.
fn component(body: &str) -> Executor {
    let text = format!(
        r#"(component
            (core module $m
                (memory 1)
                (func (export "run") (result i32) {body}))
            (core instance $i (instantiate $m))
            (func $run (result (result)) (canon lift (core func $i "run")))
            (instance $exported (export "run" (func $run)))
            (export "wasi:cli/run@0.2.0" (instance $exported)))"#
    );
    let bytes = wat::parse_str(text).unwrap();
    let component = engine().load_commands("broken", &bytes, &COMMANDS).unwrap();
    Executor::Component(component)
}

fn fixture() -> Fixture {
    let fixture = commands().limit("cpu_ms", 200);
    fixture.write("f", "content\n");
    fixture
}

#[test]
fn r5_a_command_that_traps_is_a_fault_of_the_executor() {
    let fixture = fixture();
    let tools = fixture.tools_over(component("unreachable"));
    for _ in 0..2 {
        let error = ask(&tools, "cat", json!({"path": "f"})).unwrap_err();
        assert_eq!(error.code(), "EXECUTOR_FAULT", "{error}");
        assert!(!error.is_refusal(), "the command had started");
    }
}

#[test]
fn r5_a_native_executor_that_cannot_start_is_a_fault() {
    let fixture = fixture();
    let cat = NativeCommand {
        name: "cat".to_owned(),
        path: PathBuf::from("/bin/cat"),
        ..NativeCommand::default()
    };
    for program in ["/nowhere/at/all", "/bin/true"] {
        let options = Options {
            launcher: Launcher {
                program: program.into(),
                arguments: Vec::new(),
            },
            allow_missing: Layer::ALL.to_vec(),
            ..Options::default()
        };
        let cat = std::slice::from_ref(&cat);
        let native = NativeCommands::open(cat, &Names::All, options).unwrap();
        let tools = fixture.tools_over(Executor::Native(Arc::new(native)));
        let error = ask(&tools, "cat", json!({"path": "f"})).unwrap_err();
        assert_eq!(error.code(), "EXECUTOR_FAULT", "{program}: {error}");
        let message = error.to_string();
        assert!(
            !message.contains("/nowhere") && !message.contains("/bin"),
            "{message}"
        );
    }
}

#[test]
fn s5_a_command_is_under_the_limits_of_its_call() {
    let fixture = fixture();
    for (body, code) in [
        ("(loop (br 0)) unreachable", "LIMIT_CPU"),
        (
            "(loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable",
            "LIMIT_MEMORY",
        ),
    ] {
        let tools = fixture.tools_over(component(body));
        let answer = ask(&tools, "cat", json!({"path": "f"})).unwrap();
        assert_eq!(
            (&*answer.status, &*answer.code),
            ("failed", code),
            "{answer:?}"
        );
    }
    fixture
        .ran("cat", json!({"path": "f"}))
        .is(0, "content\n", "");
}

#[test]
fn r5_an_exit_that_says_no_more_than_failed_is_1() {
    let tools = fixture().tools_over(component("i32.const 1"));
    let answer = ask(&tools, "cat", json!({"path": "f"})).unwrap();
    answer.is(1, "", "");
    assert_eq!(answer.code, "COMMAND_EXIT_NONZERO");
    let tools = fixture().tools_over(component("i32.const 0"));
    ask(&tools, "cat", json!({"path": "f"}))
        .unwrap()
        .is(0, "", "");
}
