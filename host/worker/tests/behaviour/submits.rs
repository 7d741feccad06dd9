//! What completes an attempt, what is refused, and what the step's value is then.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_contract::json as strict_json;
use tidegate_worker::attempt::State;
use tidegate_worker::fold::SubmitFormat;
use tidegate_worker::projection::CheckPolicy;
use tidegate_worker::service::{BODY_BYTES, Dispatch, Outcome, Submit};
use tidegate_worker::store::{Launch, Order};
use tidegate_worker::token::LIFETIME_MS;
use tidegate_worker::verdict::{Channel, Contract};
use tokio::time::timeout;

use crate::fixture::{House, NOW, caller, code, run, step};

fn gate(values: &[&str], channel: Channel) -> Order {
    Order {
        contract: Some(Contract {
            channel,
            values: values.iter().map(|&value| value.to_owned()).collect(),
        }),
        ..Order::default()
    }
}

fn json_order() -> Order {
    Order {
        submit_format: SubmitFormat::Json,
        ..Order::default()
    }
}

#[test]
fn gap5_bodies_and_parts_are_kept_byte_for_byte() {
    let house = House::new();
    let at = house.dispatch("plan");
    let text = " \u{feff}x\0\r\n \n\n";
    house.stage(&at, "p", text).unwrap();
    house.submit(&at, text).unwrap();
    let value = json!({"out": text, "parts": {"p": text}});
    assert_eq!(house.outcome(&at), Outcome::Passed(value));
    assert_eq!(house.file("p").unwrap(), text);
    let reader = house.dispatch("build");
    assert_eq!(house.content(&reader, "plan", None).unwrap(), text);
    assert_eq!(house.content(&reader, "plan", Some("p")).unwrap(), text);
}

#[test]
fn i3_what_is_no_text_or_too_large_is_refused_and_records_nothing() {
    let house = House::new();
    let at = house.dispatch("plan");
    let large = "x".repeat(BODY_BYTES + 1);
    let bad = b"caf\xe9";
    let submit = |body| Submit {
        body,
        ..Submit::default()
    };
    let service = &house.service;
    for (answer, expected) in [
        (code(house.submit(&at, &large)), "BODY_TOO_LARGE"),
        (code(house.stage(&at, "p", &large)), "BODY_TOO_LARGE"),
        (
            code(service.submit(caller(&at), submit(bad))),
            "BODY_NOT_UTF8",
        ),
        (
            code(service.artifact(caller(&at), "p", bad)),
            "BODY_NOT_UTF8",
        ),
        (
            code(house.submit_as(&at, "", Some("done"))),
            "INVALID_REQUEST",
        ),
        (code(house.stage(&at, "", "x")), "INVALID_PART_NAME"),
        (code(house.stage(&at, "a\0b", "x")), "INVALID_PART_NAME"),
        (
            code(house.stage(&at, &"a".repeat(256), "x")),
            "INVALID_PART_NAME",
        ),
        (
            code(house.submit(&at, "@file:/etc/passwd")),
            "FILE_SUBMIT_NOT_ALLOWED",
        ),
        (
            code(house.stage(&at, "p", "@file:x")),
            "FILE_SUBMIT_NOT_ALLOWED",
        ),
    ] {
        assert_eq!(answer, expected);
    }
    assert_eq!(house.outcome(&at), Outcome::Open);
    let largest = "x".repeat(BODY_BYTES);
    house.submit(&at, &largest).unwrap();
    assert_eq!(house.outcome(&at), Outcome::Passed(json!(largest)));
}

#[test]
fn i5_the_last_text_of_a_part_wins_and_staging_completes_nothing() {
    let house = House::new();
    let at = house.dispatch("plan");
    for (name, text) in [("b", "1"), ("a", "2"), ("b", "3")] {
        house.stage(&at, name, text).unwrap();
    }
    assert_eq!(house.outcome(&at), Outcome::Open);
    house.submit(&at, "done").unwrap();
    let Outcome::Passed(value) = house.outcome(&at) else {
        panic!();
    };
    let expected = r#"{"out":"done","parts":{"b":"3","a":"2"}}"#;
    assert_eq!(value.to_string(), expected);
}

