//! Steps: one piece of work with a name, an input and a place for its output.

use serde::Deserialize;
use serde_json::Value;
use tidegate_contract::JsonObject;

use super::FlowProblem;
use super::expression::{Expression, ExpressionError};
use super::path::Path;
use crate::nodes::Node as RuntimeNode;

/// The key of an agent step's input that describes the step itself.
const META: &str = "$step_meta";

/// One run of one node of the runtime, or of one agent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Keys")]
pub struct Step {
    /// Names the step: 1 to 64 of letters, digits, `_`, `-`.
    pub name: StepName,
    /// Who does it: the key `node` or the key `agent`.
    pub work: Work,
    /// The input.
    pub r#in: Expression,
    /// For an agent, what stands at `$step_meta.inline` in the input; it is no part of the input.
    pub meta: JsonObject,
    /// Where the output goes in the context; `$.<name>` by default.
    pub out: Option<Path>,
    /// For `INTERACTION.OUTPUT`: the sink, where there are several.
    pub sink: Option<String>,
    /// In a graph: the steps that must have ended before. Elsewhere it is empty.
    pub after: Vec<StepName>,
}

/// Who does a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A node of the runtime.
    Node(RuntimeNode),
    /// An agent.
    Agent(AgentName),
}

impl Work {
    /// The name of the node or agent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Node(node) => node.as_str(),
            Self::Agent(agent) => agent.as_str(),
        }
    }
}

impl Step {
    /// A step of a node with an input that is read as an expression.
    ///
    /// # Errors
    ///
    /// [`FlowProblem::Name`], [`FlowProblem::Expression`].
    pub fn new(name: &str, node: RuntimeNode, input: Value) -> Result<Self, FlowProblem> {
        Self::of(name, Work::Node(node), input)
    }

    /// A step of an agent; its input may hold `$step_meta`.
    ///
    /// # Errors
    ///
    /// [`FlowProblem::Name`], [`FlowProblem::Expression`].
    pub fn agent(name: &str, agent: &str, input: Value) -> Result<Self, FlowProblem> {
        let agent = AgentName::try_from(agent.to_owned())?;
        Self::of(name, Work::Agent(agent), input)
    }

    fn of(name: &str, work: Work, input: Value) -> Result<Self, FlowProblem> {
        let input = Input::try_from(input).map_err(|source| FlowProblem::Expression {
            step: name.to_owned(),
            source,
        })?;
        Keys {
            name: StepName::try_from(name.to_owned())?,
            node: None,
            agent: None,
            r#in: input,
            out: None,
            sink: None,
            after: Vec::new(),
        }
        .with(work)
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
    pub(super) fn output(&self) -> Path {
        let by_name = || Path::key(self.name.as_str());
        self.out.clone().unwrap_or_else(by_name)
    }
}

/// A step as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    name: StepName,
    #[serde(default, deserialize_with = "node")]
    node: Option<RuntimeNode>,
    #[serde(default)]
    agent: Option<AgentName>,
    r#in: Input,
    #[serde(default)]
    out: Option<Path>,
    #[serde(default)]
    sink: Option<String>,
    #[serde(default)]
    after: Vec<StepName>,
}

impl Keys {
    fn with(self, work: Work) -> Result<Step, FlowProblem> {
        let step = || self.name.as_str().to_owned();
        let is_agent = matches!(work, Work::Agent(_));
        if self.r#in.meta.is_some() && !is_agent {
            return Err(FlowProblem::MetaOfNode { step: step() });
        }
        if self.sink.is_some() && is_agent {
            return Err(FlowProblem::SinkOfAgent { step: step() });
        }
        Ok(Step {
            name: self.name,
            work,
            r#in: self.r#in.expression,
            meta: self.r#in.meta.unwrap_or_default(),
            out: self.out,
            sink: self.sink,
            after: self.after,
        })
    }
}

impl TryFrom<Keys> for Step {
    type Error = FlowProblem;

    fn try_from(mut keys: Keys) -> Result<Self, Self::Error> {
        match (keys.node.take(), keys.agent.take()) {
            (Some(node), None) => keys.with(Work::Node(node)),
            (None, Some(agent)) => keys.with(Work::Agent(agent)),
            _ => Err(FlowProblem::Work {
                step: keys.name.as_str().to_owned(),
            }),
        }
    }
}

/// An input, and what stood beside it at `$step_meta`.
#[derive(Deserialize)]
#[serde(try_from = "Value")]
struct Input {
    expression: Expression,
    meta: Option<JsonObject>,
}

impl TryFrom<Value> for Input {
    type Error = ExpressionError;

    fn try_from(mut value: Value) -> Result<Self, Self::Error> {
        let meta = value.as_object_mut().and_then(|input| input.remove(META));
        let meta = match meta {
            None => None,
            Some(Value::Object(mut meta)) => match (meta.remove("inline"), meta.is_empty()) {
                (Some(Value::Object(inline)), true) => Some(inline),
                _ => return Err(ExpressionError::Meta),
            },
            Some(_) => return Err(ExpressionError::Meta),
        };
        Ok(Self {
            expression: Expression::try_from(value)?,
            meta,
        })
    }
}

/// The name of a step, loop, fanout or bound item.
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
        if is_name(&name) {
            Ok(Self(name))
        } else {
            Err(FlowProblem::Name)
        }
    }
}

/// The name of an agent: 1 to 64 of letters, digits, `_`, `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct AgentName(String);

impl AgentName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AgentName {
    type Error = FlowProblem;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        if is_name(&name) {
            Ok(Self(name))
        } else {
            Err(FlowProblem::Name)
        }
    }
}

fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(is_letter)
}

fn node<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<RuntimeNode>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let node = RuntimeNode::parse(&name).ok_or_else(|| {
        let known: Vec<&str> = RuntimeNode::ALL.iter().map(|node| node.as_str()).collect();
        serde::de::Error::custom(format!("unknown node; there are {}", known.join(", ")))
    });
    node.map(Some)
}
