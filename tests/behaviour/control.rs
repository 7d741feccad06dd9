//! Branches, `try` and assignments (SPEC I11).

use serde_json::{Value, json};
use tidegate::flow::{FlowError, Surroundings};
use tidegate::{CancellationToken, InvokeOptions, Runtime, RuntimeOptions};
use tidegate_contract::JsonObject;

use super::acting::{Told, flow_of, shown};
use super::agents::{Doubles, asked, asking, run_with};

fn at(path: &str) -> Value {
    json!({ "$path": path })
}

#[tokio::test]
async fn i11_a_branch_takes_one_way() {
    let run = |state: Value| async move {
        let (then, otherwise) = (
            asking("t", "echo", &json!(1)),
            asking("e", "echo", &json!(2)),
        );
        let branch = json!({
            "cond": {"$eq": [at("$.state"), "go"]}, "then": then, "else": otherwise,
        });
        let flow = json!({"seq": [{"assign": {"$.state": state}}, {"branch": branch}]});
        asked(&flow).await
    };
    let (ended, told) = run(json!("go")).await;
    assert_eq!(ended, Ok(json!({"state": "go", "t": 1})));
    assert_eq!(told, ["+t", "-t: passed"]);
    let (ended, told) = run(json!("stop")).await;
    assert_eq!(ended, Ok(json!({"state": "stop", "e": 2})));
    assert_eq!(told, ["+e", "-e: passed"]);
}

#[tokio::test]
async fn i11_without_else_a_false_branch_does_nothing() {
    let branch = json!({"cond": {"$exists": "$.missing"}, "then": asking("t", "echo", &json!(1))});
    assert_eq!(asked(&json!({"branch": branch})).await.0, Ok(json!({})));
}

#[tokio::test]
async fn i11_a_condition_is_strictly_boolean() {
    for (value, found) in [
        (json!(1), "a number"),
        (json!(0), "a number"),
        (json!(null), "null"),
        (json!("true"), "a text"),
        (json!([true]), "a list"),
        (json!({"a": true}), "a mapping"),
    ] {
        let branch = json!({"cond": at("$.c"), "then": {"seq": []}});
        let flow = json!({"seq": [{"assign": {"$.c": {"$lit": value}}}, {"branch": branch}]});
        let words = format!(
            "`cond of the branch at 0.1` does not fit the context: `cond` takes a boolean, not \
             {found}"
        );
        assert_eq!(asked(&flow).await.0, Err(words));
    }
}

#[tokio::test]
async fn i11_an_assignment_writes_several_places_at_once() {
    let flow = json!({"seq": [
        {"assign": {"$.a": 1, "$.deep.b": {"$lit": {"$path": "x"}}}},
        {"assign": {"$.a": at("$.deep.b"), "$.deep.c": at("$.a")}},
    ]});
    let context = json!({"a": {"$path": "x"}, "deep": {"b": {"$path": "x"}, "c": 1}});
    assert_eq!(asked(&flow).await.0, Ok(context));
    let clobber = json!({"seq": [{"assign": {"$.a": 1}}, {"assign": {"$.a.b": 2}}]});
    let words = "`$.a.b of the assign at 0.1` does not fit the context: can't write `$.a.b`: the \
                 context holds something else on the way";
    assert_eq!(asked(&clobber).await.0, Err(words.to_owned()));
}

fn trying(body: &Value, catch: &Value) -> Value {
    json!({"try": {"body": body, "catch": {"as": "error", "body": catch}}})
}

#[tokio::test]
async fn i11_a_caught_error_is_data_and_what_the_body_wrote_is_taken_back() {
    let run = |agent: &'static str| async move {
        let body = json!({"seq": [
            {"assign": {"$.kept.new": 2, "$.lost": 1}},
            asking("early", "echo", &json!(1)),
            asking("gate", agent, &json!({"why": "risk"})),
        ]});
        let catch = asking("after", "echo", &json!({"sees": {"$exists": "$.lost"}}));
        let flow = json!({"seq": [{"assign": {"$.kept.old": 1}}, trying(&body, &catch)]});
        asked(&flow).await.0
    };
    let caught =
        |error: Value| Ok(json!({"kept": {"old": 1}, "error": error, "after": {"sees": false}}));
    let blocked = json!({
        "code": "BLOCKED", "message": "step `gate` is blocked", "step": "gate",
        "value": {"why": "risk"},
    });
    assert_eq!(run("block").await, caught(blocked));
    let failed = json!({"code": "WORK_FAILED", "message": "gate is lost", "step": "gate"});
    assert_eq!(run("fail").await, caught(failed));
    let fault = json!({
        "code": "EXECUTOR_FAULT", "message": "executor fault: no agent fault", "step": "gate",
    });
    assert_eq!(run("fault").await, caught(fault));
    let passed = json!({
        "kept": {"old": 1, "new": 2}, "lost": 1, "early": 1, "gate": {"why": "risk"},
    });
    assert_eq!(run("echo").await, Ok(passed));
}