#[test]
fn i5_parts_of_another_attempt_do_not_fold() {
    let house = House::new();
    let old = house.dispatch("plan");
    house.stage(&old, "p", "old").unwrap();
    let new = house.dispatch("plan");
    house.submit(&new, "new").unwrap();
    assert_eq!(house.outcome(&old), Outcome::Closed(State::Superseded));
    assert_eq!(house.outcome(&new), Outcome::Passed(json!("new")));
}

#[test]
fn gap6_a_skipped_step_leaves_no_output_and_a_blocked_one_fails_with_its_value() {
    let house = House::new();
    let (skipped, blocked) = (house.dispatch("skipped"), house.dispatch("blocked"));
    house.stage(&skipped, "p", "x").unwrap();
    house.submit_as(&skipped, "why", Some("skip")).unwrap();
    house.submit_as(&blocked, "why", Some("blocked")).unwrap();
    assert_eq!(house.outcome(&skipped), Outcome::Skipped);
    assert_eq!(house.outcome(&blocked), Outcome::Blocked(json!("why")));
    assert_eq!(house.file("skipped.md"), None);
    assert!(house.file("blocked.md").unwrap().contains("ok: false"));
    let reader = house.dispatch("build");
    for step in ["skipped", "blocked"] {
        assert_eq!(code(house.content(&reader, step, None)), "NOT_FOUND");
    }
}

#[test]
fn gap9_a_body_that_does_not_parse_records_nothing_also_when_the_attempt_ends() {
    let house = House::new();
    let at = house.dispatch_with("plan", json_order());
    let error = house.submit(&at, "```json\n{}\n```").unwrap_err();
    assert_eq!((error.status(), error.code()), (422, "BODY_NOT_JSON"));
    assert_eq!(house.outcome(&at), Outcome::Open);
    assert_eq!(house.file("plan.md"), None);
    house.submit(&at, "{\"lanes\": [1, 2]}").unwrap();
    assert_eq!(
        house.outcome(&at),
        Outcome::Passed(json!({"lanes": [1, 2]}))
    );

    let given_up = house.dispatch_with("other", json_order());
    assert_eq!(code(house.submit(&given_up, "prose")), "BODY_NOT_JSON");
    house.service.end("R-1").unwrap();
    assert_eq!(house.outcome(&given_up), Outcome::Closed(State::Cancelled));
}

#[test]
fn i6_an_unknown_format_folds_as_text_with_a_warning() {
    let house = House::with(Launch {
        check_policy: CheckPolicy::Silent,
        ..Launch::default()
    });
    let order = Order {
        submit_format: SubmitFormat::nearest([Some(&json!("yaml")), Some(&json!("json")), None]),
        ..Order::default()
    };
    let at = house.dispatch_with("plan", order);
    let accepted = house.submit(&at, "{}").unwrap();
    assert!(accepted.warnings.iter().any(|line| line.contains("yaml")));
    assert_eq!(house.outcome(&at), Outcome::Passed(json!("{}")));
}

#[test]
fn i7_a_violated_contract_is_422_and_leaves_the_attempt_open() {
    let house = House::new();
    let body = house.dispatch_with("body", gate(&["PASS"], Channel::Body));
    assert_eq!(code(house.submit(&body, "pass")), "VERDICT_VIOLATION");
    house.submit(&body, "PASS\n").unwrap();

    let part = house.dispatch_with("part", gate(&["PASS"], Channel::Part));
    assert_eq!(code(house.submit(&part, "PASS")), "VERDICT_VIOLATION");
    let staged = house.stage(&part, "verdict", "maybe");
    assert_eq!(code(staged), "VERDICT_VIOLATION");
    house.stage(&part, "verdict", "PASS").unwrap();
    house.submit(&part, "prose").unwrap();
    assert!(matches!(house.outcome(&part), Outcome::Passed(_)));
}

