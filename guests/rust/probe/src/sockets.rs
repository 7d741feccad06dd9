//! `net`: one use of a raw socket or of the resolver, by `wasi:sockets` directly.

use std::net::IpAddr;

use serde_json::json;
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::ip_name_lookup::{ResolveAddressStream, resolve_addresses};
use wasip2::sockets::network::{
    ErrorCode, IpAddress, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress, Ipv6SocketAddress,
};
use wasip2::sockets::tcp::TcpSocket;
use wasip2::sockets::tcp_create_socket::create_tcp_socket;
use wasip2::sockets::udp::{OutgoingDatagram, UdpSocket};
use wasip2::sockets::udp_create_socket::create_udp_socket;

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::types::Outcome;
use crate::outcome;

pub(crate) const DESCRIPTION: &str = "Does {op} with {host, port}; all but resolve take an IP \
    address as host. Operations: resolve, tcp_connect, tcp_bind, tcp_listen (without a host it \
    listens unbound), udp_bind, udp_connect and udp_send (both unbound). The details name the step \
    that failed.";

/// What failed: the step, and the error of the host.
struct Failed {
    step: &'static str,
    code: ErrorCode,
}

/// Names the step of an error.
fn at(step: &'static str) -> impl Fn(ErrorCode) -> Failed {
    move |code| Failed { step, code }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let address = address(arguments);
    let done = match (arguments.text("op", ""), address) {
        ("resolve", _) => return resolve(arguments.text("host", "")),
        ("tcp_listen", None) => tcp_listen(None),
        ("tcp_listen", Some(local)) => tcp_listen(Some(local)),
        (_, None) => return outcome::failed("INVALID_ARGUMENTS", "host must be an IP address"),
        ("tcp_connect", Some(remote)) => tcp_connect(remote),
        ("tcp_bind", Some(local)) => new_tcp(local).and_then(|socket| tcp_bind(&socket, local)),
        ("udp_bind", Some(local)) => udp_bind(local),
        ("udp_connect", Some(remote)) => udp_connect(remote),
        ("udp_send", Some(remote)) => udp_send(remote),
        (_, Some(_)) => return outcome::failed("UNKNOWN_OPERATION", "net has no such operation"),
    };
    match done {
        Ok(()) => outcome::reported("ok"),
        Err(Failed { step, code }) => outcome::detailed(code.name(), &json!({ "step": step })),
    }
}

fn resolve(name: &str) -> Outcome {
    let stream = match resolve_addresses(&instance_network(), name) {
        Ok(stream) => stream,
        Err(code) => {
            return outcome::detailed(code.name(), &json!({ "step": "resolve-addresses" }));
        }
    };
    match all_addresses(&stream) {
        Ok(found) => outcome::detailed("ok", &json!(found)),
        Err(code) => outcome::detailed(code.name(), &json!({ "step": "resolve-next-address" })),
    }
}

fn all_addresses(stream: &ResolveAddressStream) -> Result<Vec<String>, ErrorCode> {
    let mut found = Vec::new();
    loop {
        match stream.resolve_next_address() {
            Ok(Some(address)) => found.push(ip(address).to_string()),
            Ok(None) => return Ok(found),
            Err(ErrorCode::WouldBlock) => stream.subscribe().block(),
            Err(code) => return Err(code),
        }
    }
}

fn tcp_connect(remote: IpSocketAddress) -> Result<(), Failed> {
    let socket = new_tcp(remote)?;
    socket
        .start_connect(&instance_network(), remote)
        .map_err(at("start-connect"))?;
    finish(
        || socket.finish_connect().map(drop),
        || socket.subscribe().block(),
    )
    .map_err(at("finish-connect"))
}

fn tcp_listen(local: Option<IpSocketAddress>) -> Result<(), Failed> {
    let socket = match local {
        Some(local) => {
            let socket = new_tcp(local)?;
            tcp_bind(&socket, local)?;
            socket
        }
        None => create_tcp_socket(IpAddressFamily::Ipv4).map_err(at("create-socket"))?,
    };
    socket.start_listen().map_err(at("start-listen"))?;
    finish(|| socket.finish_listen(), || socket.subscribe().block()).map_err(at("finish-listen"))
}

fn tcp_bind(socket: &TcpSocket, local: IpSocketAddress) -> Result<(), Failed> {
    socket
        .start_bind(&instance_network(), local)
        .map_err(at("start-bind"))?;
    finish(|| socket.finish_bind(), || socket.subscribe().block()).map_err(at("finish-bind"))
}

fn udp_bind(local: IpSocketAddress) -> Result<(), Failed> {
    let socket = new_udp(local)?;
    socket
        .start_bind(&instance_network(), local)
        .map_err(at("start-bind"))?;
    finish(|| socket.finish_bind(), || socket.subscribe().block()).map_err(at("finish-bind"))
}

fn udp_connect(remote: IpSocketAddress) -> Result<(), Failed> {
    new_udp(remote)?
        .stream(Some(remote))
        .map(drop)
        .map_err(at("stream"))
}

/// Sends one datagram from a socket that was never bound.
fn udp_send(remote: IpSocketAddress) -> Result<(), Failed> {
    let socket = new_udp(remote)?;
    let (_incoming, outgoing) = socket.stream(None).map_err(at("stream"))?;
    while outgoing.check_send().map_err(at("check-send"))? == 0 {
        outgoing.subscribe().block();
    }
    let datagram = OutgoingDatagram {
        data: b"probe".to_vec(),
        remote_address: Some(remote),
    };
    outgoing.send(&[datagram]).map(drop).map_err(at("send"))
}

/// Asks until the operation has come to its end, and waits in between.
fn finish(ask: impl Fn() -> Result<(), ErrorCode>, wait: impl Fn()) -> Result<(), ErrorCode> {
    loop {
        match ask() {
            Err(ErrorCode::WouldBlock) => wait(),
            ended => return ended,
        }
    }
}

fn new_tcp(address: IpSocketAddress) -> Result<TcpSocket, Failed> {
    create_tcp_socket(family(address)).map_err(at("create-socket"))
}

fn new_udp(address: IpSocketAddress) -> Result<UdpSocket, Failed> {
    create_udp_socket(family(address)).map_err(at("create-socket"))
}

fn family(address: IpSocketAddress) -> IpAddressFamily {
    match address {
        IpSocketAddress::Ipv4(_) => IpAddressFamily::Ipv4,
        IpSocketAddress::Ipv6(_) => IpAddressFamily::Ipv6,
    }
}

/// The address in the arguments, if the host is one.
fn address(arguments: &Arguments) -> Option<IpSocketAddress> {
    let host: IpAddr = arguments.text("host", "").parse().ok()?;
    let port = u16::try_from(arguments.number("port", 0)).ok()?;
    Some(match host {
        IpAddr::V4(host) => IpSocketAddress::Ipv4(Ipv4SocketAddress {
            port,
            address: host.octets().into(),
        }),
        IpAddr::V6(host) => IpSocketAddress::Ipv6(Ipv6SocketAddress {
            port,
            flow_info: 0,
            address: host.segments().into(),
            scope_id: 0,
        }),
    })
}

fn ip(address: IpAddress) -> IpAddr {
    match address {
        IpAddress::Ipv4(octets) => <[u8; 4]>::from(octets).into(),
        IpAddress::Ipv6(segments) => <[u16; 8]>::from(segments).into(),
    }
}
