//! Steps of agents: what they are given, and each way they end (SPEC I11, GAP 6).

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde_json::{Value, json};
use tidegate::flow::{
    AgentEnd, AgentStep, Agents, Flow, FlowError, Journal, Progress, Step, Surroundings,
};
use tidegate::{BoxFuture, CancellationToken, InvokeOptions, Runtime, RuntimeOptions};
use tidegate_contract::{CallError, Failure, JsonObject, Status};

use super::acting::{Told, flow_of, shown};

/// Agents whose name says what they do: `echo` passes its input, `fail`, `block` and `skip` do that,
/// `fault` is no agent at all, `stuck` waits for its cancelling. Each lets others go first, as often as
/// its input's `wait` says.
#[derive(Default)]
pub(crate) struct Doubles {
    /// What was given: place, name, lanes, input and meta in one text each.
    pub(crate) given: Mutex<Vec<Value>>,
    /// How often each place was run to its end.
    pub(crate) ended: Mutex<BTreeMap<String, usize>>,
}

impl Agents for Doubles {
    fn run<'a>(
        &'a self,
        step: AgentStep<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<AgentEnd, CallError>> {
        Box::pin(async move {
            self.given.lock().unwrap().push(json!({
                "place": step.place.as_str(), "name": step.name, "lanes": step.lanes,
                "input": step.input, "meta": step.meta,
            }));
            for _ in 0..step.input["wait"].as_u64().unwrap_or(0) {
                tokio::task::yield_now().await;
            }
            let end = match step.agent {
                "echo" => Ok(AgentEnd::Passed(step.input)),
                "skip" => Ok(AgentEnd::Skipped),
                "block" => Ok(AgentEnd::Blocked(step.input)),
                "fail" => {
                    let failure = Failure::new("WORK_FAILED", format!("{} is lost", step.name));
                    Ok(AgentEnd::Failed(failure.unwrap()))
                }
                "stuck" => {
                    cancel.cancelled().await;
                    return Err(CallError::Ended {
                        status: Status::Cancelled,
                        failure: Failure::cancelled(),
                    });
                }
                _ => Err(CallError::ExecutorFault {
                    reason: format!("no agent {}", step.agent),
                }),
            };
            let place = step.place.as_str().to_owned();
            *self.ended.lock().unwrap().entry(place).or_default() += 1;
            end
        })
    }
}

/// A step of an agent.
pub(crate) fn asking(name: &str, agent: &str, input: &Value) -> Value {
    json!({"step": {"name": name, "agent": agent, "in": input}})
}

/// What a run with agents came to: its context, or its error in one line.
pub(crate) async fn run_with(
    flow: &Flow,
    agents: &Doubles,
    journal: Option<&dyn Journal>,
    progress: &mut (dyn Progress + Send),
) -> Result<Value, FlowError> {
    let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
    let around = Surroundings {
        agents: Some(agents),
        journal,
        ..Surroundings::new(&runtime, InvokeOptions::default(), progress)
    };
    let ended = flow.run(JsonObject::new(), around).await;
    ended.map(|(_, context)| context)
}

/// As [`run_with`], without a journal: the context or the error in one line, and what was told.
pub(crate) async fn asked(flow: &Value) -> (Result<Value, String>, Vec<String>) {
    let mut told = Told::default();
    let flow = flow_of(json!({"id": "a", "flow": flow}));
    let ended = run_with(&flow, &Doubles::default(), None, &mut told).await;
    (ended.map_err(|error| shown(&error)), told.lines)
}

#[tokio::test]
async fn i11_an_agent_is_given_its_input_and_what_describes_the_step() {
    let agents = Doubles::default();
    let flow = flow_of(json!({
        "id": "a", "init": {"topic": "tides"},
        "flow": {"seq": [
            asking("plan", "echo", &json!({
                "$step_meta": {"inline": {"submit_format": "json"}},
                "about": {"$path": "$.topic"},
            })),
            asking("again", "echo", &json!({"$step_meta": {"inline": {}}, "$path": "$.plan.about"})),
        ]},
    }));
    let context = run_with(&flow, &agents, None, &mut Told::default()).await;
    let expected = json!({"topic": "tides", "plan": {"about": "tides"}, "again": "tides"});
    assert_eq!(context.unwrap(), expected);
    let given = json!([
        {
            "place": "0.0", "name": "plan", "lanes": [], "input": {"about": "tides"},
            "meta": {"submit_format": "json"},
        },
        {"place": "0.1", "name": "again", "lanes": [], "input": "tides", "meta": {}},
    ]);
    assert_eq!(json!(*agents.given.lock().unwrap()), given);
}

