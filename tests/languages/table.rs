//! Queries over tables, in Python.

use serde_json::{Value, json};

use super::{answer, call, code, component, folder_with};

const TABLE: &str = "\u{feff}city,price,when\r\nUlm,10,2026-01-02\r\n\"Bad \"\"X\"\"\",2.5,2026-01-01\r\n\
                     Ulm,,2025-12-31\r\n\r\nKiel,7\r\n";

const LIST: &str =
    r#"[{"n": 1, "s": "1"}, {"n": 2.5, "deep": [1]}, {"n": 18446744073709551615, "s": null}]"#;

/// The rows of an answer to a query of a file with a text in it.
fn check(file: &str, text: &str, query: &Value, expected: &Value) {
    let Some(table) = component("table") else {
        return;
    };
    let folder = folder_with(file, text);
    let mut arguments = query.clone();
    arguments["path"] = json!(file);
    let found = answer(&call(folder.path(), &table, "table_query", &arguments));
    assert_eq!(&found["rows"], expected, "{query}");
}

#[test]
fn p2_rows_of_csv_are_filtered_by_all_conditions() {
    let ulm = json!({"column": "city", "op": "eq", "value": "Ulm"});
    let check = |query: Value, expected: Value| check("t.csv", TABLE, &query, &expected);
    check(
        json!({"where": [ulm], "select": ["when"]}),
        json!([{"when": "2026-01-02"}, {"when": "2025-12-31"}]),
    );
    check(
        json!({"where": [{"column": "price", "op": "gte", "value": 7}], "select": ["price"]}),
        json!([{"price": "10"}, {"price": "7"}]),
    );
    check(
        json!({"where": [{"column": "price", "op": "lt", "value": "7"}], "select": ["price"]}),
        json!([{"price": "10"}, {"price": "2.5"}, {"price": ""}]),
    );
    check(
        json!({"where": [ulm, {"column": "price", "op": "empty"}]}),
        json!([{"city": "Ulm", "price": "", "when": "2025-12-31"}]),
    );
    check(
        json!({"where": [{"column": "city", "op": "contains", "value": "\"X\""}], "select": ["city"]}),
        json!([{"city": "Bad \"X\""}]),
    );
    check(
        json!({"where": [{"column": "when", "op": "empty"}], "select": ["city"]}),
        json!([{"city": "Kiel"}]),
    );
}

#[test]
fn p2_rows_are_aggregated_by_group() {
    check(
        "t.csv",
        TABLE,
        &json!({"groupBy": ["city"], "aggregate": [
            {"op": "count"}, {"op": "sum", "column": "price"}, {"op": "min", "column": "when"},
        ]}),
        &json!([
            {"city": "Ulm", "count": 2, "sum(price)": 10, "min(when)": "2025-12-31"},
            {"city": "Bad \"X\"", "count": 1, "sum(price)": 2.5, "min(when)": "2026-01-01"},
            {"city": "Kiel", "count": 1, "sum(price)": 7, "min(when)": null},
        ]),
    );
    check(
        "t.csv",
        TABLE,
        &json!({"aggregate": [{"op": "avg", "column": "price"}, {"op": "max", "column": "price"},
            {"op": "count", "column": "price"}]}),
        &json!([{"avg(price)": 6.5, "max(price)": 10, "count(price)": 3}]),
    );
}

#[test]
fn p2_values_of_json_keep_their_kinds() {
    let check = |query: Value, expected: Value| check("t.json", LIST, &query, &expected);
    let one = |op: &str, column: &str, value: Value| json!({"where": [{"column": column, "op": op, "value": value}], "select": ["n"]});
    check(one("eq", "n", json!(1)), json!([{"n": 1}]));
    check(one("eq", "s", json!("1")), json!([{"n": 1}]));
    check(one("eq", "n", json!("1")), json!([]));
    check(
        one("eq", "s", Value::Null),
        json!([{"n": 2.5}, {"n": u64::MAX}]),
    );
    check(one("eq", "n", json!(true)), json!([]));
    check(
        json!({"select": ["deep"], "limit": 2}),
        json!([{"deep": null}, {"deep": [1]}]),
    );
    // Beyond what JSON keeps exactly it is a float.
    let sum = json!({"aggregate": [{"op": "sum", "column": "n"}]});
    check(sum, json!([{"sum(n)": 1.844_674_407_370_955_2e19}]));
}

