//! `tidegate serve` on loopback: prompts and durable submits on kept connections, and the steps of a
//! flow, beside what one write with a sync costs in the same folder.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::samples::{percentile, plain, rate_at_least, us, us_at_most};
use crate::start::program;

/// Attempts that one connection does.
const ALONE: usize = 400;

/// Connections at once.
const CONNECTIONS: usize = 64;

/// Attempts of each of them.
const EACH: usize = 15;

/// Steps of the flow.
const STEPS: usize = 300;

/// All figures.
pub(crate) fn serve() {
    let service = Service::start();
    let floor = sync_floor(service.state.path());
    plain("one write and fdatasync, median", &us(floor));
    alone(&service, floor);
    together(&service);
    steps(&service);
}

/// The median of a write with a sync, as a commit needs one at least.
fn sync_floor(folder: &Path) -> f64 {
    let mut file = File::create(folder.join("floor")).unwrap();
    let mut times: Vec<f64> = (0..ALONE)
        .map(|_| {
            let started = Instant::now();
            file.write_all(&[7; 4_096]).unwrap();
            file.sync_data().unwrap();
            started.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    percentile(&times, 50)
}

/// One connection: fetch a prompt after the other, then submit.
fn alone(service: &Service, floor: f64) {
    let handles = service.handles(ALONE);
    let mut connection = Connection::open(service.address);
    let (mut idle, mut fetched, mut submitted) = (Vec::new(), Vec::new(), Vec::new());
    for _ in &handles {
        let started = Instant::now();
        connection.send("GET", "/healthz", "", "");
        idle.push(started.elapsed().as_secs_f64());
    }
    // All prompts first: each lists what the run has left so far, which is nothing yet.
    for handle in &handles {
        let started = Instant::now();
        connection.send("GET", "/v1/worker/prompt", handle, "");
        fetched.push(started.elapsed().as_secs_f64());
    }
    for handle in &handles {
        let started = Instant::now();
        connection.send("POST", "/v1/worker/submit", handle, "done");
        submitted.push(started.elapsed().as_secs_f64());
    }
    idle.sort_by(f64::total_cmp);
    fetched.sort_by(f64::total_cmp);
    submitted.sort_by(f64::total_cmp);
    plain(
        "an answer that asks for nothing, median",
        &us(percentile(&idle, 50)),
    );
    us_at_most(
        "prompt, 1 connection, median",
        percentile(&fetched, 50),
        50e-6,
    );
    plain(
        "prompt, 1 connection, 99 of 100",
        &us(percentile(&fetched, 99)),
    );
    us_at_most(
        "durable submit, 1 connection, median",
        percentile(&submitted, 50),
        floor + 150e-6,
    );
    plain(
        "durable submit, 1 connection, 99 of 100",
        &us(percentile(&submitted, 99)),
    );
    // What of both is the service's own, and not the wake-up of a processor that every answer costs.
    let idle = percentile(&idle, 50);
    plain(
        "prompt, as a multiple of an answer that asks for nothing",
        &format!("{:.2}", percentile(&fetched, 50) / idle),
    );
    plain(
        "durable submit, as a multiple of that answer and the write",
        &format!("{:.2}", percentile(&submitted, 50) / (idle + floor)),
    );
}

/// Many connections, each with attempts of its own, that submit at once.
fn together(service: &Service) {
    let handles = service.handles(CONNECTIONS * EACH);
    let barrier = Barrier::new(CONNECTIONS + 1);
    let (mut times, took) = thread::scope(|scope| {
        let workers: Vec<_> = handles
            .chunks(EACH)
            .map(|handles| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let mut connection = Connection::open(service.address);
                    barrier.wait();
                    let submit = |handle: &String| {
                        let started = Instant::now();
                        connection.send("POST", "/v1/worker/submit", handle, "done");
                        started.elapsed().as_secs_f64()
                    };
                    handles.iter().map(submit).collect::<Vec<_>>()
                })
            })
            .collect();
        barrier.wait();
        let started = Instant::now();
        let times = workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap());
        let times: Vec<f64> = times.collect();
        (times, started.elapsed().as_secs_f64())
    });
    times.sort_by(f64::total_cmp);
    let count = f64::from(u32::try_from(times.len()).unwrap());
    plain(
        "durable submit, 64 connections, median",
        &us(percentile(&times, 50)),
    );
    plain(
        "durable submit, 64 connections, 99 of 100",
        &us(percentile(&times, 99)),
    );
    rate_at_least(
        "durable submits a second, 64 connections",
        count / took,
        5_000.0,
    );
}

