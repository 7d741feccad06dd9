//! Conditions on an agent's verdict that can never hold (SPEC I7).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::places::Places;
use crate::flow::Flow;
use crate::flow::comparison::Comparison;
use crate::flow::expression::Expression;
use crate::flow::node::{Assign, Node};
use crate::flow::path::{Path, Segment};
use crate::flow::place::Place;
use crate::flow::problem::{FlowProblem, PlacedProblem};
use crate::flow::step::{AgentName, Work};

/// What an agent's verdict can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract {
    /// Where the verdict is.
    pub channel: Channel,
    /// All that it can be.
    pub values: Vec<String>,
}

/// Tells what an agent's verdict can be; `None` where nothing is said of it.
pub type Contracts<'a> = dyn Fn(&AgentName) -> Option<Contract> + 'a;

/// Where an agent's verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// The final body: the step's value, or `out` in it beside parts.
    Body,
    /// The part `verdict`: `parts["verdict"]` in the step's value.
    Part,
}

impl Channel {
    /// Where a condition finds it.
    pub(in crate::flow) const fn place(self) -> &'static str {
        match self {
            Self::Body => "in its final body: the step's value, or `out` in it",
            Self::Part => "in its part `verdict`: `parts[\"verdict\"]` in the step's value",
        }
    }

    /// The channel that a way inside a step's value leads to.
    fn of(way: &[Segment]) -> Option<Self> {
        match way {
            [] => Some(Self::Body),
            [Segment::Key(out)] if out == "out" => Some(Self::Body),
            [Segment::Key(parts), Segment::Key(name)] if parts == "parts" && name == "verdict" => {
                Some(Self::Part)
            }
            _ => None,
        }
    }
}

/// What may be written to the context.
#[derive(Default)]
struct Outputs {
    /// The outputs of agents.
    agents: Vec<(Path, AgentName)>,
    /// All other places.
    others: Places,
}

pub(super) fn check(flow: &Flow, contracts: &Contracts<'_>) -> Result<(), PlacedProblem> {
    let mut outputs = Outputs::default();
    outputs.add(&flow.flow);
    for key in flow.init.keys() {
        outputs.others.add(&Path::key(key));
    }
    let mut ahead = vec![(&flow.flow, Place::root())];
    while let Some((node, place)) = ahead.pop() {
        let condition = match node {
            Node::Branch(branch) => Some(&branch.cond),
            Node::Loop(inner) => Some(&inner.done),
            _ => None,
        };
        let mut problem = None;
        if let Some(condition) = condition {
            comparisons(condition, &mut |path, value| {
                if problem.is_none() {
                    problem = judge(path, value, &outputs, contracts).err();
                }
            });
        }
        if let Some(problem) = problem {
            return Err(PlacedProblem { place, problem });
        }
        let children = node.children().into_iter().rev();
        ahead.extend(children.map(|(at, child)| (child, place.of(at))));
    }
    Ok(())
}

impl Outputs {
    /// Adds every place that a node may write.
    fn add(&mut self, node: &Node) {
        let mut add = |path: &Path| self.others.add(path);
        match node {
            Node::Loop(inner) => {
                add(&Path::key(inner.name.as_str()));
                inner.bound().iter().for_each(add);
            }
            Node::Fanout(fanout) => {
                let names = [&fanout.name, &fanout.bind]
                    .into_iter()
                    .chain(&fanout.index);
                names.for_each(|name| add(&Path::key(name.as_str())));
            }
            Node::Try(attempt) => add(&Path::key(attempt.catch.r#as.as_str())),
            Node::Assign(Assign(places)) => places.iter().for_each(|(path, _)| add(path)),
            Node::Step(_) | Node::Graph(_) => {
                for step in node.steps() {
                    match &step.work {
                        Work::Agent(agent) => self.agents.push((step.output(), agent.clone())),
                        Work::Node(_) => self.others.add(&step.output()),
                    }
                }
            }
            Node::Seq(_) | Node::Branch(_) => {}
        }
        for (_, child) in node.children() {
            self.add(child);
        }
    }
}

/// Shows each place that is compared with a literal for being the same or not.
fn comparisons<'a>(expression: &'a Expression, see: &mut dyn FnMut(&'a Path, &'a Value)) {
    match expression {
        Expression::Compare(Comparison::Equal | Comparison::NotEqual, pair) => {
            match pair.as_ref() {
                [Expression::Path(path), Expression::Literal(value)]
                | [Expression::Literal(value), Expression::Path(path)] => see(path, value),
                _ => {}
            }
        }
        Expression::In(pair) => match pair.as_ref() {
            [
                Expression::Path(path),
                Expression::Literal(Value::Array(items)),
            ] => {
                for item in items {
                    see(path, item);
                }
            }
            [Expression::Path(path), Expression::Array(items)] => {
                for item in items {
                    if let Expression::Literal(value) = item {
                        see(path, value);
                    }
                }
            }
            _ => {}
        },
        Expression::Not(item) => comparisons(item, see),
        Expression::All(items) | Expression::Any(items) => {
            for item in items {
                comparisons(item, see);
            }
        }
        _ => {}
    }
}

/// A comparison is a problem where whatever may stand at the place is an agent's verdict, and none of
/// the agents can give the value there.
fn judge(
    path: &Path,
    value: &Value,
    outputs: &Outputs,
    contracts: &Contracts<'_>,
) -> Result<(), FlowProblem> {
    if value.is_array() || value.is_object() || outputs.others.touch(path) {
        return Ok(());
    }
    let mut problem = None;
    for (written, agent) in &outputs.agents {
        if !written.overlaps(path) {
            continue;
        }
        let judged = || {
            let channel = Channel::of(path.within(written)?)?;
            Some(contracts(agent)?.refuses(channel, value, (path, agent)))
        };
        match judged() {
            // What stands there may be anything, or just this.
            None | Some(None) => return Ok(()),
            Some(refused) => problem = problem.or(refused),
        }
    }
    problem.map_or(Ok(()), Err)
}

impl Contract {
    fn refuses(
        &self,
        channel: Channel,
        value: &Value,
        (path, agent): (&Path, &AgentName),
    ) -> Option<FlowProblem> {
        let (path, agent) = (path.to_string(), agent.as_str().to_owned());
        if channel != self.channel {
            return Some(FlowProblem::Channel {
                path,
                agent,
                channel: self.channel,
            });
        }
        // A body that was parsed is compared as the value that its text stands for.
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        if self.values.contains(&text) {
            return None;
        }
        Some(FlowProblem::Verdict {
            path,
            agent,
            value: value.to_string(),
            values: self.values.clone(),
        })
    }
}
