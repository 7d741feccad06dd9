//! A guest that computes for long goes on at a lower priority, so that it holds up nobody's short call.
//!
//! A thread may always lower its priority, but only some may raise it again: root, and whoever has an
//! `RLIMIT_NICE`. Where it can't be raised again nothing is lowered, since the thread serves others
//! after this call.

use std::time::Duration;

use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::gettid;

/// CPU time that a guest has before it makes way: far more than a short call takes.
const SHORT: Duration = Duration::from_millis(4);

/// The nice value added then. Where all processors are wanted it leaves the guest about one part in thirty
/// of one: with 10 it was one in ten, which is given in pieces of a millisecond and more, and held up one
/// in a hundred of a neighbour's short calls.
const LOWER_BY: i32 = 15;

/// The lowest priority there is.
const LOWEST: i32 = 19;

/// Whether a thread of this process can raise its priority again; asked once, on a thread of its own.
pub(crate) fn is_possible() -> bool {
    let lower_and_raise = || {
        let usual = getpriority_process(Some(gettid()))?;
        setpriority_process(Some(gettid()), (usual + 1).min(LOWEST))?;
        setpriority_process(Some(gettid()), usual)
    };
    std::thread::spawn(lower_and_raise)
        .join()
        .is_ok_and(|raised| raised.is_ok())
}

/// The priority of one call's thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Courtesy {
    is_possible: bool,
    /// What it was, once it was lowered.
    usual: Option<i32>,
}

impl Courtesy {
    pub(crate) fn new(is_possible: bool) -> Self {
        Self {
            is_possible,
            usual: None,
        }
    }

    /// Makes way once the guest has computed for long enough. Must be asked on its thread.
    pub(crate) fn after(&mut self, computed: Duration) {
        if !self.is_possible || self.usual.is_some() || computed < SHORT {
            return;
        }
        let Ok(usual) = getpriority_process(Some(gettid())) else {
            return;
        };
        let lower = (usual + LOWER_BY).min(LOWEST);
        if setpriority_process(Some(gettid()), lower).is_ok() {
            self.usual = Some(usual);
        }
    }

    /// Gives the thread back as it was.
    pub(crate) fn end(&mut self) {
        let Some(usual) = self.usual.take() else {
            return;
        };
        if let Err(error) = setpriority_process(Some(gettid()), usual) {
            tracing::warn!(%error, "a thread stays at a lower priority");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn priority() -> i32 {
        getpriority_process(Some(gettid())).unwrap()
    }

    #[test]
    fn a_thread_is_lowered_after_a_while_and_given_back_as_it_was() {
        let usual = priority();
        let mut courtesy = Courtesy::new(is_possible());
        courtesy.after(SHORT.saturating_sub(Duration::from_nanos(1)));
        assert_eq!(priority(), usual, "n - 1");
        courtesy.after(SHORT);
        let expected = if is_possible() {
            (usual + LOWER_BY).min(LOWEST)
        } else {
            usual
        };
        assert_eq!(priority(), expected, "n");
        courtesy.after(SHORT * 2);
        assert_eq!(priority(), expected, "once");
        courtesy.end();
        assert_eq!(priority(), usual);
    }

    #[test]
    fn a_thread_that_could_not_be_raised_again_is_never_lowered() {
        let usual = priority();
        let mut courtesy = Courtesy::new(false);
        courtesy.after(SHORT * 2);
        assert_eq!(priority(), usual);
        courtesy.end();
    }
}
