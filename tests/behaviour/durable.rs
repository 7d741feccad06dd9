//! Runs that are killed and taken up again: no completed step runs twice, and the result is the one of
//! a run that nobody broke (SPEC I10, I11).

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate::flow::{Flow, FlowError, Journal, Kept, Place, Surroundings};
use tidegate::{BoxFuture, CancellationToken, InvokeOptions, ToolRegistry};
use tidegate_contract::{CallError, JsonObject, ToolOutcome};

use super::acting::{Told, acting, calling, flow_of, runtime_of};
use super::agents::{Doubles, asking, run_with};

/// When a run is killed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kill {
    Never,
    /// So many writes are kept; the run learns of the last one no more.
    After(usize),
    /// So many writes are kept; what the next one would have told is lost.
    Before(usize),
}

/// A journal: in memory, or as lines of a file.
pub(crate) struct Ledger {
    pub(crate) kept: Mutex<BTreeMap<String, Kept>>,
    writes: Mutex<usize>,
    file: Option<PathBuf>,
    kill: Kill,
    pub(crate) killed: CancellationToken,
}

impl Ledger {
    pub(crate) fn new(kill: Kill) -> Self {
        Self {
            kept: Mutex::default(),
            writes: Mutex::default(),
            file: None,
            kill,
            killed: CancellationToken::new(),
        }
    }

    /// What the file holds is there from the start.
    fn of_file(file: &Path, kill: Kill) -> Self {
        let ledger = Self::new(kill);
        for line in std::fs::read_to_string(file).unwrap_or_default().lines() {
            let (place, end): (String, Option<Value>) = serde_json::from_str(line).unwrap();
            let kept = end.map_or(Kept::Started, Kept::Ended);
            ledger.kept.lock().unwrap().insert(place, kept);
        }
        Self {
            file: Some(file.to_owned()),
            ..ledger
        }
    }

    /// The same ledger after a restart.
    pub(crate) fn again(&self) -> Self {
        match &self.file {
            Some(file) => Self::of_file(file, Kill::Never),
            None => Self {
                kept: Mutex::new(self.kept.lock().unwrap().clone()),
                ..Self::new(Kill::Never)
            },
        }
    }

    async fn write(&self, place: &Place, end: Option<&Value>) {
        let number = {
            let mut writes = self.writes.lock().unwrap();
            *writes += 1;
            *writes
        };
        if matches!(self.kill, Kill::Before(kept) if number > kept) {
            self.killed.cancel();
            return std::future::pending().await;
        }
        let kept = end.map_or(Kept::Started, |end| Kept::Ended(end.clone()));
        let known = self
            .kept
            .lock()
            .unwrap()
            .insert(place.as_str().to_owned(), kept);
        assert!(
            !matches!(known, Some(Kept::Ended(end)) if end.get("begun").is_none()),
            "{place} has ended twice"
        );
        if let Some(file) = &self.file {
            let mut file = std::fs::OpenOptions::new()
                .append(true)
                .create(true)
                .open(file)
                .unwrap();
            let line = json!([place.as_str(), end]);
            writeln!(file, "{line}").unwrap();
        }
        if matches!(self.kill, Kill::After(kept) if number >= kept) {
            self.killed.cancel();
            std::future::pending::<()>().await;
        }
    }
}

impl Journal for Ledger {
    fn recall<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, Result<Option<Kept>, CallError>> {
        let kept = self.kept.lock().unwrap().get(place.as_str()).cloned();
        Box::pin(async move { Ok(kept) })
    }

    fn started<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, Result<(), CallError>> {
        Box::pin(async move {
            self.write(place, None).await;
            Ok(())
        })
    }

    fn ended<'a>(
        &'a self,
        place: &'a Place,
        end: &'a Value,
    ) -> BoxFuture<'a, Result<(), CallError>> {
        Box::pin(async move {
            self.write(place, Some(end)).await;
            Ok(())
        })
    }
}

