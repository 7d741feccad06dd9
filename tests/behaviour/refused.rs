//! Flows that are refused before anything runs: bounds, paths that lead nowhere, conditions that can't
//! hold (SPEC I11, I7).

use serde_json::{Value, json};
use tidegate::flow::{AgentName, Channel, Contract, Known};
use tidegate_contract::JsonObject;

use super::acting::flow_of;
use super::agents::asking;

fn at(path: &str) -> Value {
    json!({ "$path": path })
}

/// What is wrong with a flow, and where it stands.
fn problem(flow: &Value, known: &Known<'_>) -> Option<(String, String)> {
    let flow = flow_of(json!({"id": "a", "flow": flow}));
    let problem = flow.check_with(known).err()?;
    Some((problem.place.to_string(), problem.to_string()))
}

fn check(flow: &Value, expected: Option<(&str, &str)>) {
    let expected = expected.map(|(place, words)| (place.to_owned(), words.to_owned()));
    assert_eq!(problem(flow, &Known::default()), expected, "{flow}");
}

#[test]
fn i11_lanes_have_a_hard_maximum_nested_fanouts_multiplied() {
    let fanout = |name: &str, max: u64, body: Value| {
        json!({"fanout": {
            "name": name, "items": [], "bind": "i", "max_items": max, "body": body,
        }})
    };
    let nested =
        |outer: u64, inner: u64| fanout("o", outer, fanout("f", inner, json!({"seq": []})));
    let passed = |name: &str| {
        format!(
            "fanout `{name}`: max_items must be from 1 to 10000, multiplied by that of the fanouts \
             around it"
        )
    };
    for (outer, inner) in [(1, 9_999), (1, 10_000), (10_000, 1), (100, 100)] {
        check(&nested(outer, inner), None);
    }
    for (outer, inner) in [(1, 10_001), (1, 0), (100, 101)] {
        check(&nested(outer, inner), Some(("0[0]", &passed("f"))));
    }
    for outer in [0, 10_001] {
        check(&nested(outer, 1), Some(("0", &passed("o"))));
    }
}

#[test]
fn c8_loops_and_fanouts_multiply_to_at_most_100000() {
    let nested = |is_loop_outside: bool, turns: u64, lanes: u64| {
        let iterate = |body: Value| {
            json!({"loop": {
                "name": "l", "body": body, "done": at("$.l"), "max_iterations": turns,
            }})
        };
        let fan = |body: Value| {
            json!({"fanout": {
                "name": "f", "items": [], "bind": "i", "max_items": lanes, "body": body,
            }})
        };
        let seq = json!({"seq": []});
        if is_loop_outside {
            iterate(fan(seq))
        } else {
            fan(iterate(seq))
        }
    };
    let passed = |name: &str| {
        format!(
            "`{name}`: max_iterations and max_items of all loops and fanouts around a node, \
             multiplied, must be at most 100000"
        )
    };
    for (is_loop_outside, inner) in [(true, "f"), (false, "l")] {
        for (turns, lanes) in [(10, 9_999), (10, 10_000), (10_000, 10)] {
            check(&nested(is_loop_outside, turns, lanes), None);
        }
        // 100,001.
        let flow = nested(is_loop_outside, 11, 9_091);
        check(&flow, Some(("0[0]", &passed(inner))));
    }
}

#[test]
fn c8_the_parts_of_a_flow_are_counted() {
    let listed = |items: usize| json!({"assign": {"$.a": vec![1; items]}});
    let entries = |count: usize| {
        let entry = |at: usize| (format!("$.a{at}"), json!(1));
        json!({"assign": (0..count).map(entry).collect::<serde_json::Map<_, _>>()})
    };
    let words = "the flow has more than 20000 parts: entries of assignments, names in `after`, and \
                 values in expressions";
    // The entry and its list are two parts more.
    for items in [19_997, 19_998] {
        check(&listed(items), None);
    }
    check(&listed(19_999), Some(("0", words)));
    check(&entries(10_000), None);
    check(&entries(10_001), Some(("0", words)));
    let both = json!({"seq": [listed(10_000), listed(10_000)]});
    check(&both, Some(("0.1", words)));
    // What a literal holds is data.
    check(&json!({"assign": {"$.a": {"$lit": vec![1; 30_000]}}}), None);
}

