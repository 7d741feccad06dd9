//! One call from instantiation to its classified end.
//!
//! Runs on a thread for guests and stays on it: the guest, its host calls and the CPU clock that
//! bounds it are all one thread's.

use std::sync::Arc;

use tidegate_contract::limits::Limits;
use tidegate_contract::{
    CallError, Delivery, DeliveryId, Failure, JsonObject, OutputReceipt, Problem, ReceiptStatus,
    ToolCall, ToolOutcome,
};
use tidegate_sandbox::LineSink;
use wasmtime::Store;

use crate::bindings::exports::tidegate::plugin::{sink, tools};
use crate::breach::Breach;
use crate::convert;
use crate::ending::{self, Ending};
use crate::plugin::Loaded;
use crate::report;
use crate::store::{self, CallState};
use crate::watch::Watch;

/// What running the guest came to, and the store it ran in.
struct Run<T> {
    end: Result<T, Ending>,
    store: Store<CallState>,
}

/// Runs `guest` in a fresh store and races it against the deadline and the caller's cancellation.
///
/// A computing guest is ended by the epoch callback, a waiting one by dropping its future here.
fn run<T>(
    loaded: &Loaded,
    call_id: &str,
    watch: Watch,
    stdout: Option<LineSink>,
    guest: impl AsyncFnOnce(&mut Store<CallState>) -> wasmtime::Result<T>,
) -> Result<Run<T>, CallError> {
    if let Some(breach) = watch.breach() {
        let failure = breach.failure(&limits(loaded, &watch));
        return Err(CallError::Ended {
            status: breach.status(),
            failure,
        });
    }
    let (deadline, cancelled) = (watch.deadline(), watch.cancelled());
    let mut store = store::build(
        &loaded.engine.wasmtime,
        &loaded.setup,
        call_id,
        watch,
        stdout,
    );
    let _ticking = loaded.engine.ticker.running();
    let end = loaded.engine.block_on(async {
        tokio::select! {
            biased;
            end = guest(&mut store) => Ok(end),
            () = cancelled.cancelled() => Err(Breach::Cancelled),
            () = tokio::time::sleep_until(deadline.at.into()) => Err(Breach::Deadline),
        }
    });
    let end = match end {
        Some(Ok(Ok(value))) => Ok(value),
        Some(Ok(Err(error))) => Err(ending::classify(&error, store.data())),
        Some(Err(breach)) => Err(Ending::Breach(breach)),
        None => {
            return Err(CallError::HostFault {
                reason: "the engine is closed".to_owned(),
            });
        }
    };
    Ok(Run { end, store })
}

/// The limits of one call: the plugin's, with the deadline that its caller set.
fn limits(loaded: &Loaded, watch: &Watch) -> Limits {
    Limits {
        deadline_ms: watch.deadline().after_ms,
        ..loaded.setup.limits
    }
}

/// What the two exports of a tool call come to together.
enum Executed {
    Refused(Vec<tools::Problem>),
    Outcome(tools::Outcome),
}

/// Validates and executes in one instance (SPEC T3: a failing check means execute never ran).
pub(crate) fn tool(
    loaded: &Arc<Loaded>,
    call: &ToolCall,
    watch: Watch,
) -> Result<ToolOutcome, CallError> {
    let indices = loaded
        .tools
        .as_ref()
        .ok_or_else(|| CallError::UnknownTool {
            name: call.name.to_string(),
        })?;
    let asked = convert::tool_call(call);
    let limits = limits(loaded, &watch);
    let id = call.id.as_str();
    let Run { end, store } = run(loaded, id, watch, None, async |store| {
        let instance = loaded.pre.instantiate_async(&mut *store).await?;
        let tools = indices.load(&mut *store, &instance)?;
        let valid = tools
            .call_validate(&mut *store, &asked.name, &asked.arguments)
            .await?;
        if let Err(problems) = valid {
            return Ok(Executed::Refused(problems));
        }
        Ok(Executed::Outcome(
            tools.call_execute(&mut *store, &asked).await?,
        ))
    })?;
    let mut outcome = outcome_of(end, &limits);
    match &mut outcome {
        Ok(outcome) => report::attach(&mut outcome.metadata, store.into_data()),
        Err(_) => report::log(store.into_data()),
    }
    outcome
}

fn outcome_of(end: Result<Executed, Ending>, limits: &Limits) -> Result<ToolOutcome, CallError> {
    match end {
        Ok(Executed::Refused(problems)) if problems.is_empty() => {
            let reason = "`validate` refused the arguments without naming a problem".to_owned();
            Err(CallError::InvalidResult { reason })
        }
        Ok(Executed::Refused(problems)) => Err(CallError::InvalidArguments {
            problems: refusal(problems),
        }),
        Ok(Executed::Outcome(outcome)) => match convert::outcome(outcome, limits) {
            Ok(outcome) => Ok(outcome),
            Err(convert::Broken::TooLarge) => Ok(ended(Breach::Result, limits)),
            Err(convert::Broken::Contract(reason)) => Err(CallError::InvalidResult { reason }),
        },
        Err(Ending::Breach(breach)) => Ok(ended(breach, limits)),
        Err(Ending::Trap(failure)) => Ok(ToolOutcome::failed(failure)),
        Err(Ending::Host(reason)) => Err(CallError::HostFault { reason }),
    }
}