/// What a run came to, or `None` for one that was killed.
pub(crate) async fn run(
    flow: &Flow,
    agents: &Doubles,
    ledger: &Ledger,
) -> Option<Result<Value, String>> {
    let mut told = Told::default();
    // A run can be given to another thread.
    let run: BoxFuture<'_, _> = Box::pin(run_with(flow, agents, Some(ledger), &mut told));
    tokio::select! {
        biased;
        ended = run => Some(ended.map_err(|error| {
            let (failure, step) = (error.to_failure(), error.step().unwrap_or_default());
            json!([step, failure.code(), failure.message(), error.value()]).to_string()
        })),
        () = ledger.killed.cancelled() => None,
    }
}

/// The places that a ledger knows as ended, with how often they ran.
fn completed(ledger: &Ledger, agents: &Doubles) -> BTreeMap<String, usize> {
    let ended = agents.ended.lock().unwrap();
    let kept = ledger.kept.lock().unwrap();
    let done = kept
        .iter()
        .filter(|(_, kept)| matches!(kept, Kept::Ended(_)));
    let runs = |place: &String| ended.get(place).copied().unwrap_or(0);
    done.map(|(place, _)| (place.clone(), runs(place)))
        .collect()
}

/// Kills a run at every point and takes it up again.
pub(crate) async fn survives(flow: &Flow) -> Result<Value, String> {
    let unbroken = Ledger::new(Kill::Never);
    let expected = run(flow, &Doubles::default(), &unbroken).await.unwrap();
    let writes = *unbroken.writes.lock().unwrap();
    let folder = TempDir::new().unwrap();
    for at in 1..=writes {
        for kill in [Kill::After(at), Kill::Before(at - 1)] {
            let file = folder.path().join(format!("{kill:?}"));
            for ledger in [Ledger::new(kill), Ledger::of_file(&file, kill)] {
                let agents = Doubles::default();
                let broken = run(flow, &agents, &ledger).await;
                assert!(broken.is_none(), "{kill:?} of {writes}: {broken:?}");
                let before = completed(&ledger, &agents);
                let again = ledger.again();
                let ended = run(flow, &agents, &again).await.unwrap();
                assert_eq!(ended, expected, "{kill:?} of {writes}: {flow:?}");
                let after = completed(&again, &agents);
                for (place, runs) in before {
                    assert_eq!(
                        after.get(&place),
                        Some(&runs),
                        "{kill:?}: {place} ran again"
                    );
                }
            }
        }
    }
    expected
}

fn echo(name: &str, input: &Value) -> Value {
    asking(name, "echo", input)
}

#[tokio::test]
async fn i10_a_killed_sequence_graph_and_loop_go_on_where_they_stood() {
    let step = |name: &str, after: &[&str], input: Value| {
        let mut step = echo(name, &input)["step"].clone();
        step["after"] = json!(after);
        step
    };
    let flow = flow_of(json!({
        "id": "a", "init": {"left": {"next": {"next": null}}},
        "flow": {"seq": [
            echo("first", &json!({"n": 1})),
            {"graph": [
                step("slow", &[], json!({"wait": 3})),
                step("quick", &[], json!({"wait": 0})),
                step("both", &["slow", "quick"], json!([{"$path": "$.slow"}, {"$path": "$.quick"}])),
            ]},
            {"loop": {
                "name": "walk", "state": {"$path": "$.left"},
                "body": {"seq": [echo("seen", &json!({"$path": "$.walk"})), asking("no", "skip", &json!({}))]},
                "update": {"$path": "$.walk.next"}, "done": {"$eq": [{"$path": "$.walk"}, null]},
            }},
        ]},
    }));
    let context = survives(&flow).await.unwrap();
    assert_eq!(context["both"], json!([{"wait": 3}, {"wait": 0}]));
    assert_eq!(context["seen"], json!({"next": null}));
}

