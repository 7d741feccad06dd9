//! One call from instantiation to its classified end.
//!
//! Driven by one thread from start to end, which may block: the guest, its host calls and the CPU
//! clock that bounds it are all that thread's.

mod command;
mod typed;

use tidegate_contract::limits::Limits;
use tidegate_contract::{
    CallError, Delivery, DeliveryId, Failure, JsonObject, OutputReceipt, Problem, ReceiptStatus,
    ToolOutcome,
};
use tidegate_sandbox::Shelf;
use wasmtime::Store;

use crate::artifacts::Keeping;
use crate::bindings::exports::tidegate::plugin::{sink, tools};
use crate::breach::Breach;
use crate::convert::{self, Broken};
use crate::ending::{self, Ending};
use crate::exports::Asked;
use crate::plugin::Loaded;
use crate::program::Program;
use crate::report;
use crate::secrets;
use crate::store::{self, CallState};
use crate::watch::Watch;

/// A store ready for one guest, or the bound that is passed already.
pub(crate) fn begin(
    loaded: &Loaded,
    call_id: &str,
    watch: Watch,
    program: Program,
) -> Result<Store<CallState>, CallError> {
    if let Some(breach) = watch.ended_before() {
        let failure = breach.failure(&limits(loaded, &watch));
        return Err(CallError::Ended {
            status: breach.status(),
            failure,
        });
    }
    let (engine, setup) = (&loaded.engine.wasmtime, &loaded.setup);
    Ok(store::build(engine, setup, call_id, watch, program))
}

/// Runs a guest while the engine's clock ticks: the value, or why there is none.
///
/// A computing guest is ended by the epoch callback, a waiting one by the host call it waits in.
pub(crate) fn run<T>(
    loaded: &Loaded,
    store: &mut Store<CallState>,
    guest: impl FnOnce(&mut Store<CallState>) -> wasmtime::Result<T>,
) -> Result<T, Ending> {
    let ticker = &loaded.engine.ticker;
    store.data_mut().watch.alarm(ticker.alarm());
    let _ticking = ticker.running();
    let end = guest(store);
    let state = store.data_mut();
    state.watch.end();
    for denial in state.watch.take_denials() {
        state.denials.record(denial);
    }
    match (end, state.watch.overrun()) {
        // The guest may have gone on as if nothing were wrong.
        (Ok(_) | Err(_), Some(breach)) => Err(Ending::Breach(breach)),
        (Ok(value), None) => Ok(value),
        (Err(error), None) => Err(ending::classify(&error, state)),
    }
}

/// Does one step of a call inside its span.
fn traced<T>(span: tracing::Span, step: impl FnOnce() -> T) -> T {
    let _inside = span.entered();
    let end = step();
    tracing::debug!("done");
    end
}

/// The limits of one call: the plugin's, with the deadline that its caller set.
pub(crate) fn limits(loaded: &Loaded, watch: &Watch) -> Limits {
    Limits {
        deadline_ms: watch.deadline().after_ms,
        ..loaded.setup.limits
    }
}

/// A tool of a component that knows nothing of the plugin contract.
fn foreign(
    loaded: &Loaded,
    asked: Asked<'_>,
    watch: Watch,
    shelf: Option<Shelf>,
) -> Result<ToolOutcome, CallError> {
    let exports = &loaded.code()?.exports;
    match (&exports.typed, &exports.command) {
        (Some(exports), _) => typed::tool(loaded, (exports, asked), watch, shelf),
        (None, Some(indices)) => command::tool(loaded, (indices, asked), watch, shelf),
        (None, None) => Err(CallError::UnknownTool {
            name: asked.name.to_owned(),
        }),
    }
}

/// What the two exports of a tool call come to together.
enum Executed {
    Refused(Vec<tools::Problem>),
    Outcome(tools::Outcome),
}