#[tokio::test]
async fn i11_misfits_and_endless_loops_are_caught_too() {
    let wait =
        json!({"loop": {"name": "l", "body": {"seq": []}, "done": false, "max_iterations": 1}});
    let misfit = json!({"assign": {"$.n": {"$add": [1, at("$.text")]}}});
    for (body, code) in [(wait, "FLOW_ITERATIONS"), (misfit, "FLOW_CONTEXT")] {
        let flow = json!({"seq": [
            {"assign": {"$.text": "x"}}, trying(&body, &json!({"seq": []})),
        ]});
        assert_eq!(asked(&flow).await.0.unwrap()["error"]["code"], code);
    }
}

#[tokio::test]
async fn i11_an_error_in_a_catch_is_the_flows_and_tries_nest() {
    let failing = asking("one", "fail", &json!({}));
    let again = asking("two", "fail", &json!({}));
    let (ended, told) = asked(&trying(&failing, &again)).await;
    assert_eq!(
        ended,
        Err("step `two` failed: WORK_FAILED: two is lost".to_owned())
    );
    assert_eq!(told.len(), 4);
    let outer = trying(&trying(&failing, &again), &json!({"seq": []}));
    let error = json!({"code": "WORK_FAILED", "message": "two is lost", "step": "two"});
    assert_eq!(asked(&outer).await.0, Ok(json!({ "error": error })));
}

#[tokio::test]
async fn i11_a_cancelled_run_is_never_caught() {
    let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
    let catch = asking("after", "echo", &json!({}));
    let fanned = json!({"fanout": {
        "name": "f", "items": [1], "bind": "i", "body": asking("wait", "stuck", &json!({})),
        "join": "all_settled",
    }});
    for body in [asking("wait", "stuck", &json!({})), fanned] {
        let flow = flow_of(json!({"id": "a", "flow": trying(&body, &catch)}));
        let cancel = CancellationToken::new();
        let options = InvokeOptions {
            cancel: cancel.clone(),
            ..InvokeOptions::default()
        };
        let (mut told, agents) = (Told::default(), Doubles::default());
        let around = Surroundings {
            agents: Some(&agents),
            ..Surroundings::new(&runtime, options, &mut told)
        };
        let run = flow.run(JsonObject::new(), around);
        let cancelling = async {
            tokio::task::yield_now().await;
            cancel.cancel();
        };
        let (ended, ()) = tokio::join!(run, cancelling);
        let Err(FlowError::Call { source, .. }) = ended else {
            panic!("{ended:?}")
        };
        assert_eq!(source.code(), "CANCELLED");
        assert!(
            !told.lines.contains(&"+after".to_owned()),
            "{:?}",
            told.lines
        );
    }
}

#[tokio::test]
async fn i11_nodes_run_as_deeply_as_they_may_nest() {
    let mut flow = asking("deep", "echo", &json!(1));
    for at in 0..21 {
        flow = json!({"seq": [flow]});
        flow = trying(&flow, &json!({"seq": []}));
        flow = json!({"fanout": {
            "name": format!("f{at}"), "items": [1], "bind": "i", "body": flow, "max_items": 1,
        }});
    }
    let mut output = asked(&flow).await.0.unwrap();
    for at in (0..21).rev() {
        output = output[format!("f{at}")][0].take();
    }
    assert_eq!(output, json!({"deep": 1}));
}

#[tokio::test]
async fn x3_cancelling_ends_what_waits_for_nothing() {
    let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
    let entry = |at: usize| (format!("$.a{at}"), json!(1));
    let assign = json!({"assign": (0..100).map(entry).collect::<serde_json::Map<_, _>>()});
    let sequence = json!({"seq": vec![json!({"seq": []}); 100]});
    let nested = (0..60).fold(json!({"seq": []}), |node, _| json!({"seq": [node]}));
    for node in [assign, sequence, nested] {
        let flow = flow_of(json!({"id": "a", "flow": node}));
        let cancel = CancellationToken::new();
        let options = InvokeOptions {
            cancel: cancel.clone(),
            ..InvokeOptions::default()
        };
        let mut told = Told::default();
        let run = flow.run(
            JsonObject::new(),
            Surroundings::new(&runtime, options, &mut told),
        );
        let cancelling = async {
            tokio::task::yield_now().await;
            cancel.cancel();
        };
        let (ended, ()) = tokio::join!(run, cancelling);
        let code = ended.map_err(|error| error.to_failure().code().to_owned());
        assert_eq!(code, Err("CANCELLED".to_owned()), "{flow:?}");
    }
}

