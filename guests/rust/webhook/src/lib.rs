//! The webhook sink: posts each delivery as JSON to one URL, once.
//!
//! The receipt says what is known: accepted by a status of the receiver, rejected where the receiver
//! said no or nothing was sent, unknown after anything else. Secrets are the host's to add.
//! Deliberately absent: retries (the key lets the application try again safely), redirects, trust in
//! anything that the receiver says but its status.

use std::time::Duration;

use exchange::{Deadline, Fault, Request};
use tidegate_plugin::{Delivery, Receipt, Sink, context};

use crate::settings::Settings;

mod key;
mod settings;
mod verdict;

/// The most that is read of an answer, in bytes, and for how long: enough to be polite.
const ANSWER_BYTES: usize = 64 * 1024;
const ANSWER_TIME: Duration = Duration::from_secs(1);

struct Webhook;

tidegate_plugin::export_sink!(Webhook);

impl Sink for Webhook {
    fn deliver(delivery: Delivery) -> Receipt {
        let settings = match Settings::read(&context::config()) {
            Ok(settings) => settings,
            Err(reason) => return delivery.rejected("CONFIG_INVALID", &reason),
        };
        match post(&settings, &delivery) {
            Ok(status) => verdict::of_status(delivery, status),
            Err(fault) => verdict::of_fault(delivery, fault),
        }
    }
}

/// Posts the delivery, and gives the status of the answer.
fn post(settings: &Settings, delivery: &Delivery) -> Result<u16, Fault> {
    let deadline = Deadline::after(settings.timeout);
    let body = delivery.to_json();
    let key = key::idempotency_key(&delivery.delivery_id);
    let mut headers = vec![
        ("content-type", "application/json"),
        ("idempotency-key", &key),
    ];
    let configured = settings.headers.iter();
    headers.extend(configured.map(|(name, value)| (name.as_str(), value.as_str())));
    let response = exchange::send(
        &Request {
            server: &settings.url,
            path: settings.url.path(),
            headers: &headers,
            body: Some(body.as_bytes()),
        },
        &deadline,
    )?;
    let status = response.status();
    match response.read(ANSWER_BYTES, &Deadline::after(ANSWER_TIME)) {
        // The status has said all there is to know.
        Ok(_) | Err(_) => Ok(status),
    }
}
