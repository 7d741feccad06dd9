//! Blueprints: a flow, the agents that do its steps, and what is declared for them (SPEC I4, I6, I7).
//!
//! A blueprint is read from JSON alone, strictly, and kept as it came, so that a run goes on with the
//! same one after a start. Deliberately absent: a registry. What an agent is bound to stands in its
//! own blueprint, so that two that name an agent alike never meet.

mod agent;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tidegate::flow::{Flow, Known, Work};
use tidegate_contract::JsonObject;
use tidegate_contract::json::{self, JsonBounds};

use crate::error::WorkerError;
use crate::fields::{Fields, misfit};
use crate::file_body;
use crate::fold::SubmitFormat;
use crate::projection::{CheckPolicy, Placement};
use crate::runs::check_lanes;
use crate::store::Order;

pub use agent::{AgentDef, TTL_MS, is_agent_name};

/// How large and how deep a blueprint may be.
const BOUNDS: JsonBounds = JsonBounds {
    bytes: 2 * 1024 * 1024,
    depth: 120,
};

/// The most agents of one blueprint.
const AGENTS: usize = 256;

/// All keys: the flow's own, and those that stand beside them.
const KEYS: [&str; 9] = [
    "id",
    "init",
    "flow",
    "result",
    "limits",
    "agents",
    "default_agent_ctx",
    "check_policy",
    "projection_placement",
];

/// The policies by their words.
pub(crate) const POLICIES: [(&str, CheckPolicy); 3] = [
    ("silent", CheckPolicy::Silent),
    ("warn", CheckPolicy::Warn),
    ("strict", CheckPolicy::Strict),
];

/// A flow with the agents that do its steps.
#[derive(Clone, Debug)]
pub struct Blueprint {
    flow: Flow,
    agents: BTreeMap<String, AgentDef>,
    default_agent_ctx: JsonObject,
    check_policy: Option<CheckPolicy>,
    projection_placement: Option<Placement>,
    text: String,
}

impl Blueprint {
    /// Reads a blueprint and checks it.
    ///
    /// # Errors
    ///
    /// `InvalidRequest`, naming the place and what was expected there: an unknown key, a value of
    /// another kind, a step whose agent is not declared, a flow that can't run.
    pub fn from_value(value: Value) -> Result<Self, WorkerError> {
        json::check(&value, &BOUNDS).map_err(|error| invalid(&format!("`blueprint`: {error}")))?;
        let text = value.to_string();
        let mut fields = Fields::of("blueprint", value, &KEYS)?;
        let agents = agents_of(&mut fields)?;
        let default_agent_ctx = fields.object("default_agent_ctx")?.unwrap_or_default();
        let check_policy = fields.word("check_policy", &POLICIES)?;
        let placement = fields.text("projection_placement")?;
        let placement = placement.map(|template| Placement::parse(&template));
        let flow = Value::Object(fields.rest());
        let flow = Flow::deserialize(flow)
            .map_err(|error| invalid(&format!("`blueprint` has no valid flow: {error}")))?;
        let blueprint = Self {
            flow,
            agents,
            default_agent_ctx,
            check_policy,
            projection_placement: placement.transpose()?,
            text,
        };
        blueprint.check()?;
        Ok(blueprint)
    }

    /// Whether the flow can run with these agents.
    ///
    /// # Errors
    ///
    /// `InvalidRequest`, naming the step.
    pub fn check(&self) -> Result<(), WorkerError> {
        let checked = self.flow.check_with(&Known::default());
        checked.map_err(|problem| {
            let (place, problem) = (&problem.place, causes(&problem.problem));
            invalid(&format!("the flow can't run: at {place}: {problem}"))
        })?;
        for step in self.flow.flow.steps() {
            if let Work::Agent(agent) = &step.work
                && self.agent(agent.as_str()).is_none()
            {
                let unknown = unknown_agent(agent.as_str(), &self.agents);
                let step = step.name.as_str();
                return Err(invalid(&format!("step `{step}`: {unknown}")));
            }
        }
        check_lanes(&self.flow.flow, 0)
    }

