//! `read_text`: reads one text file of the workspace.
//!
//! The smallest useful plugin, and the example for the others. It opens files by `std::fs` alone:
//! what it may see is the host's business, and a denial arrives as an ordinary error of the file
//! system. Deliberately absent: cutting long files, guessing encodings, reading more than one file.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use tidegate_plugin::schemars::JsonSchema;
use tidegate_plugin::serde::Deserialize;
use tidegate_plugin::{Effect, Entry, Failure, Outcome, Problem, Tool, Tools};

/// The longest file that is read, in bytes: the host takes 1 MiB of result, and this leaves 24 KiB
/// of it for what surrounds the text and for characters that JSON escapes.
const MAX_FILE_BYTES: u64 = 1_024_000;

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tidegate_plugin::serde", deny_unknown_fields)]
#[schemars(crate = "tidegate_plugin::schemars")]
struct Arguments {
    /// Path of the file, relative to the workspace
    #[schemars(length(min = 1))]
    path: String,
}

struct ReadText;

impl Tool for ReadText {
    type Arguments = Arguments;

    const NAME: &'static str = "read_text";

    const DESCRIPTION: &'static str = "Reads one text file of the workspace and returns its whole text. The file must \
         be UTF-8 and at most 1,024,000 bytes long.";

    const EFFECTS: &'static [Effect] = &[Effect::Read];

    fn validate(arguments: &Arguments) -> Result<(), Vec<Problem>> {
        match arguments.path.trim() {
            "" => Err(vec![Problem::new("/path", "the path is blank")]),
            _ => Ok(()),
        }
    }

    fn execute(arguments: Arguments) -> Result<Outcome, Failure> {
        match read(&arguments.path) {
            Ok(text) => Ok(Outcome::text(text)),
            Err(refusal) => Err(refusal.failure()),
        }
    }
}

struct Plugin;

tidegate_plugin::export_tools!(Plugin);

impl Tools for Plugin {
    const TOOLS: &'static [Entry] = &[Entry::of::<ReadText>()];
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

    fn failure(self) -> Failure {
        let (code, message) = match self {
            Self::NotFound => ("NOT_FOUND", "no such file in the workspace"),
            Self::Denied => ("READ_DENIED", "the plugin may not read this file"),
            Self::NotAFile => ("NOT_A_FILE", "the path does not name a regular file"),
            Self::NotText => ("NOT_TEXT", "the file is not UTF-8 text"),
            Self::TooLarge => ("TOO_LARGE", "the file is longer than 1,024,000 bytes"),
            Self::Failed => ("READ_FAILED", "the file could not be read"),
        };
        Failure::new(code, message)
    }
}

/// The text of the file.
fn read(path: &str) -> Result<String, Refusal> {
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
    read_to_end(file, metadata.len())
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
