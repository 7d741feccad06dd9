//! Fanouts: lanes, what they see and give, and each join (SPEC I11, GAP 12).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tidegate::ToolRegistry;
use tidegate_contract::ToolOutcome;

use super::acting::{Told, acting, calling, flow_of, run_told, runtime_of, shown};
use super::agents::{Doubles, asked, asking, run_with};

fn at(path: &str) -> Value {
    json!({ "$path": path })
}

fn fanning(items: &Value, join: &str, body: &Value) -> Value {
    json!({"fanout": {
        "name": "all", "items": {"$lit": items}, "bind": "item", "index": "at", "join": join,
        "body": body,
    }})
}

/// Asks the agent that the item names.
fn each(items: &Value, join: &str) -> Value {
    let lane = |agent: &str, cond: Value, other: Value| {
        let step = asking(
            "work",
            agent,
            &json!({"at": at("$.at"), "wait": at("$.item.wait")}),
        );
        json!({"branch": {"cond": {"$eq": [at("$.item.do"), cond]}, "then": step, "else": other}})
    };
    let none = json!({"seq": []});
    let body = ["echo", "fail", "skip", "stuck"]
        .iter()
        .fold(none, |other, agent| lane(agent, json!(agent), other));
    fanning(items, join, &body)
}

fn item(agent: &str, wait: u32) -> Value {
    json!({"do": agent, "wait": wait})
}

#[tokio::test]
async fn gap12_lanes_give_what_they_wrote_and_no_copy_of_the_context() {
    let body = json!({"seq": [
        asking("seen", "echo", &json!([at("$.big"), at("$.item"), at("$.at")])),
        {"assign": {"$.note.of": at("$.item"), "$.shared.lane": at("$.at")}},
        asking("both", "echo", &at("$.shared")),
    ]});
    let flow = json!({"seq": [
        {"assign": {"$.big": "everything", "$.shared.before": true}},
        fanning(&json!(["a", "b"]), "all", &body),
    ]});
    let lane = |item: &str, at: u32| {
        json!({
            "seen": ["everything", item, at], "note": {"of": item}, "shared": {"lane": at},
            "both": {"before": true, "lane": at},
        })
    };
    let context = json!({
        "big": "everything", "shared": {"before": true}, "all": [lane("a", 0), lane("b", 1)],
    });
    assert_eq!(asked(&flow).await.0, Ok(context));
}

#[tokio::test]
async fn i11_lanes_see_nothing_of_each_other() {
    let body = json!({"seq": [
        asking("mine", "echo", &json!({"others": {"$exists": "$.mark"}})),
        {"assign": {"$.mark": 1}},
    ]});
    let flow = fanning(&json!([1, 2, 3]), "all", &body);
    let lane = json!({"mine": {"others": false}, "mark": 1});
    assert_eq!(asked(&flow).await.0, Ok(json!({"all": [lane, lane, lane]})));
}

#[tokio::test]
async fn i11_all_keeps_the_order_of_the_items_and_skipped_steps_leave_nothing() {
    let items = json!([item("echo", 5), item("skip", 0), item("echo", 0)]);
    let context = asked(&each(&items, "all")).await.0.unwrap();
    let out = |at: u32, wait: u32| json!({"work": {"at": at, "wait": wait}});
    assert_eq!(context["all"], json!([out(0, 5), {}, out(2, 0)]));
}

#[tokio::test]
async fn i11_alls_first_error_stops_new_lanes_and_drains_those_that_run() {
    let items = json!([
        item("echo", 9),
        item("fail", 2),
        item("echo", 0),
        item("echo", 0)
    ]);
    let mut flow = each(&items, "all");
    flow["fanout"]["concurrency"] = json!(2);
    let (ended, told) = asked(&flow).await;
    assert_eq!(
        ended,
        Err("step `work[1]` failed: WORK_FAILED: work is lost".to_owned())
    );
    assert_eq!(
        told,
        ["+work", "+work", "-work: WORK_FAILED", "-work: passed"]
    );
}

