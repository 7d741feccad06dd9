//! `hunt`: looks for a secret in all the memory that this plugin has.

use serde_json::json;

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::types::Outcome;
use crate::{http, outcome};

mod memory;

pub(crate) const DESCRIPTION: &str = "Sends a request as http does, then looks through its whole \
    memory for the text that {needle_reversed} is backwards, and tells how often it is {found} \
    beside the details of the request. The text itself is never put together here.";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let report = http::once(arguments);
    let found = memory::count_reversed(arguments.text("needle_reversed", "").as_bytes());
    let mut details = report.details();
    if let Some(details) = details.as_object_mut() {
        details.insert("found".to_owned(), json!(found));
    }
    outcome::detailed(&format!("found: {found}"), &details)
}
