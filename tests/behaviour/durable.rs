//! Runs that are killed and taken up again: no completed step runs twice, and the result is the one of
//! a run that nobody broke (SPEC I10, I11).

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate::flow::{Flow, Journal, Kept, Place};
use tidegate::{BoxFuture, CancellationToken};
use tidegate_contract::CallError;

use super::acting::{Told, flow_of, shown};
use super::agents::{Doubles, asking, run_with};

/// When a run is killed.
#[derive(Clone, Copy, Debug)]
enum Kill {
    Never,
    /// So many writes are kept; the run learns of the last one no more.
    After(usize),
    /// So many writes are kept; what the next one would have told is lost.
    Before(usize),
}

/// A journal: in memory, or as lines of a file.
pub(crate) struct Ledger {
    kept: Mutex<BTreeMap<String, Kept>>,
    writes: Mutex<usize>,
    file: Option<PathBuf>,
    kill: Kill,
    killed: CancellationToken,
}

impl Ledger {
    fn new(kill: Kill) -> Self {
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
    fn again(&self) -> Self {
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
            !matches!(known, Some(Kept::Ended(_))),
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
async fn run(flow: &Flow, agents: &Doubles, ledger: &Ledger) -> Option<Result<Value, String>> {
    let mut told = Told::default();
    let run = run_with(flow, agents, Some(ledger), &mut told);
    tokio::select! {
        biased;
        ended = run => Some(ended.map_err(|error| shown(&error))),
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
