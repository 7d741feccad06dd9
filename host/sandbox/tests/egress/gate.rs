//! What the gate makes of texts that claim to be URLs, and of socket addresses (SPEC S3; CASES NE04,
//! NE05, NE06, NE07, WA12).

use tidegate_contract::network::NetworkRule;
use tidegate_sandbox::egress::{Protocol, Refusal, deny_request};
use tidegate_sandbox::{Egress, Network};

use super::grant;

fn egress(rules: &[&str]) -> Egress {
    Egress::open(&grant(rules), &Network::default(), Vec::new())
}

/// What the gate makes of a URL: the origin that it permits, the record of a denial, or `invalid`.
fn judged(egress: &Egress, url: &str) -> String {
    match egress.check("GET", url) {
        Ok(permitted) => permitted.origin().to_owned(),
        Err(Refusal::Denied(denial)) => denial.to_string(),
        Err(Refusal::Invalid) => "invalid".to_owned(),
    }
}

#[test]
fn ne05_what_stands_around_a_host_is_not_the_host() {
    let egress = egress(&["http://allowed.example.com"]);
    for (url, expected) in [
        ("http://allowed.example.com/", "http://allowed.example.com"),
        ("http://allowed.example.com@evil.example/", "invalid"),
        ("http://user:password@allowed.example.com/", "invalid"),
        ("http://user@allowed.example.com/", "invalid"),
        ("http://:password@allowed.example.com/", "invalid"),
        (
            "http://evil.example\\@allowed.example.com/",
            "network:http://evil.example",
        ),
        (
            "http://evil.example#@allowed.example.com/",
            "network:http://evil.example",
        ),
        (
            "http://evil.example?@allowed.example.com/",
            "network:http://evil.example",
        ),
        (
            "http://evil.example/@allowed.example.com/",
            "network:http://evil.example",
        ),
        (
            "http://allowed.example.com.evil.example/",
            "network:http://allowed.example.com.evil.example",
        ),
        (
            "http://allowed.example.comevil/",
            "network:http://allowed.example.comevil",
        ),
        (
            "http://xallowed.example.com/",
            "network:http://xallowed.example.com",
        ),
        (
            "http://allowed.example.com:8080/",
            "network:http://allowed.example.com:8080",
        ),
        (
            "https://allowed.example.com/",
            "network:https://allowed.example.com",
        ),
        ("http:\\\\evil.example\\x", "network:http://evil.example"),
        ("http:/evil.example/", "network:http://evil.example"),
        ("http:evil.example", "network:http://evil.example"),
        ("ht\ntp://evil.example/", "network:http://evil.example"),
        ("http://evil\t.example/", "network:http://evil.example"),
        (
            " http://allowed.example.com/ ",
            "http://allowed.example.com",
        ),
        (
            "http://allowed.example.com:80/",
            "http://allowed.example.com",
        ),
        ("HTTP://ALLOWED.example.COM/", "http://allowed.example.com"),
    ] {
        assert_eq!(judged(&egress, url), expected, "{url:?}");
    }
}

#[test]
fn ne05_what_is_no_whole_url_of_http_is_invalid() {
    let egress = egress(&["http://allowed.example.com"]);
    for url in [
        "//allowed.example.com/",
        "/path",
        "",
        "http://",
        "http:///",
        "http://allowed.example.com:99999/",
        "http://allowed.example.com:-1/",
        "http://allowed.example.com:0/",
        "ftp://allowed.example.com/",
        "file:///etc/passwd",
        "data:text/plain,x",
        "javascript:alert(1)",
        "blob:http://allowed.example.com/x",
        "ws://allowed.example.com/",
    ] {
        assert_eq!(judged(&egress, url), "invalid", "{url:?}");
    }
}

