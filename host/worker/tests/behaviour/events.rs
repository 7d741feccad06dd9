//! What is said of a run while it goes on.

use serde_json::json;
use tidegate_worker::runs::RunView;

use crate::shop::{Shop, ask, count, tenant};

#[tokio::test]
async fn events_tell_what_happened_in_order_and_never_a_body_or_a_credential() {
    let shop = Shop::new();
    let agents = json!({"plan": {"system": "secret-system"}});
    let run = shop.launch(
        &[ask("plan", json!("secret-prompt")), count("tool")],
        &agents,
    );
    let claimed = shop.claim("plan").await;
    shop.stage(&claimed, "notes.md", "secret-part").unwrap();
    shop.submit(&claimed, "secret-body").unwrap();
    let events = shop.events(&run, None).await;
    let kinds: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    let expected = [
        "run.started",
        "step.started",
        "attempt.dispatched",
        "attempt.claimed",
        "attempt.staged",
        "attempt.submitted",
        "step.ended",
        "step.started",
        "step.ended",
        "run.ended",
    ];
    assert_eq!(kinds, expected);
    for (event, id) in events.iter().zip(1_u64..) {
        assert_eq!(event.id, id);
        assert!(event.data["at_ms"].is_u64());
        let data = serde_json::to_string(&event.data).unwrap();
        assert!(!data.contains("secret"), "{data}");
        assert!(!data.contains(claimed.handle.reveal()), "{data}");
    }
    let staged = &events[4].data;
    assert_eq!(
        (&staged["step"], &staged["part"]),
        (&json!("plan"), &json!("notes.md"))
    );
    assert_eq!(events[5].data["verdict"], "pass");
    assert_eq!(events[7].data["step"], "tool");
    assert_eq!(events[9].data["status"], "completed");
}

#[tokio::test]
async fn events_go_on_after_the_last_one_that_was_seen() {
    let shop = Shop::new();
    let run = shop.launch(&[ask("plan", json!(""))], &json!({"plan": {}}));
    shop.done("plan", "x").await;
    let all = shop.events(&run, None).await;
    for seen in 0..=all.len() {
        let after = shop.events(&run, Some(u64::try_from(seen).unwrap())).await;
        assert_eq!(after, all[seen..]);
    }
    assert!(shop.events(&run, Some(u64::MAX)).await.is_empty());
}

#[tokio::test]
async fn events_of_a_rekick_a_failure_and_a_cancel_are_told() {
    let shop = Shop::new();
    let agents = json!({"plan": {}, "other": {}});
    let run = shop.launch(&[ask("plan", json!("")), ask("other", json!(""))], &agents);
    shop.until(&run, "attempt.dispatched").await;
    shop.runs.rekick(&tenant(), &run, None).unwrap();
    shop.done("plan", "x").await;
    let other = shop.claim("other").await;
    shop.runs.cancel(&tenant(), &run).unwrap();
    let events = shop.events(&run, None).await;
    let told: Vec<_> = events
        .iter()
        .filter(|event| event.kind.starts_with("attempt."))
        .map(|event| format!("{} {}", event.kind, event.data["attempt"]))
        .collect();
    let expected = [
        "attempt.dispatched 1",
        "attempt.superseded 1",
        "attempt.dispatched 2",
        "attempt.claimed 2",
        "attempt.submitted 2",
        "attempt.dispatched 1",
        "attempt.claimed 1",
        "attempt.cancelled 1",
    ];
    assert_eq!(told, expected);
    assert_eq!(other.step, "other");
    assert_eq!(events.last().unwrap().data["status"], "cancelled");
}

#[tokio::test]
async fn events_and_views_of_audits_leave_the_fold_alone() {
    let shop = Shop::new();
    let agents = json!({"plan": {}, "next": {}});
    let run = shop.launch(&[ask("plan", json!("")), ask("next", json!(""))], &agents);
    let plan = shop.claim("plan").await;
    let audit = |step: &str, name: Option<&str>, body: &[u8]| {
        shop.runs.audit(&tenant(), &run, step, (name, body))
    };
    audit("plan", None, b"looks right").unwrap();
    audit("plan", Some("style"), b"old").unwrap();
    audit("plan", Some("style"), b"new").unwrap();
    for (step, name, body, expected) in [
        ("none", None, &b"x"[..], "NOT_FOUND"),
        ("a b", None, b"x", "NOT_FOUND"),
        ("plan", Some("a\0"), b"x", "INVALID_PART_NAME"),
        ("plan", None, b"\xff", "BODY_NOT_UTF8"),
    ] {
        assert_eq!(crate::fixture::code(audit(step, name, body)), expected);
    }
    shop.submit(&plan, "a plan").unwrap();
    let next = shop.claim("next").await;
    let payload = shop.prompt(&next).unwrap();
    let steps = payload.context["steps"].as_array().unwrap().clone();
    let names: Vec<_> = steps
        .iter()
        .map(|step| step["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["plan", "plan/audit:plan", "plan/audit:plan:style"]);
    let served = shop.service.content(
        crate::shop::worker(&next.handle),
        "plan",
        Some("audit:plan:style"),
        tidegate_worker::content::Conditions::default(),
    );
    let expected = tidegate_worker::content::Body::Whole(b"new".to_vec());
    assert_eq!(served.unwrap().body, expected);
    shop.submit(&next, "").unwrap();
    let view: RunView = shop.ended(&run).await;
    assert_eq!(view.result.unwrap()["plan"], "a plan");
    let late = audit("plan", None, b"late");
    assert_eq!(crate::fixture::code(late), "ATTEMPT_GONE");
    assert_eq!(shop.file(&view.task, "audit:plan"), None);
}
