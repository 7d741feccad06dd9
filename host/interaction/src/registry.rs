//! The registry of tools, and the order of checks in a call (SPEC T2, T3, T4, T5).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use thiserror::Error;
use tidegate_contract::grant::Grant;
use tidegate_contract::{
    CallError, DefinitionError, Effect, ExternalResult, Failure, JsonError, Problem, ResultError,
    Status, ToolCall, ToolDefinition,
};

use tokio::sync::watch;

use crate::artifact::keep;
use crate::schema::{Schema, SchemaError};
use crate::tool::{CallContext, Tool};

/// Why a tool was not registered.
#[derive(Debug, Error)]
pub enum RegisterError {
    /// The name is taken.
    #[error("the tool `{0}` is registered already")]
    Duplicate(String),
    /// The definition breaks the contract.
    #[error("the definition of tool `{name}` is invalid")]
    Definition {
        /// The tool.
        name: String,
        /// What is wrong.
        #[source]
        source: DefinitionError,
    },
    /// The input schema can't be used to check arguments.
    #[error("the inputSchema of tool `{name}` can't be used")]
    Schema {
        /// The tool.
        name: String,
        /// What is wrong.
        #[source]
        source: SchemaError,
    },
}

/// Whether arguments are checked against the tool's schema before the tool sees them (SPEC T7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SchemaCheck {
    /// They are.
    #[default]
    On,
    /// They are, against a schema that is known to be usable, since [`Schema::CHECK`] was passed before: it
    /// is compiled for the first call.
    WhenCalled,
    /// The tool's own `validate` is all there is.
    Off,
}

struct Entry {
    tool: Box<dyn Tool>,
    check: SchemaCheck,
    schema: OnceLock<Schema>,
}

impl Entry {
    /// What arguments are checked against; `None` where the tool's own `validate` is all there is.
    ///
    /// # Errors
    ///
    /// [`CallError::HostFault`] when a schema that was said to be usable is not.
    fn schema(&self) -> Result<Option<&Schema>, CallError> {
        if self.check == SchemaCheck::Off {
            return Ok(None);
        }
        if let Some(schema) = self.schema.get() {
            return Ok(Some(schema));
        }
        let definition = self.tool.definition();
        let schema = Schema::compile(&definition.input_schema).map_err(|error| {
            let name = &definition.name;
            CallError::HostFault {
                reason: format!("the inputSchema of tool `{name}` can't be used: {error}"),
            }
        })?;
        Ok(Some(self.schema.get_or_init(|| schema)))
    }
}

/// What is registered, in that order and by name.
#[derive(Default)]
struct Registered {
    order: Vec<Arc<Entry>>,
    by_name: HashMap<String, Arc<Entry>>,
}

/// What handles to one registry share.
#[derive(Default)]
struct Tools {
    entries: RwLock<Registered>,
    /// Sent to when a tool has come or gone.
    changes: watch::Sender<()>,
}

/// The tools of one or more runtimes. Cloning gives another handle to the same registry: a tool
/// registered or unregistered through one is seen by the next call through any.
#[derive(Clone, Default)]
pub struct ToolRegistry(Arc<Tools>);

impl fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.entries(|entry| Some(entry.tool.definition().name.clone()));
        f.debug_tuple("ToolRegistry").field(&names).finish()
    }
}

/// Takes a tool out of its registry. Dropping it leaves the tool in.
#[derive(Debug)]
#[must_use = "dropping the handle leaves the tool registered for good"]
pub struct Registration {
    registry: Weak<Tools>,
    entry: Weak<Entry>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entry")
            .field(&self.tool.definition().name)
            .finish()
    }
}

impl Tools {
    fn read(&self) -> RwLockReadGuard<'_, Registered> {
        // Nothing under the lock can panic half-way.
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Registered> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registration {
    /// Unregisters the tool: true the first time, false after. A running call ends by itself.
    pub fn unregister(&mut self) -> bool {
        let (Some(registry), Some(entry)) = (self.registry.upgrade(), self.entry.upgrade()) else {
            return false;
        };
        let mut entries = registry.write();
        let before = entries.order.len();
        entries.order.retain(|other| !Arc::ptr_eq(other, &entry));
        entries
            .by_name
            .retain(|_, other| !Arc::ptr_eq(other, &entry));
        self.entry = Weak::new();
        let is_gone = entries.order.len() < before;
        drop(entries);
        if is_gone {
            registry.changes.send_replace(());
        }
        is_gone
    }
}

impl ToolRegistry {
    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool whose arguments are checked against its schema.
    ///
    /// # Errors
    ///
    /// [`RegisterError`]; nothing is registered then.
    pub fn register(&self, tool: impl Tool + 'static) -> Result<Registration, RegisterError> {
        self.register_with(tool, SchemaCheck::On)
    }

