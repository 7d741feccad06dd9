//! What goes wrong for a call outside of its thread: an answer over a bound, an address that is not
//! granted. Written where it happens, read where the guest runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use tidegate_sandbox::Denial;
use tokio_util::sync::CancellationToken;

use crate::breach::Breach;
use crate::denials::Denials;

/// The notes of one call. They end it at its next tick, or out of the wait that it is in.
#[derive(Debug, Default)]
pub(crate) struct Overrun {
    breach: OnceLock<Breach>,
    noted: CancellationToken,
    denials: Mutex<Vec<Denial>>,
    over: AtomicBool,
}

impl Overrun {
    /// Ends the call; the first bound counts.
    pub(crate) fn end(&self, breach: Breach) {
        if self.breach.set(breach).is_ok() {
            self.noted.cancel();
        }
    }

    pub(crate) fn breach(&self) -> Option<Breach> {
        self.breach.get().copied()
    }

    /// Says that the guest is gone: what it has not finished by now, it never will.
    pub(crate) fn close(&self) {
        self.over.store(true, Ordering::Release);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Waits until the call is to end.
    pub(crate) async fn ended(&self) -> Breach {
        self.noted.cancelled().await;
        // Set before the token is cancelled.
        self.breach().unwrap_or(Breach::Cancelled)
    }

    pub(crate) fn deny(&self, denial: Denial) {
        let mut denials = self.denials.lock().unwrap_or_else(PoisonError::into_inner);
        if denials.len() < Denials::KEPT && !denials.contains(&denial) {
            denials.push(denial);
        }
    }

    /// Hands over what was denied.
    pub(crate) fn take_denials(&self) -> Vec<Denial> {
        std::mem::take(&mut self.denials.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use tidegate_sandbox::egress;

    use super::Overrun;

    #[test]
    fn t3_a_denial_that_is_met_again_hides_no_other() {
        let notes = Overrun::default();
        for _ in 0..100 {
            notes.deny(egress::deny("https://nobody.example"));
        }
        notes.deny(egress::deny("http://169.254.169.254"));
        assert_eq!(notes.take_denials().len(), 2);
    }
}
