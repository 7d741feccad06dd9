//! Tenants: whose calls wait, in which order, and what each may use (SPEC X2, X7).

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tidegate::{Caller, CancellationToken, Deadline, InvokeOptions};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::{CallError, Status, Tenant};
use tidegate_engine::{Admission, Claim, Need, Permit};

use crate::support::{Fixture, call, nothing};

fn claim(tenant: &str, calls: u32) -> Claim {
    Claim {
        tenant: Tenant::new(tenant).unwrap(),
        quota: None,
        need: Need::calls(calls),
        cancel: CancellationToken::new(),
        deadline: Deadline::after_ms(10_000),
    }
}

/// Room for some calls, and the order in which those that wait are let in.
struct Room {
    admission: Admission,
    order: Arc<Mutex<Vec<String>>>,
    tasks: tokio::task::JoinSet<()>,
}

impl Room {
    fn of(calls: u32) -> Self {
        Self {
            admission: Admission::new(Need::calls(calls), 1_024),
            order: Arc::default(),
            tasks: tokio::task::JoinSet::new(),
        }
    }

    async fn take(&self, claim: &Claim) -> Permit {
        self.admission.admit(claim).await.unwrap()
    }

    /// Waits in the background; once in, writes the name down and leaves again.
    async fn wait(&mut self, name: &str, claim: Claim) -> tokio::task::AbortHandle {
        let (admission, order) = (self.admission.clone(), Arc::clone(&self.order));
        let name = name.to_owned();
        let task = self.tasks.spawn(async move {
            let permit = admission.admit(&claim).await;
            if permit.is_ok() {
                order.lock().unwrap().push(name);
            }
            // Whoever is let in next must see this one's name first.
            tokio::task::yield_now().await;
            drop(permit);
        });
        // On this test's one thread the task now runs until it waits.
        tokio::task::yield_now().await;
        task
    }

    async fn order(mut self) -> String {
        while self.tasks.join_next().await.is_some() {}
        self.order.lock().unwrap().join(" ")
    }
}

#[tokio::test]
async fn x2_a_tenant_is_served_in_order_and_tenants_take_turns() {
    let mut room = Room::of(1);
    let inside = room.take(&claim("a", 1)).await;
    for name in ["a1", "a2", "a3", "b1", "b2", "c1"] {
        let tenant = name.get(..1).unwrap();
        room.wait(name, claim(tenant, 1)).await;
    }
    drop(inside);
    assert_eq!(room.order().await, "a1 b1 c1 a2 b2 a3");
}

#[tokio::test]
async fn x2_a_large_need_is_waited_for_and_small_ones_do_not_pass_it() {
    let mut room = Room::of(3);
    let (one, two) = (
        room.take(&claim("a", 1)).await,
        room.take(&claim("a", 1)).await,
    );
    room.wait("large", claim("b", 3)).await;
    room.wait("small", claim("c", 1)).await;
    drop(one);
    tokio::task::yield_now().await;
    assert!(
        room.order.lock().unwrap().is_empty(),
        "one of three is taken"
    );
    drop(two);
    assert_eq!(room.order().await, "large small");
}

#[tokio::test]
async fn x2_whoever_gives_up_holds_up_nobody() {
    let mut room = Room::of(2);
    let inside = room.take(&claim("a", 1)).await;
    let large = room.wait("large", claim("b", 2)).await;
    room.wait("small", claim("c", 1)).await;
    assert!(room.order.lock().unwrap().is_empty());
    large.abort();
    // Room for the small one was there all the time.
    for _ in 0..4 {
        tokio::task::yield_now().await;
    }
    assert_eq!(*room.order.lock().unwrap(), ["small"]);
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let full = room.take(&claim("a", 1)).await;
    let gone = Claim {
        cancel: cancelled,
        ..claim("d", 1)
    };
    let refused = room.admission.admit(&gone).await;
    assert_eq!(refused.unwrap_err().code(), "CANCELLED");
    drop((inside, full));
    // Everything was given back.
    drop(room.take(&claim("e", 2)).await);
}

