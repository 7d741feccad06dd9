//! `sort`: writes the lines of a file in the order of the C locale.
//!
//! The text is held once, and of each line 8 bytes: where it starts, and a digest of its key that
//! spares most looks into the text. Nothing is written before all of it is read: a part in order is
//! no order.

mod order;

use std::cmp::Ordering;
use std::ffi::OsStr;
use std::io;

use memchr::{memchr, memchr_iter};

use crate::console::{Console, End};
use crate::input::{self, CHUNK_BYTES, Input, Refusal};
use crate::name;
use crate::newlines::newlines;
use crate::reason::reason;
use crate::shape::{Arguments, Presence, Shape, flag, one_path};

pub(crate) const SHAPE: Shape = one_path(
    "sort [-r] [-n] [-u] -- path",
    &[
        flag("-r", Presence::Optional),
        flag("-n", Presence::Optional),
        flag("-u", Presence::Optional),
    ],
);

/// The longest input, in bytes: what an instance may hold at most, and far within a `u32`.
const MAX_INPUT_BYTES: usize = 1 << 30;

/// The exit code of GNU's sort for a file it cannot read.
const TROUBLE: u8 = 2;

pub(crate) fn run(arguments: &Arguments, console: &mut Console) -> Result<(), End> {
    let path = arguments.first();
    let input = match input::open(path) {
        Ok(input) => input,
        Err(refusal) => {
            complain(path, &refusal, console);
            return Ok(());
        }
    };
    let text = match read(input)? {
        Ok(text) => text,
        Err(error) => {
            let shown = name::in_message(path.as_encoded_bytes());
            let reason = reason(&error);
            console.complain(TROUBLE, format_args!("read failed: {shown}: {reason}"));
            return Ok(());
        }
    };
    let rules = Rules::new(arguments);
    let mut records = records(&text, &rules)?;
    records.sort_unstable_by(|one, other| rules.order(&text, *one, *other));
    let mut last = None;
    for record in records {
        let repeated = last.is_some_and(|last| rules.is_repeated(&text, last, record));
        if !repeated {
            console.write(line(&text, record))?;
        }
        last = Some(record);
    }
    Ok(())
}

fn complain(path: &OsStr, refusal: &Refusal, console: &mut Console) {
    let shown = name::in_message(path.as_encoded_bytes());
    let (code, what) = match refusal {
        Refusal::Folder => (TROUBLE, "read failed: "),
        Refusal::NotRegular => (1, ""),
        Refusal::Failed(_) => (TROUBLE, "cannot read: "),
    };
    console.complain(code, format_args!("{what}{shown}: {}", refusal.reason()));
}

/// The whole text; every line of it ends in a newline.
fn read(mut input: Input) -> Result<io::Result<Vec<u8>>, End> {
    let expected = usize::try_from(input.length).unwrap_or(usize::MAX);
    if expected > MAX_INPUT_BYTES {
        return Err(End::TooLarge);
    }
    let mut text = Vec::new();
    // One byte more than the length, for the newline that may be missing.
    text.try_reserve_exact(expected.saturating_add(1))?;
    loop {
        if text.len() > MAX_INPUT_BYTES {
            return Err(End::TooLarge);
        }
        let bytes = match input.file.read(CHUNK_BYTES) {
            Ok(bytes) => bytes,
            Err(error) => return Ok(Err(error)),
        };
        if bytes.is_empty() {
            break;
        }
        text.try_reserve(bytes.len())?;
        text.extend_from_slice(&bytes);
    }
    if text.last().is_some_and(|byte| *byte != b'\n') {
        text.push(b'\n');
    }
    Ok(Ok(text))
}

/// One line: what orders it roughly, and where it starts.
#[derive(Clone, Copy)]
struct Record {
    rank: u32,
    start: u32,
}

/// A record for each line.
fn records(text: &[u8], rules: &Rules) -> Result<Vec<Record>, End> {
    let lines = usize::try_from(newlines(text)).unwrap_or(usize::MAX);
    let mut records = Vec::new();
    records.try_reserve_exact(lines)?;
    let mut start = 0;
    for newline in memchr_iter(b'\n', text) {
        let mut record = Record { rank: 0, start };
        record.rank = rules.rank(from(text, record));
        records.push(record);
        start = u32::try_from(newline + 1).unwrap_or(u32::MAX);
    }
    Ok(records)
}

/// The text from the start of a line on.
fn from(text: &[u8], record: Record) -> &[u8] {
    let start = usize::try_from(record.start).unwrap_or(usize::MAX);
    text.get(start..).unwrap_or_default()
}

/// One line with its newline.
fn line(text: &[u8], record: Record) -> &[u8] {
    let text = from(text, record);
    let end = memchr(b'\n', text).map_or(text.len(), |newline| newline + 1);
    text.get(..end).unwrap_or(text)
}

/// What the options say of the order.
struct Rules {
    reverse: bool,
    numeric: bool,
    unique: bool,
}

impl Rules {
    fn new(arguments: &Arguments) -> Self {
        Self {
            reverse: arguments.has("-r"),
            numeric: arguments.has("-n"),
            unique: arguments.has("-u"),
        }
    }

    /// The order of two lines. Of lines with equal keys the one that came first stays first with
    /// `-u`; else all their bytes decide.
    fn order(&self, text: &[u8], one: Record, other: Record) -> Ordering {
        let mut order = one.rank.cmp(&other.rank);
        if order.is_eq() {
            order = self.keys(from(text, one), from(text, other));
        }
        if order.is_eq() && self.unique {
            return one.start.cmp(&other.start);
        }
        if order.is_eq() && self.numeric {
            order = order::by_bytes(from(text, one), from(text, other));
        }
        if self.reverse { order.reverse() } else { order }
    }

    /// A number that orders lines as their keys do, but for some that it cannot tell apart.
    fn rank(&self, line: &[u8]) -> u32 {
        if self.numeric {
            order::rank_of_number(line)
        } else {
            order::rank_of_bytes(line)
        }
    }

    fn keys(&self, one: &[u8], other: &[u8]) -> Ordering {
        if self.numeric {
            order::by_number(one, other)
        } else {
            order::by_bytes(one, other)
        }
    }

    fn is_repeated(&self, text: &[u8], last: Record, next: Record) -> bool {
        let same = || self.keys(from(text, last), from(text, next)).is_eq();
        self.unique && last.rank == next.rank && same()
    }
}
