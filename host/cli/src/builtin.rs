//! The plugins that the binary carries (SPEC L4: `builtin:NAME`).

/// A carried plugin.
#[derive(Debug)]
pub(crate) struct Builtin {
    /// The name after `builtin:`.
    pub(crate) name: &'static str,
    pub(crate) bytes: &'static [u8],
    /// The tools it defines, known without loading it; a test compares them with the component.
    pub(crate) tools: &'static [&'static str],
    /// Whether it is a sink whose deliveries are what it prints.
    pub(crate) prints: bool,
}

/// All of them.
pub(crate) const BUILTINS: [Builtin; 2] = [
    Builtin {
        name: "read-text",
        bytes: include_bytes!("../../../guests/dist/read-text.wasm"),
        tools: &["read_text"],
        prints: false,
    },
    Builtin {
        name: "console",
        bytes: include_bytes!("../../../guests/dist/console.wasm"),
        tools: &[],
        prints: true,
    },
];

/// The carried plugin of a name.
pub(crate) fn find(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name)
}