#[test]
fn i11_lanes_at_once_are_from_1_to_1024() {
    let fanout = |concurrency: u32| {
        json!({"fanout": {
            "name": "f", "items": [], "bind": "i", "body": {"seq": []}, "concurrency": concurrency,
        }})
    };
    for fits in [1, 1_023, 1_024] {
        check(&fanout(fits), None);
    }
    for wrong in [0, 1_025] {
        let words = format!("fanout `f`: concurrency must be from 1 to 1024, not {wrong}");
        check(&fanout(wrong), Some(("0", &words)));
    }
    let same = json!({"fanout": {
        "name": "f", "items": [], "bind": "i", "index": "i", "body": {"seq": []},
    }});
    check(
        &same,
        Some(("0", "fanout `f`: `bind` and `index` are the same")),
    );
}

#[test]
fn i11_a_branch_with_one_way_is_refused() {
    let branch = |cond: Value| json!({"seq": [{"assign": {}}, {"branch": {"cond": cond, "then": {"seq": []}}}]});
    let always = |value: bool| {
        format!("the condition of the branch at 0.1 is always {value}: one way is never taken")
    };
    check(&branch(json!(true)), Some(("0.1", &always(true))));
    check(
        &branch(json!({"$eq": [1, {"$add": [1, 1]}]})),
        Some(("0.1", &always(false))),
    );
    let never = "the condition of the branch at 0.1 is never true or false";
    for cond in [
        json!(1),
        json!("true"),
        json!(null),
        json!([at("$.a")]),
        json!({"a": at("$.a")}),
        json!({"$add": [at("$.a"), 1]}),
        json!({"$len": at("$.a")}),
        json!({"$lt": [1, "a"]}),
    ] {
        check(&branch(cond), Some(("0.1", never)));
    }
    for cond in [
        at("$.a"),
        json!({"$exists": "$.a"}),
        json!({"$lt": [{"$len": at("$.a")}, 1]}),
    ] {
        check(&branch(cond), None);
    }
}

#[test]
fn i11_places_are_written_once_and_never_inside_a_list() {
    let twice = "the assign at 0 writes $.a.b twice";
    check(&json!({"assign": {"$.a": 1, "$.b": 2}}), None);
    check(
        &json!({"assign": {"$.a": 1, "$.a.b": 2}}),
        Some(("0", twice)),
    );
    check(
        &json!({"assign": {"$[\"a\"]": 1, "$.a": 2}}),
        Some(("0", "the assign at 0 writes $.a twice")),
    );
    let item = "writes $.a[0], but an item of a list can't be written";
    check(
        &json!({"assign": {"$.a[0]": 1}}),
        Some(("0", &format!("`assign` {item}"))),
    );
    let mut step = asking("s", "a", &json!({}));
    step["step"]["out"] = json!("$.a[0]");
    check(&step, Some(("0", &format!("`s` {item}"))));
    check(
        &json!({"graph": [step["step"]]}),
        Some(("0", &format!("`s` {item}"))),
    );
}

#[test]
fn i11_nodes_of_other_shapes_are_refused_when_they_are_read() {
    let none = json!({"seq": []});
    for (node, words) in [
        (json!({"branch": {"cond": true}}), "missing field `then`"),
        (
            json!({"branch": {"cond": true, "then": none, "otherwise": none}}),
            "unknown field `otherwise`",
        ),
        (
            json!({"fanout": {"name": "f", "items": [], "body": none}}),
            "missing field `bind`",
        ),
        (
            json!({"fanout": {"name": "f", "items": [], "bind": "i", "body": none, "join": "most"}}),
            "unknown variant `most`, expected one of `all`, `any`, `race`, `all_settled`",
        ),
        (json!({"try": {"body": none}}), "missing field `catch`"),
        (
            json!({"try": {"body": none, "catch": {"body": none}}}),
            "missing field `as`",
        ),
        (json!({"assign": {"a": 1}}), "`a` is no path"),
        (json!({"assign": []}), "a mapping from paths to expressions"),
        (
            json!({"while": {}}),
            "unknown variant `while`, expected one of `step`, `seq`, `graph`",
        ),
    ] {
        let read = serde_json::from_value::<tidegate::flow::Node>(node.clone());
        let error = read.unwrap_err().to_string();
        assert!(error.contains(words), "{node}: {error}");
    }
}

/// The first path that leads nowhere with this input.
fn nowhere(flow: &Value, input: &Value) -> Option<String> {
    let input: JsonObject = input.as_object().unwrap().clone();
    let known = Known {
        input: Some(&input),
        contracts: None,
    };
    problem(flow, &known).map(|(place, words)| format!("{place}: {words}"))
}

fn echo(name: &str, input: &Value) -> Value {
    asking(name, "echo", input)
}

