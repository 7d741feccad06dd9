//! What a server saw, for the test to read while the server runs.
//!
//! Deliberately absent: any meaning of the bytes.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::request::Request;

/// What came so far.
#[derive(Default)]
pub(super) struct Record {
    seen: Mutex<Seen>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct Seen {
    pub(super) connections: Vec<Connection>,
    pub(super) requests: Vec<Request>,
}

pub(super) struct Connection {
    pub(super) raw: Vec<u8>,
    pub(super) open: bool,
}

impl Record {
    /// Enters a new connection.
    pub(super) fn opened(self: Arc<Self>) -> Entry {
        let connection = self.change(|seen| {
            seen.connections.push(Connection {
                raw: Vec::new(),
                open: true,
            });
            seen.connections.len() - 1
        });
        Entry {
            record: self,
            connection,
        }
    }

    pub(super) fn read<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.lock().unwrap())
    }

    /// Waits for something to become true; whether it did.
    pub(super) fn waited(&self, limit: Duration, done: impl Fn(&Seen) -> bool) -> bool {
        let seen = self.seen.lock().unwrap();
        let (seen, _) = self
            .changed
            .wait_timeout_while(seen, limit, |seen| !done(seen))
            .unwrap();
        done(&seen)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        let changed = change(&mut self.seen.lock().unwrap());
        self.changed.notify_all();
        changed
    }
}

/// The place of one connection in the record; the connection is over when it is dropped.
pub(super) struct Entry {
    record: Arc<Record>,
    connection: usize,
}

impl Entry {
    pub(super) fn connection(&self) -> usize {
        self.connection
    }

    pub(super) fn received(&self, bytes: &[u8]) {
        self.record
            .change(|seen| seen.connections[self.connection].raw.extend(bytes));
    }

    pub(super) fn ended(&self) {
        self.record
            .change(|seen| seen.connections[self.connection].open = false);
    }

    /// Numbers a request and keeps a copy of it.
    pub(super) fn request(&self, mut request: Request) -> Request {
        self.record.change(|seen| {
            request.number = seen.requests.len();
            request.connection = self.connection;
            seen.requests.push(request.clone());
        });
        request
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.ended();
    }
}
