//! What a server asks of the host (CASES MC05): `ping` is answered, everything else is refused.
//!
//! The SDK starts a task for each request that it is given, so it is given few: a server that asks on
//! while nobody takes its answers loses the connection. Of its notifications one is heard, that its tools
//! are others now, and not by the SDK.

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::model::{
    ClientJsonRpcMessage, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerNotification, ServerRequest,
};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Requests of one server whose answers it has not taken.
const UNANSWERED: usize = 16;

/// What to do with a message of a server.
#[derive(Debug)]
pub(crate) enum Heard {
    /// It is the SDK's.
    HandOn(ServerJsonRpcMessage),
    /// It is refused with this; the place is given back once that is written.
    Refuse(ClientJsonRpcMessage, OwnedSemaphorePermit),
    /// Nobody needs it.
    Leave,
    /// There is no place for it: the connection is to be given up.
    Flood,
}

/// The requests of one server that wait for their answers.
#[derive(Debug)]
pub(crate) struct Questions {
    places: Arc<Semaphore>,
    asked: HashMap<RequestId, OwnedSemaphorePermit>,
    /// Told when the server says that its tools are others now.
    changed: Arc<Notify>,
}

impl Questions {
    pub(crate) fn new(changed: Arc<Notify>) -> Self {
        Self {
            places: Arc::new(Semaphore::new(UNANSWERED)),
            asked: HashMap::new(),
            changed,
        }
    }

    pub(crate) fn hear(&mut self, message: ServerJsonRpcMessage) -> Heard {
        let request = match message {
            JsonRpcMessage::Request(request) => request,
            JsonRpcMessage::Notification(notification) => {
                let said = notification.notification;
                if matches!(said, ServerNotification::ToolListChangedNotification(_)) {
                    self.changed.notify_one();
                }
                return Heard::Leave;
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                return Heard::HandOn(message);
            }
        };
        if self.asked.contains_key(&request.id) {
            // Its answer is on the way; the SDK would make one and lose the other.
            return Heard::Leave;
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return Heard::Flood;
        };
        if matches!(request.request, ServerRequest::PingRequest(_)) {
            self.asked.insert(request.id.clone(), place);
            return Heard::HandOn(JsonRpcMessage::Request(request));
        }
        let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "Method not found", None);
        Heard::Refuse(ClientJsonRpcMessage::error(error, Some(request.id)), place)
    }

    /// The place of the request that a message answers: keep it until the message is written.
    pub(crate) fn answered(
        &mut self,
        message: &ClientJsonRpcMessage,
    ) -> Option<OwnedSemaphorePermit> {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        id.and_then(|id| self.asked.remove(id))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(id: i64, method: &str) -> ServerJsonRpcMessage {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn mc05_sixteen_requests_wait_for_their_answers_and_the_next_is_a_flood() {
        for method in ["ping", "roots/list", "of/its/own"] {
            let mut questions = Questions::new(Arc::default());
            let mut held = Vec::new();
            for id in 1..=16 {
                let heard = questions.hear(request(id, method));
                match &heard {
                    Heard::HandOn(_) => assert_eq!(method, "ping"),
                    Heard::Refuse(..) => assert_ne!(method, "ping"),
                    other => panic!("{id}: {other:?}"),
                }
                held.push(heard);
            }
            let over = questions.hear(request(17, method));
            assert!(matches!(over, Heard::Flood), "{method}");
        }
    }

    #[test]
    fn mc05_a_place_is_given_back_with_its_answer_and_an_id_that_waits_takes_none() {
        let mut questions = Questions::new(Arc::default());
        for _ in 0..100 {
            drop(questions.hear(request(1, "ping")));
        }
        let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "no", None);
        for id in 1..100 {
            drop(questions.hear(request(id, "ping")));
            let answer = ClientJsonRpcMessage::error(error.clone(), Some(RequestId::Number(id)));
            assert!(questions.answered(&answer).is_some(), "{id}");
            assert!(questions.answered(&answer).is_none(), "{id}");
        }
    }

    #[tokio::test]
    async fn m5_that_the_tools_are_others_is_heard_and_no_other_notification() {
        let changed = Arc::new(Notify::new());
        let mut questions = Questions::new(Arc::clone(&changed));
        let notification = |method: &str| {
            let message = json!({"jsonrpc": "2.0", "method": method});
            serde_json::from_value(message).unwrap()
        };
        let heard = async |ms| {
            let within = std::time::Duration::from_millis(ms);
            tokio::time::timeout(within, changed.notified())
                .await
                .is_ok()
        };
        let other = notification("notifications/resources/list_changed");
        assert!(matches!(questions.hear(other), Heard::Leave));
        assert!(!heard(20).await);
        for _ in 0..3 {
            let tools = notification("notifications/tools/list_changed");
            assert!(matches!(questions.hear(tools), Heard::Leave));
        }
        assert!(heard(1_000).await);
        assert!(!heard(20).await, "once for all of them");
    }
}
