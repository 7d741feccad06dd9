//! Plugins in the text format, for what no compiler would write: one core module with one tool `t`,
//! its answers laid out by hand.

use std::fmt::Write as _;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::support::root;

/// One core module that is a plugin. What is not said is a module that answers `done`.
#[derive(Clone)]
pub(super) struct Module {
    /// Its memories; the first one is exported.
    pub(super) memory: String,
    /// More fields: tables, globals, functions, a start.
    pub(super) fields: String,
    /// What `definitions` does before it answers.
    pub(super) definitions: String,
    /// What `execute` does before it answers. It has a local `$n`.
    pub(super) execute: String,
    /// The tool definition, as the words at [`DEFINITION`].
    pub(super) definition: [u32; 13],
    /// The outcome, as the words at [`OUTCOME`].
    pub(super) outcome: [u32; 19],
    /// The answer of `validate`: a discriminant, then a list of problems.
    pub(super) problems: [u32; 3],
    /// The tool's name and the schema of its arguments.
    pub(super) name: &'static str,
    pub(super) schema: &'static str,
    /// Text for the answers to point to.
    pub(super) text: String,
}

/// Where things lie in the first memory. Everything from 32 KiB on is what the host is given.
const NAME: u32 = 16;
const SCHEMA: u32 = 96;
const DEFINITIONS: u32 = 512;
const DEFINITION: u32 = 576;
const OUTCOME: u32 = 640;
const PROBLEMS: u32 = 768;
pub(super) const TEXT: u32 = 1_024;

impl Default for Module {
    fn default() -> Self {
        Self {
            memory: "(memory (export \"memory\") 1)".to_owned(),
            fields: String::new(),
            definitions: String::new(),
            execute: String::new(),
            definition: [0; 13],
            outcome: saying(4),
            problems: [0; 3],
            name: "t",
            schema: r#"{"type":"object"}"#,
            text: "done".to_owned(),
        }
    }
}

/// The words of a successful outcome whose text is the first bytes of the module's text.
pub(super) fn saying(bytes: u32) -> [u32; 19] {
    let mut outcome = [0; 19];
    outcome[1] = 1;
    outcome[3] = TEXT;
    outcome[4] = bytes;
    outcome
}

impl Module {
    /// A module whose tool does this before it says `done`.
    pub(super) fn doing(execute: &str) -> Self {
        Self {
            execute: execute.to_owned(),
            ..Self::default()
        }
    }

    /// The component that wraps the module, as `wasm-tools component new` makes it.
    pub(super) fn component(&self) -> Vec<u8> {
        let mut resolve = Resolve::default();
        resolve.push_dir(root().join("wit")).unwrap();
        let world =
            "package tidegate:hostile; world plugin { export tidegate:plugin/tools@0.1.0; }";
        let package = resolve.push_str("hostile.wit", world).unwrap();
        let world = resolve.select_world(&[package], None).unwrap();
        let text = self.wat();
        let mut module = wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
        ComponentEncoder::default()
            .validate(true)
            .module(&module)
            .unwrap()
            .encode()
            .unwrap()
    }

    /// The same component with more in it, in the text format, after all that it has.
    pub(super) fn component_and(&self, more: &str) -> Vec<u8> {
        let text = wasmprinter::print_bytes(self.component()).unwrap();
        let open = text.trim_end().strip_suffix(')').unwrap();
        wat::parse_str(format!("{open}{more})")).unwrap()
    }

    fn wat(&self) -> String {
        let Self {
            memory,
            fields,
            definitions,
            execute,
            ..
        } = self;
        let mut definition = self.definition;
        for (word, own) in [
            (0, NAME),
            (1, size(self.name)),
            (5, SCHEMA),
            (6, size(self.schema)),
        ] {
            definition[word] = if definition[word] == 0 {
                own
            } else {
                definition[word]
            };
        }
        let data = [
            (NAME, bytes(self.name.as_bytes())),
            (SCHEMA, bytes(self.schema.as_bytes())),
            (DEFINITIONS, words(&[DEFINITION, 1])),
            (DEFINITION, words(&definition)),
            (OUTCOME, words(&self.outcome)),
            (PROBLEMS, words(&self.problems)),
            (TEXT, bytes(self.text.as_bytes())),
        ];
        let data = data.iter().fold(String::new(), |mut text, (at, bytes)| {
            writeln!(text, "(data (i32.const {at}) \"{bytes}\")").unwrap();
            text
        });
        let tools = "tidegate:plugin/tools@0.1.0";
        format!(
            r#"(module
                {memory}
                {fields}
                (global $free (mut i32) (i32.const 32768))
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                    (local $at i32)
                    (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
                    (global.set $free (i32.add (local.get $at) (local.get 3)))
                    (local.get $at))
                (func (export "{tools}#definitions") (result i32)
                    {definitions}
                    (i32.const {DEFINITIONS}))
                (func (export "{tools}#validate") (param i32 i32 i32 i32) (result i32)
                    (i32.const {PROBLEMS}))
                (func (export "{tools}#execute") (param i32 i32 i32 i32 i32 i32) (result i32)
                    (local $n i32)
                    {execute}
                    (i32.const {OUTCOME}))
                {data})"#
        )
    }
}

fn size(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap()
}

/// Words as a data segment has them: little-endian, escaped.
fn words(words: &[u32]) -> String {
    words
        .iter()
        .map(|word| bytes(&word.to_le_bytes()))
        .collect()
}

fn bytes(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "\\{byte:02x}").unwrap();
        text
    })
}
