//! Where the nodes of a flow are written in its file, for errors that know only the node.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::{Location, Spanned};
use tidegate::flow::Place;

use crate::yaml;

/// The line and column of a node in a flow file, both counted from 1.
pub(super) fn line_and_column(file: &Path, place: &Place) -> Option<(u64, u64)> {
    // What the file holds was read before; should it have changed, the place is only not named.
    let written: Written = yaml::read(file).ok()?;
    let location = find(&written.flow, place.as_str())?;
    (location.line() > 0).then(|| (location.line(), location.column()))
}

#[derive(Deserialize)]
struct Written {
    flow: Spanned<Node>,
}

/// A node, as far as others stand in it.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Node {
    Step(IgnoredAny),
    Seq(Vec<Spanned<Self>>),
    Graph(Vec<Spanned<IgnoredAny>>),
    Loop(Box<Body>),
    Branch(Box<Branch>),
    Fanout(Box<Body>),
    Try(Box<Try>),
    Assign(IgnoredAny),
}

#[derive(Deserialize)]
struct Body {
    body: Spanned<Node>,
}

#[derive(Deserialize)]
struct Branch {
    then: Spanned<Node>,
    #[serde(default)]
    r#else: Option<Spanned<Node>>,
}

#[derive(Deserialize)]
struct Try {
    body: Spanned<Node>,
    catch: Body,
}

/// Follows a place from the flow's own node: `.1` is a child, `[0]` the body of a loop or fanout.
fn find(node: &Spanned<Node>, place: &str) -> Option<Location> {
    let mut rest = place.strip_prefix('0')?;
    let mut node = node;
    while !rest.is_empty() {
        if let Some(further) = rest.strip_prefix("[0]") {
            let (Node::Loop(inner) | Node::Fanout(inner)) = &node.value else {
                return None;
            };
            (node, rest) = (&inner.body, further);
            continue;
        }
        let digits = rest.strip_prefix('.')?;
        let end = digits.find(['.', '[']).unwrap_or(digits.len());
        let (number, further) = digits.split_at_checked(end)?;
        let child = match (&node.value, number.parse::<usize>().ok()?) {
            (Node::Seq(nodes), at) => nodes.get(at)?,
            (Node::Graph(steps), at) => return Some(steps.get(at)?.referenced),
            (Node::Branch(branch), 0) => &branch.then,
            (Node::Branch(branch), 1) => branch.r#else.as_ref()?,
            (Node::Try(attempt), 0) => &attempt.body,
            (Node::Try(attempt), 1) => &attempt.catch.body,
            _ => return None,
        };
        (node, rest) = (child, further);
    }
    Some(node.referenced)
}
