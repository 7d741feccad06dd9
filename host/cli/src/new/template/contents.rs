//! The files that projects are made of, each with its place in a project.

use super::{Kind, Language};

/// A place and a text.
pub(super) type Template = (&'static str, &'static str);

/// The files with names to be put in: those of a kind, those of a language, those of both.
pub(super) fn templates(language: Language, kind: Kind) -> impl Iterator<Item = &'static Template> {
    let of_kind = match kind {
        Kind::Tool => TOOL,
        Kind::Sink => SINK,
        Kind::Worker => WORKER,
    };
    let of_language = match language {
        Language::Rust => RUST,
        Language::Python => PYTHON,
        Language::Javascript => JAVASCRIPT,
        Language::C => C,
        Language::Go => GO,
    };
    let of_both: &[Template] = match (language, kind) {
        (Language::Rust, Kind::Tool) => RUST_TOOL,
        (Language::Rust, Kind::Sink) => RUST_SINK,
        (Language::Rust, Kind::Worker) => RUST_WORKER,
        (Language::Python, Kind::Tool) => PYTHON_TOOL,
        (Language::Python, Kind::Sink) => PYTHON_SINK,
        (Language::Python, Kind::Worker) => PYTHON_WORKER,
        (Language::Javascript, Kind::Tool) => JAVASCRIPT_TOOL,
        (Language::Javascript, Kind::Sink) => JAVASCRIPT_SINK,
        (Language::Javascript, Kind::Worker) => JAVASCRIPT_WORKER,
        (Language::C, Kind::Tool) => C_TOOL,
        (Language::C, Kind::Sink) => C_SINK,
        (Language::C, Kind::Worker) => C_WORKER,
        (Language::Go, Kind::Tool) => GO_TOOL,
        (Language::Go, Kind::Sink) => GO_SINK,
        (Language::Go, Kind::Worker) => GO_WORKER,
    };
    of_kind.iter().chain(of_language).chain(of_both)
}

/// The files that are taken over as they are: the library that a language has, or what builds with it.
pub(super) fn library(language: Language) -> &'static [Template] {
    match language {
        Language::Rust => RUST_LIBRARY,
        Language::Python => PYTHON_LIBRARY,
        Language::Javascript => JAVASCRIPT_LIBRARY,
        Language::C | Language::Go => BINDGEN,
    }
}

/// The contract.
pub(super) const CONTRACT: &[Template] = &[
    (
        "artifacts.wit",
        include_str!("../../../../../wit/artifacts.wit"),
    ),
    (
        "context.wit",
        include_str!("../../../../../wit/context.wit"),
    ),
    ("exec.wit", include_str!("../../../../../wit/exec.wit")),
    (
        "file-status.wit",
        include_str!("../../../../../wit/file-status.wit"),
    ),
    ("parts.wit", include_str!("../../../../../wit/parts.wit")),
    ("sink.wit", include_str!("../../../../../wit/sink.wit")),
    ("tools.wit", include_str!("../../../../../wit/tools.wit")),
    ("types.wit", include_str!("../../../../../wit/types.wit")),
    ("worker.wit", include_str!("../../../../../wit/worker.wit")),
    ("world.wit", include_str!("../../../../../wit/world.wit")),
];

const TOOL: &[Template] = &[
    (
        "tidegate.yaml",
        include_str!("../../../templates/common/tool.yaml"),
    ),
    ("test.sh", include_str!("../../../templates/common/tool.sh")),
];

const SINK: &[Template] = &[
    (
        "tidegate.yaml",
        include_str!("../../../templates/common/sink.yaml"),
    ),
    ("test.sh", include_str!("../../../templates/common/sink.sh")),
    (
        super::super::DELIVERY,
        include_str!("../../../templates/common/delivery.json"),
    ),
];

const WORKER: &[Template] = &[
    (
        "tidegate.yaml",
        include_str!("../../../templates/common/worker.yaml"),
    ),
    (
        "test.sh",
        include_str!("../../../templates/common/worker.sh"),
    ),
    (
        "flow.json",
        include_str!("../../../templates/common/flow.json"),
    ),
];

