//! A server that records what clients send it and answers as a script says, on loopback.
//!
//! It owns one thread with everything of the server on it; a drop ends both, whatever is going on.
//! Deliberately absent: names (whatever resolves them gives out the loopback), proxying, and
//! good behaviour that the script did not ask for.

mod answer;
mod coding;
mod http1;
mod http2;
mod record;
mod request;
mod tls;
mod wire;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

pub(crate) use answer::Answer;
pub(crate) use coding::{BROTLI_ZEROS, gzip, gzip_zeros, zstd_zeros};
pub(crate) use request::Request;
pub(crate) use tls::{Authority, Identity};

use record::Record;
use wire::Wire;

/// A running server.
pub(crate) struct Server {
    address: SocketAddr,
    scheme: &'static str,
    record: Arc<Record>,
    /// Dropped to end the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

/// How a server stands there; the default is plain HTTP on 127.0.0.1 that answers whole requests.
pub(crate) struct Setup {
    /// The address to listen on; the port is always a free one.
    pub(crate) address: IpAddr,
    pub(crate) moment: Moment,
    /// The certificate to show; without one there is no TLS.
    pub(crate) identity: Option<Identity>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST.into(),
            moment: Moment::Request,
            identity: None,
        }
    }
}

/// When the script is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Once a connection, before anything is read but what TLS shakes hands with; the request is
    /// blank.
    Connection,
    /// When a request's head was read; its body is read after the answer.
    Head,
    /// When a whole request was read.
    Request,
}

impl Server {
    /// Answers each request over plain HTTP/1.1 by what `script` makes of it.
    ///
    /// A script never blocks: waiting is for the answer to do. One that panics ends the server, and
    /// its panic goes on where the server is dropped.
    pub(crate) fn start(script: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::with(Setup::default(), script)
    }

    /// The same over TLS, in the protocol that the identity and the client agree on.
    pub(crate) fn secure(
        identity: Identity,
        script: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let setup = Setup {
            identity: Some(identity),
            ..Setup::default()
        };
        Self::with(setup, script)
    }

    /// The same as set up.
    pub(crate) fn with(
        setup: Setup,
        script: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let scheme = setup.identity.as_ref().map_or("http", |_| "https");
        let listener = TcpListener::bind((setup.address, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let record = Arc::new(Record::default());
        let service = Service {
            moment: setup.moment,
            identity: setup.identity,
            script: Box::new(script),
        };
        let (stop, stopped) = oneshot::channel();
        let accepting = accept(listener, stopped, Arc::clone(&record), Arc::new(service));
        let thread = thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(accepting);
        });
        Self {
            address,
            scheme,
            record,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Scheme, address and port, as at the front of a URL.
    pub(crate) fn origin(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many connections were accepted so far, those without a request among them.
    pub(crate) fn connections(&self) -> usize {
        self.record.read(|seen| seen.connections.len())
    }

    /// The requests so far, in the order in which the script was asked.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.record.read(|seen| seen.requests.clone())
    }

    /// The bytes of each connection as they came, whether they made a request or not; under TLS
    /// those that were encrypted, and none of a handshake.
    pub(crate) fn raw(&self) -> Vec<Vec<u8>> {
        self.record
            .read(|seen| seen.connections.iter().map(|one| one.raw.clone()).collect())
    }

    /// Waits until so many requests came; whether they did.
    pub(crate) fn received_within(&self, requests: usize, limit: Duration) -> bool {
        self.record
            .waited(limit, |seen| seen.requests.len() >= requests)
    }

    /// Waits until all connections so far are over: closed by the peer, or reset by an answer.
    /// Whether they are. A peer that only ends its own half counts as gone.
    pub(crate) fn closed_within(&self, limit: Duration) -> bool {
        self.record
            .waited(limit, |seen| seen.connections.iter().all(|one| !one.open))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(thread::JoinHandle::join);
        if let Some(Err(panic)) = ended
            && !thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}

/// What answers the connections of one server.
struct Service {
    moment: Moment,
    identity: Option<Identity>,
    script: Box<dyn Fn(&Request) -> Answer + Send + Sync>,
}

async fn accept(
    listener: TcpListener,
    mut stopped: oneshot::Receiver<()>,
    record: Arc<Record>,
    service: Arc<Service>,
) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            // A panic first: it is known before the client sees the end that it brings.
            biased;
            Some(ended) = connections.join_next() => ended.unwrap_or_else(go_on),
            _ = &mut stopped => return,
            accepted = listener.accept() => {
                let (stream, _) = accepted.unwrap();
                connections.spawn(serve(stream, Arc::clone(&record), Arc::clone(&service)));
            }
        }
    }
}

async fn serve(stream: TcpStream, record: Arc<Record>, service: Arc<Service>) {
    let entry = Arc::new(record.opened());
    // Each piece of an answer leaves when it is written.
    stream.set_nodelay(true).unwrap();
    let Ok(wire) = Wire::open(stream, Arc::clone(&entry), service.identity.as_ref()).await else {
        // A failed handshake is over for both.
        return;
    };
    if service.moment == Moment::Connection {
        let answer = (service.script)(&Request::blank(entry.connection()));
        http1::greet(wire, answer).await;
    } else if wire.speaks_http2() {
        http2::serve(wire, &entry, &service).await;
    } else {
        http1::serve(wire, &entry, &service).await;
    }
}

/// Hands on the panic of a task.
fn go_on(error: tokio::task::JoinError) {
    if let Ok(panic) = error.try_into_panic() {
        resume_unwind(panic);
    }
}
