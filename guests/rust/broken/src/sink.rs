//! The sink: takes everything, or answers wrongly.

use crate::answer::failure;
use crate::bindings::exports::tidegate::plugin::sink::Guest;
use crate::bindings::tidegate::plugin::types::{
    Artifact, Delivery, Receipt, ReceiptStatus, Reference,
};
use crate::{Broken, fault, trap};

impl Guest for Broken {
    fn deliver(delivery: Delivery) -> Receipt {
        let accepted = Receipt {
            delivery_id: delivery.delivery_id,
            status: ReceiptStatus::Accepted,
            artifacts: None,
            error: None,
            metadata: None,
        };
        match fault::name() {
            "sink_traps" => trap(),
            "receipt_other_id" => Receipt {
                delivery_id: "another".to_owned(),
                ..accepted
            },
            "receipt_silent" => Receipt {
                status: ReceiptStatus::Rejected,
                ..accepted
            },
            "receipt_error_path" => Receipt {
                status: ReceiptStatus::Rejected,
                error: Some(failure("LOST", "can't write /var/spool/messages")),
                ..accepted
            },
            "receipt_artifact" => Receipt {
                artifacts: Some(vec![Artifact {
                    name: String::new(),
                    reference: Reference {
                        uri: "mem:1".to_owned(),
                        media_type: None,
                        digest: None,
                    },
                }]),
                ..accepted
            },
            "sink_refuses" => Receipt {
                status: ReceiptStatus::Rejected,
                error: Some(failure("CLOSED_TODAY", "nothing is taken today")),
                ..accepted
            },
            _ => accepted,
        }
    }
}
