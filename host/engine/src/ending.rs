//! Why a guest did not return: a bound of the call, a trap of its own, or a fault of the host.

use tidegate_contract::Failure;
use tidegate_contract::failure::{host_failure, redact};
use tidegate_contract::limits::Limits;
use wasmtime::component::ResourceTableError;
use wasmtime::{Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;
use wasmtime_wasi_http::FieldMapError;

use crate::breach::Breach;
use crate::store::CallState;

/// The code of a trap, and how the words for one start.
const TRAP: &str = "TOOL_TRAPPED";
const TRAPPED: &str = "the tool trapped: ";
const EXITED: &str = "the tool exited with code ";

/// What ended a guest that did not end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// A trap or an exit of the guest's.
    Fault,
    /// A limit of time: the deadline, or what may be computed.
    Time,
    /// Any other limit.
    Limit,
}

impl EndedBy {
    /// Reads it out of the failure of a call that had these limits. A code alone says nothing, since a
    /// guest may write the same one: the words have to be the host's too.
    #[must_use]
    pub fn of(failure: &Failure, limits: &Limits) -> Option<Self> {
        if failure.code() == TRAP {
            let mut starts = [TRAPPED, EXITED].into_iter();
            let is_ours = starts.any(|start| failure.message().starts_with(start));
            return is_ours.then_some(Self::Fault);
        }
        let mut all = Breach::ALL.into_iter();
        match all.find(|breach| breach.failure(limits) == *failure)? {
            Breach::Cancelled => None,
            Breach::Deadline | Breach::Cpu => Some(Self::Time),
            _ => Some(Self::Limit),
        }
    }
}

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
        (Some(trap), _) => format!("{TRAPPED}{trap}"),
        (None, Some(exit)) => format!("{EXITED}{} instead of returning", exit.0),
        (None, None) => format!("{TRAPPED}{}", error.root_cause()),
    };
    Ending::Trap(host_failure(TRAP, redact(&message)))
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

#[cfg(test)]
mod tests {
    use tidegate_contract::Failure;
    use tidegate_contract::limits::Limits;

    use super::EndedBy;
    use crate::breach::Breach;

    #[test]
    fn p3_a_guest_that_uses_a_code_of_the_hosts_is_not_taken_for_the_host() {
        let limits = Limits::default();
        let check = |code: &str, message: &str, expected: Option<EndedBy>| {
            let failure = Failure::new(code, message).unwrap();
            assert_eq!(EndedBy::of(&failure, &limits), expected, "{failure:?}");
        };
        let trap = "the tool trapped: wasm trap: out of bounds";
        check("TOOL_TRAPPED", trap, Some(EndedBy::Fault));
        let exit = "the tool exited with code 3 instead of returning";
        check("TOOL_TRAPPED", exit, Some(EndedBy::Fault));
        check("TOOL_TRAPPED", "the mouse is in it", None);
        check("LIMIT_TOO_HIGH", "`limit` is at most 10", None);
        check("LIMIT_MEMORY", "the list is too long", None);
        for breach in Breach::ALL {
            let expected = match breach {
                Breach::Cancelled => None,
                Breach::Deadline | Breach::Cpu => Some(EndedBy::Time),
                _ => Some(EndedBy::Limit),
            };
            let failure = breach.failure(&limits);
            assert_eq!(EndedBy::of(&failure, &limits), expected, "{failure:?}");
        }
    }
}