#[tokio::test]
async fn i11_any_gives_the_first_that_succeeds_and_cancels_the_others() {
    let items = json!([
        item("stuck", 0),
        item("fail", 0),
        item("echo", 3),
        item("stuck", 0)
    ]);
    let context = asked(&each(&items, "any")).await.0.unwrap();
    assert_eq!(context["all"], json!({"work": {"at": 2, "wait": 3}}));
    let none = json!([item("fail", 4), item("fail", 0)]);
    let words = "no lane of fanout `all` succeeded: step `work[0]` failed: WORK_FAILED: work is \
                 lost";
    assert_eq!(asked(&each(&none, "any")).await.0, Err(words.to_owned()));
}

#[tokio::test]
async fn i11_race_takes_the_first_that_ends_good_or_bad() {
    let good = json!([item("stuck", 0), item("echo", 1), item("fail", 5)]);
    let (ended, told) = asked(&each(&good, "race")).await;
    assert_eq!(ended.unwrap()["all"], json!({"work": {"at": 1, "wait": 1}}));
    let drained = ["-work: CANCELLED", "-work: WORK_FAILED"];
    assert!(
        drained
            .iter()
            .all(|line| told.contains(&(*line).to_owned())),
        "{told:?}"
    );
    let bad = json!([item("stuck", 0), item("echo", 5), item("fail", 0)]);
    let words = "step `work[2]` failed: WORK_FAILED: work is lost";
    assert_eq!(asked(&each(&bad, "race")).await.0, Err(words.to_owned()));
}

#[tokio::test]
async fn i11_all_settled_tells_of_each_lane() {
    let items = json!([item("echo", 0), item("fail", 0), item("skip", 0)]);
    let context = asked(&each(&items, "all_settled")).await.0.unwrap();
    let error = json!({"code": "WORK_FAILED", "message": "work is lost", "step": "work[1]"});
    let expected = json!([
        {"status": "success", "value": {"work": {"at": 0, "wait": 0}}},
        {"status": "failed", "error": error},
        {"status": "success", "value": {}},
    ]);
    assert_eq!(context["all"], expected);
}

#[tokio::test]
async fn i11_no_items_have_a_result_in_each_join() {
    let none = Err("no lane of fanout `all` succeeded".to_owned());
    for (join, expected) in [
        ("all", Ok(json!({"all": []}))),
        ("all_settled", Ok(json!({"all": []}))),
        ("any", none.clone()),
        ("race", none),
    ] {
        assert_eq!(asked(&each(&json!([]), join)).await.0, expected, "{join}");
    }
}

#[tokio::test]
async fn i11_items_are_a_list_of_at_most_max_items() {
    let run = |items: Value, max: Option<u32>| async move {
        let mut flow = fanning(&items, "all", &json!({"seq": []}));
        if let Some(max) = max {
            flow["fanout"]["max_items"] = json!(max);
        }
        let (ended, _) = asked(&flow).await;
        ended.map(|context| context["all"].as_array().unwrap().len())
    };
    let passed = |items: usize, max: usize| {
        Err(format!(
            "fanout `all` has {items} items, more than max_items = {max}"
        ))
    };
    assert_eq!(run(json!(vec![0; 2]), Some(3)).await, Ok(2));
    assert_eq!(run(json!(vec![0; 3]), Some(3)).await, Ok(3));
    assert_eq!(run(json!(vec![0; 4]), Some(3)).await, passed(4, 3));
    assert_eq!(run(json!(vec![0; 1_000]), None).await, Ok(1_000));
    assert_eq!(run(json!(vec![0; 1_001]), None).await, passed(1_001, 1_000));
    assert_eq!(run(json!(vec![0; 10_000]), Some(10_000)).await, Ok(10_000));
    let words = "`all.items` does not fit the context: `items` takes a list, not a mapping";
    assert_eq!(run(json!({"a": 1}), None).await, Err(words.to_owned()));
}