#[test]
fn gap10_one_blueprints_contract_does_not_bind_anothers_agent() {
    let house = House::new();
    house
        .service
        .launch(&run("R-2", Launch::default()), None)
        .unwrap();
    let bound = house.dispatch_in("R-1", "s", gate(&["PASS"], Channel::Body));
    let free = house.dispatch_in("R-2", "s", Order::default());
    assert_eq!(code(house.submit(&bound, "prose")), "VERDICT_VIOLATION");
    assert_eq!(code(house.submit(&free, "prose")), "ok");
}

#[test]
fn i10_time_that_runs_out_closes_what_is_open_alone() {
    let house = House::new();
    let (open, done) = (house.dispatch("open"), house.dispatch("done"));
    house.submit(&done, "x").unwrap();
    let service = &house.service;
    assert_eq!(service.expire(NOW + LIFETIME_MS - 1).unwrap(), 0);
    assert_eq!(service.expire(NOW + LIFETIME_MS).unwrap(), 1);
    assert_eq!(house.outcome(&open), Outcome::Closed(State::Expired));
    assert_eq!(house.outcome(&done), Outcome::Passed(json!("x")));
}

#[test]
fn i10_what_was_acknowledged_is_there_after_a_start() {
    let house = House::new();
    let (done, open) = (house.dispatch("done"), house.dispatch("open"));
    house.stage(&done, "p", "part").unwrap();
    house.submit(&done, "final").unwrap();
    house.stage(&open, "p2", "kept").unwrap();
    let house = house.started_again();
    let value = json!({"out": "final", "parts": {"p": "part"}});
    assert_eq!(house.outcome(&done), Outcome::Passed(value));
    assert_eq!(code(house.submit(&done, "final")), "ok");
    assert_eq!(code(house.submit(&done, "other")), "SUBMIT_CONFLICT");
    house.submit(&open, "later").unwrap();
    let value = json!({"out": "later", "parts": {"p2": "kept"}});
    assert_eq!(house.outcome(&open), Outcome::Passed(value));
}

#[test]
fn i3_of_submits_that_come_at_once_one_completes_the_attempt() {
    let house = House::new();
    let at = house.dispatch("plan");
    let bodies: Vec<String> = (0..8).map(|n| format!("body {n}")).collect();
    let answers: Vec<_> = thread::scope(|scope| {
        let (house, at) = (&house, &at);
        let submit = |body: &String| {
            let body = body.clone();
            scope.spawn(move || code(house.submit(at, &body)))
        };
        let running: Vec<_> = bodies.iter().map(submit).collect();
        let answers = running.into_iter().map(|thread| thread.join().unwrap());
        answers.collect()
    });
    let winners: Vec<_> = answers.iter().filter(|&&code| code == "ok").collect();
    assert_eq!(winners.len(), 1, "{answers:?}");
    let place = answers.iter().position(|&code| code == "ok").unwrap();
    let won = &bodies[place];
    assert_eq!(house.outcome(&at), Outcome::Passed(json!(won)));
    assert!(house.file("plan.md").unwrap().ends_with(won));
    let lost = answers.iter().filter(|&&code| code == "SUBMIT_CONFLICT");
    assert_eq!(lost.count(), 7, "{answers:?}");
}

#[test]
fn io10_an_order_or_a_launch_too_deep_to_be_read_back_is_refused() {
    let nested = |depth| (0..depth).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    let house = House::new();
    for (depth, expected) in [
        (120, "ok"),
        (121, "INVALID_REQUEST"),
        (100_000, "INVALID_REQUEST"),
    ] {
        let launch = Launch {
            task_metadata: Some(nested(depth)),
            ..Launch::default()
        };
        let mut kept = run(&format!("R-{depth}"), launch);
        assert_eq!(code(house.service.launch(&kept, None)), expected);
        strict_json::discard(kept.launch.task_metadata.take().unwrap());

        let mut dispatch = Dispatch {
            run: "R-1".to_owned(),
            step: step("plan"),
            agent: "agent".to_owned(),
            order: Order::default(),
        };
        let context = &mut dispatch.order.context;
        context.insert("deep".to_owned(), nested(depth.min(121)));
        let answer = house.service.dispatch(dispatch, NOW);
        let answer = answer.and_then(|dispatched| house.service.prompt(caller(&dispatched)));
        assert_eq!(code(answer), expected);
    }
}

