//! The service itself, killed by SIGKILL at moments that nobody chose, under load: what it has
//! acknowledged is there, nothing of it twice, no file is torn, and every run comes to its end (SPEC
//! I10).
//!
//! Each round starts the service over the same folders. `TIDEGATE_CRASH_ROUNDS` says how many rounds
//! there are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::house::{As, step};
use super::service::Service;
use crate::support::root;

const ROUNDS: u64 = 20;

/// The most acknowledgements that are waited for before the service is killed.
const MOST: u64 = 100;

/// Far longer than a round takes.
const HANGING: Duration = Duration::from_mins(1);

const AGENTS: [&str; 2] = ["plan", "build"];

/// A connection of somebody who does not wonder at its end.
struct Line {
    stream: BufReader<TcpStream>,
    token: String,
}

impl Line {
    fn open(address: SocketAddr, token: &str) -> Option<Self> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_nodelay(true).ok()?;
        Some(Self {
            stream: BufReader::new(stream),
            token: token.to_owned(),
        })
    }

    fn operator(address: SocketAddr) -> Option<Self> {
        Self::open(address, &As::Operator.token())
    }

    /// Number and body of the answer; `None` where the service is gone before it is whole.
    fn ask(&mut self, request: &str, body: &str) -> Option<(u16, String)> {
        let Self { stream, token } = self;
        let length = body.len();
        let head = format!(
            "{request} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.get_mut().write_all(head.as_bytes()).ok()?;
        let status: u16 = line(stream)?.get(9..12)?.parse().ok()?;
        let (mut length, mut is_chunked) = (0, false);
        loop {
            let field = line(stream)?.to_ascii_lowercase();
            if field.is_empty() {
                break;
            }
            if let Some(value) = field.strip_prefix("content-length: ") {
                length = value.parse().ok()?;
            }
            is_chunked |= field == "transfer-encoding: chunked";
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).ok()?;
        while is_chunked {
            let size = usize::from_str_radix(&line(stream)?, 16).ok()?;
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk).ok()?;
            body.extend(&chunk[..size]);
            is_chunked = size > 0;
        }
        Some((status, String::from_utf8(body).unwrap()))
    }

    fn json(&mut self, request: &str, body: &str) -> Option<Value> {
        let (status, body) = self.ask(request, body)?;
        assert!(matches!(status, 200 | 202), "{request}: {status} {body}");
        Some(serde_json::from_str(&body).unwrap())
    }
}

fn line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    let read = stream.read_line(&mut line).ok()?;
    let line = line.strip_suffix("\r\n")?;
    (read > 0).then(|| line.to_owned())
}

/// How long a worker goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// The service is gone.
    Killed,
    /// No run is open.
    Done,
}

/// What was acknowledged, over all rounds.
#[derive(Default)]
struct Said {
    /// Run and task.
    launched: BTreeMap<String, String>,
    ended: BTreeSet<String>,
    /// Run, step and number of an attempt.
    parts: BTreeSet<(String, String, u64)>,
    submits: BTreeSet<(String, String, u64)>,
    /// Acknowledgements of this round.
    count: u64,
}

#[derive(Default)]
struct Ledger {
    said: Mutex<Said>,
    more: Condvar,
}

impl Ledger {
    fn note(&self, note: impl FnOnce(&mut Said) -> bool) {
        let mut said = self.said.lock().unwrap();
        assert!(note(&mut said), "acknowledged twice");
        said.count += 1;
        self.more.notify_all();
    }

    /// Waits for so many; whether they have come.
    fn reaches(&self, count: u64) -> bool {
        let mut said = self.said.lock().unwrap();
        while said.count < count {
            let (again, waited) = self.more.wait_timeout(said, HANGING).unwrap();
            if waited.timed_out() {
                return false;
            }
            said = again;
        }
        true
    }

    fn open(&self) -> Vec<String> {
        let said = self.said.lock().unwrap();
        let open = said
            .launched
            .keys()
            .filter(|run| !said.ended.contains(*run));
        open.cloned().collect()
    }
}

fn body(run: &str, step: &str) -> String {
    format!("{run} {step} ").repeat(200)
}

/// What all rounds are made over.
struct Site {
    work: TempDir,
    ledger: Ledger,
}

