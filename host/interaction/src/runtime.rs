//! The runtime: the four nodes over one set of resources, with admission and an orderly end.

mod admit;
mod bound;
mod mcp;
mod rehearse;
mod work;

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tidegate_contract::grant::Grant;
use tidegate_contract::json::{self, JsonBounds};
use tidegate_contract::limits::Limits;
use tidegate_contract::{
    CallError, Delivery, ExternalResult, Observation, OutputReceipt, ReceiptStatus, ToolCall,
    ToolDefinition, ToolOutcome, Value,
};
use tidegate_engine::{Admission, Engine, Need, ProgressSink, RunOn};
use tidegate_sandbox::Artifacts;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use crate::artifact::keep;
use crate::audit::Audit;
use crate::blocking::Blocking;
use crate::bounds;
use crate::caller::Caller;
use crate::handler::{Handlers, RuntimeHandler};
use crate::mcp::McpRegistry;
use crate::nodes::{self, Node};
use crate::observe::observe;
use crate::registry::{Prepared, ToolRegistry};
use crate::sink::Sinks;
use crate::tool::CallContext;
use crate::worker::Workers;

use bound::Bound;

/// Calls that may wait by default.
pub const DEFAULT_QUEUE: usize = 1_024;

/// Most calls that may wait.
pub const MAX_QUEUE: usize = 65_536;

/// What a runtime is made of.
#[derive(Debug)]
pub struct RuntimeOptions {
    /// What callers may use: tools by name, folders for tools that have no grant of their own.
    pub sandbox: Grant,
    /// The tools. The runtime sees later changes of the registry.
    pub tools: ToolRegistry,
    /// The sinks; without any, `INTERACTION.OUTPUT` is not there.
    pub sinks: Sinks,
    /// The worker components, by the names that agents give their steps to.
    pub workers: Workers,
    /// Where results over their bound are kept, and what plugins keep; `None` keeps nothing.
    pub artifacts: Option<Artifacts>,
    /// The MCP servers; without a registry, `INTERACTION.ACT.MCP` is not there.
    pub mcp: Option<McpRegistry>,
    /// Calls that run at once. `None` means the slots of `engine`, or no bound without one.
    pub concurrency: Option<u32>,
    /// Calls of one tenant that may wait, at most [`MAX_QUEUE`]; 0 refuses at once.
    pub queue: usize,
    /// The engine whose slots bound an unlimited concurrency.
    pub engine: Option<Engine>,
    /// Where decisions and calls are recorded; `None` records nothing.
    pub audit: Option<Audit>,
    /// What stands in the place of nodes' own handlers in [`Runtime::invoke`].
    pub handlers: Handlers,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self {
            sandbox: Grant::default(),
            tools: ToolRegistry::new(),
            sinks: Sinks::default(),
            workers: Workers::default(),
            artifacts: None,
            mcp: None,
            concurrency: None,
            queue: DEFAULT_QUEUE,
            engine: None,
            audit: None,
            handlers: Handlers::default(),
        }
    }
}

/// How one call is made.
#[derive(Clone, Debug, Default)]
pub struct InvokeOptions {
    /// Who makes it.
    pub caller: Caller,
    /// Ends the call when it is cancelled.
    pub cancel: CancellationToken,
    /// Shortens the deadline that the tool's limits set; it never lengthens it.
    pub deadline_ms: Option<u64>,
    /// The sink that a delivery goes to; the only one where there is one.
    pub sink: Option<String>,
    /// Who is told how far a tool is.
    pub progress: Option<ProgressSink>,
}

/// Runs calls. Cloning gives another handle to the same runtime.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    permissions: Arc<Grant>,
    tools: ToolRegistry,
    sinks: Sinks,
    workers: Workers,
    artifacts: Option<Artifacts>,
    mcp: Option<McpRegistry>,
    admission: Admission,
    concurrency: u32,
    engine: Option<Engine>,
    audit: Option<Audit>,
    handlers: Handlers,
    closed: AtomicBool,
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("tools", &self.0.tools)
            .field("sinks", &self.0.sinks)
            .finish_non_exhaustive()
    }
}

