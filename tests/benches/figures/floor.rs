//! The floor: bare wasmtime doing the least that a fresh instance costs.

use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{
    Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig, Store, StoreContextMut,
};

use contract::exports::tidegate::plugin::tools::{GuestIndices, ToolCall};

/// The plugin contract as the floor calls it.
mod contract {
    wasmtime::component::bindgen!({
        path: "../wit",
        inline: "
            package tidegate:floor;
            world floor { export tidegate:plugin/tools@0.1.0; }
        ",
        world: "tidegate:floor/floor",
    });
}

/// What a function of the host is handed first.
type Caller<'a> = StoreContextMut<'a, ()>;

/// A pool with the settings of ours, and one component in it.
pub(crate) struct Floor {
    engine: wasmtime::Engine,
    pre: InstancePre<()>,
    tools: GuestIndices,
    call: ToolCall,
}

impl Floor {
    pub(crate) fn new(bytes: &[u8], arguments: &str) -> Self {
        Self::of_validate(bytes, "echo", arguments)
    }

    /// A floor for a tool of any guest, whose arguments are only looked at.
    pub(crate) fn of_validate(bytes: &[u8], tool: &str, arguments: &str) -> Self {
        let mut pool = PoolingAllocationConfig::new();
        pool.linear_memory_keep_resident(1024 * 1024)
            .table_keep_resident(8 * 1024)
            .pagemap_scan(Enabled::Auto);
        let mut config = Config::new();
        config
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
            .concurrency_support(false);
        let engine = wasmtime::Engine::new(&config).unwrap();
        let component = Component::from_binary(&engine, bytes).unwrap();
        let mut linker = Linker::new(&engine);
        give_little(&mut linker, &component);
        linker.define_unknown_imports_as_traps(&component).unwrap();
        let pre = linker.instantiate_pre(&component).unwrap();
        let tools = GuestIndices::new(&pre).unwrap();
        let call = ToolCall {
            id: "call-1".to_owned(),
            name: tool.to_owned(),
            arguments: arguments.to_owned(),
        };
        Self {
            engine,
            pre,
            tools,
            call,
        }
    }

    /// A store, an instance, one call, and the drop of all.
    pub(crate) fn call(&self) {
        let mut store = Store::new(&self.engine, ());
        let instance = self.pre.instantiate(&mut store).unwrap();
        let tools = self.tools.load(&mut store, &instance).unwrap();
        let outcome = tools.call_execute(&mut store, &self.call).unwrap();
        assert!(outcome.error.is_none());
    }

    /// A store, an instance, one `validate` that refuses the arguments, and the drop of all.
    pub(crate) fn validate(&self) {
        let mut store = Store::new(&self.engine, ());
        let instance = self.pre.instantiate(&mut store).unwrap();
        let tools = self.tools.load(&mut store, &instance).unwrap();
        let (name, arguments) = (&self.call.name, &self.call.arguments);
        let checked = tools.call_validate(&mut store, name, arguments).unwrap();
        assert!(checked.is_err());
    }
}

/// As little of WASI as `CPython` asks for before it does anything: no variables, no arguments, and bytes
/// for its hashes.
fn give_little(linker: &mut Linker<()>, component: &Component) {
    let imports = component.component_type();
    for (name, _) in imports.imports(component.engine()) {
        let interface = name.split('@').next().unwrap();
        let mut own = linker.instance(name).unwrap();
        match interface {
            "wasi:cli/environment" => {
                own.func_wrap("get-environment", |_: Caller<'_>, (): ()| {
                    Ok((Vec::<(String, String)>::new(),))
                })
                .unwrap();
                own.func_wrap("get-arguments", |_: Caller<'_>, (): ()| {
                    Ok((Vec::<String>::new(),))
                })
                .unwrap();
            }
            "wasi:random/random" => own
                .func_wrap("get-random-bytes", |_: Caller<'_>, (length,): (u64,)| {
                    Ok((vec![7_u8; usize::try_from(length).unwrap()],))
                })
                .unwrap(),
            _ => {}
        }
    }
}
