//! The requests of one client that have no answer yet. Each is answered once: by whoever takes it.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::{Notify, OwnedSemaphorePermit};

/// The place of a request among those that a client may have open.
pub(crate) type Place = OwnedSemaphorePermit;

/// Open requests. Cloning gives another handle to the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    requests: Mutex<Requests>,
    /// Told when the SDK has given its own answer to one that was answered past it.
    settled: Notify,
}

#[derive(Debug, Default)]
struct Requests {
    open: HashMap<RequestId, Place>,
    /// Answered past the SDK, which has still to give its own answer.
    answered: HashSet<RequestId>,
}

/// What is to be done with an answer of the SDK.
pub(crate) enum Answer {
    /// It is sent, and gives back the place of its request.
    Send(Option<Place>),
    /// Its request has been answered.
    Drop,
}

impl Asked {
    fn requests(&self) -> MutexGuard<'_, Requests> {
        // Nothing under the lock can panic half-way.
        self.0
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a request its place; false where another of its id has no answer yet.
    pub(crate) fn open(&self, id: &RequestId, place: Place) -> bool {
        match self.requests().open.entry(id.clone()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(place);
                true
            }
        }
    }

    /// Takes back the place of a request that was given up: the SDK won't answer it. False where it was
    /// answered already: the SDK must not hear of it, or it would not give its own answer.
    pub(crate) fn give_up(&self, id: &RequestId) -> bool {
        let mut requests = self.requests();
        requests.open.remove(id);
        !requests.answered.contains(id)
    }

    /// Takes a request to answer it past the SDK; none where it is not open any more.
    pub(crate) fn take(&self, id: &RequestId) -> Option<Place> {
        let mut requests = self.requests();
        let place = requests.open.remove(id)?;
        requests.answered.insert(id.clone());
        Some(place)
    }

    /// Waits until the SDK has done with every request of this id: a client may use an id again as soon
    /// as it has its answer, and the SDK takes its own one for that of the new request.
    pub(crate) async fn settled(&self, id: &RequestId) {
        loop {
            let settled = self.0.settled.notified();
            if !self.requests().answered.contains(id) {
                return;
            }
            settled.await;
        }
    }

    /// What is to be done with the SDK's answer of a request.
    pub(crate) fn settle(&self, id: &RequestId) -> Answer {
        let mut requests = self.requests();
        if requests.answered.remove(id) {
            self.0.settled.notify_waiters();
            return Answer::Drop;
        }
        Answer::Send(requests.open.remove(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::{Pin, pin};
    use std::time::Duration;
    use tokio::sync::Semaphore;

    /// Its end, where it has one already.
    async fn poll_once<T>(waiting: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        tokio::time::timeout(Duration::ZERO, waiting).await.ok()
    }

    fn opened(id: &RequestId) -> (Asked, Arc<Semaphore>) {
        let places = Arc::new(Semaphore::new(1));
        let asked = Asked::default();
        let place = Arc::clone(&places).try_acquire_owned().unwrap();
        assert!(asked.open(id, place));
        (asked, places)
    }

    #[test]
    fn m5_a_request_is_answered_once() {
        let id = RequestId::Number(1);
        let (asked, places) = opened(&id);
        let place = asked.take(&id);
        assert!(place.is_some());
        assert!(asked.take(&id).is_none(), "taken already");
        assert!(matches!(asked.settle(&id), Answer::Drop));
        assert_eq!(places.available_permits(), 0, "held until it is written");
        drop(place);
        assert_eq!(places.available_permits(), 1);
        assert!(matches!(asked.settle(&id), Answer::Send(None)));
    }

    #[tokio::test]
    async fn m5_an_id_is_free_again_once_the_sdk_has_done_with_it() {
        let id = RequestId::Number(1);
        let (asked, _places) = opened(&id);
        asked.settled(&id).await;
        drop(asked.take(&id));
        let mut waiting = pin!(asked.settled(&id));
        assert!(poll_once(waiting.as_mut()).await.is_none());
        assert!(matches!(asked.settle(&id), Answer::Drop));
        waiting.await;
    }

    #[test]
    fn m5_what_was_given_up_is_answered_by_nobody_else() {
        let id = RequestId::Number(1);
        let (asked, places) = opened(&id);
        assert!(asked.give_up(&id));
        assert_eq!(places.available_permits(), 1);
        assert!(asked.take(&id).is_none());
        let (asked, _places) = opened(&id);
        drop(asked.take(&id));
        assert!(!asked.give_up(&id), "too late");
        assert!(matches!(asked.settle(&id), Answer::Drop));
    }

    #[test]
    fn m5_an_id_is_of_one_open_request() {
        let id = RequestId::Number(1);
        let (asked, _places) = opened(&id);
        let places = Arc::new(Semaphore::new(1));
        let place = Arc::clone(&places).try_acquire_owned().unwrap();
        assert!(!asked.open(&id, place));
        assert_eq!(places.available_permits(), 1);
        assert!(asked.take(&id).is_some(), "the first still is");
    }
}
