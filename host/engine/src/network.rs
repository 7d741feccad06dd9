//! `wasi:sockets` for a guest without a network grant: making a socket and looking up a name are
//! refused and recorded. Nothing is bound, connected or asked.

use tidegate_sandbox::egress;
use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::{self, ResolveAddressStream};
use wasmtime_wasi::p2::bindings::sockets::network::{self, ErrorCode, IpAddress, IpAddressFamily};
use wasmtime_wasi::p2::bindings::sockets::tcp_create_socket;
use wasmtime_wasi::p2::bindings::sync::sockets::udp_create_socket;
use wasmtime_wasi::p2::{self as p2, DynPollable, SocketError, SocketResult, TcpSocket, UdpSocket};
use wasmtime_wasi::sockets::WasiSocketsCtxView;

use crate::denials::Denials;

/// The network of one call.
pub(crate) struct Network<'a> {
    pub(crate) view: WasiSocketsCtxView<'a>,
    pub(crate) denials: &'a mut Denials,
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
    fn create_tcp_socket(&mut self, _: IpAddressFamily) -> SocketResult<Resource<TcpSocket>> {
        self.deny("tcp")
    }
}

impl udp_create_socket::Host for Network<'_> {
    fn create_udp_socket(&mut self, _: IpAddressFamily) -> SocketResult<Resource<UdpSocket>> {
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
