//! Loops: state, bind, update, done and their bounds (SPEC X4).

use serde_json::{Value, json};
use tidegate::flow::{Flow, FlowError, MAX_ITERATIONS};
use tidegate::{CancellationToken, LineSink, Runtime, RuntimeOptions};

use super::acting::{Told, flow_of, run_told, shown};
use crate::support::{Fixture, Printed};

fn observing(name: &str) -> Value {
    let result = json!({"callId": "1", "source": "t", "status": "success", "content": "text"});
    json!({"step": {"name": name, "node": "INTERACTION.OBSERVE", "in": {"result": result}}})
}

/// A state that takes so many updates to become null.
fn chain(length: usize) -> Value {
    (0..length).fold(Value::Null, |next, _| json!({ "next": next }))
}

/// A loop that walks down a chain.
fn walking(length: usize) -> Value {
    json!({
        "name": "walk", "state": {"$lit": chain(length)}, "body": observing("look"),
        "update": {"$path": "$.walk.next"}, "done": {"$eq": [{"$path": "$.walk"}, null]},
    })
}

fn looping(inner: &Value) -> Flow {
    flow_of(json!({"id": "a", "flow": {"loop": inner}}))
}

async fn run(flow: &Flow) -> (Result<Value, String>, usize) {
    let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
    let (ended, told) = run_told(flow, &runtime, Told::default()).await;
    let steps = told.iter().filter(|line| line.starts_with('+')).count();
    (ended.map_err(|error| shown(&error)), steps)
}

#[tokio::test]
async fn x4_a_loop_ends_when_done_and_fails_when_it_is_not_done_in_time() {
    let check = async |max: Option<u32>, length: usize, steps: usize, fits: bool| {
        let mut inner = walking(length);
        if let Some(max) = max {
            inner["max_iterations"] = json!(max);
        }
        let (ended, made) = run(&looping(&inner)).await;
        assert_eq!(made, steps, "{max:?} {length}");
        let bound = max.unwrap_or(32);
        let passed = format!("loop `walk` is not done after max_iterations = {bound}");
        let ended = ended.map(|context| context["walk"].clone());
        assert_eq!(ended, if fits { Ok(Value::Null) } else { Err(passed) });
    };
    check(Some(3), 2, 2, true).await;
    check(Some(3), 3, 3, true).await;
    check(Some(3), 4, 3, false).await;
    check(None, 31, 31, true).await;
    check(None, 32, 32, true).await;
    check(None, 33, 32, false).await;
    check(Some(1), 1, 1, true).await;
}

#[test]
fn x4_max_iterations_has_a_hard_maximum_nested_loops_multiplied() {
    let check = |outer: u64, inner: u64, fits: bool| {
        let mut inside = walking(1);
        inside["name"] = json!("inside");
        inside["max_iterations"] = json!(inner);
        let mut around = walking(1);
        around["max_iterations"] = json!(outer);
        around["body"] = json!({ "loop": inside });
        let words = looping(&around)
            .check()
            .map_err(|problem| problem.to_string());
        let named = if (1..=u64::from(MAX_ITERATIONS)).contains(&outer) {
            "inside"
        } else {
            "walk"
        };
        let passed = format!(
            "loop `{named}`: max_iterations must be from 1 to 10000, multiplied by that of the \
             loops around it"
        );
        assert_eq!(
            words,
            if fits { Ok(()) } else { Err(passed) },
            "{outer} {inner}"
        );
    };
    check(9_999, 1, true);
    check(10_000, 1, true);
    check(10_001, 1, false);
    check(0, 1, false);
    check(1, 0, false);
    check(100, 100, true);
    check(100, 101, false);
    check(u64::from(u32::MAX), u64::from(u32::MAX), false);
}

#[tokio::test]
async fn x4_a_loop_runs_at_least_once_and_bind_is_laid_over_the_context() {
    let inner = json!({
        "name": "once", "state": 7, "bind": {"seen": {"$path": "$.once"}},
        "body": {"seq": []}, "done": true,
    });
    let flow = flow_of(json!({
        "id": "a", "init": {"kept": 1, "seen": {"old": true}}, "flow": {"loop": inner},
    }));
    let (ended, _) = run(&flow).await;
    assert_eq!(ended, Ok(json!({"kept": 1, "seen": 7, "once": 7})));
}

#[tokio::test]
async fn x4_a_loop_may_wait_for_what_its_body_finds() {
    let inner = json!({
        "name": "wait", "body": {"graph": [observing("look")["step"]]},
        "done": {"$and": [
            {"$exists": "$.look.message"},
            {"$eq": [{"$path": "$.look.message.content"}, "text"]},
        ]},
    });
    let (ended, steps) = run(&looping(&inner)).await;
    assert_eq!(
        ended.unwrap()["wait"],
        Value::Null,
        "the state is null by default"
    );
    assert_eq!(steps, 1);
}

#[tokio::test]
async fn x4_loops_nest() {
    let mut inside = walking(3);
    inside["name"] = json!("inside");
    inside["update"] = json!({"$path": "$.inside.next"});
    inside["done"] = json!({"$eq": [{"$path": "$.inside"}, null]});
    let mut around = walking(2);
    around["body"] = json!({ "loop": inside });
    let (ended, steps) = run(&looping(&around)).await;
    assert!(ended.is_ok(), "{ended:?}");
    assert_eq!(steps, 6);
}

