//! Why a guest did not return: a bound of the call, a trap of its own, or a fault of the host.

use tidegate_contract::Failure;
use tidegate_contract::failure::{host_failure, redact};
use wasmtime::component::ResourceTableError;
use wasmtime::{Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;
use wasmtime_wasi_http::FieldMapError;

use crate::breach::Breach;
use crate::store::CallState;

/// How a call ended that gave no value.
#[derive(Debug)]
pub(crate) enum Ending {
    /// It passed a bound.
    Breach(Breach),
    /// The plugin is broken: a panic, a stack overflow, an exit.
    Trap(Failure),
    /// The host is: out of slots that admission should have kept.
    Host(String),
}

/// Reads the reason out of the error and of what the call's state recorded.
pub(crate) fn classify(error: &wasmtime::Error, state: &CallState) -> Ending {
    if let Some(breach) = state
        .breach
        .or_else(|| error.downcast_ref::<Breach>().copied())
    {
        return Ending::Breach(breach);
    }
    if matches!(error.downcast_ref(), Some(ResourceTableError::Full)) {
        return Ending::Breach(Breach::Handles);
    }
    if error.is::<FieldMapError>() {
        // wasmtime traps on the two that are a matter of size alone.
        return Ending::Breach(Breach::HttpHeaders);
    }
    if let Some(breach) = by_message(error, state) {
        return Ending::Breach(breach);
    }
    if error.is::<wasmtime::PoolConcurrencyLimitError>() {
        return Ending::Host("no slot is free for the call".to_owned());
    }
    if let Some(breach) = state.limiter.refused {
        return Ending::Breach(breach);
    }
    let message = match (
        error.downcast_ref::<Trap>(),
        error.downcast_ref::<I32Exit>(),
    ) {
        (Some(trap), _) => format!("the tool trapped: {trap}"),
        (None, Some(exit)) => format!("the tool exited with code {} instead of returning", exit.0),
        (None, None) => format!("the tool trapped: {}", error.root_cause()),
    };
    Ending::Trap(host_failure("TOOL_TRAPPED", redact(&message)))
}

/// wasmtime gives these three no type that could be matched; a test holds each text.
fn by_message(error: &wasmtime::Error, state: &CallState) -> Option<Breach> {
    let says = |text: &str| error.chain().any(|cause| cause.to_string().contains(text));
    if says("fuel allocated for hostcalls has been exhausted") {
        // Without wasm frames below it, what was copied is the result.
        let limits = &state.setup.limits;
        let lifting_result = error
            .downcast_ref::<WasmBacktrace>()
            .is_none_or(|trace| trace.frames().is_empty());
        let lifted_bytes = limits.host_allocation_bytes;
        return Some(match state.keeping.result_bytes {
            _ if !lifting_result => Breach::HostAllocation,
            None if limits.result_bytes > lifted_bytes => Breach::HostAllocation,
            None => Breach::Result,
            Some(kept_bytes) if kept_bytes > lifted_bytes => Breach::LiftedResult,
            Some(_) => Breach::KeptResult,
        });
    }
    if says("store handle limit exceeded") {
        return Some(Breach::Handles);
    }
    says("instance count too high").then_some(Breach::Instances)
}
