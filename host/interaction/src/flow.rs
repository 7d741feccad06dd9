//! Flows: steps over the nodes of a runtime, written as data (SPEC I11, X4).
//!
//! A flow file has an id, a flow, and optionally an initial context and a result:
//!
//! ```yaml
//! id: read-one
//! init: { file: README.md }
//! flow:
//!   seq:
//!     - step:
//!         name: read
//!         node: INTERACTION.ACT.TOOL
//!         in: { call: { id: "read:0", name: read_text, arguments: { path: { $path: "$.file" } } } }
//!     - step: { name: observe, node: INTERACTION.OBSERVE, in: { result: { $path: "$.read" } } }
//! result: { $path: "$.observe.message" }
//! ```
//!
//! The context is one JSON object. A step evaluates `in`, runs its node on it, and writes the output
//! to `out`, by default `$.<name>`. A result that says `failed` is data; an error of a call ends the
//! flow. In an expression a mapping whose only key is an operator (`$path`, `$lit`) is that operator;
//! everything else stands for itself.
//!
//! Steps and sequences are here; the rest of the language comes with the worker's I/O contract.

mod expression;
mod path;
mod run;

use serde::Deserialize;
use serde_json::Value;
use tidegate_contract::JsonObject;

pub use expression::{Expression, ExpressionError, GATHERED_BYTES};
pub use path::{Path, PathError};
pub use run::{FlowError, Progress, StepEnd};

use crate::nodes::Node as RuntimeNode;

/// A flow with its initial context.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::struct_field_names,
    reason = "the fields are the keys of the file"
)]
pub struct Flow {
    /// Names the flow to people.
    pub id: String,
    /// The context before the first step; the caller's input is laid over it, key by key.
    #[serde(default)]
    pub init: JsonObject,
    /// What runs.
    pub flow: Node,
    /// What the flow gives back; without it, nothing.
    #[serde(default)]
    pub result: Option<Expression>,
}

/// One node of a flow.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Node {
    /// Runs a node of the runtime.
    Step(Step),
    /// Runs nodes one after the other.
    Seq(Vec<Self>),
}

/// One run of one node of the runtime.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Names the step: 1 to 64 of letters, digits, `_`, `-`.
    pub name: StepName,
    /// The node of the runtime.
    #[serde(deserialize_with = "node")]
    pub node: RuntimeNode,
    /// The node's input.
    pub r#in: Expression,
    /// Where the output goes in the context; `$.<name>` by default.
    #[serde(default)]
    pub out: Option<Path>,
    /// For `INTERACTION.OUTPUT`: the sink, where there are several.
    #[serde(default)]
    pub sink: Option<String>,
}

/// The name of a step.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct StepName(String);

impl StepName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for StepName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if (1..=64).contains(&name.len()) && name.chars().all(allowed) {
            Ok(Self(name))
        } else {
            Err("a step's name is 1 to 64 of letters, digits, `_`, `-`".to_owned())
        }
    }
}

fn node<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<RuntimeNode, D::Error> {
    let name = String::deserialize(deserializer)?;
    RuntimeNode::parse(&name).ok_or_else(|| {
        let known: Vec<&str> = RuntimeNode::ALL.iter().map(|node| node.as_str()).collect();
        serde::de::Error::custom(format!("unknown node; there are {}", known.join(", ")))
    })
}

impl Flow {
    /// The context of a run: the initial one with the caller's input over it.
    #[must_use]
    pub fn context(&self, input: JsonObject) -> Value {
        let mut context = self.init.clone();
        context.extend(input);
        Value::Object(context)
    }
}
