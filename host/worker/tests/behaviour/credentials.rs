//! Who is let in, for what, and for how long.

use tidegate_contract::Tenant;
use tidegate_worker::content::Conditions;
use tidegate_worker::service::{Caller, Submit};
use tidegate_worker::store::{Launch, Order, Run};
use tidegate_worker::token::LIFETIME_MS;

use crate::fixture::{House, NOW, caller, code, run};

#[test]
fn i2_token_and_handle_mean_the_same_attempt() {
    let house = House::new();
    let dispatched = house.dispatch("plan");
    for credential in [&dispatched.token, &dispatched.handle] {
        let caller = Caller {
            credential: credential.reveal(),
            ..caller(&dispatched)
        };
        assert_eq!(house.service.prompt(caller).unwrap().attempt, 1);
    }
}

#[test]
fn gap2_a_missing_malformed_or_unknown_credential_is_401_on_every_route() {
    let house = House::new();
    let dispatched = house.dispatch("plan");
    let right = dispatched.token.reveal();
    let (cut, _) = right.split_at(right.len() - 1);
    let unknown = format!("wh-{}", "0".repeat(32));
    for credential in ["", "x", cut, &format!("{right}0"), &unknown] {
        let caller = Caller {
            credential,
            ..caller(&dispatched)
        };
        let service = &house.service;
        for answer in [
            code(service.prompt(caller)),
            code(service.system(caller)),
            code(service.content(caller, "plan", None, Conditions::default())),
            code(service.artifact(caller, "p", b"")),
            code(service.submit(caller, Submit::default())),
        ] {
            assert_eq!(answer, "UNAUTHORIZED", "{credential:?}");
        }
    }
}

#[test]
fn gap1_an_expired_credential_is_401_on_every_route() {
    let house = House::new();
    let dispatched = house.dispatch("plan");
    let at = |now_ms| Caller {
        now_ms,
        ..caller(&dispatched)
    };
    let service = &house.service;
    assert_eq!(code(service.prompt(at(NOW + LIFETIME_MS - 1))), "ok");
    let late = at(NOW + LIFETIME_MS);
    for answer in [
        code(service.prompt(late)),
        code(service.system(late)),
        code(service.content(late, "x", None, Conditions::default())),
        code(service.artifact(late, "p", b"")),
        code(service.submit(late, Submit::default())),
    ] {
        assert_eq!(answer, "UNAUTHORIZED");
    }
}

#[test]
fn gap3_after_completion_only_the_same_submit_is_served() {
    let house = House::new();
    let plan = house.dispatch("plan");
    house.submit(&plan, "first").unwrap();
    let service = &house.service;
    for answer in [
        code(service.prompt(caller(&plan))),
        code(service.system(caller(&plan))),
        code(service.content(caller(&plan), "x", None, Conditions::default())),
        code(service.artifact(caller(&plan), "p", b"late")),
    ] {
        assert_eq!(answer, "ATTEMPT_GONE");
    }
    assert_eq!(code(house.submit(&plan, "first")), "ok");
    assert_eq!(code(house.submit(&plan, "second")), "SUBMIT_CONFLICT");
    assert_eq!(code(house.submit(&plan, "first\n")), "SUBMIT_CONFLICT");
    let reader = house.dispatch("build");
    assert_eq!(house.content(&reader, "plan", None).unwrap(), "first");
    assert!(house.file("plan.md").unwrap().ends_with("\n\nfirst"));
}

#[test]
fn i10_after_a_rekick_the_old_credentials_are_gone_and_the_new_ones_serve() {
    for submitted_before in [false, true] {
        let house = House::new();
        let old = house.dispatch("plan");
        if submitted_before {
            house.submit(&old, "old").unwrap();
        }
        let new = house.dispatch("plan");
        assert_eq!((old.number, new.number), (1, 2));
        assert_eq!(code(house.service.prompt(caller(&old))), "ATTEMPT_GONE");
        assert_eq!(code(house.submit(&old, "old")), "ATTEMPT_GONE");
        assert_eq!(code(house.stage(&old, "p", "old")), "ATTEMPT_GONE");
        house.submit(&new, "new").unwrap();
        assert!(house.file("plan.md").unwrap().ends_with("\n\nnew"));
    }
}

#[test]
fn i2_after_the_runs_end_all_is_gone() {
    let house = House::new();
    let (open, done) = (house.dispatch("open"), house.dispatch("done"));
    house.submit(&done, "x").unwrap();
    house.service.end("R-1").unwrap();
    assert_eq!(code(house.service.prompt(caller(&open))), "ATTEMPT_GONE");
    assert_eq!(code(house.submit(&open, "x")), "ATTEMPT_GONE");
    assert_eq!(code(house.submit(&done, "x")), "ATTEMPT_GONE");
}