    /// Adds a tool and says whether the host checks its arguments against its schema.
    ///
    /// # Errors
    ///
    /// [`RegisterError`]; nothing is registered then.
    pub fn register_with(
        &self,
        tool: impl Tool + 'static,
        check: SchemaCheck,
    ) -> Result<Registration, RegisterError> {
        let definition = tool.definition();
        let name = definition.name.to_string();
        definition
            .check()
            .map_err(|source| RegisterError::Definition {
                name: name.clone(),
                source,
            })?;
        let schema = OnceLock::new();
        if check == SchemaCheck::On {
            let compiled = Schema::compile(&definition.input_schema);
            let compiled = compiled.map_err(|source| RegisterError::Schema {
                name: name.clone(),
                source,
            })?;
            schema.get_or_init(|| compiled);
        }
        let entry = Arc::new(Entry {
            tool: Box::new(tool),
            check,
            schema,
        });
        let mut entries = self.0.write();
        if entries.by_name.contains_key(&name) {
            return Err(RegisterError::Duplicate(name));
        }
        entries.by_name.insert(name, Arc::clone(&entry));
        entries.order.push(Arc::clone(&entry));
        drop(entries);
        self.0.changes.send_replace(());
        Ok(Registration {
            registry: Arc::downgrade(&self.0),
            entry: Arc::downgrade(&entry),
        })
    }

    /// The definitions that `permissions` let a caller see, in the order of registration.
    #[must_use]
    pub fn list(&self, permissions: &Grant) -> Vec<ToolDefinition> {
        self.entries(|entry| {
            let definition = entry.tool.definition();
            let name = definition.name.as_str();
            let mut server = entry.tool.server().into_iter();
            let is_permitted =
                permissions.tools.allows(name) && server.all(|name| permissions.mcp.allows(name));
            is_permitted.then(|| definition.clone())
        })
    }

    /// Is told of tools that come and go from now on.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }

    fn entries<T>(&self, pick: impl Fn(&Entry) -> Option<T>) -> Vec<T> {
        let entries = self.0.read();
        let order = entries.order.iter();
        order.filter_map(|entry| pick(entry)).collect()
    }

    /// Runs one call without a runtime: the checks, then the tool, then the result's own check.
    ///
    /// # Errors
    ///
    /// [`CallError`]: a refusal before the tool ran, or no valid result after.
    pub async fn call(
        &self,
        call: &ToolCall,
        context: &CallContext,
    ) -> Result<ExternalResult, CallError> {
        self.prepare(call, &context.permissions)?
            .execute(call, context)
            .await
    }

    /// Permission, registration and arguments, in this order. The id and the name were checked when
    /// the call was decoded; permission comes first so that nobody learns what is registered.
    pub(crate) fn prepare(
        &self,
        call: &ToolCall,
        permissions: &Grant,
    ) -> Result<Prepared, CallError> {
        let name = call.name.as_str();
        if !permissions.tools.allows(name) {
            return Err(CallError::PermissionDenied {
                kind: "tool",
                name: name.to_owned(),
                hint: format!("permit it with --allow tool={name}"),
            });
        }
        let entry = self
            .entries_named(name)
            .ok_or_else(|| CallError::UnknownTool {
                name: name.to_owned(),
            })?;
        let grant = entry.tool.grant().unwrap_or(permissions);
        match entry.tool.server() {
            Some(server) if !permissions.mcp.allows(server) => {
                return Err(CallError::denied("mcp", server));
            }
            Some(_) => {}
            None => check_effects(&entry.tool.definition().effects, grant)?,
        }
        check_origin(entry.tool.origin(), grant)?;
        check_arguments(&entry, call)?;
        Ok(Prepared(entry))
    }

