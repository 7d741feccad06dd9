//! A process that is killed while it takes submits loses none that it has acknowledged (SPEC I10).
//!
//! The program starts itself again as the process to be killed, so it has no harness.
#![expect(
    clippy::unwrap_used,
    reason = "a test that can't go on ends; this program is nothing but one"
)]

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use tidegate_contract::Tenant;
use tidegate_sandbox::ambient;
use tidegate_sandbox::command::Launcher;
use tidegate_worker::content::{Body, Conditions};
use tidegate_worker::projection::FrontMatter;
use tidegate_worker::service::{BODY_BYTES, Caller, Dispatch, Dispatched, Service, Submit};
use tidegate_worker::step::StepKey;
use tidegate_worker::store::{Launch, Order, Run, SqliteStore};

/// The first argument of the process to be killed.
const ARGUMENT: &str = "submit-until-killed";

/// Workers that submit at once in it.
const WORKERS: usize = 8;

/// How many acknowledged submits are waited for before it is killed.
const BEFORE: usize = 200;

const NOW: u64 = 1_800_000_000_000;

fn main() {
    if ambient::first_argument_is(ARGUMENT) {
        submit_until_killed();
    } else {
        i10_every_acknowledged_submit_is_there_after_a_kill();
    }
}

fn open(folder: &Path) -> Service {
    let store = SqliteStore::open(&folder.join("state")).unwrap();
    Service::new(Arc::new(store), BODY_BYTES)
}

fn dispatch(service: &Service, step: &str) -> Dispatched {
    let dispatch = Dispatch {
        run: "R-1".to_owned(),
        step: StepKey::parse(step).unwrap(),
        agent: "agent".to_owned(),
        order: Order::default(),
    };
    service.dispatch(dispatch, NOW).unwrap()
}

fn caller(dispatched: &Dispatched) -> Caller<'_> {
    Caller {
        credential: dispatched.token.reveal(),
        peer: "crash",
        now_ms: NOW,
    }
}

fn body(step: &str) -> String {
    step.repeat(100)
}

fn submit_until_killed() {
    let mut folder = String::new();
    io::stdin().read_to_string(&mut folder).unwrap();
    let folder = PathBuf::from(folder);
    let service = Arc::new(open(&folder));
    let run = Run {
        id: "R-1".to_owned(),
        tenant: Tenant::default(),
        task: "T-1".to_owned(),
        launch: Launch::default(),
    };
    let root = ambient::open_folder(&folder).unwrap();
    service.launch(&run, Some(root)).unwrap();
    let workers: Vec<_> = (0..WORKERS)
        .map(|worker| {
            let service = Arc::clone(&service);
            thread::spawn(move || {
                for count in 0_u64.. {
                    let step = format!("s{worker}-{count}");
                    let dispatched = dispatch(&service, &step);
                    let body = body(&step);
                    let submit = Submit {
                        body: body.as_bytes(),
                        ..Submit::default()
                    };
                    service
                        .artifact(caller(&dispatched), &format!("{step}.part"), b"raw")
                        .unwrap();
                    service.submit(caller(&dispatched), submit).unwrap();
                    let acknowledged = format!("{step}\n");
                    io::stdout()
                        .lock()
                        .write_all(acknowledged.as_bytes())
                        .unwrap();
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
}

fn i10_every_acknowledged_submit_is_there_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let acknowledged = acknowledged_before_a_kill(folder.path());
    assert!(acknowledged.len() >= BEFORE);

    let service = open(folder.path());
    let reader = dispatch(&service, "reader");
    let root = ambient::open_folder(folder.path()).unwrap();
    for step in &acknowledged {
        let served = service.content(caller(&reader), step, None, Conditions::default());
        let expected = Body::Whole(body(step).into_bytes());
        assert_eq!(served.unwrap().body, expected, "{step}");
        let file = format!("workspace/tasks/T-1/ctx/{step}");
        let document = root.read_to_string(format!("{file}.md")).unwrap();
        let (_, text) = FrontMatter::read(&document).unwrap();
        assert_eq!(text, body(step), "{step}");
        assert_eq!(root.read_to_string(format!("{file}.part")).unwrap(), "raw");
    }
}

/// What the process said it had taken, until nothing more came out of it.
fn acknowledged_before_a_kill(folder: &Path) -> BTreeSet<String> {
    let mut orders: File = tempfile::tempfile().unwrap();
    orders
        .write_all(folder.to_str().unwrap().as_bytes())
        .unwrap();
    orders.rewind().unwrap();
    let itself = Launcher {
        program: PathBuf::from("/proc/self/exe"),
        arguments: vec![ARGUMENT.to_owned()],
    };
    let mut child = ambient::start_launcher(&itself, orders.into()).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged: BTreeSet<String> =
        lines.by_ref().take(BEFORE).map(Result::unwrap).collect();
    child.kill().unwrap();
    // Acknowledged before the kill and not read yet.
    acknowledged.extend(lines.map(Result::unwrap));
    child.wait().unwrap();
    acknowledged
}
