//! Running one step: through the runtime's own checks or by an agent, and once however often the run
//! is taken up again.

use serde_json::{Value, json};
use tidegate_contract::failure::host_failure;
use tidegate_contract::{
    CallError, CallId, ExternalResult, Failure, OutputReceipt, ReceiptStatus, Status, ToolOutcome,
};
use tokio_util::sync::CancellationToken;

use super::budget::Charge;
use super::error::FlowError;
use super::place::Place;
use super::run::{Lane, Run, StepEnd};
use super::step::{AgentName, Step, Work};
use super::surroundings::{AgentEnd, AgentStep, Kept};
use crate::nodes::{self, Node as RuntimeNode};
use crate::runtime::InvokeOptions;

/// A step that can run: its input is evaluated, and it borrows nothing of its lane.
pub(super) struct Begun<'r> {
    /// The step's name with its lanes.
    name: String,
    step: &'r Step,
    place: Place,
    input: Value,
    /// What the input takes while the step runs.
    _held: Charge,
    lanes: Vec<u32>,
    cancel: CancellationToken,
}

/// How a step ended, by itself or as a journal kept it.
pub(super) enum End {
    Output(Value),
    Skipped,
    Blocked(Value),
    Failed(Failure),
    Error(CallError),
}

impl<'a> Run<'a> {
    /// Evaluates a step's input.
    pub(super) fn begin(
        &self,
        step: &'a Step,
        lane: &Lane<'_>,
        place: Place,
    ) -> Result<Begun<'a>, FlowError> {
        let name = lane.named(step.name.as_str());
        let input = match self.value(&name, &step.r#in, lane) {
            Err(_) if lane.cancel.is_cancelled() => return Err(FlowError::cancelled(&name)),
            value => value?,
        };
        let mut held = lane.charge.another();
        let charged = held.take(&input, 0);
        charged.map_err(|source| FlowError::context(&name, source))?;
        Ok(Begun {
            _held: held,
            name,
            step,
            place,
            input,
            lanes: lane.lanes.clone(),
            cancel: lane.cancel.clone(),
        })
    }

    /// Runs a step, or takes what the journal kept of it.
    pub(super) async fn act(&self, mut begun: Begun<'a>) -> Result<End, FlowError> {
        let name = &std::mem::take(&mut begun.name);
        let kept = self.recall(name, &begun.place).await?;
        let kept = kept.filter(|kept| *kept != Kept::Ended(not_begun()));
        if let Some(Kept::Ended(end)) = kept {
            return End::of_kept(end).ok_or_else(|| unreadable(name));
        }
        let is_open = kept.is_some();
        let agent = match &begun.step.work {
            Work::Node(_) => None,
            Work::Agent(agent) => Some(agent),
        };
        // The open attempt of an agent is handed on even then, so that it can be closed.
        if begun.cancel.is_cancelled() && !(is_open && agent.is_some()) {
            return Err(FlowError::cancelled(name));
        }
        if let Some(journal) = self.journal
            && !is_open
            && begun.step.work != Work::Node(RuntimeNode::Observe)
        {
            let started = journal.started(&begun.place).await;
            started.map_err(|source| FlowError::journal(name, source))?;
        }
        let (step, place, cancel) = (begun.step, begun.place.clone(), begun.cancel.clone());
        self.progress().started(step, &place);
        let end = match &begun.step.work {
            Work::Agent(agent) => self.ask(agent, begun).await,
            Work::Node(node) => match is_open.then(|| unknown(*node, &begun.input)).flatten() {
                Some(end) => End::of_call(end),
                None => self.invoke(*node, begun).await,
            },
        };
        let end = self.keep(name, (step, &place), end, &cancel).await?;
        self.progress().ended(step, &place, end.shown());
        Ok(end)
    }

    async fn invoke(&self, node: RuntimeNode, begun: Begun<'a>) -> End {
        let turn = tokio::select! {
            biased;
            turn = self.turns.acquire() => turn.ok(),
            () = begun.cancel.cancelled() => None,
        };
        if turn.is_none() {
            return End::of_call(Err(CallError::Ended {
                status: Status::Cancelled,
                failure: Failure::cancelled(),
            }));
        }
        let options = InvokeOptions {
            sink: begun.step.sink.clone(),
            cancel: begun.cancel,
            ..self.options.clone()
        };
        End::of_call(self.runtime.invoke(node, begun.input, options).await)
    }

    async fn ask(&self, agent: &AgentName, begun: Begun<'a>) -> End {
        let Some(agents) = self.agents else {
            return End::Error(CallError::NotInjected { node: "AGENT" });
        };
        let asked = AgentStep {
            place: &begun.place,
            name: begun.step.name.as_str(),
            lanes: &begun.lanes,
            agent: agent.as_str(),
            input: begun.input,
            meta: begun.step.meta.clone(),
        };
        match agents.run(asked, &begun.cancel).await {
            Ok(AgentEnd::Passed(value)) => End::Output(value),
            Ok(AgentEnd::Skipped) => End::Skipped,
            Ok(AgentEnd::Blocked(value)) => End::Blocked(value),
            Ok(AgentEnd::Failed(failure)) => End::Failed(failure),
            Err(error) => End::Error(error),
        }
    }

    /// What the journal knows of a place.
    pub(super) async fn recall(
        &self,
        name: &str,
        place: &Place,
    ) -> Result<Option<Kept>, FlowError> {
        let Some(journal) = self.journal else {
            return Ok(None);
        };
        let kept = journal.recall(place).await;
        kept.map_err(|source| FlowError::journal(name, source))
    }

    /// Keeps an end, unless it came from outside of the flow: a run that is cancelled or closed has
    /// not come to anything there. A call that never began is kept as such, and made by the next run.
    async fn keep(
        &self,
        name: &str,
        (step, place): (&Step, &Place),
        end: End,
        cancel: &CancellationToken,
    ) -> Result<End, FlowError> {
        let Some(journal) = self.journal else {
            return Ok(end);
        };
        if let End::Error(error) = &end
            && (cancel.is_cancelled() || *error == CallError::Closed)
        {
            if never_began(step, error) {
                let noted = journal.ended(place, &not_begun()).await;
                // Who keeps the journal of a run that is given up may have closed it already.
                if !self.options.cancel.is_cancelled() {
                    noted.map_err(|source| FlowError::journal(name, source))?;
                }
            }
            return Ok(end);
        }
        let kept = match end {
            // Its own code and words are all that another run needs of it.
            End::Error(error) => {
                let failure = error.to_failure();
                let kept = json!({ "error": failure });
                let ended = journal.ended(place, &kept).await;
                ended.map_err(|source| FlowError::journal(name, source))?;
                return Ok(End::Error(error));
            }
            End::Output(value) => under("output", value),
            End::Skipped => under("skipped", Value::Bool(true)),
            End::Blocked(value) => under("blocked", value),
            End::Failed(failure) => json!({ "failed": failure }),
        };
        let ended = journal.ended(place, &kept).await;
        ended.map_err(|source| FlowError::journal(name, source))?;
        End::of_kept(kept).ok_or_else(|| unreadable(name))
    }
}

