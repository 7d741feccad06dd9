//! Components as tools and sinks: a loaded plugin behind the two ports.

use tidegate_contract::grant::Grant;
use tidegate_contract::limits::Limits;
use tidegate_contract::{
    CallError, Delivery, OutputReceipt, ToolCall, ToolDefinition, ToolName, ToolOutcome,
};
use tidegate_engine::{CallOptions, Plugin};

use crate::sink::Sink;
use crate::tool::{BoxFuture, CallContext, Tool};

/// One tool of a plugin.
#[derive(Debug)]
pub struct ComponentTool {
    plugin: Plugin,
    definition: ToolDefinition,
    /// The name the component itself knows the tool by, where a prefix tells it apart outside.
    own_name: ToolName,
    origin: Option<String>,
    cancelled_code: Option<String>,
}

impl ComponentTool {
    /// Every tool a plugin defines; `prefix` is put before each name outside the plugin.
    ///
    /// # Errors
    ///
    /// [`CallError::InvalidCall`] when a prefixed name is no tool name.
    pub fn all(plugin: &Plugin, prefix: &str) -> Result<Vec<Self>, CallError> {
        let tool = |definition: &ToolDefinition| {
            let own_name = definition.name.clone();
            let name = ToolName::new(format!("{prefix}{own_name}"))?;
            let definition = ToolDefinition {
                name,
                ..definition.clone()
            };
            Ok(Self {
                plugin: plugin.clone(),
                definition,
                own_name,
                origin: None,
                cancelled_code: None,
            })
        };
        plugin.definitions().iter().map(tool).collect()
    }

    /// Says that each call asks one origin: without a grant of it, calls are refused before they are
    /// made.
    #[must_use]
    pub fn asking(self, origin: &str) -> Self {
        Self {
            origin: Some(origin.to_owned()),
            ..self
        }
    }

    /// Gives calls that their caller gave up another code than `CANCELLED`: the host has ended the
    /// component by then, which can't say its own.
    #[must_use]
    pub fn cancelled_as(self, code: &str) -> Self {
        Self {
            cancelled_code: Some(code.to_owned()),
            ..self
        }
    }
}

impl Tool for ComponentTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn execute<'a>(
        &'a self,
        call: &'a ToolCall,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutcome, CallError>> {
        let options = options(context);
        Box::pin(self.plugin.call_tool(&self.own_name, call, options))
    }

    fn cancelled_code(&self) -> Option<&str> {
        self.cancelled_code.as_deref()
    }

    fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }

    fn grant(&self) -> Option<&Grant> {
        Some(&self.plugin.handles().grant)
    }

    fn digest(&self) -> Option<&str> {
        Some(self.plugin.digest())
    }

    fn limits(&self) -> Limits {
        *self.plugin.limits()
    }
}

/// The sink of a plugin.
#[derive(Debug)]
pub struct ComponentSink {
    plugin: Plugin,
    needs_stdout: bool,
}

impl ComponentSink {
    /// The sink of a plugin that exports one.
    #[must_use]
    pub fn new(plugin: &Plugin) -> Option<Self> {
        plugin.is_sink().then(|| Self {
            plugin: plugin.clone(),
            needs_stdout: false,
        })
    }

    /// Refuses deliveries unless standard output is granted: for a sink whose delivery is what it
    /// prints, and that would otherwise accept what nobody sees.
    #[must_use]
    pub fn needing_stdout(self) -> Self {
        Self {
            needs_stdout: true,
            ..self
        }
    }
}

impl Sink for ComponentSink {
    fn deliver<'a>(
        &'a self,
        delivery: &'a Delivery,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<OutputReceipt, CallError>> {
        if let Err(denied) = self.ready() {
            return Box::pin(async { Err(denied) });
        }
        Box::pin(self.plugin.deliver(delivery.clone(), options(context)))
    }

    fn ready(&self) -> Result<(), CallError> {
        if self.needs_stdout && self.plugin.handles().stdout.is_none() {
            return Err(CallError::PermissionDenied {
                kind: "stdout",
                name: self.plugin.name().to_owned(),
                hint: "permit it with --allow stdout".to_owned(),
            });
        }
        Ok(())
    }

    fn limits(&self) -> Limits {
        *self.plugin.limits()
    }
}

pub(crate) fn options(context: &CallContext) -> CallOptions {
    CallOptions {
        deadline: context.deadline,
        cancel: context.cancel.clone(),
        tenant: context.tenant.clone(),
        shelf: context.shelf.clone(),
        run_on: context.run_on,
        progress: context.progress.clone(),
    }
}
