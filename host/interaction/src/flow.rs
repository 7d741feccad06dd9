//! Flows: steps of a runtime's nodes and of agents, written as data (SPEC I11, X4).
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
//! Deliberately absent: what an agent is, and what keeps a journal; [`Agents`] and [`Journal`] are the
//! ports to both.

mod act;
mod arithmetic;
mod budget;
mod check;
mod comparison;
mod error;
mod evaluate;
mod expression;
mod fanout;
mod graph;
mod limits;
mod node;
mod path;
mod place;
mod problem;
mod run;
mod scope;
mod step;
mod surroundings;
mod together;

use serde::Deserialize;
use serde_json::Value;
use tidegate_contract::JsonObject;

pub use arithmetic::Arithmetic;
pub use check::{Channel, Contract, Contracts, Known};
pub use comparison::Comparison;
pub use error::FlowError;
pub use evaluate::EvaluateError;
pub use expression::{Expression, ExpressionError};
pub use limits::{
    FlowLimitError, FlowLimits, MAX_EVALUATIONS, MAX_ITERATIONS, MAX_LANES, MAX_PARTS,
};
pub use node::{Assign, Branch, Catch, Fanout, Join, Loop, Node, Try};
pub use path::{Path, PathError};
pub use place::Place;
pub use problem::{FlowProblem, PlacedProblem};
pub use run::{Progress, StepEnd};
pub use step::{AgentName, Step, StepName, Work};
pub use surroundings::{AgentEnd, AgentStep, Agents, Journal, Kept, Surroundings};

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

impl Flow {
    /// The context of a run: the initial one with the caller's input over it.
    #[must_use]
    pub fn context(&self, input: JsonObject) -> Value {
        let mut context = self.init.clone();
        context.extend(input);
        Value::Object(context)
    }

    /// The lanes of fanouts that a place of a run stands in, outermost first.
    #[must_use]
    pub fn lanes(&self, place: &Place) -> Vec<u32> {
        self.flow.lanes(place)
    }
}
