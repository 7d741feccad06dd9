//! The plugin contract (`wit/`) as Rust, generated. Nothing here is written by hand.
#![expect(
    clippy::all,
    clippy::restriction,
    reason = "generated from wit/, where every item is documented"
)]

wasmtime::component::bindgen!({
    path: "../../wit",
    inline: "
        package tidegate:host;
        world host {
            import tidegate:plugin/context@0.1.0;
            import tidegate:plugin/exec@0.1.0;
            import tidegate:plugin/file-status@0.1.0;
            import tidegate:plugin/artifacts@0.1.0;
            import tidegate:plugin/parts@0.1.0;
            export tidegate:plugin/tools@0.1.0;
            export tidegate:plugin/sink@0.1.0;
            export tidegate:plugin/worker@0.1.0;
        }
    ",
    world: "tidegate:host/host",
    imports: { default: trappable },
});
