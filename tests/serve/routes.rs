//! Routes as such: those that are there, those that are not, and what is asked of the service itself.

use super::client::Request;
use super::service::Service;

#[test]
fn l3_what_is_not_there_is_404_and_another_method_405_each_with_a_document() {
    let service = Service::start(&[]);
    for path in [
        "/",
        "/v1",
        "/v1/worker",
        "/v1/worker/prompt/",
        "/V1/calls",
        "/%00",
    ] {
        service.get(path).is(404, "NOT_FOUND");
    }
    for (method, path, allow) in [
        ("POST", "/v1/worker/prompt", "GET,HEAD"),
        ("GET", "/v1/worker/submit", "POST"),
        ("DELETE", "/v1/calls", "POST"),
        ("PURGE", "/healthz", "GET,HEAD"),
        ("OPTIONS", "/v1/calls", "POST"),
    ] {
        let answer = service.send(&Request::new(method, path));
        answer.is(405, "METHOD_NOT_ALLOWED");
        assert_eq!(answer.field("allow"), Some(allow), "{method} {path}");
    }
}

#[test]
fn l3_the_service_says_how_it_is_and_what_it_has() {
    let service = Service::start(&[]);
    assert_eq!(service.get("/healthz").is(200, "").json()["status"], "ok");
    service.get("/readyz").is(200, "");
    let head = service.send(&Request::new("HEAD", "/healthz"));
    assert_eq!((head.status, head.body.len()), (200, 0));
    let described = service.get("/v1/openapi.json");
    assert_eq!(described.is(200, "").json()["openapi"], "3.1.0");
    service
        .get("/nothing?token=cap_TEST123")
        .is(404, "NOT_FOUND");
    let metrics = service.get("/metrics").text();
    for (method, route, status) in [
        ("GET", "/healthz", 200),
        ("HEAD", "/healthz", 200),
        ("GET", "none", 404),
    ] {
        let counted = format!("{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}} 1\n");
        assert!(metrics.contains(&counted), "{counted}: {metrics}");
    }
    assert!(!metrics.contains("TEST123"));
}

#[test]
fn i2_a_workers_route_without_a_credential_that_it_knows_is_401() {
    let service = Service::start(&[]);
    let unknown = format!("wh-{}", "0".repeat(32));
    for request in [
        Request::get("/v1/worker/prompt"),
        Request::get("/v1/worker/system"),
        Request::get("/v1/worker/content/plan"),
        Request::get("/v1/worker/content/plan/plan.md"),
        Request::post("/v1/worker/artifact?name=a"),
        Request::post("/v1/worker/submit"),
    ] {
        for request in [
            request.clone(),
            request.clone().bearer("nothing"),
            request.clone().bearer(&unknown),
            request.clone().field("Authorization", "Basic YTpi"),
            request.clone().bearer(&unknown).bearer(&unknown),
        ] {
            let answer = service.send(&request);
            answer.is(401, "UNAUTHORIZED");
            assert_eq!(answer.field("www-authenticate"), Some("Bearer"));
        }
        // An operator's token is known, and is not a worker's.
        service
            .send(&request.bearer(&service.token()))
            .is(403, "FORBIDDEN");
    }
}

#[test]
fn gap4_an_address_that_tries_unknown_credentials_has_to_wait() {
    let service = Service::start(&[]);
    let mut connection = service.connect();
    let unknown = format!("wh-{}", "0".repeat(32));
    let guess = Request::get("/v1/worker/prompt").bearer(&unknown);
    let mut tried = 0;
    let refused = loop {
        let answer = connection.send(&guess);
        if answer.status != 401 {
            break answer;
        }
        tried += 1;
        assert!(tried < 100, "nothing held it up");
    };
    assert!(tried >= 32, "{tried}");
    refused.is(429, "TOO_MANY_LOOKUPS");
    let wait: u64 = refused.field("retry-after").unwrap().parse().unwrap();
    assert!((1..=2).contains(&wait), "{wait}");
    // Another connection of the same address is the same peer.
    service.send(&guess).is(429, "TOO_MANY_LOOKUPS");
    service.get("/healthz").is(200, "");
}
