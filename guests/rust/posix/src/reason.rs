//! What an error of the file system is called.

use std::borrow::Cow;
use std::io::{Error, ErrorKind};

use crate::system;

/// The reason in the words of the C library, the same on every system.
pub(crate) fn reason(error: &Error) -> Cow<'static, str> {
    Cow::Borrowed(match error.kind() {
        ErrorKind::NotFound => "No such file or directory",
        ErrorKind::PermissionDenied => "Permission denied",
        ErrorKind::IsADirectory => "Is a directory",
        ErrorKind::NotADirectory => "Not a directory",
        ErrorKind::InvalidFilename => "File name too long",
        _ if error.raw_os_error() == Some(system::LOOP) => "Too many levels of symbolic links",
        _ => return Cow::Owned(without_number(&error.to_string())),
    })
}

fn without_number(message: &str) -> String {
    let end = message.find(" (os error ").unwrap_or(message.len());
    message.get(..end).unwrap_or(message).to_owned()
}
