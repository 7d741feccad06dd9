//! Arguments that are taken, and those that are refused with their place.

use serde_json::json;

use super::*;

fn read(arguments: &Value) -> Result<Arguments, Vec<(String, String)>> {
    let pair = |problem: Problem| (problem.pointer, problem.reason);
    Arguments::read(NAME, &arguments.to_string())
        .map_err(|problems| problems.into_iter().map(pair).collect())
}

#[test]
fn w1_a_query_is_trimmed_and_the_limit_is_five_when_not_told() {
    let search = |query: &str, limit| {
        Ok(Arguments {
            query: query.to_owned(),
            limit,
        })
    };
    assert_eq!(
        read(&json!({"query": "  rust\twasm "})),
        search("rust\twasm", 5)
    );
    for limit in [1, 5, 20] {
        assert_eq!(
            read(&json!({"query": "x", "limit": limit})),
            search("x", limit)
        );
    }
    assert_eq!(read(&json!({"query": "x", "limit": 20.0})), search("x", 20));
}

#[test]
fn w1_a_query_has_at_most_600_characters_and_75_words() {
    let longest = "\u{e9}".repeat(600);
    let most_words = vec!["w"; 75].join("  ");
    for good in [longest.as_str(), &most_words, "-", "\"", "\u{1f980}"] {
        assert!(read(&json!({"query": good})).is_ok(), "{good}");
    }
    for (bad, reason) in [
        (format!("{longest}x"), "must have at most 600 characters"),
        (format!("{most_words} w"), "must have at most 75 words"),
        (String::new(), "must not be blank"),
        (" \t\u{a0}\u{3000}".to_owned(), "must not be blank"),
    ] {
        let expected = Err(vec![("/query".to_owned(), reason.to_owned())]);
        assert_eq!(read(&json!({"query": bad})), expected);
    }
}

#[test]
fn ne13_a_query_is_one_line_without_control_characters() {
    for end in [
        "\r\nX-Evil: 1",
        "\n",
        "\r",
        "\0",
        "\u{b}",
        "\u{7f}",
        "\u{85}",
        "\u{2028}",
        "\u{2029}",
    ] {
        let reason = "must be one line without control characters".to_owned();
        let expected = Err(vec![("/query".to_owned(), reason)]);
        assert_eq!(read(&json!({"query": format!("x{end}")})), expected);
    }
}

#[test]
fn w1_a_limit_is_a_whole_number_from_1_to_20() {
    for bad in [
        json!(0),
        json!(21),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!("5"),
        json!(null),
        json!(true),
    ] {
        let reason = "must be a whole number from 1 to 20".to_owned();
        let expected = Err(vec![("/limit".to_owned(), reason)]);
        assert_eq!(read(&json!({"query": "x", "limit": bad})), expected);
    }
}

#[test]
fn w1_every_problem_is_told_with_its_place() {
    let problems = read(&json!({"limit": 0, "a/b~": 1})).expect_err("refused");
    let places: Vec<&str> = problems.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(places, ["/a~1b~0", "/query", "/limit"]);
    for (arguments, reason) in [
        ("[]", "the arguments must be an object"),
        ("{", "the arguments are not JSON"),
        (r#"{"query":1e400}"#, "the arguments are not JSON"),
    ] {
        let problems = Arguments::read(NAME, arguments).expect_err("refused");
        assert_eq!(problems[0].reason, reason);
    }
    assert!(Arguments::read("search", "{}").is_err());
}
