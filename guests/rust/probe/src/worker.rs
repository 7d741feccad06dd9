//! The worker: its prompt is a JSON object that says what to stage and how to end.
//!
//! `parts` are pairs of name and text that are staged first, then one of `part_bytes` bytes and one
//! that is not UTF-8 under the name of `not_utf8`. What the host said of each stands in the value of
//! `{"do": "tell"}`, which also repeats what the worker was asked.

use std::hint::black_box;

use serde_json::{Value, json};

use crate::Probe;
use crate::arguments::Arguments;
use crate::bindings::exports::tidegate::plugin::worker::{Guest, Invocation};
use crate::bindings::tidegate::plugin::types::Failure;
use crate::bindings::tidegate::plugin::{artifacts, context, parts};
use crate::caller::pause;
use crate::large;

/// How much `grow` takes at a time.
const STEP_BYTES: usize = 1 << 20;

impl Guest for Probe {
    fn run(invocation: Invocation) -> Result<String, Failure> {
        let Ok(arguments) = Arguments::parse(invocation.prompt.clone()) else {
            return Err(failure("BAD_PROMPT", "the prompt is not JSON"));
        };
        let staged = stage(&arguments);
        match arguments.text("do", "tell") {
            "tell" => Ok(tell(&invocation, &staged).to_string()),
            "raw" => Ok(arguments.text("text", "").to_owned()),
            "large" => Ok(large::json_text(arguments.size("bytes", 2))),
            "fail" => Err(failure(
                arguments.text("code", "FAILED"),
                arguments.text("message", "as it was asked"),
            )),
            "keep" => keep(arguments.text("text", "")),
            "read" => {
                Ok(json!(std::fs::read_to_string(arguments.text("path", "")).ok()).to_string())
            }
            "sleep" => {
                pause(arguments.number("ms", 0));
                Ok("null".to_owned())
            }
            "spin" => spin(),
            "grow" => grow(),
            _ => trap(),
        }
    }
}

fn stage(arguments: &Arguments) -> Vec<String> {
    let mut said = Vec::new();
    for (name, text) in arguments.pairs("parts") {
        said.push(answer(parts::stage(name, text.as_bytes())));
    }
    if let Some(bytes) = arguments.optional_number("part_bytes") {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        said.push(answer(parts::stage("filler", &vec![b'p'; bytes])));
    }
    if let Some(name) = arguments.optional_text("not_utf8") {
        said.push(answer(parts::stage(name, b"\xff\xfe")));
    }
    said
}

/// `ok`, or the code of the failure.
fn answer(staged: Result<(), Failure>) -> String {
    match staged {
        Ok(()) => "ok".to_owned(),
        Err(failure) => failure.code,
    }
}

fn tell(invocation: &Invocation, staged: &[String]) -> Value {
    json!({
        "callId": context::call_id(),
        "taskId": invocation.task_id,
        "attempt": invocation.attempt,
        "agent": invocation.agent,
        "system": invocation.system,
        "context": serde_json::from_str::<Value>(&invocation.context).unwrap_or_default(),
        "staged": staged,
    })
}

fn keep(text: &str) -> Result<String, Failure> {
    let reference = artifacts::put("text/plain", text.as_bytes())?;
    Ok(Value::from(reference.uri).to_string())
}

fn failure(code: &str, message: &str) -> Failure {
    Failure {
        code: code.to_owned(),
        message: message.to_owned(),
        retryable: Some(true),
    }
}

fn spin() -> Result<String, Failure> {
    let mut count = 0_u64;
    loop {
        count = black_box(count.wrapping_add(1));
    }
}

fn grow() -> Result<String, Failure> {
    let mut taken = Vec::new();
    loop {
        taken.push(black_box(vec![1_u8; STEP_BYTES]));
    }
}

#[expect(clippy::panic, reason = "the case to be tested")]
fn trap() -> Result<String, Failure> {
    panic!("this step always panics");
}
