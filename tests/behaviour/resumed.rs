//! Runs that are taken up again where something was open, and journals that fail (SPEC I10, I11).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tidegate::flow::{Flow, FlowError, Journal, Kept, Place, Surroundings};
use tidegate::{BoxFuture, CancellationToken, InvokeOptions, Node, Runtime, ToolRegistry};
use tidegate_contract::{CallError, JsonObject, ToolOutcome};

use super::acting::{Told, acting, calling, flow_of, runtime_of};
use super::agents::{Doubles, asking, run_with};
use super::durable::{Kill, Ledger, run};

/// A journal that can't keep how one place ended.
struct Losing(&'static str);

impl Journal for Losing {
    fn recall<'a>(&'a self, _place: &'a Place) -> BoxFuture<'a, Result<Option<Kept>, CallError>> {
        Box::pin(async { Ok(None) })
    }

    fn started<'a>(&'a self, _place: &'a Place) -> BoxFuture<'a, Result<(), CallError>> {
        Box::pin(async { Ok(()) })
    }

    fn ended<'a>(
        &'a self,
        place: &'a Place,
        _end: &'a Value,
    ) -> BoxFuture<'a, Result<(), CallError>> {
        let fails = place.as_str() == self.0;
        Box::pin(async move {
            if fails {
                let reason = "the disk is full".to_owned();
                return Err(CallError::HostFault { reason });
            }
            Ok(())
        })
    }
}

#[tokio::test]
async fn i10_a_journal_that_fails_for_a_loser_ends_the_run() {
    let wait = json!({"wait": {"$path": "$.i"}});
    let race = json!({"fanout": {
        "name": "f", "items": [20, 3], "bind": "i", "join": "race", "body": asking("s", "echo", &wait),
    }});
    let step = |name: &str, agent: &str, wait: u32| {
        asking(name, agent, &json!({ "wait": wait }))["step"].clone()
    };
    let graph = json!({"graph": [step("one", "fail", 0), step("two", "echo", 6)]});
    for (node, place) in [(race, "0.0.0[0]"), (graph, "0.0.0.1")] {
        let flow = flow_of(json!({"id": "a", "flow": {"seq": [
            {"try": {"body": node, "catch": {"as": "e", "body": {"seq": []}}}},
            asking("after", "echo", &json!(1)),
        ]}}));
        let agents = Doubles::default();
        let ended = run_with(&flow, &agents, Some(&Losing(place)), &mut Told::default()).await;
        assert!(matches!(ended, Err(FlowError::Journal { .. })), "{ended:?}");
        assert_eq!(agents.given.lock().unwrap().len(), 2, "nothing comes after");
    }
}

/// Kills a run after so many writes, and gives the names and lanes of what agents are given again.
async fn handed_on(flow: &Flow, writes: usize) -> Vec<String> {
    let ledger = Ledger::new(Kill::After(writes));
    assert!(run(flow, &Doubles::default(), &ledger).await.is_none());
    let agents = Doubles::default();
    run(flow, &agents, &ledger.again()).await.unwrap().unwrap();
    let given = agents.given.lock().unwrap();
    let shown = |given: &Value| format!("{}{}", given["name"].as_str().unwrap(), given["lanes"]);
    given.iter().map(shown).collect()
}

#[tokio::test]
async fn i11_each_loser_with_an_open_attempt_is_closed_after_a_restart() {
    let is = |what: &str| json!({"$eq": [{"$path": "$.i"}, what]});
    let body = json!({"branch": {
        "cond": is("stuck"), "then": asking("open", "stuck", &json!({})),
        "else": {"branch": {
            "cond": is("fail"), "then": asking("lost", "fail", &json!({})),
            "else": asking("won", "echo", &json!({"wait": 40})),
        }},
    }});
    let flow = flow_of(json!({"id": "a", "flow": {"fanout": {
        "name": "f", "items": ["echo", "fail", "fail", "stuck"], "bind": "i", "join": "any",
        "concurrency": 2, "body": body,
    }}}));
    // Four starts, the ends of three lanes, and the lane that counts.
    assert_eq!(handed_on(&flow, 8).await, ["open[3]"]);
}

