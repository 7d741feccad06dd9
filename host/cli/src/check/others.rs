//! The checks of a sink and of a worker: the same inputs for all of them, since nothing says what each
//! takes.

use serde_json::json;
use tidegate::Invocation;
use tidegate_contract::{Delivery, JsonObject, Value};

use super::bench::{Bench, Input};
use super::findings::Subject;
use super::rounds::{Case, Figures, Rounds};
use super::rules;

/// Hands deliveries of every shape to the sink.
///
/// # Errors
///
/// The host failed, or somebody interrupted it.
pub(super) async fn sink(bench: &mut Bench) -> anyhow::Result<Figures> {
    let mut inputs = Vec::new();
    for delivery in deliveries() {
        inputs.push(Input::Delivery(Delivery::from_value(delivery)?));
    }
    check(bench, Subject::Sink, inputs).await
}

/// Gives steps to the worker.
///
/// # Errors
///
/// The host failed, or somebody interrupted it.
pub(super) async fn worker(bench: &mut Bench) -> anyhow::Result<Figures> {
    let inputs = invocations().into_iter().map(Input::Invocation).collect();
    check(bench, Subject::Worker, inputs).await
}

async fn check(bench: &mut Bench, subject: Subject, inputs: Vec<Input>) -> anyhow::Result<Figures> {
    bench.progress.about(&subject.shown());
    let cases = inputs.into_iter().map(|input| Case { input, given: None });
    let mut rounds = Rounds::new(subject, cases.collect());
    let figures = rounds.run(bench).await?;
    if rounds.never_succeeded() {
        let saw = format!("{} inputs; {}", rounds.cases.len(), rounds.example());
        bench
            .findings
            .add(&rules::NEVER_SUCCEEDS, &rounds.subject, saw);
    }
    Ok(figures)
}

fn deliveries() -> Vec<Value> {
    let reference = json!({"uri": "https://example.com/report", "mediaType": "text/plain"});
    let contents = [
        ("assistant", json!("hello")),
        ("assistant", json!("")),
        ("user", json!("two\nlines, \"quotes\", é ☃ 𝄞")),
        ("tool", json!({"found": [1, 2.5, null, true]})),
        ("system", Value::Null),
        (
            "assistant",
            json!([
                {"type": "text", "text": "one"},
                {"type": "json", "data": {"a": 1}},
                {"type": "reference", "reference": reference},
            ]),
        ),
    ];
    let contents = contents.into_iter().enumerate();
    let mut deliveries: Vec<Value> = contents
        .map(|(at, (role, content))| {
            json!({"deliveryId": format!("check-{at}"), "message": {"role": role, "content": content}})
        })
        .collect();
    deliveries.push(json!({
        "deliveryId": "check: an id of 1 to 256 characters, é",
        "message": {"role": "tool", "content": "named", "name": "say_word"},
        "artifacts": [{"name": "report.txt", "reference": reference}],
    }));
    deliveries
}

fn invocations() -> Vec<Invocation> {
    let known =
        json!({"project_root": "project", "run_id": "run-1", "task_metadata": {"title": "é"}});
    let known = known.as_object().cloned().unwrap_or_default();
    let asked = |prompt: &str, context: JsonObject| Invocation {
        task_id: "check".to_owned(),
        attempt: 1,
        agent: "checker".to_owned(),
        system: None,
        prompt: prompt.to_owned(),
        context,
    };
    vec![
        asked("say hello", JsonObject::new()),
        asked("say hello", known),
        asked("", JsonObject::new()),
        asked("{}", JsonObject::new()),
        Invocation {
            system: Some("You are careful.".to_owned()),
            attempt: 2,
            ..asked(&"word é ".repeat(500), JsonObject::new())
        },
    ]
}
