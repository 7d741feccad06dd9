//! The official clients over HTTP, with an operator's token.

use std::fs;

use crate::mcp::installed::{inspector, node, printed};
use crate::mcp::sdks::check_seen;
use crate::serve::service::Service;
use crate::support::root;

fn service() -> Service {
    let options = ["--allow", "tool=read_text", "--allow", "plugin=commands"];
    let service = Service::start(&[&options[..], &["--allow", "tool=no_such_tool"]].concat());
    let file = "rustfmt.toml";
    fs::copy(root().join(file), service.folder.path().join(file)).unwrap();
    service
}

#[test]
fn m5_the_second_typescript_client_is_served_over_http_in_both_eras() {
    let Some(node) = node() else { return };
    let service = service();
    for mode in ["legacy", "auto", "2026-07-28"] {
        let mut client = node.script("sdk_client_2.mjs");
        client
            .arg(mode)
            .arg(format!("http://{}/mcp", service.address));
        let seen = printed(client.arg(service.token()));
        check_seen(&seen);
        let expected = if mode == "legacy" { "legacy" } else { "modern" };
        assert_eq!(seen["era"], expected, "{mode}");
    }
}

#[test]
fn m5_the_inspector_is_served_over_http_in_both_eras() {
    let Some(node) = node() else { return };
    let service = service();
    let (url, bearer) = (
        format!("http://{}/mcp", service.address),
        format!("Authorization: Bearer {}", service.token()),
    );
    for era in ["legacy", "auto", "modern"] {
        let ask = |more: &[&str]| {
            let mut inspector = inspector(node);
            inspector.args([&url, "--header", &bearer, "--protocol-era", era]);
            printed(inspector.args(more))
        };
        let listed = ask(&["--method", "tools/list"]);
        assert_eq!(listed["tools"].as_array().unwrap().len(), 15, "{era}");
        let path = ["--tool-arg", "path=rustfmt.toml"];
        let call = ["--method", "tools/call", "--tool-name", "read_text"];
        let read = ask(&[&call[..], &path].concat());
        let text = read["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("max_width"), "{era}: {read}");
    }
}
