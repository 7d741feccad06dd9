//! What is known of a delivery after the exchange (SPEC D1; CASES IO11).

use exchange::{Fault, Sent};
use tidegate_plugin::{Delivery, Receipt};

/// The receipt after an answer: a status of 2xx takes the delivery over, any other does not.
pub(crate) fn of_status(delivery: Delivery, status: u16) -> Receipt {
    let metadata = Some(format!("{{\"httpStatus\":{status}}}"));
    let receipt = match status {
        200..=299 => return delivery.accepted(metadata),
        409 => delivery.rejected(
            "WEBHOOK_CONFLICT",
            "the receiver has another message under this delivery id (status 409)",
        ),
        _ => delivery.rejected(
            "WEBHOOK_REJECTED",
            &format!("the receiver answered with status {status}"),
        ),
    };
    Receipt {
        metadata,
        ..receipt
    }
}

/// The receipt without an answer.
pub(crate) fn of_fault(delivery: Delivery, fault: Fault) -> Receipt {
    match (fault, fault.sent()) {
        (Fault::Malformed("header"), _) => delivery.rejected(
            "CONFIG_INVALID",
            "config: `headers` has one that may not be sent",
        ),
        (_, Sent::Nothing) => delivery.rejected("WEBHOOK_REJECTED", &fault.to_string()),
        (_, Sent::Maybe) => {
            let message = format!("the message may have been taken, but {fault}");
            delivery.unknown(&message)
        }
    }
}

#[cfg(test)]
mod tests {
    use tidegate_plugin::{Content, Message, ReceiptStatus, Role};

    use super::*;

    fn delivery() -> Delivery {
        Delivery {
            delivery_id: "d-1".to_owned(),
            message: Message {
                role: Role::Assistant,
                content: Content::Text("hello".to_owned()),
                name: None,
            },
            artifacts: Vec::new(),
        }
    }

    fn code(receipt: &Receipt) -> &str {
        receipt
            .error
            .as_ref()
            .map_or("", |error| error.code.as_str())
    }

    #[test]
    fn d1_a_status_decides_and_is_told() {
        for (status, expected, expected_code) in [
            (200, ReceiptStatus::Accepted, ""),
            (204, ReceiptStatus::Accepted, ""),
            (301, ReceiptStatus::Rejected, "WEBHOOK_REJECTED"),
            (401, ReceiptStatus::Rejected, "WEBHOOK_REJECTED"),
            (409, ReceiptStatus::Rejected, "WEBHOOK_CONFLICT"),
            (500, ReceiptStatus::Rejected, "WEBHOOK_REJECTED"),
        ] {
            let receipt = of_status(delivery(), status);
            assert_eq!(receipt.delivery_id, "d-1");
            assert_eq!(receipt.status, expected);
            assert_eq!(code(&receipt), expected_code);
            let metadata = format!("{{\"httpStatus\":{status}}}");
            assert_eq!(receipt.metadata, Some(metadata));
        }
    }

    #[test]
    fn io11_what_may_have_been_sent_is_unknown_and_the_rest_rejected() {
        for (fault, expected, expected_code) in [
            (
                Fault::Unsent("HTTP-request-denied"),
                ReceiptStatus::Rejected,
                "WEBHOOK_REJECTED",
            ),
            (
                Fault::Malformed("header"),
                ReceiptStatus::Rejected,
                "CONFIG_INVALID",
            ),
            (
                Fault::Broken("connection-terminated"),
                ReceiptStatus::Unknown,
                "OUTCOME_UNKNOWN",
            ),
            (Fault::Timeout, ReceiptStatus::Unknown, "OUTCOME_UNKNOWN"),
        ] {
            let receipt = of_fault(delivery(), fault);
            assert_eq!(receipt.status, expected);
            assert_eq!(code(&receipt), expected_code);
        }
    }
}
