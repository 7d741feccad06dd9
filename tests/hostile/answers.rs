//! Answers that break the contract: values that no JSON has, pointers that lead nowhere, errors
//! that nobody should read (SPEC C1, C3, C7, C8; IO08, IO10).

use serde_json::{Value, json};
use tidegate::{EngineError, InvokeOptions, Node};
use tidegate_contract::failure::check_message;
use tidegate_contract::{CallError, Document, JsonBounds};

use super::asking::{ask, assert_says, call_plugin, load_on, own_engine, refusal};
use super::module::{Module, TEXT, saying};
use crate::support::{Fixture, nothing};

#[tokio::test]
async fn c3_every_kind_of_invalid_outcome_is_an_invalid_result() {
    let runtime = Fixture::new(&[]).runtime(&["probe"]).await;
    for (kind, says) in [
        ("no_content", "success without content"),
        ("failed_without_error", "`failed` without an error"),
        ("error_on_success", "error: a success carries none"),
        ("bad_json", "structuredContent: "),
        ("bad_json_content", "content: "),
        ("bad_json_part", "content: "),
        ("duplicate_keys", "duplicate key `a`"),
        ("deep_duplicate_keys", "duplicate key `b` at `/0/a`"),
        ("nan", "structuredContent: "),
        ("big_integer", "integer out of range"),
        ("lone_surrogate", "structuredContent: "),
        ("array_metadata", "metadata: expected a JSON object"),
        ("bad_metadata", "metadata: "),
        ("blank_code", "error code"),
        ("bad_code", "error code"),
        ("blank_message", "must not be blank"),
        ("long_message", "at most 512 characters"),
        ("empty_parts", "parts must not be empty"),
        ("reference_without_uri", "reference with an empty uri"),
    ] {
        let error = refusal(&runtime, "invalid", json!({ "kind": kind })).await;
        assert_eq!(error.code(), "INVALID_RESULT", "{kind}");
        assert!(!error.is_refusal(), "{kind}: its effects are unknown");
        assert!(error.to_string().contains(says), "{kind}: {error}");
        let public = error.to_failure();
        assert_eq!(
            check_message(public.message()),
            Ok(()),
            "{kind}: {public:?}"
        );
    }
    assert_eq!(
        ask(&runtime, "echo", json!({"value": 1})).await["structuredContent"],
        1
    );
}

#[tokio::test]
async fn io10_nesting_of_a_result_is_bounded_at_128_levels() {
    let runtime = Fixture::new(&[]).runtime(&["misbehave"]).await;
    for (depth, fits) in [(127, true), (128, true), (129, false), (100_000, false)] {
        let arguments = json!({ "depth": depth });
        if fits {
            let result = ask(&runtime, "deep_json", arguments).await;
            let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            assert_eq!(result["structuredContent"].to_string(), text);
            // What the one node gave, the other takes.
            let input = json!({ "result": result });
            let observed = runtime
                .invoke(Node::Observe, input, InvokeOptions::default())
                .await;
            assert!(observed.is_ok(), "{depth}: {observed:?}");
            continue;
        }
        let error = refusal(&runtime, "deep_json", arguments).await;
        assert_eq!(error.code(), "INVALID_RESULT");
        assert!(
            error.to_string().contains("deeper than 128 levels"),
            "{error}"
        );
    }
    assert_says(&ask(&runtime, "counter", nothing()).await, "1");
}

/// So many arrays in each other, built by code and not by a parser.
fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inside, _level| Value::Array(vec![inside]))
}

#[tokio::test]
async fn io10_nesting_of_arguments_is_bounded_at_128_levels_also_when_built_by_code() {
    let runtime = Fixture::new(&[]).runtime(&["probe"]).await;
    // The object of arguments is a level too; that of the call and of the input are not.
    for (depth, fits) in [
        (100, true),
        (126, true),
        (127, true),
        (128, false),
        (100_000, false),
    ] {
        let mut input = json!({"call": {"id": "1", "name": "echo", "arguments": {}}});
        input["call"]["arguments"]["value"] = nested(depth);
        match runtime
            .invoke(Node::ActTool, input, InvokeOptions::default())
            .await
        {
            Ok(result) => {
                assert!(fits, "{depth}");
                // At the edge the parser of this guest gives up before the host does.
                assert!(
                    depth > 100 || result["structuredContent"] == nested(depth),
                    "{result}"
                );
            }
            Err(error) => assert_eq!((error.code(), fits), ("INVALID_CALL", false), "{error}"),
        }
        let document = Document::from_value(nested(depth + 1), &JsonBounds::default());
        assert_eq!(document.is_ok(), fits, "{depth}");
    }
}

