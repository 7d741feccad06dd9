//! Worker components: steps of a flow inside the host (SPEC I9, GAP 13).

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tidegate::{
    Artifacts, Caller, CancellationToken, Invocation, InvokeOptions, Parts, Runtime,
    RuntimeOptions, WorkEnd,
};
use tidegate_contract::failure::host_failure;
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::{CallError, Failure, Status};

use crate::support::Fixture;

/// Keeps the parts that are staged; refuses those of the name `refused`.
#[derive(Default)]
pub(crate) struct Staged(Mutex<Vec<(String, Vec<u8>)>>);

impl Parts for Staged {
    fn stage(&self, name: &str, content: &[u8]) -> Result<(), Failure> {
        if name == "refused" {
            return Err(host_failure("PART_REFUSED", "not this one".to_owned()));
        }
        let part = (name.to_owned(), content.to_vec());
        self.0.lock().unwrap().push(part);
        Ok(())
    }
}

impl Staged {
    pub(crate) fn all(&self) -> Vec<(String, Vec<u8>)> {
        self.0.lock().unwrap().clone()
    }
}

/// What the probe's worker is asked, its orders being the prompt.
pub(crate) fn asked(orders: &Value) -> Invocation {
    Invocation {
        task_id: "T-1".to_owned(),
        attempt: 2,
        agent: "probe".to_owned(),
        system: None,
        prompt: orders.to_string(),
        context: tidegate_contract::JsonObject::new(),
    }
}

/// Has the probe's worker do one step.
pub(crate) async fn work(runtime: &Runtime, orders: Value) -> Result<WorkEnd, CallError> {
    let parts = Arc::new(Staged::default());
    runtime
        .work("probe", asked(&orders), parts, InvokeOptions::default())
        .await
}

fn value(end: WorkEnd) -> Value {
    match end {
        WorkEnd::Value(value) => value,
        WorkEnd::Ended { failure, .. } => panic!("{failure:?}"),
    }
}

#[tokio::test]
async fn i9_a_worker_gets_its_step_and_gives_a_value() {
    let runtime = Fixture::new(&[]).runtime(&["probe"]).await;
    assert!(runtime.has_worker("probe"));
    let mut invocation = asked(&json!({ "do": "tell" }));
    invocation.system = Some("be brief".to_owned());
    let context = json!({ "run_id": "R-1", "task_metadata": { "b": 1, "a": [2] } });
    invocation.context = context.as_object().unwrap().clone();
    let parts = Arc::new(Staged::default());
    let end = runtime
        .work("probe", invocation, parts, InvokeOptions::default())
        .await;
    assert_eq!(
        value(end.unwrap()),
        json!({
            "callId": "T-1/2",
            "taskId": "T-1",
            "attempt": 2,
            "agent": "probe",
            "system": "be brief",
            "context": context,
            "staged": [],
        })
    );
    let bare = value(work(&runtime, json!({ "do": "tell" })).await.unwrap());
    assert_eq!(
        (&bare["system"], &bare["context"]),
        (&Value::Null, &json!({}))
    );
}

#[tokio::test]
async fn twin_the_return_value_is_json_already() {
    let runtime = Fixture::new(&[]).runtime(&["probe"]).await;
    for text in [
        "null",
        "true",
        "17",
        "\"blocked\"",
        "[1,{\"b\":2,\"a\":3}]",
        " {\n} ",
    ] {
        let end = work(&runtime, json!({ "do": "raw", "text": text })).await;
        assert_eq!(
            value(end.unwrap()),
            serde_json::from_str::<Value>(text).unwrap()
        );
    }
}

#[tokio::test]
async fn twin_parts_go_to_the_port_in_order_and_its_refusals_to_the_worker() {
    let runtime = Fixture::new(&[]).runtime(&["probe"]).await;
    let parts = Arc::new(Staged::default());
    let orders = json!({
        "parts": [["plan.md", "one"], ["refused", "x"], ["notes.md", "é"], ["plan.md", "two"]],
        "not_utf8": "bytes",
    });
    let port = Arc::clone(&parts);
    let end = runtime.work("probe", asked(&orders), port, InvokeOptions::default());
    let told = value(end.await.unwrap());
    assert_eq!(
        told["staged"],
        json!(["ok", "PART_REFUSED", "ok", "ok", "ok"])
    );
    let staged = parts.all();
    let expected: [(&str, &[u8]); 4] = [
        ("plan.md", b"one"),
        ("notes.md", "é".as_bytes()),
        ("plan.md", b"two"),
        ("bytes", b"\xff\xfe"),
    ];
    let staged: Vec<(&str, &[u8])> = staged
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    assert_eq!(staged, expected);
}