#[test]
fn p2_more_rows_than_asked_for_are_told() {
    let Some(table) = component("table") else {
        return;
    };
    let folder = folder_with("t.csv", "a;b\n1;2\n3;4\n");
    for (limit, is_cut) in [(1, true), (2, false)] {
        let arguments = json!({"path": "t.csv", "delimiter": ";", "limit": limit});
        let output = call(folder.path(), &table, "table_query", &arguments);
        assert_eq!(answer(&output)["truncated"], json!(is_cut));
        assert!(
            output.json()["content"]
                .as_str()
                .unwrap()
                .starts_with("a,b\n1,2\n")
        );
    }
}

#[test]
fn p2_what_is_no_table_is_a_failure_that_says_so() {
    let Some(table) = component("table") else {
        return;
    };
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    let wide = format!("a\n{}\n", "x".repeat(65_537));
    let groups: Vec<String> = (0..=1_000).map(|n| n.to_string()).collect();
    let groups = groups.join("\n");
    let sum = json!({"aggregate": [{"op": "sum", "column": "a"}]});
    let group = json!({"groupBy": ["a"], "aggregate": [{"op": "count"}]});
    for (file, text, query, expected) in [
        ("t.csv", "", json!({}), "MALFORMED"),
        ("t.csv", "a,a\n", json!({}), "MALFORMED"),
        ("t.csv", "a\n1,2\n", json!({}), "MALFORMED"),
        ("t.csv", "a\n\"x\"y\n", json!({}), "MALFORMED"),
        ("t.csv", "a\n\"x", json!({}), "MALFORMED"),
        ("t.csv", &*wide, json!({}), "TOO_LARGE"),
        ("t.csv", "a\nx\n", sum.clone(), "NOT_A_NUMBER"),
        ("t.csv", "b\nx\n", sum, "UNKNOWN_COLUMN"),
        ("t.csv", &*format!("a\n{groups}"), group, "TOO_MANY_GROUPS"),
        ("t.json", "{}", json!({}), "MALFORMED"),
        ("t.json", "[1]", json!({}), "MALFORMED"),
        ("t.json", "[{}] x", json!({}), "MALFORMED"),
        ("t.json", "[{\"a\":NaN}]", json!({}), "MALFORMED"),
        ("t.json", "[{\"a\":1e999}]", json!({}), "MALFORMED"),
        ("t.json", &*deep, json!({}), "MALFORMED"),
    ] {
        let folder = folder_with(file, text);
        let mut arguments = query;
        arguments["path"] = json!(file);
        let output = call(folder.path(), &table, "table_query", &arguments);
        assert_eq!(code(&output), expected, "{file}: {text:.40}");
    }
}

#[test]
fn p1_queries_that_a_schema_cannot_judge_are_refused_by_validate() {
    let Some(table) = component("table") else {
        return;
    };
    let folder = folder_with("t.csv", "a\n1\n");
    for (query, place) in [
        (json!({"groupBy": ["a"]}), "#/groupBy"),
        (
            json!({"select": ["a"], "aggregate": [{"op": "count"}]}),
            "#/select",
        ),
        (json!({"aggregate": [{"op": "sum"}]}), "#/aggregate/0"),
        (json!({"where": [{"column": "a", "op": "eq"}]}), "#/where/0"),
        (
            json!({"where": [{"column": "a", "op": "empty", "value": 1}]}),
            "#/where/0",
        ),
        (
            json!({"where": [{"column": "a", "op": "contains", "value": 1}]}),
            "#/where/0",
        ),
        (
            json!({"where": [{"column": "a", "op": "lt", "value": null}]}),
            "#/where/0",
        ),
        (json!({"delimiter": "\""}), "#/delimiter"),
    ] {
        let mut arguments = query;
        arguments["path"] = json!("t.csv");
        let output = call(folder.path(), &table, "table_query", &arguments);
        assert_eq!((output.exit, &*code(&output)), (2, "INVALID_ARGUMENTS"));
        assert!(output.stdout.contains(place), "{}", output.stdout);
    }
}