#[tokio::test]
async fn gap6_blocked_fails_the_step_with_its_value_and_skip_leaves_no_output() {
    let after = asking("after", "echo", &json!({"left": {"$exists": "$.gate"}}));
    let run = |agent: &str| {
        let gate = asking("gate", agent, &json!({"why": "risk"}));
        let flow = flow_of(json!({"id": "a", "flow": {"seq": [gate, after]}}));
        async move {
            let mut told = Told::default();
            let ended = run_with(&flow, &Doubles::default(), None, &mut told).await;
            (ended, told.lines)
        }
    };
    let (ended, told) = run("skip").await;
    assert_eq!(ended.unwrap(), json!({"after": {"left": false}}));
    assert_eq!(
        told,
        ["+gate", "-gate: skipped", "+after", "-after: passed"]
    );

    let (ended, told) = run("block").await;
    let error = ended.unwrap_err();
    assert_eq!(shown(&error), "step `gate` is blocked");
    assert_eq!(
        (error.step(), error.value()),
        (Some("gate"), Some(&json!({"why": "risk"})))
    );
    assert_eq!(error.to_failure().code(), "BLOCKED");
    assert_eq!(told, ["+gate", "-gate: blocked"]);

    let (ended, told) = run("fail").await;
    let error = ended.unwrap_err();
    assert_eq!(
        shown(&error),
        "step `gate` failed: WORK_FAILED: gate is lost"
    );
    assert_eq!(error.to_failure().code(), "WORK_FAILED");
    assert_eq!(told, ["+gate", "-gate: WORK_FAILED"]);

    let (ended, _) = run("fault").await;
    assert_eq!(ended.unwrap_err().to_failure().code(), "EXECUTOR_FAULT");
}

#[tokio::test]
async fn i11_without_agents_their_steps_are_not_injected() {
    let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
    let flow = flow_of(json!({"id": "a", "flow": asking("plan", "echo", &json!({}))}));
    let mut told = Told::default();
    let around = Surroundings::new(&runtime, InvokeOptions::default(), &mut told);
    let error = flow.run(JsonObject::new(), around).await.unwrap_err();
    assert_eq!(error.to_failure().code(), "NOT_INJECTED");
}

#[test]
fn i11_a_step_has_either_a_node_or_an_agent() {
    let check = |more: Value, words: Option<&str>| {
        let mut step = json!({"name": "s", "in": {}});
        step.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let read = serde_json::from_value::<Step>(step).map_err(|error| error.to_string());
        assert_eq!(read.err().as_deref(), words, "{more}");
    };
    let either = "step `s` needs either `node` or `agent`";
    check(json!({"agent": "a"}), None);
    check(json!({"node": "INTERACTION.OBSERVE"}), None);
    check(json!({}), Some(either));
    check(
        json!({"node": "INTERACTION.OBSERVE", "agent": "a"}),
        Some(either),
    );
    check(
        json!({"agent": "a", "sink": "console"}),
        Some("step `s` runs an agent, so it takes no `sink`"),
    );
    let meta = json!({"$step_meta": {"inline": {"k": 1}}});
    check(json!({"agent": "a", "in": meta}), None);
    check(
        json!({"node": "INTERACTION.OBSERVE", "in": meta}),
        Some("step `s` runs a node, so its input takes no `$step_meta`"),
    );
    for wrong in [
        json!(1),
        json!({}),
        json!({"inline": 1}),
        json!({"inline": {}, "ref": "x"}),
    ] {
        check(
            json!({"agent": "a", "in": {"$step_meta": wrong}}),
            Some("`$step_meta` is a mapping with the one key `inline`, which is a mapping"),
        );
    }
    let name = "the name of a step, loop or agent is 1 to 64 of letters, digits, `_`, `-`";
    check(json!({"agent": "a".repeat(63)}), None);
    check(json!({"agent": "a".repeat(64)}), None);
    check(json!({"agent": "a".repeat(65)}), Some(name));
    check(json!({"agent": ""}), Some(name));
    check(json!({"agent": "a/b"}), Some(name));
}

#[test]
fn i11_an_agents_step_in_rust_is_the_step_of_the_file() {
    let input = json!({"$step_meta": {"inline": {"k": 1}}, "a": {"$path": "$.b"}});
    let in_rust = Step::agent("plan", "planner", input.clone()).unwrap();
    let file = json!({"name": "plan", "agent": "planner", "in": input});
    assert_eq!(serde_json::from_value::<Step>(file).unwrap(), in_rust);
    assert_eq!(in_rust.work.as_str(), "planner");
    assert_eq!(in_rust.meta, *json!({"k": 1}).as_object().unwrap());
}
