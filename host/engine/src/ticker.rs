//! The clock that interrupts computing guests: one thread that advances the engine's epoch.
//!
//! It ticks on an absolute schedule, since sleeping a period after each tick drifts under load, and
//! it sleeps for good while no call runs.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

/// How often a computing guest is looked at: the longest that SPEC S5 allows. Half of it would double
/// what the clock costs, up to 2% of a core.
pub const TICK: Duration = Duration::from_millis(2);

/// Ticks without a call after which the thread sleeps: long enough that calls in a row never pay
/// for waking it.
const IDLE_TICKS: u32 = 100;

/// Owns the ticking thread; dropping it ends the thread.
#[derive(Debug)]
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    running_calls: AtomicUsize,
    asleep: AtomicBool,
    stopped: AtomicBool,
}

impl Ticker {
    /// Starts the thread, asleep.
    pub(crate) fn start(tick: impl Fn() + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("tidegate-ticker".to_owned())
            .spawn(move || run(&for_thread, tick))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Ticks at least until the guard is dropped.
    pub(crate) fn running(&self) -> Running<'_> {
        self.shared.running_calls.fetch_add(1, Ordering::SeqCst);
        if self.shared.asleep.load(Ordering::SeqCst) {
            self.wake();
        }
        Running(&self.shared)
    }

    fn wake(&self) {
        if let Some(thread) = self.thread.as_ref().map(JoinHandle::thread) {
            Thread::unpark(thread);
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        self.wake();
        if let Some(thread) = self.thread.take() {
            // The thread can only have panicked in the engine's own epoch counter.
            drop(thread.join());
        }
    }
}

/// A call is running; see [`Ticker::running`].
pub(crate) struct Running<'a>(&'a Shared);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running_calls.fetch_sub(1, Ordering::SeqCst);
    }
}

fn run(shared: &Shared, tick: impl Fn()) {
    let mut idle_ticks = 0;
    let mut next = Instant::now();
    while !shared.stopped.load(Ordering::SeqCst) {
        if shared.running_calls.load(Ordering::SeqCst) > 0 {
            idle_ticks = 0;
        } else {
            idle_ticks += 1;
        }
        if idle_ticks > IDLE_TICKS {
            sleep_until_a_call(shared);
            idle_ticks = 0;
            next = Instant::now();
        }
        tick();
        next += TICK;
        let now = Instant::now();
        match next.checked_duration_since(now) {
            Some(rest) => thread::sleep(rest),
            // Held up for longer than a tick: go on from here, don't tick in a burst.
            None => next = now,
        }
    }
}

/// Announces sleep before the last look at the count, as `running` counts before it looks at the
/// announcement: one of the two always sees the other.
fn sleep_until_a_call(shared: &Shared) {
    shared.asleep.store(true, Ordering::SeqCst);
    while shared.running_calls.load(Ordering::SeqCst) == 0 && !shared.stopped.load(Ordering::SeqCst)
    {
        thread::park();
    }
    shared.asleep.store(false, Ordering::SeqCst);
}