impl Runtime {
    /// Makes a runtime.
    ///
    /// # Errors
    ///
    /// [`CallError::InvalidCall`] when `concurrency` is 0 or `queue` is over [`MAX_QUEUE`].
    pub fn new(options: RuntimeOptions) -> Result<Self, CallError> {
        let invalid = |reason: String| CallError::InvalidCall { reason };
        if options.concurrency == Some(0) {
            return Err(invalid("concurrency must be a positive integer".to_owned()));
        }
        if options.queue > MAX_QUEUE {
            return Err(invalid(format!("queue must be from 0 to {MAX_QUEUE}")));
        }
        let slots = options.engine.as_ref().map_or(u32::MAX, Engine::slots);
        let concurrency = options.concurrency.unwrap_or(slots).min(slots);
        Ok(Self(Arc::new(Inner {
            permissions: Arc::new(options.sandbox),
            tools: options.tools,
            sinks: options.sinks,
            workers: options.workers,
            artifacts: options.artifacts,
            mcp: options.mcp,
            concurrency,
            admission: Admission::new(Need::calls(concurrency), options.queue),
            engine: options.engine,
            audit: options.audit,
            handlers: options.handlers,
            closed: AtomicBool::new(false),
        })))
    }

    /// The tools that the runtime permits.
    #[must_use]
    pub fn tools(&self) -> Vec<ToolDefinition> {
        self.0.tools.list(&self.0.permissions)
    }

    /// The tools that one caller is permitted to use.
    #[must_use]
    pub fn tools_of(&self, caller: &Caller) -> Vec<ToolDefinition> {
        self.0.tools.list(&self.permissions(caller))
    }

    /// Is told of tools that come and go from now on, permitted or not.
    #[must_use]
    pub fn tool_changes(&self) -> watch::Receiver<()> {
        self.0.tools.changes()
    }

