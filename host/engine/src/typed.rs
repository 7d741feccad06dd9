//! Components that know nothing of the plugin contract: each function that they export is a tool
//! (SPEC T7).
//!
//! A function of the component itself has its own name, one of an exported interface that of the
//! interface before it: `sum`, `clock_now`. Deliberately absent: methods and constructors, and
//! functions that take or give resources, futures or streams; JSON has nothing for them.

mod arguments;
mod docs;
mod results;
mod schema;

use serde_json::Value;
use tidegate_contract::json::{self, JsonBounds};
use tidegate_contract::limits::Limits;
use tidegate_contract::{JsonError, Problem, ResultError, ToolDefinition, ToolName, ToolOutcome};
use wasmtime::Store;
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex, Instance, Type, Val};

use crate::convert::Broken;
use crate::store::CallState;

pub(crate) use arguments::Unfit;
pub(crate) use docs::Docs;

/// What WASI exports mean is not a tool of their own.
const WASI: &str = "wasi:";

/// What exports of the plugin contract start with, in any version.
const CONTRACT: &str = "tidegate:plugin/";

/// Most types that the signature of one function may unfold to: types can name types twice, over and
/// over.
const TYPES: usize = 2_000;

/// The functions of a component that are tools, in the order of their names.
pub(crate) struct Typed {
    functions: Vec<Function>,
    /// The types that its interfaces name.
    named: Vec<Named>,
}

/// A type with the name that an interface gives it.
struct Named {
    /// The interface's own name; none for the component itself.
    interface: Option<String>,
    name: String,
    of: Type,
}

/// One exported function.
pub(crate) struct Function {
    pub(crate) name: ToolName,
    /// The own name of the interface that it is of, as in `clock` of `example:time/clock@1.0.0`.
    interface: Option<String>,
    /// What it is called there.
    export: String,
    index: ComponentExportIndex,
    parameters: Vec<(String, Type)>,
    result: Option<Type>,
}

/// Two functions that would have one name.
#[derive(Debug)]
pub(crate) struct Collision(String);

impl Typed {
    /// Finds the functions; `None` where there is none that can be a tool.
    ///
    /// # Errors
    ///
    /// [`Collision`]: which of the two is meant would depend on their order.
    pub(crate) fn find(component: &Component) -> Result<Option<Self>, Collision> {
        let engine = component.engine();
        let exported = component.component_type();
        // One that speaks of the contract, in a version that this host does not know, is no stranger.
        if exported
            .exports(engine)
            .any(|(name, _)| name.starts_with(CONTRACT))
        {
            return Ok(None);
        }
        let mut found = Self {
            functions: Vec::new(),
            named: Vec::new(),
        };
        for (export, item) in exported.exports(engine) {
            if let ComponentItem::ComponentInstance(interface) = &item.ty {
                if export.starts_with(WASI) {
                    continue;
                }
                let outer = component.get_export_index(None, export);
                for (name, item) in interface.exports(engine) {
                    let index = component.get_export_index(outer.as_ref(), name);
                    found.take(Some(short(export)), name, item.ty, index);
                }
            } else {
                let index = component.get_export_index(None, export);
                found.take(None, export, item.ty, index);
            }
        }
        let Self {
            mut functions,
            named,
        } = found;
        functions.sort_by(|one, other| one.name.as_str().cmp(other.name.as_str()));
        let twice = functions.windows(2).find_map(|pair| match pair {
            [one, other] if one.name == other.name => Some(one.name.as_str()),
            _ => None,
        });
        match twice {
            Some(name) => Err(Collision(name.to_owned())),
            None if functions.is_empty() => Ok(None),
            None => Ok(Some(Self { functions, named })),
        }
    }

    /// Takes one export, where it is something to be called or a name of a type.
    fn take(
        &mut self,
        interface: Option<&str>,
        name: &str,
        item: ComponentItem,
        index: Option<ComponentExportIndex>,
    ) {
        match (item, index) {
            (ComponentItem::ComponentFunc(function), Some(index)) => {
                let function = Function::new(interface, name, index, &function);
                self.functions.extend(function);
            }
            (ComponentItem::Type(of), _) => self.named.push(Named {
                interface: interface.map(str::to_owned),
                name: name.to_owned(),
                of,
            }),
            _ => {}
        }
    }

