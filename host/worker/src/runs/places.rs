//! Which step stands at a place of a flow, and which of them are done inside of the host.

use std::collections::HashMap;

use tidegate::Node as RuntimeNode;
use tidegate::flow::{Node, Step, Work};

use crate::blueprint::Blueprint;
use crate::error::WorkerError;
use crate::step::LANES;

/// The steps of a flow by their places, the numbers of iterations and lanes left out.
#[derive(Debug, Default)]
pub(super) struct Places(HashMap<String, Stands>);

/// A step at a place.
#[derive(Debug)]
pub(super) struct Stands {
    /// Its name.
    pub(super) name: String,
    /// Whether it is given to an agent.
    pub(super) is_agents: bool,
    /// Whether it can come to its end again after a crash: an agent's attempt keeps it, and observing
    /// does nothing.
    pub(super) is_repeatable: bool,
}

impl Places {
    pub(super) fn of(blueprint: &Blueprint) -> Self {
        let mut places = Self::default();
        places.add(&blueprint.flow().flow, "0".to_owned());
        places
    }

    /// The step at a place; `None` for what is no step.
    pub(super) fn step(&self, place: &str) -> Option<&Stands> {
        let mut pattern = String::with_capacity(place.len());
        let mut is_inside = false;
        for c in place.chars() {
            is_inside &= c != ']';
            if !is_inside {
                pattern.push(c);
            }
            is_inside |= c == '[';
        }
        self.0.get(&pattern)
    }

    fn add(&mut self, node: &Node, place: String) {
        match node {
            Node::Step(step) => self.stands(step, place),
            Node::Graph(steps) => {
                for (at, step) in steps.iter().enumerate() {
                    self.stands(step, format!("{place}.{at}"));
                }
            }
            _ => {
                for (at, inner) in inside(node) {
                    self.add(inner, format!("{place}{at}"));
                }
            }
        }
    }

    fn stands(&mut self, step: &Step, place: String) {
        let stands = Stands {
            name: step.name.as_str().to_owned(),
            is_agents: matches!(step.work, Work::Agent(_)),
            is_repeatable: matches!(step.work, Work::Agent(_) | Work::Node(RuntimeNode::Observe)),
        };
        self.0.insert(place, stands);
    }
}

/// The nodes in a node that is no step, each with how its place goes on.
fn inside(node: &Node) -> Vec<(String, &Node)> {
    let child = |at: usize| format!(".{at}");
    let turn = || "[]".to_owned();
    match node {
        Node::Step(_) | Node::Graph(_) | Node::Assign(_) => Vec::new(),
        Node::Seq(nodes) => {
            let nodes = nodes.iter().enumerate();
            nodes.map(|(at, node)| (child(at), node)).collect()
        }
        Node::Loop(inner) => vec![(turn(), &inner.body)],
        Node::Fanout(fanout) => vec![(turn(), &fanout.body)],
        Node::Branch(branch) => {
            let other = branch.r#else.iter().map(|node| (child(1), node));
            [(child(0), &branch.then)]
                .into_iter()
                .chain(other)
                .collect()
        }
        Node::Try(attempt) => vec![(child(0), &attempt.body), (child(1), &attempt.catch.body)],
    }
}

/// Whether each agent's step stands in no more fanouts than its name can tell.
pub(crate) fn check_lanes(node: &Node, around: usize) -> Result<(), WorkerError> {
    let has_agent = |steps: &[&Step]| {
        let agent = steps
            .iter()
            .find(|step| matches!(step.work, Work::Agent(_)));
        agent.map(|step| step.name.as_str().to_owned())
    };
    if around > LANES
        && let Some(step) = has_agent(&node.steps())
    {
        return Err(WorkerError::InvalidRequest {
            reason: format!("step `{step}` stands in more than {LANES} fanouts"),
        });
    }
    let more = usize::from(matches!(node, Node::Fanout(_)));
    for (_, inner) in inside(node) {
        check_lanes(inner, around + more)?;
    }
    Ok(())
}
