//! Paths that are sure to lead nowhere.
//!
//! A path is a problem where nothing that may come before can have written its place. Inside of what
//! may never run (the ways of a branch, the lanes of a fanout, a `try`) a place that no node of the
//! flow writes is let pass: it may be an input that only that way needs.

use tidegate_contract::JsonObject;

use super::places::Places;
use crate::flow::Flow;
use crate::flow::expression::Expression;
use crate::flow::node::{Assign, Fanout, Loop, Node};
use crate::flow::path::{self, Path, Segment};
use crate::flow::place::Place;
use crate::flow::problem::{FlowProblem, PlacedProblem};
use crate::flow::step::Step;

pub(super) fn check(flow: &Flow, input: &JsonObject) -> Result<(), PlacedProblem> {
    let mut all = Vec::new();
    flow.flow.writes(&mut all);
    let mut reading = Reading {
        init: &flow.init,
        input,
        all: Places::of(&all),
        written: Written::default(),
        is_sure: true,
    };
    reading.node(&flow.flow, &Place::root())?;
    match &flow.result {
        Some(result) => reading.expression("result", result, &Place::root()),
        None => Ok(()),
    }
}

/// A walk in the order of a run.
struct Reading<'a> {
    /// The context before the first step, and what is laid over it.
    init: &'a JsonObject,
    input: &'a JsonObject,
    /// Every place that some node of the flow writes.
    all: Places,
    /// The places that may have been written so far.
    written: Written,
    /// Whether what is looked at runs in every run.
    is_sure: bool,
}

/// Places in the order in which they were written, so that the last ones can be taken back.
#[derive(Default)]
struct Written {
    order: Vec<Path>,
    places: Places,
}

impl Written {
    fn len(&self) -> usize {
        self.order.len()
    }

    fn push(&mut self, path: Path) {
        self.places.add(&path);
        self.order.push(path);
    }

    fn extend(&mut self, paths: impl IntoIterator<Item = Path>) {
        paths.into_iter().for_each(|path| self.push(path));
    }

    fn split_off(&mut self, at: usize) -> Vec<Path> {
        let last = self.order.split_off(at);
        for path in &last {
            self.places.remove(path);
        }
        last
    }
}

impl Reading<'_> {
    fn node(&mut self, node: &Node, place: &Place) -> Result<(), PlacedProblem> {
        match node {
            Node::Step(step) => {
                self.expression(step.name.as_str(), &step.r#in, place)?;
                self.written.push(step.output());
            }
            Node::Graph(steps) => self.graph(steps, place)?,
            Node::Seq(_) => {
                for (at, node) in node.children() {
                    self.node(node, &place.of(at))?;
                }
            }
            Node::Assign(Assign(places)) => {
                for (path, expression) in places {
                    self.expression(&format!("assign {path}"), expression, place)?;
                }
                self.written
                    .extend(places.iter().map(|(path, _)| path.clone()));
            }
            Node::Branch(branch) => {
                let at = format!("cond of the branch at {place}");
                self.expression(&at, &branch.cond, place)?;
                self.perhaps(|reading| {
                    let before = reading.written.len();
                    reading.node(&branch.then, &place.child(0))?;
                    if let Some(other) = &branch.r#else {
                        let then = reading.written.split_off(before);
                        reading.node(other, &place.child(1))?;
                        reading.written.extend(then);
                    }
                    Ok(())
                })?;
            }
            Node::Try(attempt) => self.perhaps(|reading| {
                let before = reading.written.len();
                reading.node(&attempt.body, &place.child(0))?;
                let body = reading.written.split_off(before);
                reading.written.push(Path::key(attempt.catch.r#as.as_str()));
                reading.node(&attempt.catch.body, &place.child(1))?;
                reading.written.extend(body);
                Ok(())
            })?,
            Node::Loop(inner) => self.iterate(inner, place)?,
            Node::Fanout(fanout) => self.fanout(fanout, place)?,
        }
        Ok(())
    }

    /// Its checks have found already which step may read which other one's output.
    fn graph(&mut self, steps: &[Step], place: &Place) -> Result<(), PlacedProblem> {
        self.written.extend(steps.iter().map(Step::output));
        for (at, step) in steps.iter().enumerate() {
            let own = step.output();
            self.written.places.remove(&own);
            self.expression(step.name.as_str(), &step.r#in, &place.child(at))?;
            self.written.places.add(&own);
        }
        Ok(())
    }

    /// What the body writes at its end an earlier part of it may read in the next iteration.
    fn iterate(&mut self, inner: &Loop, place: &Place) -> Result<(), PlacedProblem> {
        let at = |key: &str| format!("{}.{key}", inner.name.as_str());
        self.expression(&at("state"), &inner.state, place)?;
        self.written.push(Path::key(inner.name.as_str()));
        self.written.extend(inner.bound());
        let mut body = Vec::new();
        inner.body.writes(&mut body);
        self.written.extend(body);
        self.expression(&at("bind"), &inner.bind, place)?;
        self.node(&inner.body, &place.turn(0))?;
        if let Some(update) = &inner.update {
            self.expression(&at("update"), update, place)?;
        }
        self.expression(&at("done"), &inner.done, place)
    }

    fn fanout(&mut self, fanout: &Fanout, place: &Place) -> Result<(), PlacedProblem> {
        let name = fanout.name.as_str();
        self.expression(&format!("{name}.items"), &fanout.items, place)?;
        let before = self.written.len();
        let bound = [&fanout.bind].into_iter().chain(&fanout.index);
        self.written
            .extend(bound.map(|name| Path::key(name.as_str())));
        self.perhaps(|reading| reading.node(&fanout.body, &place.turn(0)))?;
        drop(self.written.split_off(before));
        self.written.push(Path::key(name));
        Ok(())
    }

    /// Looks at what may never run.
    fn perhaps(
        &mut self,
        look: impl FnOnce(&mut Self) -> Result<(), PlacedProblem>,
    ) -> Result<(), PlacedProblem> {
        let is_sure = std::mem::replace(&mut self.is_sure, false);
        let looked = look(self);
        self.is_sure = is_sure;
        looked
    }

    fn expression(
        &self,
        step: &str,
        expression: &Expression,
        place: &Place,
    ) -> Result<(), PlacedProblem> {
        let mut nowhere = None;
        expression.sure_paths(&mut |path| {
            if nowhere.is_none() && !self.may_lead(path) {
                nowhere = Some(path);
            }
        });
        nowhere.map_or(Ok(()), |path| {
            Err(PlacedProblem {
                place: place.clone(),
                problem: FlowProblem::Nowhere {
                    step: step.to_owned(),
                    path: path.to_string(),
                },
            })
        })
    }

    fn may_lead(&self, path: &Path) -> bool {
        let may_come = self.is_sure || self.all.touch(path);
        self.is_there(path) || self.written.places.touch(path) || !may_come
    }

    /// Whether the context holds the place before the first step.
    fn is_there(&self, path: &Path) -> bool {
        match path.segments().split_first() {
            None => true,
            Some((Segment::Index(_), _)) => false,
            Some((Segment::Key(key), rest)) => {
                let value = self.input.get(key).or_else(|| self.init.get(key));
                value.is_some_and(|value| path::get(rest, value).is_some())
            }
        }
    }
}
