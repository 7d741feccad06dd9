//! What is wrong with a flow before anything runs.

use thiserror::Error;

use super::check::Channel;
use super::expression::ExpressionError;
use super::limits::{
    FlowLimitError, FlowLimits, MAX_EVALUATIONS, MAX_ITERATIONS, MAX_LANES, MAX_PARTS,
};
use super::place::Place;

/// Deepest nesting of nodes.
pub(super) const NESTING: usize = 64;

/// Why a flow can't run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FlowProblem {
    /// A name is of another shape.
    #[error("the name of a step, loop or agent is 1 to 64 of letters, digits, `_`, `-`")]
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
    /// A step is done by nobody, or by two.
    #[error("step `{step}` needs either `node` or `agent`")]
    Work {
        /// The step.
        step: String,
    },
    /// A node's input has `$step_meta`.
    #[error("step `{step}` runs a node, so its input takes no `$step_meta`")]
    MetaOfNode {
        /// The step.
        step: String,
    },
    /// An agent's step has a sink.
    #[error("step `{step}` runs an agent, so it takes no `sink`")]
    SinkOfAgent {
        /// The step.
        step: String,
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
    /// Expressions, assignments and `after` have too many parts.
    #[error(
        "the flow has more than {MAX_PARTS} parts: entries of assignments, names in `after`, and \
         values in expressions"
    )]
    Parts,
    /// Loops and fanouts multiply too far.
    #[error(
        "`{name}`: max_iterations and max_items of all loops and fanouts around a node, multiplied, \
         must be at most {MAX_EVALUATIONS}"
    )]
    Evaluations {
        /// The loop or fanout.
        name: String,
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
    /// A fanout may have too many lanes.
    #[error(
        "fanout `{name}`: max_items must be from 1 to {MAX_LANES}, multiplied by that of the \
         fanouts around it"
    )]
    Lanes {
        /// The fanout.
        name: String,
    },
    /// The lanes that run at once are out of range.
    #[error(
        "fanout `{name}`: concurrency must be from 1 to {}, not {value}",
        FlowLimits::MAXIMUM.concurrency
    )]
    Concurrency {
        /// The fanout.
        name: String,
        /// What was set.
        value: usize,
    },
    /// The item and its number have one name.
    #[error("fanout `{name}`: `bind` and `index` are the same")]
    Index {
        /// The fanout.
        name: String,
    },
    /// A branch has one way only.
    #[error("the condition of the branch at {branch} is always {value}: one way is never taken")]
    Unreachable {
        /// The branch.
        branch: Place,
        /// What the condition always is.
        value: bool,
    },
    /// A branch's condition is never a boolean.
    #[error("the condition of the branch at {branch} is never true or false")]
    NoCondition {
        /// The branch.
        branch: Place,
    },
    /// An item of a list is written.
    #[error("`{step}` writes {path}, but an item of a list can't be written")]
    Item {
        /// The step; for an assignment, `assign`.
        step: String,
        /// Where it writes.
        path: String,
    },
    /// An assignment writes one place twice.
    #[error("the assign at {assign} writes {path} twice")]
    Twice {
        /// The assignment.
        assign: Place,
        /// What it writes the second time.
        path: String,
    },
    /// A path can lead nowhere.
    #[error("`{step}` reads {path}, and nothing that comes before can have written it")]
    Nowhere {
        /// The step; for other nodes its name and the key; `result` for the flow's own.
        step: String,
        /// What it reads.
        path: String,
    },
    /// A condition looks for an agent's verdict where it never is.
    #[error("the condition compares {path}, but agent `{agent}` gives its verdict {}", channel.place())]
    Channel {
        /// What is compared.
        path: String,
        /// Whose verdict it should be.
        agent: String,
        /// Where the verdict is.
        channel: Channel,
    },
    /// A condition waits for a verdict that the agent never gives.
    #[error("the condition compares {path} with {value}, which is no verdict of agent `{agent}`: {}", values.join(", "))]
    Verdict {
        /// What is compared.
        path: String,
        /// Whose verdict it is.
        agent: String,
        /// What it is compared with, as JSON.
        value: String,
        /// What there is.
        values: Vec<String>,
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

/// A problem, and the node of the flow that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedProblem {
    /// The node, counted as in a run's places; each loop and fanout has one body, `[0]`.
    pub place: Place,
    /// What is wrong there.
    pub problem: FlowProblem,
}

impl std::fmt::Display for PlacedProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for PlacedProblem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.problem.source()
    }
}
