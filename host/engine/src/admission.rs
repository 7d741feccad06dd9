//! Admission: which call runs now, which waits, and which is next (SPEC X2, X7).
//!
//! A call takes everything it may need at once or nothing, so that calls never wait for each other
//! in a circle. Waiting is first come first served within a tenant and in turn between tenants.
//! Deliberately absent: what runs, and why a tenant has the quota it has.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidegate_contract::tenant::Tenant;
use tidegate_contract::{CallError, Failure, Status};
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;

use crate::watch::Deadline;

/// What one call takes while it runs, and what there is in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Calls.
    pub calls: u32,
    /// Linear memories of the component, all its instances together.
    pub memories: u32,
    /// Tables of the component, all its instances together.
    pub tables: u32,
}

impl Need {
    /// Room for a number of calls, whatever else they take.
    #[must_use]
    pub const fn calls(calls: u32) -> Self {
        Self {
            calls,
            memories: 0,
            tables: 0,
        }
    }

    fn fits(self, free: Self) -> bool {
        self.calls <= free.calls && self.memories <= free.memories && self.tables <= free.tables
    }

    pub(crate) fn with(self, more: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(more.calls),
            memories: self.memories.saturating_add(more.memories),
            tables: self.tables.saturating_add(more.tables),
        }
    }

    fn without(self, less: Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(less.calls),
            memories: self.memories.saturating_sub(less.memories),
            tables: self.tables.saturating_sub(less.tables),
        }
    }
}

/// One call that wants to run.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Whose call it is.
    pub tenant: Tenant,
    /// How many calls of the tenant run at once; `None` for as many as there is room for.
    pub quota: Option<u32>,
    /// What it takes.
    pub need: Need,
    /// Ends the wait when it is cancelled.
    pub cancel: CancellationToken,
    /// Ends the wait when it is passed.
    pub deadline: Deadline,
}

/// Gives out room for calls. Cloning gives another handle to the same room.
#[derive(Clone, Debug)]
pub struct Admission(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Most waiting calls of one tenant: nobody can fill another tenant's queue.
    queue: usize,
    state: Mutex<State>,
    idle: Notify,
}

#[derive(Debug)]
struct State {
    free: Need,
    running: u64,
    closed: bool,
    next_id: u64,
    tenants: BTreeMap<Tenant, Queue>,
    /// Tenants that wait, the next one first.
    turns: VecDeque<Tenant>,
}

/// Tenants that are remembered while none of their calls runs or waits: the next one's call then makes
/// no entry.
const IDLE_TENANTS: usize = 64;

#[derive(Debug, Default)]
struct Queue {
    running: u32,
    /// By arrival.
    waiting: BTreeMap<u64, Waiter>,
}

#[derive(Debug)]
struct Waiter {
    need: Need,
    quota: Option<u32>,
    granted: oneshot::Sender<()>,
}

impl Queue {
    fn is_idle(&self) -> bool {
        self.running == 0 && self.waiting.is_empty()
    }

    fn has_quota(&self, quota: Option<u32>) -> bool {
        quota.is_none_or(|quota| self.running < quota)
    }

    /// The first in the queue, unless the tenant's quota is used up.
    fn ready(&self) -> Option<Need> {
        let (_, first) = self.waiting.first_key_value()?;
        self.has_quota(first.quota).then_some(first.need)
    }
}

impl State {
    /// Takes the room, without looking whether there is any.
    fn take(&mut self, tenant: &Tenant, need: Need) {
        self.free = self.free.without(need);
        self.running += 1;
        match self.tenants.get_mut(tenant) {
            Some(queue) => queue.running += 1,
            None => {
                self.tenants.entry(tenant.clone()).or_default().running = 1;
            }
        }
    }

    fn give_back(&mut self, tenant: &Tenant, need: Need) {
        self.free = self.free.with(need);
        self.running = self.running.saturating_sub(1);
        if let Some(queue) = self.tenants.get_mut(tenant) {
            queue.running = queue.running.saturating_sub(1);
        }
        self.forget_if_idle(tenant);
    }

    fn forget_if_idle(&mut self, tenant: &Tenant) {
        let many = self.tenants.len() > IDLE_TENANTS;
        if many && self.tenants.get(tenant).is_some_and(Queue::is_idle) {
            self.tenants.remove(tenant);
        }
    }

    /// Whether a new call may run without going before one that waits.
    fn is_next(&self, tenant: &Tenant, quota: Option<u32>, need: Need) -> bool {
        let has_quota = |queue: &Queue| queue.has_quota(quota);
        let someone_is_ready = || {
            let mut waiting = self.turns.iter().filter_map(|name| self.tenants.get(name));
            waiting.any(|queue| queue.ready().is_some())
        };
        let queue = self.tenants.get(tenant);
        need.fits(self.free)
            && queue.is_none_or(|queue| has_quota(queue) && queue.waiting.is_empty())
            && !someone_is_ready()
    }

    /// Lets in whoever is next, as long as there is room. A call that needs more than is free is
    /// waited for, or small calls would go before it for ever.
    fn let_in(&mut self) {
        let mut turn = 0;
        while let Some(tenant) = self.turns.get(turn).cloned() {
            let Some(need) = self.tenants.get(&tenant).and_then(Queue::ready) else {
                turn += 1;
                continue;
            };
            if !need.fits(self.free) {
                return;
            }
            self.turns.remove(turn);
            let Some(queue) = self.tenants.get_mut(&tenant) else {
                continue;
            };
            let first = queue.waiting.pop_first();
            if !queue.waiting.is_empty() {
                self.turns.push_back(tenant.clone());
            }
            if let Some((_, waiter)) = first
                && waiter.granted.send(()).is_ok()
            {
                self.take(&tenant, need);
            }
            turn = 0;
        }
    }
}

