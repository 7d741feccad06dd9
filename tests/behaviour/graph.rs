//! Graphs: steps side by side, inputs from earlier outputs, errors, cancelling (SPEC X4).

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidegate::flow::{FlowError, FlowLimits, Surroundings};
use tidegate::{
    Caller, CancellationToken, InvokeOptions, LineSink, Runtime, RuntimeOptions, ToolRegistry,
};
use tidegate_contract::{CallError, JsonObject, ToolOutcome};
use tokio::sync::{Barrier, Notify};

use super::acting::{Told, acting, calling, flow_of, run_told, runtime_of, shown};
use super::native::native;
use crate::support::{Fixture, Printed};

/// A registry with the tool `meet`, whose calls end once so many are inside, and the most that were.
fn meeting(size: usize) -> (ToolRegistry, Arc<AtomicUsize>) {
    let barrier = Arc::new(Barrier::new(size));
    let (inside, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let most = Arc::clone(&peak);
    let meet = acting("meet", move |_| {
        let (barrier, inside, peak) =
            (Arc::clone(&barrier), Arc::clone(&inside), Arc::clone(&peak));
        Box::pin(async move {
            let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
            peak.fetch_max(now, Ordering::SeqCst);
            barrier.wait().await;
            inside.fetch_sub(1, Ordering::SeqCst);
            Ok(ToolOutcome::text("met"))
        })
    });
    let tools = ToolRegistry::new();
    drop(tools.register(meet).unwrap());
    (tools, most)
}

fn six_meetings(limits: &Value) -> Value {
    let steps: Vec<Value> = (0..6)
        .map(|at| calling(&format!("m{at}"), "meet", &[]))
        .collect();
    json!({"id": "six", "flow": {"graph": steps}, "limits": limits})
}

#[tokio::test]
async fn x4_independent_steps_run_side_by_side() {
    let (tools, peak) = meeting(6);
    let flow = flow_of(six_meetings(&json!({})));
    let (ended, told) = run_told(&flow, &runtime_of(&tools, None), Told::default()).await;
    let context = ended.unwrap();
    for at in 0..6 {
        assert_eq!(context[format!("m{at}")]["content"], "met");
    }
    assert_eq!(peak.load(Ordering::SeqCst), 6);
    assert_eq!(told[..6], ["+m0", "+m1", "+m2", "+m3", "+m4", "+m5"]);
    assert_eq!(told.len(), 12);
}

#[tokio::test]
async fn x4_what_runs_at_once_is_bounded_by_the_flow_and_by_the_runtime() {
    for bound in [1, 2, 3] {
        let (tools, peak) = meeting(bound);
        let flow = flow_of(six_meetings(&json!({ "concurrency": bound })));
        let (ended, _) = run_told(&flow, &runtime_of(&tools, None), Told::default()).await;
        ended.unwrap();
        assert_eq!(peak.load(Ordering::SeqCst), bound, "by the flow");

        let (tools, peak) = meeting(bound);
        let flow = flow_of(six_meetings(&json!({})));
        let runtime = runtime_of(&tools, Some(u32::try_from(bound).unwrap()));
        let (ended, _) = run_told(&flow, &runtime, Told::default()).await;
        ended.unwrap();
        assert_eq!(peak.load(Ordering::SeqCst), bound, "by the runtime");
    }
}

#[tokio::test]
async fn x4_siblings_wait_for_each_other_where_the_runtime_has_no_queue() {
    for (concurrency, quota) in [(1, None), (4, NonZeroU32::new(2)), (2, None)] {
        let (tools, peak) = meeting(1);
        let runtime = Runtime::new(RuntimeOptions {
            sandbox: Fixture::new(&[]).grant,
            tools,
            concurrency: Some(concurrency),
            queue: 0,
            ..RuntimeOptions::default()
        })
        .unwrap();
        let caller = Caller {
            concurrency: quota,
            ..Caller::default()
        };
        let options = InvokeOptions {
            caller,
            ..InvokeOptions::default()
        };
        let flow = flow_of(six_meetings(&json!({})));
        let mut told = Told::default();
        let around = Surroundings::new(&runtime, options, &mut told);
        let (_, context) = flow.run(JsonObject::new(), around).await.unwrap();
        for at in 0..6 {
            assert_eq!(context[format!("m{at}")]["content"], "met", "{context}");
        }
        let most = quota.map_or(concurrency, NonZeroU32::get);
        assert!(peak.load(Ordering::SeqCst) <= usize::try_from(most).unwrap());
    }
}

#[tokio::test]
async fn x4_inputs_are_bound_from_earlier_outputs() {
    let tools = ToolRegistry::new();
    let echo = acting("echo", |id| Box::pin(async { Ok(ToolOutcome::text(id)) }));
    drop(tools.register(echo).unwrap());
    // Written in another order than they run.
    let mut last = calling("last", "echo", &["left", "right"]);
    let content = |name: &str| json!({ "$path": format!("$.{name}.content") });
    last["in"]["call"]["arguments"] = json!({"both": [content("left"), content("right")]});
    let mut right = calling("right", "echo", &["first"]);
    right["in"]["call"]["id"] = content("first");
    right["out"] = json!("$.sides.right");
    last["in"]["call"]["arguments"]["both"][1] = json!({"$path": "$.sides.right.content"});
    let graph = [
        last,
        right,
        calling("left", "echo", &["first"]),
        calling("first", "echo", &[]),
    ];
    let flow = flow_of(json!({"id": "diamond", "flow": {"graph": graph}}));
    let (ended, told) = run_told(&flow, &runtime_of(&tools, None), Told::default()).await;
    let context = ended.unwrap();
    assert_eq!(context["sides"]["right"]["content"], "first");
    assert_eq!(context["last"]["status"], "success");
    assert_eq!(told[..2], ["+first", "-first: success"]);
    assert_eq!(told[6..], ["+last", "-last: success"]);
}

#[tokio::test]
async fn x4_the_first_error_stops_new_starts_and_drains_what_runs() {
    let erred = Arc::new(Notify::new());
    let waits = Arc::clone(&erred);
    let slow = acting("slow", move |_| {
        let waits = Arc::clone(&waits);
        Box::pin(async move {
            waits.notified().await;
            for _ in 0..8 {
                tokio::task::yield_now().await;
            }
            Ok(ToolOutcome::text("drained"))
        })
    });
    let bad = acting("bad", move |_| {
        erred.notify_one();
        Box::pin(async {
            Err(CallError::ExecutorFault {
                reason: "first".to_owned(),
            })
        })
    });
    let tools = ToolRegistry::new();
    drop(tools.register(slow).unwrap());
    drop(tools.register(bad).unwrap());
    let graph = [
        calling("slow", "slow", &[]),
        calling("bad", "bad", &[]),
        calling("waits_for_its_turn", "bad", &[]),
        calling("after_slow", "bad", &["slow"]),
        calling("after_bad", "bad", &["bad"]),
    ];
    let flow = flow_of(json!({
        "id": "a", "flow": {"graph": graph}, "limits": {"concurrency": 2},
    }));
    let (ended, told) = run_told(&flow, &runtime_of(&tools, None), Told::default()).await;
    let Err(FlowError::Call { step, source }) = ended else {
        panic!("{ended:?}")
    };
    assert_eq!((step.as_str(), source.code()), ("bad", "EXECUTOR_FAULT"));
    let expected = ["+slow", "+bad", "-bad: EXECUTOR_FAULT", "-slow: success"];
    assert_eq!(
        told, expected,
        "nothing else was started, and slow was waited for"
    );
}

#[tokio::test]
async fn x4_a_failed_result_is_data_and_a_misfit_is_an_error() {
    let tools = ToolRegistry::new();
    let failing = native("failing", |_, _| {
        let failure = tidegate_contract::Failure::new("NOT_FOUND", "No matching record");
        Ok(ToolOutcome::failed(failure.unwrap()))
    });
    drop(tools.register(failing).unwrap());
    let observe = |result: &str| {
        json!({
            "name": "observe", "node": "INTERACTION.OBSERVE", "after": ["read"],
            "in": {"result": {"$path": result}},
        })
    };
    let run = |path: &'static str| {
        let graph = [calling("read", "failing", &[]), observe(path)];
        let flow = flow_of(json!({"id": "a", "flow": {"graph": graph}}));
        let runtime = runtime_of(&tools, None);
        async move { run_told(&flow, &runtime, Told::default()).await }
    };
    let (ended, _) = run("$.read").await;
    let text = &ended.unwrap()["observe"]["message"]["content"];
    assert_eq!(text, "failed: NOT_FOUND: No matching record");
    let (ended, told) = run("$.read.nothing").await;
    let error = shown(&ended.unwrap_err());
    assert_eq!(
        error,
        "`observe` does not fit the context: the context has nothing at `$.read.nothing`"
    );
    assert_eq!(told, ["+read", "-read: failed"]);
}

