//! Calls from their arguments to their outcomes, with the provider's answer in place.

use serde_json::{Value, json};

use super::*;
use crate::bindings::tidegate::plugin::types::{Content, Status};

fn call(arguments: &Value) -> ToolCall {
    ToolCall {
        id: "call-1".to_owned(),
        name: "web_search".to_owned(),
        arguments: arguments.to_string(),
    }
}

fn answered(arguments: &Value, body: &Value) -> Outcome {
    execute(&call(arguments), "{}", |_, _| {
        Ok(body.to_string().into_bytes())
    })
}

fn error(outcome: &Outcome) -> (&str, &str) {
    let error = outcome.error.as_ref().expect("an error");
    (&error.code, &error.message)
}

#[test]
fn w2_a_query_becomes_one_path_with_nothing_of_it_as_it_stands() {
    for (config, path) in [
        (
            "{}",
            "/res/v1/web/search?q=a%20%26q%3D%C3%A9%23%2F..&count=3",
        ),
        (
            r#"{"provider":"searxng","origin":"http://127.0.0.1:1"}"#,
            "/search?q=a%20%26q%3D%C3%A9%23%2F..&format=json",
        ),
    ] {
        let mut asked = String::new();
        let search = call(&json!({"query": "a &q=\u{e9}#/..", "limit": 3}));
        let outcome = execute(&search, config, |_, path| {
            path.clone_into(&mut asked);
            Err(Failed)
        });
        assert_eq!(asked, path);
        assert_eq!(outcome.status, Status::Failed);
    }
}

#[test]
fn w1_results_are_text_data_and_references() {
    let body = json!({"web": {"results": [
        {"title": "One", "url": "https://one.example/", "description": "the <strong>first</strong>"},
        {"title": "Bad", "url": "ftp://bad.example/"},
        {"title": "Two", "url": "https://two.example/a"},
        {"title": "Three", "url": "https://three.example/"},
    ]}});
    let outcome = answered(&json!({"query": " x ", "limit": 2}), &body);
    assert_eq!(outcome.status, Status::Success);
    let Some(Content::Text(text)) = outcome.content else {
        panic!("no text");
    };
    assert_eq!(
        text,
        "1. One\nhttps://one.example/\nthe first\n\n2. Two\nhttps://two.example/a"
    );
    let structured: Value =
        serde_json::from_str(&outcome.structured_content.expect("data")).expect("JSON");
    assert_eq!(
        structured,
        json!({"query": "x", "truncated": true, "results": [
            {"title": "One", "url": "https://one.example/", "snippet": "the first"},
            {"title": "Two", "url": "https://two.example/a", "snippet": ""},
        ]})
    );
    let uris: Vec<&str> = outcome
        .references
        .iter()
        .map(|to| to.uri.as_str())
        .collect();
    assert_eq!(uris, ["https://one.example/", "https://two.example/a"]);
}

#[test]
fn w1_a_search_that_found_nothing_succeeds_and_says_so() {
    let outcome = answered(&json!({"query": "x"}), &json!({"type": "search"}));
    assert_eq!(outcome.status, Status::Success);
    assert!(matches!(outcome.content, Some(Content::Text(text)) if text.contains("nothing")));
    assert_eq!(
        outcome.structured_content.as_deref(),
        Some(r#"{"query":"x","results":[],"truncated":false}"#)
    );
}

#[test]
fn w3_every_fault_of_a_provider_is_told_in_the_same_words() {
    let search = json!({"query": "sk-test-9"});
    let no_answer = execute(&call(&search), "{}", |_, _| Err(Failed));
    let malformed = answered(&search, &json!({"message": "sk-test-9"}));
    for outcome in [no_answer, malformed] {
        assert_eq!(outcome.status, Status::Failed);
        assert_eq!(
            error(&outcome),
            ("WEB_SEARCH_FAILED", "the web search provider failed")
        );
        assert!(outcome.structured_content.is_none());
    }
}

#[test]
fn w3_nothing_is_asked_under_wrong_arguments_or_settings() {
    for (arguments, config, code) in [
        (json!({"query": "x\r\ny"}), "{}", "INVALID_ARGUMENTS"),
        (
            json!({"query": "x"}),
            r#"{"timeout_ms":0}"#,
            "CONFIG_INVALID",
        ),
        (
            json!({"query": "x"}),
            r#"{"key":"secret"}"#,
            "CONFIG_INVALID",
        ),
    ] {
        let outcome = execute(&call(&arguments), config, |_, _| panic!("asked"));
        assert_eq!(error(&outcome).0, code);
    }
}
