//! The port of a tool: what a component is to the registry, and what an embedder's Rust type can
//! be as well (SPEC T6).

use std::pin::Pin;
use std::sync::Arc;

use tidegate_contract::grant::Grant;
use tidegate_contract::limits::Limits;
use tidegate_contract::{
    CallError, JsonObject, Problem, Tenant, ToolCall, ToolDefinition, ToolOutcome,
};
use tidegate_engine::{Deadline, ProgressSink, RunOn};
use tidegate_sandbox::Shelf;
use tokio_util::sync::CancellationToken;

/// A boxed future of a port's method.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One action that a caller can ask for.
///
/// The registry has checked the call's id, permission, name and schema before it asks a tool
/// anything. Business failures are outcomes; an error means that no valid result came.
///
/// ```
/// use tidegate::{BoxFuture, CallContext, Tool};
/// use tidegate_contract::{CallError, Failure, ToolCall, ToolDefinition, ToolName, ToolOutcome};
///
/// struct Lookup(ToolDefinition);
///
/// impl Tool for Lookup {
///     fn definition(&self) -> &ToolDefinition {
///         &self.0
///     }
///
///     fn execute<'a>(
///         &'a self,
///         _call: &'a ToolCall,
///         _context: &'a CallContext,
///     ) -> BoxFuture<'a, Result<ToolOutcome, CallError>> {
///         Box::pin(async {
///             let failure = Failure::new("NOT_FOUND", "No matching record")
///                 .map_err(|error| CallError::InvalidResult { reason: error.to_string() })?;
///             Ok(ToolOutcome::failed(failure.with_retryable(false)))
///         })
///     }
/// }
///
/// let definition = ToolDefinition {
///     name: ToolName::new("lookup")?,
///     description: Some("Finds a record".to_owned()),
///     input_schema: serde_json::from_str(r#"{"type": "object"}"#)?,
///     output_schema: None,
///     effects: vec![],
///     requires_approval: false,
/// };
/// let tools = tidegate::ToolRegistry::new();
/// let mut handle = tools.register(Lookup(definition))?;
/// assert!(handle.unregister(), "true the first time");
/// assert!(!handle.unregister(), "false after");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Tool: Send + Sync {
    /// What callers and models are told about it. Must always be the same.
    fn definition(&self) -> &ToolDefinition;

    /// Checks business rules of the arguments, after the schema.
    ///
    /// A component checks its own inside [`execute`](Self::execute), so that both share one
    /// instance.
    ///
    /// # Errors
    ///
    /// What is wrong with which place; `execute` is not run then.
    fn validate(&self, arguments: &JsonObject) -> Result<(), Vec<Problem>> {
        let _ = arguments;
        Ok(())
    }

    /// Does the action once. Dropping the future ends it.
    ///
    /// # Errors
    ///
    /// [`CallError::InvalidArguments`] when the arguments are refused before anything was done;
    /// otherwise the call was made and no valid result came.
    fn execute<'a>(
        &'a self,
        call: &'a ToolCall,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutcome, CallError>>;

    /// The MCP server that does the tool's work: its callers need the grant of it. What a server does is
    /// out of the sandbox's reach, so that no other grant is asked for the tool's effects.
    fn server(&self) -> Option<&str> {
        None
    }

    /// What the tool may reach. `None` means what its caller may.
    fn grant(&self) -> Option<&Grant> {
        None
    }

    /// An origin that each of its calls asks: without any grant of it, a call is refused before it
    /// is made.
    fn origin(&self) -> Option<&str> {
        None
    }

    /// What its calls that were given up say in the place of `CANCELLED`.
    fn cancelled_code(&self) -> Option<&str> {
        None
    }

    /// SHA-256 of the component that it is of, in lower-case hex; `None` for a Rust type.
    fn digest(&self) -> Option<&str> {
        None
    }

    /// What each of its calls may use.
    fn limits(&self) -> Limits {
        Limits::default()
    }
}

/// What a tool knows of its caller.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// Whose call it is.
    pub tenant: Tenant,
    /// The run of a flow that the call belongs to; `None` outside of one.
    pub run: Option<Arc<str>>,
    /// The caller's permissions.
    pub permissions: Arc<Grant>,
    /// Cancelled when the caller no longer wants the result.
    pub cancel: CancellationToken,
    /// When the call ends at the latest.
    pub deadline: Deadline,
    /// Where it can keep what is too large for an answer; `None` where this host keeps nothing.
    pub shelf: Option<Shelf>,
    /// The thread that the tool may block.
    pub run_on: RunOn,
    /// Who is told how far the tool is, where somebody wants to know.
    pub progress: Option<ProgressSink>,
}
