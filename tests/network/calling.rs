//! Calls of the `probe` guest over a granted network, and reading what it tells of them.

use serde_json::{Value, json};
use tidegate::{InvokeOptions, Runtime};
use tidegate_contract::CallError;
use tidegate_contract::failure::check_message;

use crate::support::server::Server;
use crate::support::{Fixture, call, engine};

/// One probe, loaded once: its calls share its connections.
pub(super) struct Probe(pub(super) Runtime);

impl Probe {
    /// Under grants as on the command line.
    pub(super) fn granted(allow: &[&str]) -> Self {
        Self::of(&Fixture::new(allow))
    }

    /// Permitted to reach one server.
    pub(super) fn reaching(server: &Server) -> Self {
        Self::granted(&[&grant(server)])
    }

    pub(super) fn of(fixture: &Fixture) -> Self {
        Self(engine().block_on(fixture.runtime(&["probe"])))
    }

    /// The result of one call as JSON.
    pub(super) fn call(&self, tool: &str, arguments: Value) -> Value {
        let told = format!("{tool} {arguments}");
        let result = self.try_call(tool, arguments);
        result.unwrap_or_else(|error| panic!("{told:.300}: {error}"))
    }

    /// The same, or why there is none.
    pub(super) fn try_call(&self, tool: &str, arguments: Value) -> Result<Value, CallError> {
        let made = self
            .0
            .act_tool(call(tool, arguments), InvokeOptions::default());
        let result = engine().block_on(made)?;
        Ok(serde_json::to_value(result).unwrap())
    }

    pub(super) fn http(&self, arguments: Value) -> Value {
        self.call("http", arguments)
    }

    /// Gets `/` of a server, and expects it to answer.
    pub(super) fn reaches(&self, server: &Server) {
        assert_ok(&self.http(to(server, "/")));
    }
}

/// What grants requests to a server.
pub(super) fn grant(server: &Server) -> String {
    format!("network={}", server.origin())
}

/// The arguments of `http` for a path of a server.
pub(super) fn to(server: &Server, path: &str) -> Value {
    let origin = server.origin();
    let (scheme, authority) = origin.split_once("://").unwrap();
    json!({"scheme": scheme, "authority": authority, "path": path})
}

/// The arguments of `http` for a path of a name that leads to a server's port.
pub(super) fn by_name(scheme: &str, name: &str, server: &Server) -> Value {
    let authority = format!("{name}:{}", server.port());
    json!({"scheme": scheme, "authority": authority, "path": "/"})
}

/// The same arguments with more beside them.
pub(super) fn with(mut arguments: Value, more: Value) -> Value {
    let Value::Object(more) = more else {
        panic!("{more} is no object");
    };
    arguments.as_object_mut().unwrap().extend(more);
    arguments
}

/// Checks that the guest had a whole answer.
pub(super) fn assert_ok(result: &Value) {
    assert_eq!(
        (&result["status"], &result["content"]),
        (&json!("success"), &json!("ok")),
        "{result}"
    );
}

/// Checks that the guest was told this error and went on to return.
pub(super) fn assert_told(result: &Value, error: &str) {
    assert_eq!(
        (&result["status"], &result["content"]),
        (&json!("success"), &json!(error)),
        "{result}"
    );
}

/// Checks how a call ended, what its message says, and that anyone may read the message.
pub(super) fn assert_ended(result: &Value, status: &str, code: &str, says: &str) {
    let error = &result["error"];
    assert_eq!(
        (&result["status"], &error["code"]),
        (&json!(status), &json!(code)),
        "{result}"
    );
    let message = error["message"].as_str().unwrap();
    let after = message.split_once(says).map(|(_before, after)| after);
    let is_whole =
        after.is_some_and(|after| !after.starts_with(|next: char| next.is_ascii_digit()));
    assert!(is_whole, "{message:?} does not say {says:?}");
    assert_eq!(check_message(message), Ok(()), "{message:?}");
}

/// The denials that the host recorded beside a result.
pub(super) fn denied(result: &Value) -> Vec<String> {
    let named = result["metadata"]["denied"].as_array();
    let text = |name: &Value| name.as_str().unwrap().to_owned();
    named.into_iter().flatten().map(text).collect()
}