#[tokio::test]
async fn x3_cancelling_ends_what_runs_at_once_and_starts_nothing_more() {
    let tools = ToolRegistry::new();
    let quick = acting("quick", |_| {
        Box::pin(async { Ok(ToolOutcome::text("done")) })
    });
    // Ends by nothing but being dropped.
    let stuck = acting("stuck", |_| Box::pin(std::future::pending()));
    drop(tools.register(quick).unwrap());
    drop(tools.register(stuck).unwrap());
    let graph = [
        calling("one", "stuck", &[]),
        calling("two", "stuck", &[]),
        calling("quick", "quick", &[]),
        calling("next", "quick", &["one"]),
    ];
    let flow = flow_of(json!({"id": "a", "flow": {"graph": graph}}));
    let start = Instant::now();
    let told = Told {
        cancel_after: Some((1, CancellationToken::new())),
        ..Told::default()
    };
    let (ended, told) = run_told(&flow, &runtime_of(&tools, None), told).await;
    let Err(FlowError::Call { step, source }) = ended else {
        panic!("{ended:?}")
    };
    assert_eq!((step.as_str(), source.code()), ("next", "CANCELLED"));
    assert_eq!(told[3], "-quick: success");
    assert_eq!(told[4..], ["-one: cancelled", "-two: cancelled"]);
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
}