#[test]
fn i11_a_path_that_nothing_before_writes_is_refused() {
    let words = |place: &str, step: &str, path: &str| {
        Some(format!(
            "{place}: `{step}` reads {path}, and nothing that comes before can have written it"
        ))
    };
    let reads = |path: &str| echo("s", &at(path));
    let none = json!({});
    let check = |flow: &Value, input: &Value, expected: Option<String>| {
        assert_eq!(nowhere(flow, input), expected, "{flow}");
    };
    check(&reads("$.a"), &none, words("0", "s", "$.a"));
    check(&reads("$.a"), &json!({"a": null}), None);
    check(&reads("$.a.b"), &json!({"a": {"b": 1}}), None);
    check(
        &reads("$.a.c"),
        &json!({"a": {"b": 1}}),
        words("0", "s", "$.a.c"),
    );
    check(
        &reads("$.a[1]"),
        &json!({"a": [1]}),
        words("0", "s", "$.a[1]"),
    );
    check(&reads("$"), &none, None);
    // A step reads what comes before it, never its own output or a later one.
    let earlier = json!({"seq": [echo("a", &none), reads("$.a.any.part[3]")]});
    check(&earlier, &none, None);
    let later = json!({"seq": [reads("$.a"), echo("a", &none)]});
    check(&later, &none, words("0.0", "s", "$.a"));
    check(&reads("$.s"), &none, words("0", "s", "$.s"));
    // In a loop what comes later was written by the iteration before.
    let around = json!({"loop": {
        "name": "l", "bind": {"b": at("$.l")}, "body": {"seq": [reads("$.a"), echo("a", &at("$.b"))]},
        "done": at("$.s"),
    }});
    check(&around, &none, None);
    // Lanes keep what they write, and see the item.
    let lanes = |after: &str| {
        json!({"seq": [
            {"fanout": {"name": "f", "items": [1], "bind": "i", "index": "n", "body": {"seq": [
                echo("in", &json!([at("$.i"), at("$.n")])), echo("more", &at("$.in")),
            ]}}},
            reads(after),
        ]})
    };
    check(&lanes("$.f[0].in"), &none, None);
    check(&lanes("$.in"), &none, words("0.1", "s", "$.in"));
    check(&lanes("$.i"), &none, words("0.1", "s", "$.i"));
    let assigned = json!({"seq": [{"assign": {"$.x.y": at("$.z")}}]});
    check(&assigned, &none, words("0.0", "assign $.x.y", "$.z"));
}

#[test]
fn i11_a_path_that_may_not_be_needed_is_let_pass() {
    let none = json!({});
    let reads = |path: &str| echo("s", &at(path));
    let check = |flow: &Value, passes: bool| {
        assert_eq!(
            nowhere(flow, &json!({"mode": "x"})).is_none(),
            passes,
            "{flow}"
        );
    };
    let branch =
        |then: Value| json!({"branch": {"cond": {"$eq": [at("$.mode"), "file"]}, "then": then}});
    // Perhaps an input that only this way needs.
    check(&branch(reads("$.file")), true);
    check(
        &json!({"try": {"body": reads("$.file"), "catch": {"as": "e", "body": reads("$.e")}}}),
        true,
    );
    // A step's output that is not there yet is no input.
    check(
        &json!({"seq": [branch(reads("$.late")), echo("late", &none)]}),
        false,
    );
    check(
        &json!({"seq": [branch(echo("early", &none)), reads("$.early")]}),
        true,
    );
    let guarded = json!({"$and": [{"$exists": "$.no"}, {"$eq": [at("$.no.more"), 1]}]});
    check(&echo("s", &guarded), true);
    check(
        &echo("s", &json!({"$or": [at("$.mode"), at("$.no")]})),
        true,
    );
    check(
        &echo("s", &json!({"$or": [at("$.no"), at("$.mode")]})),
        false,
    );
    check(&echo("s", &json!({"$lit": at("$.no")})), true);
}

#[test]
fn i11_the_flows_result_is_checked_too() {
    let flow = flow_of(json!({"id": "a", "flow": {"seq": []}, "result": at("$.no")}));
    let input = JsonObject::new();
    let known = Known {
        input: Some(&input),
        contracts: None,
    };
    let words = "`result` reads $.no, and nothing that comes before can have written it";
    assert_eq!(flow.check_with(&known).unwrap_err().to_string(), words);
    assert_eq!(flow.check(), Ok(()), "the input is not known");
}