#[test]
fn x7_nothing_of_another_run_or_tenant_can_be_reached() {
    let house = House::new();
    let other = Run {
        tenant: Tenant::new("other").unwrap(),
        ..run("R-2", Launch::default())
    };
    house.service.launch(&other, None).unwrap();
    house.done("secret", "of R-1");
    let stranger = house.dispatch_in("R-2", "plan", Order::default());
    assert_eq!(code(house.content(&stranger, "secret", None)), "NOT_FOUND");
    assert_eq!(code(house.content(&stranger, "nothing", None)), "NOT_FOUND");
    let payload = house.service.prompt(caller(&stranger)).unwrap();
    assert!(!payload.context.contains_key("steps"));
}

#[test]
fn gap4_failed_look_ups_are_throttled_and_forgiven_in_time() {
    let house = House::new();
    let dispatched = house.dispatch("plan");
    let unknown = format!("wh-{}", "0".repeat(32));
    let guess = |now_ms| Caller {
        credential: &unknown,
        peer: "10.0.0.9",
        now_ms,
    };
    let answers: Vec<_> = (0..64)
        .map(|_| code(house.service.prompt(guess(NOW))))
        .collect();
    assert!(answers.starts_with(&["UNAUTHORIZED"; 32]));
    assert!(answers.ends_with(&["TOO_MANY_LOOKUPS"; 32]));
    assert_eq!(code(house.service.prompt(caller(&dispatched))), "ok");
    let neighbour = Caller {
        credential: dispatched.handle.reveal(),
        ..guess(NOW)
    };
    let good = house.service.prompt(neighbour);
    assert_eq!(code(good), "ok", "a good credential is good at any address");
    let later = house.service.prompt(guess(NOW + 2_000));
    assert_eq!(code(later), "UNAUTHORIZED");
}

#[test]
fn i2_no_text_of_a_credential_is_in_the_database() {
    let house = House::new();
    let dispatched = house.dispatch("plan");
    house.submit(&dispatched, "body-that-is-there").unwrap();
    let state = tidegate_sandbox::ambient::open_folder(house.state.path()).unwrap();
    let mut all = Vec::new();
    for entry in state.entries().unwrap() {
        all.extend(state.read(entry.unwrap().file_name()).unwrap());
    }
    let holds = |text: &str| all.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(holds("body-that-is-there"));
    for credential in [&dispatched.token, &dispatched.handle] {
        let (_, random) = credential.reveal().split_at(3);
        assert!(!holds(random));
    }
    assert!(!format!("{dispatched:?}").contains(dispatched.handle.reveal()));
    assert!(!format!("{:?}", caller(&dispatched)).contains(dispatched.handle.reveal()));
}

#[test]
fn gap1_what_let_a_worker_in_is_forgotten_when_it_has_expired() {
    let house = House::new();
    let dispatched = house.dispatch("plan");
    house.submit(&dispatched, "x").unwrap();
    let kept = || {
        let path = house.state.path().join("worker.sqlite3");
        let database = rusqlite::Connection::open(path).unwrap();
        let count = "SELECT count(*) FROM credentials";
        database.query_row(count, [], |row| row.get::<_, i64>(0))
    };
    house.service.expire(NOW + LIFETIME_MS - 1).unwrap();
    assert_eq!(kept().unwrap(), 2);
    house.service.expire(NOW + LIFETIME_MS).unwrap();
    assert_eq!(kept().unwrap(), 0);
    assert_eq!(
        code(house.service.prompt(caller(&dispatched))),
        "UNAUTHORIZED"
    );
}

#[test]
fn i2_who_may_not_submit_is_told_that_before_what_is_wrong_with_the_request() {
    let house = House::new();
    let at = house.dispatch("plan");
    let contradiction = Submit {
        ok: Some("true"),
        verdict: Some("blocked"),
        ..Submit::default()
    };
    let late = Caller {
        now_ms: NOW + LIFETIME_MS,
        ..caller(&at)
    };
    let service = &house.service;
    assert_eq!(code(service.submit(late, contradiction)), "UNAUTHORIZED");
    assert_eq!(
        code(service.submit(caller(&at), contradiction)),
        "INVALID_REQUEST"
    );
    house.submit(&at, "x").unwrap();
    assert_eq!(
        code(service.submit(caller(&at), contradiction)),
        "ATTEMPT_GONE"
    );
}