const RUST: &[Template] = &[
    (
        "README.md",
        include_str!("../../../templates/rust/readme.md"),
    ),
    (
        ".gitignore",
        include_str!("../../../templates/rust/gitignore"),
    ),
    ("build.sh", include_str!("../../../templates/rust/build.sh")),
    (
        "Cargo.toml",
        include_str!("../../../templates/rust/Cargo.toml"),
    ),
    (
        "Cargo.lock",
        include_str!("../../../templates/rust/Cargo.lock"),
    ),
];

const PYTHON: &[Template] = &[
    (
        "README.md",
        include_str!("../../../templates/python/readme.md"),
    ),
    (
        ".gitignore",
        include_str!("../../../templates/python/gitignore"),
    ),
    (
        "build.sh",
        include_str!("../../../templates/python/build.sh"),
    ),
    (
        "requirements.txt",
        include_str!("../../../../../guests/python/requirements.txt"),
    ),
];

const JAVASCRIPT: &[Template] = &[
    (
        "README.md",
        include_str!("../../../templates/javascript/readme.md"),
    ),
    (
        ".gitignore",
        include_str!("../../../templates/javascript/gitignore"),
    ),
    (
        "build.sh",
        include_str!("../../../templates/javascript/build.sh"),
    ),
    (
        ".npmrc",
        include_str!("../../../templates/javascript/npmrc"),
    ),
    (
        "package.json",
        include_str!("../../../templates/javascript/package.json"),
    ),
    (
        "package-lock.json",
        include_str!("../../../templates/javascript/package-lock.json"),
    ),
];

const C: &[Template] = &[
    ("README.md", include_str!("../../../templates/c/readme.md")),
    (
        ".gitignore",
        include_str!("../../../templates/common/gitignore"),
    ),
    ("build.sh", include_str!("../../../templates/c/build.sh")),
    (
        "requirements.txt",
        include_str!("../../../../../guests/c/requirements.txt"),
    ),
    ("src/json.c", include_str!("../../../templates/c/json.c")),
    ("src/json.h", include_str!("../../../templates/c/json.h")),
];

const GO: &[Template] = &[
    ("README.md", include_str!("../../../templates/go/readme.md")),
    (
        ".gitignore",
        include_str!("../../../templates/common/gitignore"),
    ),
    ("build.sh", include_str!("../../../templates/go/build.sh")),
    (
        "requirements.txt",
        include_str!("../../../../../guests/go/requirements.txt"),
    ),
];

const RUST_TOOL: &[Template] = &[(
    "src/lib.rs",
    include_str!("../../../templates/rust/tool.rs"),
)];

const RUST_SINK: &[Template] = &[(
    "src/lib.rs",
    include_str!("../../../templates/rust/sink.rs"),
)];

const RUST_WORKER: &[Template] = &[(
    "src/lib.rs",
    include_str!("../../../templates/rust/worker.rs"),
)];

const PYTHON_TOOL: &[Template] = &[(
    "src/plugin.py",
    include_str!("../../../templates/python/tool.py"),
)];

const PYTHON_SINK: &[Template] = &[(
    "src/plugin.py",
    include_str!("../../../templates/python/sink.py"),
)];

const PYTHON_WORKER: &[Template] = &[(
    "src/plugin.py",
    include_str!("../../../templates/python/worker.py"),
)];

const JAVASCRIPT_TOOL: &[Template] = &[
    (
        "src/plugin.js",
        include_str!("../../../templates/javascript/tool.js"),
    ),
    (
        "wit/plugin.wit",
        include_str!("../../../templates/javascript/plugin.wit"),
    ),
];

const JAVASCRIPT_SINK: &[Template] = &[
    (
        "src/plugin.js",
        include_str!("../../../templates/javascript/sink.js"),
    ),
    (
        "wit/plugin.wit",
        include_str!("../../../templates/javascript/printing.wit"),
    ),
    (
        "wit/deps/wasi-cli/cli.wit",
        include_str!("../../../templates/javascript/cli.wit"),
    ),
    (
        "wit/deps/wasi-io/io.wit",
        include_str!("../../../templates/javascript/io.wit"),
    ),
];