#[tokio::test]
async fn i9_what_was_staged_before_a_failure_has_reached_the_port() {
    let runtime = Fixture::new(&[]).runtime(&["probe"]).await;
    for orders in [json!({ "do": "fail" }), json!({ "do": "trap" })] {
        let parts = Arc::new(Staged::default());
        let mut orders = orders;
        orders["parts"] = json!([["a", "b"]]);
        let port = Arc::clone(&parts);
        let end = runtime.work("probe", asked(&orders), port, InvokeOptions::default());
        assert!(matches!(
            end.await,
            Ok(WorkEnd::Ended {
                status: Status::Failed,
                ..
            })
        ));
        assert_eq!(parts.all().len(), 1);
    }
}

#[tokio::test]
async fn i9_the_outline_of_a_document_is_a_part() {
    let fixture = Fixture::new(&["read"]);
    fixture.write("docs/guide.md", "# Guide\n\n## Set-up\ntext\n## Use\n");
    let runtime = fixture.runtime(&["outline"]).await;
    let ask = |prompt: &str, context: Value| {
        let invocation = Invocation {
            prompt: prompt.to_owned(),
            context: context.as_object().unwrap().clone(),
            ..asked(&Value::Null)
        };
        let parts = Arc::new(Staged::default());
        let port = Arc::clone(&parts);
        let runtime = runtime.clone();
        async move {
            let end = runtime.work("outline", invocation, port, InvokeOptions::default());
            (end.await.unwrap(), parts.all())
        }
    };
    let expected = json!({ "document": "docs/guide.md", "headings": 3, "title": "Guide" });
    let outline = b"- Guide\n  - Set-up\n  - Use\n".to_vec();
    for (prompt, context) in [
        ("docs/guide.md\n", json!({})),
        ("make an outline", json!({ "document": "docs/guide.md" })),
    ] {
        let (end, parts) = ask(prompt, context).await;
        assert_eq!(end, WorkEnd::Value(expected.clone()));
        assert_eq!(parts, [("outline.md".to_owned(), outline.clone())]);
    }
    for (prompt, code) in [
        ("nowhere.md", "NOT_FOUND"),
        (" ", "NO_DOCUMENT"),
        ("/etc/hostname", "READ_DENIED"),
        ("../outside.md", "READ_DENIED"),
    ] {
        let (end, parts) = ask(prompt, json!({})).await;
        let WorkEnd::Ended { failure, .. } = end else {
            panic!("{prompt}: {end:?}")
        };
        assert_eq!(failure.code(), code, "{prompt}");
        assert_eq!(parts, []);
    }
}

#[tokio::test]
async fn i9_steps_are_refused_before_a_worker_runs() {
    let fixture = Fixture::new(&["read"]).limit("arguments_bytes", 1_000);
    let runtime = fixture.runtime(&["probe"]).await;
    let parts = || Arc::new(Staged::default());
    let options = InvokeOptions::default;
    let absent = runtime
        .work("nobody", asked(&json!({})), parts(), options())
        .await;
    let absent = absent.unwrap_err();
    assert_eq!(absent.code(), "INVALID_CALL");
    assert!(absent.to_string().contains("probe"), "{absent}");
    let around = asked(&json!("")).task_id.len() + "probe".len();
    for (bytes, fits) in [(999, true), (1_000, true), (1_001, false)] {
        let prompt = "x".repeat(bytes - around);
        let invocation = Invocation {
            prompt,
            ..asked(&json!({}))
        };
        let end = runtime.work("probe", invocation, parts(), options()).await;
        match end {
            Ok(WorkEnd::Ended { failure, .. }) if fits => assert_eq!(failure.code(), "BAD_PROMPT"),
            Err(error) if !fits => {
                assert_eq!(error.code(), "INVALID_CALL");
                assert!(error.to_string().contains("arguments_bytes"), "{error}");
            }
            other => panic!("{bytes}: {other:?}"),
        }
    }
    // A component that can read is not for a caller who may not.
    let mut narrow = Grant::default();
    parse_allow("tool=*", &mut narrow).unwrap();
    let caller = Caller {
        grant: Some(narrow.into()),
        ..Caller::default()
    };
    let denied = InvokeOptions {
        caller,
        ..options()
    };
    let denied = runtime
        .work("probe", asked(&json!({})), parts(), denied)
        .await;
    assert_eq!(denied.unwrap_err().code(), "PERMISSION_DENIED");
    runtime.close().await;
    let closed = runtime
        .work("probe", asked(&json!({})), parts(), options())
        .await;
    assert_eq!(closed.unwrap_err().code(), "CLOSED");
    let without = Runtime::new(RuntimeOptions::default()).unwrap();
    assert!(!without.has_worker("probe"));
}

