//! `http` and `http_many`: requests by `wasi:http` directly, each with its faults.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::types::Outcome;
use crate::{caller, outcome};

use report::Report;

mod answer;
mod report;
mod request;

pub(crate) const DESCRIPTION: &str = "Sends {method, scheme, authority, path, headers: [[name, \
    value]], body or body_bytes} and reads the answer, {times} in a row with {pause_ms} in between. \
    What is left out is not set; the method is then GET. Bounds: {connect_timeout_ms, \
    first_byte_timeout_ms, between_bytes_timeout_ms}. {drop_body: true} drops the request's body \
    instead of finishing it; {no_body: true} never takes it. {read} is all, none or the most bytes to \
    read; {read_pause_ms} comes before each read. Tells ok or the name of the error, and as details \
    {step, error, detail, \
    bodyError, status, headers, body, bodyBytes, trailers}, counts by outcome beside the last with \
    {times}. The step is done, or set-method, set-scheme, set-authority, set-path, append-header, \
    set-connect-timeout, set-first-byte-timeout, set-between-bytes-timeout, request-body, handle, \
    response, consume, body-stream, read-body or trailers; of a bodyError body-write, write-body or \
    finish-body.";

pub(crate) const MANY_DESCRIPTION: &str = "Starts {concurrent} requests as http does before it \
    waits for any, and tells counts by outcome.";

/// Sends one request after the other.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let times = arguments.number("times", 1);
    let mut report = once(arguments);
    if times <= 1 {
        return outcome::detailed(report.outcome(), &report.details());
    }
    let mut counts = Counts::default();
    counts.add(&report);
    for _time in 1..times {
        caller::pause(arguments.number("pause_ms", 0));
        report = once(arguments);
        counts.add(&report);
    }
    let mut details = report.details();
    if let Some(details) = details.as_object_mut() {
        details.insert("counts".to_owned(), counts.json());
    }
    outcome::detailed(report.outcome(), &details)
}

/// Sends many requests at once.
pub(crate) fn many(arguments: &Arguments) -> Outcome {
    let started: Vec<_> = (0..arguments.number("concurrent", 2))
        .map(|_number| request::start(arguments))
        .collect();
    let mut counts = Counts::default();
    for started in started {
        counts.add(&answer::of(started, arguments));
    }
    outcome::detailed(&counts.text(), &json!({ "counts": counts.json() }))
}

/// One request and its answer.
pub(crate) fn once(arguments: &Arguments) -> Report {
    answer::of(request::start(arguments), arguments)
}

/// How many requests came to each outcome.
#[derive(Default)]
struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    fn add(&mut self, report: &Report) {
        *self.0.entry(report.outcome()).or_default() += 1;
    }

    fn json(&self) -> Value {
        json!(self.0)
    }

    fn text(&self) -> String {
        let counts: Vec<String> = self
            .0
            .iter()
            .map(|(outcome, count)| format!("{outcome}: {count}"))
            .collect();
        counts.join(", ")
    }
}
