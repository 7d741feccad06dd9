//! What is wrong with a flow before anything runs: bounds, and graphs that can't run in one order
//! and mean one thing.

use std::collections::HashMap;

use thiserror::Error;

use super::expression::ExpressionError;
use super::limits::{FlowLimitError, MAX_ITERATIONS};
use super::path::Path;
use super::{Flow, Loop, Node, Step};

/// Deepest nesting of nodes.
const NESTING: usize = 64;

/// Why a flow can't run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FlowProblem {
    /// A name is of another shape.
    #[error("the name of a step or loop is 1 to 64 of letters, digits, `_`, `-`")]
    Name,
    /// An input is no expression.
    #[error("the input of step `{step}` is no expression")]
    Expression {
        /// The step.
        step: String,
        /// Why.
        #[source]
        source: ExpressionError,
    },
    /// A limit is out of range.
    #[error(transparent)]
    Limit(#[from] FlowLimitError),
    /// There are too many nodes.
    #[error("the flow has more than limits.nodes = {limit} nodes")]
    Nodes {
        /// The limit.
        limit: usize,
    },
    /// Nodes stand in nodes too deeply.
    #[error("nodes nest deeper than {NESTING}")]
    Nesting,
    /// A loop may run too often.
    #[error(
        "loop `{name}`: max_iterations must be from 1 to {MAX_ITERATIONS}, multiplied by that of \
         the loops around it"
    )]
    Iterations {
        /// The loop.
        name: String,
    },
    /// A step outside of a graph has dependencies.
    #[error("step `{step}` is in no graph, so it takes no `after`")]
    AfterOutside {
        /// The step.
        step: String,
    },
    /// Two steps of one graph have one name.
    #[error("two steps of one graph have the name `{step}`")]
    Duplicate {
        /// The name.
        step: String,
    },
    /// A dependency is not in the graph.
    #[error("step `{step}` comes after `{after}`, which is not in its graph")]
    UnknownDependency {
        /// The step.
        step: String,
        /// What is missing.
        after: String,
    },
    /// Steps wait for each other.
    #[error("steps of a graph wait for each other: {steps}")]
    Cycle {
        /// Their names, from one to itself.
        steps: String,
    },
    /// A step reads what another may or may not have written.
    #[error(
        "step `{step}` reads {path}, which step `{writer}` writes, and neither comes after the \
         other: add `after: [{writer}]`"
    )]
    Race {
        /// The step that reads.
        step: String,
        /// What it reads.
        path: String,
        /// The step that writes.
        writer: String,
    },
    /// Two steps write one place in any order.
    #[error("steps `{step}` and `{other}` both write {path}, and neither comes after the other")]
    Overlap {
        /// One step.
        step: String,
        /// The other.
        other: String,
        /// Where the second writes.
        path: String,
    },
}

impl Flow {
    /// Checks the flow as a whole: limits, number and nesting of nodes, and each graph: names,
    /// dependencies, cycles, and whether steps that run side by side touch one place.
    ///
    /// # Errors
    ///
    /// The first problem, naming the step or loop.
    pub fn check(&self) -> Result<(), FlowProblem> {
        self.limits.check()?;
        let mut left = self.limits.nodes;
        let mut count = |nodes: usize| match left.checked_sub(nodes) {
            Some(less) => {
                left = less;
                Ok(())
            }
            None => Err(FlowProblem::Nodes {
                limit: self.limits.nodes,
            }),
        };
        let mut ahead = vec![(&self.flow, 1, 1)];
        while let Some((node, nesting, iterations)) = ahead.pop() {
            if nesting > NESTING {
                return Err(FlowProblem::Nesting);
            }
            count(1)?;
            match node {
                Node::Step(step) => outside(step)?,
                Node::Seq(nodes) => {
                    // Reversed, so that the first problem of the file is found first.
                    let nodes = nodes.iter().rev();
                    ahead.extend(nodes.map(|node| (node, nesting + 1, iterations)));
                }
                Node::Graph(steps) => {
                    count(steps.len())?;
                    check_graph(steps)?;
                }
                Node::Loop(inner) => {
                    let iterations = iterations_of(inner, iterations)?;
                    ahead.push((&inner.body, nesting + 1, iterations));
                }
            }
        }
        Ok(())
    }
}

fn outside(step: &Step) -> Result<(), FlowProblem> {
    if step.after.is_empty() {
        return Ok(());
    }
    Err(FlowProblem::AfterOutside { step: name(step) })
}

/// How often the body of a loop may run in all.
fn iterations_of(inner: &Loop, around: u32) -> Result<u32, FlowProblem> {
    let all = around.checked_mul(inner.max_iterations);
    all.filter(|all| (1..=MAX_ITERATIONS).contains(all))
        .ok_or_else(|| FlowProblem::Iterations {
            name: inner.name.as_str().to_owned(),
        })
}

fn name(step: &Step) -> String {
    step.name.as_str().to_owned()
}