#[test]
fn ne04_an_address_is_read_as_browsers_do() {
    let egress = egress(&["http://1.1.1.1"]);
    for (host, address) in [
        ("2130706433", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127%2E0%2E0%2E1", "127.0.0.1"),
        ("%31%32%37.1", "127.0.0.1"),
        ("\u{2460}\u{2461}\u{2466}.0.0.1", "127.0.0.1"),
        ("\u{ff11}\u{ff12}\u{ff17}.0.0.1", "127.0.0.1"),
        ("127\u{3002}0\u{ff0e}0\u{ff61}1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("0", "0.0.0.0"),
        ("50.500", "50.0.1.244"),
        ("0xa9fea9fe", "169.254.169.254"),
        ("2852039166", "169.254.169.254"),
        ("[::ffff:127.0.0.1]", "[::ffff:127.0.0.1]"),
        ("[::ffff:a9fe:a9fe]", "[::ffff:169.254.169.254]"),
        ("[0:0:0:0:0:0:0:1]", "[::1]"),
    ] {
        let url = format!("http://{host}/");
        assert_eq!(
            judged(&egress, &url),
            format!("network:http://{address}"),
            "{host}"
        );
    }
    for host in [
        "256.0.0.1",
        "1.2.3.4.5",
        "0x100000000",
        "[::1",
        "[::g]",
        "[::1%25lo]",
        "127.0.0.1%00",
    ] {
        assert_eq!(
            judged(&egress, &format!("http://{host}/")),
            "invalid",
            "{host}"
        );
    }
    assert_eq!(judged(&egress, "http://0x1010101/"), "http://1.1.1.1");
}

#[test]
fn ne06_a_dot_at_the_end_is_the_same_host() {
    let egress = egress(&["http://api.example.com"]);
    for url in [
        "http://API.EXAMPLE.COM./",
        "http://api.example.com.:80/",
        "http://api.example.com/",
    ] {
        assert_eq!(judged(&egress, url), "http://api.example.com", "{url}");
    }
    for (url, expected) in [
        ("http://localhost./", "network:http://localhost"),
        ("http://db.localhost/", "network:http://db.localhost"),
        (
            "http://metadata.google.internal./",
            "network:http://metadata.google.internal",
        ),
        ("http://api.example.com../", "invalid"),
        ("http://.api.example.com/", "invalid"),
        ("http://api..example.com/", "invalid"),
        ("http://./", "invalid"),
    ] {
        assert_eq!(judged(&egress, url), expected, "{url}");
    }
}

#[test]
fn ne07_an_international_name_is_judged_in_its_ascii_form() {
    let egress = egress(&["http://allowed.example", "http://xn--bcher-kva.example"]);
    for (url, expected) in [
        ("http://xn--example-.org/", "invalid"),
        ("http://example.org.xn--/", "invalid"),
        ("http://xn--/", "invalid"),
        ("http://xn--a-.example/", "invalid"),
        (
            "http://\u{ff41}\u{ff4c}\u{ff4c}\u{ff4f}\u{ff57}\u{ff45}\u{ff44}.example/",
            "http://allowed.example",
        ),
        ("http://allowed\u{3002}example/", "http://allowed.example"),
        ("http://al\u{ad}lowed.example/", "http://allowed.example"),
        (
            "http://b\u{fc}cher.example/",
            "http://xn--bcher-kva.example",
        ),
        (
            "http://B\u{dc}CHER.example/",
            "http://xn--bcher-kva.example",
        ),
        (
            "http://XN--BCHER-KVA.example/",
            "http://xn--bcher-kva.example",
        ),
        (
            "http://\u{430}llowed.example/",
            "network:http://xn--llowed-2nf.example",
        ),
    ] {
        assert_eq!(judged(&egress, url), expected, "{url}");
    }
    let denial = judged(&egress, "http://\u{2028}\u{202e}evil.example/");
    assert!(denial.is_ascii(), "{denial}");
}

/// The record names what is missing, and nothing of what a URL may carry beside it.
#[test]
fn ne05_a_denial_shows_no_user_path_or_query() {
    let egress = egress(&["http://allowed.example"]);
    let long = format!("http://{}.example/", "a".repeat(63));
    for url in [
        "http://evil.example/secret-path?token=secret-query#secret-fragment",
        "http://secret-user:secret-word@evil.example/secret-path",
        "http://evil.example:8080/secret-path",
        &long,
    ] {
        for shown in [judged(&egress, url), deny_request(url).to_string()] {
            assert!(!shown.contains("secret"), "{url}: {shown}");
        }
    }
    for url in ["no url with secret", "secret:secret", ""] {
        let shown = deny_request(url).to_string();
        assert_eq!(shown, "network:an invalid URL");
    }
}

#[test]
fn s3_a_rule_is_for_its_methods_and_paths() {
    let rule = NetworkRule::new("http://h.test")
        .and_then(|rule| rule.with_methods(&["GET".to_owned()]))
        .and_then(|rule| rule.with_paths(&["/api".to_owned()]))
        .unwrap();
    let egress = Egress::open(
        &[rule].into_iter().collect(),
        &Network::default(),
        Vec::new(),
    );
    for (method, url, is_permitted) in [
        ("GET", "http://h.test/api", true),
        ("GET", "http://h.test/api/x?y=/../..", true),
        ("GET", "http://h.test/x/../api/y", true),
        ("GET", "http://h.test/apis", false),
        ("GET", "http://h.test/api/../secret", false),
        ("GET", "http://h.test/api/%2e%2e/secret", false),
        ("GET", "http://h.test/api\\..\\secret", false),
        ("GET", "http://h.test/api/..%2fsecret", false),
        ("GET", "http://h.test/api/..%5Csecret", false),
        ("GET", "http://h.test//api", false),
        ("GET", "http://h.test/API", false),
        ("POST", "http://h.test/api", false),
        ("get", "http://h.test/api", false),
        ("G\r\nET", "http://h.test/api", false),
        ("", "http://h.test/api", false),
    ] {
        let checked = egress.check(method, url);
        assert_eq!(
            checked.is_ok(),
            is_permitted,
            "{method:?} {url}: {checked:?}"
        );
    }
}

#[test]
fn wa12_a_socket_needs_the_very_address_and_port() {
    let egress = egress(&["tcp://10.0.0.5:443", "udp://[::1]:53", "http://127.0.0.1"]);
    for (protocol, address, is_permitted) in [
        (Protocol::Tcp, "10.0.0.5:443", true),
        (Protocol::Tcp, "[::ffff:10.0.0.5]:443", true),
        (Protocol::Tcp, "10.0.0.5:444", false),
        (Protocol::Tcp, "10.0.0.6:443", false),
        (Protocol::Udp, "10.0.0.5:443", false),
        (Protocol::Udp, "[::1]:53", true),
        (Protocol::Tcp, "[::1]:53", false),
        (Protocol::Tcp, "127.0.0.1:80", false),
        (Protocol::Tcp, "0.0.0.0:0", false),
        (Protocol::Tcp, "[::10.0.0.5]:443", false),
    ] {
        let checked = egress.check_socket(protocol, address.parse().unwrap());
        assert_eq!(
            checked.is_ok(),
            is_permitted,
            "{protocol:?} {address}: {checked:?}"
        );
    }
    assert!(egress.has_sockets(Protocol::Tcp) && egress.has_sockets(Protocol::Udp));
    assert!(!self::egress(&["http://127.0.0.1"]).has_sockets(Protocol::Tcp));
}