    /// Calls for a thread that may block; the guest runs on it. `None` without an engine.
    #[must_use]
    pub fn blocking(&self) -> Option<Blocking<'_>> {
        let engine = self.0.engine.as_ref()?;
        Some(Blocking {
            runtime: self,
            engine,
        })
    }

    fn permissions(&self, caller: &Caller) -> Arc<Grant> {
        match &caller.grant {
            None => Arc::clone(&self.0.permissions),
            Some(grant) => Arc::new(self.0.permissions.narrow(grant)),
        }
    }

    /// One node by itself; see [`RuntimeHandler`].
    #[must_use]
    pub fn handler(&self, node: Node) -> RuntimeHandler {
        RuntimeHandler {
            runtime: self.clone(),
            node,
        }
    }

    /// Whether a node is there: TOOL and OBSERVE always, the others when their resources or a handler
    /// in their place are.
    #[must_use]
    pub fn has(&self, node: Node) -> bool {
        match node {
            node if self.0.handlers.get(node).is_some() => true,
            Node::ActTool | Node::Observe => true,
            Node::ActMcp => self.0.mcp.is_some(),
            Node::Output => !self.0.sinks.is_empty(),
        }
    }

    /// Runs a node on JSON and gives its output directly, without an envelope.
    ///
    /// # Errors
    ///
    /// [`CallError`]: a refusal, or no valid result.
    pub async fn invoke(
        &self,
        node: Node,
        input: Value,
        options: InvokeOptions,
    ) -> Result<Value, CallError> {
        let bounds = input_bounds();
        let around = JsonBounds {
            depth: bounds.depth + ENVELOPE_DEPTH,
            ..bounds
        };
        if let Err(error) = json::check(&input, &around) {
            // However deep it is: taking it apart must not recurse.
            json::discard(input);
            return Err(CallError::InvalidCall {
                reason: error.to_string(),
            });
        }
        if let Some(handler) = self.0.handlers.get(node) {
            self.open()?;
            let bound = Bound::new(&Limits::default(), &options);
            let _permit = self.admit(&bound, &options, &Span::current()).await?;
            return handler.invoke(input, options).await;
        }
        match node {
            Node::ActTool => {
                let call = nodes::tool_input(input, &bounds)?;
                nodes::output(&self.act_tool(call, options).await?)
            }
            Node::Observe => nodes::output(&self.observe(nodes::observe_input(input, &bounds)?)?),
            Node::Output => {
                let delivery = Delivery::from_value(input)?;
                nodes::output(&self.output(delivery, options).await?)
            }
            Node::ActMcp => {
                let request = self.mcp_input(input, &bounds)?;
                nodes::output(&self.mcp_node(request, options).await?)
            }
        }
    }

    /// Runs one tool call: checks, then a permit, then the tool.
    ///
    /// # Errors
    ///
    /// [`CallError`]: a refusal before the tool ran, or no valid result after.
    pub async fn act_tool(
        &self,
        call: ToolCall,
        options: InvokeOptions,
    ) -> Result<ExternalResult, CallError> {
        self.run_tool(call, options, RunOn::GuestThread).await
    }

    pub(crate) async fn run_tool(
        &self,
        call: ToolCall,
        options: InvokeOptions,
        run_on: RunOn,
    ) -> Result<ExternalResult, CallError> {
        self.open()?;
        let prepared = self.prepare(&call, &options.caller);
        let Some(audit) = &self.0.audit else {
            return self
                .run_prepared(&call, &options, run_on, prepared?)
                .await
                .0;
        };
        let started = Instant::now();
        let decision = prepared.as_ref().map(|(prepared, _)| prepared);
        let trail = audit.decided(&call, &options.caller.tenant, decision, started);
        let (end, waited) = match prepared {
            Ok(prepared) => self.run_prepared(&call, &options, run_on, prepared).await,
            Err(error) => (Err(error), None),
        };
        trail.end(&end, waited);
        end
    }

    /// Waits for room and runs a call whose checks passed. Says how long it waited as well.
    async fn run_prepared(
        &self,
        call: &ToolCall,
        options: &InvokeOptions,
        run_on: RunOn,
        (prepared, permissions): (Prepared, Arc<Grant>),
    ) -> (Result<ExternalResult, CallError>, Option<Duration>) {
        let bound = Bound::new(&prepared.tool().limits(), options);
        let span = tracing::debug_span!("call", tenant = %options.caller.tenant, id = %call.id, tool = %call.name);
        let _permit = match self.admit(&bound, options, &span).await {
            Ok(permit) => permit,
            Err(error) => return (Err(error), None),
        };
        let waited = self.0.audit.as_ref().map(|_| bound.asked.elapsed());
        let context = self.context(&bound, permissions, options, run_on);
        let cut = |status, failure| {
            let outcome = ToolOutcome::ended(status, failure);
            Ok(ExternalResult::new(&call.id, call.name.as_str(), outcome))
        };
        // Pinned here, so that it is not moved from one future into the next.
        let work = pin!(prepared.execute(call, &context).instrument(span));
        let end = bound.race(&options.cancel, work, cut).await;
        (end.map(|result| prepared.in_own_words(result)), waited)
    }

    /// Turns a result into an observation; see [`observe`](crate::observe()).
    ///
    /// # Errors
    ///
    /// [`CallError::InvalidCall`] when the result is malformed, [`CallError::Closed`] after `close`.
    pub fn observe(&self, result: ExternalResult) -> Result<Observation, CallError> {
        self.open()?;
        observe(result)
    }

    /// Delivers one message to one sink and checks the receipt.
    ///
    /// # Errors
    ///
    /// [`CallError`]: a refusal before the sink was asked, or no valid receipt, which proves nothing
    /// about delivery.
    pub async fn output(
        &self,
        delivery: Delivery,
        options: InvokeOptions,
    ) -> Result<OutputReceipt, CallError> {
        self.run_sink(delivery, options, RunOn::GuestThread).await
    }

    pub(crate) async fn run_sink(
        &self,
        delivery: Delivery,
        options: InvokeOptions,
        run_on: RunOn,
    ) -> Result<OutputReceipt, CallError> {
        self.open()?;
        let started = Instant::now();
        let mut waited = None;
        let end = self.deliver(&delivery, &options, run_on, &mut waited).await;
        if let Some(audit) = &self.0.audit {
            let to = (&delivery, self.0.sinks.named(options.sink.as_deref()));
            audit.delivered(&options.caller.tenant, to, (started, waited), &end);
        }
        if end.is_err() {
            // However deep it is: taking it apart must not recurse.
            delivery.message.content.discard();
        }
        end
    }

    async fn deliver(
        &self,
        delivery: &Delivery,
        options: &InvokeOptions,
        run_on: RunOn,
        waited: &mut Option<Duration>,
    ) -> Result<OutputReceipt, CallError> {
        let started = Instant::now();
        let sink = self.0.sinks.choose(options.sink.as_deref())?;
        if let Err(error) = delivery.check(&bounds::of_delivery(&sink.limits())) {
            return Err(CallError::InvalidCall {
                reason: format!("the delivery passes arguments_bytes: {error}"),
            });
        }
        let bound = Bound::new(&sink.limits(), options);
        let _permit = self.admit(&bound, options, &Span::current()).await?;
        *waited = Some(started.elapsed());
        let permissions = self.permissions(&options.caller);
        let context = self.context(&bound, permissions, options, run_on);
        let cut = |_status, failure| {
            Ok(OutputReceipt {
                delivery_id: delivery.delivery_id.as_str().to_owned(),
                status: ReceiptStatus::Unknown,
                artifacts: None,
                error: Some(failure),
                metadata: None,
            })
        };
        let receipt = bound
            .race(&options.cancel, sink.deliver(delivery, &context), cut)
            .await?;
        receipt
            .check(&delivery.delivery_id)
            .map_err(|error| CallError::InvalidReceipt {
                reason: error.to_string(),
            })?;
        Ok(receipt)
    }

    /// Refuses new calls, drains the running ones, then returns. Registries, sinks and engines
    /// belong to the application and stay as they are.
    pub async fn close(&self) {
        self.0.closed.store(true, Ordering::SeqCst);
        self.0.admission.close().await;
    }

    fn open(&self) -> Result<(), CallError> {
        if self.0.closed.load(Ordering::SeqCst) {
            Err(CallError::Closed)
        } else {
            Ok(())
        }
    }

    /// Everything that is checked before a call waits or runs.
    fn prepare(
        &self,
        call: &ToolCall,
        caller: &Caller,
    ) -> Result<(Prepared, Arc<Grant>), CallError> {
        let permissions = self.permissions(caller);
        let prepared = self.0.tools.prepare(call, &permissions)?;
        if caller.grant.is_some() {
            prepared.check_reach(&permissions)?;
        }
        Ok((prepared, permissions))
    }

    /// What a tool, a sink or a worker knows of its caller.
    fn context(
        &self,
        bound: &Bound,
        permissions: Arc<Grant>,
        options: &InvokeOptions,
        run_on: RunOn,
    ) -> CallContext {
        let Caller { tenant, run, .. } = &options.caller;
        CallContext {
            tenant: tenant.clone(),
            run: run.clone(),
            permissions,
            cancel: options.cancel.clone(),
            deadline: bound.deadline,
            shelf: keep::shelf(self.0.artifacts.as_ref(), &options.caller),
            run_on,
            progress: options.progress.clone(),
        }
    }
}

/// What may stand around a value that has the full depth: an input, a call or message, a list of
/// parts or artifacts, one of them.
const ENVELOPE_DEPTH: usize = 8;

/// Requests are bounded before anything in them is looked at: the hard maximum of arguments and a
/// little for what stands around them.
fn input_bounds() -> JsonBounds {
    let bytes = usize::try_from(Limits::MAXIMUM.arguments_bytes).unwrap_or(usize::MAX);
    JsonBounds {
        bytes: bytes.saturating_add(64 * 1024),
        ..JsonBounds::default()
    }
}
