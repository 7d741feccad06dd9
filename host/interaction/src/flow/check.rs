//! Checking a flow before anything runs: its bounds, and what it can't mean.

mod contracts;
mod graph;
mod places;
mod reads;

use std::fmt;

use tidegate_contract::JsonObject;

use super::expression::Expression;
use super::limits::{MAX_EVALUATIONS, MAX_ITERATIONS, MAX_LANES, MAX_PARTS};
use super::node::{Assign, Branch, Fanout, Loop, Node};
use super::path::Path;
use super::place::Place;
use super::problem::{FlowProblem, NESTING, PlacedProblem};
use super::step::{Step, StepName};
use super::{Flow, FlowLimits};

pub use contracts::{Channel, Contract, Contracts};
pub(super) use graph::dependencies;
pub(super) use places::Places;

/// What is known around a flow when it is checked. Less is found without it.
#[derive(Clone, Copy, Default)]
pub struct Known<'a> {
    /// The caller's input: then paths that can lead nowhere are found.
    pub input: Option<&'a JsonObject>,
    /// What each agent's verdict can be: then conditions that can't hold are found.
    pub contracts: Option<&'a Contracts<'a>>,
}

impl fmt::Debug for Known<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known")
            .field("input", &self.input)
            .finish_non_exhaustive()
    }
}

impl Flow {
    /// Checks the flow by itself: limits, number and nesting of nodes, loops, fanouts, conditions, and
    /// each graph: names, dependencies, cycles, and whether steps that run side by side touch one
    /// place.
    ///
    /// # Errors
    ///
    /// The first problem, naming the step or node.
    pub fn check(&self) -> Result<(), FlowProblem> {
        let checked = self.check_with(&Known::default());
        checked.map_err(|placed| placed.problem)
    }

    /// As [`check`](Self::check), with what is known around it: paths that are sure to lead nowhere,
    /// and conditions on verdicts that an agent never gives, are problems too.
    ///
    /// # Errors
    ///
    /// The first problem and where it stands.
    pub fn check_with(&self, known: &Known<'_>) -> Result<(), PlacedProblem> {
        self.check_nodes()?;
        if let Some(input) = known.input {
            reads::check(self, input)?;
        }
        match known.contracts {
            Some(contracts) => contracts::check(self, contracts),
            None => Ok(()),
        }
    }

    fn check_nodes(&self) -> Result<(), PlacedProblem> {
        let at = |place: &Place| {
            let place = place.clone();
            move |problem| PlacedProblem { place, problem }
        };
        let root = Place::root();
        let limits = self.limits.check();
        limits.map_err(|error| at(&root)(error.into()))?;
        let mut left = self.limits.nodes;
        let of_result = self.result.as_ref().map_or(0, Expression::parts);
        let mut parts = MAX_PARTS.checked_sub(of_result);
        let around = Around {
            nesting: 1,
            iterations: 1,
            lanes: 1,
        };
        let mut ahead = vec![(&self.flow, around, root)];
        while let Some((node, around, place)) = ahead.pop() {
            let steps = match node {
                Node::Graph(steps) => steps.len(),
                _ => 0,
            };
            parts = parts.and_then(|parts| parts.checked_sub(node.parts()));
            let inside = match left.checked_sub(1 + steps) {
                _ if parts.is_none() => Err(FlowProblem::Parts),
                Some(less) if around.nesting <= NESTING => {
                    left = less;
                    around.check(node, &place)
                }
                Some(_) => Err(FlowProblem::Nesting),
                None => Err(FlowProblem::Nodes {
                    limit: self.limits.nodes,
                }),
            };
            let inside = inside.map_err(at(&place))?;
            // Reversed, so that the first problem of the file is found first.
            let children = node.children().into_iter().rev();
            ahead.extend(children.map(|(at, child)| (child, inside, place.of(at))));
        }
        Ok(())
    }
}

/// What stands around a node.
#[derive(Clone, Copy)]
struct Around {
    nesting: usize,
    /// How often it may run in all loops around it.
    iterations: u32,
    /// How many lanes all fanouts around it may have.
    lanes: u32,
}