    fn entries_named(&self, name: &str) -> Option<Arc<Entry>> {
        let entries = self.0.read();
        entries.by_name.get(name).map(Arc::clone)
    }
}

/// A call whose checks passed.
#[derive(Debug)]
pub(crate) struct Prepared(Arc<Entry>);

impl Prepared {
    pub(crate) fn tool(&self) -> &dyn Tool {
        &*self.0.tool
    }

    /// A component reaches what it was granted, whoever calls it: a caller who may use less must not
    /// use it through the component.
    pub(crate) fn check_reach(&self, permissions: &Grant) -> Result<(), CallError> {
        match self
            .tool()
            .grant()
            .and_then(|grant| grant.beyond(permissions))
        {
            None => Ok(()),
            Some((kind, name)) => Err(CallError::PermissionDenied {
                kind,
                name,
                hint: "the tool can use it and the caller's grant does not have it".to_owned(),
            }),
        }
    }

    /// A call that was given up, with the code that its tool has for it.
    pub(crate) fn in_own_words(&self, result: ExternalResult) -> ExternalResult {
        match (self.tool().cancelled_code(), &result.error) {
            (Some(code), Some(error)) if result.status == Status::Cancelled => ExternalResult {
                error: Failure::new(code, error.message()).ok().or(result.error),
                ..result
            },
            _ => result,
        }
    }

    /// Runs the tool and checks what it says. The call's id and the tool's name are the host's.
    pub(crate) async fn execute(
        &self,
        call: &ToolCall,
        context: &CallContext,
    ) -> Result<ExternalResult, CallError> {
        let outcome = self.tool().execute(call, context).await?;
        let limits = self.tool().limits();
        let outcome = match outcome.check(&crate::bounds::of_result(&limits)) {
            Ok(()) => outcome,
            Err(ResultError::Json(JsonError::TooLarge { .. })) => {
                // Seldom done: no other call need hold what it takes.
                Box::pin(keep::what_is_over(outcome, limits, context.shelf.as_ref())).await?
            }
            Err(error) => {
                outcome.discard();
                return Err(CallError::InvalidResult {
                    reason: error.to_string(),
                });
            }
        };
        Ok(ExternalResult::new(&call.id, call.name.as_str(), outcome))
    }
}

/// A tool that says it reads, writes, runs or calls out needs at least one grant of that kind.
fn check_effects(effects: &[Effect], grant: &Grant) -> Result<(), CallError> {
    for effect in effects {
        let (kind, name, missing, allow) = match effect {
            Effect::Read => ("read", ".", grant.read.is_empty(), "read"),
            Effect::Write => ("write", ".", grant.write.is_empty(), "write"),
            Effect::Execute => ("execute", "*", grant.execute.is_empty(), "execute=COMMAND"),
            Effect::Network => ("network", "*", grant.network.is_empty(), "network=ORIGIN"),
        };
        if missing {
            return Err(CallError::PermissionDenied {
                kind,
                name: name.to_owned(),
                hint: format!("the tool needs it; permit it with --allow {allow}"),
            });
        }
    }
    Ok(())
}

/// A tool that asks one origin with each call needs a grant of it.
fn check_origin(origin: Option<&str>, grant: &Grant) -> Result<(), CallError> {
    match origin {
        Some(origin) if grant.network.of(origin).next().is_none() => {
            Err(CallError::denied("network", origin))
        }
        _ => Ok(()),
    }
}

fn check_arguments(entry: &Entry, call: &ToolCall) -> Result<(), CallError> {
    let invalid = |problems| CallError::InvalidArguments { problems };
    let one = |reason: String| {
        invalid(vec![Problem {
            pointer: String::new(),
            reason,
        }])
    };
    let limit_bytes = entry.tool.limits().arguments_bytes;
    let bytes = call.arguments.text().len();
    if u64::try_from(bytes).is_ok_and(|bytes| bytes > limit_bytes) {
        return Err(one(format!(
            "the arguments are {bytes} bytes, more than arguments_bytes = {limit_bytes}"
        )));
    }
    let Some(arguments) = call.arguments.as_object() else {
        return Err(one("expected a JSON object".to_owned()));
    };
    if let Some(schema) = entry.schema()? {
        schema.check(call.arguments.value()).map_err(invalid)?;
    }
    entry.tool.validate(arguments).map_err(invalid)
}