/// Validates and executes in one instance (SPEC T3: a failing check means execute never ran).
pub(crate) fn tool(
    loaded: &Loaded,
    asked: Asked<'_>,
    watch: Watch,
    shelf: Option<Shelf>,
) -> Result<ToolOutcome, CallError> {
    let code = loaded.code()?;
    let Some(tools) = &code.exports.tools else {
        return foreign(loaded, asked, watch, shelf);
    };
    let limits = limits(loaded, &watch);
    let mut store = begin(loaded, asked.id, watch, Program::Tool)?;
    store.data_mut().keeping = Keeping::with_result(shelf, &limits);
    let end = run(loaded, &mut store, |store| {
        let instance = traced(tracing::debug_span!("instantiate"), || {
            code.pre.instantiate(&mut *store)
        })?;
        let valid = traced(tracing::debug_span!("validate"), || {
            tools.validate(store, &instance, asked)
        })?;
        if let Err(problems) = valid {
            return Ok(Executed::Refused(problems));
        }
        let outcome = traced(tracing::debug_span!("execute"), || {
            tools.execute(store, &instance, asked)
        })?;
        Ok(Executed::Outcome(outcome))
    });
    let kept_bytes = store.data().keeping.result_bytes;
    let outcome = outcome_of(end, &limits, kept_bytes, executed);
    let outcome = outcome.and_then(|outcome| not_refused(outcome, &mut store));
    finish(loaded, outcome, store)
}

/// What a guest's end means for the caller. With `kept_bytes` an outcome may be as large as that: what
/// is over `result_bytes` of it is kept.
fn outcome_of<T>(
    end: Result<T, Ending>,
    limits: &Limits,
    kept_bytes: Option<u64>,
    read: impl FnOnce(T, &Limits) -> Result<Result<ToolOutcome, Broken>, CallError>,
) -> Result<ToolOutcome, CallError> {
    let reading = Limits {
        result_bytes: kept_bytes.unwrap_or(limits.result_bytes),
        ..*limits
    };
    let too_large = match kept_bytes {
        Some(_) => Breach::KeptResult,
        None => Breach::Result,
    };
    match end {
        Ok(value) => match read(value, &reading)? {
            Ok(outcome) => Ok(outcome),
            Err(Broken::TooLarge) => Ok(ended(too_large, limits)),
            Err(Broken::Contract(reason)) => Err(CallError::InvalidResult { reason }),
        },
        Err(Ending::Breach(breach)) => Ok(ended(breach, limits)),
        Err(Ending::Trap(failure)) => Ok(ToolOutcome::failed(failure)),
        Err(Ending::Host(reason)) => Err(CallError::HostFault { reason }),
    }
}

fn executed(executed: Executed, limits: &Limits) -> Result<Result<ToolOutcome, Broken>, CallError> {
    match executed {
        Executed::Refused(problems) if problems.is_empty() => {
            let reason = "`validate` refused the arguments without naming a problem".to_owned();
            Err(CallError::InvalidResult { reason })
        }
        Executed::Refused(problems) => Err(CallError::InvalidArguments {
            problems: refusal(problems),
        }),
        Executed::Outcome(outcome) => Ok(convert::outcome(outcome, limits)),
    }
}

/// Adds what the host has to say of the call, and keeps back what holds a secret.
fn finish(
    loaded: &Loaded,
    mut outcome: Result<ToolOutcome, CallError>,
    store: Store<CallState>,
) -> Result<ToolOutcome, CallError> {
    match &mut outcome {
        Ok(outcome) => report::attach(&mut outcome.metadata, store.data()),
        Err(_) => report::log(store.data()),
    }
    // Its slot is given back before anything else is done.
    drop(store);
    let secrets = &loaded.setup.handles.secrets;
    secrets::withhold(secrets, outcome, secrets::is_in_outcome)
}

