//! A running service with folders of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::client::{Answer, Connection, Request};
use crate::support::command;

/// Far longer than a start or an end takes.
const HANGING: Duration = Duration::from_mins(1);

/// A running `tidegate serve`.
pub(crate) struct Service {
    child: Child,
    pub(crate) address: SocketAddr,
    /// The working folder, with the config file.
    pub(crate) folder: Arc<TempDir>,
    pub(crate) state: Arc<TempDir>,
    /// What it has said on stderr so far.
    said: Arc<Mutex<String>>,
}

impl Service {
    /// Starts one without a config file.
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::configured("{}", options)
    }

    /// Starts one with this config file.
    pub(crate) fn configured(config: &str, options: &[&str]) -> Self {
        let (folder, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        Self::over(config, options, (folder, state))
    }

    /// Starts one over folders that there are.
    pub(crate) fn over(
        config: &str,
        options: &[&str],
        (folder, state): (TempDir, TempDir),
    ) -> Self {
        fs::write(folder.path().join("serve.yaml"), config).unwrap();
        let kept = state.path().to_str().unwrap().to_owned();
        let all = ["serve", "--config", "serve.yaml", "--state", &kept];
        let listen: &[&str] = if options.contains(&"--listen") {
            &[]
        } else {
            &["--listen", "127.0.0.1:0"]
        };
        let all = [&all[..], listen, options].concat();
        let command = command(folder.path(), &all, &users(&folder));
        Self::spawn(command, Arc::new(folder), Arc::new(state))
    }

    /// Kills the process and starts it again over the same folders.
    pub(crate) fn restarted(mut self) -> Self {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let (folder, state) = (Arc::clone(&self.folder), Arc::clone(&self.state));
        let kept = state.path().to_str().unwrap();
        let all = ["serve", "--config", "serve.yaml", "--listen", "127.0.0.1:0"];
        let all = [&all[..], &["--state", kept]].concat();
        let command = command(folder.path(), &all, &users(&folder));
        Self::spawn(command, folder, state)
    }

    fn spawn(mut command: Command, folder: Arc<TempDir>, state: Arc<TempDir>) -> Self {
        let mut child = command.spawn().unwrap();
        drop(child.stdin.take());
        let said = Arc::new(Mutex::new(String::new()));
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let address = loop {
            let mut line = String::new();
            let read = lines.read_line(&mut line).unwrap();
            said.lock().unwrap().push_str(&line);
            assert!(read > 0, "it did not start: {}", said.lock().unwrap());
            if let Some(address) = line.trim().strip_prefix("listening on http://") {
                break address.parse::<SocketAddr>().unwrap();
            }
        };
        // A test asks on the loopback, wherever the service listens.
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port());
        let more = Arc::clone(&said);
        thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let mut more = more.lock().unwrap();
                more.push_str(&line);
                more.push('\n');
            }
        });
        Self {
            child,
            address,
            folder,
            state,
            said,
        }
    }

    /// The token that it made for its one operator.
    pub(crate) fn token(&self) -> String {
        let path = self.state.path().join("operator.token");
        fs::read_to_string(path).unwrap().trim_end().to_owned()
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// Sends one request on a connection of its own.
    pub(crate) fn send(&self, request: &Request) -> Answer {
        self.connect().send(request)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send(&Request::get(path))
    }

    /// Makes a call as the one operator.
    pub(crate) fn call(&self, document: &Value) -> Answer {
        let request = Request::post("/v1/calls").bearer(&self.token());
        self.send(&request.json(document))
    }

    /// Launches a run as the holder of a token and waits for its end.
    pub(crate) fn run(&self, token: &str, launch: &Value) -> Value {
        let request = Request::post("/v1/flows").bearer(token).json(launch);
        let launched = self.send(&request).is(202, "").json();
        let path = format!("/v1/runs/{}", launched["run"].as_str().unwrap());
        let start = Instant::now();
        loop {
            let view = self.send(&Request::get(&path).bearer(token));
            let view = view.is(200, "").json();
            if view["status"] != "running" {
                return view;
            }
            assert!(start.elapsed() < HANGING, "{view}");
            thread::yield_now();
        }
    }

    /// All that it has said on stderr so far.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits until it has said something.
    pub(crate) fn says(&self, words: &str) -> bool {
        let start = Instant::now();
        while start.elapsed() < HANGING {
            if self.said().contains(words) {
                return true;
            }
            thread::yield_now();
        }
        false
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, signal).unwrap();
    }

    /// The exit code, once it has ended by itself.
    pub(crate) fn exit(&mut self) -> Option<i32> {
        let start = Instant::now();
        while start.elapsed() < HANGING {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(2));
        }
        panic!("the service does not end: {}", self.said());
    }
}

/// The environment of a user who has a folder for what results were too large for.
fn users(folder: &TempDir) -> [(&str, &str); 1] {
    [("XDG_STATE_HOME", folder.path().to_str().unwrap())]
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
