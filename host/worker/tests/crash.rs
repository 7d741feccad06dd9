//! A process that is killed in the middle of its work loses nothing that it has acknowledged, and does
//! nothing twice (SPEC I10).
//!
//! A child runs flows and their workers; it is killed by SIGKILL at random moments, each of which a
//! fixed seed tells, and the next child goes on in the same folder. After the last one the runs come
//! to their end here. The program starts itself again as the child, so it has no harness.
//! `TIDEGATE_CRASH_ROUNDS` says how many children there are; 20 where it is not set.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that can't go on ends; this program is nothing but one"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tidegate::{
    BoxFuture, CallContext, Caller, CancellationToken, Runtime, RuntimeOptions, Tool, ToolRegistry,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::{CallError, Tenant, ToolCall, ToolDefinition, ToolName, ToolOutcome};
use tidegate_sandbox::ambient;
use tidegate_sandbox::command::Launcher;
use tidegate_worker::projection::FrontMatter;
use tidegate_worker::runs::{Claimed, LaunchRequest, RunBounds, RunView, Runs, RunsSettings};
use tidegate_worker::service::{self, BODY_BYTES, Service, Submit};
use tidegate_worker::store::{RunStatus, SqliteStore};
use tidegate_worker::work_roots::WorkRoots;

/// The first argument of the child.
const ARGUMENT: &str = "run-until-killed";

const ROUNDS: u64 = 20;

/// Runs that a child starts side by side, and workers of each agent.
const SIDE_BY_SIDE: usize = 4;

/// The most acknowledgements that are waited for before a child is killed.
const MOST: u64 = 150;

const AGENTS: [&str; 2] = ["plan", "build"];

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if ambient::first_argument_is(ARGUMENT) {
        let mut folder = String::new();
        io::stdin().read_to_string(&mut folder).unwrap();
        runtime.block_on(run_until_killed(Path::new(&folder)));
    } else {
        runtime.block_on(i10_nothing_acknowledged_is_lost_and_nothing_done_twice());
        runtime.block_on(i10_what_a_stop_leaves_of_an_old_run_is_removed_after_it());
    }
}

/// A tool that writes the id of each of its calls to a file.
struct Ledger(ToolDefinition, Mutex<std::fs::File>);

impl Tool for Ledger {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn execute<'a>(
        &'a self,
        call: &'a ToolCall,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutcome, CallError>> {
        Box::pin(async move {
            let line = format!("{}\n", call.id);
            self.1.lock().unwrap().write_all(line.as_bytes()).unwrap();
            Ok(ToolOutcome::text("noted"))
        })
    }
}

/// The parts of a house over a folder.
struct House {
    runs: Runs,
    service: Arc<Service>,
    folder: PathBuf,
}

fn open(folder: &Path) -> House {
    let definition = ToolDefinition {
        name: ToolName::new("note").unwrap(),
        description: None,
        input_schema: json!({"type": "object"}).as_object().unwrap().clone(),
        output_schema: None,
        effects: vec![],
        requires_approval: false,
    };
    let ledger = ambient::append_to(&folder.join("ledger")).unwrap();
    let tools = ToolRegistry::new();
    drop(
        tools
            .register(Ledger(definition, Mutex::new(ledger)))
            .unwrap(),
    );
    let mut sandbox = Grant::default();
    parse_allow("tool=*", &mut sandbox).unwrap();
    let options = RuntimeOptions {
        tools,
        sandbox,
        ..RuntimeOptions::default()
    };
    let store = Arc::new(SqliteStore::open(&folder.join("state")).unwrap());
    let of_service: Arc<SqliteStore> = Arc::clone(&store);
    let service = Arc::new(Service::new(of_service, BODY_BYTES));
    let runs = Runs::open(RunsSettings {
        store,
        service: Arc::clone(&service),
        runtime: Runtime::new(options).unwrap(),
        work_roots: WorkRoots::open(&[(Tenant::default(), folder.to_owned())]).unwrap(),
        base_url: String::new(),
        bounds: bounds(folder),
    });
    House {
        runs: runs.unwrap(),
        service,
        folder: folder.to_owned(),
    }
}

/// A folder that holds this file keeps few ended runs, and is swept all the time.
const FEW: &str = "few";

/// Ended runs that are kept there: more than end at once.
const KEPT: u64 = 8;

fn bounds(folder: &Path) -> RunBounds {
    let is_few = ambient::open_folder(folder).unwrap().exists(FEW);
    let usual = RunBounds::default();
    RunBounds {
        ended_runs: if is_few { KEPT } else { usual.ended_runs },
        ..usual
    }
}

/// What a step's worker submits, in whichever attempt.
fn body(run: &str, step: &str) -> String {
    format!("{run} {step} ").repeat(50)
}

impl House {
    /// Takes up what the child before has left. Its workers are gone, so that what they had claimed is
    /// handed out anew.
    async fn resume(&self, launched: &BTreeSet<String>) {
        self.runs.resume().await.unwrap();
        for run in launched {
            let again = self.runs.rekick(&Tenant::default(), run, None);
            // One that has ended has nothing to be handed out.
            drop(again);
        }
    }