#[test]
fn i4_a_body_may_name_a_file_where_that_is_declared() {
    let house = House::with(Launch {
        work_dir: Some("/job".to_owned()),
        ..Launch::default()
    });
    house
        .root()
        .write("large.json", "{\"lanes\": [1]}")
        .unwrap();
    let allowed = Order {
        allow_file_submit: true,
        ..json_order()
    };
    let at = house.dispatch_with("plan", allowed);
    let body = "@file:/job/large.json";
    house.stage(&at, "raw", body).unwrap();
    assert_eq!(code(house.submit(&at, "@file:/etc/passwd")), "FILE_OUTSIDE");
    assert_eq!(code(house.submit(&at, "@file:/job/none")), "NOT_FOUND");
    house.submit(&at, body).unwrap();
    let value = json!({"out": {"lanes": [1]}, "parts": {"raw": "{\"lanes\": [1]}"}});
    assert_eq!(house.outcome(&at), Outcome::Passed(value.clone()));
    // The same request again is the same submit, whatever has become of the file.
    house.root().write("large.json", "changed").unwrap();
    assert_eq!(code(house.submit(&at, body)), "ok");
    assert_eq!(house.outcome(&at), Outcome::Passed(value));
}

#[test]
fn i10_a_damaged_row_is_the_hosts_fault_and_no_guess() {
    for damage in [
        "UPDATE attempts SET state = 'done'",
        "UPDATE attempts SET work_order = '{'",
        "UPDATE attempts SET step = '../x'",
        "UPDATE attempts SET submit_digest = x'00', ending = 'pass', body = ''",
        "UPDATE runs SET tenant = 'a b'",
        "UPDATE credentials SET role = 'root'",
    ] {
        let house = House::new();
        let at = house.dispatch("plan");
        let path = house.state.path().join("worker.sqlite3");
        let database = rusqlite::Connection::open(path).unwrap();
        assert_eq!(database.execute(damage, []).unwrap().min(1), 1, "{damage}");
        assert_eq!(
            code(house.service.prompt(caller(&at))),
            "HOST_FAULT",
            "{damage}"
        );
        assert_eq!(code(house.submit(&at, "x")), "HOST_FAULT", "{damage}");
    }
}

#[tokio::test]
async fn i10_a_submit_that_nobody_waits_for_any_more_is_kept_and_its_flow_told() {
    let house = House::new();
    let service = &house.service;
    let submit = |body| Submit {
        body,
        ..Submit::default()
    };
    let with_files = house.dispatch("plan");
    let answer = service.submit_here(caller(&with_files), submit(b"x"));
    assert!(answer.await.is_none(), "files would block the task");
    assert_eq!(house.outcome(&with_files), Outcome::Open);

    service
        .launch(&run("R-2", Launch::default()), None)
        .unwrap();
    let at = house.dispatch_in("R-2", "plan", Order::default());
    {
        let mut left = pin!(service.submit_here(caller(&at), submit(b"x")));
        // Asked once, and dropped: whether it is done by then does not matter.
        let asked = poll_fn(|context| Poll::Ready(left.as_mut().poll(context)));
        drop(asked.await);
    }
    let told = timeout(Duration::from_mins(1), service.settled(at.attempt)).await;
    let outcome = told.unwrap().unwrap();
    assert!(matches!(outcome, Outcome::Passed(_)), "{outcome:?}");
    let again = service.submit_here(caller(&at), submit(b"x")).await;
    assert!(matches!(again, Some(Ok(_))), "{again:?}");
    let other = service.submit_here(caller(&at), submit(b"y")).await;
    assert_eq!(code(other.unwrap()), "SUBMIT_CONFLICT");
}
