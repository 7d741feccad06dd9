//! What a guest can import: WASI 0.2 and the plugin contract, linked once for all plugins.
//!
//! Every import is there whatever was granted; an import without a grant answers with a denial.

use wasmtime::component::{HasData, HasSelf, Linker};
use wasmtime_wasi::cli::{WasiCli, WasiCliCtxView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksCtxView};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, random, sockets, sync};
use wasmtime_wasi::random::WasiRandomCtx;
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsCtxView};
use wasmtime_wasi_http::WasiHttp;
use wasmtime_wasi_http::p2::bindings::{LinkOptions, http};
use wasmtime_wasi_io::bindings::wasi::io::error;

use crate::bindings::tidegate::plugin;
use crate::breach::Breach;
use crate::fields;
use crate::files::HasFiles;
use crate::io::{HasIo, HasTable};
use crate::network::HasNetwork;
use crate::store::CallState;

/// Links everything a guest can import. 54 µs: done once.
pub(crate) fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    link_plugin_imports(linker)?;
    link_io_and_clocks(linker)?;
    link_cli(linker)?;
    link_sockets(linker)?;
    link_http(linker)?;
    let l = linker;
    filesystem::preopens::add_to_linker::<_, HasFiles>(l, CallState::files)?;
    sync::filesystem::types::add_to_linker::<_, HasFiles>(l, CallState::files)?;
    random::random::add_to_linker::<_, HasRandom>(l, CallState::random)?;
    random::insecure::add_to_linker::<_, HasRandom>(l, CallState::random)?;
    random::insecure_seed::add_to_linker::<_, HasRandom>(l, CallState::random)?;
    Ok(())
}

fn link_plugin_imports(l: &mut Linker<CallState>) -> wasmtime::Result<()> {
    plugin::context::add_to_linker::<_, HasSelf<CallState>>(l, |state| state)?;
    plugin::exec::add_to_linker::<_, HasSelf<CallState>>(l, |state| state)?;
    plugin::file_status::add_to_linker::<_, HasSelf<CallState>>(l, |state| state)?;
    plugin::artifacts::add_to_linker::<_, HasSelf<CallState>>(l, |state| state)?;
    plugin::parts::add_to_linker::<_, HasSelf<CallState>>(l, |state| state)
}

fn link_io_and_clocks(l: &mut Linker<CallState>) -> wasmtime::Result<()> {
    error::add_to_linker::<_, HasTable>(l, CallState::table)?;
    sync::io::poll::add_to_linker::<_, HasIo>(l, CallState::io)?;
    sync::io::streams::add_to_linker::<_, HasIo>(l, CallState::io)?;
    clocks::wall_clock::add_to_linker::<_, WasiClocks>(l, clocks_view)?;
    clocks::monotonic_clock::add_to_linker::<_, WasiClocks>(l, clocks_view)
}

fn link_cli(l: &mut Linker<CallState>) -> wasmtime::Result<()> {
    cli::environment::add_to_linker::<_, WasiCli>(l, cli_view)?;
    cli::exit::add_to_linker::<_, WasiCli>(l, cli_view)?;
    cli::stdin::add_to_linker::<_, WasiCli>(l, cli_view)?;
    cli::stdout::add_to_linker::<_, WasiCli>(l, cli_view)?;
    cli::stderr::add_to_linker::<_, WasiCli>(l, cli_view)?;
    cli::terminal_input::add_to_linker::<_, WasiCli>(l, cli_view)?;
    cli::terminal_output::add_to_linker::<_, WasiCli>(l, cli_view)?;
    cli::terminal_stdin::add_to_linker::<_, WasiCli>(l, cli_view)?;
    cli::terminal_stdout::add_to_linker::<_, WasiCli>(l, cli_view)?;
    cli::terminal_stderr::add_to_linker::<_, WasiCli>(l, cli_view)
}

fn link_sockets(l: &mut Linker<CallState>) -> wasmtime::Result<()> {
    let options = sockets::network::LinkOptions::default();
    sockets::network::add_to_linker::<_, WasiSockets>(l, &options, sockets_view)?;
    sockets::instance_network::add_to_linker::<_, WasiSockets>(l, sockets_view)?;
    sockets::ip_name_lookup::add_to_linker::<_, HasNetwork>(l, CallState::network)?;
    sync::sockets::tcp::add_to_linker::<_, WasiSockets>(l, sockets_view)?;
    sockets::tcp_create_socket::add_to_linker::<_, HasNetwork>(l, CallState::network)?;
    sync::sockets::udp::add_to_linker::<_, WasiSockets>(l, sockets_view)?;
    sync::sockets::udp_create_socket::add_to_linker::<_, HasNetwork>(l, CallState::network)
}

fn link_http(l: &mut Linker<CallState>) -> wasmtime::Result<()> {
    let options = LinkOptions::default();
    http::types::add_to_linker::<_, WasiHttp>(l, &(&options).into(), CallState::http)?;
    http::outgoing_handler::add_to_linker::<_, WasiHttp>(l, CallState::http)?;
    // wasmtime's own finds no code in what a body ended with: it looks for another type of error.
    l.allow_shadowing(true);
    let mut types = l.instance(fields::TYPES)?;
    types.func_wrap("http-error-code", |mut store, (error,)| {
        let error = store.data_mut().table().get(&error)?;
        Ok((crate::http::code_of(error),))
    })?;
    fields::link(l)?;
    l.allow_shadowing(false);
    Ok(())
}

fn cli_view(state: &mut CallState) -> WasiCliCtxView<'_> {
    let (ctx, table) = state.wasi_and_table();
    WasiCliCtxView {
        ctx: ctx.cli(),
        table,
    }
}

fn clocks_view(state: &mut CallState) -> WasiClocksCtxView<'_> {
    let (ctx, table) = state.wasi_and_table();
    WasiClocksCtxView {
        ctx: ctx.clocks(),
        table,
    }
}

fn sockets_view(state: &mut CallState) -> WasiSocketsCtxView<'_> {
    let (ctx, table) = state.wasi_and_table();
    WasiSocketsCtxView {
        ctx: ctx.sockets(),
        table,
    }
}

/// `wasi:random`, each request bounded by `host_allocation_bytes`.
pub(crate) struct Random<'a> {
    pub(crate) ctx: &'a mut WasiRandomCtx,
    pub(crate) limit_bytes: u64,
}

struct HasRandom;

impl HasData for HasRandom {
    type Data<'a> = Random<'a>;
}

impl Random<'_> {
    fn check(&self, length: u64) -> wasmtime::Result<()> {
        if length > self.limit_bytes {
            Err(Breach::HostAllocation.into())
        } else {
            Ok(())
        }
    }
}

impl random::random::Host for Random<'_> {
    fn get_random_bytes(&mut self, length: u64) -> wasmtime::Result<Vec<u8>> {
        self.check(length)?;
        self.ctx.get_random_bytes(length)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.ctx.get_random_u64()
    }
}

impl random::insecure::Host for Random<'_> {
    fn get_insecure_random_bytes(&mut self, length: u64) -> wasmtime::Result<Vec<u8>> {
        self.check(length)?;
        self.ctx.get_insecure_random_bytes(length)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.ctx.get_insecure_random_u64()
    }
}

impl random::insecure_seed::Host for Random<'_> {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        self.ctx.insecure_seed()
    }
}