    fn launch(&self, name: &str) -> String {
        let call = |step: &str| {
            json!({"step": {"name": step, "node": "INTERACTION.ACT.TOOL", "in": {"call": {
                "id": format!("{name}-{step}"), "name": "note", "arguments": {},
            }}}})
        };
        let ask = |step: &str| json!({"step": {"name": step, "agent": step, "in": step}});
        let flow = json!([call("before"), ask("plan"), call("between"), ask("build")]);
        let launch = json!({
            "blueprint": {
                "id": "crash", "flow": {"seq": flow}, "result": {"$path": "$"},
                "agents": {"plan": {}, "build": {}},
            },
            "work_dir": self.folder.to_str().unwrap(),
        });
        let request = LaunchRequest::from_value(launch).unwrap();
        self.runs.launch(&Caller::default(), request).unwrap().run
    }

    /// Does every step of an agent that comes, and says what was acknowledged.
    async fn work(&self, agent: &str, said: impl Fn(&str)) {
        let (tenant, token) = (Tenant::default(), CancellationToken::new());
        loop {
            let claimed = self.runs.claim(&tenant, agent, 60_000, &token);
            if let Some(claimed) = claimed.await.unwrap() {
                self.complete(&claimed, &said);
            }
        }
    }

    fn complete(&self, claimed: &Claimed, said: &impl Fn(&str)) {
        let Claimed {
            run, step, attempt, ..
        } = claimed;
        let caller = || service::Caller {
            credential: claimed.handle.reveal(),
            peer: "crash",
            now_ms: ambient::now_ms(),
        };
        let text = body(run, step);
        let (part, text) = (format!("{step}.part"), text.as_bytes());
        self.service.artifact(caller(), &part, text).unwrap();
        said(&format!("part {run} {step} {attempt}"));
        let submit = Submit {
            body: text,
            ..Submit::default()
        };
        self.service.submit(caller(), submit).unwrap();
        said(&format!("submit {run} {step} {attempt}"));
    }

    /// Follows a run to its end.
    async fn ended(&self, run: &str) -> RunView {
        let mut events = self.runs.events(&Tenant::default(), run, None).unwrap();
        while events.next().await.unwrap().is_some() {}
        self.runs.run(&Tenant::default(), run).unwrap()
    }
}

fn acknowledge(line: &str) {
    let line = format!("{line}\n");
    io::stdout().lock().write_all(line.as_bytes()).unwrap();
}

