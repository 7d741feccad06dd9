//! Worker components: what does a step of a flow inside the host, and those of one runtime by name
//! (SPEC I9).
//!
//! Deliberately absent: parts, verdicts and the fold. They are the business of whoever hands the step
//! over, through the port [`Parts`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tidegate_contract::grant::Grant;
use tidegate_contract::json;
use tidegate_contract::limits::Limits;
use tidegate_contract::{CallError, JsonError, Value};
use tidegate_engine::{Invocation, Parts, Plugin, WorkEnd};

use crate::bounds;
use crate::component;
use crate::tool::CallContext;

/// The worker of a plugin.
#[derive(Clone, Debug)]
pub struct ComponentWorker {
    plugin: Plugin,
}

impl ComponentWorker {
    /// The worker of a plugin that exports one.
    #[must_use]
    pub fn new(plugin: &Plugin) -> Option<Self> {
        plugin.is_worker().then(|| Self {
            plugin: plugin.clone(),
        })
    }

    /// What each of its steps may use.
    #[must_use]
    pub fn limits(&self) -> Limits {
        *self.plugin.limits()
    }

    /// SHA-256 of the component, in lower-case hex.
    #[must_use]
    pub fn digest(&self) -> &str {
        self.plugin.digest()
    }

    /// A component reaches what it was granted, whoever its step is for; see the same rule of tools.
    pub(crate) fn check_reach(&self, permissions: &Grant) -> Result<(), CallError> {
        match self.plugin.handles().grant.beyond(permissions) {
            None => Ok(()),
            Some((kind, name)) => Err(CallError::PermissionDenied {
                kind,
                name,
                hint: "the worker can use it and the caller's grant does not have it".to_owned(),
            }),
        }
    }

    /// What a step hands over is bounded like the arguments of a call.
    pub(crate) fn check(&self, invocation: &Invocation) -> Result<(), CallError> {
        let limits = self.limits();
        let bounds = bounds::of_delivery(&limits);
        let texts = [
            invocation.task_id.as_str(),
            &invocation.agent,
            invocation.system.as_deref().unwrap_or_default(),
            &invocation.prompt,
        ];
        let mut bytes = texts
            .iter()
            .fold(0_usize, |sum, text| sum.saturating_add(text.len()));
        for (key, value) in &invocation.context {
            let measured = json::measure(value, &bounds).map_err(|error| refused(&error))?;
            let key = json::measure(&Value::from(key.as_str()), &bounds)
                .map_err(|error| refused(&error))?;
            bytes = bytes.saturating_add(measured).saturating_add(key);
        }
        if bytes > bounds.bytes {
            let limit_bytes = bounds.bytes;
            return Err(refused(&JsonError::TooLarge { bytes, limit_bytes }));
        }
        Ok(())
    }

    pub(crate) async fn work(
        &self,
        invocation: Invocation,
        parts: Arc<dyn Parts>,
        context: &CallContext,
    ) -> Result<WorkEnd, CallError> {
        let options = component::options(context);
        self.plugin.work(invocation, parts, options).await
    }
}

fn refused(error: &JsonError) -> CallError {
    CallError::InvalidCall {
        reason: format!("the step passes arguments_bytes: {error}"),
    }
}

/// The workers of one runtime by name.
#[derive(Clone, Default)]
pub struct Workers(BTreeMap<String, ComponentWorker>);

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Workers {
    /// Adds a worker under a name, in place of the one that had it.
    pub fn insert(&mut self, name: impl Into<String>, worker: ComponentWorker) {
        self.0.insert(name.into(), worker);
    }

    /// Whether there is one of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn choose(&self, name: &str) -> Result<&ComponentWorker, CallError> {
        self.0.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.names().collect();
            CallError::InvalidCall {
                reason: format!("no such worker; there are: {}", names.join(", ")),
            }
        })
    }
}
