//! A tool that adds two numbers, over MCP on standard streams: `tidegate mcp`, with a fresh instance for
//! each call, beside ACT, which shares one.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use crate::act;
use crate::samples::{at_most, percentile, plain, us};
use crate::start::program;

/// Rounds of each; they alternate, and the best counts.
const ROUNDS: usize = 3;

/// Calls of a round.
const CALLS: usize = 3_000;

/// Calls before the first round.
const WARM_UP: usize = 300;

/// All figures.
pub(crate) fn mcp_stdio() {
    let cache = tempfile::TempDir::new().unwrap();
    let mut ours = Client::start(&mut tidegate(cache.path()), "sum");
    let mut theirs = match act::command() {
        Ok(mut command) => Some(Client::start(&mut command, "add")),
        Err(reason) => {
            println!("`add` over MCP by ACT: not measured, for it can't be made here: {reason}");
            None
        }
    };
    for client in std::iter::once(&mut ours).chain(&mut theirs) {
        client.round(WARM_UP);
    }
    let mut best = [Times::WORST; 2];
    for _ in 0..ROUNDS {
        best[0].take(ours.round(CALLS));
        if let Some(theirs) = &mut theirs {
            best[1].take(theirs.round(CALLS));
        }
    }
    let [own, other] = best;
    plain("`add` over MCP on stdio, p50 / p99", &own.shown());
    if theirs.is_some() {
        plain("`add` over MCP on stdio by ACT, p50 / p99", &other.shown());
        at_most(
            "`add` over MCP, ours to ACT's, p50",
            own.p50 / other.p50,
            0.7,
        );
    }
}

fn tidegate(cache: &Path) -> Command {
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/dist/shapes.wasm");
    let mut command = Command::new(program());
    command
        .args(["mcp", "--allow", "tool=sum", "--plugin"])
        .arg(guest)
        .env("XDG_CACHE_HOME", cache);
    command
}

/// How long calls took, in seconds.
#[derive(Clone, Copy)]
struct Times {
    p50: f64,
    p99: f64,
}

impl Times {
    const WORST: Self = Self {
        p50: f64::MAX,
        p99: f64::MAX,
    };

    fn take(&mut self, other: Self) {
        self.p50 = self.p50.min(other.p50);
        self.p99 = self.p99.min(other.p99);
    }

    fn shown(self) -> String {
        format!("{} / {}", us(self.p50), us(self.p99))
    }
}

/// A client that has shaken hands, and makes one call after the other.
struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    tool: &'static str,
    asked: usize,
}

impl Client {
    fn start(command: &mut Command, tool: &'static str) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut client = Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            tool,
            asked: 0,
        };
        client.send(
            r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"figures","version":"1"}}}"#,
        );
        let hello = client.read();
        assert!(hello.contains("2025-11-25"), "{hello}");
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    fn send(&mut self, message: &str) {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).unwrap();
    }

    fn read(&mut self) -> String {
        let mut line = String::new();
        let read = self.output.read_line(&mut line).unwrap();
        assert!(read > 0, "the server has ended");
        line
    }

    fn round(&mut self, calls: usize) -> Times {
        let mut times: Vec<f64> = (0..calls).map(|_| self.call()).collect();
        times.sort_by(f64::total_cmp);
        Times {
            p50: percentile(&times, 50),
            p99: percentile(&times, 99),
        }
    }

    fn call(&mut self) -> f64 {
        self.asked += 1;
        let (number, tool) = (self.asked, self.tool);
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"a":{number},"b":1000000}}}}}}"#
        );
        let started = Instant::now();
        self.send(&call);
        let answer = self.read();
        let took = started.elapsed().as_secs_f64();
        let sum = (number + 1_000_000).to_string();
        assert!(answer.contains(&sum), "{answer}");
        took
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
