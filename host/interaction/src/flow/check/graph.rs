//! Graphs that can't run in one order and mean one thing.

use std::collections::HashMap;

use super::name;
use crate::flow::path::Path;
use crate::flow::problem::FlowProblem;
use crate::flow::step::Step;

/// Names, dependencies, cycles, and whether steps that run side by side touch one place.
pub(super) fn check(steps: &[Step]) -> Result<(), FlowProblem> {
    let before = dependencies(steps)?;
    let order = order(steps, &before)?;
    let ancestors = ancestors(&before, &order);
    let is_ordered = |one: usize, other: usize| {
        let has = |of: usize, at: usize| ancestors.get(of).is_some_and(|set| set.has(at));
        has(one, other) || has(other, one)
    };
    let places: Vec<Path> = steps.iter().map(Step::output).collect();
    for (step, place) in steps.iter().zip(&places) {
        super::written(&name(step), place)?;
    }
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
pub(in crate::flow) fn dependencies(steps: &[Step]) -> Result<Vec<Vec<usize>>, FlowProblem> {
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
