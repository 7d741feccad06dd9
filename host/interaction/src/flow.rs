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
//! flow. In an expression a mapping whose only key is an operator (`$path`, `$lit`, `$eq`, …) is that
//! operator; everything else stands for itself.
//!
//! Steps, sequences, graphs and loops are here; the rest of the language comes with the worker's I/O
//! contract.

mod check;
mod comparison;
mod evaluate;
mod expression;
mod graph;
mod limits;
mod path;
mod run;

use serde::Deserialize;
use serde_json::Value;
use tidegate_contract::JsonObject;

pub use check::FlowProblem;
pub use comparison::Comparison;
pub use evaluate::EvaluateError;
pub use expression::{Expression, ExpressionError};
pub use limits::{FlowLimitError, FlowLimits, MAX_ITERATIONS};
pub use path::{Path, PathError};
pub use run::{FlowError, Progress, StepEnd};

use crate::nodes::Node as RuntimeNode;

/// A flow with its initial context.
///
/// What a literal can get wrong, [`check`](Self::check) finds; [`run`](Self::run) asks it first.
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
    /// How much one run may use.
    #[serde(default)]
    pub limits: FlowLimits,
}

/// One node of a flow.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Node {
    /// Runs a node of the runtime.
    Step(Step),
    /// Runs nodes one after the other.
    Seq(Vec<Self>),
    /// Runs each step once the steps of its `after` have ended, others side by side. The first error
    /// stops new starts and waits for what runs.
    Graph(Vec<Step>),
    /// Runs a node again and again.
    Loop(Box<Loop>),
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
    /// In a graph: the steps that must have ended before. Elsewhere it is empty.
    #[serde(default)]
    pub after: Vec<StepName>,
}

impl Step {
    /// A step with a name and an input that is read as an expression.
    ///
    /// # Errors
    ///
    /// [`FlowProblem::Name`], [`FlowProblem::Expression`].
    pub fn new(name: &str, node: RuntimeNode, input: Value) -> Result<Self, FlowProblem> {
        let expression = Expression::try_from(input);
        Ok(Self {
            name: StepName::try_from(name.to_owned())?,
            node,
            r#in: expression.map_err(|source| FlowProblem::Expression {
                step: name.to_owned(),
                source,
            })?,
            out: None,
            sink: None,
            after: Vec::new(),
        })
    }

    /// The same step with dependencies: it starts once these have ended.
    ///
    /// # Errors
    ///
    /// [`FlowProblem::Name`].
    pub fn after(mut self, names: &[&str]) -> Result<Self, FlowProblem> {
        let names = names
            .iter()
            .map(|name| StepName::try_from((*name).to_owned()));
        self.after = names.collect::<Result<_, _>>()?;
        Ok(self)
    }

    /// Where the output goes.
    pub(crate) fn place(&self) -> Path {
        let by_name = || Path::key(self.name.as_str());
        self.out.clone().unwrap_or_else(by_name)
    }
}

/// Runs `body` at least once, until `done`. The state stands in the context at `$.<name>`.
///
/// Each iteration lays `bind` over the context, runs `body`, takes `update` as the next state, and
/// asks `done`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loop {
    /// Names the loop and its state: 1 to 64 of letters, digits, `_`, `-`.
    pub name: StepName,
    /// The state before the first iteration; null by default.
    #[serde(default = "Expression::null")]
    pub state: Expression,
    /// An object that is laid over the context before each iteration, key by key; empty by default.
    #[serde(default = "Expression::empty_object")]
    pub bind: Expression,
    /// What each iteration runs.
    pub body: Node,
    /// The next state; without it the state stays.
    #[serde(default)]
    pub update: Option<Expression>,
    /// Asked after each iteration; true ends the loop. Nothing but a boolean will do.
    pub done: Expression,
    /// The loop fails when it is not done by then: 1 to [`MAX_ITERATIONS`], 32 by default.
    #[serde(default = "limits::default_iterations")]
    pub max_iterations: u32,
}

/// The name of a step or loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
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
    type Error = FlowProblem;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if (1..=64).contains(&name.len()) && name.chars().all(allowed) {
            Ok(Self(name))
        } else {
            Err(FlowProblem::Name)
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