#[tokio::test]
async fn x4_done_is_a_boolean_and_bind_a_mapping() {
    for (key, value, words) in [
        (
            "done",
            json!(1),
            "`walk.done` does not fit the context: `done` takes a boolean, not a number",
        ),
        (
            "done",
            json!(null),
            "`walk.done` does not fit the context: `done` takes a boolean, not null",
        ),
        (
            "done",
            json!("true"),
            "`walk.done` does not fit the context: `done` takes a boolean, not a text",
        ),
        (
            "bind",
            json!([]),
            "`walk.bind` does not fit the context: `bind` takes a mapping, not a list",
        ),
        (
            "update",
            json!({"$path": "$.walk.missing"}),
            "`walk.update` does not fit the context: the context has nothing at `$.walk.missing`",
        ),
        (
            "state",
            json!({"$path": "$.missing"}),
            "the flow can't run: `walk.state` reads $.missing, and nothing that comes before can have \
             written it",
        ),
    ] {
        let mut inner = walking(1);
        inner[key] = value;
        assert_eq!(run(&looping(&inner)).await.0, Err(words.to_owned()));
    }
}

#[tokio::test]
async fn x4_a_state_that_grows_meets_the_bound_of_what_is_gathered() {
    let state = json!({"$path": "$.grow"});
    let growing = |bytes: usize| {
        let inner = json!({
            "name": "grow", "state": "12345678", "body": {"seq": []},
            "update": [state, state], "done": false, "max_iterations": 3,
        });
        flow_of(json!({
            "id": "a", "flow": {"loop": inner}, "limits": {"gathered_bytes": bytes},
        }))
    };
    // 10 bytes become [_,_] of 23, then of 49; the last update gathers that twice.
    let too_large = |bytes: usize| {
        format!(
            "`grow.update` does not fit the context: the expression gathers more than \
             gathered_bytes = {bytes}"
        )
    };
    let not_done = "loop `grow` is not done after max_iterations = 3".to_owned();
    assert_eq!(run(&growing(99)).await.0, Err(not_done.clone()));
    assert_eq!(run(&growing(98)).await.0, Err(not_done));
    assert_eq!(run(&growing(97)).await.0, Err(too_large(97)));
}

#[tokio::test]
async fn x3_cancelling_ends_a_loop_that_waits_for_nothing() {
    let inner = json!({
        "name": "endless", "body": observing("look"), "done": false,
        "max_iterations": MAX_ITERATIONS,
    });
    let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
    let told = Told {
        cancel_after: Some((5, CancellationToken::new())),
        ..Told::default()
    };
    let (ended, told) = run_told(&looping(&inner), &runtime, told).await;
    let Err(FlowError::Call { step, source }) = ended else {
        panic!("{ended:?}")
    };
    assert_eq!((step.as_str(), source.code()), ("endless", "CANCELLED"));
    assert_eq!(told.len(), 10, "five steps and no more");
}

/// The seed's `interactionGraph` whole: a loop over two files, through real components.
#[tokio::test]
async fn interaction_graph_as_a_loop() {
    let printed = Printed::default();
    let mut fixture = Fixture::new(&["read", "stdout"]);
    fixture.stdout = Some(LineSink::new(printed.clone()));
    fixture.write("README.md", "# Title\n");
    fixture.write("package.json", "{}");
    let runtime = fixture.runtime(&["read-text", "console"]).await;
    let file = |at: usize, path: &str, next: Value| {
        let (id, delivery) = (format!("read:{at}"), format!("read:{at}:delivery"));
        json!({"path": path, "id": id, "delivery": delivery, "next": next})
    };
    let files = file(0, "README.md", file(1, "package.json", Value::Null));
    let at = |path: &str| json!({ "$path": path });
    let call = json!({
        "id": at("$.id"), "name": "read_text", "arguments": {"path": at("$.path")},
    });
    let message = json!({"role": "assistant", "content": at("$.observe.message.content")});
    let graph = json!([
        {"name": "read", "node": "INTERACTION.ACT.TOOL", "in": {"call": call}},
        {
            "name": "observe", "node": "INTERACTION.OBSERVE", "after": ["read"],
            "in": {"result": at("$.read")},
        },
        {
            "name": "output", "node": "INTERACTION.OUTPUT", "after": ["observe"],
            "in": {"deliveryId": at("$.delivery"), "message": message},
        },
    ]);
    let flow = looping(&json!({
        "name": "file", "state": {"$lit": files},
        "bind": {
            "path": at("$.file.path"), "id": at("$.file.id"), "delivery": at("$.file.delivery"),
        },
        "body": {"graph": graph},
        "update": at("$.file.next"),
        "done": {"$eq": [at("$.file"), null]},
        "max_iterations": 2,
    }));
    let (ended, told) = run_told(&flow, &runtime, Told::default()).await;
    assert_eq!(ended.unwrap()["read"]["callId"], "read:1");
    assert_eq!(told.len(), 12);
    let line = |id: &str, content: &str| json!({"id": id, "message": {"role": "assistant", "content": content}});
    let expected = [
        line("read:0:delivery", "# Title\n"),
        line("read:1:delivery", "{}"),
    ];
    assert_eq!(printed.lines(), expected);
}