#[tokio::test]
async fn x2_the_queue_of_one_tenant_is_bounded_and_never_anothers() {
    for queue in [0, 1, 2] {
        let admission = Admission::new(Need::calls(1), queue);
        let inside = admission.admit(&claim("a", 1)).await.unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..queue {
            let admission = admission.clone();
            tasks.spawn(async move { drop(admission.admit(&claim("a", 1)).await.unwrap()) });
        }
        tokio::task::yield_now().await;
        let over = admission.admit(&claim("a", 1)).await;
        assert!(
            matches!(over, Err(CallError::QueueFull { limit }) if limit == queue),
            "{over:?}"
        );
        if queue > 0 {
            let other = admission.clone();
            tasks.spawn(async move { drop(other.admit(&claim("b", 1)).await.unwrap()) });
        }
        tokio::task::yield_now().await;
        drop(inside);
        tasks.join_all().await;
    }
}

#[tokio::test]
async fn x7_a_tenant_at_its_quota_waits_and_others_pass() {
    let mut room = Room::of(4);
    let bounded = || Claim {
        quota: Some(1),
        ..claim("a", 1)
    };
    let inside = room.take(&bounded()).await;
    room.wait("a", bounded()).await;
    room.wait("b", claim("b", 1)).await;
    for _ in 0..4 {
        tokio::task::yield_now().await;
    }
    assert_eq!(*room.order.lock().unwrap(), ["b"]);
    drop(inside);
    assert_eq!(room.order().await, "b a");
}

/// A seeded storm of tenants, needs and cancellations: what was taken is all given back.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn x2_no_room_is_lost_however_calls_end() {
    let admission = Admission::new(Need::calls(8), 1_024);
    let mut tasks = tokio::task::JoinSet::new();
    let mut seed = 7_u64;
    let mut next = move |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    for _ in 0..600 {
        let tenant = ["a", "b", "c"][usize::try_from(next(3)).unwrap()];
        let cancel = CancellationToken::new();
        let claim = Claim {
            quota: (next(2) == 0).then_some(2),
            cancel: cancel.clone(),
            ..claim(tenant, u32::try_from(1 + next(8)).unwrap())
        };
        let admission = admission.clone();
        let (gives_up, hold) = (next(4), Duration::from_micros(next(300)));
        let task = tasks.spawn(async move {
            let permit = admission.admit(&claim).await;
            tokio::time::sleep(hold).await;
            drop(permit);
        });
        match gives_up {
            0 => task.abort(),
            1 => cancel.cancel(),
            _ => {}
        }
    }
    while tasks.join_next().await.is_some() {}
    drop(admission.admit(&claim("all", 8)).await.unwrap());
    admission.close().await;
    let late = admission.admit(&claim("all", 8)).await;
    assert!(matches!(late, Err(CallError::Closed)), "{late:?}");
}

fn caller(tenant: &str, allow: &[&str]) -> InvokeOptions {
    let mut grant = Grant::default();
    for allow in allow {
        parse_allow(allow, &mut grant).unwrap();
    }
    InvokeOptions {
        caller: Caller {
            tenant: Tenant::new(tenant).unwrap(),
            grant: Some(grant.into()),
            concurrency: NonZeroU32::new(1),
            ..Caller::default()
        },
        ..InvokeOptions::default()
    }
}

