//! Who gets an attempt, when, and what becomes of one that is lost.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use tidegate::{Caller, CancellationToken};
use tidegate_contract::Tenant;
use tidegate_worker::runs::WAIT_MS;
use tidegate_worker::store::RunStatus;

use crate::fixture::code;
use crate::shop::{Shop, ask, tenant};

#[tokio::test]
async fn i12_an_attempt_is_handed_out_once_and_never_with_its_prompt() {
    let shop = Shop::new();
    let agents = json!({"plan": {"system": "private-system"}});
    let run = shop.launch(&[ask("plan", json!("private-prompt"))], &agents);
    let claimed = shop.claim("plan").await;
    assert!(!shop.has_work("plan").await);
    let wire = claimed.reveal().unwrap();
    for private in ["private-prompt", "private-system"] {
        assert!(!wire.contains(private), "{wire}");
        assert!(!format!("{claimed:?}").contains(private));
    }
    assert!(wire.contains(claimed.handle.reveal()));
    assert!(!format!("{claimed:?}").contains(claimed.handle.reveal()));
    let wire: serde_json::Value = serde_json::from_str(&wire).unwrap();
    let keys: Vec<_> = wire.as_object().unwrap().keys().collect();
    let expected = [
        "task",
        "run",
        "step",
        "attempt",
        "agent",
        "handle",
        "expires_ms",
        "base_url",
    ];
    assert_eq!(keys, expected);
    assert_eq!(wire["run"], run.as_str());
    assert_eq!(wire["base_url"], "http://127.0.0.1:7420");
}

#[tokio::test]
async fn i12_a_dispatch_waits_for_a_claim_and_a_claim_for_a_dispatch() {
    let shop = Shop::new();
    assert!(!shop.has_work("plan").await);
    let (claimed, run) = tokio::join!(shop.claim("plan"), async {
        tokio::task::yield_now().await;
        shop.launch(
            &[ask("plan", json!("")), ask("plan", json!(""))],
            &json!({"plan": {}}),
        )
    });
    assert_eq!(claimed.run, run);
    shop.submit(&claimed, "one").unwrap();
    shop.until(&run, "step.ended").await;
    let second = shop.claim("plan").await;
    assert_eq!(second.attempt, 2);
    shop.submit(&second, "two").unwrap();
    assert_eq!(shop.ended(&run).await.status, RunStatus::Completed);
}

#[tokio::test]
async fn i12_a_wait_is_bounded_and_ends_when_the_operator_goes_away() {
    let shop = Shop::new();
    let token = CancellationToken::new();
    let ask =
        async |agent: &str, wait_ms| code(shop.runs.claim(&tenant(), agent, wait_ms, &token).await);
    assert_eq!(ask("plan", 0).await, "ok");
    assert_eq!(ask("plan", WAIT_MS + 1).await, "INVALID_REQUEST");
    assert_eq!(ask("", 0).await, "INVALID_REQUEST");
    assert_eq!(ask("a b", 0).await, "INVALID_REQUEST");
    assert_eq!(ask(&"a".repeat(64), 0).await, "ok");
    assert_eq!(ask(&"a".repeat(65), 0).await, "INVALID_REQUEST");
    token.cancel();
    for wait_ms in [WAIT_MS - 1, WAIT_MS] {
        assert_eq!(ask("plan", wait_ms).await, "ok");
    }
}

#[tokio::test]
async fn x7_nobody_gets_another_tenants_work() {
    let shop = Shop::new();
    let other = Caller {
        tenant: Tenant::new("other").unwrap(),
        ..Caller::default()
    };
    let run = shop.launch_as(&other, &[ask("plan", json!(""))], &json!({"plan": {}}));
    let token = CancellationToken::new();
    let theirs = shop.runs.claim(&other.tenant, "plan", 30_000, &token).await;
    assert_eq!(theirs.unwrap().unwrap().run, run);
    shop.runs.rekick(&other.tenant, &run, None).unwrap();
    assert!(!shop.has_work("plan").await);
    let theirs = shop.runs.claim(&other.tenant, "plan", 0, &token).await;
    assert_eq!(theirs.unwrap().unwrap().attempt, 2);
}

#[tokio::test]
async fn i12_a_lost_claim_is_re_kicked_and_the_lost_handle_is_dead() {
    let shop = Shop::new();
    let run = shop.launch(&[ask("plan", json!("do it"))], &json!({"plan": {}}));
    let lost = shop.claim("plan").await;
    shop.stage(&lost, "old", "x").unwrap();
    for (step, expected) in [
        (Some("none"), "NOT_FOUND"),
        (Some("a b"), "INVALID_REQUEST"),
        (Some("plan"), "ok"),
    ] {
        assert_eq!(code(shop.runs.rekick(&tenant(), &run, step)), expected);
    }
    assert_eq!(code(shop.prompt(&lost)), "ATTEMPT_GONE");
    assert_eq!(code(shop.submit(&lost, "late")), "ATTEMPT_GONE");
    let claimed = shop.claim("plan").await;
    assert_eq!(claimed.attempt, 2);
    assert_eq!(shop.prompt(&claimed).unwrap().prompt, "do it");
    shop.submit(&claimed, "done").unwrap();
    let view = shop.ended(&run).await;
    assert_eq!(view.result, Some(json!({"plan": "done"})));
    let states: Vec<_> = view.steps[0].attempts.iter().map(|a| a.state).collect();
    assert_eq!(states, ["superseded", "completed"]);
}

