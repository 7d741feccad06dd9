//! For whom the service answers: Host and Origin (CASES MC11).

use serde_json::json;

use super::client::Request;
use super::service::Service;

#[test]
fn mc11_another_hosts_name_or_another_sites_page_is_403_and_no_tool_runs() {
    let service = Service::start(&["--allow", "tool=*", "--allow", "plugin=read-text"]);
    let token = service.token();
    let call = json!({"name": "read_text", "arguments": {"path": "serve.yaml"}});
    let call = Request::post("/v1/calls").bearer(&token).json(&call);
    for host in [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:7420",
        "10.0.0.1",
    ] {
        let answer = service.send(&call.clone().field("Host", host));
        answer.is(403, "FOREIGN_HOST");
        let answer = service.send(&Request::get("/healthz").field("Host", host));
        answer.is(403, "FOREIGN_HOST");
    }
    for origin in ["http://evil.example", "null", "http://localhost:3000"] {
        let answer = service.send(&call.clone().field("Origin", origin));
        answer.is(403, "FOREIGN_ORIGIN");
    }
    let without = Request::post("/v1/calls").json(&json!({}));
    let answer = service.send(&without);
    answer.is(401, "UNAUTHORIZED");
    assert_eq!(answer.field("www-authenticate"), Some("Bearer"));
    let answer = service.send(&call);
    assert_eq!(answer.is(200, "").json()["content"], "{}");
    let own = format!("http://{}", service.address);
    service.send(&call.field("Origin", &own)).is(200, "");
}

#[test]
fn mc11_configured_names_and_sites_are_ours_too() {
    let config = "serve: { hosts: [tide.example], origins: ['https://app.example'] }";
    let service = Service::configured(config, &[]);
    let get = Request::get("/healthz");
    for host in ["tide.example", "TIDE.example:443", "localhost"] {
        service.send(&get.clone().field("Host", host)).is(200, "");
    }
    let answer = service.send(&get.clone().field("Host", "tide.example.evil"));
    answer.is(403, "FOREIGN_HOST");
    let from = |origin: &str| service.send(&get.clone().field("Origin", origin));
    from("https://app.example").is(200, "");
    from("https://app.example:444").is(403, "FOREIGN_ORIGIN");
}
