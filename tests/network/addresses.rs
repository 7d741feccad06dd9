//! Names and the addresses they lead to: each connection asks again, and goes to a judged address or
//! nowhere (SPEC S3; CASES NE02, NE06, NE08).

use std::io::{Error, ErrorKind};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tidegate_sandbox::Network;
use tidegate_sandbox::egress::{Resolve, Resolving};

use super::calling::{Probe, assert_ok, assert_told, by_name, denied};
use crate::support::Fixture;
use crate::support::server::{Answer, Server};

/// A resolver that gives out its answers one after the other, the last one for ever.
#[derive(Debug)]
pub(super) struct Names {
    answers: Vec<Vec<IpAddr>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    /// Each answer is addresses with spaces in between; an empty one is an error.
    pub(super) fn leading_to(answers: &[&str]) -> Arc<Self> {
        let parsed = |answer: &&str| {
            answer
                .split(' ')
                .filter_map(|one| one.parse().ok())
                .collect()
        };
        Arc::new(Self {
            answers: answers.iter().map(parsed).collect(),
            asked: Mutex::default(),
        })
    }

    /// The names that were asked for.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        let mut asked = self.asked.lock().unwrap();
        let answer = self.answers.get(asked.len()).or(self.answers.last());
        let answer = answer.cloned().unwrap_or_default();
        asked.push(name.to_owned());
        Box::pin(async move {
            if answer.is_empty() {
                return Err(Error::from(ErrorKind::NotFound));
            }
            Ok(answer)
        })
    }
}

/// A probe whose names a stub resolves, under one grant.
pub(super) fn probe(allow: &str, names: &Arc<Names>) -> Probe {
    let mut fixture = Fixture::new(&[allow]);
    let names: Arc<Names> = Arc::clone(names);
    fixture.network = Network::default().with_resolver(names);
    Probe::of(&fixture)
}

/// Grants a name at the port of a server, with what is put behind the origin.
fn named(server: &Server, name: &str, addresses: &str) -> String {
    format!("network=http://{name}:{}{addresses}", server.port())
}

#[test]
fn ne08_a_name_is_asked_for_once_a_connection_and_leads_to_a_named_address() {
    let server = Server::start(|_request| Answer::ok("").header("connection", "close"));
    let names = Names::leading_to(&["127.0.0.1"]);
    let probe = probe(&named(&server, "service.test", ",127.0.0.1"), &names);
    for connections in 1..=3 {
        assert_ok(&probe.http(by_name("http", "service.test", &server)));
        assert_eq!(server.connections(), connections);
        assert_eq!(names.asked(), vec!["service.test"; connections]);
    }
    let host = format!("service.test:{}", server.port());
    assert_eq!(server.requests()[0].header("host"), Some(host.as_str()));
}

#[test]
fn ne08_a_second_answer_is_judged_like_the_first() {
    let server = Server::start(|_request| Answer::ok("").header("connection", "close"));
    for private in [
        "127.0.0.2",
        "10.0.0.1",
        "::1",
        "127.0.0.1 127.0.0.2",
        "::ffff:127.0.0.2",
    ] {
        let names = Names::leading_to(&["127.0.0.1", private]);
        let probe = probe(&named(&server, "service.test", ",127.0.0.1"), &names);
        let before = server.connections();
        assert_ok(&probe.http(by_name("http", "service.test", &server)));
        let result = probe.http(by_name("http", "service.test", &server));
        assert_told(&result, "HTTP-request-denied");
        let bad = private.split(' ').next_back().unwrap();
        let bad = bad.strip_prefix("::ffff:").unwrap_or(bad);
        let origin = format!("http://service.test:{}", server.port());
        assert_eq!(denied(&result), [format!("network:{origin},{bad}")]);
        assert_eq!(server.connections(), before + 1, "{private}");
        assert_eq!(names.asked().len(), 2);
    }
}

