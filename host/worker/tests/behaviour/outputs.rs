//! What a worker is told of its surroundings and of earlier outputs.

use serde_json::{Value, json};
use tidegate_worker::content::{Body, Conditions};
use tidegate_worker::payload::{ContextPolicy, SYSTEM_BYTES};
use tidegate_worker::service::Dispatched;
use tidegate_worker::store::{Launch, Order, sha256_hex};

use crate::fixture::{House, caller, code};

/// The pointers of a payload, by name.
fn pointers(house: &House, at: &Dispatched) -> Vec<Value> {
    let payload = house.service.prompt(caller(at)).unwrap();
    let steps = payload.context.get("steps").cloned();
    serde_json::from_value(steps.unwrap_or(json!([]))).unwrap()
}

fn names(pointers: &[Value]) -> Vec<&str> {
    pointers
        .iter()
        .map(|pointer| pointer["name"].as_str().unwrap())
        .collect()
}

#[test]
fn i1_a_payload_is_put_together_when_it_is_fetched() {
    let house = House::with(Launch {
        work_dir: Some("/w".to_owned()),
        task_metadata: Some(json!({"n": 1})),
        ..Launch::default()
    });
    let order = Order {
        system: "be brief".to_owned(),
        directive: "plan it".to_owned(),
        context: [("extra_key".to_owned(), json!(true))]
            .into_iter()
            .collect(),
        ..Order::default()
    };
    let at = house.dispatch_with("plan", order);
    let payload = serde_json::to_value(house.service.prompt(caller(&at)).unwrap()).unwrap();
    let expected = json!({
        "task_id": "T-1", "attempt": 1, "agent": "agent",
        "system": "be brief", "prompt": "plan it",
        "context": {
            "task_id": "T-1", "agent": "agent", "attempt": 1,
            "work_dir": "/w", "task_metadata": {"n": 1}, "run_id": "R-1",
            "extra": {"extra_key": true},
        },
    });
    assert_eq!(payload, expected);
    house.done("late", "finished after the dispatch");
    assert_eq!(names(&pointers(&house, &at)), ["late"]);
}

#[test]
fn i1_a_payload_that_is_given_at_once_is_the_same_and_lists_few_outputs() {
    let house = House::new();
    let at = house.dispatch("plan");
    for done in 0..=64 {
        let payload = house.service.prompt(caller(&at)).unwrap();
        let at_once = house.service.prompt_at_once(caller(&at)).unwrap();
        assert_eq!(
            serde_json::to_value(at_once).unwrap(),
            serde_json::to_value(payload).unwrap()
        );
        house.done(&format!("s{done}"), "done");
    }
    assert_eq!(pointers(&house, &at).len(), 65);
    assert!(house.service.prompt_at_once(caller(&at)).is_none());
    let unknown = house.dispatch("other");
    house.submit(&unknown, "done").unwrap();
    assert!(house.service.prompt_at_once(caller(&unknown)).is_none());
}

#[test]
fn i1_a_parts_count_as_outputs_of_a_payload_that_is_given_at_once() {
    let house = House::new();
    let (at, other) = (house.dispatch("plan"), house.dispatch("other"));
    for part in 0..65 {
        house.stage(&other, &format!("p{part}"), "part").unwrap();
    }
    assert!(house.service.prompt_at_once(caller(&at)).is_some());
    house.submit(&other, "done").unwrap();
    assert!(house.service.prompt_at_once(caller(&at)).is_none());
    assert_eq!(
        house.service.prompt(caller(&at)).unwrap().context["steps"]
            .as_array()
            .unwrap()
            .len(),
        66
    );
}