    /// The flow.
    #[must_use]
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// The agents and their names.
    pub fn agents(&self) -> impl Iterator<Item = (&str, &AgentDef)> {
        self.agents
            .iter()
            .map(|(name, agent)| (name.as_str(), agent))
    }

    /// The agent of a name.
    #[must_use]
    pub fn agent(&self, name: &str) -> Option<&AgentDef> {
        self.agents.get(name)
    }

    /// What happens where a file can't be written, unless the launch says otherwise.
    #[must_use]
    pub fn check_policy(&self) -> Option<CheckPolicy> {
        self.check_policy
    }

    /// Where files stand; the default where nobody says.
    #[must_use]
    pub fn projection_placement(&self) -> Option<&Placement> {
        self.projection_placement.as_ref()
    }

    /// The blueprint as it came, as JSON text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What an attempt is to do: of `allow_file_submit` and `submit_format` the nearest declaration
    /// counts, the step's (`meta`), then the agent's, then the blueprint's; of the other keys too.
    ///
    /// # Errors
    ///
    /// `InvalidRequest` when the agent is not declared, or the order can't be kept.
    pub fn order(
        &self,
        agent: &str,
        input: Value,
        meta: &JsonObject,
    ) -> Result<Order, WorkerError> {
        let declared = self.agent(agent);
        let declared = declared.ok_or_else(|| invalid(&unknown_agent(agent, &self.agents)))?;
        let nearest = |key: &str| {
            [
                meta.get(key),
                declared.ctx.get(key),
                self.default_agent_ctx.get(key),
            ]
        };
        let mut context = self.default_agent_ctx.clone();
        for nearer in [&declared.ctx, meta] {
            context.extend(
                nearer
                    .iter()
                    .map(|(key, value)| (key.clone(), value.clone())),
            );
        }
        let order = Order {
            system: declared.system.clone(),
            directive: match input {
                Value::String(text) => text,
                other => other.to_string(),
            },
            policy: declared.context_policy.clone(),
            submit_format: SubmitFormat::nearest(nearest("submit_format")),
            allow_file_submit: file_body::is_allowed(nearest("allow_file_submit")),
            context,
            contract: declared.verdict.clone(),
            ttl_ms: Some(declared.ttl_ms),
        };
        order.check()?;
        Ok(order)
    }
}

impl<'de> Deserialize<'de> for Blueprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_value(value).map_err(serde::de::Error::custom)
    }
}

fn agents_of(fields: &mut Fields) -> Result<BTreeMap<String, AgentDef>, WorkerError> {
    let declared = fields.object("agents")?.unwrap_or_default();
    let place = fields.at("agents");
    if declared.len() > AGENTS {
        return Err(misfit(&place, &format!("at most {AGENTS} agents")));
    }
    let agent = |(name, value): (String, Value)| {
        if !is_agent_name(&name) {
            let names = "of names that are 1 to 64 of letters, digits, `_` and `-`";
            return Err(misfit(&place, names));
        }
        let agent = AgentDef::from_value(&format!("{place}.{name}"), value)?;
        Ok((name, agent))
    };
    declared.into_iter().map(agent).collect()
}

fn unknown_agent(name: &str, agents: &BTreeMap<String, AgentDef>) -> String {
    let known: Vec<&str> = agents.keys().map(String::as_str).collect();
    match tidegate_contract::nearest::nearest(name, &known) {
        Some(meant) => format!("there is no agent `{name}`; did you mean `{meant}`?"),
        None => format!(
            "there is no agent `{name}`; declared are: {}",
            known.join(", ")
        ),
    }
}

fn invalid(reason: &str) -> WorkerError {
    WorkerError::InvalidRequest {
        reason: reason.to_owned(),
    }
}

/// What went wrong with each cause behind it.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