impl Site {
    fn start(&self) -> Service {
        let component = |name: &str| {
            let path = root().join(format!("guests/dist/{name}.wasm"));
            path.canonicalize().unwrap()
        };
        let config = json!({
            "sandbox": {"read": true, "tools": ["large"]},
            "plugins": [
                {"name": "outline", "component": component("outline"), "grants": {"read": true}},
                {"name": "probe", "component": component("probe")},
            ],
            "serve": {"tokens": "tokens.json"},
        });
        let folders = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let tokens = folders.0.path().join("tokens.json");
        let entry = |who: As, role: &str| {
            let sha256 = tidegate_engine::digest(who.token().as_bytes());
            json!({
                "name": role, "sha256": sha256, "role": role, "tenant": "acme",
                "work_roots": [self.work.path()],
            })
        };
        let entries = json!([
            entry(As::Operator, "operator"),
            entry(As::Observer, "observer")
        ]);
        fs::write(&tokens, entries.to_string()).unwrap();
        fs::set_permissions(&tokens, PermissionsExt::from_mode(0o600)).unwrap();
        let service = Service::over(&config.to_string(), &[], folders);
        let document = service.folder.path().join("doc.md");
        fs::write(document, "# One\n\n## Two\n").unwrap();
        service
    }

    fn launch(&self) -> String {
        let call = |name: &str| {
            let mut step = json!({"name": name, "node": "INTERACTION.ACT.TOOL"});
            step["in"] = json!({"call": {"id": name, "name": "large", "arguments": {"text": 9}}});
            json!({ "step": step })
        };
        let flow = json!([
            call("before"),
            step("outline", "outliner", json!("doc.md")),
            step("plan", "plan", json!("plan it")),
            call("between"),
            step("build", "build", json!("build it")),
        ]);
        json!({
            "blueprint": {
                "id": "crash", "flow": {"seq": flow}, "result": {"$path": "$"},
                "agents": {
                    "outliner": {"worker": "outline", "repeatable": true}, "plan": {}, "build": {},
                },
            },
            "work_dir": self.work.path(),
        })
        .to_string()
    }

    /// Launches runs, one after the other, until the service is gone.
    fn operate(&self, address: SocketAddr) -> Option<()> {
        let mut line = Line::operator(address)?;
        let mut following = Line::open(address, &As::Observer.token())?;
        loop {
            let launched = line.json("POST /v1/flows", &self.launch())?;
            let text = |key: &str| launched[key].as_str().unwrap().to_owned();
            let (run, task) = (text("run"), text("task"));
            let of = run.clone();
            self.ledger
                .note(|said| said.launched.insert(of, task).is_none());
            self.follow(&mut following, &run)?;
        }
    }

    /// Follows a run to its end.
    fn follow(&self, line: &mut Line, run: &str) -> Option<()> {
        let (status, events) = line.ask(&format!("GET /v1/runs/{run}/events"), "")?;
        assert_eq!(status, 200, "{events}");
        if events.contains("event: run.ended") {
            self.ledger.note(|said| said.ended.insert(run.to_owned()));
        }
        Some(())
    }

    /// Does what an agent is asked for.
    fn work(&self, address: SocketAddr, agent: &str, until: Until) -> Option<()> {
        let mut line = Line::operator(address)?;
        let claim = format!("POST /v1/dispatch/claim?agent={agent}&wait_ms=50");
        loop {
            let (status, claimed) = line.ask(&claim, "")?;
            if status == 204 {
                if until == Until::Done && self.ledger.open().is_empty() {
                    return Some(());
                }
                continue;
            }
            assert_eq!(status, 200, "{claimed}");
            let claimed: Value = serde_json::from_str(&claimed).unwrap();
            let text = |key: &str| claimed[key].as_str().unwrap();
            let number = claimed["attempt"].as_u64().unwrap();
            let (run, step) = (text("run"), text("step"));
            let key = (run.to_owned(), step.to_owned(), number);
            let mut worker = Line::open(address, text("handle"))?;
            let text = body(run, step);
            let stage = format!("POST /v1/worker/artifact?name={step}.part");
            let (status, said) = worker.ask(&stage, &text)?;
            assert_eq!(status, 204, "{said}");
            let part = key.clone();
            self.ledger.note(|said| said.parts.insert(part));
            let (status, said) = worker.ask("POST /v1/worker/submit", &text)?;
            assert_eq!(status, 204, "{said}");
            self.ledger.note(|said| said.submits.insert(key));
        }
    }

    /// Hands out anew what workers had that are gone.
    fn take_up(&self, service: &Service) {
        let mut line = Line::operator(service.address).unwrap();
        for run in self.ledger.open() {
            let rekick = format!("POST /v1/runs/{run}/rekick");
            let (status, said) = line.ask(&rekick, "").unwrap();
            if status == 410 {
                // It has ended, unseen.
                self.ledger.note(|said| said.ended.insert(run));
                continue;
            }
            assert_eq!(status, 200, "{said}");
        }
    }

