//! What a component exports of the plugin contract, found once when it is loaded.

use wasmtime::Store;
use wasmtime::component::{
    ComponentExportIndex, ComponentType, Instance, InstancePre, Lower, TypedFunc,
};
use wasmtime_wasi::p2::bindings::sync::CommandIndices;

use crate::bindings::exports::tidegate::plugin::{sink, tools, worker};
use crate::error::EngineError;
use crate::store::CallState;
use crate::typed::Typed;

const TOOLS: &str = "tidegate:plugin/tools@0.1.0";
const SINK: &str = "tidegate:plugin/sink@0.1.0";
const WORKER: &str = "tidegate:plugin/worker@0.1.0";

/// The interfaces that are there, with the right functions in them.
pub(crate) struct Exports {
    pub(crate) tools: Option<ToolExports>,
    pub(crate) sink: Option<sink::GuestIndices>,
    pub(crate) worker: Option<worker::GuestIndices>,
    /// Of a component without any of these: its own functions.
    pub(crate) typed: Option<Typed>,
    /// Of a component without those either: that it is a command.
    pub(crate) command: Option<CommandIndices>,
}

/// The functions of `tools`. A call looks up the two it makes: comparing the types of one that is
/// not called would be a fiftieth of a short call.
pub(crate) struct ToolExports {
    /// All of them, for the one look at their types when the plugin is loaded.
    pub(crate) all: tools::GuestIndices,
    validate: ComponentExportIndex,
    execute: ComponentExportIndex,
}

type Validate<'a> = TypedFunc<(&'a str, &'a str), (Result<(), Vec<tools::Problem>>,)>;
type Execute<'a> = TypedFunc<(Asked<'a>,), (tools::Outcome,)>;

/// `tool-call` as it is lowered: borrowed, so that arguments are copied once, into the guest.
#[derive(Clone, Copy, Debug, ComponentType, Lower)]
#[component(record)]
pub(crate) struct Asked<'a> {
    pub(crate) id: &'a str,
    /// The guest's own name for the tool.
    pub(crate) name: &'a str,
    pub(crate) arguments: &'a str,
}

impl Exports {
    /// Finds them. An interface that is there must have the functions it should have.
    ///
    /// # Errors
    ///
    /// [`EngineError::Shape`] when one is missing, [`EngineError::NothingExported`] when the
    /// component has none of the interfaces.
    pub(crate) fn find(name: &str, pre: &InstancePre<CallState>) -> Result<Self, EngineError> {
        let has = |interface: &str| pre.component().get_export_index(None, interface).is_some();
        let shape = |error: wasmtime::Error| EngineError::Shape {
            plugin: name.to_owned(),
            reason: format!("{error:#}"),
        };
        let tools = has(TOOLS)
            .then(|| ToolExports::find(pre))
            .transpose()
            .map_err(shape)?;
        let sink = has(SINK)
            .then(|| sink::GuestIndices::new(pre))
            .transpose()
            .map_err(shape)?;
        let worker = has(WORKER)
            .then(|| worker::GuestIndices::new(pre))
            .transpose()
            .map_err(shape)?;
        let own = Self {
            tools,
            sink,
            worker,
            typed: None,
            command: None,
        };
        if own.tools.is_some() || own.sink.is_some() || own.worker.is_some() {
            return Ok(own);
        }
        let typed = Typed::find(pre.component()).map_err(|collision| EngineError::Shape {
            plugin: name.to_owned(),
            reason: collision.to_string(),
        })?;
        if typed.is_some() {
            return Ok(Self { typed, ..own });
        }
        let command = CommandIndices::new(pre).ok();
        if command.is_some() {
            return Ok(Self { command, ..own });
        }
        Err(EngineError::NothingExported {
            plugin: name.to_owned(),
        })
    }
}

impl ToolExports {
    fn find(pre: &InstancePre<CallState>) -> wasmtime::Result<Self> {
        let component = pre.component();
        let tools = component.get_export_index(None, TOOLS);
        let function = |name: &str| {
            let missing = || wasmtime::format_err!("`{TOOLS}` has no function `{name}`");
            component
                .get_export_index(tools.as_ref(), name)
                .ok_or_else(missing)
        };
        Ok(Self {
            all: tools::GuestIndices::new(pre)?,
            validate: function("validate")?,
            execute: function("execute")?,
        })
    }

    /// Calls `validate` of an instance.
    pub(crate) fn validate(
        &self,
        store: &mut Store<CallState>,
        instance: &Instance,
        asked: Asked<'_>,
    ) -> wasmtime::Result<Result<(), Vec<tools::Problem>>> {
        let validate: Validate<'_> = instance.get_typed_func(&mut *store, self.validate)?;
        Ok(validate.call(store, (asked.name, asked.arguments))?.0)
    }

    /// Calls `execute` of an instance.
    pub(crate) fn execute(
        &self,
        store: &mut Store<CallState>,
        instance: &Instance,
        asked: Asked<'_>,
    ) -> wasmtime::Result<tools::Outcome> {
        let execute: Execute<'_> = instance.get_typed_func(&mut *store, self.execute)?;
        Ok(execute.call(store, (asked,))?.0)
    }
}
