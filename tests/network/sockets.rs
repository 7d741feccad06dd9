//! Raw sockets: granted by address and port, for connecting and sending only (CASES WA12; SPEC S3).

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};

use serde_json::{Value, json};

use super::calling::{Probe, assert_ok, assert_told, denied};

/// Every use of a socket, and whether it goes to the far end that is named.
const USES: [&str; 6] = [
    "tcp_connect",
    "tcp_bind",
    "tcp_listen",
    "udp_bind",
    "udp_connect",
    "udp_send",
];

fn net(probe: &Probe, op: &str, host: &str, port: u16) -> Value {
    probe.call("net", json!({"op": op, "host": host, "port": port}))
}

/// The listening TCP and all UDP sockets of this process's network, by local address.
fn bound() -> Vec<String> {
    let mut found = Vec::new();
    for (table, is_wanted) in [("tcp", "0A"), ("tcp6", "0A"), ("udp", ""), ("udp6", "")] {
        let path = format!("/proc/self/net/{table}");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let is_ours = is_wanted.is_empty() || fields[3] == is_wanted;
            // Only unspecified addresses: a guest may not bind loopback, and other tests do.
            if is_ours && fields[1].starts_with("00000000") {
                found.push(format!("{table} {}", fields[1]));
            }
        }
    }
    found
}

#[test]
fn wa12_a_grant_of_one_address_is_for_no_other() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    let (tcp_port, udp_port) = (
        tcp.local_addr().unwrap().port(),
        udp.local_addr().unwrap().port(),
    );
    let before = bound();
    let probe = Probe::granted(&["network=tcp://10.0.0.5:443"]);
    for (host, port) in [
        ("127.0.0.1", tcp_port),
        ("127.0.0.1", 9),
        ("127.0.0.1", 443),
        ("10.0.0.5", 80),
        ("10.0.0.6", 443),
        ("10.0.0.5", 444),
        ("169.254.169.254", 80),
        ("::1", tcp_port),
    ] {
        let result = net(&probe, "tcp_connect", host, port);
        assert_told(&result, "access-denied");
        assert_eq!(denied(&result).len(), 1, "{host}:{port}");
    }
    for (op, host, port) in [
        ("udp_connect", "127.0.0.1", udp_port),
        ("udp_send", "127.0.0.1", udp_port),
        ("udp_send", "10.0.0.5", 443),
        ("udp_bind", "0.0.0.0", 0),
        ("tcp_bind", "127.0.0.1", 0),
        ("tcp_bind", "0.0.0.0", 8_099),
        ("tcp_listen", "127.0.0.1", 0),
        ("tcp_listen", "0.0.0.0", 0),
        ("tcp_listen", "::", 0),
        ("resolve", "localhost", 0),
        ("resolve", "example.invalid", 0),
        ("resolve", "10.0.0.5", 0),
    ] {
        let result = net(&probe, op, host, port);
        assert_told(&result, "access-denied");
        assert_eq!(denied(&result).len(), 1, "{op} {host}:{port}");
    }
    // It may bind no near end to listen at, so that it never comes to be asked.
    let result = net(&probe, "tcp_listen", "", 0);
    assert_told(&result, "invalid-state");
    assert!(tcp.accept().is_err(), "nobody has connected");
    assert!(udp.recv(&mut [0; 16]).is_err(), "nothing was sent");
    let after = bound();
    assert!(
        after.iter().all(|one| before.contains(one)),
        "{before:?} {after:?}"
    );
}

#[test]
fn wa12_a_granted_address_is_connected_to() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let probe = Probe::granted(&[&format!("network=tcp://127.0.0.1:{port}")]);
    assert_ok(&net(&probe, "tcp_connect", "127.0.0.1", port));
    let (_stream, peer) = listener.accept().unwrap();
    assert!(peer.ip().is_loopback());
    listener.set_nonblocking(true).unwrap();
    for (host, port) in [("127.0.0.2", port), ("127.0.0.1", port ^ 1), ("::1", port)] {
        assert_told(&net(&probe, "tcp_connect", host, port), "access-denied");
    }
    for op in USES
        .into_iter()
        .filter(|op| *op != "tcp_connect" && *op != "tcp_bind")
    {
        assert_told(&net(&probe, op, "127.0.0.1", port), "access-denied");
    }
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

/// The near end of a socket is the system's choice; whatever is not bound sends nothing.
#[test]
fn wa12_a_grant_of_datagrams_binds_no_address_of_the_guests_choice() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let port = socket.local_addr().unwrap().port();
    let probe = Probe::granted(&[&format!("network=udp://127.0.0.1:{port}")]);
    assert_ok(&net(&probe, "udp_bind", "0.0.0.0", 0));
    for op in ["udp_send", "udp_connect"] {
        assert_told(&net(&probe, op, "127.0.0.1", port), "invalid-state");
    }
    for (op, host, port) in [
        ("udp_bind", "127.0.0.1", 0),
        ("udp_bind", "127.0.0.1", port ^ 1),
        ("udp_bind", "0.0.0.0", 8_099),
        ("tcp_connect", "127.0.0.1", port),
        ("tcp_bind", "0.0.0.0", 0),
        ("tcp_listen", "", 0),
    ] {
        assert_told(&net(&probe, op, host, port), "access-denied");
    }
    assert_eq!(
        socket.recv(&mut [0; 16]).unwrap_err().kind(),
        ErrorKind::WouldBlock
    );
}

/// A mapped address reaches the IPv4 host, so the IPv4 grant decides; the interface may refuse its form.
#[test]
fn wa12_a_mapped_address_is_no_way_round() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    for allow in ["network=tcp://10.0.0.5:443", "network=tcp://[::1]:443"] {
        let probe = Probe::granted(&[allow]);
        for host in ["::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1"] {
            let result = net(&probe, "tcp_connect", host, port);
            let told = result["content"].as_str().unwrap();
            assert!(
                ["access-denied", "invalid-argument"].contains(&told),
                "{host}: {result}"
            );
        }
    }
    assert!(listener.accept().is_err(), "nobody has connected");
}

/// A socket is no request: neither grant is the other.
#[test]
fn s3_a_grant_of_sockets_is_none_of_requests() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    let probe = Probe::granted(&[&format!("network=tcp://{authority}")]);
    for scheme in ["http", "https"] {
        let result = probe.http(json!({"scheme": scheme, "authority": authority, "path": "/"}));
        assert_told(&result, "HTTP-request-denied");
        assert_eq!(denied(&result), [format!("network:{scheme}://{authority}")]);
    }
    assert!(listener.accept().is_err(), "nobody has connected");
}
