//! Public errors: what may be shown to anyone, and how a private text becomes one.
//!
//! [`check_message`] judges a text that a plugin wrote; [`redact`] makes a fit one out of any.
//! Both see the text through the same detectors (`credential`, `path`, `frame`), so what
//! `redact` gives always passes. Shapes are recognised by hand-written scans over a bounded
//! text: no pattern engine, nothing that can blow up.

mod assignment;
mod credential;
mod frame;
mod path;
mod scan;

use serde::{Serialize, Serializer};

use crate::json::Value;
use crate::text::cut;
use scan::{Finding, Kind, Scan};

/// The longest code, in characters.
const CODE_CHARACTERS: usize = 64;

/// The longest message, in characters.
pub const MESSAGE_CHARACTERS: usize = 512;

/// How much of a diagnostic [`redact`] reads, in bytes: enough to fill a message even when most
/// of it is stack frames.
const DIAGNOSTIC_BYTES: usize = 8 * 1024;

/// How much of a diagnostic without any white space is read, in bytes.
const WORD_BYTES: usize = 2048;

/// How often [`redact`] looks again at what it has made before it gives up.
const PASSES: usize = 4;

/// What [`redact`] says when there is nothing to say.
const NO_DETAILS: &str = "no details";

/// An error that is fit for the public: `{code, message, retryable?}` and nothing else.
///
/// The code is 1 to 64 of `[A-Za-z0-9_.-]`; the message passes [`check_message`].
///
/// Source: SPEC C7.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    code: String,
    message: String,
    retryable: Option<bool>,
}

/// Which rule a public error breaks. Its text never repeats the error's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FailureError {
    /// The code is not 1 to 64 of letters, digits, `_`, `.`, `-`; or `retryable` is no
    /// boolean.
    #[error("error code must be 1 to 64 of letters, digits, `_`, `.` and `-`, retryable a boolean")]
    Code,
    /// The message is absent or has nothing to read.
    #[error("error message must not be blank")]
    Blank,
    /// The message is too long.
    #[error("error message must have at most {MESSAGE_CHARACTERS} characters")]
    TooLong,
    /// The message has a control character, a line break or a bidirectional override.
    #[error("error message must be one line without control characters")]
    ControlCharacter,
    /// The message has something shaped like a credential.
    #[error("error message must not hold credentials")]
    Credential,
    /// The message has an absolute or home path.
    #[error("error message must not hold absolute or home paths")]
    Path,
    /// The message has a stack frame.
    #[error("error message must not hold stack frames")]
    StackFrame,
}

impl Failure {
    /// Checks code and message.
    ///
    /// # Errors
    /// The rule that is broken.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Result<Self, FailureError> {
        let (code, message) = (code.into(), message.into());
        if !is_code(&code) {
            return Err(FailureError::Code);
        }
        check_message(&message)?;
        Ok(Self {
            code,
            message,
            retryable: None,
        })
    }

    /// Says whether another try may help. It triggers nothing.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.retryable = Some(retryable);
        self
    }

    /// Reads `{code, message, retryable?}`; any other field is dropped, unread.
    ///
    /// # Errors
    /// The rule that is broken. A missing or mistyped code is `Code`, as is a `retryable` that
    /// is not a boolean; a missing or mistyped message is `Blank`.
    pub fn from_value(value: &Value) -> Result<Self, FailureError> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let code = text("code").ok_or(FailureError::Code)?;
        let message = text("message").ok_or(FailureError::Blank)?;
        let failure = Self::new(code, message)?;
        match value.get("retryable") {
            None => Ok(failure),
            Some(Value::Bool(retryable)) => Ok(failure.with_retryable(*retryable)),
            Some(_) => Err(FailureError::Code),
        }
    }

    /// The caller gave up.
    #[must_use]
    pub fn cancelled() -> Self {
        let message = "the caller cancelled the call; effects already made stay".to_owned();
        host_failure("CANCELLED", message)
    }

    /// The call's time was up.
    #[must_use]
    pub fn deadline(deadline_ms: u64) -> Self {
        let message =
            format!("the call passed deadline_ms = {deadline_ms}; effects already made stay");
        host_failure("LIMIT_DEADLINE", message)
    }

    /// The result passed its bound.
    #[must_use]
    pub fn result_too_large(result_bytes: u64) -> Self {
        let message = format!("the result is larger than result_bytes = {result_bytes}");
        host_failure("LIMIT_RESULT", message)
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The public text.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether another try may help, where that is known.
    #[must_use]
    pub fn retryable(&self) -> Option<bool> {
        self.retryable
    }
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Wire<'a> {
            code: &'a str,
            message: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            retryable: Option<bool>,
        }
        let Self {
            code,
            message,
            retryable,
        } = self;
        Wire {
            code,
            message,
            retryable: *retryable,
        }
        .serialize(serializer)
    }
}

