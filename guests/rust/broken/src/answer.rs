//! What the tool answers, and what it answers wrongly.

use std::hint::black_box;
use std::sync::atomic::Ordering;

use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::random::random::get_random_u64;

use crate::bindings::tidegate::plugin::types::{Content, Failure, Outcome, Reference, Status};
use crate::bindings::tidegate::plugin::{context, exec};
use crate::{definition, fault, trap};

const HOUR_NS: u64 = 3_600_000_000_000;

/// How much `grows` and `copes_badly` take at a time.
const STEP_BYTES: usize = 1 << 20;

/// What `copes_badly` takes before it answers.
const WANTED_BYTES: usize = 12 << 20;

/// How much of a command's output is wanted.
const NOTHING: exec::Bounds = exec::Bounds {
    stdout_bytes: 0,
    stderr_bytes: 0,
    stdout_lines: 0,
};

/// Whether the schema takes these arguments, which the host sends as compact JSON.
pub(crate) fn is_valid(arguments: &str) -> bool {
    matches!(arguments, "{}" | r#"{"loud":true}"# | r#"{"loud":false}"#)
}

/// The answer to one call.
pub(crate) fn to(arguments: &str) -> Outcome {
    let well = said(arguments);
    match fault::name() {
        "traps" => trap(),
        "traps_on_invalid" if !is_valid(arguments) => trap(),
        "exits" => exit(),
        "spins" => spin(),
        "sleeps" => {
            subscribe_duration(HOUR_NS).block();
            well
        }
        "grows" => grow(),
        "floods" => Outcome {
            content: Some(Content::Text("x".repeat(2 << 20))),
            ..well
        },
        "copes_badly" if reserve() => well,
        "copes_badly" => empty(),
        "needs_definitions" if !definition::ASKED.load(Ordering::Relaxed) => {
            failed("NOT_READY", "the plugin was not asked for its tools first")
        }
        "answers_random" => Outcome {
            content: Some(Content::Text(get_random_u64().to_string())),
            ..well
        },
        "runs_undeclared" => match exec::run("ls", &[], NOTHING) {
            Ok(_) | Err(_) => well,
        },
        "prints_much" => {
            #[expect(clippy::print_stdout, reason = "the case to be tested")]
            {
                print!("{}", "much ".repeat(20_000));
            }
            well
        }
        "goes_back" => {
            context::progress(5, None, "");
            subscribe_duration(150_000_000).block();
            context::progress(3, None, "");
            well
        }
        "ends_by_call" if context::call_id().ends_with(['1', '3', '5', '7', '9']) => {
            failed("ODD", "this call has an odd number")
        }
        "error_reserved" => failed("QUEUE_FULL", "the queue of the tool is full"),
        _ => invalid(well).unwrap_or_else(|| said(arguments)),
    }
}

/// An answer that the host refuses, where that is the fault.
fn invalid(well: Outcome) -> Option<Outcome> {
    Some(match fault::name() {
        "success_empty" => empty(),
        "success_with_error" => Outcome {
            error: Some(failure("SAID", "it was said")),
            ..well
        },
        "failed_without_error" => Outcome {
            status: Status::Failed,
            ..empty()
        },
        "error_path" => failed("LOST", "can't open /home/someone/notes.txt"),
        "error_secret" => failed("LEAK", "refused with password=hunter2"),
        "error_lines" => failed("LINES", "one line\nand another"),
        "error_blank" => failed("BLANK", " "),
        "error_long" => failed("LONG", &"word ".repeat(200)),
        "error_code" => failed("NOT A CODE", "something is wrong"),
        "structured_no_json" => structured("{said: word}"),
        "structured_off_schema" => structured(r#"{"said":"else"}"#),
        "structured_missing" => Outcome {
            structured_content: None,
            ..well
        },
        "metadata_list" => Outcome {
            metadata: Some("[]".to_owned()),
            ..well
        },
        "reference_blank" => Outcome {
            references: vec![Reference {
                uri: " ".to_owned(),
                media_type: None,
                digest: None,
            }],
            ..well
        },
        _ => return None,
    })
}

fn said(arguments: &str) -> Outcome {
    let word = if arguments.contains("true") {
        "WORD"
    } else {
        "word"
    };
    Outcome {
        content: Some(Content::Text(word.to_owned())),
        ..structured(&format!(r#"{{"said":"{word}"}}"#))
    }
}

fn structured(json: &str) -> Outcome {
    Outcome {
        structured_content: Some(json.to_owned()),
        ..empty()
    }
}

fn failed(code: &str, message: &str) -> Outcome {
    Outcome {
        status: Status::Failed,
        error: Some(failure(code, message)),
        ..empty()
    }
}

/// An error of the tool, the sink or the worker.
pub(crate) fn failure(code: &str, message: &str) -> Failure {
    Failure {
        code: code.to_owned(),
        message: message.to_owned(),
        retryable: None,
    }
}

fn empty() -> Outcome {
    Outcome {
        status: Status::Success,
        content: None,
        structured_content: None,
        references: Vec::new(),
        error: None,
        metadata: None,
    }
}

#[expect(clippy::exit, reason = "the case to be tested")]
fn exit() -> Outcome {
    std::process::exit(0)
}

/// Computes for ever.
pub(crate) fn spin() -> ! {
    let mut count = 0_u64;
    loop {
        count = black_box(count.wrapping_add(1));
    }
}

fn grow() -> Outcome {
    let mut taken = Vec::new();
    loop {
        taken.push(black_box(vec![1_u8; STEP_BYTES]));
    }
}

/// Asks for memory and touches it; false when there is too little.
fn reserve() -> bool {
    let mut taken: Vec<u8> = Vec::new();
    if taken.try_reserve_exact(WANTED_BYTES).is_err() {
        return false;
    }
    taken.resize(WANTED_BYTES, 1);
    black_box(&taken).len() == WANTED_BYTES
}
