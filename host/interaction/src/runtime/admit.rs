//! Room for a call: taken at once where there is some, waited for where not.

use std::num::NonZeroU32;

use tidegate_contract::CallError;
use tidegate_engine::{Claim, Need, Permit};
use tracing::{Instrument as _, Span};

use super::{Bound, InvokeOptions, Runtime};

impl Runtime {
    /// Calls of one caller that can run at once.
    pub(crate) fn room(&self, options: &InvokeOptions) -> u32 {
        let room = self.0.concurrency;
        let quota = options.caller.concurrency.map(NonZeroU32::get);
        quota.map_or(room, |quota| quota.min(room))
    }

    /// Waits for room; `of` is the span of the call.
    pub(super) async fn admit(
        &self,
        bound: &Bound,
        options: &InvokeOptions,
        of: &Span,
    ) -> Result<Permit, CallError> {
        let waiting = tracing::debug_span!(parent: of, "admit");
        let tenant = &options.caller.tenant;
        let quota = options.caller.concurrency.map(NonZeroU32::get);
        let need = Need::calls(1);
        let now = || self.0.admission.admit_now(tenant, quota, need);
        if let Some(permit) = waiting.in_scope(now)? {
            return Ok(permit);
        }
        let claim = Claim {
            tenant: tenant.clone(),
            quota,
            need,
            cancel: options.cancel.clone(),
            deadline: bound.deadline,
        };
        // Few calls wait: those that don't need not hold what waiting takes.
        Box::pin(self.0.admission.admit(&claim).instrument(waiting)).await
    }
}