impl Around {
    /// Checks a node by itself, and says what stands around its children.
    fn check(self, node: &Node, place: &Place) -> Result<Self, FlowProblem> {
        let inside = Self {
            nesting: self.nesting + 1,
            ..self
        };
        match node {
            Node::Step(step) if step.after.is_empty() => written(&name(step), &step.output())?,
            Node::Step(step) => return Err(FlowProblem::AfterOutside { step: name(step) }),
            Node::Seq(_) | Node::Try(_) => {}
            Node::Graph(steps) => graph::check(steps)?,
            Node::Loop(inner) => {
                let iterations = self.iterations_of(inner)?;
                let inside = Self {
                    iterations,
                    ..inside
                };
                return inside.multiplied(&inner.name);
            }
            Node::Branch(branch) => condition(branch, place)?,
            Node::Fanout(fanout) => {
                let lanes = self.lanes_of(fanout)?;
                return Self { lanes, ..inside }.multiplied(&fanout.name);
            }
            Node::Assign(assign) => assigned(assign, place)?,
        }
        Ok(inside)
    }

    /// Bounds how often what stands inside may run.
    fn multiplied(self, name: &StepName) -> Result<Self, FlowProblem> {
        let all = self.iterations.checked_mul(self.lanes);
        if all.is_some_and(|all| all <= MAX_EVALUATIONS) {
            return Ok(self);
        }
        Err(FlowProblem::Evaluations {
            name: name.as_str().to_owned(),
        })
    }

    fn iterations_of(self, inner: &Loop) -> Result<u32, FlowProblem> {
        let all = self.iterations.checked_mul(inner.max_iterations);
        all.filter(|all| (1..=MAX_ITERATIONS).contains(all))
            .ok_or_else(|| FlowProblem::Iterations {
                name: inner.name.as_str().to_owned(),
            })
    }

    fn lanes_of(self, fanout: &Fanout) -> Result<u32, FlowProblem> {
        let name = || fanout.name.as_str().to_owned();
        if fanout.index.as_ref() == Some(&fanout.bind) {
            return Err(FlowProblem::Index { name: name() });
        }
        let most = FlowLimits::MAXIMUM.concurrency;
        match fanout.concurrency {
            Some(value) if value == 0 || value > most => {
                let name = name();
                return Err(FlowProblem::Concurrency { name, value });
            }
            _ => {}
        }
        let all = self.lanes.checked_mul(fanout.max_items);
        all.filter(|all| (1..=MAX_LANES).contains(all))
            .ok_or_else(|| FlowProblem::Lanes { name: name() })
    }
}

fn name(step: &Step) -> String {
    step.name.as_str().to_owned()
}

/// A condition that reads nothing has one value, and some expressions are never a boolean.
fn condition(branch: &Branch, place: &Place) -> Result<(), FlowProblem> {
    let never = || FlowProblem::NoCondition {
        branch: place.clone(),
    };
    let mut reads = false;
    branch.cond.paths(&mut |_| reads = true);
    match &branch.cond {
        Expression::Object(_)
        | Expression::Array(_)
        | Expression::Compute(..)
        | Expression::Length(_) => Err(never()),
        _ if reads => Ok(()),
        constant => {
            let value = constant.evaluate(&serde_json::Value::Null, 0);
            let value = value.ok().and_then(|value| value.as_bool());
            Err(value.map_or_else(never, |value| FlowProblem::Unreachable {
                branch: place.clone(),
                value,
            }))
        }
    }
}

fn assigned(Assign(entries): &Assign, place: &Place) -> Result<(), FlowProblem> {
    let mut before = Places::default();
    for (path, _) in entries {
        written("assign", path)?;
        if before.touch(path) {
            return Err(FlowProblem::Twice {
                assign: place.clone(),
                path: path.to_string(),
            });
        }
        before.add(path);
    }
    Ok(())
}

fn written(step: &str, path: &Path) -> Result<(), FlowProblem> {
    if path.has_index() {
        return Err(FlowProblem::Item {
            step: step.to_owned(),
            path: path.to_string(),
        });
    }
    Ok(())
}