/// What is wrong with a flow, found before any step starts.
async fn problem(flow: Value) -> String {
    let flow = flow_of(flow);
    let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
    let (ended, told) = run_told(&flow, &runtime, Told::default()).await;
    assert_eq!(told, Vec::<String>::new(), "nothing ran");
    let error = ended.unwrap_err();
    assert!(matches!(error, FlowError::Invalid(_)), "{error:?}");
    shown(&error).replace("the flow can't run: ", "")
}

#[tokio::test]
async fn x4_a_graph_that_can_not_run_is_refused_before_anything_runs() {
    let reading = |name: &str, path: &str, after: &[&str]| {
        let mut step = calling(name, "t", after);
        step["in"] = json!({ "$path": path });
        step
    };
    let writing = |name: &str, out: &str| {
        let mut step = calling(name, "t", &[]);
        step["out"] = json!(out);
        step
    };
    let step = |name: &str, after: &[&str]| calling(name, "t", after);
    for (graph, words) in [
        (
            vec![step("a", &[]), step("a", &[])],
            "two steps of one graph have the name `a`",
        ),
        (
            vec![step("a", &["b"])],
            "step `a` comes after `b`, which is not in its graph",
        ),
        (
            vec![step("a", &["a"])],
            "steps of a graph wait for each other: a after a",
        ),
        (
            vec![
                step("x", &["c"]),
                step("a", &["b"]),
                step("b", &["c"]),
                step("c", &["a"]),
            ],
            "steps of a graph wait for each other: c after a after b after c",
        ),
        (
            vec![step("a", &[]), reading("b", "$.a.content", &[])],
            "step `b` reads $.a.content, which step `a` writes, and neither comes after the other: \
             add `after: [a]`",
        ),
        (
            vec![step("a", &[]), reading("b", "$", &[])],
            "step `b` reads $, which step `a` writes, and neither comes after the other: add \
             `after: [a]`",
        ),
        (
            vec![writing("a", "$.x"), writing("b", "$.x.y")],
            "steps `a` and `b` both write $.x.y, and neither comes after the other",
        ),
    ] {
        assert_eq!(
            problem(json!({"id": "a", "flow": {"graph": graph}})).await,
            words
        );
    }
    let outside = json!({"id": "a", "flow": {"step": step("b", &["a"])}});
    assert_eq!(
        problem(outside).await,
        "step `b` is in no graph, so it takes no `after`"
    );
}

