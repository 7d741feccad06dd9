//! Every route with the numbers it answers with: the router is made from this table, and a test
//! compares `docs/openapi.json` with it.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post};
use http::StatusCode;

use super::door::{self, Door};
use super::refused::Refused;
use super::{artifacts, calls, health, mcp, runs, worker};

/// What stands for a route where none was found.
pub(super) const NONE: &str = "none";

/// One route.
pub(super) struct Route {
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the router has it in `handler`")
    )]
    pub(super) method: &'static str,
    /// Its pattern, in the words of the description.
    pub(super) path: &'static str,
    /// The numbers of its own answers; those of [`EVERYWHERE`] come from any route.
    #[cfg_attr(not(test), expect(dead_code, reason = "for the description alone"))]
    pub(super) statuses: &'static [u16],
    handler: fn() -> MethodRouter<Arc<Door>>,
}

/// What any request can be answered with before its route is asked: malformed, another's Host or
/// Origin, slow, too large a head, the host's fault, a stop, another version of HTTP.
#[cfg(test)]
const EVERYWHERE: [u16; 7] = [400, 403, 408, 431, 500, 503, 505];

/// The routes.
pub(super) const ROUTES: [Route; 20] = [
    Route {
        method: "get",
        path: "/v1/worker/prompt",
        statuses: &[200, 401, 410, 429],
        handler: || get(worker::prompt),
    },
    Route {
        method: "get",
        path: "/v1/worker/system",
        statuses: &[200, 401, 404, 410, 429],
        handler: || get(worker::system),
    },
    Route {
        method: "get",
        path: "/v1/worker/content/{step}",
        statuses: &[200, 206, 304, 401, 404, 410, 416, 429],
        handler: || get(worker::content),
    },
    Route {
        method: "get",
        path: "/v1/worker/content/{step}/{part}",
        statuses: &[200, 206, 304, 401, 404, 410, 416, 429],
        handler: || get(worker::content),
    },
    Route {
        method: "post",
        path: "/v1/worker/artifact",
        statuses: &[204, 401, 404, 410, 413, 415, 422, 429],
        handler: || post(worker::artifact),
    },
    Route {
        method: "post",
        path: "/v1/worker/submit",
        statuses: &[204, 401, 404, 409, 410, 413, 415, 422, 429],
        handler: || post(worker::submit),
    },
    Route {
        method: "post",
        path: "/v1/calls",
        statuses: &[200, 401, 404, 410, 413, 415, 429, 499, 502, 504],
        handler: || post(calls::call),
    },
    Route {
        method: "post",
        path: "/mcp",
        statuses: &[200, 202, 401, 405, 406, 413, 415, 422, 429],
        handler: || post(mcp::message),
    },
    Route {
        method: "post",
        path: "/v1/flows",
        statuses: &[202, 401, 413, 415, 429],
        handler: || post(runs::launch),
    },
    Route {
        method: "post",
        path: "/v1/dispatch/claim",
        statuses: &[200, 204, 401, 429],
        handler: || post(runs::claim),
    },
    Route {
        method: "get",
        path: "/v1/runs/{id}",
        statuses: &[200, 401, 404, 429],
        handler: || get(runs::view),
    },
    Route {
        method: "get",
        path: "/v1/runs/{id}/events",
        statuses: &[200, 401, 404, 429],
        handler: || get(runs::follow),
    },
    Route {
        method: "get",
        path: "/v1/runs/{id}/artifacts/{digest}",
        statuses: &[200, 206, 304, 401, 404, 416, 429],
        handler: || get(artifacts::read),
    },
    Route {
        method: "post",
        path: "/v1/runs/{id}/cancel",
        statuses: &[200, 401, 404, 429],
        handler: || post(runs::cancel),
    },
    Route {
        method: "post",
        path: "/v1/runs/{id}/rekick",
        statuses: &[200, 401, 404, 410, 429],
        handler: || post(runs::rekick),
    },
    Route {
        method: "post",
        path: "/v1/runs/{id}/steps/{step}/audit",
        statuses: &[204, 401, 404, 410, 413, 415, 429],
        handler: || post(runs::audit),
    },
    Route {
        method: "get",
        path: "/healthz",
        statuses: &[200],
        handler: || get(health::live),
    },
    Route {
        method: "get",
        path: "/readyz",
        statuses: &[200],
        handler: || get(health::ready),
    },
    Route {
        method: "get",
        path: "/metrics",
        statuses: &[200, 401, 429],
        handler: || get(health::metrics),
    },
    Route {
        method: "get",
        path: "/v1/openapi.json",
        statuses: &[200],
        handler: || get(health::openapi),
    },
];

/// The router over the table.
pub(super) fn router(door: &Arc<Door>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        router = router.route(route.path, (route.handler)());
    }
    router
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(from_fn_with_state(Arc::clone(door), door::counted))
        .with_state(Arc::clone(door))
}

/// The pattern of a route as a constant, for labels.
pub(super) fn pattern(path: &str) -> &'static str {
    let known = ROUTES.iter().find(|route| route.path == path);
    known.map_or(NONE, |route| route.path)
}

async fn no_route() -> Refused {
    Refused::not_found()
}

async fn no_method() -> Refused {
    Refused::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "METHOD_NOT_ALLOWED",
        "the route does not take this method",
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    #[test]
    fn l3_the_description_has_exactly_the_routes_and_numbers_that_there_are() {
        let described: Value = serde_json::from_str(health::OPENAPI).unwrap();
        let mut shown = BTreeSet::new();
        for (path, methods) in described["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                for status in operation["responses"].as_object().unwrap().keys() {
                    shown.insert((path.clone(), method.clone(), status.parse().unwrap()));
                }
            }
        }
        let mut there: BTreeSet<(String, String, u16)> = BTreeSet::new();
        for route in ROUTES {
            for status in route.statuses.iter().chain(&EVERYWHERE) {
                there.insert((route.path.to_owned(), route.method.to_owned(), *status));
            }
        }
        let difference: Vec<_> = shown.symmetric_difference(&there).collect();
        assert!(difference.is_empty(), "{difference:?}");
    }
}
