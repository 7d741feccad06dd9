//! Handlers: the work of one node by itself, and an embedder's own in its place (SPEC X6).
//!
//! Deliberately absent: the checks of a node. The runtime's handlers have them; a replacement owns
//! the whole contract of its node.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tidegate_contract::{CallError, Value};

use crate::nodes::Node;
use crate::runtime::{InvokeOptions, Runtime};
use crate::tool::BoxFuture;

/// Does the work of one node.
///
/// ```
/// use tidegate::contract::{CallError, Value};
/// use tidegate::{BoxFuture, Handlers, InvokeOptions, Node, NodeHandler, Runtime, RuntimeOptions};
///
/// /// Answers for MCP servers that this program talks to itself.
/// struct Servers;
///
/// impl NodeHandler for Servers {
///     fn invoke(
///         &self,
///         input: Value,
///         _options: InvokeOptions,
///     ) -> BoxFuture<'_, Result<Value, CallError>> {
///         Box::pin(async move { Ok(input) })
///     }
/// }
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let mut handlers = Handlers::default();
/// handlers.replace(Node::ActMcp, Servers);
/// let runtime = Runtime::new(RuntimeOptions { handlers, ..RuntimeOptions::default() })?;
/// assert!(runtime.has(Node::ActMcp));
/// let said = runtime.invoke(Node::ActMcp, Value::from("hi"), InvokeOptions::default()).await?;
/// assert_eq!(said, "hi");
/// # Ok::<(), CallError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait NodeHandler: Send + Sync {
    /// Runs the node on JSON and gives its output directly, as [`Runtime::invoke`] does.
    ///
    /// # Errors
    ///
    /// [`CallError`]: a refusal, or no valid result.
    fn invoke(
        &self,
        input: Value,
        options: InvokeOptions,
    ) -> BoxFuture<'_, Result<Value, CallError>>;
}

/// The handlers that stand in place of a runtime's own.
#[derive(Clone, Default)]
pub struct Handlers(BTreeMap<Node, Arc<dyn NodeHandler>>);

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Handlers {
    /// Puts a handler in the place of a node's own, or of an earlier replacement. A node whose
    /// resources were not injected is there with it.
    pub fn replace(&mut self, node: Node, handler: impl NodeHandler + 'static) {
        self.0.insert(node, Arc::new(handler));
    }

    pub(crate) fn get(&self, node: Node) -> Option<&dyn NodeHandler> {
        self.0.get(&node).map(|handler| &**handler)
    }
}

/// One node of a runtime as a handler: for a registry, a sink or an engine by itself, or as the rest
/// of a replacement that only adds something.
#[derive(Clone, Debug)]
pub struct RuntimeHandler {
    pub(crate) runtime: Runtime,
    pub(crate) node: Node,
}

impl NodeHandler for RuntimeHandler {
    fn invoke(
        &self,
        input: Value,
        options: InvokeOptions,
    ) -> BoxFuture<'_, Result<Value, CallError>> {
        Box::pin(self.runtime.invoke(self.node, input, options))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tidegate_contract::grant::parse_allow;
    use tidegate_contract::{Grant, ToolCall, ToolDefinition, ToolName, ToolOutcome};

    use super::*;
    use crate::registry::ToolRegistry;
    use crate::runtime::RuntimeOptions;
    use crate::tool::{CallContext, Tool};

    struct Hello(ToolDefinition);

    impl Tool for Hello {
        fn definition(&self) -> &ToolDefinition {
            &self.0
        }

        fn execute<'a>(
            &'a self,
            _call: &'a ToolCall,
            _context: &'a CallContext,
        ) -> BoxFuture<'a, Result<ToolOutcome, CallError>> {
            Box::pin(async { Ok(ToolOutcome::text("hello")) })
        }
    }

    fn runtime(handlers: Handlers) -> Runtime {
        let definition = ToolDefinition {
            name: ToolName::new("hello").unwrap(),
            description: None,
            input_schema: serde_json::from_str(r#"{"type": "object"}"#).unwrap(),
            output_schema: None,
            effects: vec![],
            requires_approval: false,
        };
        let tools = ToolRegistry::new();
        drop(tools.register(Hello(definition)).unwrap());
        let mut sandbox = Grant::default();
        parse_allow("tool=hello", &mut sandbox).unwrap();
        Runtime::new(RuntimeOptions {
            sandbox,
            tools,
            handlers,
            ..RuntimeOptions::default()
        })
        .unwrap()
    }

    fn input(name: &str) -> Value {
        json!({"call": {"id": "1", "name": name, "arguments": {}}})
    }

    #[tokio::test]
    async fn x6_a_handler_of_one_registry_checks_as_the_runtime_does() {
        let handler = runtime(Handlers::default()).handler(Node::ActTool);
        let options = InvokeOptions::default;
        let said = handler.invoke(input("hello"), options()).await.unwrap();
        assert_eq!(said["content"], "hello");
        let denied = handler.invoke(input("other"), options()).await;
        assert_eq!(denied.unwrap_err().code(), "PERMISSION_DENIED");
        let sink = runtime(Handlers::default()).handler(Node::Output);
        let delivery = json!({"deliveryId": "1", "message": {"role": "user", "content": "x"}});
        let absent = sink.invoke(delivery, options()).await;
        assert_eq!(absent.unwrap_err().code(), "NOT_INJECTED");
    }

    /// Counts, and leaves the work to the runtime's own handler.
    struct Shout(RuntimeHandler);

    impl NodeHandler for Shout {
        fn invoke(
            &self,
            input: Value,
            options: InvokeOptions,
        ) -> BoxFuture<'_, Result<Value, CallError>> {
            Box::pin(async move {
                let mut result = self.0.invoke(input, options).await?;
                result["content"] = json!("HELLO");
                Ok(result)
            })
        }
    }

    #[tokio::test]
    async fn x6_a_replacement_stands_in_the_place_of_the_node_until_the_runtime_closes() {
        let mut handlers = Handlers::default();
        let own = runtime(Handlers::default()).handler(Node::ActTool);
        handlers.replace(Node::ActTool, Shout(own));
        let runtime = runtime(handlers);
        let options = InvokeOptions::default;
        let invoke = || runtime.invoke(Node::ActTool, input("hello"), options());
        assert_eq!(invoke().await.unwrap()["content"], "HELLO");
        runtime.close().await;
        assert_eq!(invoke().await.unwrap_err().code(), "CLOSED");
    }

    #[test]
    fn x6_every_node_is_described_without_a_runtime() {
        for node in Node::ALL {
            let described = node.descriptor();
            assert_eq!(Node::parse(described.name), Some(node));
            assert!(!described.input.is_empty() && !described.output.is_empty());
        }
    }
}