fn check_graph(steps: &[Step]) -> Result<(), FlowProblem> {
    let before = dependencies(steps)?;
    let order = order(steps, &before)?;
    let ancestors = ancestors(&before, &order);
    let is_ordered = |one: usize, other: usize| {
        let has = |of: usize, at: usize| ancestors.get(of).is_some_and(|set| set.has(at));
        has(one, other) || has(other, one)
    };
    let places: Vec<Path> = steps.iter().map(Step::place).collect();
    for (one, (step, place)) in steps.iter().zip(&places).enumerate() {
        let mut reads = Vec::new();
        step.r#in.paths(&mut |path| reads.push(path));
        for (other, (writer, written)) in steps.iter().zip(&places).enumerate() {
            if one == other || is_ordered(one, other) {
                continue;
            }
            if let Some(read) = reads.iter().find(|read| read.overlaps(written)) {
                return Err(FlowProblem::Race {
                    step: name(step),
                    path: read.to_string(),
                    writer: name(writer),
                });
            }
            if place.overlaps(written) {
                return Err(FlowProblem::Overlap {
                    step: name(step),
                    other: name(writer),
                    path: written.to_string(),
                });
            }
        }
    }
    Ok(())
}

/// For each step the positions of the steps that it comes after.
pub(super) fn dependencies(steps: &[Step]) -> Result<Vec<Vec<usize>>, FlowProblem> {
    let mut positions = HashMap::new();
    for (position, step) in steps.iter().enumerate() {
        if positions.insert(&step.name, position).is_some() {
            return Err(FlowProblem::Duplicate { step: name(step) });
        }
    }
    let of = |step: &Step| {
        let after = step.after.iter().map(|after| {
            let position = positions.get(after).copied();
            position.ok_or_else(|| FlowProblem::UnknownDependency {
                step: name(step),
                after: after.as_str().to_owned(),
            })
        });
        after.collect()
    };
    steps.iter().map(of).collect()
}

/// An order in which each step comes after its dependencies.
fn order(steps: &[Step], before: &[Vec<usize>]) -> Result<Vec<usize>, FlowProblem> {
    let mut order = Vec::new();
    let mut is_placed = vec![false; steps.len()];
    let placed = |is_placed: &[bool], at: usize| is_placed.get(at).copied().unwrap_or(false);
    loop {
        let ready: Vec<usize> = before
            .iter()
            .enumerate()
            .filter(|(at, after)| {
                !placed(&is_placed, *at) && after.iter().all(|&at| placed(&is_placed, at))
            })
            .map(|(at, _)| at)
            .collect();
        if ready.is_empty() {
            break;
        }
        for &at in &ready {
            if let Some(is_placed) = is_placed.get_mut(at) {
                *is_placed = true;
            }
        }
        order.extend(ready);
    }
    match is_placed.iter().position(|&is_placed| !is_placed) {
        None => Ok(order),
        Some(start) => Err(FlowProblem::Cycle {
            steps: cycle(steps, before, &is_placed, start),
        }),
    }
}

/// Follows dependencies that can't be placed until a step comes again.
fn cycle(steps: &[Step], before: &[Vec<usize>], is_placed: &[bool], start: usize) -> String {
    let mut way = vec![start];
    let mut at = start;
    loop {
        let after = before.get(at).map_or(&[][..], Vec::as_slice);
        let stuck = after
            .iter()
            .find(|&&next| is_placed.get(next) == Some(&false));
        let Some(&next) = stuck else {
            break;
        };
        let seen = way.iter().position(|&earlier| earlier == next);
        way.push(next);
        at = next;
        if let Some(seen) = seen {
            way.drain(..seen);
            break;
        }
    }
    let names = way
        .iter()
        .filter_map(|&at| steps.get(at))
        .map(|step| step.name.as_str());
    names.collect::<Vec<_>>().join(" after ")
}

/// For each step all steps that have ended when it starts.
fn ancestors(before: &[Vec<usize>], order: &[usize]) -> Vec<Positions> {
    let mut sets: Vec<Positions> = vec![Positions::default(); before.len()];
    for &at in order {
        let mut set = Positions::default();
        for &dependency in before.get(at).into_iter().flatten() {
            set.add(dependency);
            if let Some(further) = sets.get(dependency) {
                set.join(further);
            }
        }
        if let Some(place) = sets.get_mut(at) {
            *place = set;
        }
    }
    sets
}

/// A set of positions: one bit each.
#[derive(Clone, Debug, Default)]
struct Positions(Vec<u64>);

impl Positions {
    fn add(&mut self, position: usize) {
        let word = position / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        if let Some(bits) = self.0.get_mut(word) {
            *bits |= 1 << (position % 64);
        }
    }

    fn has(&self, position: usize) -> bool {
        let bits = self.0.get(position / 64).copied().unwrap_or(0);
        bits & (1 << (position % 64)) != 0
    }

    fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (bits, more) in self.0.iter_mut().zip(&other.0) {
            *bits |= more;
        }
    }
}