/// A call may run while it holds this.
#[derive(Debug)]
pub struct Permit {
    admission: Admission,
    tenant: Tenant,
    need: Need,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.admission.state();
        self.admission
            .give_back(&mut state, &self.tenant, self.need);
        state.let_in();
    }
}

impl Admission {
    /// Room for `capacity`; of each tenant at most `queue` calls wait, 0 refuses at once.
    #[must_use]
    pub fn new(capacity: Need, queue: usize) -> Self {
        let state = State {
            free: capacity,
            running: 0,
            closed: false,
            next_id: 0,
            tenants: BTreeMap::new(),
            turns: VecDeque::new(),
        };
        Self(Arc::new(Inner {
            queue,
            state: Mutex::new(state),
            idle: Notify::new(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes room back, and wakes [`close`](Self::close) when nothing runs any more.
    fn give_back(&self, state: &mut State, tenant: &Tenant, need: Need) {
        state.give_back(tenant, need);
        if state.closed && state.running == 0 {
            self.0.idle.notify_waiters();
        }
    }

    /// Takes room that is free; `None` where a call would have to wait ([`admit`](Self::admit)).
    ///
    /// # Errors
    ///
    /// [`CallError::Closed`] after [`close`](Self::close).
    pub fn admit_now(
        &self,
        tenant: &Tenant,
        quota: Option<u32>,
        need: Need,
    ) -> Result<Option<Permit>, CallError> {
        let mut state = self.state();
        if state.closed {
            return Err(CallError::Closed);
        }
        if !state.is_next(tenant, quota, need) {
            return Ok(None);
        }
        state.take(tenant, need);
        Ok(Some(self.permit(tenant, need)))
    }

    /// Waits for room.
    ///
    /// # Errors
    ///
    /// [`CallError::QueueFull`] at once when too many calls of the tenant wait already,
    /// [`CallError::Ended`] when the caller cancels or the deadline passes first,
    /// [`CallError::Closed`] after [`close`](Self::close).
    pub async fn admit(&self, claim: &Claim) -> Result<Permit, CallError> {
        let mut waiting = match self.enter(claim)? {
            Entered::Running(permit) => return Ok(permit),
            Entered::Waiting(waiting) => waiting,
        };
        tokio::select! {
            biased;
            granted = &mut waiting.granted => {
                waiting.ended = true;
                match granted {
                    Ok(()) => Ok(self.permit(&claim.tenant, claim.need)),
                    Err(_closed) => Err(CallError::Closed),
                }
            }
            () = claim.cancel.cancelled() => Err(CallError::Ended {
                status: Status::Cancelled,
                failure: Failure::cancelled(),
            }),
            () = tokio::time::sleep_until(claim.deadline.at.into()) => Err(CallError::Ended {
                status: Status::Timeout,
                failure: Failure::deadline(claim.deadline.after_ms),
            }),
        }
    }

    fn permit(&self, tenant: &Tenant, need: Need) -> Permit {
        Permit {
            admission: self.clone(),
            tenant: tenant.clone(),
            need,
        }
    }

    /// Takes the room that is free, or a place in the queue.
    fn enter(&self, claim: &Claim) -> Result<Entered, CallError> {
        let mut state = self.state();
        if state.closed {
            return Err(CallError::Closed);
        }
        if state.is_next(&claim.tenant, claim.quota, claim.need) {
            state.take(&claim.tenant, claim.need);
            return Ok(Entered::Running(self.permit(&claim.tenant, claim.need)));
        }
        let id = state.next_id;
        let queue = state.tenants.entry(claim.tenant.clone()).or_default();
        if queue.waiting.len() >= self.0.queue {
            state.forget_if_idle(&claim.tenant);
            let limit = self.0.queue;
            return Err(CallError::QueueFull { limit });
        }
        let (granted, receiver) = oneshot::channel();
        let waiter = Waiter {
            need: claim.need,
            quota: claim.quota,
            granted,
        };
        let is_first = queue.waiting.is_empty();
        queue.waiting.insert(id, waiter);
        if is_first {
            state.turns.push_back(claim.tenant.clone());
        }
        state.next_id += 1;
        drop(state);
        Ok(Entered::Waiting(Waiting {
            admission: self.clone(),
            tenant: claim.tenant.clone(),
            need: claim.need,
            id,
            granted: receiver,
            ended: false,
        }))
    }

    /// Refuses new calls, those that wait among them, and waits until no call runs.
    pub async fn close(&self) {
        loop {
            let idle = self.0.idle.notified();
            tokio::pin!(idle);
            // From here on no wake-up is missed.
            idle.as_mut().enable();
            {
                let mut state = self.state();
                state.closed = true;
                state.turns.clear();
                state.tenants.clear();
                if state.running == 0 {
                    return;
                }
            }
            idle.await;
        }
    }
}

enum Entered {
    Running(Permit),
    Waiting(Waiting),
}

/// A place in the queue, given up when dropped.
struct Waiting {
    admission: Admission,
    tenant: Tenant,
    need: Need,
    id: u64,
    granted: oneshot::Receiver<()>,
    /// The wait is over and its end was seen.
    ended: bool,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let mut state = self.admission.state();
        if self.granted.try_recv().is_ok() {
            self.admission
                .give_back(&mut state, &self.tenant, self.need);
        } else if let Some(queue) = state.tenants.get_mut(&self.tenant) {
            queue.waiting.remove(&self.id);
            if queue.waiting.is_empty() {
                state.turns.retain(|tenant| *tenant != self.tenant);
            }
            state.forget_if_idle(&self.tenant);
        }
        // The one that gave up may have been the one that all others waited for.
        state.let_in();
    }
}