const JAVASCRIPT_WORKER: &[Template] = &[
    (
        "src/plugin.js",
        include_str!("../../../templates/javascript/worker.js"),
    ),
    (
        "wit/plugin.wit",
        include_str!("../../../templates/javascript/plugin.wit"),
    ),
];

const C_TOOL: &[Template] = &[("src/plugin.c", include_str!("../../../templates/c/tool.c"))];

const C_SINK: &[Template] = &[("src/plugin.c", include_str!("../../../templates/c/sink.c"))];

const C_WORKER: &[Template] = &[(
    "src/plugin.c",
    include_str!("../../../templates/c/worker.c"),
)];

const GO_TOOL: &[Template] = &[(
    "src/plugin.go",
    include_str!("../../../templates/go/tool.go"),
)];

const GO_SINK: &[Template] = &[(
    "src/plugin.go",
    include_str!("../../../templates/go/sink.go"),
)];

const GO_WORKER: &[Template] = &[(
    "src/plugin.go",
    include_str!("../../../templates/go/worker.go"),
)];

const RUST_LIBRARY: &[Template] = &[
    (
        "tidegate-plugin/Cargo.toml",
        include_str!("../../../../../guests/sdk/rust/Cargo.toml"),
    ),
    (
        "tidegate-plugin/src/bindings.rs",
        include_str!("../../../../../guests/sdk/rust/src/bindings.rs"),
    ),
    (
        "tidegate-plugin/src/deliver.rs",
        include_str!("../../../../../guests/sdk/rust/src/deliver.rs"),
    ),
    (
        "tidegate-plugin/src/json.rs",
        include_str!("../../../../../guests/sdk/rust/src/json.rs"),
    ),
    (
        "tidegate-plugin/src/lib.rs",
        include_str!("../../../../../guests/sdk/rust/src/lib.rs"),
    ),
    (
        "tidegate-plugin/src/outcome.rs",
        include_str!("../../../../../guests/sdk/rust/src/outcome.rs"),
    ),
    (
        "tidegate-plugin/src/tool.rs",
        include_str!("../../../../../guests/sdk/rust/src/tool.rs"),
    ),
    (
        "tidegate-plugin/src/work.rs",
        include_str!("../../../../../guests/sdk/rust/src/work.rs"),
    ),
];

const PYTHON_LIBRARY: &[Template] = &[
    (
        "src/tidegate_plugin/__init__.py",
        include_str!("../../../../../guests/sdk/python/tidegate_plugin/__init__.py"),
    ),
    (
        "src/tidegate_plugin/py.typed",
        include_str!("../../../../../guests/sdk/python/tidegate_plugin/py.typed"),
    ),
    (
        "src/tidegate_plugin/sink.py",
        include_str!("../../../../../guests/sdk/python/tidegate_plugin/sink.py"),
    ),
    (
        "src/tidegate_plugin/tool.py",
        include_str!("../../../../../guests/sdk/python/tidegate_plugin/tool.py"),
    ),
    (
        "src/tidegate_plugin/worker.py",
        include_str!("../../../../../guests/sdk/python/tidegate_plugin/worker.py"),
    ),
];

const JAVASCRIPT_LIBRARY: &[Template] = &[
    (
        "src/tidegate-plugin.js",
        include_str!("../../../../../guests/sdk/javascript/tidegate-plugin.js"),
    ),
    (
        "src/tidegate-plugin.d.ts",
        include_str!("../../../../../guests/sdk/javascript/tidegate-plugin.d.ts"),
    ),
];

/// What makes bindings and components for C and Go.
const BINDGEN: &[Template] = &[
    (
        "bindgen/Cargo.toml",
        include_str!("../../../../../guests/xtask/bindgen/Cargo.toml"),
    ),
    (
        "bindgen/Cargo.lock",
        include_str!("../../../../../guests/xtask/bindgen/Cargo.lock"),
    ),
    (
        "bindgen/src/main.rs",
        include_str!("../../../../../guests/xtask/bindgen/src/main.rs"),
    ),
];
