//! What the bytes of a component say of it before anything is compiled or run (SPEC P3).
//!
//! Deliberately absent: what its tools are. That only the component itself can say, or its types.

use std::collections::BTreeSet;

use thiserror::Error;
use wasmparser::{KnownCustom, Parser, Payload, ProducersSectionReader};

/// Most producers that are listed: a component is made of many modules, each with its own.
const PRODUCERS: usize = 64;

/// The longest name or version that is listed, in bytes.
const WORD_BYTES: usize = 128;

/// The outside of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anatomy {
    /// What it imports: interfaces with their versions, or single functions. In its own order.
    pub imports: Vec<String>,
    /// What it exports, likewise.
    pub exports: Vec<String>,
    /// What it was made with, in the order of the words.
    pub producers: BTreeSet<Producer>,
}

/// A tool or language that took part in making it. Nothing checks that it is true.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Producer {
    /// `language`, `processed-by` or `sdk`, usually.
    pub field: String,
    /// Its name.
    pub name: String,
    /// Its version; may be empty.
    pub version: String,
}

/// Why bytes can't be read as a component.
#[derive(Debug, Error)]
pub enum AnatomyError {
    /// They are a core module, which has to be made a component first.
    #[error(
        "this is a core module, not a component; make one of it with `wasm-tools component new`"
    )]
    Module,
    /// They are neither.
    #[error("this is no WebAssembly component")]
    Malformed(#[source] wasmparser::BinaryReaderError),
}

impl Anatomy {
    /// Reads a component's own imports and exports, and the producers of all its parts.
    ///
    /// # Errors
    ///
    /// [`AnatomyError`]. Only the structure is read; a component that this accepts may still be
    /// refused by the compiler.
    pub fn read(bytes: &[u8]) -> Result<Self, AnatomyError> {
        if Parser::is_core_wasm(bytes) {
            return Err(AnatomyError::Module);
        }
        let mut anatomy = Self::default();
        // How many components and modules stand around what is read.
        let mut depth = 0_usize;
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.map_err(AnatomyError::Malformed)? {
                Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => depth = depth.saturating_sub(1),
                Payload::ComponentImportSection(section) if depth == 0 => {
                    for import in section {
                        let import = import.map_err(AnatomyError::Malformed)?;
                        anatomy.imports.push(import.name.name.to_owned());
                    }
                }
                Payload::ComponentExportSection(section) if depth == 0 => {
                    for export in section {
                        let export = export.map_err(AnatomyError::Malformed)?;
                        anatomy.exports.push(export.name.name.to_owned());
                    }
                }
                Payload::CustomSection(section) => {
                    if let KnownCustom::Producers(fields) = section.as_known() {
                        anatomy.add_producers(fields);
                    }
                }
                _ => {}
            }
        }
        Ok(anatomy)
    }

    /// Adds what a section names; one that is not well formed says nothing, as tools agree.
    fn add_producers(&mut self, fields: ProducersSectionReader<'_>) {
        let fields = fields.into_iter().map_while(Result::ok);
        let named = fields.flat_map(|field| {
            let values = field.values.into_iter().map_while(Result::ok);
            values.map(move |value| [field.name, value.name, value.version])
        });
        for words in named {
            if self.producers.len() >= PRODUCERS {
                return;
            }
            let [field, name, version] = words.map(word);
            self.producers.insert(Producer {
                field,
                name,
                version,
            });
        }
    }
}

/// A foreign word, short and on one line.
fn word(text: &str) -> String {
    let text = tidegate_contract::text::cut(text, WORD_BYTES);
    text.chars().filter(|c| !c.is_control()).collect()
}