/// What a run comes to that may hold so many bytes.
async fn holding(flow: &Value, context_bytes: usize) -> Result<Value, String> {
    let flow = flow_of(json!({
        "id": "a", "flow": flow, "limits": {"context_bytes": context_bytes},
    }));
    let ended = run_with(&flow, &Doubles::default(), None, &mut Told::default()).await;
    ended.map_err(|error| shown(&error))
}

fn passed(name: &str, bytes: usize) -> Result<Value, String> {
    Err(format!(
        "`{name}` does not fit the context: the contexts of the run grow past context_bytes = {bytes}"
    ))
}

#[tokio::test]
async fn c8_what_a_run_holds_is_bounded_to_the_byte() {
    // Two bytes of the empty context, ten of the value and one of its key.
    let assign = json!({"assign": {"$.a": "12345678"}});
    let context = json!({"a": "12345678"});
    assert_eq!(holding(&assign, 14).await, Ok(context.clone()));
    assert_eq!(holding(&assign, 13).await, Ok(context));
    let name = "$.a of the assign at 0";
    assert_eq!(holding(&assign, 12).await, passed(name, 12));
    // It is the end of the run, whatever stands around it.
    let caught = trying(&assign, &json!({"seq": []}));
    let name = "$.a of the assign at 0.0";
    assert_eq!(holding(&caught, 12).await, passed(name, 12));
}

#[tokio::test]
async fn c8_a_small_flow_can_not_copy_a_value_without_end() {
    const MIB: usize = 1024 * 1024;
    let big = json!({"assign": {"$.big": "x".repeat(64 * 1024)}});
    let copies = |count: usize| {
        let copy = |copy: usize| (format!("$.c{copy}"), at("$.big"));
        Value::Object((0..count).map(copy).collect())
    };
    let assign = json!({"assign": copies(1_000)});
    let ended = holding(&json!({"seq": [big, assign]}), MIB).await;
    assert_eq!(ended, passed("$.c14 of the assign at 0.1", MIB));
    // So with lanes that hold it all at once, and with the outputs of those that ended.
    let lane =
        json!({"seq": [{"assign": {"$.copy": at("$.big")}}, asking("w", "echo", &json!(1))]});
    for join in ["all", "all_settled", "any"] {
        let items: Vec<u32> = (0..32).collect();
        let fanout = json!({"fanout": {
            "name": "f", "items": items, "bind": "i", "join": join, "concurrency": 32, "body": lane,
        }});
        let ended = holding(&json!({"seq": [big, fanout]}), MIB)
            .await
            .unwrap_err();
        assert!(
            ended.ends_with("grow past context_bytes = 1048576"),
            "{join}: {ended}"
        );
    }
    let fresh = json!({"loop": {
        "name": "l", "state": at("$.big"), "done": false, "max_iterations": 20,
        "bind": {"$lit": {}}, "body": {"assign": copies(15)},
    }});
    let ended = holding(&json!({"seq": [big, fresh]}), MIB).await;
    assert_eq!(ended, passed("$.c13 of the assign at 0.1[0]", MIB));
}

#[tokio::test]
async fn c8_what_is_replaced_or_thrown_away_is_given_back() {
    let kib = "x".repeat(1024);
    let body = json!({"seq": [
        {"assign": {"$.a.b": kib, "$.c": kib}},
        asking("step", "echo", &json!(kib)),
        trying(&json!({"assign": {"$.c": kib, "$.new": kib}}), &json!({"seq": []})),
        trying(
            &json!({"seq": [{"assign": {"$.lost": kib}}, asking("no", "fail", &json!({}))]}),
            &json!({"seq": []}),
        ),
        {"fanout": {
            "name": "f", "items": [kib, kib], "bind": "i", "join": "any", "concurrency": 1,
            "max_items": 2,
            "body": {"assign": {"$.out": at("$.i")}},
        }},
    ]});
    let again = |turns: u32| {
        json!({"loop": {
            "name": "l", "state": kib, "update": at("$.l"), "body": body,
            "done": false, "max_iterations": turns,
        }})
    };
    // What one iteration needs is enough for many.
    let bytes = 12 * 1024;
    for turns in [2, 500] {
        let words = format!("loop `l` is not done after max_iterations = {turns}");
        assert_eq!(holding(&again(turns), bytes).await, Err(words));
    }
}