#[test]
fn i1_a_system_prompt_over_25_kib_is_a_reference() {
    let house = House::new();
    for (size, is_long) in [(SYSTEM_BYTES, false), (SYSTEM_BYTES + 1, true)] {
        let system = "s".repeat(size);
        let order = Order {
            system: system.clone(),
            ..Order::default()
        };
        let at = house.dispatch_with("plan", order);
        let payload = house.service.prompt(caller(&at)).unwrap();
        assert_eq!(payload.system.is_none(), is_long);
        assert_eq!(payload.system_ref.is_some(), is_long);
        if let Some(reference) = payload.system_ref {
            assert_eq!(reference.size_bytes, size);
            assert_eq!(reference.sha256, sha256_hex(system.as_bytes()));
        }
        assert_eq!(house.service.system(caller(&at)).unwrap(), system);
    }
    let none = house.dispatch("none");
    assert_eq!(code(house.service.system(caller(&none))), "NOT_FOUND");
}

#[test]
fn i1_the_context_policy_hides_keys_and_steps() {
    let house = House::with(Launch {
        project_root: Some("/p".to_owned()),
        work_dir: Some("/w".to_owned()),
        ..Launch::default()
    });
    for step in ["a", "b[0]", "b[1]", "c"] {
        house.done(step, step);
    }
    let listed = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let order = Order {
        policy: ContextPolicy {
            include: Some(listed(&["project_root", "work_dir"])),
            exclude: listed(&["work_dir", "agent"]),
            steps: Some(listed(&["a", "b"])),
            steps_exclude: listed(&["a"]),
        },
        ..Order::default()
    };
    let at = house.dispatch_with("d", order);
    let payload = house.service.prompt(caller(&at)).unwrap();
    let keys: Vec<_> = payload.context.keys().map(String::as_str).collect();
    let expected = ["task_id", "agent", "attempt", "project_root", "steps"];
    assert_eq!(keys, expected);
    assert_eq!(names(&pointers(&house, &at)), ["b[0]", "b[1]"]);
    assert_eq!(code(house.content(&at, "a", None)), "NOT_FOUND");
    assert_eq!(house.content(&at, "b[1]", None).unwrap(), "b[1]");
}

#[test]
fn gap7_a_restaged_parts_pointer_shows_the_last_version() {
    let house = House::new();
    let at = house.dispatch("plan");
    house.stage(&at, "notes.md", "# old, and longer").unwrap();
    house.stage(&at, "notes.md", "# new").unwrap();
    house.stage(&at, "a/b", "no file").unwrap();
    let reader = house.dispatch("build");
    assert!(pointers(&house, &reader).is_empty(), "nothing is submitted");
    house.submit(&at, "done").unwrap();

    let found = pointers(&house, &reader);
    assert_eq!(names(&found), ["plan", "plan/notes.md", "plan/a/b"]);
    let expected = json!({
        "name": "plan/notes.md",
        "size_bytes": 5,
        "sha256": sha256_hex(b"# new"),
        "file_path": "workspace/tasks/T-1/ctx/notes.md",
        "content_url": "/v1/worker/content/plan/notes.md",
    });
    assert_eq!(found[1], expected);
    assert_eq!(found[2]["content_url"], "/v1/worker/content/plan/a%2Fb");
    assert_eq!(found[2].get("file_path"), None);
    let part = |name| house.content(&reader, "plan", Some(name)).unwrap();
    assert_eq!(part("notes.md"), "# new");
    assert_eq!(part("a/b"), "no file");
    assert_eq!(house.file("notes.md").unwrap(), "# new");
}

#[test]
fn i1_an_output_is_that_of_the_last_completed_attempt_and_never_ones_own() {
    let house = House::new();
    for body in ["first", "second"] {
        house.done("plan", body);
    }
    let open = house.dispatch("plan");
    let reader = house.dispatch("build");
    assert_eq!(house.content(&reader, "plan", None).unwrap(), "second");
    assert_eq!(names(&pointers(&house, &reader)), ["plan"]);
    assert_eq!(code(house.content(&open, "plan", None)), "NOT_FOUND");
    assert!(pointers(&house, &open).is_empty());
}

