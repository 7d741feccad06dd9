//! `wasi:sockets` for a guest: sockets for the very addresses that were granted, and none without one.
//!
//! What is refused is recorded, and nothing is bound, connected or asked for it. Names are never looked
//! up, and nothing listens.

use std::net::SocketAddr;
use std::sync::Arc;

use tidegate_sandbox::egress::{self, Protocol};
use tidegate_sandbox::{Egress, Handles};
use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::WasiCtxBuilder;
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::{self, ResolveAddressStream};
use wasmtime_wasi::p2::bindings::sockets::network::{self, ErrorCode, IpAddress, IpAddressFamily};
use wasmtime_wasi::p2::bindings::sockets::tcp_create_socket;
use wasmtime_wasi::p2::bindings::sync::sockets::udp_create_socket;
use wasmtime_wasi::p2::{self as p2, DynPollable, SocketError, SocketResult, TcpSocket, UdpSocket};
use wasmtime_wasi::sockets::{SocketAddrUse, WasiSocketsCtxView};

use crate::denials::Denials;
use crate::overrun::Overrun;
use crate::watch::Watch;

/// Permits the sockets that were granted.
pub(crate) fn allow(wasi: &mut WasiCtxBuilder, handles: &Handles, watch: &mut Watch) {
    let allows = |protocol| {
        let egress = handles.egress.as_ref();
        egress.is_some_and(|egress| egress.has_sockets(protocol))
    };
    let (tcp, udp) = (allows(Protocol::Tcp), allows(Protocol::Udp));
    wasi.allow_tcp(tcp)
        .allow_udp(udp)
        .allow_ip_name_lookup(false);
    if let Some(egress) = handles.egress.as_ref().filter(|_| tcp || udp) {
        let (egress, notes) = (egress.clone(), Arc::clone(watch.notes()));
        wasi.socket_addr_check(move |address, wanted| {
            let allowed = check(&egress, &notes, address, wanted);
            Box::pin(async move { allowed })
        });
    }
}

/// Judges one use of one address.
fn check(egress: &Egress, notes: &Overrun, address: SocketAddr, wanted: SocketAddrUse) -> bool {
    let protocol = match wanted {
        SocketAddrUse::TcpConnect => Protocol::Tcp,
        SocketAddrUse::UdpSend | SocketAddrUse::UdpReceive => Protocol::Udp,
        // The system picks the near end of a connection.
        SocketAddrUse::TcpBind | SocketAddrUse::UdpBind
            if address.ip().is_unspecified() && address.port() == 0 =>
        {
            return true;
        }
        _ => {
            notes.deny(egress::deny(&format!("a socket at {address}")));
            return false;
        }
    };
    match egress.check_socket(protocol, address) {
        Ok(()) => true,
        Err(denial) => {
            notes.deny(denial);
            false
        }
    }
}

/// The network of one call.
pub(crate) struct Network<'a> {
    pub(crate) view: WasiSocketsCtxView<'a>,
    pub(crate) denials: &'a mut Denials,
    pub(crate) egress: Option<&'a Egress>,
}

/// Names [`Network`] to the linker.
pub(crate) struct HasNetwork;

impl HasData for HasNetwork {
    type Data<'a> = Network<'a>;
}

impl Network<'_> {
    fn deny<T>(&mut self, name: &str) -> SocketResult<T> {
        self.denials.record(egress::deny(name));
        Err(ErrorCode::AccessDenied.into())
    }

    fn has_sockets(&self, protocol: Protocol) -> bool {
        self.egress
            .is_some_and(|egress| egress.has_sockets(protocol))
    }
}

impl network::Host for Network<'_> {
    fn convert_error_code(&mut self, error: SocketError) -> wasmtime::Result<ErrorCode> {
        self.view.convert_error_code(error)
    }

    fn network_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        self.view.network_error_code(error)
    }
}

impl network::HostNetwork for Network<'_> {
    fn drop(&mut self, network: Resource<p2::Network>) -> wasmtime::Result<()> {
        network::HostNetwork::drop(&mut self.view, network)
    }
}

impl tcp_create_socket::Host for Network<'_> {
    fn create_tcp_socket(&mut self, family: IpAddressFamily) -> SocketResult<Resource<TcpSocket>> {
        if self.has_sockets(Protocol::Tcp) {
            return tcp_create_socket::Host::create_tcp_socket(&mut self.view, family);
        }
        self.deny("tcp")
    }
}

impl udp_create_socket::Host for Network<'_> {
    fn create_udp_socket(&mut self, family: IpAddressFamily) -> SocketResult<Resource<UdpSocket>> {
        if self.has_sockets(Protocol::Udp) {
            return udp_create_socket::Host::create_udp_socket(&mut self.view, family);
        }
        self.deny("udp")
    }
}

impl ip_name_lookup::Host for Network<'_> {
    fn resolve_addresses(
        &mut self,
        _: Resource<p2::Network>,
        name: String,
    ) -> SocketResult<Resource<ResolveAddressStream>> {
        self.deny(&name)
    }
}

impl ip_name_lookup::HostResolveAddressStream for Network<'_> {
    fn resolve_next_address(
        &mut self,
        stream: Resource<ResolveAddressStream>,
    ) -> Result<Option<IpAddress>, SocketError> {
        self.view.resolve_next_address(stream)
    }

    fn subscribe(
        &mut self,
        stream: Resource<ResolveAddressStream>,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        ip_name_lookup::HostResolveAddressStream::subscribe(&mut self.view, stream)
    }

    fn drop(&mut self, stream: Resource<ResolveAddressStream>) -> wasmtime::Result<()> {
        ip_name_lookup::HostResolveAddressStream::drop(&mut self.view, stream)
    }
}
