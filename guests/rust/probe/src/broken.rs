//! `invalid`: outcomes that break the contract, each in one way.

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::types::{
    Content, Failure, Outcome, Part, Reference, Status,
};
use crate::outcome::{empty_success, failed, reported, structured};

pub(crate) const DESCRIPTION: &str = "Returns an outcome that breaks the contract in the way of \
    {kind}: no_content, error_on_success, failed_without_error, bad_json, bad_json_content, \
    bad_json_part, duplicate_keys, deep_duplicate_keys, nan, big_integer, lone_surrogate, \
    array_metadata, bad_metadata, blank_code, bad_code, blank_message, long_message, empty_parts, \
    reference_without_uri.";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match arguments.text("kind", "") {
        "no_content" => empty_success(),
        "error_on_success" => contradiction(),
        "failed_without_error" => Outcome {
            status: Status::Failed,
            ..reported("no reason")
        },
        "bad_json" => json("{"),
        "bad_json_content" => content(Content::Json("{".to_owned())),
        "bad_json_part" => content(Content::Parts(vec![Part::Json("{".to_owned())])),
        "duplicate_keys" => json(r#"{"a":1,"a":2}"#),
        "deep_duplicate_keys" => json(r#"[{"a":{"b":1,"b":2}}]"#),
        "nan" => json("NaN"),
        "big_integer" => json("18446744073709551616"),
        "lone_surrogate" => json(r#""x\ud83d""#),
        "array_metadata" => metadata("[]"),
        "bad_metadata" => metadata("{"),
        "blank_code" => failed("", "the code is blank"),
        "bad_code" => failed("not a code!", "the code has other characters"),
        "blank_message" => failed("BLANK", " "),
        "long_message" => failed("LONG", &"x".repeat(513)),
        "empty_parts" => content(Content::Parts(Vec::new())),
        "reference_without_uri" => reference_without_uri(),
        _ => failed("UNKNOWN_KIND", "invalid has no such kind"),
    }
}

fn contradiction() -> Outcome {
    let error = Failure {
        code: "CONTRADICTION".to_owned(),
        message: "an error beside a success".to_owned(),
        retryable: Some(false),
    };
    Outcome {
        error: Some(error),
        ..reported("done")
    }
}

fn json(text: &str) -> Outcome {
    structured(text.to_owned())
}

fn content(content: Content) -> Outcome {
    Outcome {
        content: Some(content),
        ..empty_success()
    }
}

fn metadata(json: &str) -> Outcome {
    Outcome {
        metadata: Some(json.to_owned()),
        ..reported("done")
    }
}

fn reference_without_uri() -> Outcome {
    let nowhere = Reference {
        uri: String::new(),
        media_type: None,
        digest: None,
    };
    Outcome {
        references: vec![nowhere],
        ..empty_success()
    }
}