#[tokio::test]
async fn i11_lanes_that_run_at_once_are_bounded() {
    for bound in [1, 3, 8] {
        let (inside, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let most = Arc::clone(&peak);
        let tool = acting("t", move |_| {
            let (inside, peak) = (Arc::clone(&inside), Arc::clone(&peak));
            Box::pin(async move {
                peak.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                for _ in 0..5 {
                    tokio::task::yield_now().await;
                }
                inside.fetch_sub(1, Ordering::SeqCst);
                Ok(ToolOutcome::text("x"))
            })
        });
        let tools = ToolRegistry::new();
        drop(tools.register(tool).unwrap());
        let mut fanout = fanning(
            &json!(vec![0; 20]),
            "all",
            &json!({"step": calling("s", "t", &[])}),
        );
        // 8 is what `limits.concurrency` is by default.
        if bound != 8 {
            fanout["fanout"]["concurrency"] = json!(bound);
        }
        let flow = flow_of(json!({"id": "a", "flow": fanout}));
        let (ended, _) = run_told(&flow, &runtime_of(&tools, None), Told::default()).await;
        assert_eq!(ended.unwrap()["all"].as_array().unwrap().len(), 20);
        assert_eq!(most.load(Ordering::SeqCst), bound);
    }
}

#[tokio::test]
async fn gap8_agents_are_told_their_lanes_outermost_first() {
    let inner = json!({"fanout": {
        "name": "inner", "items": at("$.row"), "bind": "cell",
        "body": asking("work", "echo", &at("$.cell")), "max_items": 10,
    }});
    let flow = flow_of(json!({"id": "a", "flow": {"fanout": {
        "name": "outer", "items": [["a", "b"], ["c"]], "bind": "row", "body": inner,
        "max_items": 10,
    }}}));
    let agents = Doubles::default();
    let context = run_with(&flow, &agents, None, &mut Told::default())
        .await
        .unwrap();
    let work = |cell: &str| json!({ "work": cell });
    let rows = json!([{"inner": [work("a"), work("b")]}, {"inner": [work("c")]}]);
    assert_eq!(context, json!({ "outer": rows }));
    let given = agents.given.lock().unwrap();
    let mut lanes: Vec<(String, Value)> = given
        .iter()
        .map(|given| (given["place"].to_string(), given["lanes"].clone()))
        .collect();
    lanes.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [
        ("\"0[0][0]\"", json!([0, 0])),
        ("\"0[0][1]\"", json!([0, 1])),
        ("\"0[1][0]\"", json!([1, 0])),
    ];
    assert_eq!(
        lanes,
        expected.map(|(place, lanes)| (place.to_owned(), lanes))
    );
}

#[tokio::test]
async fn gap12_the_outputs_of_the_lanes_together_are_bounded() {
    // Each output is `{"text":"…"}` of 21 bytes.
    let body = json!({"assign": {"$.text": "0123456789"}});
    let run = |bytes: usize| {
        let flow = flow_of(json!({
            "id": "a", "flow": fanning(&json!([1, 2, 3]), "all", &body),
            "limits": {"gathered_bytes": bytes},
        }));
        async move {
            let ended = run_with(&flow, &Doubles::default(), None, &mut Told::default()).await;
            ended.map(drop).map_err(|error| shown(&error))
        }
    };
    assert_eq!(run(64).await, Ok(()));
    assert_eq!(run(63).await, Ok(()));
    let words = "`all` does not fit the context: the outputs of the lanes are more than \
                 gathered_bytes = 62";
    assert_eq!(run(62).await, Err(words.to_owned()));
}

#[tokio::test]
async fn gap12_a_lane_that_replaces_its_whole_context_replaces_no_other() {
    let body = json!({"seq": [
        {"assign": {"$.before": 1}},
        {"assign": {"$": {"only": at("$.item")}}},
        asking("seen", "echo", &json!({"$exists": "$.kept"})),
    ]});
    let flow = json!({"seq": [{"assign": {"$.kept": 1}}, fanning(&json!(["x"]), "all", &body)]});
    let context = json!({"kept": 1, "all": [{"only": "x", "seen": false}]});
    assert_eq!(asked(&flow).await.0, Ok(context));
}
