//! Reading what a client sends: by threads in turns.
//!
//! The thread that has read a call of a tool runs it, and writes the answer: none has to be woken on
//! the way, which would take longer than a short call. Meanwhile it lays the input down. It takes it up
//! again after the call, unless the call is no short one, or more was there to be read: then another
//! thread has taken it. All else that is read is handed to the SDK.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rmcp::model::ClientJsonRpcMessage;
use tokio::sync::mpsc;

use super::client::{Call, Client, Heard};
use crate::frame::Framer;
use crate::incoming::{Incoming, LineInput};

/// Threads of one client, one of which reads: so many calls less one run at once that pass no other
/// thread.
const THREADS: usize = 9;

/// How long the input may lie there until another thread takes it up.
const SHORT: Duration = Duration::from_millis(1);

/// How long after the last call a thread still looks whether the input lies there: then it does not have
/// to be woken for the next.
const AWAKE: Duration = Duration::from_millis(4);

/// What the threads of one client share.
pub(super) struct Turns<R> {
    client: Arc<Client>,
    state: Mutex<State<R>>,
    news: Condvar,
}

struct State<R> {
    /// Where it lies while whoever has read runs a call.
    input: Option<Input<R>>,
    /// When it was last laid there; none where whoever comes takes it up.
    laid: Option<Instant>,
    is_over: bool,
    /// Threads, and those of them that run a call.
    all: usize,
    calling: usize,
    /// Whether one of the others looks after the input.
    is_watched: bool,
}

/// What is read from, and where what is not answered by the threads goes to.
struct Input<R> {
    incoming: Incoming<R>,
    sdk: mpsc::Sender<ClientJsonRpcMessage>,
}

/// A thread that runs a call; dropping it makes it one of the others.
pub(super) struct Calling(Arc<dyn Done>);

trait Done: Send + Sync {
    fn done(&self);
}

impl Drop for Calling {
    fn drop(&mut self) {
        self.0.done();
    }
}

impl<R: LineInput> Done for Turns<R> {
    fn done(&self) {
        self.state().calling -= 1;
    }
}

impl<R: LineInput> Turns<R> {
    /// Starts reading. What is not answered by the threads goes to `sdk`, in its order.
    ///
    /// # Errors
    ///
    /// There is no thread for it.
    pub(super) fn start(
        client: Arc<Client>,
        (source, framer): (R, Framer),
        sdk: mpsc::Sender<ClientJsonRpcMessage>,
    ) -> io::Result<()> {
        let incoming = Incoming::new(source, framer);
        let turns = Arc::new(Self {
            client,
            state: Mutex::new(State {
                input: Some(Input { incoming, sdk }),
                laid: None,
                is_over: false,
                all: 1,
                calling: 0,
                is_watched: false,
            }),
            news: Condvar::new(),
        });
        turns.spawn()
    }

    fn state(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spawn(self: &Arc<Self>) -> io::Result<()> {
        let turns = Arc::clone(self);
        let thread = thread::Builder::new().name("mcp-client".to_owned());
        // Who reads waits for the client, and must not hold up the end of the program.
        drop(thread.spawn(move || {
            let mut is_back = false;
            while let Some(input) = turns.take_up(is_back)
                && let Some(call) = turns.read(input)
            {
                turns.client.answer(call);
                is_back = true;
            }
        })?);
        Ok(())
    }

    /// Makes this thread one that runs a call, where another is left to read.
    fn call(self: &Arc<Self>) -> Option<Calling> {
        let mut state = self.state();
        if state.calling + 1 >= state.all {
            if state.all >= THREADS {
                return None;
            }
            if let Err(error) = self.spawn() {
                tracing::debug!(%error, "no further thread for a client");
                return None;
            }
            state.all += 1;
        }
        state.calling += 1;
        let done: Arc<dyn Done> = Arc::<Self>::clone(self);
        Some(Calling(done))
    }

    /// Reads up to a call that this thread is to run; none when nothing more is to be read.
    fn read(self: &Arc<Self>, mut input: Input<R>) -> Option<Box<Call>> {
        // Before it is read: a client that asks faster than it reads is not read from.
        while let Some(place) = self.client.place()
            && let Some(frame) = input.incoming.next()
        {
            match self.client.hear(frame, place, || self.call()) {
                Heard::Call(call) => {
                    self.lay_down(input);
                    return Some(call);
                }
                Heard::Sdk(message) => {
                    if input.sdk.blocking_send(*message).is_err() {
                        break;
                    }
                }
                Heard::Nothing => {}
            }
        }
        self.state().is_over = true;
        self.news.notify_all();
        self.client.is_over();
        None
    }

    /// Lays the input down while this thread runs a call.
    fn lay_down(&self, input: Input<R>) {
        let has_more = input.incoming.has_more();
        let mut state = self.state();
        state.input = Some(input);
        state.laid = (!has_more).then(Instant::now);
        let is_to_be_told = has_more || !state.is_watched;
        drop(state);
        if is_to_be_told {
            self.news.notify_one();
        }
    }

    /// Waits until it is this thread's turn to read; none when nothing more is to be read. One that is
    /// back from a call has its turn at once, if no other has.
    fn take_up(&self, mut is_back: bool) -> Option<Input<R>> {
        let mut state = self.state();
        loop {
            if state.is_over {
                return None;
            }
            let since = state.laid.map_or(Duration::MAX, |laid| laid.elapsed());
            if (is_back || since >= SHORT)
                && let Some(input) = state.input.take()
            {
                return Some(input);
            }
            is_back = false;
            let until = if state.input.is_some() { SHORT } else { AWAKE };
            if state.is_watched || since >= until {
                let told = self.news.wait(state);
                state = told.unwrap_or_else(PoisonError::into_inner);
            } else {
                state.is_watched = true;
                let told = self.news.wait_timeout(state, SHORT);
                state = told.unwrap_or_else(PoisonError::into_inner).0;
                state.is_watched = false;
            }
        }
    }
}