/// One address that may not be reached is a reason to use none, wherever it stands.
#[test]
fn ne08_one_private_address_among_public_ones_denies_them_all() {
    let server = Server::start(|_request| Answer::ok(""));
    for answer in [
        "93.184.216.34 127.0.0.1",
        "127.0.0.1 93.184.216.34",
        "93.184.216.34 1.1.1.1 127.0.0.1",
        "2606:4700::1111 ::1",
        "93.184.216.34 ::ffff:127.0.0.1",
        "93.184.216.34 10.0.0.1",
        "93.184.216.34 169.254.169.254",
        "93.184.216.34 fd00:ec2::254",
    ] {
        let names = Names::leading_to(&[answer]);
        let probe = probe(&named(&server, "service.test", ""), &names);
        let result = probe.http(by_name("http", "service.test", &server));
        assert_told(&result, "HTTP-request-denied");
        assert_eq!(denied(&result).len(), 1, "{answer}");
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn ne02_a_mapped_address_of_a_name_is_its_ipv4_address() {
    let server = Server::start(|_request| Answer::ok(""));
    for (answer, bad) in [
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("::ffff:a9fe:a9fe", "169.254.169.254"),
        ("::ffff:0.0.0.0", "0.0.0.0"),
        ("64:ff9b::7f00:1", "64:ff9b::7f00:1"),
        ("::7f00:1", "::7f00:1"),
        ("2002:7f00:1::", "2002:7f00:1::"),
    ] {
        let names = Names::leading_to(&[answer]);
        let probe = probe(&named(&server, "service.test", ""), &names);
        let result = probe.http(by_name("http", "service.test", &server));
        assert_told(&result, "HTTP-request-denied");
        let shown = bad.parse::<IpAddr>().unwrap();
        let origin = format!("http://service.test:{}", server.port());
        assert_eq!(denied(&result), [format!("network:{origin},{shown}")]);
    }
    assert_eq!(server.connections(), 0);
    for granted in [",127.0.0.1", ",::ffff:127.0.0.1", ",10.0.0.1,127.0.0.1"] {
        let names = Names::leading_to(&["::ffff:127.0.0.1"]);
        let probe = probe(&named(&server, "service.test", granted), &names);
        assert_ok(&probe.http(by_name("http", "service.test", &server)));
    }
}

#[test]
fn ne02_a_mapped_literal_is_not_the_ipv4_origin() {
    let server = Server::start(|_request| Answer::ok(""));
    let probe = Probe::reaching(&server);
    for host in [
        "[::ffff:a9fe:a9fe]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[::FFFF:127.0.0.1]",
    ] {
        let authority = format!("{host}:{}", server.port());
        let result = probe.http(json!({"scheme": "http", "authority": authority, "path": "/"}));
        assert_told(&result, "HTTP-request-denied");
        assert_eq!(denied(&result).len(), 1, "{host}");
    }
    assert_eq!(server.connections(), 0);
    probe.reaches(&server);
}

/// The grant of a name is no grant of the addresses that only this machine means by it.
#[test]
fn ne06_a_granted_name_of_this_machine_still_needs_its_address() {
    let server = Server::start(|_request| Answer::ok(""));
    for name in ["localhost", "db.localhost", "metadata.google.internal"] {
        for host in [name.to_owned(), format!("{name}."), name.to_uppercase()] {
            let names = Names::leading_to(&["127.0.0.1"]);
            let without = probe(&named(&server, name, ""), &names);
            let result = without.http(by_name("http", &host, &server));
            assert_told(&result, "HTTP-request-denied");
            assert_eq!(names.asked(), [name], "without the dot, in lower case");
            let with = probe(&named(&server, name, ",127.0.0.1"), &names);
            assert_ok(&with.http(by_name("http", &host, &server)));
        }
    }
}

#[test]
fn ne08_a_name_without_an_address_is_told_as_such() {
    let server = Server::start(|_request| Answer::ok(""));
    let names = Names::leading_to(&[""]);
    let probe = probe(&named(&server, "service.test", ",127.0.0.1"), &names);
    assert_told(
        &probe.http(by_name("http", "service.test", &server)),
        "DNS-error",
    );
    assert_eq!(server.connections(), 0);
}

/// Addresses that do not answer are passed over: only 127.0.0.1 has a listener at that port.
#[test]
fn ne08_of_several_named_addresses_the_one_that_answers_is_used() {
    let server = Server::start(|_request| Answer::ok(""));
    let names = Names::leading_to(&["127.0.0.2 127.0.0.1"]);
    let probe = probe(
        &named(&server, "service.test", ",127.0.0.1,127.0.0.2"),
        &names,
    );
    assert_ok(&probe.http(by_name("http", "service.test", &server)));
    assert_eq!((server.connections(), names.asked().len()), (1, 1));
}