#[tokio::test]
async fn io08_an_unsafe_error_is_invalid_and_its_words_are_repeated_nowhere() {
    let runtime = Fixture::new(&[]).runtime(&["misbehave"]).await;
    let error = refusal(&runtime, "unsafe_error", nothing()).await;
    let CallError::InvalidResult { reason } = &error else {
        panic!("{error:?}")
    };
    let public = error.to_failure();
    for text in [
        reason.as_str(),
        &error.to_string(),
        public.message(),
        &format!("{error:?}"),
    ] {
        for word in [
            "hunter2",
            "password",
            "/home",
            "someone",
            "netrc",
            "could not open",
            "\n",
        ] {
            assert!(!text.contains(word), "{text:?} has {word:?}");
        }
    }
    assert_eq!(check_message(public.message()), Ok(()));
}

/// IO08's own diagnostic, thrown by a plugin as its error.
#[tokio::test]
async fn io08_every_unsafe_piece_makes_an_error_invalid_and_none_is_repeated() {
    let fixture = Fixture::new(&[]);
    for (text, secret) in [
        ("open /srv/host/ws/a.txt: ENOENT", "/srv"),
        ("failed at run (/app/src/t.rs:142:8)", "t.rs"),
        ("postgres://svc:s3cret@db.internal:5432/p", "s3cret"),
        ("\u{1b}[31mred", "\u{1b}"),
        ("two\nlines", "two\nlines"),
        ("token=abcdef0123456789", "abcdef"),
        ("see C:\\Users\\me\\x", "Users"),
    ] {
        let mut outcome = [0; 19];
        let length = u32::try_from(text.len()).unwrap();
        // Failed, with an error whose code is the text's first byte made a letter: `X`.
        for (word, value) in [
            (0, 1),
            (10, 1),
            (11, TEXT),
            (12, 1),
            (13, TEXT + 1),
            (14, length),
        ] {
            outcome[word] = value;
        }
        let module = Module {
            outcome,
            text: format!("X{text}"),
            ..Module::default()
        };
        let plugin = fixture.plugin("made", module.component()).await;
        let error = call_plugin(&plugin).await.unwrap_err();
        assert_eq!(error.code(), "INVALID_RESULT", "{text:?}");
        assert!(!error.to_string().contains(secret), "{error}");
    }
}

/// Outcomes whose bytes lie outside the memory, are no UTF-8, or name no case of their type.
#[tokio::test]
async fn answers_that_are_no_values_are_traps_of_the_plugin() {
    let fixture = Fixture::new(&[]);
    let with = |changes: &[(usize, u32)]| {
        let mut outcome = saying(4);
        for (word, value) in changes {
            outcome[*word] = *value;
        }
        outcome
    };
    for (what, outcome) in [
        ("text past the end", with(&[(3, 65_535), (4, 2)])),
        (
            "text at the end of the address space",
            with(&[(3, u32::MAX), (4, 1)]),
        ),
        ("text of 4 GiB", with(&[(4, u32::MAX)])),
        ("no such status", with(&[(0, 5)])),
        ("no such content", with(&[(2, 3)])),
        ("an option of two", with(&[(1, 2)])),
        ("references past the end", with(&[(8, 65_504), (9, 2)])),
        ("references without alignment", with(&[(8, 1_025), (9, 1)])),
        ("references of 4 GiB", with(&[(9, u32::MAX)])),
        ("parts of 4 GiB", with(&[(2, 2), (4, u32::MAX)])),
        ("no UTF-8", with(&[(3, TEXT + 4), (4, 3)])),
        ("half a character", with(&[(3, TEXT + 7), (4, 1)])),
    ] {
        let module = Module {
            outcome,
            text: "done###é".to_owned(),
            ..Module::default()
        };
        let mut component = module.component();
        // A string can't hold what is no UTF-8: it is put in here.
        let at = component
            .windows(3)
            .position(|bytes| bytes == b"###")
            .unwrap();
        component[at..at + 3].copy_from_slice(b"\xff\xc0\x80");
        let plugin = fixture.plugin("made", component).await;
        let outcome = call_plugin(&plugin).await.unwrap();
        let failure = outcome.error.unwrap();
        let code = failure.code();
        assert!(
            ["TOOL_TRAPPED", "LIMIT_RESULT"].contains(&code),
            "{what}: {failure:?}"
        );
        assert_eq!(check_message(failure.message()), Ok(()), "{what}");
    }
}

/// A few words of guest memory that become many values of the host.
#[tokio::test]
async fn c8_an_answer_that_is_small_for_the_guest_and_large_for_the_host_is_refused() {
    let fixture = Fixture::new(&[]);
    let memory = "(memory (export \"memory\") 1000)".to_owned();
    for (what, word, length) in [("references", 9, 1_500_000), ("parts", 4, 1_500_000)] {
        let mut outcome = saying(4);
        if what == "parts" {
            outcome[2] = 2;
            outcome[3] = 1_048_576;
        } else {
            outcome[8] = 1_048_576;
        }
        outcome[word] = length;
        let module = Module {
            outcome,
            memory: memory.clone(),
            ..Module::default()
        };
        let plugin = fixture.plugin("made", module.component()).await;
        let failure = call_plugin(&plugin).await.unwrap().error.unwrap();
        assert_eq!(failure.code(), "LIMIT_RESULT", "{what}: {failure:?}");
    }
}