fn fanned(join: &str, agents: &[(&str, u32)]) -> Flow {
    let items: Vec<Value> = agents
        .iter()
        .map(|(agent, wait)| json!({"do": agent, "wait": wait}))
        .collect();
    let input = json!({"wait": {"$path": "$.item.wait"}, "at": {"$path": "$.at"}});
    let asked = |agent: &str, other: Value| {
        json!({"branch": {
            "cond": {"$eq": [{"$path": "$.item.do"}, agent]}, "then": asking("work", agent, &input),
            "else": other,
        }})
    };
    let body = ["fail", "block", "skip", "stuck"]
        .iter()
        .fold(echo("work", &input), |other, agent| asked(agent, other));
    flow_of(json!({"id": "a", "flow": {"seq": [
        {"fanout": {
            "name": "all", "items": {"$lit": items}, "bind": "item", "index": "at", "join": join,
            "body": body, "concurrency": 3,
        }},
        echo("after", &json!({"$path": "$.all"})),
    ]}}))
}

#[tokio::test]
async fn i11_a_killed_fanout_decides_alike_in_each_join() {
    let good = [("echo", 4), ("echo", 0), ("skip", 1), ("echo", 2)];
    let mixed = [("stuck", 0), ("fail", 1), ("echo", 3), ("block", 0)];
    let settling = [("echo", 4), ("fail", 0), ("block", 1), ("skip", 2)];
    assert!(survives(&fanned("all", &good)).await.is_ok());
    assert!(survives(&fanned("all_settled", &settling)).await.is_ok());
    let any = survives(&fanned("any", &mixed)).await.unwrap();
    assert_eq!(any["after"], json!({"work": {"wait": 3, "at": 2}}));
    let race = survives(&fanned("race", &[("stuck", 0), ("echo", 1), ("echo", 3)])).await;
    assert_eq!(
        race.unwrap()["after"],
        json!({"work": {"wait": 1, "at": 1}})
    );
    let lost = survives(&fanned("race", &mixed)).await.unwrap_err();
    assert_eq!(lost, r#"["work[1]","WORK_FAILED","work is lost",null]"#);
    let none = survives(&fanned("any", &[("fail", 3), ("fail", 0)]))
        .await
        .unwrap_err();
    assert!(none.contains("no lane of fanout `all` succeeded"), "{none}");
}

#[tokio::test]
async fn i11_a_killed_try_takes_the_same_way_again() {
    let trying = |agent: &str| {
        let body = json!({"seq": [echo("one", &json!(1)), asking("two", agent, &json!({"n": 2}))]});
        let catch = echo("after", &json!({"$path": "$.error"}));
        flow_of(json!({"id": "a", "flow": {"seq": [
            {"try": {"body": body, "catch": {"as": "error", "body": catch}}}, echo("end", &json!(3)),
        ]}}))
    };
    for agent in ["echo", "skip", "block", "fail", "fault"] {
        let context = survives(&trying(agent)).await.unwrap();
        let is_caught = ["block", "fail", "fault"].contains(&agent);
        assert_eq!(context.get("after").is_some(), is_caught, "{agent}");
        assert_eq!(
            context.get("one").is_some(),
            !is_caught,
            "what was written is taken back"
        );
    }
}

#[tokio::test]
async fn i11_the_error_of_a_graph_is_the_same_again() {
    // The second step fails first, and the first one while what runs is waited for.
    let step = |name: &str, agent: &str, wait: u32| {
        asking(name, agent, &json!({ "wait": wait }))["step"].clone()
    };
    let graph = json!({"graph": [step("one", "fail", 4), step("two", "fail", 0)]});
    let flow = flow_of(json!({"id": "a", "flow": {"seq": [
        {"try": {"body": graph, "catch": {"as": "error", "body": {"seq": []}}}},
        echo("after", &json!({"$path": "$.error.step"})),
    ]}}));
    let ledger = Ledger::new(Kill::Never);
    let first = run(&flow, &Doubles::default(), &ledger).await.unwrap();
    assert_eq!(first.as_ref().unwrap()["after"], "one");
    let agents = Doubles::default();
    assert_eq!(run(&flow, &agents, &ledger.again()).await.unwrap(), first);
    assert_eq!(agents.given.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn i11_the_losers_of_a_race_are_closed_after_a_restart() {
    let flow = fanned("race", &[("stuck", 0), ("echo", 1)]);
    // Started twice, ended once, and the lane that counts.
    let ledger = Ledger::new(Kill::After(4));
    assert!(run(&flow, &Doubles::default(), &ledger).await.is_none());
    let agents = Doubles::default();
    let ended = run(&flow, &agents, &ledger.again()).await.unwrap().unwrap();
    assert_eq!(ended["after"], json!({"work": {"wait": 1, "at": 1}}));
    let given = agents.given.lock().unwrap();
    let names: Vec<&Value> = given.iter().map(|given| &given["lanes"]).collect();
    assert_eq!(
        names,
        [&json!([0]), &json!([])],
        "the loser, then the step after the race"
    );
}

/// What a step of the runtime that started and did not end is after a restart.
#[tokio::test]
async fn i11_a_call_that_was_cut_off_is_unknown_and_never_made_again() {
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&runs);
    let tool = acting("act", move |_| {
        counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Box::pin(async { Ok(ToolOutcome::text("done")) })
    });
    let tools = ToolRegistry::new();
    drop(tools.register(tool).unwrap());
    let runtime = runtime_of(&tools, None);
    let observe = json!({"step": {
        "name": "observe", "node": "INTERACTION.OBSERVE", "in": {"result": {"$path": "$.act"}},
    }});
    let act = json!({"step": calling("act", "act", &[])});
    let flow = flow_of(json!({"id": "a", "flow": {"seq": [act, observe]}}));
    let mut told = Told::default();
    let take_up = async |ledger: &Ledger, told: &mut Told| {
        let around = Surroundings {
            journal: Some(ledger),
            ..Surroundings::new(&runtime, InvokeOptions::default(), told)
        };
        tokio::select! {
            biased;
            ended = flow.run(JsonObject::new(), around) => Some(ended.unwrap().1),
            () = ledger.killed.cancelled() => None,
        }
    };
    // The tool ran, and its end was not kept.
    let ledger = Ledger::new(Kill::Before(1));
    assert!(take_up(&ledger, &mut told).await.is_none());
    assert_eq!(runs.load(std::sync::atomic::Ordering::SeqCst), 1);
    let context = take_up(&ledger.again(), &mut told).await.unwrap();
    assert_eq!(
        runs.load(std::sync::atomic::Ordering::SeqCst),
        1,
        "never again"
    );
    assert_eq!(context["act"]["callId"], "act");
    assert_eq!(context["act"]["source"], "act");
    assert_eq!(context["act"]["status"], "unknown");
    assert_eq!(context["act"]["error"]["code"], "OUTCOME_UNKNOWN");
    assert_eq!(context["observe"]["status"], "unknown");
    // Its end was kept, and that of OBSERVE was not: OBSERVE runs again.
    let ledger = Ledger::new(Kill::Before(2));
    assert!(take_up(&ledger, &mut told).await.is_none());
    let context = take_up(&ledger.again(), &mut told).await.unwrap();
    assert_eq!(context["observe"]["status"], "success");
    assert_eq!(runs.load(std::sync::atomic::Ordering::SeqCst), 2);
}

#[tokio::test]
async fn i11_a_delivery_that_was_cut_off_is_unknown() {
    let delivery = json!({"deliveryId": "d-1", "message": {"role": "user", "content": "x"}});
    let flow = flow_of(json!({"id": "a", "flow": {"step": {
        "name": "deliver", "node": "INTERACTION.OUTPUT", "in": delivery,
    }}}));
    let ledger = Ledger::new(Kill::Never);
    ledger
        .kept
        .lock()
        .unwrap()
        .insert("0".to_owned(), Kept::Started);
    // There is no sink: a delivery that was made again would be refused.
    let receipt = run(&flow, &Doubles::default(), &ledger)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(receipt["deliver"]["deliveryId"], "d-1");
    assert_eq!(receipt["deliver"]["status"], "unknown");
    assert_eq!(receipt["deliver"]["error"]["code"], "OUTCOME_UNKNOWN");
}

#[tokio::test]
async fn i11_an_mcp_call_that_was_cut_off_is_unknown_and_a_discovery_runs_again() {
    let asking = |input: Value| {
        flow_of(json!({"id": "a", "flow": {"step": {
            "name": "ask", "node": "INTERACTION.ACT.MCP", "in": input,
        }}}))
    };
    let started = || {
        let ledger = Ledger::new(Kill::Never);
        ledger
            .kept
            .lock()
            .unwrap()
            .insert("0".to_owned(), Kept::Started);
        ledger
    };
    let call = json!({"id": "c-1", "name": "add", "arguments": {}});
    let flow = asking(json!({"operation": "invoke", "server": "sums", "call": call}));
    let answer = run(&flow, &Doubles::default(), &started())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(answer["ask"]["operation"], "invoke");
    let result = &answer["ask"]["result"];
    assert_eq!(
        (&result["callId"], &result["source"]),
        (&json!("c-1"), &json!("sums:add"))
    );
    assert_eq!(result["status"], "unknown");
    assert_eq!(result["error"]["code"], "OUTCOME_UNKNOWN");
    // Asked again, it is refused here: there is no MCP.
    let flow = asking(json!({"operation": "discover"}));
    let refused = run(&flow, &Doubles::default(), &started())
        .await
        .unwrap()
        .unwrap_err();
    assert!(refused.contains("not injected"), "{refused}");
}

/// A journal that fails at one of its works.
struct Failing(&'static str);

impl Failing {
    fn at(&self, work: &str) -> BoxFuture<'_, Result<(), CallError>> {
        let fails = self.0 == work;
        Box::pin(async move {
            if fails {
                let reason = "the disk is full".to_owned();
                return Err(CallError::HostFault { reason });
            }
            Ok(())
        })
    }
}

impl Journal for Failing {
    fn recall<'a>(&'a self, _place: &'a Place) -> BoxFuture<'a, Result<Option<Kept>, CallError>> {
        Box::pin(async move { self.at("recall").await.map(|()| None) })
    }

    fn started<'a>(&'a self, _place: &'a Place) -> BoxFuture<'a, Result<(), CallError>> {
        self.at("started")
    }

    fn ended<'a>(
        &'a self,
        _place: &'a Place,
        _end: &'a Value,
    ) -> BoxFuture<'a, Result<(), CallError>> {
        self.at("ended")
    }
}

#[tokio::test]
async fn i10_a_journal_that_fails_ends_the_run_and_is_never_caught() {
    let all_settled = json!({"fanout": {
        "name": "f", "items": [1], "bind": "i", "body": echo("s", &json!(1)), "join": "all_settled",
    }});
    for body in [echo("s", &json!(1)), all_settled] {
        let flow = flow_of(json!({"id": "a", "flow": {"try": {
            "body": body, "catch": {"as": "e", "body": echo("after", &json!(1))},
        }}}));
        for (work, given) in [("recall", 0), ("started", 0), ("ended", 1)] {
            let agents = Doubles::default();
            let ended = run_with(&flow, &agents, Some(&Failing(work)), &mut Told::default()).await;
            let error = ended.unwrap_err();
            assert!(
                matches!(error, FlowError::Journal { .. }),
                "{work}: {error:?}"
            );
            assert_eq!(error.to_failure().code(), "HOST_FAULT");
            assert_eq!(agents.given.lock().unwrap().len(), given, "{work}");
        }
    }
}
