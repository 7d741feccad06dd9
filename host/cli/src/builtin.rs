//! The plugins that the binary carries (SPEC L4: `builtin:NAME`).

use anyhow::anyhow;
use tidegate_contract::nearest::nearest;

use crate::commands;
use crate::wanted::Component;

/// A carried plugin.
#[derive(Debug)]
pub(crate) struct Builtin {
    /// The name after `builtin:`.
    pub(crate) name: &'static str,
    pub(crate) bytes: &'static [u8],
    /// The tools it defines, known without loading it; a test compares them with the component.
    pub(crate) tools: &'static [&'static str],
    /// What it declares it needs, as `--allow` takes it; a test compares it with the component.
    pub(crate) needs: &'static [&'static str],
    /// Whether it is a sink whose deliveries are what it prints.
    pub(crate) prints: bool,
}

impl Builtin {
    /// Its component.
    pub(crate) fn component(&'static self) -> Component {
        Component::carried(self.bytes)
    }
}

/// The name of the one whose settings stand under `interaction.commands`.
pub(crate) const COMMANDS: &str = "commands";

/// The name of the one whose settings stand under `interaction.web_search`.
pub(crate) const WEB_SEARCH: &str = "web-search";

/// All of them.
pub(crate) static BUILTINS: [Builtin; 6] = [
    Builtin {
        name: "read-text",
        bytes: include_bytes!("../../../guests/dist/read-text.wasm"),
        tools: &["read_text"],
        needs: &["tool=read_text", "read"],
        prints: false,
    },
    Builtin {
        name: COMMANDS,
        bytes: include_bytes!("../../../guests/dist/commands.wasm"),
        tools: &commands::NAMES,
        needs: &[
            "read",
            "tool=grep",
            "execute=grep",
            "tool=ls",
            "execute=ls",
            "tool=cat",
            "execute=cat",
            "tool=find",
            "execute=find",
            "tool=head",
            "execute=head",
            "tool=tail",
            "execute=tail",
            "tool=wc",
            "execute=wc",
            "tool=sort",
            "execute=sort",
            "tool=uniq",
            "execute=uniq",
            "tool=cut",
            "execute=cut",
            "tool=stat",
            "execute=stat",
            "tool=file",
            "execute=file",
            "tool=du",
            "execute=du",
            "tool=pwd",
            "execute=pwd",
        ],
        prints: false,
    },
    Builtin {
        name: WEB_SEARCH,
        bytes: include_bytes!("../../../guests/dist/web-search.wasm"),
        tools: &["web_search"],
        needs: &["tool=web_search", "network=https://api.search.brave.com"],
        prints: false,
    },
    Builtin {
        name: "file",
        bytes: include_bytes!("../../../guests/dist/file.wasm"),
        tools: &[],
        needs: &["read", "write"],
        prints: false,
    },
    Builtin {
        name: "webhook",
        bytes: include_bytes!("../../../guests/dist/webhook.wasm"),
        tools: &[],
        needs: &[],
        prints: false,
    },
    Builtin {
        name: "console",
        bytes: include_bytes!("../../../guests/dist/console.wasm"),
        tools: &[],
        needs: &["stdout"],
        prints: true,
    },
];

/// The carried plugin of a name.
///
/// # Errors
///
/// There is none; the error names those there are.
pub(crate) fn named(name: &str) -> anyhow::Result<&'static Builtin> {
    let found = BUILTINS.iter().find(|builtin| builtin.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = BUILTINS.iter().map(|builtin| builtin.name).collect();
        let meant = nearest(name, &names)
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        anyhow!(
            "no carried plugin is named `{name}`; there are {}{meant}",
            names.join(", ")
        )
    })
}
