//! The compiled code of a component: made when the plugin is loaded, or mapped by its first call where
//! the cache already knows what the component defines.

use std::sync::{Mutex, OnceLock, PoisonError};

use tidegate_contract::CallError;
use wasmparser::Parser;
use wasmtime::component::{Component, InstancePre};

use crate::admission::Need;
use crate::anatomy::AnatomyError;
use crate::digest::digest;
use crate::engine::{MAX_MEMORIES, MAX_TABLES, Shared};
use crate::error::EngineError;
use crate::exports::Exports;
use crate::plugin::Reread;
use crate::store::CallState;

/// What every call of a plugin is instantiated from.
pub(crate) struct Code {
    pub(crate) pre: InstancePre<CallState>,
    pub(crate) exports: Exports,
}

impl Code {
    /// Takes a component from the cache or compiles it, and links it. Says whether it was compiled.
    ///
    /// # Errors
    ///
    /// [`EngineError`]: it is no component, imports what the host does not have, or exports nothing
    /// the host knows.
    pub(crate) fn make(
        engine: &Shared,
        name: &str,
        bytes: &[u8],
        digest: &str,
    ) -> Result<(Self, bool), EngineError> {
        let (component, compiled) = component(engine, name, bytes, digest)?;
        Ok((Self::link(engine, name, &component)?, compiled))
    }

    fn link(engine: &Shared, name: &str, component: &Component) -> Result<Self, EngineError> {
        let pre = instantiable(engine, name, component)?;
        let exports = Exports::find(name, &pre)?;
        Ok(Self { pre, exports })
    }

    /// What one call takes of the pool.
    pub(crate) fn need(&self) -> Need {
        need_of(self.pre.component())
    }
}

/// Takes a component from the cache or compiles it. Says whether it was compiled.
pub(crate) fn component(
    engine: &Shared,
    name: &str,
    bytes: &[u8],
    digest: &str,
) -> Result<(Component, bool), EngineError> {
    if let Some(component) = engine.cached(digest) {
        return Ok((component, false));
    }
    if Parser::is_core_wasm(bytes) {
        // The compiler would only say that its parser is another one.
        return Err(EngineError::NotAComponent {
            plugin: name.to_owned(),
            source: AnatomyError::Module.into(),
        });
    }
    tracing::info!(plugin = name, digest, "compiling");
    let component = Component::from_binary(&engine.wasmtime, bytes).map_err(|source| {
        EngineError::NotAComponent {
            plugin: name.to_owned(),
            source,
        }
    })?;
    if let Some(cache) = &engine.cache {
        cache.store(digest, &component);
    }
    Ok((component, true))
}

/// Links a component to everything the host has.
pub(crate) fn instantiable(
    engine: &Shared,
    name: &str,
    component: &Component,
) -> Result<InstancePre<CallState>, EngineError> {
    let linked = engine.linker.instantiate_pre(component);
    linked.map_err(|source| EngineError::Imports {
        plugin: name.to_owned(),
        source,
    })
}

/// What one instance of a component takes of the pool, as one call.
pub(crate) fn need_of(component: &Component) -> Need {
    let required = component.resources_required();
    let (memories, tables) = required.map_or((MAX_MEMORIES, MAX_TABLES), |required| {
        (required.num_memories, required.num_tables)
    });
    Need {
        calls: 1,
        memories: memories.min(MAX_MEMORIES),
        tables: tables.min(MAX_TABLES),
    }
}

/// Code that is there, or that the first call maps.
pub(crate) struct LazyCode {
    code: OnceLock<Code>,
    /// Where the bytes come from; held while the code is made, so that it is made once.
    reread: Mutex<Option<Reread>>,
}

impl LazyCode {
    pub(crate) fn ready(code: Code) -> Self {
        Self {
            code: OnceLock::from(code),
            reread: Mutex::new(None),
        }
    }

    pub(crate) fn when_called(reread: Reread) -> Self {
        Self {
            code: OnceLock::new(),
            reread: Mutex::new(Some(reread)),
        }
    }

    /// The code. A damaged cache entry is made again from the component's bytes, which must still be
    /// the same.
    ///
    /// # Errors
    ///
    /// [`CallError::HostFault`] when they are not there any more, or are others.
    pub(crate) fn get(
        &self,
        engine: &Shared,
        name: &str,
        digest: &str,
    ) -> Result<&Code, CallError> {
        if let Some(code) = self.code.get() {
            return Ok(code);
        }
        let mut reread = self.reread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = self.code.get() {
            return Ok(code);
        }
        let made = if let Some(component) = engine.cached(digest) {
            Code::link(engine, name, &component)
        } else {
            let bytes = reread_as(reread.as_ref(), name, digest)?;
            Code::make(engine, name, &bytes, digest).map(|(code, _compiled)| code)
        };
        let code = made.map_err(|error| fault(name, &error.to_string()))?;
        *reread = None;
        Ok(self.code.get_or_init(|| code))
    }
}

pub(crate) fn reread_as(
    reread: Option<&Reread>,
    name: &str,
    expected: &str,
) -> Result<Vec<u8>, CallError> {
    let reread = reread.ok_or_else(|| fault(name, "its bytes can't be read again"))?;
    let bytes = reread().map_err(|error| fault(name, &error.to_string()))?;
    if digest(&bytes) != expected {
        return Err(fault(name, "its file has changed since it was first read"));
    }
    Ok(bytes)
}

fn fault(name: &str, reason: &str) -> CallError {
    CallError::HostFault {
        reason: format!("plugin `{name}` can't be compiled: {reason}"),
    }
}
