//! What a component says of its functions and types in words: the custom sections `package-docs`, which
//! tools of WIT write (SPEC T7). Nothing checks that it is true.
//!
//! A section is a version and one JSON document, which names interfaces, worlds, functions, types and
//! fields. Deliberately absent: the cases of variants, enums and flags; their schemas have no place for
//! words.

use serde_json::Value;
use tidegate_contract::json::{self, JsonBounds};
use tidegate_contract::{JsonObject, ToolDefinition};
use wasmparser::{Parser, Payload};
use wasmtime::component::Type;

use super::{Function, Typed};

/// The name of a section.
const SECTION: &str = "package-docs";

/// The versions that are known. They differ in how the words of a function stand there.
const VERSIONS: [u8; 2] = [0, 1];

/// The most that is read of all documents together, and the most of them: components are made of parts.
const DOCUMENTS_BYTES: usize = 1024 * 1024;
const DOCUMENTS: usize = 32;

/// Most worlds of a document that are looked at: a component is of one.
const WORLDS: usize = 16;

/// The longest words for a field, in bytes; longer ones are left out. Schemas are bounded as a whole.
const FIELD_BYTES: usize = 1024;

/// The documents of a component.
pub(crate) struct Docs(Vec<Value>);

impl Docs {
    /// Reads what there is; a section that is damaged or too large is passed over.
    pub(crate) fn read(component: &[u8]) -> Self {
        let payloads = Parser::new(0).parse_all(component).map_while(Result::ok);
        let mut left = DOCUMENTS_BYTES;
        let sections = payloads.filter_map(|payload| match payload {
            Payload::CustomSection(section) if section.name() == SECTION => Some(section.data()),
            _ => None,
        });
        let within = sections.take(DOCUMENTS).filter(|section| {
            let rest = left.checked_sub(section.len());
            left = rest.unwrap_or(left);
            rest.is_some()
        });
        Self(within.filter_map(document).collect())
    }

    /// Puts words to the tools, and to the fields of their arguments, as far as a definition may be long.
    pub(crate) fn describe(&self, typed: &Typed, definitions: &mut [ToolDefinition]) {
        if self.0.is_empty() {
            return;
        }
        for definition in definitions {
            let Some(function) = typed.function(definition.name.as_str()) else {
                continue;
            };
            let mut described = definition.clone();
            described.description = self.function(function);
            if described.check().is_err() {
                described.description = None;
            }
            let words = Words {
                docs: self,
                typed,
                function,
            };
            for (name, of) in &function.parameters {
                words.parameter(&mut described.input_schema, name, of);
            }
            if described.check().is_ok() {
                *definition = described;
            }
        }
    }

    fn function(&self, function: &Function) -> Option<String> {
        let name = function.export.as_str();
        self.places(function, &["funcs", "func_exports"])
            .find_map(|functions| words(functions.get(name)?))
    }

    /// The tables of these names in what speaks of a function's interface, or of the world for one of the
    /// component itself.
    fn places<'a>(
        &'a self,
        function: &'a Function,
        tables: &'static [&'static str],
    ) -> impl Iterator<Item = &'a Value> {
        let owners = self
            .0
            .iter()
            .flat_map(move |document| match &function.interface {
                Some(interface) => named(document, "interfaces", interface),
                None => worlds(document),
            });
        owners.flat_map(move |owner| tables.iter().filter_map(move |table| owner.get(*table)))
    }
}

/// The words for one function's arguments.
struct Words<'a> {
    docs: &'a Docs,
    typed: &'a Typed,
    function: &'a Function,
}

impl Words<'_> {
    fn parameter(&self, schema: &mut JsonObject, name: &str, of: &Type) {
        let properties = schema.get_mut("properties");
        if let Some(schema) = properties.and_then(|properties| properties.get_mut(name)) {
            self.schema(schema, of);
        }
    }

    fn schema(&self, schema: &mut Value, of: &Type) {
        let inner = match of {
            Type::Record(record) => {
                let docs = self.of_type(of);
                for field in record.fields() {
                    let Some(property) = schema.pointer_mut(&format!("/properties/{}", field.name))
                    else {
                        continue;
                    };
                    self.schema(property, &field.ty);
                    let said = docs.and_then(|docs| words(docs.get("items")?.get(field.name)?));
                    describe(property, said);
                }
                describe(schema, docs.and_then(words));
                return;
            }
            Type::List(list) => schema.get_mut("items").zip(Some(list.ty())),
            Type::Option(option) => schema.pointer_mut("/anyOf/0").zip(Some(option.ty())),
            _ => None,
        };
        if let Some((schema, of)) = inner {
            self.schema(schema, &of);
        }
    }

    /// What is said of a type; nothing where two types with one shape have names, since a value does not
    /// say which of them it is.
    fn of_type(&self, of: &Type) -> Option<&Value> {
        let mut names = self
            .typed
            .named
            .iter()
            .filter(|named| named.interface == self.function.interface && named.of == *of);
        let (name, None) = (names.next()?, names.next()) else {
            return None;
        };
        self.docs
            .places(self.function, &["types"])
            .find_map(|types| types.get(&name.name))
    }
}

fn document(section: &[u8]) -> Option<Value> {
    let (version, text) = section.split_first()?;
    let text = VERSIONS
        .contains(version)
        .then(|| std::str::from_utf8(text).ok())??;
    let bounds = JsonBounds {
        bytes: DOCUMENTS_BYTES,
        ..JsonBounds::default()
    };
    json::parse(text, &bounds).ok()
}

fn named<'a>(document: &'a Value, table: &str, name: &str) -> Vec<&'a Value> {
    let one = document.get(table).and_then(|table| table.get(name));
    one.into_iter().collect()
}

fn worlds(document: &Value) -> Vec<&Value> {
    let all = document.get("worlds").and_then(Value::as_object);
    all.into_iter()
        .flat_map(JsonObject::values)
        .take(WORLDS)
        .collect()
}

/// Words that stand there as a text, or as `docs` of an object.
fn words(said: &Value) -> Option<String> {
    let text = said.as_str().or_else(|| said.get("docs")?.as_str())?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn describe(schema: &mut Value, said: Option<String>) {
    if let (Value::Object(schema), Some(said)) = (schema, said)
        && said.len() <= FIELD_BYTES
    {
        schema.insert("description".to_owned(), Value::String(said));
    }
}