#[tokio::test]
async fn i12_what_nobody_has_claimed_can_be_re_kicked_too() {
    let shop = Shop::new();
    let run = shop.launch(&[ask("plan", json!(""))], &json!({"plan": {}}));
    shop.until(&run, "attempt.dispatched").await;
    assert_eq!(shop.view(&run).steps[0].attempts[0].state, "waiting");
    assert_eq!(shop.runs.rekick(&tenant(), &run, None).unwrap(), 1);
    assert_eq!(shop.claim("plan").await.attempt, 2);
    assert!(!shop.has_work("plan").await);
}

#[tokio::test]
async fn gap1_an_attempt_whose_time_runs_out_is_expired_and_its_step_fails() {
    let shop = Shop::new();
    let run = shop.launch(&[ask("plan", json!(""))], &json!({"plan": {"ttl_ms": 1}}));
    let claimed = shop.claim("plan").await;
    let view = shop.ended(&run).await;
    assert_eq!(view.error.unwrap()["code"], "ATTEMPT_EXPIRED");
    assert_eq!(view.steps[0].attempts[0].state, "expired");
    assert_eq!(code(shop.prompt(&claimed)), "UNAUTHORIZED");
}

#[tokio::test]
async fn i12_no_text_of_a_handle_is_in_the_database() {
    let shop = Shop::new();
    shop.launch(
        &[ask("plan", json!("text-that-is-there"))],
        &json!({"plan": {}}),
    );
    let claimed = shop.claim("plan").await;
    let state = tidegate_sandbox::ambient::open_folder(shop.state.path()).unwrap();
    let mut all = Vec::new();
    for entry in state.entries().unwrap() {
        all.extend(state.read(entry.unwrap().file_name()).unwrap());
    }
    let holds = |text: &str| all.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(holds("text-that-is-there"));
    let (_, random) = claimed.handle.reveal().split_at(3);
    assert!(!holds(random));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn i12_of_claims_that_come_at_once_each_attempt_goes_to_one() {
    let shop = Arc::new(Shop::new());
    let items: Vec<u32> = (0..40).collect();
    let fanout = json!({"fanout": {
        "name": "all", "items": {"$lit": items}, "bind": "item", "concurrency": 40,
        "body": ask("lane", json!({"$path": "$.item"})),
    }});
    let run = shop.launch(&[fanout], &json!({"lane": {}}));
    let mut workers = tokio::task::JoinSet::new();
    for _worker in 0..40 {
        let shop = Arc::clone(&shop);
        workers.spawn(async move {
            let claimed = shop.claim("lane").await;
            shop.submit(&claimed, &claimed.step).unwrap();
            claimed.step
        });
    }
    let steps: BTreeSet<String> = workers.join_all().await.into_iter().collect();
    assert_eq!(steps.len(), 40);
    let lanes = shop.ended(&run).await.result.unwrap()["all"].clone();
    for (lane, output) in lanes.as_array().unwrap().iter().enumerate() {
        assert_eq!(output["lane"], format!("lane[{lane}]"));
    }
}

#[tokio::test]
async fn i3_io11_a_submit_whose_answer_was_lost_is_answered_alike_when_a_loop_has_gone_on() {
    let shop = Shop::new();
    let body = ask("plan", json!("again"));
    let again = json!({"loop": {
        "name": "twice", "body": body, "done": {"$eq": [{"$path": "$.plan"}, "two"]},
        "max_iterations": 2,
    }});
    let run = shop.launch(&[again], &json!({"plan": {}}));
    let first = shop.claim("plan").await;
    shop.submit(&first, "one").unwrap();
    let second = shop.claim("plan").await;
    assert_eq!(second.attempt, 2);
    assert_eq!(code(shop.submit(&first, "one")), "ok");
    assert_eq!(code(shop.submit(&first, "other")), "SUBMIT_CONFLICT");
    assert_eq!(code(shop.prompt(&first)), "ATTEMPT_GONE");
    // A new attempt in the same place is another thing.
    shop.runs.rekick(&tenant(), &run, Some("plan")).unwrap();
    let third = shop.claim("plan").await;
    assert_eq!(code(shop.submit(&second, "two")), "ATTEMPT_GONE");
    assert_eq!(code(shop.submit(&first, "one")), "ok");
    shop.submit(&third, "two").unwrap();
    assert_eq!(shop.ended(&run).await.status, RunStatus::Completed);
}

#[tokio::test]
async fn i12_a_claim_whose_operator_goes_away_waits_again() {
    let shop = Shop::new();
    let run = shop.launch(&[ask("plan", json!(""))], &json!({"plan": {}}));
    shop.until(&run, "attempt.dispatched").await;
    let (token, tenant) = (CancellationToken::new(), tenant());
    {
        let gone = shop.runs.claim(&tenant, "plan", WAIT_MS, &token);
        tokio::select! {
            biased;
            claimed = gone => panic!("at once: {claimed:?}"),
            () = std::future::ready(()) => {}
        }
    }
    let claimed = shop.claim("plan").await;
    assert_eq!(claimed.attempt, 1);
    shop.submit(&claimed, "done").unwrap();
    assert_eq!(shop.ended(&run).await.status, RunStatus::Completed);
}