#[test]
fn x4_steps_that_come_after_each_other_may_touch_one_place() {
    let mut last = calling("c", "t", &["b"]);
    last["in"] = json!([{"$path": "$.a"}, {"$path": "$.c"}]);
    last["out"] = json!("$.b");
    // The first one reads what the last iteration of a loop may have left there.
    let mut first = calling("a", "t", &[]);
    first["in"] = json!({"$path": "$.b"});
    let graph = [last, calling("b", "t", &["a"]), first];
    let flow = flow_of(json!({"id": "a", "flow": {"graph": graph}}));
    assert_eq!(flow.check(), Ok(()));
}

#[test]
fn x4_the_number_of_nodes_is_bounded() {
    let most = FlowLimits::MAXIMUM.nodes;
    let check = |limit: usize, steps: usize, fits: bool| {
        let steps: Vec<Value> = (0..steps)
            .map(|at| calling(&format!("s{at}"), "t", &[]))
            .collect();
        let flow = flow_of(json!({
            "id": "a", "flow": {"seq": [{"graph": steps}]}, "limits": {"nodes": limit},
        }));
        let words = flow.check().map_err(|problem| problem.to_string());
        let passed = format!("the flow has more than limits.nodes = {limit} nodes");
        assert_eq!(words, if fits { Ok(()) } else { Err(passed) });
    };
    // The sequence and the graph are nodes too.
    for limit in [16, 256, most] {
        check(limit, limit - 3, true);
        check(limit, limit - 2, true);
        check(limit, limit - 1, false);
    }
    let flow = flow_of(json!({"id": "a", "flow": {"seq": []}, "limits": {"nodes": most + 1}}));
    assert_eq!(
        flow.check().unwrap_err().to_string(),
        "limits.nodes must be from 1 to 1024, not 1025"
    );
}

#[test]
fn x4_nodes_nest_at_most_64_deep() {
    let nested = |depth: usize| {
        let nest = |inside: Value, _| json!({"seq": [inside]});
        let flow = (1..depth).fold(json!({"graph": []}), nest);
        flow_of(json!({"id": "a", "flow": flow})).check().is_ok()
    };
    assert!(nested(63) && nested(64));
    assert!(!nested(65));
}

/// The seed's `interactionGraph`, its plan run for one file through real components.
#[tokio::test]
async fn interaction_graph_as_a_graph() {
    let printed = Printed::default();
    let mut fixture = Fixture::new(&["read", "stdout"]);
    fixture.stdout = Some(LineSink::new(printed.clone()));
    fixture.write("README.md", "# Title\n");
    let runtime = fixture.runtime(&["read-text", "console"]).await;
    let flow = flow_of(json!({
        "id": "read-and-deliver",
        "init": {"path": "README.md"},
        "flow": {"graph": [
            {
                "name": "read", "node": "INTERACTION.ACT.TOOL",
                "in": {"call": {
                    "id": "read:0", "name": "read_text",
                    "arguments": {"path": {"$path": "$.path"}},
                }},
            },
            {
                "name": "observe", "node": "INTERACTION.OBSERVE", "after": ["read"],
                "in": {"result": {"$path": "$.read"}},
            },
            {
                "name": "output", "node": "INTERACTION.OUTPUT", "after": ["observe"],
                "in": {
                    "deliveryId": "read:0:delivery",
                    "message": {
                        "role": "assistant", "content": {"$path": "$.observe.message.content"},
                    },
                },
            },
        ]},
    }));
    let (ended, _) = run_told(&flow, &runtime, Told::default()).await;
    let context = ended.unwrap();
    assert_eq!(context["read"]["callId"], "read:0");
    assert_eq!(context["observe"]["callId"], "read:0");
    let receipt = json!({"deliveryId": "read:0:delivery", "status": "accepted"});
    assert_eq!(context["output"], receipt);
    let message = json!({"role": "assistant", "content": "# Title\n"});
    let line = json!({"id": "read:0:delivery", "message": message});
    assert_eq!(printed.lines(), [line]);
}