#[tokio::test]
async fn gap13_a_worker_is_bounded_like_every_call() {
    let fixture = Fixture::new(&[])
        .limit("deadline_ms", 2_000)
        .limit("cpu_ms", 100)
        .limit("result_bytes", 1_000)
        .limit("memory_bytes", 16 << 20);
    let runtime = fixture.runtime(&["probe"]).await;
    for (orders, status, code) in [
        (json!({ "do": "spin" }), Status::Failed, "LIMIT_CPU"),
        (json!({ "do": "grow" }), Status::Failed, "LIMIT_MEMORY"),
        (
            json!({ "do": "sleep", "ms": 60_000 }),
            Status::Timeout,
            "LIMIT_DEADLINE",
        ),
        (json!({ "do": "trap" }), Status::Failed, "TOOL_TRAPPED"),
        (
            json!({ "do": "large", "bytes": 1_001 }),
            Status::Failed,
            "LIMIT_RESULT",
        ),
        (
            json!({ "do": "fail", "code": "OWN" }),
            Status::Failed,
            "OWN",
        ),
    ] {
        let end = work(&runtime, orders.clone()).await.unwrap();
        let WorkEnd::Ended {
            status: ended,
            failure,
        } = end
        else {
            panic!("{orders}: {end:?}")
        };
        assert_eq!((ended, failure.code()), (status, code), "{orders}");
    }
    for bytes in [999, 1_000] {
        let end = work(&runtime, json!({ "do": "large", "bytes": bytes }))
            .await
            .unwrap();
        assert_eq!(value(end).as_str().unwrap().len(), bytes - 2);
    }
}

#[tokio::test]
async fn x3_a_cancelled_step_ends_at_once() {
    let runtime = Fixture::new(&[]).runtime(&["probe"]).await;
    let cancel = CancellationToken::new();
    let options = InvokeOptions {
        cancel: cancel.clone(),
        ..InvokeOptions::default()
    };
    let parts = Arc::new(Staged::default());
    let orders = json!({ "do": "sleep", "ms": 60_000, "parts": [["started", ""]] });
    let port = Arc::clone(&parts);
    let step = runtime.work("probe", asked(&orders), port, options);
    let give_up = async {
        while parts.all().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (end, ()) = tokio::join!(step, give_up);
    let WorkEnd::Ended { status, failure } = end.unwrap() else {
        panic!("it was cancelled")
    };
    assert_eq!((status, failure.code()), (Status::Cancelled, "CANCELLED"));
}

#[tokio::test]
async fn x7_what_a_worker_keeps_is_its_runs() {
    let folder = tempfile::TempDir::new().unwrap();
    let mut fixture = Fixture::new(&[]);
    let store = Artifacts::open(
        &folder.path().join("kept"),
        tidegate::ArtifactBounds::default(),
    );
    fixture.artifacts = Some(store.unwrap());
    let runtime = fixture.runtime(&["probe"]).await;
    let of = |run: Option<&str>| InvokeOptions {
        caller: Caller {
            run: run.map(Arc::from),
            ..Caller::default()
        },
        ..InvokeOptions::default()
    };
    let orders = json!({ "do": "keep", "text": "of the run" });
    let parts = Arc::new(Staged::default());
    let end = runtime
        .work("probe", asked(&orders), parts, of(Some("R-1")))
        .await;
    let uri = value(end.unwrap());
    for (run, expected) in [
        (Some("R-1"), "success"),
        (Some("R-2"), "failed"),
        (None, "failed"),
    ] {
        let call = crate::support::call("read_artifact", json!({ "uri": uri }));
        let read = runtime.act_tool(call, of(run)).await.unwrap();
        assert_eq!(read.status.as_str(), expected, "{run:?}");
    }
}
