//! Observations in other protocols, byte for byte (SPEC O3; CASES OU08, OU09).
//!
//! What each protocol is sent for the results of `tests/golden/results.json` stands beside them.
//! After a change that is meant, `UPDATE_GOLDEN=1` writes those files anew; the test fails then too,
//! so that somebody reads the difference and runs it again.

use serde_json::{Map, Value, json};
use tidegate::{observe, protocol};
use tidegate_contract::json;
use tidegate_contract::{Content, ExternalResult, JsonBounds, Observation, Status};

use crate::support::root;

/// The results of `tests/golden/results.json`, observed. The call's id and the source are added.
fn observations() -> Vec<(String, Observation)> {
    let results = include_str!("../golden/results.json");
    let results = json::parse(results, &JsonBounds::default()).unwrap();
    let observed = |(name, mut result): (String, Value)| {
        result["callId"] = json!("call_1");
        result["source"] = json!("lookup");
        let result = ExternalResult::from_value(result, &JsonBounds::default()).unwrap();
        (name, observe(result).unwrap())
    };
    let Value::Object(results) = results else {
        panic!("{results}")
    };
    assert!(results.len() >= 17, "the whole table is read");
    results.into_iter().map(observed).collect()
}

type Convert = fn(&Observation) -> Value;

const PROTOCOLS: [(&str, Convert); 4] = [
    ("openai-chat", protocol::openai_chat),
    ("openai-responses", protocol::openai_responses),
    ("anthropic", protocol::anthropic),
    ("mcp", protocol::mcp),
];

#[test]
fn o3_each_protocol_is_sent_what_its_golden_file_holds() {
    let mut renewed = Vec::new();
    for (name, convert) in PROTOCOLS {
        let messages: Map<String, Value> = observations()
            .iter()
            .map(|(case, observation)| (case.clone(), convert(observation)))
            .collect();
        let text = serde_json::to_string_pretty(&messages).unwrap() + "\n";
        let path = root().join(format!("tests/golden/{name}.json"));
        if std::env::var("UPDATE_GOLDEN").is_ok() {
            std::fs::write(&path, text).unwrap();
            renewed.push(name);
        } else {
            let golden = std::fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(
                text, golden,
                "{name}: if the change is meant, set UPDATE_GOLDEN=1 once"
            );
        }
    }
    assert!(
        renewed.is_empty(),
        "written anew: {renewed:?}; read the difference, then run again"
    );
}

/// Everything that a converted message gives a model to read.
fn words(message: &Value) -> String {
    match message {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks
                .iter()
                .map(|block| block["text"].as_str().unwrap_or("link"));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => words(message.get("content").or(message.get("output")).unwrap()),
    }
}

#[test]
fn ou09_no_failure_becomes_a_success_and_nothing_is_empty() {
    for (case, observation) in observations() {
        let failed = observation.status != Status::Success;
        for (name, convert) in PROTOCOLS {
            let message = convert(&observation);
            let flag = message.get("is_error").or(message.get("isError"));
            let has_flag = name == "anthropic" || name == "mcp";
            assert_eq!(flag, has_flag.then_some(&json!(failed)), "{name} {case}");
            let words = words(&message);
            assert!(!words.is_empty(), "{name} {case}");
            if failed {
                let status = observation.status.as_str();
                let code = observation.error.as_ref().unwrap().code();
                assert!(
                    words.starts_with(&format!("{status}: {code}: ")),
                    "{name} {case}: {words}"
                );
            }
        }
    }
}

#[test]
fn o3_a_failure_whose_message_tells_nothing_is_still_a_failure() {
    let (_, mut observation) = observations().pop().unwrap();
    observation.message.content = Content::Text("all is well".to_owned());
    for (name, convert) in PROTOCOLS {
        let said = words(&convert(&observation));
        assert_eq!(
            said, "unknown: OUTCOME_UNKNOWN: the connection broke\nall is well",
            "{name}"
        );
    }
    observation.error = None;
    for (name, convert) in PROTOCOLS {
        let said = words(&convert(&observation));
        assert_eq!(said, "unknown: no error was given\nall is well", "{name}");
    }
}

#[test]
fn o3_the_id_of_the_call_is_kept() {
    let (_, mut observation) = observations().remove(0);
    for id in ["call_1", "read:0", "é 1", &"x".repeat(256)] {
        observation.call_id = id.to_owned();
        assert_eq!(protocol::openai_chat(&observation)["tool_call_id"], id);
        assert_eq!(protocol::openai_responses(&observation)["call_id"], id);
        assert_eq!(protocol::anthropic(&observation)["tool_use_id"], id);
        assert_eq!(protocol::mcp(&observation)["_meta"]["tidegate/callId"], id);
    }
}

#[test]
fn ou08_line_separators_stay_in_one_line_of_json() {
    let text = "before\u{2028}after a\u{85}b c\u{2029}d";
    for (case, observation) in observations() {
        for (name, convert) in PROTOCOLS {
            let line = convert(&observation).to_string();
            assert!(!line.contains('\n'), "{name} {case}");
            if case == "success-line-separators" {
                let again: Value = serde_json::from_str(&line).unwrap();
                assert_eq!(words(&again), text, "{name}");
            }
        }
    }
}
