//! Secure origins: whom the host believes, and that nothing is sent to anybody else; the same limits
//! over HTTP/2 (SPEC S3, S5).

use std::sync::Arc;

use serde_json::{Value, json};
use tidegate_sandbox::Network;

use super::addresses::Names;
use super::calling::{Probe, assert_ended, assert_ok, assert_told, by_name, to, with};
use crate::support::Fixture;
use crate::support::server::{Answer, Authority, Identity, Moment, Request, Server, Setup};

const NAME: &str = "service.test";

/// Protocols of a server, and what the client then speaks.
const PROTOCOLS: [(&[&str], &str); 4] = [
    (&["h2"], "HTTP/2"),
    (&["http/1.1"], "HTTP/1.1"),
    (&["http/1.1", "h2"], "HTTP/1.1"),
    (&[], "HTTP/1.1"),
];

fn secure(identity: Identity) -> Server {
    Server::secure(identity, |request: &Request| Answer::ok(&request.target))
}

/// What may reach a server by name, and trusts one authority.
fn fixture(server: &Server, trusted: &Authority) -> Fixture {
    let allow = [
        format!("network=https://{NAME}:{},127.0.0.1", server.port()),
        format!("network=https://127.0.0.1:{}", server.port()),
    ];
    let mut fixture = Fixture::new(&allow.each_ref().map(String::as_str));
    let names: Arc<Names> = Names::leading_to(&["127.0.0.1"]);
    let network = Network::default().with_resolver(names);
    fixture.network = network.with_authorities(trusted.pem().as_bytes()).unwrap();
    fixture
}

fn get(fixture: &Fixture, server: &Server) -> Value {
    Probe::of(fixture).http(by_name("https", NAME, server))
}

#[test]
fn s3_a_certificate_of_a_trusted_authority_for_the_name_is_believed() {
    let authority = Authority::new();
    for (protocols, version) in PROTOCOLS {
        let server = secure(authority.identity(&[NAME, "127.0.0.1"], protocols));
        let probe = Probe::of(&fixture(&server, &authority));
        for host in [NAME, "SERVICE.test", "service.test.", "127.0.0.1"] {
            let result = probe.http(by_name("https", host, &server));
            assert_ok(&result);
            assert_eq!(result["structuredContent"]["body"], "/", "{host}");
            let request = server.requests().pop().unwrap();
            assert_eq!(request.version, version, "{protocols:?}");
        }
    }
}

#[test]
fn s3_nothing_is_sent_to_whom_the_host_does_not_believe() {
    let (trusted, unknown) = (Authority::new(), Authority::new());
    for (protocols, _version) in PROTOCOLS {
        for identity in [
            unknown.identity(&[NAME], protocols),
            trusted.identity(&["other.test"], protocols),
            trusted.identity(&["test"], protocols),
            trusted.identity(&["*.service.test"], protocols),
            trusted.identity(&["127.0.0.1"], protocols),
            trusted.expired(&[NAME], protocols),
        ] {
            let server = secure(identity);
            let result = get(&fixture(&server, &trusted), &server);
            assert_told(&result, "TLS-certificate-error");
            assert_eq!(server.requests().len(), 0);
            assert!(
                server.raw().iter().all(Vec::is_empty),
                "nothing under TLS either"
            );
        }
    }
    let server = secure(trusted.identity(&["other.test", NAME], &["h2"]));
    assert_ok(&get(&fixture(&server, &trusted), &server));
}

/// A certificate for the name is none for the address it has.
#[test]
fn s3_an_address_in_the_url_needs_its_own_certificate() {
    let authority = Authority::new();
    let server = secure(authority.identity(&[NAME], &["h2"]));
    let probe = Probe::of(&fixture(&server, &authority));
    assert_told(&probe.http(to(&server, "/")), "TLS-certificate-error");
    assert_ok(&probe.http(by_name("https", NAME, &server)));
}

