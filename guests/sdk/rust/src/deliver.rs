//! Sinks: a delivery comes in, and a receipt says what became of it.

use crate::bindings::sink::exports::tidegate::plugin::sink::Guest;
use crate::{Content, Delivery, Failure, Part, Receipt, ReceiptStatus, json};

/// A place where final messages go: what [`export_sink`](crate::export_sink) takes.
pub trait Sink {
    /// Takes one delivery. The host never repeats it.
    fn deliver(delivery: Delivery) -> Receipt;
}

impl<T: Sink> Guest for T {
    fn deliver(delivery: Delivery) -> Receipt {
        <T as Sink>::deliver(delivery)
    }
}

impl Delivery {
    /// The delivery as a JSON object on one line, in the names of the wire: `{"id", "message",
    /// "artifacts"?}`, without a line break in it or after it.
    pub fn to_json(&self) -> String {
        json::delivery(self)
    }

    /// What the message says as text: its text, its JSON, or its parts one below the other.
    pub fn text(&self) -> String {
        match &self.message.content {
            Content::Text(text) | Content::Json(text) => text.clone(),
            Content::Parts(parts) => parts.iter().map(line).collect::<Vec<_>>().join("\n"),
        }
    }

    /// The sink has taken the delivery over, with its artifacts. `metadata` is a JSON object.
    pub fn accepted(self, metadata: Option<String>) -> Receipt {
        Receipt {
            delivery_id: self.delivery_id,
            status: ReceiptStatus::Accepted,
            artifacts: Some(self.artifacts).filter(|list| !list.is_empty()),
            error: None,
            metadata,
        }
    }

    /// The sink has not taken the delivery, and nothing of it has left. The message is fit for anyone.
    pub fn rejected(self, code: &str, message: &str) -> Receipt {
        self.not_taken(ReceiptStatus::Rejected, code, message)
    }

    /// Nobody knows whether the delivery was taken. The message is fit for anyone.
    pub fn unknown(self, message: &str) -> Receipt {
        self.not_taken(ReceiptStatus::Unknown, "OUTCOME_UNKNOWN", message)
    }

    fn not_taken(self, status: ReceiptStatus, code: &str, message: &str) -> Receipt {
        Receipt {
            delivery_id: self.delivery_id,
            status,
            artifacts: None,
            error: Some(Failure::new(code, message)),
            metadata: None,
        }
    }
}

fn line(part: &Part) -> &str {
    match part {
        Part::Text(text) | Part::Json(text) => text,
        Part::Reference(reference) => &reference.uri,
    }
}
