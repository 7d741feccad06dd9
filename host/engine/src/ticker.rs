//! The clock that interrupts computing guests: one thread that advances the engine's epoch.
//!
//! It ticks on an absolute schedule, since sleeping a period after each tick drifts under load, and
//! once more when the nearest deadline passes, so that a loop ends then and not up to a tick later. It
//! sleeps for good while no call runs.

use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle, Thread};
use std::time::{Duration, Instant};

use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::{gettid, set_current_timer_slack};

/// How often a computing guest is looked at: the longest that SPEC S5 allows. Half of it would double
/// what the clock costs, up to 2% of a core.
pub const TICK: Duration = Duration::from_millis(2);

/// The least time between two ticks: many calls with short deadlines must not make the clock dear.
const CLOSEST: Duration = Duration::from_micros(250);

/// Ticks without a call after which the thread sleeps: long enough that calls in a row never pay
/// for waking it.
const IDLE_TICKS: u32 = 100;

/// How late the system may end a sleep, in nanoseconds; 50,000 without being asked.
const SLACK_NS: NonZeroU64 = NonZeroU64::new(1_000).unwrap();

/// How much is taken from the nice value of the clock's thread: late ticks are late ends of calls, and
/// it computes next to nothing.
const RAISED_BY: i32 = 10;

/// Owns the ticking thread; dropping it ends the thread.
#[derive(Debug)]
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    running_calls: AtomicUsize,
    asleep: AtomicBool,
    stopped: AtomicBool,
    /// What `nearest` counts from.
    since: Instant,
    /// The nearest deadline that is known, in nanoseconds. It may be that of a call which has ended:
    /// then the clock ticks once for nothing. Where it passes, the calls that compute on say theirs
    /// again at that tick.
    nearest: AtomicU64,
}

/// No deadline is known.
const NONE: u64 = u64::MAX;

impl Shared {
    fn new() -> Self {
        Self {
            running_calls: AtomicUsize::new(0),
            asleep: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            since: Instant::now(),
            nearest: AtomicU64::new(NONE),
        }
    }

    fn count(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.since);
        u64::try_from(since.as_nanos()).unwrap_or(NONE)
    }

    fn know(&self, deadline: Instant) {
        let deadline = self.count(deadline);
        // Mostly an earlier call's is nearer: looking costs other threads nothing.
        if deadline < self.nearest.load(Ordering::Relaxed) {
            self.nearest.fetch_min(deadline, Ordering::Relaxed);
        }
    }

    fn nearest(&self) -> Option<Instant> {
        match self.nearest.load(Ordering::Relaxed) {
            NONE => None,
            count => Some(self.since + Duration::from_nanos(count)),
        }
    }

    fn forget_passed(&self, now: Instant) {
        let known = self.nearest.load(Ordering::Relaxed);
        if known <= self.count(now) {
            let order = Ordering::Relaxed;
            // Another one may have been set meanwhile; it is looked at before the next tick.
            let _was_the_same = self.nearest.compare_exchange(known, NONE, order, order);
        }
    }
}

/// Sets the clock for one call's deadline; see [`Ticker::alarm`].
#[derive(Clone, Debug)]
pub(crate) struct Alarm(Arc<Shared>);

impl Alarm {
    /// Has the clock tick when a deadline passes. Must be said again at every tick.
    pub(crate) fn set(&self, deadline: Instant) {
        self.0.know(deadline);
    }
}

impl Ticker {
    /// Starts the thread, asleep.
    pub(crate) fn start(tick: impl Fn() + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared::new());
        let for_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("tidegate-ticker".to_owned())
            .spawn(move || {
                go_first();
                run(&for_thread, tick);
            })?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// For calls to say when they end.
    pub(crate) fn alarm(&self) -> Alarm {
        Alarm(Arc::clone(&self.shared))
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

/// A late clock ends calls late. What the process may not have, it does without.
fn go_first() {
    let raise = || {
        set_current_timer_slack(Some(SLACK_NS))?;
        let usual = getpriority_process(Some(gettid()))?;
        setpriority_process(Some(gettid()), usual - RAISED_BY)
    };
    if let Err(error) = raise() {
        tracing::debug!(%error, "the clock runs at the usual priority");
    }
}

fn run(shared: &Shared, tick: impl Fn()) {
    let mut idle_ticks = 0;
    let mut next = Instant::now();
    while !shared.stopped.load(Ordering::SeqCst) {
        let mut now = Instant::now();
        if now >= next {
            if shared.running_calls.load(Ordering::SeqCst) > 0 {
                idle_ticks = 0;
            } else {
                idle_ticks += 1;
            }
            if idle_ticks > IDLE_TICKS {
                sleep_until_a_call(shared);
                idle_ticks = 0;
                now = Instant::now();
                next = now;
            }
            // Held up for longer than a tick: go on from here, don't tick in a burst.
            next = (next + TICK).max(now);
        }
        shared.forget_passed(now);
        tick();
        let alarm = shared.nearest().map(|nearest| nearest.max(now + CLOSEST));
        let wake = alarm.map_or(next, |alarm| next.min(alarm));
        thread::sleep(wake.saturating_duration_since(Instant::now()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s5_the_nearest_deadline_counts_until_it_has_passed() {
        let shared = Shared::new();
        let after = |micros| shared.since + Duration::from_micros(micros);
        assert_eq!(shared.nearest(), None);
        for (known, nearest) in [(900, 900), (700, 700), (800, 700)] {
            shared.know(after(known));
            assert_eq!(shared.nearest(), Some(after(nearest)), "{known}");
        }
        shared.forget_passed(after(699));
        assert_eq!(shared.nearest(), Some(after(700)), "n - 1");
        shared.forget_passed(after(700));
        assert_eq!(shared.nearest(), None, "n");
        // Said again at the tick that has just been.
        shared.know(after(800));
        assert_eq!(shared.nearest(), Some(after(800)));
    }

    #[test]
    fn s5_the_clock_ticks_for_a_deadline_between_its_ticks() {
        let (ticked, ticks) = std::sync::mpsc::channel();
        let ticker = Ticker::start(move || {
            // Nobody listens once the test has ended.
            let _sent = ticked.send(Instant::now());
        })
        .unwrap();
        let alarm = ticker.alarm();
        let _running = ticker.running();
        // Late is how a busy machine ticks, also where no deadline is known: one of many has to be
        // within a quarter of a tick.
        let is_exact = (0..1_000).any(|_| {
            let deadline = ticks.recv().unwrap() + TICK * 3 + TICK / 2;
            alarm.set(deadline);
            let tick = ticks.iter().find(|tick| *tick >= deadline).unwrap();
            tick.saturating_duration_since(deadline) < TICK / 4
        });
        assert!(is_exact);
    }
}
