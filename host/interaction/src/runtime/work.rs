//! A runtime's steps: worker components under the same admission, deadline and cancel as tools.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidegate_contract::{CallError, json};
use tidegate_engine::{Invocation, Parts, RunOn, WorkEnd};
use tracing::Span;

use super::{Bound, InvokeOptions, Runtime};
use crate::audit::Step;
use crate::worker::ComponentWorker;

impl Runtime {
    /// Whether there is a worker component of this name.
    #[must_use]
    pub fn has_worker(&self, name: &str) -> bool {
        self.0.workers.has(name)
    }

    /// Has a worker component do one step of a flow. What it stages on the way goes to `parts`, also
    /// when the step then fails.
    ///
    /// # Errors
    ///
    /// [`CallError`]: a refusal before the worker ran, or no valid value after. Limits, traps, the
    /// deadline and cancellation are ends, not errors.
    pub async fn work(
        &self,
        name: &str,
        invocation: Invocation,
        parts: Arc<dyn Parts>,
        options: InvokeOptions,
    ) -> Result<WorkEnd, CallError> {
        self.open()?;
        let started = Instant::now();
        let mut waited = None;
        let worker = self.0.workers.choose(name);
        let (task_id, attempt) = (invocation.task_id.clone(), invocation.attempt);
        let end = match &worker {
            Ok(worker) => {
                let asked = (invocation, parts);
                self.step(worker, asked, &options, &mut waited).await
            }
            Err(error) => Err(error.clone()),
        };
        if let Some(audit) = &self.0.audit {
            let step = Step {
                tenant: &options.caller.tenant,
                task_id: &task_id,
                attempt,
                worker: name,
                plugin_digest: worker.as_ref().ok().map(|worker| worker.digest()),
                started,
            };
            audit.worked(&step, waited, &end);
        }
        end
    }

    async fn step(
        &self,
        worker: &ComponentWorker,
        (invocation, parts): (Invocation, Arc<dyn Parts>),
        options: &InvokeOptions,
        waited: &mut Option<Duration>,
    ) -> Result<WorkEnd, CallError> {
        if let Err(refused) = worker.check(&invocation) {
            // However deep it is: taking it apart must not recurse.
            json::discard(invocation.context.into());
            return Err(refused);
        }
        let permissions = self.permissions(&options.caller);
        if options.caller.grant.is_some() {
            worker.check_reach(&permissions)?;
        }
        let bound = Bound::new(&worker.limits(), options);
        let _permit = self.admit(&bound, options, &Span::current()).await?;
        *waited = Some(bound.asked.elapsed());
        let context = self.context(&bound, permissions, options, RunOn::GuestThread);
        let work = worker.work(invocation, parts, &context);
        let cut = |status, failure| Ok(WorkEnd::Ended { status, failure });
        bound.race(&options.cancel, work, cut).await
    }
}
