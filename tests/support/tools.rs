//! The command tools in process: the carried plugin over the carried command component.

use std::sync::OnceLock;

use serde_json::Value;
use tidegate::{CommandComponent, Executor, InvokeOptions, Runtime};
use tidegate_contract::{CallError, ExternalResult};

use super::host::{Fixture, call, engine, guest};

/// The names of the tools, which are the commands behind them too.
pub(crate) const COMMANDS: [&str; 14] = [
    "grep", "ls", "cat", "find", "head", "tail", "wc", "sort", "uniq", "cut", "stat", "file", "du",
    "pwd",
];

/// A fixture under which every command tool may run.
pub(crate) fn commands() -> Fixture {
    Fixture::new(&["read", "execute=*"])
}

/// The same with the widest bounds on output, so that nothing is cut that could be kept.
pub(crate) fn wide_commands() -> Fixture {
    let mut fixture = commands()
        .limit("result_bytes", 16 << 20)
        .limit("host_allocation_bytes", 64 << 20);
    fixture.set("max_entries", 10_000);
    fixture.set("max_output_bytes", 1 << 20);
    fixture.set("max_error_bytes", 1 << 16);
    fixture
}

/// The command component, compiled once for all tests.
fn component() -> CommandComponent {
    static COMPONENT: OnceLock<CommandComponent> = OnceLock::new();
    COMPONENT
        .get_or_init(|| {
            engine()
                .load_commands("posix", &guest("posix"), &COMMANDS)
                .unwrap()
        })
        .clone()
}

impl Fixture {
    /// Sets one of the plugin's settings.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.config.insert(name.to_owned(), value.into());
    }

    /// A runtime over the command tools.
    pub(crate) fn tools(&self) -> Runtime {
        self.tools_over(Executor::Component(component()))
    }

    /// A runtime over the command tools and another executor.
    pub(crate) fn tools_over(&self, executor: Executor) -> Runtime {
        let plugin = engine().block_on(self.plugin("commands", guest("commands")));
        self.runtime_of(&[plugin.with_executor(executor).unwrap()])
    }

    /// Calls one command tool once.
    pub(crate) fn tool(&self, name: &str, arguments: Value) -> Result<Answer, CallError> {
        ask(&self.tools(), name, arguments)
    }

    /// Calls one command tool once, which has to give a result.
    pub(crate) fn ran(&self, name: &str, arguments: Value) -> Answer {
        self.tool(name, arguments).unwrap()
    }
}

/// Calls a tool of a runtime.
pub(crate) fn ask(runtime: &Runtime, name: &str, arguments: Value) -> Result<Answer, CallError> {
    let made = runtime.act_tool(call(name, arguments), InvokeOptions::default());
    engine().block_on(made).map(|result| Answer::new(&result))
}

/// What a call of a command tool came to.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The whole result as it goes on the wire.
    pub(crate) result: Value,
    pub(crate) status: String,
    /// The code of the error; empty where there is none.
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The exit code; none where the command did not run to its end.
    pub(crate) exit: Option<u64>,
    pub(crate) truncated: bool,
}

impl Answer {
    pub(crate) fn new(result: &ExternalResult) -> Self {
        let result = serde_json::to_value(result).unwrap();
        let text = |pointer: &str| {
            let found = result.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        let structured = &result["structuredContent"];
        Self {
            status: text("/status"),
            code: text("/error/code"),
            message: text("/error/message"),
            stdout: text("/structuredContent/stdout"),
            stderr: text("/structuredContent/stderr"),
            exit: structured["exitCode"].as_u64(),
            truncated: structured["truncated"].as_bool().unwrap_or_default(),
            result,
        }
    }

    /// One field of the structured content.
    pub(crate) fn field(&self, name: &str) -> &Value {
        &self.result["structuredContent"][name]
    }

    /// Checks the exit code, the output and the errors.
    #[track_caller]
    pub(crate) fn is(&self, exit: u64, stdout: &str, stderr: &str) {
        let ours = (self.exit, &*self.stdout, &*self.stderr);
        assert_eq!(ours, (Some(exit), stdout, stderr), "{}", self.result);
        assert_eq!(
            self.result["content"], stdout,
            "content is the bounded stdout"
        );
    }
}