/// A plugin whose command was not run, and that says no more than that, has refused the call (SPEC R5).
fn not_refused(
    outcome: ToolOutcome,
    store: &mut Store<CallState>,
) -> Result<ToolOutcome, CallError> {
    let said = outcome.error.as_ref().map(Failure::code);
    match store.data_mut().refused.take() {
        Some(error) if said == Some(error.code()) => {
            outcome.discard();
            Err(error)
        }
        _ => Ok(outcome),
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
    loaded: &Loaded,
    delivery: &Delivery,
    watch: Watch,
    shelf: Option<Shelf>,
) -> Result<OutputReceipt, CallError> {
    let code = loaded.code()?;
    let Some(indices) = code.exports.sink.as_ref() else {
        return Err(CallError::NotInjected {
            node: "INTERACTION.OUTPUT",
        });
    };
    let sent = convert::delivery(delivery);
    let limits = limits(loaded, &watch);
    let id = delivery.delivery_id.as_str();
    // A sink's delivery may be what it prints; what a tool prints is always kept beside its result.
    let stdout = loaded.setup.handles.stdout.clone();
    let program = stdout.map_or(Program::Tool, Program::Sink);
    let mut store = begin(loaded, id, watch, program)?;
    store.data_mut().keeping = Keeping::on(shelf, &limits);
    let end = run(loaded, &mut store, |store| {
        let instance = code.pre.instantiate(&mut *store)?;
        let sink = indices.load(&mut *store, &instance)?;
        sink.call_deliver(store, &sent)
    });
    let mut receipt = match end {
        Ok(receipt) => receipt_of(receipt, &limits, &delivery.delivery_id),
        Err(Ending::Breach(breach)) => Ok(unknown(delivery, breach.failure(&limits))),
        Err(Ending::Trap(failure)) => Ok(unknown(delivery, failure)),
        Err(Ending::Host(reason)) => Err(CallError::HostFault { reason }),
    };
    match &mut receipt {
        Ok(receipt) => report::attach(&mut receipt.metadata, store.data()),
        Err(_) => report::log(store.data()),
    }
    drop(store);
    let secrets = &loaded.setup.handles.secrets;
    secrets::withhold(secrets, receipt, |secret, receipt| {
        serde_json::to_value(receipt).map_or(true, |receipt| secret.is_in_value(&receipt))
    })
}

fn receipt_of(
    receipt: sink::Receipt,
    limits: &Limits,
    sent: &DeliveryId,
) -> Result<OutputReceipt, CallError> {
    let invalid = |reason| CallError::InvalidReceipt { reason };
    let receipt = convert::receipt(receipt, limits).map_err(|broken| {
        invalid(match broken {
            Broken::TooLarge => {
                format!(
                    "the receipt is larger than result_bytes = {}",
                    limits.result_bytes
                )
            }
            Broken::Contract(reason) => reason,
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
enum Said {
    Shape(wasmtime::Error),
    Definitions(Vec<tools::ToolDefinition>),
}

/// Looks at the types of a plugin's exports and asks for the definitions of its tools.
pub(crate) fn definitions(
    loaded: &Loaded,
    watch: Watch,
) -> Result<Result<Vec<tools::ToolDefinition>, Unsaid>, CallError> {
    let code = loaded.code()?;
    let mut store = begin(loaded, "", watch, Program::Tool)?;
    let end = run(loaded, &mut store, |store| {
        let instance = code.pre.instantiate(&mut *store)?;
        if let Some(sink) = &code.exports.sink
            && let Err(error) = sink.load(&mut *store, &instance)
        {
            return Ok(Said::Shape(error));
        }
        if let Some(worker) = &code.exports.worker
            && let Err(error) = worker.load(&mut *store, &instance)
        {
            return Ok(Said::Shape(error));
        }
        let Some(tools) = &code.exports.tools else {
            return Ok(Said::Definitions(Vec::new()));
        };
        match tools.all.load(&mut *store, &instance) {
            Err(error) => Ok(Said::Shape(error)),
            Ok(tools) => Ok(Said::Definitions(tools.call_definitions(store)?)),
        }
    });
    match end {
        Ok(Said::Definitions(definitions)) => Ok(Ok(definitions)),
        Ok(Said::Shape(error)) => Ok(Err(Unsaid::Shape(format!("{error:#}")))),
        Err(Ending::Breach(breach)) => {
            let failure = breach.failure(&loaded.setup.limits);
            Ok(Err(Unsaid::Ended(failure)))
        }
        Err(Ending::Trap(failure)) => Ok(Err(Unsaid::Ended(failure))),
        Err(Ending::Host(reason)) => Err(CallError::HostFault { reason }),
    }
}
