//! What goes wrong for a call outside of its thread: an answer over a bound, an address that is not
//! granted. Written where it happens, read where the guest runs.

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

    /// Waits until the call is to end.
    pub(crate) async fn ended(&self) -> Breach {
        self.noted.cancelled().await;
        // Set before the token is cancelled.
        self.breach().unwrap_or(Breach::Cancelled)
    }

    pub(crate) fn deny(&self, denial: Denial) {
        let mut denials = self.denials.lock().unwrap_or_else(PoisonError::into_inner);
        if denials.len() < Denials::KEPT {
            denials.push(denial);
        }
    }

    /// Hands over what was denied.
    pub(crate) fn take_denials(&self) -> Vec<Denial> {
        std::mem::take(&mut self.denials.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
