//! `tidegate deliver`: one message from stdin to one sink (SPEC L3, D1, D2).

use serde_json::json;
use tidegate::{InvokeOptions, Node};
use tidegate_contract::{Delivery, OutputReceipt, ReceiptStatus, Value};

use crate::cli::DeliverArguments;
use crate::plugins::{self, Host};
use crate::refusal::{self, Exit, Form};
use crate::{input, interrupt, print};

/// Runs the command.
pub(crate) async fn run(arguments: &DeliverArguments) -> Exit {
    let form = Form::of(arguments.json);
    let (delivery, document, host) = match prepare(arguments) {
        Ok(prepared) => prepared,
        Err(error) => return refusal::usage(&error, form),
    };
    let options = InvokeOptions {
        cancel: interrupt::token(),
        sink: arguments.sink.clone(),
        ..InvokeOptions::default()
    };
    if arguments.dry_run {
        return rehearse(&host, document, &options, form);
    }
    let ended = host.runtime.output(delivery, options).await;
    host.close().await;
    // Where a sink prints to stdout, stdout is the sink's alone.
    let form = if host.prints { Form::Text } else { form };
    match ended {
        Ok(receipt) => show(&receipt, host.prints),
        Err(error) => refusal::report(&error, form),
    }
}

fn prepare(arguments: &DeliverArguments) -> anyhow::Result<(Delivery, Value, Host)> {
    let document = input::document()?;
    let delivery = Delivery::from_value(document.clone())?;
    let host = plugins::host(&arguments.plugins)?;
    Ok((delivery, document, host))
}

fn show(receipt: &OutputReceipt, sink_prints: bool) -> Exit {
    print::denials(receipt.denied());
    if sink_prints {
        print::warning(&json!(receipt).to_string());
    } else {
        print::json(receipt);
    }
    match receipt.status {
        ReceiptStatus::Accepted => Exit::Success,
        ReceiptStatus::Rejected | ReceiptStatus::Unknown => Exit::Failed,
    }
}

fn rehearse(host: &Host, document: Value, options: &InvokeOptions, form: Form) -> Exit {
    let sink = options.sink.as_deref().unwrap_or("the only sink");
    let id = document.get("deliveryId").map(Value::to_string);
    let step = format!("deliver {} to {sink}", id.unwrap_or_default());
    let would = json!({"deliver": document, "sink": options.sink});
    match host.runtime.check(Node::Output, document, options) {
        Ok(()) => host.plan.show(&would, &[step], form),
        Err(error) => refusal::report(&error, form),
    }
}
