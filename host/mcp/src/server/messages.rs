//! Messages of a client, from the frames of its input.

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorCode,
    JsonRpcMessage, RequestId, RequestMetaObject,
};
use tidegate_contract::{JsonObject, Value};

use crate::frame::{Fault, Frame};
use crate::lines;

/// Why a message is no request that can be answered, and whom that is told.
#[derive(Debug)]
pub(super) struct Refusal(
    pub(super) Option<RequestId>,
    pub(super) ErrorCode,
    pub(super) String,
);

/// The message of a frame, if it has one for a server.
pub(super) fn read(frame: Frame) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
    match frame {
        Frame::Message(message) => {
            let id = message.get("id").and_then(lines::id);
            let message = match call(message) {
                Ok(call) => return Ok(Some(call)),
                Err(message) => message,
            };
            let message = match lines::typed::<ClientJsonRpcMessage>(message) {
                Ok(message) => message,
                Err(reason) => return Err(Refusal(id, ErrorCode::INVALID_REQUEST, reason)),
            };
            match misread(&message) {
                None => Ok(Some(message)),
                Some(method) => {
                    let reason = format!("the params are none of {method}");
                    Err(Refusal(id, ErrorCode::INVALID_PARAMS, reason))
                }
            }
        }
        Frame::Broken(broken) if broken.is_request => {
            let (code, reason) = match broken.fault {
                Fault::TooLong { limit_bytes } => (
                    ErrorCode::INVALID_REQUEST,
                    format!("the message is longer than {limit_bytes} bytes"),
                ),
                Fault::Invalid { reason } => (ErrorCode::PARSE_ERROR, reason),
            };
            Err(Refusal(lines::id(&broken.id), code, reason))
        }
        // What a client answers was not asked.
        Frame::Broken(_) | Frame::Flood => Ok(None),
    }
}

/// The method of a request that the SDK knows by its name and not by its params: it takes it for a
/// method of somebody's own.
fn misread(message: &ClientJsonRpcMessage) -> Option<&'static str> {
    let JsonRpcMessage::Request(request) = message else {
        return None;
    };
    let ClientRequest::CustomRequest(request) = &request.request else {
        return None;
    };
    let known = ["initialize", "server/discover", "tools/call", "tools/list"];
    known.into_iter().find(|known| *known == request.method)
}

/// A call in its plain form. The SDK would look for every other message in it first, which takes longer
/// than all else that is done with it; what is not in this form is left to that.
fn call(mut message: Value) -> Result<ClientJsonRpcMessage, Value> {
    let fields = message.as_object_mut().filter(|fields| is_call(fields));
    fields.and_then(taken).ok_or(message)
}

fn taken(fields: &mut JsonObject) -> Option<ClientJsonRpcMessage> {
    let id = lines::id(fields.get("id")?)?;
    let params = fields.get_mut("params")?.as_object_mut()?;
    let mut take = |name: &str| params.get_mut(name).map(Value::take);
    let Value::String(name) = take("name")? else {
        return None;
    };
    let mut call = CallToolRequestParams::new(name);
    if let Some(Value::Object(arguments)) = take("arguments") {
        call.arguments = Some(arguments);
    }
    let mut request = CallToolRequest::new(call);
    if let Some(Value::Object(meta)) = take("_meta") {
        request.extensions.insert(RequestMetaObject::from(meta));
    }
    Some(JsonRpcMessage::request(request.into(), id))
}

/// Whether a message is a call and nothing that this module does not know.
fn is_call(fields: &JsonObject) -> bool {
    let is_known = |(name, value): (&String, &Value)| match name.as_str() {
        "jsonrpc" => value == "2.0",
        "method" => value == "tools/call",
        "id" => lines::id(value).is_some(),
        "params" => value.as_object().is_some_and(is_params),
        _ => false,
    };
    fields.len() == 4 && fields.iter().all(is_known)
}

fn is_params(params: &JsonObject) -> bool {
    let is_known = |(name, value): (&String, &Value)| match name.as_str() {
        "name" => value.is_string(),
        "arguments" | "_meta" => value.is_object(),
        _ => false,
    };
    params.contains_key("name") && params.iter().all(is_known)
}

#[cfg(test)]
mod tests {
    use rmcp::model::GetMeta as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn m5_a_call_in_its_plain_form_is_what_the_sdk_makes_of_it() {
        let params = [
            json!({"name": "t"}),
            json!({"name": "t", "arguments": {}}),
            json!({"name": "t", "arguments": {"a": [1, {"b": null}]}}),
            json!({"_meta": {"progressToken": 1, "other": {}}, "name": "t", "arguments": {"a": 1}}),
        ];
        let ids = [json!(1), json!(-1), json!("one")];
        for (params, id) in params
            .iter()
            .flat_map(|params| ids.iter().map(move |id| (params, id)))
        {
            let message =
                json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            let own = call(message.clone()).unwrap();
            let theirs: ClientJsonRpcMessage = lines::typed(message.clone()).unwrap();
            assert_eq!(json!(own), json!(theirs));
            let meta = |message: &ClientJsonRpcMessage| match message {
                JsonRpcMessage::Request(request) => {
                    assert!(matches!(request.request, ClientRequest::CallToolRequest(_)));
                    request.request.get_meta().clone()
                }
                other => panic!("{other:?}"),
            };
            assert_eq!(meta(&own), meta(&theirs), "{message}");
        }
    }

    #[test]
    fn m5_what_is_not_in_the_plain_form_stays_as_it_is() {
        let plain =
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t"}});
        assert!(call(plain.clone()).is_ok());
        for (pointer, value) in [
            ("/jsonrpc", json!("1.0")),
            ("/id", json!(1.5)),
            ("/id", json!(null)),
            ("/method", json!("tools/list")),
            ("/params", json!([])),
            ("/params", json!({"arguments": {}})),
            ("/params", json!({"name": 1})),
            ("/params", json!({"name": "t", "arguments": null})),
            ("/params", json!({"name": "t", "arguments": []})),
            ("/params", json!({"name": "t", "_meta": 1})),
            ("/params", json!({"name": "t", "requestState": "s"})),
        ] {
            let mut message = plain.clone();
            *message.pointer_mut(pointer).unwrap() = value;
            assert_eq!(call(message.clone()).unwrap_err(), message);
        }
        for message in [
            json!([]),
            json!({}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}),
        ] {
            assert_eq!(call(message.clone()).unwrap_err(), message);
        }
        let mut more = plain;
        more["more"] = json!(1);
        assert!(call(more).is_err());
    }
}