fn is_code(code: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    (1..=CODE_CHARACTERS).contains(&code.len()) && code.bytes().all(is_letter)
}

/// Whether a text is fit for the public: not blank, at most 512 characters, one line, without
/// control characters, credentials, absolute or home paths and stack frames.
///
/// Invisible characters are allowed but hide nothing: they are taken out before the text is
/// judged. So are escapes (`%2F`, `\u002f`, `\/`, `\"`).
///
/// # Errors
/// The first rule that is broken.
///
/// Source: SPEC C7.
pub fn check_message(message: &str) -> Result<(), FailureError> {
    let is_short =
        message.len() <= MESSAGE_CHARACTERS * 4 && message.chars().count() <= MESSAGE_CHARACTERS;
    if !is_short {
        return Err(FailureError::TooLong);
    }
    if message
        .chars()
        .all(|letter| letter.is_whitespace() || scan::is_invisible(letter))
    {
        // A line break alone is blank; the rule about lines is for texts that say something.
        return Err(FailureError::Blank);
    }
    if message.chars().any(scan::is_control) {
        return Err(FailureError::ControlCharacter);
    }
    for reading in Scan::readings(message) {
        if let Some(finding) = findings(&reading).first() {
            return Err(match finding.kind {
                Kind::Secret | Kind::Url => FailureError::Credential,
                Kind::Path => FailureError::Path,
                Kind::Frame => FailureError::StackFrame,
            });
        }
    }
    Ok(())
}

/// Makes a message that passes [`check_message`] out of any diagnostic.
///
/// Terminal sequences and control characters go, lines become one, paths become `[path]`,
/// credentials `[secret]`, URLs with user information `[url]`, stack frames disappear, and what
/// is longer than 512 characters is cut. Where nothing is left it says `no details`.
#[must_use]
pub fn redact(diagnostic: &str) -> String {
    // Line by line first: some stack frames are known by standing at the start of a line.
    let lines: Vec<String> = head(diagnostic)
        .split(scan::is_line_break)
        .map(|line| scan::one_line(&replaced(&scan::one_line(&without_sequences(line)))))
        .filter(|line| !line.is_empty())
        .collect();
    let mut message = lines.join(" ");
    for _ in 0..PASSES {
        message = shorten(&scan::one_line(&message));
        match check_message(&message) {
            Ok(()) => return message,
            Err(_) => message = replaced(&message),
        }
    }
    NO_DETAILS.to_owned()
}

/// A failure with one of the host's own codes and texts. A text that is unfit is redacted.
#[must_use]
pub fn host_failure(code: &'static str, message: String) -> Failure {
    let message = match check_message(&message) {
        Ok(()) => message,
        Err(_) => redact(&message),
    };
    let code = if is_code(code) { code } else { "HOST_FAULT" };
    Failure {
        code: code.to_owned(),
        message,
        retryable: None,
    }
}

/// The part of a diagnostic that is read. A word that the bound would split is left out, since
/// half a secret may not look like one.
fn head(diagnostic: &str) -> &str {
    let kept = cut(diagnostic, DIAGNOSTIC_BYTES);
    if kept.len() == diagnostic.len() {
        return kept;
    }
    let whole = kept
        .rfind(char::is_whitespace)
        .and_then(|end| kept.get(..end));
    // One endless word is no prose; a start of it shows what it was.
    whole.unwrap_or_else(|| cut(kept, WORD_BYTES))
}

/// The first 512 characters, without the space that a cut may leave.
fn shorten(message: &str) -> String {
    let short: String = message.chars().take(MESSAGE_CHARACTERS).collect();
    short.trim().to_owned()
}

/// One line with everything unfit replaced, in the first reading that shows any.
fn replaced(line: &str) -> String {
    replaced_around(line, str::to_owned)
}

/// One line without terminal sequences. What is unfit goes before they do: the last letter of a
/// sequence can be the first of the word that tells a secret.
fn without_sequences(line: &str) -> String {
    if line.contains(scan::starts_sequence) {
        replaced_around(line, scan::without_terminal_sequences)
    } else {
        line.to_owned()
    }
}

/// As [`replaced`], with `clean` applied to each piece of text that is kept.
fn replaced_around(line: &str, clean: fn(&str) -> String) -> String {
    for reading in Scan::readings(line) {
        let findings = findings(&reading);
        if !findings.is_empty() {
            return reading.replace(&findings, clean);
        }
    }
    clean(line)
}

/// What is unfit in one reading of a text, in order and without overlaps.
fn findings(reading: &Scan) -> Vec<Finding> {
    let mut found = Vec::new();
    credential::find(reading, &mut found);
    path::find(reading, &mut found);
    frame::find(reading, &mut found);
    scan::merge(found)
}