#[tokio::test]
async fn i11_an_open_attempt_is_found_behind_all_that_came_before_it() {
    let way = json!({"loop": {"name": "l", "done": false, "body": {"seq": [
        asking("kept", "echo", &json!({})),
        {"fanout": {
            "name": "inner", "items": [1], "bind": "j", "max_items": 1, "join": "all_settled",
            "body": asking("settled", "fail", &json!({})),
        }},
        {"try": {
            "body": asking("lost", "fail", &json!({})),
            "catch": {"as": "e", "body": asking("open", "stuck", &json!({}))},
        }},
    ]}}});
    let flow = flow_of(json!({"id": "a", "flow": {"fanout": {
        "name": "f", "items": [1, 2], "bind": "i", "max_items": 2, "join": "race", "body": {"branch": {
            "cond": {"$eq": [{"$path": "$.i"}, 1]}, "then": way,
            "else": asking("won", "echo", &json!({"wait": 60})),
        }},
    }}}));
    // Three steps with their ends, one that is open, the winner, and the lane that counts.
    assert_eq!(handed_on(&flow, 10).await, ["open[0]"]);
}

/// A runtime whose tool `act` counts its calls, with room for one call.
fn counting() -> (Runtime, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let tools = ToolRegistry::new();
    let act = acting("act", move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(ToolOutcome::text("done")) })
    });
    drop(tools.register(act).unwrap());
    let hold = acting("hold", |_| Box::pin(std::future::pending()));
    drop(tools.register(hold).unwrap());
    (runtime_of(&tools, Some(1)), runs)
}

async fn take_up(
    runtime: &Runtime,
    ledger: &Ledger,
    cancel: &CancellationToken,
) -> Result<Value, FlowError> {
    let flow = flow_of(json!({"id": "a", "flow": {"step": calling("act", "act", &[])}}));
    let mut told = Told::default();
    let options = InvokeOptions {
        cancel: cancel.clone(),
        ..InvokeOptions::default()
    };
    let around = Surroundings {
        journal: Some(ledger),
        ..Surroundings::new(runtime, options, &mut told)
    };
    let ended = flow.run(JsonObject::new(), around).await;
    ended.map(|(_, context)| context)
}

/// Takes up a run whose call never began: it is made, once.
async fn is_made(ledger: &Ledger) {
    let (runtime, runs) = counting();
    let ledger = ledger.again();
    for _ in 0..2 {
        let context = take_up(&runtime, &ledger, &CancellationToken::new()).await;
        assert_eq!(context.unwrap()["act"]["status"], "success");
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn i11_a_call_that_a_closed_runtime_refused_is_made_after_a_restart() {
    let (runtime, runs) = counting();
    runtime.close().await;
    let ledger = Ledger::new(Kill::Never);
    let ended = take_up(&runtime, &ledger, &CancellationToken::new()).await;
    assert_eq!(ended.unwrap_err().to_failure().code(), "CLOSED");
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    is_made(&ledger).await;
}

#[tokio::test]
async fn i11_a_call_that_was_cancelled_in_the_queue_is_made_after_a_restart() {
    let (runtime, runs) = counting();
    let input = json!({"call": {"id": "h", "name": "hold", "arguments": {}}});
    let holding = CancellationToken::new();
    let options = InvokeOptions {
        cancel: holding.clone(),
        ..InvokeOptions::default()
    };
    let ledger = Ledger::new(Kill::Never);
    let cancel = CancellationToken::new();
    let queueing = async {
        let cancelling = async {
            while ledger.kept.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
            tokio::task::yield_now().await;
            cancel.cancel();
        };
        let (ended, ()) = tokio::join!(take_up(&runtime, &ledger, &cancel), cancelling);
        holding.cancel();
        ended
    };
    let (_held, ended) = tokio::join!(runtime.invoke(Node::ActTool, input, options), queueing);
    assert_eq!(ended.unwrap_err().to_failure().code(), "CANCELLED");
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    is_made(&ledger).await;
}