async fn run_until_killed(folder: &Path) {
    let house = Arc::new(open(folder));
    let launched = ambient::open_folder(folder).unwrap();
    let launched = launched.read_to_string("launched").unwrap_or_default();
    let launched = launched.lines().map(str::to_owned).collect();
    house.resume(&launched).await;
    let mut tasks = tokio::task::JoinSet::new();
    if bounds(folder) != RunBounds::default() {
        let house = Arc::clone(&house);
        tasks.spawn(async move {
            loop {
                house.runs.sweep().await.unwrap();
                tokio::task::yield_now().await;
            }
        });
    }
    for lane in 0..SIDE_BY_SIDE {
        for agent in AGENTS {
            let house = Arc::clone(&house);
            tasks.spawn(async move { house.work(agent, acknowledge).await });
        }
        let house = Arc::clone(&house);
        tasks.spawn(async move {
            for count in 0_u64.. {
                let run = house.launch(&format!("{}-{lane}-{count}", ambient::random_id()));
                acknowledge(&format!("launch {run}"));
                house.ended(&run).await;
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
}

/// What the children said they had done.
#[derive(Default)]
struct Acknowledged {
    launched: BTreeSet<String>,
    /// Run, step and number of an attempt.
    parts: BTreeSet<(String, String, u32)>,
    submits: BTreeSet<(String, String, u32)>,
}

impl Acknowledged {
    fn take(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let attempt = |run: &str, step: &str, number: &str| {
            (run.to_owned(), step.to_owned(), number.parse().unwrap())
        };
        match words.as_slice() {
            ["launch", run] => assert!(self.launched.insert((*run).to_owned()), "twice: {line}"),
            ["part", run, step, number] => {
                let is_new = self.parts.insert(attempt(run, step, number));
                assert!(is_new, "twice: {line}");
            }
            ["submit", run, step, number] => {
                let is_new = self.submits.insert(attempt(run, step, number));
                assert!(is_new, "twice: {line}");
            }
            _ => assert_eq!(line, "", "a line that no child writes"),
        }
    }

    /// One child, until it has acknowledged so much and is killed.
    fn round(&mut self, folder: &Path, before: usize) {
        let launched: Vec<&str> = self.launched.iter().map(String::as_str).collect();
        let list = ambient::open_folder(folder).unwrap();
        list.write("launched", launched.join("\n")).unwrap();
        let mut orders = tempfile::tempfile().unwrap();
        let path = folder.to_str().unwrap();
        orders.write_all(path.as_bytes()).unwrap();
        orders.rewind().unwrap();
        let itself = Launcher {
            program: PathBuf::from("/proc/self/exe"),
            arguments: vec![ARGUMENT.to_owned()],
        };
        let mut child = ambient::start_launcher(&itself, orders.into()).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for line in lines.by_ref().take(before) {
            self.take(&line.unwrap());
        }
        child.kill().unwrap();
        // Acknowledged before the kill and not read yet.
        for line in lines {
            self.take(&line.unwrap());
        }
        child.wait().unwrap();
    }
}

fn rounds() -> u64 {
    let rounds = ambient::environment("TIDEGATE_CRASH_ROUNDS");
    rounds.map_or(ROUNDS, |rounds| rounds.parse().unwrap())
}

/// Kills so many children over a folder.
fn killed(folder: &Path, rounds: u64) -> Acknowledged {
    let mut said = Acknowledged::default();
    for round in 0..rounds {
        // Spread by a multiplier that visits all remainders in no simple order.
        let before = 1 + (round.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % MOST;
        said.round(folder, usize::try_from(before).unwrap());
    }
    // The shortest rounds acknowledge a launch; most go far beyond that.
    assert!(said.submits.len() >= usize::try_from(rounds).unwrap());
    said
}

/// Opens the folder once more, with workers for what is left.
async fn taken_up(folder: &Path, said: &Acknowledged) -> (Arc<House>, tokio::task::JoinSet<()>) {
    let house = Arc::new(open(folder));
    house.resume(&said.launched).await;
    let mut workers = tokio::task::JoinSet::new();
    for agent in AGENTS {
        let house = Arc::clone(&house);
        workers.spawn(async move { house.work(agent, |_said| {}).await });
    }
    (house, workers)
}

async fn i10_nothing_acknowledged_is_lost_and_nothing_done_twice() {
    let folder = tempfile::tempdir().unwrap();
    let said = killed(folder.path(), rounds());
    let (house, _workers) = taken_up(folder.path(), &said).await;
    for run in &said.launched {
        check_run(&house, &said, &house.ended(run).await);
    }
    check_ledger(folder.path());
}

async fn i10_what_a_stop_leaves_of_an_old_run_is_removed_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let top = ambient::open_folder(folder.path()).unwrap();
    top.write(FEW, "").unwrap();
    let said = killed(folder.path(), rounds().div_ceil(4));
    let (house, _workers) = taken_up(folder.path(), &said).await;
    let is_there = |run: &&String| house.runs.status(&Tenant::default(), run).is_ok();
    for run in said.launched.iter().filter(is_there) {
        let mut events = house.runs.events(&Tenant::default(), run, None).unwrap();
        while events.next().await.unwrap_or_default().is_some() {}
    }
    while house.runs.sweep().await.unwrap() > 0 {}
    let mut kept = 0;
    for run in said.launched.iter().filter(is_there) {
        let view = house.ended(run).await;
        check_run(&house, &said, &view);
        kept += 1;
    }
    assert_eq!(kept, KEPT);
}

fn check_run(house: &House, said: &Acknowledged, view: &RunView) {
    let run = &view.run;
    assert_eq!(view.status, RunStatus::Completed, "{run}: {:?}", view.error);
    let result = view.result.as_ref().unwrap();
    for step in ["before", "between"] {
        let status = &result[step]["status"];
        assert!(
            status == "success" || status == "unknown",
            "{run} {step}: {status}"
        );
    }
    for step in AGENTS {
        let part = format!("{step}.part");
        let text = body(run, step);
        let mut expected = json!({"out": text, "parts": {}});
        expected["parts"][&part] = Value::from(text.as_str());
        assert_eq!(result[step], expected, "{run} {step}");

        let attempts = view.steps.iter().find(|view| view.step == step);
        let attempts = &attempts.unwrap().attempts;
        let completed = attempts
            .iter()
            .filter(|attempt| attempt.state == "completed");
        assert_eq!(completed.count(), 1, "{run} {step}");
        let acknowledged = said.submits.iter();
        let acknowledged = acknowledged.filter(|(of, at, _)| of == run && at == step);
        assert!(acknowledged.count() <= 1, "twice: {run} {step}");
        for attempt in attempts {
            let key = (run.clone(), step.to_owned(), attempt.attempt);
            if said.submits.contains(&key) {
                assert_eq!(
                    attempt.state, "completed",
                    "an acknowledged submit: {key:?}"
                );
                assert!(said.parts.contains(&key));
            }
        }
        let root = ambient::open_folder(&house.folder).unwrap();
        let file = |name: &str| {
            let path = format!("workspace/tasks/{}/ctx/{name}", view.task);
            root.read_to_string(path).unwrap()
        };
        let document = file(&format!("{step}.md"));
        assert_eq!(
            FrontMatter::read(&document).unwrap().1,
            text,
            "{run} {step}"
        );
        assert_eq!(file(&part), text, "{run} {step}");
    }
}

fn check_ledger(folder: &Path) {
    let ledger = ambient::open_folder(folder).unwrap();
    let ledger = ledger.read_to_string("ledger").unwrap();
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    for id in ledger.lines() {
        *calls.entry(id).or_default() += 1;
    }
    let twice: Vec<_> = calls.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}