/// A flow of steps that the host does itself, each kept before the next.
fn steps(service: &Service) {
    let step = |number: usize| {
        let result = json!({"callId": "c", "source": "s", "status": "success", "content": "x"});
        json!({"step": {
            "name": format!("s{number}"), "node": "INTERACTION.OBSERVE", "in": {"result": result},
        }})
    };
    let flow = json!({"seq": (0..STEPS).map(step).collect::<Vec<_>>()});
    let blueprint = json!({"id": "steps", "flow": flow, "limits": {"nodes": STEPS + 1}});
    let started = Instant::now();
    let run = service.launch(&json!({ "blueprint": blueprint }));
    service.wait(&run);
    let rate = f64::from(u32::try_from(STEPS).unwrap()) / started.elapsed().as_secs_f64();
    rate_at_least(
        "steps a second of a flow of 300, each durable",
        rate,
        2_000.0,
    );
}

/// A running service of the program that was built for the figures.
struct Service {
    child: Child,
    address: SocketAddr,
    state: tempfile::TempDir,
    token: String,
}

impl Service {
    fn start() -> Self {
        let state = tempfile::TempDir::new().unwrap();
        let folder = state.path().join("kept");
        std::fs::create_dir(&folder).unwrap();
        let config = state.path().join("serve.yaml");
        std::fs::write(&config, "{}").unwrap();
        let mut child = Command::new(program())
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(&config)
            .arg("--state")
            .arg(&folder)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = loop {
            let line = said.next().unwrap().unwrap();
            if let Some(address) = line.trim().strip_prefix("listening on http://") {
                break address.parse().unwrap();
            }
        };
        thread::spawn(move || said.for_each(drop));
        let token = std::fs::read_to_string(folder.join("operator.token")).unwrap();
        Self {
            child,
            address,
            state,
            token: token.trim_end().to_owned(),
        }
    }

    fn launch(&self, request: &Value) -> String {
        let mut connection = Connection::open(self.address);
        let body = request.to_string();
        let answer = connection.send("POST", "/v1/flows", &self.token, &body);
        let launched: Value = serde_json::from_str(&answer).unwrap();
        launched["run"].as_str().unwrap().to_owned()
    }

    fn wait(&self, run: &str) {
        let mut connection = Connection::open(self.address);
        let path = format!("/v1/runs/{run}");
        loop {
            let answer = connection.send("GET", &path, &self.token, "");
            let view: Value = serde_json::from_str(&answer).unwrap();
            if view["status"] != "running" {
                assert_eq!(view["status"], "completed", "{view}");
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Handles of so many attempts of one run, each in a lane of its own.
    fn handles(&self, count: usize) -> Vec<String> {
        let fanout = json!({"fanout": {
            "name": "all", "items": {"$path": "$.items"}, "bind": "item", "concurrency": 1_024,
            "max_items": count,
            "body": {"step": {"name": "work", "agent": "load", "in": {"$path": "$.item"}}},
        }});
        let blueprint = json!({
            "id": "load", "flow": fanout, "agents": {"load": {}},
            "limits": {"concurrency": 1_024},
        });
        let items: Vec<usize> = (0..count).collect();
        self.launch(&json!({"blueprint": blueprint, "init_ctx": {"items": items}}));
        let mut connection = Connection::open(self.address);
        let claim = "/v1/dispatch/claim?agent=load&wait_ms=10000";
        let mut next = || {
            let answer = connection.send("POST", claim, &self.token, "");
            let claimed: Value = serde_json::from_str(&answer).unwrap();
            claimed["handle"].as_str().unwrap().to_owned()
        };
        (0..count).map(|_| next()).collect()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A kept connection that asks one thing after the other.
struct Connection {
    stream: TcpStream,
    kept: Vec<u8>,
}

impl Connection {
    fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream,
            kept: Vec::new(),
        }
    }

    /// Sends a request and gives the body of its answer, which must be a success.
    fn send(&mut self, method: &str, path: &str, token: &str, body: &str) -> String {
        let kind = if body.starts_with('{') {
            "application/json"
        } else {
            "text/plain"
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len(),
        );
        self.stream.write_all(request.as_bytes()).unwrap();
        let end = loop {
            if let Some(end) = self.kept.windows(4).position(|part| part == b"\r\n\r\n") {
                break end;
            }
            self.more();
        };
        let head = String::from_utf8(self.kept[..end].to_vec())
            .unwrap()
            .to_lowercase();
        assert!(head.starts_with("http/1.1 2"), "{method} {path}: {head}");
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        let whole = end + 4 + length;
        while self.kept.len() < whole {
            self.more();
        }
        let rest = self.kept.split_off(whole);
        let answer = std::mem::replace(&mut self.kept, rest);
        String::from_utf8(answer[end + 4..].to_vec()).unwrap()
    }

    fn more(&mut self) {
        let mut piece = [0; 16_384];
        let read = self.stream.read(&mut piece).unwrap();
        assert!(read > 0, "the service closed the connection");
        self.kept.extend_from_slice(&piece[..read]);
    }
}
