//! `read_text`: reads one text file of the workspace.
//!
//! The smallest useful plugin, and the example for the others. It opens files by `std::fs` alone:
//! what it may see is the host's business, and a denial arrives as an ordinary error of the file
//! system. Deliberately absent: cutting long files, guessing encodings, reading more than one file.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use bindings::exports::tidegate::plugin::tools::{Guest, Problem};
use bindings::tidegate::plugin::types::{
    Content, Effect, Failure, Outcome, Status, ToolCall, ToolDefinition,
};
use serde_json::Value;

mod bindings;

/// The name of the one tool.
const NAME: &str = "read_text";

/// The longest file that is read, in bytes: the host takes 1 MiB of result, and this leaves 24 KiB
/// of it for what surrounds the text and for characters that JSON escapes.
const MAX_FILE_BYTES: u64 = 1_024_000;

const INPUT_SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "path": {
      "type": "string",
      "minLength": 1,
      "description": "Path of the file, relative to the workspace"
    }
  },
  "required": ["path"],
  "additionalProperties": false
}"#;

struct ReadText;

bindings::export!(ReadText with_types_in bindings);

impl Guest for ReadText {
    fn definitions() -> Vec<ToolDefinition> {
        vec![ToolDefinition {
            name: NAME.to_owned(),
            description: Some(
                "Reads one text file of the workspace and returns its whole text. The file must \
                 be UTF-8 and at most 1,024,000 bytes long."
                    .to_owned(),
            ),
            input_schema: INPUT_SCHEMA.to_owned(),
            output_schema: None,
            effects: vec![Effect::Read],
            requires_approval: false,
        }]
    }

    fn validate(name: String, arguments: String) -> Result<(), Vec<Problem>> {
        if name != NAME {
            return Err(vec![problem("", "this plugin has no tool of that name")]);
        }
        path_of(&arguments)
            .map(drop)
            .map_err(|problem| vec![problem])
    }

    fn execute(call: ToolCall) -> Outcome {
        if call.name != NAME {
            return failed("UNKNOWN_TOOL", "this plugin has no tool of that name");
        }
        match path_of(&call.arguments) {
            Ok(path) => read(&path).unwrap_or_else(Refusal::outcome),
            Err(problem) => failed("INVALID_ARGUMENTS", &problem.reason),
        }
    }
}

/// Why a file was not read.
enum Refusal {
    NotFound,
    Denied,
    NotAFile,
    NotText,
    TooLarge,
    Failed,
}

impl Refusal {
    fn from_error(error: &std::io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::NotFound,
            ErrorKind::PermissionDenied => Self::Denied,
            ErrorKind::IsADirectory => Self::NotAFile,
            _ => Self::Failed,
        }
    }

    fn outcome(self) -> Outcome {
        match self {
            Self::NotFound => failed("NOT_FOUND", "no such file in the workspace"),
            Self::Denied => failed("READ_DENIED", "the plugin may not read this file"),
            Self::NotAFile => failed("NOT_A_FILE", "the path does not name a regular file"),
            Self::NotText => failed("NOT_TEXT", "the file is not UTF-8 text"),
            Self::TooLarge => failed("TOO_LARGE", "the file is longer than 1,024,000 bytes"),
            Self::Failed => failed("READ_FAILED", "the file could not be read"),
        }
    }
}

/// The text of the file as an outcome.
fn read(path: &str) -> Result<Outcome, Refusal> {
    // The C library would look an absolute path up in the workspace, as if it were relative.
    if path.starts_with('/') {
        return Err(Refusal::Denied);
    }
    let file = File::open(path).map_err(|error| why_not_opened(path, &error))?;
    let metadata = file
        .metadata()
        .map_err(|error| Refusal::from_error(&error))?;
    if !metadata.is_file() {
        return Err(Refusal::NotAFile);
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(Refusal::TooLarge);
    }
    let text = read_to_end(file, metadata.len())?;
    Ok(Outcome {
        status: Status::Success,
        content: Some(Content::Text(text)),
        structured_content: None,
        references: Vec::new(),
        error: None,
        metadata: None,
    })
}

/// The whole text; one byte over the bound is asked for, since a file can grow while it is read.
fn read_to_end(file: File, expected_bytes: u64) -> Result<String, Refusal> {
    let mut bytes = Vec::with_capacity(usize::try_from(expected_bytes).unwrap_or_default());
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Refusal::from_error(&error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_FILE_BYTES) {
        return Err(Refusal::TooLarge);
    }
    String::from_utf8(bytes).map_err(|_not_utf8| Refusal::NotText)
}

/// What the error of an open means, where the error alone does not tell.
fn why_not_opened(path: &str, error: &std::io::Error) -> Refusal {
    match Refusal::from_error(error) {
        Refusal::NotFound if !in_granted_folder(path) => Refusal::Denied,
        Refusal::NotFound => Refusal::NotFound,
        // The host refuses to open pipes and devices, each with an error of its own.
        _ if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) => Refusal::NotAFile,
        refusal => refusal,
    }
}

/// Whether some folder above the path can be seen. The C library says of a path outside all
/// granted folders that it is not there.
fn in_granted_folder(path: &str) -> bool {
    Path::new(path).ancestors().skip(1).any(|folder| {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        fs::metadata(folder).is_ok()
    })
}

/// The path in the arguments, or what is wrong with it.
fn path_of(arguments: &str) -> Result<String, Problem> {
    let arguments: Value = serde_json::from_str(arguments)
        .map_err(|_syntax| problem("", "the arguments are not JSON"))?;
    match arguments.get("path") {
        Some(Value::String(path)) if !path.trim().is_empty() => Ok(path.clone()),
        Some(Value::String(_)) => Err(problem("/path", "the path is blank")),
        Some(_) => Err(problem("/path", "the path must be a string")),
        None => Err(problem("/path", "a path is required")),
    }
}

fn problem(pointer: &str, reason: &str) -> Problem {
    Problem {
        pointer: pointer.to_owned(),
        reason: reason.to_owned(),
    }
}

fn failed(code: &str, message: &str) -> Outcome {
    Outcome {
        status: Status::Failed,
        content: None,
        structured_content: None,
        references: Vec::new(),
        error: Some(Failure {
            code: code.to_owned(),
            message: message.to_owned(),
            retryable: None,
        }),
        metadata: None,
    }
}
