//! `wasi:io` for a guest: wasmtime-wasi's implementation, each wait bounded by the call.
//!
//! A guest runs on a thread that may block, so that a host call which has to wait does so in place.
//! Epochs don't reach into host calls: the deadline and the caller's wish end the wait here.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::p2::bindings::sync::io::{poll, streams};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, DynPollable, StreamError, StreamResult};
use wasmtime_wasi_io::bindings::wasi::io as waiting;

use crate::saturating::to_u64;
use crate::streams::CHUNK_BYTES;
use crate::watch::Watch;

/// The streams and pollables of one call.
pub(crate) struct Io<'a> {
    pub(crate) table: &'a mut ResourceTable,
    pub(crate) watch: &'a Watch,
}

/// Names [`Io`] to the linker.
pub(crate) struct HasIo;

impl HasData for HasIo {
    type Data<'a> = Io<'a>;
}

/// Names the bare table to the linker, for what never waits.
pub(crate) struct HasTable;

impl HasData for HasTable {
    type Data<'a> = &'a mut ResourceTable;
}

impl Io<'_> {
    /// Drives a host call to its end, or to a bound of the call.
    fn wait<T, E: From<wasmtime::Error>>(
        watch: &Watch,
        host_call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let mut host_call = pin!(host_call);
        // Most have nothing to wait for: no timer is set for them.
        let at_once = host_call
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(end) = at_once {
            return end;
        }
        pollster::block_on(async {
            tokio::select! {
                biased;
                end = host_call => end,
                breach = watch.passed() => Err(wasmtime::Error::from(breach).into()),
            }
        })
    }

    fn stream<T>(
        watch: &Watch,
        host_call: impl Future<Output = StreamResult<T>>,
    ) -> StreamResult<T> {
        let end = Self::wait(watch, async { Ok(host_call.await) });
        end.unwrap_or_else(|breach: wasmtime::Error| Err(StreamError::Trap(breach)))
    }
}

impl poll::Host for Io<'_> {
    fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        Self::wait(self.watch, waiting::poll::Host::poll(self.table, pollables))
    }
}

impl poll::HostPollable for Io<'_> {
    fn ready(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<bool> {
        let ready = waiting::poll::HostPollable::ready(self.table, pollable);
        Self::wait(self.watch, ready)
    }

    fn block(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        let block = waiting::poll::HostPollable::block(self.table, pollable);
        Self::wait(self.watch, block)
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        waiting::poll::HostPollable::drop(self.table, pollable)
    }
}

impl streams::Host for Io<'_> {
    fn convert_stream_error(
        &mut self,
        error: StreamError,
    ) -> wasmtime::Result<streams::StreamError> {
        streams::Host::convert_stream_error(self.table, error)
    }
}

impl streams::HostInputStream for Io<'_> {
    fn read(&mut self, stream: Resource<DynInputStream>, length: u64) -> StreamResult<Vec<u8>> {
        waiting::streams::HostInputStream::read(self.table, stream, length)
    }

    fn blocking_read(
        &mut self,
        stream: Resource<DynInputStream>,
        length: u64,
    ) -> StreamResult<Vec<u8>> {
        let read = waiting::streams::HostInputStream::blocking_read(self.table, stream, length);
        Self::stream(self.watch, read)
    }

    fn skip(&mut self, stream: Resource<DynInputStream>, length: u64) -> StreamResult<u64> {
        waiting::streams::HostInputStream::skip(self.table, stream, length)
    }

    fn blocking_skip(
        &mut self,
        stream: Resource<DynInputStream>,
        length: u64,
    ) -> StreamResult<u64> {
        let skip = waiting::streams::HostInputStream::blocking_skip(self.table, stream, length);
        Self::stream(self.watch, skip)
    }

    fn subscribe(
        &mut self,
        stream: Resource<DynInputStream>,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        waiting::streams::HostInputStream::subscribe(self.table, stream)
    }

    fn drop(&mut self, stream: Resource<DynInputStream>) -> wasmtime::Result<()> {
        let drop = waiting::streams::HostInputStream::drop(self.table, stream);
        Self::wait(self.watch, drop)
    }
}

impl streams::HostOutputStream for Io<'_> {
    fn check_write(&mut self, stream: Resource<DynOutputStream>) -> StreamResult<u64> {
        waiting::streams::HostOutputStream::check_write(self.table, stream)
    }

    fn write(&mut self, stream: Resource<DynOutputStream>, bytes: Vec<u8>) -> StreamResult<()> {
        waiting::streams::HostOutputStream::write(self.table, stream, bytes)
    }

    fn blocking_write_and_flush(
        &mut self,
        stream: Resource<DynOutputStream>,
        bytes: Vec<u8>,
    ) -> StreamResult<()> {
        let write =
            waiting::streams::HostOutputStream::blocking_write_and_flush(self.table, stream, bytes);
        Self::stream(self.watch, write)
    }

    fn flush(&mut self, stream: Resource<DynOutputStream>) -> StreamResult<()> {
        waiting::streams::HostOutputStream::flush(self.table, stream)
    }

    fn blocking_flush(&mut self, stream: Resource<DynOutputStream>) -> StreamResult<()> {
        let flush = waiting::streams::HostOutputStream::blocking_flush(self.table, stream);
        Self::stream(self.watch, flush)
    }

    fn subscribe(
        &mut self,
        stream: Resource<DynOutputStream>,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        waiting::streams::HostOutputStream::subscribe(self.table, stream)
    }

    fn write_zeroes(&mut self, stream: Resource<DynOutputStream>, length: u64) -> StreamResult<()> {
        if length > to_u64(CHUNK_BYTES) {
            return Err(StreamError::trap("more than check-write allowed"));
        }
        waiting::streams::HostOutputStream::write_zeroes(self.table, stream, length)
    }

    fn blocking_write_zeroes_and_flush(
        &mut self,
        stream: Resource<DynOutputStream>,
        length: u64,
    ) -> StreamResult<()> {
        let write = waiting::streams::HostOutputStream::blocking_write_zeroes_and_flush(
            self.table, stream, length,
        );
        Self::stream(self.watch, write)
    }

    fn splice(
        &mut self,
        to: Resource<DynOutputStream>,
        from: Resource<DynInputStream>,
        length: u64,
    ) -> StreamResult<u64> {
        waiting::streams::HostOutputStream::splice(self.table, to, from, length)
    }

    fn blocking_splice(
        &mut self,
        to: Resource<DynOutputStream>,
        from: Resource<DynInputStream>,
        length: u64,
    ) -> StreamResult<u64> {
        let splice =
            waiting::streams::HostOutputStream::blocking_splice(self.table, to, from, length);
        Self::stream(self.watch, splice)
    }

    fn drop(&mut self, stream: Resource<DynOutputStream>) -> wasmtime::Result<()> {
        let drop = waiting::streams::HostOutputStream::drop(self.table, stream);
        Self::wait(self.watch, drop)
    }
}
