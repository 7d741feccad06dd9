//! Rust types as tools and sinks, as an embedder writes them.

use tidegate::{BoxFuture, CallContext, Sink, Tool};
use tidegate_contract::{
    CallError, Delivery, Effect, Failure, JsonObject, OutputReceipt, Problem, ReceiptStatus,
    ToolCall, ToolDefinition, ToolName, ToolOutcome, Value,
};

type Execute = fn(&ToolCall, &CallContext) -> Result<ToolOutcome, CallError>;

/// A tool that answers by a function.
pub(crate) struct Native {
    definition: ToolDefinition,
    validate: fn(&JsonObject) -> Result<(), Vec<Problem>>,
    execute: Execute,
}

/// A tool with this name whose `execute` is the function.
pub(crate) fn native(name: &str, execute: Execute) -> Native {
    let schema = serde_json::json!({"type": "object"});
    Native {
        definition: ToolDefinition {
            name: ToolName::new(name).unwrap(),
            description: None,
            input_schema: schema.as_object().unwrap().clone(),
            output_schema: None,
            effects: Vec::new(),
            requires_approval: false,
        },
        validate: |_| Ok(()),
        execute,
    }
}

impl Native {
    pub(crate) fn validating(self, validate: fn(&JsonObject) -> Result<(), Vec<Problem>>) -> Self {
        Self { validate, ..self }
    }

    pub(crate) fn with_schema(mut self, schema: &Value) -> Self {
        let schema = schema.as_object().unwrap();
        self.definition.input_schema.clone_from(schema);
        self
    }

    pub(crate) fn with_effect(mut self, effect: Effect) -> Self {
        self.definition.effects.push(effect);
        self
    }
}

impl Tool for Native {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn validate(&self, arguments: &JsonObject) -> Result<(), Vec<Problem>> {
        (self.validate)(arguments)
    }

    fn execute<'a>(
        &'a self,
        call: &'a ToolCall,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutcome, CallError>> {
        Box::pin(async move { (self.execute)(call, context) })
    }
}

/// A sink that answers by a function.
pub(crate) struct NativeSink(pub(crate) fn(&Delivery) -> OutputReceipt);

impl Sink for NativeSink {
    fn deliver<'a>(
        &'a self,
        delivery: &'a Delivery,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, Result<OutputReceipt, CallError>> {
        Box::pin(async move { Ok((self.0)(delivery)) })
    }
}

/// A receipt for a delivery.
pub(crate) fn receipt(delivery: &Delivery, status: ReceiptStatus) -> OutputReceipt {
    let error = Failure::new("DELIVERY_REJECTED", "The destination rejected the result").unwrap();
    OutputReceipt {
        delivery_id: delivery.delivery_id.as_str().to_owned(),
        status,
        artifacts: delivery.artifacts.clone(),
        error: (status != ReceiptStatus::Accepted).then_some(error),
        metadata: None,
    }
}