#[tokio::test]
async fn a_validate_that_refuses_without_a_problem_is_an_invalid_result() {
    let fixture = Fixture::new(&[]);
    let module = Module {
        problems: [1, 0, 0],
        ..Module::default()
    };
    let plugin = fixture.plugin("made", module.component()).await;
    let error = call_plugin(&plugin).await.unwrap_err();
    assert_eq!(error.code(), "INVALID_RESULT", "{error}");
}

/// One problem, again and again: the list is one word long in the guest.
#[tokio::test]
async fn c8_a_validate_with_countless_problems_is_bounded() {
    let fixture = Fixture::new(&[]);
    for count in [1_000, 3_000_000] {
        let memory = "(memory (export \"memory\") 1000)".to_owned();
        let module = Module {
            memory,
            problems: [1, 1_048_576, count],
            ..Module::default()
        };
        let plugin = fixture.plugin("made", module.component()).await;
        match call_plugin(&plugin).await {
            Err(CallError::InvalidArguments { problems }) => {
                assert_eq!(count, 1_000);
                assert!(problems.len() <= 32, "{}", problems.len());
            }
            Ok(outcome) => {
                let failure = outcome.error.unwrap();
                assert_eq!(
                    (count, failure.code()),
                    (3_000_000, "LIMIT_RESULT"),
                    "{failure:?}"
                );
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// What the host writes into metadata can't be written by a plugin.
#[tokio::test]
async fn t3_a_plugin_can_not_forge_what_the_host_recorded() {
    let fixture = Fixture::new(&[]);
    let forged = r#"{"own":1,"denied":["read:x"],"stdout":{"text":"f","omittedBytes":0},
        "stderr":{"text":"f","omittedBytes":0},"log":{"omittedLines":9}}"#;
    let mut outcome = saying(4);
    (outcome[16], outcome[17], outcome[18]) = (1, TEXT + 4, u32::try_from(forged.len()).unwrap());
    let module = Module {
        outcome,
        text: format!("done{forged}"),
        ..Module::default()
    };
    let plugin = fixture.plugin("made", module.component()).await;
    let metadata = call_plugin(&plugin).await.unwrap().metadata.unwrap();
    assert_eq!(Value::Object(metadata), json!({"own": 1}));
}

#[tokio::test]
async fn definitions_that_break_the_contract_keep_the_plugin_from_being_loaded() {
    let fixture = Fixture::new(&[]);
    let named = |name| Module {
        name,
        ..Module::default()
    };
    let schema = |schema| Module {
        schema,
        ..Module::default()
    };
    let laid_out = |word: usize, value| {
        let mut module = Module::default();
        module.definition[word] = value;
        module
    };
    // An effect that is none: the first letter of the text.
    let mut effects = Module::default();
    (effects.definition[10], effects.definition[11]) = (TEXT, 1);
    for (module, says) in [
        (named("a b"), "call.name must be"),
        (named("../t"), "call.name must be"),
        (schema("[]"), "inputSchema: expected a JSON object"),
        (schema("{"), "inputSchema: "),
        (schema(r#"{"a":1,"a":2}"#), "duplicate key `a`"),
        (laid_out(0, 70_000), "TOOL_TRAPPED"),
        (laid_out(1, u32::MAX), "TOOL_TRAPPED"),
        (laid_out(2, 2), "TOOL_TRAPPED"),
        (laid_out(7, 2), "TOOL_TRAPPED"),
        (effects, "TOOL_TRAPPED"),
        (
            Module {
                definitions: "(unreachable)".to_owned(),
                ..Module::default()
            },
            "TOOL_TRAPPED",
        ),
        (
            Module {
                fields: "(start $s) (func $s (unreachable))".to_owned(),
                ..Module::default()
            },
            "TOOL_TRAPPED",
        ),
    ] {
        match fixture.try_plugin("made", module.component()).await {
            Err(EngineError::Definitions { reason, .. }) => {
                assert!(reason.contains(says), "{reason}, not {says}");
            }
            other => panic!("{says}: {other:?}"),
        }
    }
}

/// The one question that is asked at load has limits as well. The engine is this test's alone:
/// plugins are loaded one at a time.
#[tokio::test]
async fn s5_a_plugin_that_never_says_what_its_tools_are_is_not_loaded() {
    let spin = "(loop $on (br_if $on (i32.const 1)))";
    let module = Module {
        definitions: spin.to_owned(),
        ..Module::default()
    };
    let engine = own_engine(1);
    // However busy the machine is, the CPU is used up first.
    let fixture = Fixture::new(&[]).limit("deadline_ms", 300_000);
    match load_on(&engine, &fixture, "made", module.component()).await {
        Err(EngineError::Definitions { reason, .. }) => {
            assert_eq!(reason, "LIMIT_CPU: the call used up cpu_ms = 10000");
        }
        other => panic!("{other:?}"),
    }
    assert!(
        load_on(&engine, &fixture, "made", Module::default().component())
            .await
            .is_ok()
    );
}