impl Lane<'_> {
    /// Takes what a step came to.
    pub(super) fn take(&mut self, step: &Step, end: End) -> Result<(), FlowError> {
        let name = &self.named(step.name.as_str());
        let step_name = || name.clone();
        match end {
            End::Output(output) => self.write(name, &step.output(), output),
            End::Skipped => Ok(()),
            End::Blocked(value) => Err(FlowError::Blocked {
                step: step_name(),
                value,
            }),
            End::Failed(failure) => Err(FlowError::Failed {
                step: step_name(),
                failure,
                value: None,
            }),
            End::Error(source) => Err(FlowError::Call {
                step: step_name(),
                source,
            }),
        }
    }
}

impl End {
    fn of_call(end: Result<Value, CallError>) -> Self {
        match end {
            Ok(output) => Self::Output(output),
            Err(error) => Self::Error(error),
        }
    }

    fn of_kept(mut kept: Value) -> Option<Self> {
        let (key, value) = kept.as_object_mut()?.iter_mut().next()?;
        let value = value.take();
        Some(match key.as_str() {
            "output" => Self::Output(value),
            "skipped" => Self::Skipped,
            "blocked" => Self::Blocked(value),
            "failed" => Self::Failed(Failure::from_value(&value).ok()?),
            "error" => Self::Error(CallError::Ended {
                status: Status::Failed,
                failure: Failure::from_value(&value).ok()?,
            }),
            _ => return None,
        })
    }

    fn shown(&self) -> StepEnd<'_> {
        match self {
            Self::Output(value) => StepEnd::Output(value),
            Self::Skipped => StepEnd::Skipped,
            Self::Blocked(value) => StepEnd::Blocked(value),
            Self::Failed(failure) => StepEnd::Failed(failure),
            Self::Error(error) => StepEnd::Error(error),
        }
    }
}

/// The end of a call that never began: it is as if it had not started.
fn not_begun() -> Value {
    json!({ "begun": false })
}

/// Whether a call was refused, or given up while it waited for room. An agent has an attempt instead,
/// and OBSERVE is not kept as started.
fn never_began(step: &Step, error: &CallError) -> bool {
    let is_kept = !matches!(step.work, Work::Agent(_) | Work::Node(RuntimeNode::Observe));
    is_kept && (error.is_refusal() || matches!(error, CallError::Ended { .. }))
}

/// A mapping with one key, made without a copy of its value.
pub(super) fn under(key: &str, value: Value) -> Value {
    Value::Object([(key.to_owned(), value)].into_iter().collect())
}

pub(super) fn unreadable(name: &str) -> FlowError {
    let reason = "what the journal kept is no end of a step".to_owned();
    FlowError::journal(name, CallError::HostFault { reason })
}

/// The output of a call that had started when the run was killed. `None` for one that can run again:
/// it has no effect, or would be refused before it has any.
fn unknown(node: RuntimeNode, input: &Value) -> Option<Result<Value, CallError>> {
    let failure = || {
        let message = "the host stopped while the call ran; its effects may have been made";
        host_failure("OUTCOME_UNKNOWN", message.to_owned())
    };
    let result = |source: &dyn Fn(&str) -> Option<String>| {
        let call = input.get("call")?;
        let id = CallId::new(call.get("id")?.as_str()?).ok()?;
        let source = source(call.get("name")?.as_str()?)?;
        let outcome = ToolOutcome::ended(Status::Unknown, failure());
        Some(ExternalResult::new(&id, source, outcome))
    };
    match node {
        RuntimeNode::Observe => None,
        RuntimeNode::ActTool => {
            let result = result(&|name| Some(name.to_owned()))?;
            Some(nodes::output(&result))
        }
        RuntimeNode::ActMcp => {
            let server = input.get("server")?.as_str()?;
            let result = result(&|name| Some(format!("{server}:{name}")))?;
            let result = nodes::output(&result);
            Some(result.map(|result| json!({"operation": "invoke", "result": result})))
        }
        RuntimeNode::Output => {
            let delivery_id = input.get("deliveryId")?.as_str()?.to_owned();
            Some(nodes::output(&OutputReceipt {
                delivery_id,
                status: ReceiptStatus::Unknown,
                artifacts: None,
                error: Some(failure()),
                metadata: None,
            }))
        }
    }
}
