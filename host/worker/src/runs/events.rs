//! What happens in a run, for whoever follows it: read from the store, so that a reader may come late,
//! read slowly, or go on after the last event that it saw.

use std::collections::VecDeque;
use std::sync::Arc;

use tidegate_contract::Tenant;
use tokio::sync::watch;

use super::{Runs, Shared};
use crate::error::WorkerError;
use crate::store::{Event, RunStatus};

/// The events of one run, in their order.
#[derive(Debug)]
pub struct Events {
    shared: Arc<Shared>,
    tenant: Tenant,
    run: String,
    last: u64,
    read: VecDeque<Event>,
    news: watch::Receiver<()>,
}

impl Runs {
    /// Follows a run from its start, or after an event that was seen. Of a long run the oldest events
    /// are forgotten; what comes first then has a higher number.
    ///
    /// # Errors
    ///
    /// `NotFound` when the tenant has no such run; else `Store`.
    pub fn events(
        &self,
        tenant: &Tenant,
        run: &str,
        after: Option<u64>,
    ) -> Result<Events, WorkerError> {
        self.shared.store.record(tenant, run)?;
        Ok(Events {
            news: self.shared.service.waiting().runs.listen(&run.to_owned()),
            shared: Arc::clone(&self.shared),
            tenant: tenant.clone(),
            run: run.to_owned(),
            last: after.unwrap_or(0),
            read: VecDeque::new(),
        })
    }
}

impl Events {
    /// The next event; `None` after the run's last one, or when the service closes.
    ///
    /// # Errors
    ///
    /// `Store`.
    pub async fn next(&mut self) -> Result<Option<Event>, WorkerError> {
        loop {
            if let Some(event) = self.read.pop_front() {
                self.last = event.id;
                return Ok(Some(event));
            }
            let status = self.shared.store.record(&self.tenant, &self.run)?.status;
            self.read = self.shared.store.events_after(&self.run, self.last)?.into();
            if !self.read.is_empty() {
                continue;
            }
            // Asked for before its events were, so that the last of them has been read.
            if status != RunStatus::Running {
                return Ok(None);
            }
            tokio::select! {
                biased;
                () = self.shared.closing.cancelled() => return Ok(None),
                rung = self.news.changed() => if rung.is_err() { return Ok(None) },
            }
        }
    }
}
