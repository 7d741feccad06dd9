//! What `wit-bindgen` makes of the contract in `wit/`: what the host offers once, and each of the three
//! things that a plugin can be. [`crate`] says the names that are meant to be used.

#![allow(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    clippy::mem_forget,
    clippy::same_length_and_capacity,
    clippy::use_self,
    unused_qualifications,
    reason = "generated code has its own style"
)]

/// Types, and the functions of the host.
pub mod host {
    wit_bindgen::generate!({
        path: "../../../wit",
        inline: "
            package tidegate:sdk;
            world host {
                import tidegate:plugin/types@0.1.0;
                import tidegate:plugin/context@0.1.0;
                import tidegate:plugin/exec@0.1.0;
                import tidegate:plugin/file-status@0.1.0;
                import tidegate:plugin/artifacts@0.1.0;
                import tidegate:plugin/parts@0.1.0;
            }
        ",
        world: "tidegate:sdk/host",
        generate_all,
        additional_derives: [PartialEq],
    });
}

/// Tools.
pub mod tools {
    wit_bindgen::generate!({
        path: "../../../wit",
        world: "tool-plugin",
        with: {
            "tidegate:plugin/types@0.1.0": super::host::tidegate::plugin::types,
            "tidegate:plugin/context@0.1.0": super::host::tidegate::plugin::context,
            "tidegate:plugin/exec@0.1.0": super::host::tidegate::plugin::exec,
            "tidegate:plugin/file-status@0.1.0": super::host::tidegate::plugin::file_status,
            "tidegate:plugin/artifacts@0.1.0": super::host::tidegate::plugin::artifacts,
        },
        pub_export_macro: true,
        export_macro_name: "export_tools",
        default_bindings_module: "tidegate_plugin::bindings::tools",
        additional_derives: [PartialEq],
    });
}

/// A sink.
pub mod sink {
    wit_bindgen::generate!({
        path: "../../../wit",
        world: "sink-plugin",
        with: {
            "tidegate:plugin/types@0.1.0": super::host::tidegate::plugin::types,
            "tidegate:plugin/context@0.1.0": super::host::tidegate::plugin::context,
        },
        pub_export_macro: true,
        export_macro_name: "export_sink",
        default_bindings_module: "tidegate_plugin::bindings::sink",
    });
}

/// A worker.
pub mod worker {
    wit_bindgen::generate!({
        path: "../../../wit",
        world: "worker-plugin",
        with: {
            "tidegate:plugin/types@0.1.0": super::host::tidegate::plugin::types,
            "tidegate:plugin/context@0.1.0": super::host::tidegate::plugin::context,
            "tidegate:plugin/exec@0.1.0": super::host::tidegate::plugin::exec,
            "tidegate:plugin/artifacts@0.1.0": super::host::tidegate::plugin::artifacts,
            "tidegate:plugin/parts@0.1.0": super::host::tidegate::plugin::parts,
        },
        pub_export_macro: true,
        export_macro_name: "export_worker",
        default_bindings_module: "tidegate_plugin::bindings::worker",
    });
}
