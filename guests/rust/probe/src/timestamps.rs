//! Times of files: set by path or by handle, and told as JSON.

use serde_json::{Value, json};
use wasip2::clocks::wall_clock::Datetime;
use wasip2::filesystem::types::{Descriptor, ErrorCode, NewTimestamp, PathFlags};

use crate::arguments::Arguments;
use crate::files;

/// Sets both times of a path.
pub(crate) fn set_at(
    folder: &Descriptor,
    path: &str,
    arguments: &Arguments,
) -> Result<(), ErrorCode> {
    let time = wanted(arguments);
    folder.set_times_at(PathFlags::SYMLINK_FOLLOW, path, time, time)
}

/// Sets both times of a file that was opened to be read.
pub(crate) fn set(folder: &Descriptor, path: &str, arguments: &Arguments) -> Result<(), ErrorCode> {
    let time = wanted(arguments);
    files::open_to_read(folder, path)?.set_times(time, time)
}

/// A time of a file, if the host tells it.
pub(crate) fn json(time: Option<Datetime>) -> Value {
    match time {
        Some(Datetime {
            seconds,
            nanoseconds,
        }) => {
            json!({ "seconds": seconds, "nanoseconds": nanoseconds })
        }
        None => Value::Null,
    }
}

/// The time that the arguments name, out of range as it may be.
fn wanted(arguments: &Arguments) -> NewTimestamp {
    let nanoseconds = arguments.number("nanoseconds", 0);
    NewTimestamp::Timestamp(Datetime {
        seconds: arguments.number("seconds", 0),
        nanoseconds: u32::try_from(nanoseconds).unwrap_or(u32::MAX),
    })
}
