//! A client without an SDK, over the standard streams of `tidegate mcp`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{command, root};

/// Far longer than any answer takes.
const WITHIN: Duration = Duration::from_mins(2);

pub(super) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Value>,
}

impl Client {
    /// Starts the command at the top of the repository.
    pub(super) fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    /// Starts it with environment variables.
    pub(super) fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let arguments: Vec<&str> = std::iter::once("mcp")
            .chain(arguments.iter().copied())
            .collect();
        let mut child = command(&root(), &arguments, environment).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, answers) = channel();
        thread::spawn(move || {
            for line in output.split(b'\n') {
                let answer = serde_json::from_slice(&line.unwrap()).unwrap();
                drop(sender.send(answer));
            }
        });
        Self {
            input: child.stdin.take(),
            child,
            answers,
        }
    }

    /// Starts it and shakes hands.
    pub(super) fn greeted(arguments: &[&str]) -> Self {
        Self::start(arguments).shaking_hands()
    }

    pub(super) fn shaking_hands(mut self) -> Self {
        let info = json!({"name": "test", "version": "1"});
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info,
        });
        let answer = self.ask(0, "initialize", &params);
        assert_eq!(
            answer["result"]["protocolVersion"], "2025-11-25",
            "{answer}"
        );
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        self
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    pub(super) fn request(&mut self, id: impl Into<Value>, method: &str, params: &Value) {
        let id = id.into();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    pub(super) fn call(&mut self, id: u64, tool: &str, arguments: &Value) {
        let params = json!({"name": tool, "arguments": arguments});
        self.request(id, "tools/call", &params);
    }

    pub(super) fn next(&self) -> Value {
        self.answers.recv_timeout(WITHIN).unwrap()
    }

    pub(super) fn ask(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.request(id, method, params);
        let answer = self.next();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Ends the input; gives what was still answered, and the exit code.
    pub(super) fn end(&mut self) -> (Vec<Value>, Option<i32>) {
        self.input = None;
        let mut rest = Vec::new();
        while let Ok(answer) = self.answers.recv_timeout(WITHIN) {
            rest.push(answer);
        }
        (rest, self.child.wait().unwrap().code())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}