    /// The tools, as callers are told of them.
    pub(crate) fn definitions(&self) -> Vec<ToolDefinition> {
        self.functions
            .iter()
            .filter_map(Function::definition)
            .collect()
    }

    /// The function of a tool.
    pub(crate) fn function(&self, name: &str) -> Option<&Function> {
        self.functions
            .iter()
            .find(|function| function.name.as_str() == name)
    }
}

impl std::fmt::Display for Collision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "two exported functions would both be the tool `{}`",
            self.0
        )
    }
}

/// `clock` of `example:time/clock@1.0.0`.
fn short(interface: &str) -> &str {
    let name = interface
        .split_once('@')
        .map_or(interface, |(name, _)| name);
    name.rsplit_once('/').map_or(name, |(_, short)| short)
}

impl Function {
    /// `None` where the function can't be a tool.
    fn new(
        interface: Option<&str>,
        export: &str,
        index: ComponentExportIndex,
        function: &ComponentFunc,
    ) -> Option<Self> {
        let name = interface.map(|interface| format!("{interface}_{export}"));
        let parameters = function.params();
        let mut results = function.results();
        let function = Self {
            name: ToolName::new(name.as_deref().unwrap_or(export)).ok()?,
            interface: interface.map(str::to_owned),
            export: export.to_owned(),
            index,
            parameters: parameters.map(|(name, of)| (name.to_owned(), of)).collect(),
            result: results.next(),
        };
        let mut left = TYPES;
        let mut types = function
            .parameters
            .iter()
            .map(|(_, of)| of)
            .chain(&function.result);
        let fits = types.all(|of| schema::fits(of, &mut left)) && results.next().is_none();
        (fits && function.definition().is_some()).then_some(function)
    }

    fn definition(&self) -> Option<ToolDefinition> {
        let parameters = self.parameters.iter();
        let input = schema::of_parameters(parameters.map(|(name, of)| (name.as_str(), of)))?;
        // What an error carries has to be JSON too.
        if let Some(result) = &self.result {
            schema::of(result)?;
        }
        let returned = match &self.result {
            Some(Type::Result(result)) => result.ok(),
            other => other.clone(),
        };
        let output = match &returned {
            Some(Type::String) => None,
            other => Some(schema::of_result(other.as_ref())?),
        };
        let definition = ToolDefinition {
            name: self.name.clone(),
            description: None,
            input_schema: input,
            output_schema: output,
            effects: Vec::new(),
            requires_approval: false,
        };
        definition.check().is_ok().then_some(definition)
    }

    /// The arguments as values.
    ///
    /// # Errors
    ///
    /// What is wrong with them; the function is not called then.
    pub(crate) fn read(&self, arguments: &str, limits: &Limits) -> Result<Vec<Val>, Unfit> {
        let bounds = JsonBounds::default();
        let whole = |reason: String| {
            Unfit::Problem(Problem {
                pointer: String::new(),
                reason,
            })
        };
        let parsed = json::parse(arguments, &bounds).map_err(|error| whole(error.to_string()))?;
        let Value::Object(arguments) = parsed else {
            return Err(whole("expected an object".to_owned()));
        };
        arguments::values(&self.parameters, &arguments, limits.host_allocation_bytes)
    }

    /// Calls the function of an instance.
    pub(crate) fn call(
        &self,
        store: &mut Store<CallState>,
        instance: &Instance,
        arguments: &[Val],
    ) -> wasmtime::Result<Option<Val>> {
        let missing = || wasmtime::format_err!("the function `{}` is gone", self.name);
        let function = instance
            .get_func(&mut *store, self.index)
            .ok_or_else(missing)?;
        let mut returned = vec![Val::Bool(false); usize::from(self.result.is_some())];
        function.call(&mut *store, arguments, &mut returned)?;
        Ok(returned.pop())
    }
}

/// What the function returned, within the limits of a result.
///
/// # Errors
///
/// [`Broken`].
pub(crate) fn outcome(returned: Option<&Val>, limits: &Limits) -> Result<ToolOutcome, Broken> {
    let outcome = results::outcome(returned)?;
    let bounds = JsonBounds {
        bytes: crate::saturating::to_usize(limits.result_bytes),
        ..JsonBounds::default()
    };
    match outcome.check(&bounds) {
        Ok(()) => Ok(outcome),
        Err(ResultError::Json(JsonError::TooLarge { .. })) => Err(Broken::TooLarge),
        Err(error) => Err(Broken::Contract(error.to_string())),
    }
}