#[test]
fn gap8_each_lane_has_a_pointer_and_a_file_of_its_own() {
    let house = House::new();
    for (step, body) in [("review[0]", "zero"), ("review[1]", "one")] {
        house.done(step, body);
    }
    let reader = house.dispatch("merge");
    let found = pointers(&house, &reader);
    assert_eq!(names(&found), ["review[0]", "review[1]"]);
    assert_eq!(
        found[1]["file_path"],
        "workspace/tasks/T-1/ctx/review[1].md"
    );
    assert_eq!(found[1]["content_url"], "/v1/worker/content/review%5B1%5D");
    assert_eq!(house.content(&reader, "review[0]", None).unwrap(), "zero");
    assert_eq!(house.content(&reader, "review[1]", None).unwrap(), "one");
    assert!(house.file("review[0].md").unwrap().ends_with("\n\nzero"));
}

#[test]
fn i1_a_pointer_says_what_the_content_is_and_its_tag_is_the_digest() {
    let house = House::new();
    house.done("plan", "héllo");
    let reader = house.dispatch("build");
    let found = pointers(&house, &reader);
    let conditions = Conditions {
        range: Some("bytes=-2"),
        ..Conditions::default()
    };
    let served = house
        .service
        .content(caller(&reader), "plan", None, conditions)
        .unwrap();
    assert_eq!(found[0]["size_bytes"], served.size_bytes);
    let sha256 = found[0]["sha256"].as_str().unwrap();
    assert_eq!(served.etag, format!("\"sha256:{sha256}\""));
    assert!(matches!(
        served.body,
        Body::Range {
            first: 4,
            last: 5,
            ..
        }
    ));
    let again = Conditions {
        if_none_match: Some(&served.etag),
        ..Conditions::default()
    };
    let served = house
        .service
        .content(caller(&reader), "plan", None, again)
        .unwrap();
    assert_eq!(served.body, Body::NotModified);
}

#[test]
fn i1_what_is_not_there_is_404_whatever_it_is_called() {
    let house = House::new();
    house.done("plan", "x");
    let reader = house.dispatch("build");
    for (step, part) in [
        ("nothing", None),
        ("plan", Some("nothing")),
        ("plan", Some("")),
        ("plan", Some("a\0b")),
        ("plan[0]", None),
        ("../plan", None),
        ("", None),
        ("build", None),
    ] {
        assert_eq!(
            code(house.content(&reader, step, part)),
            "NOT_FOUND",
            "{step}"
        );
    }
}

#[test]
fn c1_task_metadata_that_is_null_is_kept_and_absent_one_stays_away() {
    for given in [Some(Value::Null), None] {
        let house = House::with(Launch {
            task_metadata: given.clone(),
            ..Launch::default()
        });
        let at = house.dispatch("plan");
        let house = house.started_again();
        let payload = house.service.prompt(caller(&at)).unwrap();
        assert_eq!(payload.context.get("task_metadata"), given.as_ref());
    }
}

#[test]
fn gap13_what_one_attempt_stages_is_bounded_in_number_and_in_all() {
    let house = House::new();
    let at = house.dispatch("plan");
    for number in 0..256 {
        house.stage(&at, &format!("p{number}"), "x").unwrap();
    }
    let over = house.stage(&at, "p256", "x");
    assert_eq!(code(over), "PARTS_TOO_LARGE");
    house.stage(&at, "p0", "again").unwrap();

    let at = house.dispatch("large");
    let mib = "m".repeat(1024 * 1024);
    for number in 0..15 {
        house.stage(&at, &format!("p{number}"), &mib).unwrap();
    }
    let over = house.stage(&at, "last", &format!("{mib}x"));
    assert_eq!(code(over), "PARTS_TOO_LARGE");
    house.stage(&at, "last", &mib).unwrap();
    house.submit(&at, "done").unwrap();
}

#[test]
fn i5_a_worker_stages_nothing_in_an_auditors_name() {
    let house = House::new();
    let at = house.dispatch("plan");
    for name in ["audit:plan", "audit:plan:x", "audit:"] {
        assert_eq!(code(house.stage(&at, name, "forged")), "INVALID_PART_NAME");
    }
    house.stage(&at, "audit.md", "an audit of its own").unwrap();
}
