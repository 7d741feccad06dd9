//! A rehearsal: the checks of a call that run no plugin, for a caller who wants to know first.

use tidegate_contract::{CallError, Delivery, Value};

use super::{InvokeOptions, Runtime, input_bounds};
use crate::bounds;
use crate::nodes::{self, Node};
use crate::observe::observe;

impl Runtime {
    /// Makes the checks that [`invoke`](Self::invoke) makes before anything runs: the shape of the
    /// input, permission, registration, effects, schema, the sink. A plugin's own `validate` is
    /// the plugin's code, and is not run.
    ///
    /// # Errors
    ///
    /// [`CallError`]: the refusal that `invoke` would give.
    pub fn check(
        &self,
        node: Node,
        input: Value,
        options: &InvokeOptions,
    ) -> Result<(), CallError> {
        self.open()?;
        let bounds = input_bounds();
        match node {
            Node::ActTool => {
                let call = nodes::tool_input(input, &bounds)?;
                self.prepare(&call, &options.caller).map(drop)
            }
            Node::Observe => observe(nodes::observe_input(input, &bounds)?).map(drop),
            Node::Output => {
                let delivery = Delivery::from_value(input)?;
                let sink = self.0.sinks.choose(options.sink.as_deref())?;
                let checked = delivery.check(&bounds::of_delivery(&sink.limits()));
                checked.map_err(|error| CallError::InvalidCall {
                    reason: format!("the delivery passes arguments_bytes: {error}"),
                })?;
                sink.ready()
            }
            Node::ActMcp => {
                let request = self.mcp_input(input, &bounds)?;
                self.check_mcp(&request, options)
            }
        }
    }
}
