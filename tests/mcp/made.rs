//! A plugin in the text format: tools with fixed answers, under names that others' tests ask for.

use std::fmt::Write as _;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::support::root;

/// What the answer of a tool says.
pub(crate) enum Said {
    /// It succeeds with this text.
    Text(&'static str),
    /// It fails with this message.
    Failure(&'static str),
}

/// One tool.
pub(crate) struct MadeTool {
    pub(crate) name: &'static str,
    pub(crate) schema: String,
    /// What it does first, with [`IMPORTS`] and a local `$until`.
    pub(crate) does: String,
    pub(crate) said: Said,
}

/// Functions of the host that a tool may call, and `$is`, which compares two texts.
const IMPORTS: &str = r#"
    (import "tidegate:plugin/context@0.1.0" "progress"
        (func $progress (param i64 i32 i64 i32 i32)))
    (import "tidegate:plugin/context@0.1.0" "remaining-ms" (func $remaining (result i64)))
    (import "tidegate:plugin/context@0.1.0" "log" (func $log (param i32 i32 i32)))"#;

const WORLD: &str = "package tidegate:made; world plugin {
    import tidegate:plugin/context@0.1.0;
    export tidegate:plugin/tools@0.1.0;
}";

/// Bytes of the module's memory from [`Data::START`] on.
#[derive(Default)]
struct Data(Vec<u8>);

impl Data {
    /// What is below is nothing's.
    const START: u32 = 16;

    /// Puts bytes down; gives where they are, and how many.
    fn put(&mut self, bytes: &[u8]) -> [u32; 2] {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        let at = Self::START + size(self.0.len());
        self.0.extend_from_slice(bytes);
        [at, size(bytes.len())]
    }

    fn words(&mut self, words: &[u32]) -> u32 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(&bytes)[0]
    }
}

fn size(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap()
}

/// The component.
pub(crate) fn plugin(tools: &[MadeTool]) -> Vec<u8> {
    let mut resolve = Resolve::default();
    resolve.push_dir(root().join("wit")).unwrap();
    let package = resolve.push_str("made.wit", WORLD).unwrap();
    let world = resolve.select_world(&[package], None).unwrap();
    let text = module(tools);
    let mut module = wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
    let encoder = ComponentEncoder::default().validate(true);
    encoder.module(&module).unwrap().encode().unwrap()
}

fn module(tools: &[MadeTool]) -> String {
    let mut data = Data::default();
    let (mut listed, mut execute) = (Vec::new(), String::new());
    for tool in tools {
        let name = data.put(tool.name.as_bytes());
        let schema = data.put(tool.schema.as_bytes());
        let described = data.put(b"A tool of a test");
        listed.extend(definition(name, described, schema));
        let outcome = outcome(&tool.said, &mut data);
        let ([at, bytes], does) = (name, &tool.does);
        writeln!(
            execute,
            "(if (call $is (local.get 2) (local.get 3) (i32.const {at}) (i32.const {bytes}))
                (then {does} (return (i32.const {outcome}))))"
        )
        .unwrap();
    }
    let list = data.words(&listed);
    let definitions = data.words(&[list, size(tools.len())]);
    let valid = data.words(&[0; 3]);
    let end = (Data::START + size(data.0.len())).next_multiple_of(8);
    let start = Data::START;
    let bytes = data.0.iter().fold(String::new(), |mut text, byte| {
        write!(text, "\\{byte:02x}").unwrap();
        text
    });
    let api = "tidegate:plugin/tools@0.1.0";
    format!(
        r#"(module
            {IMPORTS}
            (memory (export "memory") 2)
            (data (i32.const {start}) "{bytes}")
            (global $free (mut i32) (i32.const {end}))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (local $at i32)
                (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
                (global.set $free (i32.add (local.get $at) (local.get 3)))
                (local.get $at))
            (func $is (param $one i32) (param $bytes i32) (param $other i32) (param i32) (result i32)
                (if (i32.ne (local.get $bytes) (local.get 3)) (then (return (i32.const 0))))
                (loop $next
                    (if (i32.eqz (local.get $bytes)) (then (return (i32.const 1))))
                    (local.set $bytes (i32.sub (local.get $bytes) (i32.const 1)))
                    (br_if $next (i32.eq
                        (i32.load8_u (i32.add (local.get $one) (local.get $bytes)))
                        (i32.load8_u (i32.add (local.get $other) (local.get $bytes))))))
                (i32.const 0))
            (func (export "{api}#definitions") (result i32) (i32.const {definitions}))
            (func (export "{api}#validate") (param i32 i32 i32 i32) (result i32)
                (i32.const {valid}))
            (func (export "{api}#execute") (param i32 i32 i32 i32 i32 i32) (result i32)
                (local $until i64)
                {execute}
                unreachable))"#
    )
}

/// The words of a definition: its name, description and schema, and nothing else.
fn definition(name: [u32; 2], described: [u32; 2], schema: [u32; 2]) -> [u32; 13] {
    let mut words = [0; 13];
    words[..2].copy_from_slice(&name);
    words[2] = 1;
    words[3..5].copy_from_slice(&described);
    words[5..7].copy_from_slice(&schema);
    words
}

/// Where the words of an outcome are.
fn outcome(said: &Said, data: &mut Data) -> u32 {
    let mut words = [0; 19];
    match said {
        Said::Text(text) => {
            let [at, bytes] = data.put(text.as_bytes());
            (words[1], words[3], words[4]) = (1, at, bytes);
        }
        Said::Failure(message) => {
            let ([code, code_bytes], [at, bytes]) =
                (data.put(b"MADE"), data.put(message.as_bytes()));
            (words[0], words[10]) = (1, 1);
            (words[11], words[12], words[13], words[14]) = (code, code_bytes, at, bytes);
        }
    }
    data.words(&words)
}
