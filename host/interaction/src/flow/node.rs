//! The nodes of a flow: what stands in a file, as data.

use std::fmt;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;

use super::expression::Expression;
use super::limits;
use super::path::Path;
use super::place::{Inside, Place};
use super::step::{Step, StepName};

/// One node of a flow.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Node {
    /// Runs a node of the runtime, or has an agent do it.
    Step(Box<Step>),
    /// Runs nodes one after the other.
    Seq(Vec<Self>),
    /// Runs each step once the steps of its `after` have ended, others side by side. The first error
    /// stops new starts and waits for what runs.
    Graph(Vec<Step>),
    /// Runs a node again and again.
    Loop(Box<Loop>),
    /// Runs one of two nodes.
    Branch(Box<Branch>),
    /// Runs a node once for each item of a list, side by side.
    Fanout(Box<Fanout>),
    /// Runs a node, and another one if it fails.
    Try(Box<Try>),
    /// Writes values to the context.
    Assign(Assign),
}

impl Node {
    /// The nodes inside, each with where it stands.
    pub(super) fn children(&self) -> Vec<(Inside, &Self)> {
        match self {
            Self::Step(_) | Self::Graph(_) | Self::Assign(_) => Vec::new(),
            Self::Seq(nodes) => {
                let at = nodes.iter().enumerate();
                at.map(|(at, node)| (Inside::Child(at), node)).collect()
            }
            Self::Loop(inner) => vec![(Inside::Turn, &inner.body)],
            Self::Fanout(fanout) => vec![(Inside::Turn, &fanout.body)],
            Self::Branch(branch) => {
                let other = branch.r#else.iter().map(|node| (Inside::Child(1), node));
                [(Inside::Child(0), &branch.then)]
                    .into_iter()
                    .chain(other)
                    .collect()
            }
            Self::Try(attempt) => vec![
                (Inside::Child(0), &attempt.body),
                (Inside::Child(1), &attempt.catch.body),
            ],
        }
    }

    /// The lanes that a place inside stands in, outermost first.
    pub(super) fn lanes(&self, place: &Place) -> Vec<u32> {
        let mut lanes = Vec::new();
        let mut node = Some(self);
        // The first part is the flow's own node.
        for part in place.as_str().split(['.', '[']).skip(1) {
            let Some(around) = node else { break };
            let turn = part.strip_suffix(']').and_then(|turn| turn.parse().ok());
            if let (Self::Fanout(_), Some(lane)) = (around, turn) {
                lanes.push(lane);
            }
            let is_next = |at: &Inside| match at {
                Inside::Child(at) => part.parse() == Ok(*at),
                Inside::Turn => turn.is_some(),
            };
            let mut children = around.children().into_iter();
            node = children.find(|(at, _)| is_next(at)).map(|(_, node)| node);
        }
        lanes
    }

    /// How many parts its own expressions, entries and dependencies have.
    pub(super) fn parts(&self) -> usize {
        let of_step = |step: &Step| step.after.len() + step.r#in.parts();
        match self {
            Self::Seq(_) | Self::Try(_) => 0,
            Self::Step(step) => of_step(step),
            Self::Graph(steps) => steps.iter().map(of_step).sum(),
            Self::Loop(inner) => {
                let expressions = [&inner.state, &inner.bind, &inner.done];
                let all = expressions.into_iter().chain(&inner.update);
                all.map(Expression::parts).sum()
            }
            Self::Branch(branch) => branch.cond.parts(),
            Self::Fanout(fanout) => fanout.items.parts(),
            Self::Assign(Assign(entries)) => {
                let parts = |(_, expression): &(Path, Expression)| 1 + expression.parts();
                entries.iter().map(parts).sum()
            }
        }
    }