#[tokio::test]
async fn x7_a_caller_sees_and_uses_its_own_tools_only() {
    let fixture = Fixture::new(&[]);
    let runtime = fixture.runtime(&["misbehave"]).await;
    let acme = caller("acme", &["tool=counter", "tool=not_there"]);
    let names: Vec<String> = runtime
        .tools_of(&acme.caller)
        .iter()
        .map(|tool| tool.name.to_string())
        .collect();
    assert_eq!(names, ["counter"]);
    let counted = runtime.act_tool(call("counter", nothing()), acme.clone());
    assert_eq!(counted.await.unwrap().status, Status::Success);
    // What another tenant has and what nobody has look alike.
    for name in ["spin", "nobody_has_it"] {
        let denied = runtime
            .act_tool(call(name, nothing()), acme.clone())
            .await
            .unwrap_err();
        let CallError::PermissionDenied { kind, .. } = &denied else {
            panic!("{denied:?}")
        };
        assert_eq!(*kind, "tool", "{name}");
    }
}

#[tokio::test]
async fn x7_a_component_lends_no_caller_what_the_caller_was_not_granted() {
    let fixture = Fixture::new(&["read"]);
    fixture.write("a.txt", "secret");
    let runtime = fixture.runtime(&["probe"]).await;
    let read = || call("fs", json!({"op": "read", "path": "a.txt"}));
    let denied = runtime.act_tool(read(), caller("acme", &["tool=fs"])).await;
    let Err(CallError::PermissionDenied { kind, name, .. }) = denied else {
        panic!("{denied:?}")
    };
    assert_eq!((kind, name.as_str()), ("read", "."));
    let partly = caller("acme", &["tool=fs", "read=docs"]);
    assert!(runtime.act_tool(read(), partly).await.is_err());
    let granted = caller("acme", &["tool=fs", "read"]);
    assert!(runtime.act_tool(read(), granted).await.is_ok());
    // A caller's grant never widens what the runtime permits.
    let narrow = Fixture::new(&[]).runtime(&["probe"]).await;
    let wide = caller("acme", &["tool=fs", "read", "network=https://example.com"]);
    let result = narrow.act_tool(read(), wide).await.unwrap();
    let result = serde_json::to_value(result).unwrap();
    assert_ne!(result["content"], "secret", "{result}");
}

#[test]
fn calls_from_a_thread_that_may_block_are_the_same_calls() {
    let fixture = Fixture::new(&[]).limit("deadline_ms", 1_000);
    let threads = tokio::runtime::Runtime::new().unwrap();
    let runtime = threads.block_on(fixture.runtime(&["misbehave"]));
    let blocking = runtime.blocking().unwrap();
    for tool in ["counter", "spin", "sleep", "grow", "panic", "counter"] {
        let here = blocking
            .act_tool(call(tool, nothing()), InvokeOptions::default())
            .unwrap();
        let there = runtime.act_tool(call(tool, nothing()), InvokeOptions::default());
        let there = threads.block_on(there).unwrap();
        assert_eq!(
            serde_json::to_value(here).unwrap(),
            serde_json::to_value(there).unwrap(),
            "{tool}"
        );
    }
    let cancel = CancellationToken::new();
    let options = InvokeOptions {
        cancel: cancel.clone(),
        ..InvokeOptions::default()
    };
    cancel.cancel();
    let ended = blocking.act_tool(call("spin", nothing()), options);
    assert_eq!(ended.unwrap_err().code(), "CANCELLED");
}

/// SPEC S5: a call that runs on its caller's thread has that thread's CPU time counted.
#[test]
fn s5_cpu_time_is_bounded_on_the_callers_thread_too() {
    let fixture = Fixture::new(&[]).limit("cpu_ms", 50);
    let threads = tokio::runtime::Runtime::new().unwrap();
    let runtime = threads.block_on(fixture.runtime(&["misbehave"]));
    let blocking = runtime.blocking().unwrap();
    for _again in 0..2 {
        let ended = blocking.act_tool(call("spin", nothing()), InvokeOptions::default());
        let code = ended.unwrap().error.unwrap().code().to_owned();
        assert_eq!(code, "LIMIT_CPU");
        let next = blocking.act_tool(call("counter", nothing()), InvokeOptions::default());
        assert_eq!(next.unwrap().status, Status::Success);
    }
}
