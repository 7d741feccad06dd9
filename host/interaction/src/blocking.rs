//! Calls whose guest runs on the caller's own thread: one that may block, or one that tokio takes all
//! else from. The hop to another thread and back costs several times what the call itself does.

use std::pin::pin;

use tidegate_contract::{CallError, Delivery, ExternalResult, OutputReceipt, ToolCall};
use tidegate_engine::{Engine, RunOn};

use crate::runtime::{InvokeOptions, Runtime};

/// A runtime's calls for a thread that may block; see [`Runtime::blocking`].
#[derive(Clone, Copy, Debug)]
pub struct Blocking<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) engine: &'a Engine,
}

impl Blocking<'_> {
    /// As [`Runtime::act_tool`], on the calling thread.
    ///
    /// # Errors
    ///
    /// As [`Runtime::act_tool`].
    ///
    /// # Panics
    ///
    /// On a thread that polls futures, as any blocking call of a runtime does.
    pub fn act_tool(
        &self,
        call: ToolCall,
        options: InvokeOptions,
    ) -> Result<ExternalResult, CallError> {
        // Pinned here, so that it is not moved to where it is driven.
        let call = pin!(self.runtime.run_tool(call, options, RunOn::CallerThread));
        self.engine.block_on(call)
    }

    /// As [`Runtime::output`], on the calling thread.
    ///
    /// # Errors
    ///
    /// As [`Runtime::output`].
    ///
    /// # Panics
    ///
    /// On a thread that polls futures, as any blocking call of a runtime does.
    pub fn output(
        &self,
        delivery: Delivery,
        options: InvokeOptions,
    ) -> Result<OutputReceipt, CallError> {
        let delivery = self
            .runtime
            .run_sink(delivery, options, RunOn::CallerThread);
        self.engine.block_on(delivery)
    }
}

impl Runtime {
    /// As [`act_tool`](Self::act_tool), in the task that polls it: a guest runs on this very thread,
    /// and its other tasks on another. For a task spawned for this call, or a thread of the caller's
    /// own that waits for it, on a runtime of several threads; elsewhere it is `act_tool`.
    ///
    /// # Errors
    ///
    /// As [`act_tool`](Self::act_tool).
    pub async fn act_tool_in_place(
        &self,
        call: ToolCall,
        options: InvokeOptions,
    ) -> Result<ExternalResult, CallError> {
        self.run_tool(call, options, RunOn::in_place()).await
    }
}