/// Checks a flow of an agent with a verdict and a branch on it.
fn judged(channel: Channel, cond: &Value) -> Option<String> {
    let contracts = |agent: &AgentName| {
        (agent.as_str() == "judge").then(|| Contract {
            channel,
            values: vec!["PASS".to_owned(), "BLOCKED".to_owned(), "true".to_owned()],
        })
    };
    let known = Known {
        input: None,
        contracts: Some(&contracts),
    };
    let flow = json!({"seq": [
        asking("gate", "judge", &json!({})),
        asking("free", "other", &json!({})),
        {"branch": {"cond": cond, "then": {"seq": []}}},
    ]});
    problem(&flow, &known).map(|(place, words)| format!("{place}: {words}"))
}

#[test]
fn i7_a_condition_that_no_verdict_meets_is_refused() {
    let eq = |path: &str, value: Value| json!({"$eq": [at(path), value]});
    let (gate, out, part) = ("$.gate", "$.gate.out", "$.gate.parts[\"verdict\"]");
    for (channel, cond) in [
        (Channel::Body, eq(gate, json!("PASS"))),
        (Channel::Body, eq(out, json!("BLOCKED"))),
        (Channel::Body, eq(gate, json!(true))),
        (Channel::Part, eq(part, json!("PASS"))),
        (
            Channel::Part,
            json!({"$in": [at(part), ["PASS", "BLOCKED"]]}),
        ),
        (
            Channel::Body,
            eq("$.gate.parts[\"notes\"]", json!("anything")),
        ),
        (Channel::Body, eq("$.free", json!("anything"))),
        (Channel::Body, json!({"$gt": [at(gate), "A"]})),
    ] {
        assert_eq!(judged(channel, &cond), None, "{cond}");
    }
    let verdict = |path: &str, value: &str| {
        format!(
            "0.2: the condition compares {path} with {value}, which is no verdict of agent \
             `judge`: PASS, BLOCKED, true"
        )
    };
    for cond in [
        eq(gate, json!("PASSED")),
        json!({"$not": {"$ne": ["PASSED", at(gate)]}}),
        json!({"$and": [eq(gate, json!("PASS")), eq(gate, json!("PASSED"))]}),
        json!({"$in": [at(gate), ["PASS", "PASSED"]]}),
    ] {
        assert_eq!(
            judged(Channel::Body, &cond),
            Some(verdict(gate, "\"PASSED\"")),
            "{cond}"
        );
    }
    assert_eq!(
        judged(Channel::Body, &eq(gate, json!(1))),
        Some(verdict(gate, "1"))
    );
    assert_eq!(
        judged(Channel::Part, &eq(part, json!("pass"))),
        Some(verdict("$.gate.parts.verdict", "\"pass\""))
    );
}

#[test]
fn i7_a_verdict_is_looked_for_in_its_own_channel() {
    let eq = |path: &str, value: Value| json!({"$eq": [at(path), value]});
    let (gate, out, part) = ("$.gate", "$.gate.out", "$.gate.parts[\"verdict\"]");
    let channel = |path: &str, place: &str| {
        format!("0.2: the condition compares {path}, but agent `judge` gives its verdict {place}")
    };
    let in_part = "in its part `verdict`: `parts[\"verdict\"]` in the step's value";
    let in_body = "in its final body: the step's value, or `out` in it";
    let pass = || json!("PASS");
    assert_eq!(
        judged(Channel::Part, &eq(gate, pass())),
        Some(channel(gate, in_part))
    );
    assert_eq!(
        judged(Channel::Part, &eq(out, pass())),
        Some(channel(out, in_part))
    );
    assert_eq!(
        judged(Channel::Body, &eq(part, pass())),
        Some(channel("$.gate.parts.verdict", in_body))
    );
}

#[test]
fn i7_what_may_be_something_else_is_not_judged() {
    let contracts = |_: &AgentName| {
        Some(Contract {
            channel: Channel::Body,
            values: vec!["PASS".to_owned()],
        })
    };
    let known = Known {
        input: None,
        contracts: Some(&contracts),
    };
    let wait = |done: Value| {
        json!({"loop": {
            "name": "l", "body": asking("gate", "judge", &json!({})), "done": done,
        }})
    };
    let never = json!({"$eq": [at("$.gate"), "NEVER"]});
    assert!(problem(&wait(never.clone()), &known).is_some());
    let set = json!({"seq": [{"assign": {"$.gate": "NEVER"}}, wait(never)]});
    assert_eq!(problem(&set, &known), None);
}
