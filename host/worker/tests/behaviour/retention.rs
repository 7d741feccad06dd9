//! How many runs there may be, what becomes of ended ones, and of one whose flow panics.

use serde_json::{Value, json};
use tidegate::RuntimeOptions;
use tidegate_contract::Tenant;
use tidegate_worker::error::WorkerError;
use tidegate_worker::runs::RunBounds;
use tidegate_worker::store::RunStatus;

use crate::shop::{Shop, ask, count, me, runtime, tenant};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

fn shop(bounds: RunBounds) -> Shop {
    Shop::bounded(runtime(RuntimeOptions::default()), bounds)
}

fn launch(shop: &Shop) -> String {
    shop.launch(&[ask("plan", json!("plan"))], &json!({"plan": {}}))
}

fn code<T>(outcome: Result<T, WorkerError>) -> &'static str {
    outcome.map_or_else(|error| error.code(), |_fine| "ok")
}

#[tokio::test]
async fn i2_a_tenant_has_so_many_open_runs_and_no_more() {
    let shop = shop(RunBounds {
        open_runs: 2,
        ..RunBounds::default()
    });
    let first = launch(&shop);
    launch(&shop);
    let nodes = [ask("plan", json!("plan"))];
    let blueprint = crate::shop::blueprint(&nodes, &json!({"plan": {}}));
    let document = json!({ "blueprint": blueprint });
    let refused = shop.try_launch(&me(), document.clone()).unwrap_err();
    assert_eq!((refused.code(), refused.status()), ("TOO_MANY_RUNS", 429));
    assert!(refused.to_string().contains('2'), "{refused}");
    let mut other = me();
    other.tenant = Tenant::new("other").unwrap();
    shop.try_launch(&other, document.clone()).unwrap();
    // It is refused after a stop too, and taken once another has ended.
    let shop = shop.killed(|_service| {}).await;
    assert_eq!(
        code(shop.try_launch(&me(), document.clone())),
        "TOO_MANY_RUNS"
    );
    shop.runs.cancel(&tenant(), &first).unwrap();
    assert_eq!(code(shop.try_launch(&me(), document)), "ok");
}

/// A run that has ended with a file of its step and one of a part; its id and its task.
async fn ended(shop: &Shop) -> (String, String) {
    let run = launch(shop);
    let claimed = shop.claim("plan").await;
    shop.stage(&claimed, "notes.md", "notes").unwrap();
    shop.submit(&claimed, "done").unwrap();
    (run.clone(), shop.ended(&run).await.task)
}

#[tokio::test]
async fn i10_of_ended_runs_the_newest_are_kept_and_the_files_of_all() {
    let shop = shop(RunBounds {
        ended_runs: 2,
        ..RunBounds::default()
    });
    let open = launch(&shop);
    let claimed = shop.claim("plan").await;
    let mut runs = Vec::new();
    for _ in 0..2 {
        runs.push(ended(&shop).await);
    }
    assert_eq!(shop.runs.sweep().await.unwrap(), 0);
    // A later one ends in a later millisecond, so that it is known which is the oldest.
    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    runs.push(ended(&shop).await);
    let file = |at: usize, name: &str| shop.file(&runs[at].1, name);
    assert_eq!(file(0, "notes.md").as_deref(), Some("notes"));
    assert_eq!(shop.runs.sweep().await.unwrap(), 1);
    let there = |at: usize| code(shop.runs.run(&tenant(), &runs[at].0));
    // The first two may have ended in the same millisecond.
    let gone = usize::from(there(0) == "ok");
    assert_eq!(
        (there(gone), there(1 - gone), there(2)),
        ("NOT_FOUND", "ok", "ok")
    );
    assert_eq!(
        code(shop.runs.events(&tenant(), &runs[gone].0, None)),
        "NOT_FOUND"
    );
    for at in [gone, 2] {
        assert!(file(at, "plan.md").is_some() && file(at, "notes.md").is_some());
    }
    assert_eq!(shop.runs.sweep().await.unwrap(), 0);
    shop.submit(&claimed, "done").unwrap();
    assert_eq!(shop.ended(&open).await.status, RunStatus::Completed);
}

#[tokio::test]
async fn i10_old_runs_are_gone_after_the_next_start_and_open_ones_go_on() {
    let mut shop = shop(RunBounds::default());
    let (old, _task) = ended(&shop).await;
    let open = launch(&shop);
    shop.bounds.ended_ms = 1;
    let shop = shop.killed(|_service| {}).await;
    let gone = async {
        while shop.runs.run(&tenant(), &old).is_ok() {
            tokio::task::yield_now().await;
        }
    };
    let within = std::time::Duration::from_mins(1);
    tokio::time::timeout(within, gone).await.unwrap();
    assert_eq!(shop.view(&open).status, RunStatus::Running);
    assert_eq!(RunBounds::default().ended_ms, 90 * DAY_MS);
}

#[tokio::test]
async fn x5_a_run_whose_flow_panics_has_failed_and_the_others_go_on() {
    let shop = Shop::new();
    let run = shop.launch(&[count("panic")], &json!({}));
    let view = shop.ended(&run).await;
    assert_eq!(view.status, RunStatus::Failed);
    let error: Value = view.error.unwrap();
    assert_eq!(error["code"], "HOST_FAULT", "{error}");
    let run = shop.launch(&[count("fine")], &json!({}));
    assert_eq!(shop.ended(&run).await.status, RunStatus::Completed);
}
