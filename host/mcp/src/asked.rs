//! The requests of one client that have no answer yet. Each is answered once, by the SDK or, where it
//! is a call that one of the server's own threads runs, by that thread.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

/// The place of a request among those that a client may have open.
pub(crate) type Place = OwnedSemaphorePermit;

/// Open requests. Cloning gives another handle to the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked(Arc<Mutex<Requests>>);

#[derive(Debug, Default)]
struct Requests {
    open: HashMap<RequestId, Open>,
    /// Calls so far. An id can be used again while the call that was given up still ends.
    calls: u64,
}

#[derive(Debug)]
struct Open {
    place: Place,
    /// What cancels it and which one it is, where it is a call of a thread of the server's.
    call: Option<(CancellationToken, u64)>,
}

/// A call that a thread of the server's answers. Dropping it gives back its place.
#[derive(Debug)]
pub(crate) struct OpenCall {
    asked: Asked,
    id: RequestId,
    number: u64,
}

impl Asked {
    fn requests(&self) -> MutexGuard<'_, Requests> {
        // Nothing under the lock can panic half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a request that the SDK answers its place; false where another of its id has no answer yet.
    pub(crate) fn open(&self, id: &RequestId, place: Place) -> bool {
        match self.requests().open.entry(id.clone()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(Open { place, call: None });
                true
            }
        }
    }

    /// Gives a call that one of the server's threads answers its place, and what cancels it; none where
    /// another request of its id has no answer yet.
    pub(crate) fn open_call(
        &self,
        id: &RequestId,
        place: Place,
        cancel: CancellationToken,
    ) -> Option<OpenCall> {
        let mut requests = self.requests();
        let number = requests.calls;
        match requests.open.entry(id.clone()) {
            Entry::Occupied(_) => return None,
            Entry::Vacant(vacant) => {
                let call = Some((cancel, number));
                vacant.insert(Open { place, call });
            }
        }
        requests.calls += 1;
        Some(OpenCall {
            asked: self.clone(),
            id: id.clone(),
            number,
        })
    }

    /// Takes back the place of a request that was given up: it has no answer. Says whether the SDK is to
    /// hear of it; a call of the server's own threads is cancelled here.
    pub(crate) fn give_up(&self, id: &RequestId) -> bool {
        let given_up = self.requests().open.remove(id);
        match given_up.and_then(|open| open.call) {
            Some((cancel, _)) => {
                cancel.cancel();
                false
            }
            None => true,
        }
    }

    /// Takes the place of a request that the SDK answers.
    pub(crate) fn answered(&self, id: &RequestId) -> Option<Place> {
        let mut requests = self.requests();
        match requests.open.entry(id.clone()) {
            Entry::Occupied(open) if open.get().call.is_none() => Some(open.remove().place),
            Entry::Occupied(_) | Entry::Vacant(_) => None,
        }
    }
}

impl OpenCall {
    /// Its place, to be held until its answer is written; none where it was given up.
    pub(crate) fn take(self) -> Option<Place> {
        self.close()
    }

    fn close(&self) -> Option<Place> {
        let mut requests = self.asked.requests();
        match requests.open.entry(self.id.clone()) {
            Entry::Occupied(open) if open.get().is_call(self.number) => Some(open.remove().place),
            Entry::Occupied(_) | Entry::Vacant(_) => None,
        }
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        drop(self.close());
    }
}

impl Open {
    fn is_call(&self, number: u64) -> bool {
        self.call.as_ref().is_some_and(|(_, own)| *own == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::Semaphore;

    const ID: RequestId = RequestId::Number(1);

    fn place(places: &Arc<Semaphore>) -> Place {
        Arc::clone(places).try_acquire_owned().unwrap()
    }

    #[test]
    fn m5_a_request_is_answered_once() {
        let (asked, places) = (Asked::default(), Arc::new(Semaphore::new(1)));
        assert!(asked.open(&ID, place(&places)));
        let held = asked.answered(&ID);
        assert!(held.is_some());
        assert!(asked.answered(&ID).is_none());
        assert_eq!(places.available_permits(), 0, "held until it is written");
        drop(held);
        assert_eq!(places.available_permits(), 1);
    }

    #[test]
    fn m5_an_id_is_of_one_open_request() {
        let (asked, places) = (Asked::default(), Arc::new(Semaphore::new(2)));
        let cancel = CancellationToken::new;
        assert!(asked.open(&ID, place(&places)));
        assert!(!asked.open(&ID, place(&places)));
        assert!(asked.open_call(&ID, place(&places), cancel()).is_none());
        assert_eq!(places.available_permits(), 1);
        drop(asked.answered(&ID));
        let call = asked.open_call(&ID, place(&places), cancel());
        assert!(!asked.open(&ID, place(&places)));
        assert!(asked.answered(&ID).is_none(), "the SDK has not heard of it");
        assert!(call.unwrap().take().is_some());
        assert_eq!(places.available_permits(), 2);
    }

    #[test]
    fn m5_what_was_given_up_has_no_answer() {
        let (asked, places) = (Asked::default(), Arc::new(Semaphore::new(1)));
        assert!(asked.open(&ID, place(&places)));
        assert!(asked.give_up(&ID), "the SDK is to hear of it");
        assert_eq!(places.available_permits(), 1);
        assert!(asked.answered(&ID).is_none());
        let cancel = CancellationToken::new();
        let call = asked.open_call(&ID, place(&places), cancel.clone());
        assert!(!asked.give_up(&ID));
        assert!(cancel.is_cancelled());
        assert_eq!(places.available_permits(), 1);
        assert!(call.unwrap().take().is_none());
    }

    #[test]
    fn m5_a_call_that_was_given_up_takes_no_later_one_of_its_id() {
        let (asked, places) = (Asked::default(), Arc::new(Semaphore::new(1)));
        let open = || asked.open_call(&ID, place(&places), CancellationToken::new());
        let first = open().unwrap();
        asked.give_up(&ID);
        let second = open().unwrap();
        assert!(first.take().is_none());
        assert!(second.take().is_some());
    }

    #[test]
    fn m5_a_call_that_ends_without_an_answer_gives_back_its_place() {
        let (asked, places) = (Asked::default(), Arc::new(Semaphore::new(1)));
        drop(asked.open_call(&ID, place(&places), CancellationToken::new()));
        assert_eq!(places.available_permits(), 1);
        assert!(asked.open(&ID, place(&places)));
    }
}
