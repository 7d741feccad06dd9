//! One agent of a blueprint: who does its steps, and what its answers are held to.

use serde_json::Value;
use tidegate_contract::JsonObject;

use crate::error::WorkerError;
use crate::fields::{Fields, misfit};
use crate::payload::ContextPolicy;
use crate::store::TEXT_BYTES;
use crate::token::LIFETIME_MS;
use crate::verdict::{Channel, Contract};

/// The longest life of an attempt's credentials: a day.
pub const TTL_MS: u64 = 24 * 60 * 60 * 1000;

/// The most values of one contract, and the longest value in bytes.
const VALUES: usize = 64;
const VALUE_BYTES: usize = 256;

/// Declares an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentDef {
    /// The worker component that does its steps inside of the host; without one, whoever claims them
    /// from outside.
    pub worker: Option<String>,
    /// Whether that component may do a step again that a stop of the host interrupted. Where it may
    /// not, the step fails: what the component had done by then nobody knows.
    pub repeatable: bool,
    /// The system prompt; may be empty.
    pub system: String,
    /// What is declared for all its steps.
    pub ctx: JsonObject,
    /// What its answers are held to.
    pub verdict: Option<Contract>,
    /// Which of the context its workers see.
    pub context_policy: ContextPolicy,
    /// How long an attempt's credentials last: 1 to [`TTL_MS`], 30 minutes where nobody says.
    pub ttl_ms: u64,
}

/// Whether a text can name an agent: 1 to 64 of letters, digits, `_`, `-`.
#[must_use]
pub fn is_agent_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(is_letter)
}

impl AgentDef {
    /// Reads an agent; `place` is where it stands.
    pub(super) fn from_value(place: &str, value: Value) -> Result<Self, WorkerError> {
        let known = [
            "worker",
            "repeatable",
            "system",
            "ctx",
            "verdict",
            "context_policy",
            "ttl_ms",
        ];
        let mut fields = Fields::of(place, value, &known)?;
        let worker = fields.text("worker")?;
        if worker.as_deref().is_some_and(|name| !is_agent_name(name)) {
            let name = "a worker's name: 1 to 64 of letters, digits, `_` and `-`";
            return Err(misfit(&fields.at("worker"), name));
        }
        let repeatable = fields.flag("repeatable")?;
        if repeatable.is_some() && worker.is_none() {
            let reason = format!(
                "`{}` is of an agent with a `worker`: one outside goes on with its attempt",
                fields.at("repeatable")
            );
            return Err(WorkerError::InvalidRequest { reason });
        }
        let system = fields.text("system")?.unwrap_or_default();
        if system.len() > TEXT_BYTES {
            let most = format!("at most {TEXT_BYTES} bytes");
            return Err(misfit(&fields.at("system"), &most));
        }
        let at = fields.at("verdict");
        let verdict = fields.take("verdict");
        let verdict = verdict.map(|value| contract_of(&at, value)).transpose()?;
        let at = fields.at("context_policy");
        let policy = fields.take("context_policy");
        let policy = policy.map(|value| policy_of(&at, value)).transpose()?;
        Ok(Self {
            worker,
            repeatable: repeatable.unwrap_or(false),
            system,
            ctx: fields.object("ctx")?.unwrap_or_default(),
            verdict,
            context_policy: policy.unwrap_or_default(),
            ttl_ms: ttl_of(&mut fields)?,
        })
    }
}

fn ttl_of(fields: &mut Fields) -> Result<u64, WorkerError> {
    let Some(value) = fields.take("ttl_ms") else {
        return Ok(LIFETIME_MS);
    };
    let fits = value.as_u64().filter(|ttl| (1..=TTL_MS).contains(ttl));
    let expected = format!("a whole number of milliseconds from 1 to {TTL_MS}");
    fits.ok_or_else(|| misfit(&fields.at("ttl_ms"), &expected))
}

fn contract_of(place: &str, value: Value) -> Result<Contract, WorkerError> {
    let mut fields = Fields::of(place, value, &["channel", "values"])?;
    let channels = [("body", Channel::Body), ("part", Channel::Part)];
    let missing = |key: &str| WorkerError::InvalidRequest {
        reason: format!("`{place}` lacks `{key}`"),
    };
    let channel = fields.word("channel", &channels)?;
    let values = fields.texts("values")?.ok_or_else(|| missing("values"))?;
    let fits = |value: &String| (1..=VALUE_BYTES).contains(&value.len());
    if !(1..=VALUES).contains(&values.len()) || !values.iter().all(fits) {
        // An empty set is met by nothing, so that the agent could never pass.
        let expected = format!("1 to {VALUES} texts of 1 to {VALUE_BYTES} bytes");
        return Err(misfit(&fields.at("values"), &expected));
    }
    Ok(Contract {
        channel: channel.ok_or_else(|| missing("channel"))?,
        values,
    })
}

fn policy_of(place: &str, value: Value) -> Result<ContextPolicy, WorkerError> {
    let known = ["include", "exclude", "steps", "steps_exclude"];
    let mut fields = Fields::of(place, value, &known)?;
    Ok(ContextPolicy {
        include: fields.texts("include")?,
        exclude: fields.texts("exclude")?.unwrap_or_default(),
        steps: fields.texts("steps")?,
        steps_exclude: fields.texts("steps_exclude")?.unwrap_or_default(),
    })
}
