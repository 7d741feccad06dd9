//! What starts a run, as it is asked for.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tidegate::flow::{self, AgentName, Known};
use tidegate_contract::JsonObject;
use tidegate_contract::json;

use crate::blueprint::{Blueprint, POLICIES, causes};
use crate::error::WorkerError;
use crate::fields::{Fields, misfit};
use crate::projection::CheckPolicy;
use crate::store::{Launch, VALUE_BOUNDS};
use crate::verdict::Channel;
use crate::work_roots::check_path;

/// A request for a run.
#[derive(Clone, Debug)]
pub struct LaunchRequest {
    /// What is run.
    pub blueprint: Blueprint,
    /// The flow's input: it is laid over the blueprint's `init`, key by key.
    pub init_ctx: JsonObject,
    /// The project's folder, in one that runs of the tenant may work in, for workers to read. Where
    /// there is no `work_dir`, files stand below it.
    pub project_root: Option<String>,
    /// The folder of this work, in one that runs of the tenant may work in; files stand below it.
    pub work_dir: Option<String>,
    /// What workers are told of the task; a null is something.
    pub task_metadata: Option<Value>,
    /// What happens where a file can't be written; it goes before the blueprint's word.
    pub check_policy: Option<CheckPolicy>,
}

impl LaunchRequest {
    /// Reads a request strictly.
    ///
    /// # Errors
    ///
    /// `InvalidRequest`, naming the place and what was expected there.
    pub fn from_value(value: Value) -> Result<Self, WorkerError> {
        let known = [
            "blueprint",
            "init_ctx",
            "project_root",
            "work_dir",
            "task_metadata",
            "check_policy",
        ];
        let mut fields = Fields::of("launch", value, &known)?;
        Ok(Self {
            blueprint: Blueprint::from_value(fields.needed("blueprint")?)?,
            init_ctx: fields.object("init_ctx")?.unwrap_or_default(),
            project_root: fields.text("project_root")?,
            work_dir: fields.text("work_dir")?,
            task_metadata: fields.take("task_metadata"),
            check_policy: fields.word("check_policy", &POLICIES)?,
        })
    }

    /// Whether the flow can run on this input and with these agents.
    pub(super) fn check(&self) -> Result<(), WorkerError> {
        let invalid = |reason: String| WorkerError::InvalidRequest { reason };
        let paths = [
            ("project_root", &self.project_root),
            ("work_dir", &self.work_dir),
        ];
        for (key, path) in paths {
            path.as_deref()
                .map_or(Ok(()), |path| check_path(key, path))?;
        }
        let mut bytes = 0_usize;
        for value in self.init_ctx.values() {
            let measured = json::measure(value, &VALUE_BOUNDS);
            let measured = measured.map_err(|error| invalid(format!("`init_ctx`: {error}")))?;
            bytes = bytes.saturating_add(measured);
        }
        if bytes > VALUE_BOUNDS.bytes {
            let most = format!("an object of at most {} bytes", VALUE_BOUNDS.bytes);
            return Err(misfit("init_ctx", &most));
        }
        let contracts = |agent: &AgentName| {
            let contract = self.blueprint.agent(agent.as_str())?.verdict.as_ref()?;
            Some(flow::Contract {
                channel: match contract.channel {
                    Channel::Body => flow::Channel::Body,
                    Channel::Part => flow::Channel::Part,
                },
                values: contract.values.clone(),
            })
        };
        let known = Known {
            input: Some(&self.init_ctx),
            contracts: Some(&contracts),
        };
        let checked = self.blueprint.flow().check_with(&known);
        checked.map_err(|problem| {
            let (place, problem) = (&problem.place, causes(&problem.problem));
            invalid(format!("the flow can't run: at {place}: {problem}"))
        })
    }

    /// What is kept of it beside its flow.
    pub(super) fn launch(&self) -> Launch {
        let blueprint = &self.blueprint;
        let placement = blueprint.projection_placement();
        Launch {
            project_root: self.project_root.clone(),
            work_dir: self.work_dir.clone(),
            task_metadata: self.task_metadata.clone(),
            placement: placement.map(|placement| placement.as_str().to_owned()),
            check_policy: self
                .check_policy
                .or(blueprint.check_policy())
                .unwrap_or_default(),
        }
    }
}

impl<'de> Deserialize<'de> for LaunchRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_value(value).map_err(serde::de::Error::custom)
    }
}
