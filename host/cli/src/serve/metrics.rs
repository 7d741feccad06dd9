//! Counts of what was answered, as Prometheus reads them.
//!
//! A label is a route's pattern, a known method or a number: nothing that a client chose.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use http::{Method, StatusCode};

/// What is counted.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    /// Answers by method, route and number.
    answers: Mutex<BTreeMap<(&'static str, &'static str, u16), u64>>,
    /// Connections that are open.
    connections: AtomicU64,
    /// Connections that were not taken: their address has all that it may have.
    over_share: AtomicU64,
}

impl Metrics {
    /// Counts one answer.
    pub(super) fn answered(&self, method: &Method, route: &'static str, status: StatusCode) {
        let key = (method_name(method), route, status.as_u16());
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let count = answers.entry(key).or_default();
        *count = count.saturating_add(1);
    }

    /// Counts a connection until the value is dropped.
    pub(super) fn connected(&self) -> Connected<'_> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Connected(self)
    }

    /// Counts a connection that its address has no share for.
    pub(super) fn over_share(&self) {
        self.over_share.fetch_add(1, Ordering::Relaxed);
    }

    /// All of it as text.
    pub(super) fn text(&self) -> String {
        let connections = self.connections.load(Ordering::Relaxed);
        let over_share = self.over_share.load(Ordering::Relaxed);
        let mut text = format!(
            "# HELP tidegate_http_connections Connections that are open.\n\
             # TYPE tidegate_http_connections gauge\n\
             tidegate_http_connections {connections}\n\
             # HELP tidegate_http_connections_refused_total Connections over the share of their address.\n\
             # TYPE tidegate_http_connections_refused_total counter\n\
             tidegate_http_connections_refused_total {over_share}\n\
             # HELP tidegate_http_answers_total Answers by method, route and status.\n\
             # TYPE tidegate_http_answers_total counter\n"
        );
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        for ((method, route, status), count) in &*answers {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            match writeln!(text, "tidegate_http_answers_total{{{labels}}} {count}") {
                // Writing to a string can't fail.
                Ok(()) | Err(std::fmt::Error) => {}
            }
        }
        text
    }
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Connected<'a>(&'a Metrics);

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The name of a method that is known; a client can make up others.
pub(super) fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        Method::PATCH => "PATCH",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io06_labels_are_routes_and_numbers() {
        let metrics = Metrics::default();
        let _open = metrics.connected();
        drop(metrics.connected());
        metrics.over_share();
        let made_up = Method::from_bytes(b"CAP_TEST123").unwrap();
        metrics.answered(&Method::GET, "/healthz", StatusCode::OK);
        metrics.answered(&Method::GET, "/healthz", StatusCode::OK);
        metrics.answered(&made_up, "none", StatusCode::NOT_FOUND);
        let text = metrics.text();
        for line in [
            "tidegate_http_connections 1",
            "tidegate_http_connections_refused_total 1",
            "tidegate_http_answers_total{method=\"GET\",route=\"/healthz\",status=\"200\"} 2",
            "tidegate_http_answers_total{method=\"other\",route=\"none\",status=\"404\"} 1",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line}: {text}");
        }
        assert!(!text.contains("CAP_TEST123"));
    }
}