    /// Works until so much was acknowledged, and kills the service.
    fn round(&self, service: &Service, acknowledgements: u64) {
        let address = service.address;
        self.take_up(service);
        self.ledger.said.lock().unwrap().count = 0;
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(move || self.operate(address));
                for agent in AGENTS {
                    scope.spawn(move || self.work(address, agent, Until::Killed));
                }
            }
            let reached = self.ledger.reaches(acknowledgements);
            service.signal(rustix::process::Signal::KILL);
            assert!(reached, "the service does nothing: {}", service.said());
        });
        self.check_files();
    }

    /// That each file that is there is whole.
    fn check_files(&self) {
        let said = self.ledger.said.lock().unwrap();
        for (run, task) in said
            .launched
            .iter()
            .filter(|(run, _)| !said.ended.contains(*run))
        {
            for step in AGENTS {
                let text = body(run, step);
                let file = |name: &str| read(self.work.path(), task, name);
                if let Some(found) = file(&format!("{step}.part")) {
                    assert!(found == text, "{run} {step}: a torn part");
                }
                if let Some(found) = file(&format!("{step}.md")) {
                    let front = format!("---\ntask_id: \"{task}\"\n");
                    let is_whole = found.starts_with(&front) && found.ends_with(&text);
                    assert!(is_whole, "{run} {step}: a torn file");
                }
            }
        }
    }

    /// Lets every run come to its end and looks at it.
    fn finish(&self, service: &Service) {
        let address = service.address;
        self.take_up(service);
        thread::scope(|scope| {
            for agent in AGENTS {
                scope.spawn(move || self.work(address, agent, Until::Done).unwrap());
            }
            let mut line = Line::open(address, &As::Observer.token()).unwrap();
            for run in self.ledger.open() {
                self.follow(&mut line, &run).unwrap();
            }
        });
        assert!(self.ledger.open().is_empty());
        let said = self.ledger.said.lock().unwrap();
        let mut line = Line::operator(address).unwrap();
        for (run, task) in &said.launched {
            let view = line.json(&format!("GET /v1/runs/{run}"), "").unwrap();
            self.check(&said, (run, task), &view);
        }
    }

    fn check(&self, said: &Said, (run, task): (&str, &str), view: &Value) {
        assert_eq!(
            (&view["status"], &view["task"]),
            (&json!("completed"), &json!(task)),
            "{view}"
        );
        let result = &view["result"];
        for call in ["before", "between"] {
            let status = result[call]["status"].as_str().unwrap();
            assert!(
                matches!(status, "success" | "unknown"),
                "{run} {call}: {status}"
            );
        }
        assert_eq!(result["outline"]["out"]["headings"], 2, "{view}");
        let steps = view["steps"].as_array().unwrap();
        for step in AGENTS {
            let (part, text) = (format!("{step}.part"), body(run, step));
            let mut expected = json!({"out": text, "parts": {}});
            expected["parts"][&part] = Value::from(text.as_str());
            assert!(result[step] == expected, "{run} {step}");
            let found = steps.iter().find(|found| found["step"] == step).unwrap();
            let attempts = found["attempts"].as_array().unwrap();
            let completed = |attempt: &&Value| attempt["state"] == "completed";
            assert_eq!(attempts.iter().filter(completed).count(), 1, "{run} {step}");
            let of_step = said.submits.iter();
            let of_step = of_step.filter(|(of, at, _)| of == run && at == step);
            assert!(
                of_step.clone().count() <= 1,
                "submitted twice: {run} {step}"
            );
            for (_, _, number) in of_step {
                let kept = attempts
                    .iter()
                    .find(|attempt| attempt["attempt"] == *number);
                assert_eq!(
                    kept.unwrap()["state"],
                    "completed",
                    "acknowledged: {run} {step}"
                );
            }
            let file = |name: &str| read(self.work.path(), task, name).unwrap();
            assert!(file(&part) == text, "{run} {step}");
            assert!(file(&format!("{step}.md")).ends_with(&text), "{run} {step}");
        }
    }
}

fn read(work: &Path, task: &str, name: &str) -> Option<String> {
    let path = work.join(format!("workspace/tasks/{task}/ctx/{name}"));
    fs::read_to_string(path).ok()
}

#[test]
fn i10_a_killed_service_has_lost_nothing_that_it_acknowledged_and_does_nothing_twice() {
    let rounds = std::env::var("TIDEGATE_CRASH_ROUNDS");
    let rounds = rounds.map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let site = Site {
        work: TempDir::new().unwrap(),
        ledger: Ledger::default(),
    };
    let mut service = site.start();
    for round in 0..rounds {
        // Spread by a multiplier that visits all remainders in no simple order.
        let before = 1 + (round.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % MOST;
        site.round(&service, before);
        service = service.restarted();
    }
    site.finish(&service);
    let said = site.ledger.said.lock().unwrap();
    assert!(
        u64::try_from(said.submits.len()).unwrap() >= rounds,
        "nothing was at stake"
    );
}