/// Most problems passed on to the caller.
const PROBLEMS: usize = 32;

fn refusal(problems: Vec<tools::Problem>) -> Vec<Problem> {
    problems
        .into_iter()
        .take(PROBLEMS)
        .map(|problem| Problem {
            pointer: convert::pointer(&problem.pointer),
            reason: convert::one_line(&problem.reason),
        })
        .collect()
}

fn ended(breach: Breach, limits: &Limits) -> ToolOutcome {
    ToolOutcome::ended(breach.status(), breach.failure(limits))
}

/// Hands one delivery to the sink.
pub(crate) fn delivery(
    loaded: &Arc<Loaded>,
    delivery: &Delivery,
    watch: Watch,
) -> Result<OutputReceipt, CallError> {
    let Some(indices) = loaded.sink.as_ref() else {
        return Err(CallError::NotInjected {
            node: "INTERACTION.OUTPUT",
        });
    };
    let sent = convert::delivery(delivery);
    let limits = limits(loaded, &watch);
    let id = delivery.delivery_id.as_str();
    // A sink's delivery may be what it prints; what a tool prints is always kept beside its result.
    let stdout = loaded.setup.handles.stdout.clone();
    let Run { end, store } = run(loaded, id, watch, stdout, async |store| {
        let instance = loaded.pre.instantiate_async(&mut *store).await?;
        let sink = indices.load(&mut *store, &instance)?;
        sink.call_deliver(&mut *store, &sent).await
    })?;
    let mut receipt = match end {
        Ok(receipt) => receipt_of(receipt, &limits, &delivery.delivery_id),
        Err(Ending::Breach(breach)) => Ok(unknown(delivery, breach.failure(&limits))),
        Err(Ending::Trap(failure)) => Ok(unknown(delivery, failure)),
        Err(Ending::Host(reason)) => Err(CallError::HostFault { reason }),
    };
    match &mut receipt {
        Ok(receipt) => report::attach(&mut receipt.metadata, store.into_data()),
        Err(_) => report::log(store.into_data()),
    }
    receipt
}

fn receipt_of(
    receipt: sink::Receipt,
    limits: &Limits,
    sent: &DeliveryId,
) -> Result<OutputReceipt, CallError> {
    let invalid = |reason| CallError::InvalidReceipt { reason };
    let receipt = convert::receipt(receipt, limits).map_err(|broken| {
        invalid(match broken {
            convert::Broken::TooLarge => {
                format!(
                    "the receipt is larger than result_bytes = {}",
                    limits.result_bytes
                )
            }
            convert::Broken::Contract(reason) => reason,
        })
    })?;
    receipt
        .check(sent)
        .map_err(|error| invalid(error.to_string()))?;
    Ok(receipt)
}

/// A sink that ended early may have delivered.
fn unknown(delivery: &Delivery, failure: Failure) -> OutputReceipt {
    OutputReceipt {
        delivery_id: delivery.delivery_id.as_str().to_owned(),
        status: ReceiptStatus::Unknown,
        artifacts: None,
        error: Some(failure),
        metadata: None::<JsonObject>,
    }
}

/// Why a plugin could not say what it has.
pub(crate) enum Unsaid {
    /// An export has another type than the plugin contract says.
    Shape(String),
    /// The guest did not return.
    Ended(Failure),
}

/// What asking comes to inside the instance.
enum Asked {
    Shape(wasmtime::Error),
    Definitions(Vec<tools::ToolDefinition>),
}

/// Looks at the types of a plugin's exports and asks for the definitions of its tools.
pub(crate) fn definitions(
    loaded: &Loaded,
    watch: Watch,
) -> Result<Result<Vec<tools::ToolDefinition>, Unsaid>, CallError> {
    let run = run(loaded, "", watch, None, async |store| {
        let instance = loaded.pre.instantiate_async(&mut *store).await?;
        if let Some(sink) = &loaded.sink
            && let Err(error) = sink.load(&mut *store, &instance)
        {
            return Ok(Asked::Shape(error));
        }
        let Some(tools) = &loaded.tools else {
            return Ok(Asked::Definitions(Vec::new()));
        };
        match tools.load(&mut *store, &instance) {
            Err(error) => Ok(Asked::Shape(error)),
            Ok(tools) => {
                let definitions = tools.call_definitions(&mut *store).await?;
                Ok(Asked::Definitions(definitions))
            }
        }
    })?;
    match run.end {
        Ok(Asked::Definitions(definitions)) => Ok(Ok(definitions)),
        Ok(Asked::Shape(error)) => Ok(Err(Unsaid::Shape(format!("{error:#}")))),
        Err(Ending::Breach(breach)) => {
            let failure = breach.failure(&loaded.setup.limits);
            Ok(Err(Unsaid::Ended(failure)))
        }
        Err(Ending::Trap(failure)) => Ok(Err(Unsaid::Ended(failure))),
        Err(Ending::Host(reason)) => Err(CallError::HostFault { reason }),
    }
}
