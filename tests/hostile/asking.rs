//! Asking a runtime and reading its answers, for all hostile tests.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidegate::{
    CallOptions, CancellationToken, Engine, EngineError, EngineSettings, Handles, InvokeOptions,
    Plugin, PluginSource, RunOn, Runtime, Workspace,
};
use tidegate_contract::failure::check_message;
use tidegate_contract::{CallError, Tenant, ToolOutcome};

use crate::support::{Fixture, call, guest};

/// The result of one call as JSON.
pub(super) async fn ask(runtime: &Runtime, tool: &str, arguments: Value) -> Value {
    let told = format!("{tool} {arguments}");
    let ended = runtime
        .act_tool(call(tool, arguments), InvokeOptions::default())
        .await;
    let result = ended.unwrap_or_else(|error| panic!("{told:.200}: {error}"));
    serde_json::to_value(result).unwrap()
}

/// Why one call has no result.
pub(super) async fn refusal(runtime: &Runtime, tool: &str, arguments: Value) -> CallError {
    let told = format!("{tool} {arguments}");
    let ended = runtime
        .act_tool(call(tool, arguments), InvokeOptions::default())
        .await;
    ended.map_or_else(|error| error, |result| panic!("{told:.200}: {result:?}"))
}

/// Checks how a result ended, what its message says, and that anyone may read the message.
pub(super) fn assert_ended(result: &Value, status: &str, code: &str, says: &str) {
    let error = &result["error"];
    assert_eq!(
        (&result["status"], &error["code"]),
        (&json!(status), &json!(code)),
        "{result}"
    );
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(says), "{message:?} does not say {says:?}");
    assert_eq!(check_message(message), Ok(()), "{message:?}");
}

/// Checks that a result is a success with this text.
pub(super) fn assert_says(result: &Value, text: &str) {
    assert_eq!(
        (&result["status"], &result["content"]),
        (&json!("success"), &json!(text)),
        "{result}"
    );
}

/// The denials that the host recorded beside a result.
pub(super) fn denied(result: &Value) -> Vec<String> {
    let named = result["metadata"]["denied"].as_array();
    named
        .into_iter()
        .flatten()
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

/// Waits for a future, at most ten seconds, and tells how long it took.
pub(super) async fn timed<T>(future: impl Future<Output = T>) -> (T, Duration) {
    let start = Instant::now();
    let ended = tokio::time::timeout(Duration::from_secs(10), future).await;
    (ended.expect("it ends within ten seconds"), start.elapsed())
}

/// An engine of this test alone, which compiles everything anew. With one slot, a call that left
/// its thread blocked would keep every later call from starting.
pub(super) fn own_engine(slots: u32) -> Engine {
    Engine::new(EngineSettings {
        slots,
        ..EngineSettings::default()
    })
    .unwrap()
}

/// Loads a component on such an engine, under the fixture's grants and limits.
pub(super) async fn load_on(
    engine: &Engine,
    fixture: &Fixture,
    name: &str,
    bytes: Vec<u8>,
) -> Result<Plugin, EngineError> {
    let workspace = Workspace::open(fixture.workspace.path()).unwrap();
    let source = PluginSource {
        name: name.to_owned(),
        bytes,
        handles: Handles::open(&fixture.grant, &workspace).unwrap(),
        limits: fixture.limits,
        config: fixture.config.clone(),
    };
    engine.load(source).await
}

/// A runtime over one built guest on an engine of this test alone.
pub(super) async fn runtime_on(engine: &Engine, fixture: &Fixture, name: &str) -> Runtime {
    let plugin = load_on(engine, fixture, name, guest(name)).await.unwrap();
    fixture.runtime_of(&[plugin])
}

/// Calls a plugin's tool `t` below the runtime: the engine's own answer.
pub(super) async fn call_plugin(plugin: &Plugin) -> Result<ToolOutcome, CallError> {
    let options = CallOptions {
        deadline: plugin.deadline(),
        cancel: CancellationToken::new(),
        tenant: Tenant::default(),
        shelf: None,
        run_on: RunOn::GuestThread,
        progress: None,
    };
    let call = call("t", json!({}));
    plugin.call_tool(&call.name, &call, options).await
}

/// A stream of numbers that is the same in every run.
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number below `bound`: the high half of Knuth's linear congruence.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