#[test]
fn s3_a_server_without_tls_is_no_secure_one() {
    let authority = Authority::new();
    for bytes in [
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        "SSH-2.0-x\r\n",
        "\x15\x03\x01\0\x02\x02\x28",
    ] {
        let setup = Setup {
            moment: Moment::Connection,
            ..Setup::default()
        };
        let server = Server::with(setup, move |_request| Answer::raw(bytes).close());
        let result = get(&fixture(&server, &authority), &server);
        assert_told(&result, "TLS-protocol-error");
        assert_eq!(server.requests().len(), 0);
    }
    // And the other way round: what speaks TLS does not understand plain text.
    let server = secure(authority.identity(&["127.0.0.1"], &["http/1.1"]));
    let plain = Probe::granted(&[&format!("network=http://127.0.0.1:{}", server.port())]);
    let result = plain.http(with(to(&server, "/"), json!({"scheme": "http"})));
    assert_ne!(result["content"], "ok", "{result}");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn wa05_over_http2_there_is_one_authority_and_no_host() {
    let authority = Authority::new();
    let server = secure(authority.identity(&[NAME], &["h2"]));
    let probe = Probe::of(&fixture(&server, &authority));
    assert_ok(&probe.http(with(
        by_name("https", NAME, &server),
        json!({"path": "/a?b=c"}),
    )));
    let request = server.requests().pop().unwrap();
    let own = format!("{NAME}:{}", server.port());
    assert_eq!(request.header(":authority"), Some(own.as_str()));
    assert_eq!(
        (request.count("host"), request.target.as_str()),
        (0, "/a?b=c")
    );
}

#[test]
fn s5_requests_over_http2_count_and_share_a_connection() {
    let authority = Authority::new();
    let server = secure(authority.identity(&["127.0.0.1"], &["h2"]));
    let probe = Probe::of(&fixture(&server, &authority).limit("http_requests", 8));
    probe.reaches(&server);
    let many = |concurrent| with(to(&server, "/"), json!({ "concurrent": concurrent }));
    let result = probe.call("http_many", many(8));
    assert_eq!(result["content"], "ok: 8", "{result}");
    assert_eq!(server.connections(), 1);
    let result = probe.call("http_many", many(9));
    assert_ended(&result, "failed", "LIMIT_HTTP", "http_requests = 8");
}

#[test]
fn s5_a_body_over_http2_is_bounded_to_the_byte() {
    let authority = Authority::new();
    let server = Server::secure(authority.identity(&["127.0.0.1"], &["h2"]), |request| {
        let mut parts = request.target.split('/').skip(1);
        let kind = parts.next().unwrap();
        let body = vec![b'a'; parts.next().unwrap().parse().unwrap()];
        match kind {
            "gzip" => Answer::gzip(body),
            "trailer" => Answer::ok(body).trailer("x-behind", "t"),
            _ => Answer::ok(body),
        }
    });
    for limit in [1, 1_000, 1 << 20] {
        let probe = Probe::of(&fixture(&server, &authority).limit("http_response_bytes", limit));
        for kind in ["plain", "gzip", "trailer"] {
            for size in [limit - 1, limit, limit + 1, 3 * limit] {
                let result = probe.http(to(&server, &format!("/{kind}/{size}")));
                if size > limit {
                    let says = format!("http_response_bytes = {limit}");
                    assert_ended(&result, "failed", "LIMIT_HTTP", &says);
                    continue;
                }
                assert_ok(&result);
                assert_eq!(result["structuredContent"]["bodyBytes"], size, "{kind}");
            }
        }
    }
}

/// One stream that is reset, or a connection that goes, is no success and is not asked for again.
#[test]
fn s3_over_http2_what_was_sent_and_not_answered_is_sent_once() {
    let authority = Authority::new();
    let endings: [fn() -> Answer; 4] = [
        || Answer::ok("half").header("content-length", "8").reset(),
        || Answer::ok("half").hang().reset(),
        || Answer::ok("half").header("content-length", "8").close(),
        || Answer::ok("half").header("content-length", "8").cut(),
    ];
    for ending in endings {
        let identity = authority.identity(&["127.0.0.1"], &["h2"]);
        let server = Server::secure(identity, move |_request| ending());
        let fixture = fixture(&server, &authority).limit("deadline_ms", 1_000);
        let result = Probe::of(&fixture).http(with(to(&server, "/"), json!({"method": "POST"})));
        let is_timeout = result["status"] == "timeout";
        assert!(
            is_timeout || result["content"] == "connection-terminated",
            "{result}"
        );
        assert_eq!(server.requests().len(), 1);
    }
}