    /// Adds every place of the context that the node may write; of a fanout, what is there after it.
    pub(super) fn writes(&self, places: &mut Vec<Path>) {
        match self {
            Self::Step(step) => places.push(step.output()),
            Self::Graph(steps) => places.extend(steps.iter().map(Step::output)),
            Self::Assign(Assign(entries)) => {
                places.extend(entries.iter().map(|(path, _)| path.clone()));
            }
            Self::Fanout(fanout) => {
                places.push(Path::key(fanout.name.as_str()));
                return;
            }
            Self::Loop(inner) => {
                places.push(Path::key(inner.name.as_str()));
                places.extend(inner.bound());
            }
            Self::Try(attempt) => places.push(Path::key(attempt.catch.r#as.as_str())),
            Self::Seq(_) | Self::Branch(_) => {}
        }
        for (_, node) in self.children() {
            node.writes(places);
        }
    }

    /// The steps in the order of the file, those of loops and fanouts once.
    #[must_use]
    pub fn steps(&self) -> Vec<&Step> {
        match self {
            Self::Step(step) => vec![step],
            Self::Graph(steps) => steps.iter().collect(),
            _ => {
                let children = self.children().into_iter();
                children.flat_map(|(_, node)| node.steps()).collect()
            }
        }
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
    /// The loop fails when it is not done by then: 1 to
    /// [`MAX_ITERATIONS`](super::MAX_ITERATIONS), 32 by default.
    #[serde(default = "limits::default_iterations")]
    pub max_iterations: u32,
}

impl Loop {
    /// The places that `bind` writes: all, where its keys are not written down.
    pub(super) fn bound(&self) -> Vec<Path> {
        match &self.bind {
            Expression::Object(entries) => entries.iter().map(|(key, _)| Path::key(key)).collect(),
            Expression::Literal(Value::Object(map)) => {
                map.keys().map(|key| Path::key(key)).collect()
            }
            _ => vec![Path::root()],
        }
    }
}

/// Runs `then` where `cond` is true, and `else`, if there is one, where it is false.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Nothing but a boolean will do.
    pub cond: Expression,
    /// Runs when it is true.
    pub then: Node,
    /// Runs when it is false; without it nothing does.
    #[serde(default)]
    pub r#else: Option<Node>,
}

/// Runs `body` once for each item, side by side, each in a lane of its own.
///
/// A lane sees the context as it was before the fanout, with the item over it, and what it writes
/// itself. What it wrote is its output, as a mapping; `join` says what of the lanes' outputs stands in
/// the context at `$.<name>` afterwards.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fanout {
    /// Names the fanout and its output: 1 to 64 of letters, digits, `_`, `-`.
    pub name: StepName,
    /// The list of items.
    pub items: Expression,
    /// Where a lane finds its item: at `$.<bind>`.
    pub bind: StepName,
    /// Where a lane finds the number of its item, counted from 0: at `$.<index>`, if it is given.
    #[serde(default)]
    pub index: Option<StepName>,
    /// What each lane runs.
    pub body: Node,
    /// What the lanes come to together.
    #[serde(default)]
    pub join: Join,
    /// More items are an error: 1 to [`MAX_LANES`](super::MAX_LANES), 1,000 by default.
    #[serde(default = "limits::default_lanes")]
    pub max_items: u32,
    /// Lanes that run at once; `limits.concurrency` by default.
    #[serde(default)]
    pub concurrency: Option<usize>,
}

/// What the lanes of a fanout come to together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// The list of all outputs, in the order of the items. The first error stops new lanes, waits for
    /// those that run, and is the fanout's.
    #[default]
    All,
    /// The output of the first lane that succeeds; the others are cancelled. It is an error when none
    /// does.
    Any,
    /// The output or the error of the first lane that ends; the others are cancelled.
    Race,
    /// A list with `{status: success, value}` or `{status: failed, error}` for each item.
    AllSettled,
}

/// Runs `body`; if that fails, what it wrote is taken back, and `catch` runs.
///
/// A caller's cancelling is not caught.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Try {
    /// Runs first.
    pub body: Node,
    /// Runs after an error of it.
    pub catch: Catch,
}

/// What follows an error.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catch {
    /// Where the error stands, as `{code, message, step, value?}`: at `$.<as>`.
    pub r#as: StepName,
    /// Runs after it.
    pub body: Node,
}

/// Writes values to places: a mapping from paths to expressions. All expressions are evaluated before
/// anything is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Assign(pub Vec<(Path, Expression)>);

impl<'de> Deserialize<'de> for Assign {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Places)
    }
}

/// Reads an [`Assign`] in the order of the file.
struct Places;

impl<'de> Visitor<'de> for Places {
    type Value = Assign;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping from paths to expressions")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Assign, A::Error> {
        let mut places = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            places.push(entry);
        }
        Ok(Assign(places))
    }
}
