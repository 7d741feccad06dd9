//! The answers of a sink.

use crate::bindings::tidegate::plugin::types::{Delivery, Failure, Receipt, ReceiptStatus};

/// The sink has taken the delivery over, with its artifacts. `metadata` is a JSON object.
pub fn accepted(delivery: Delivery, metadata: Option<String>) -> Receipt {
    Receipt {
        delivery_id: delivery.delivery_id,
        status: ReceiptStatus::Accepted,
        artifacts: Some(delivery.artifacts).filter(|list| !list.is_empty()),
        error: None,
        metadata,
    }
}

/// The sink has not taken the delivery, and nothing of it has left. The message is fit for anyone.
pub fn rejected(delivery: Delivery, code: &str, message: &str) -> Receipt {
    not_taken(delivery, ReceiptStatus::Rejected, code, message)
}

/// Nobody knows whether the delivery was taken. The message is fit for anyone.
pub fn unknown(delivery: Delivery, message: &str) -> Receipt {
    not_taken(delivery, ReceiptStatus::Unknown, "OUTCOME_UNKNOWN", message)
}

fn not_taken(delivery: Delivery, status: ReceiptStatus, code: &str, message: &str) -> Receipt {
    Receipt {
        delivery_id: delivery.delivery_id,
        status,
        artifacts: None,
        error: Some(Failure {
            code: code.to_owned(),
            message: message.to_owned(),
            retryable: None,
        }),
        metadata: None,
    }
}
