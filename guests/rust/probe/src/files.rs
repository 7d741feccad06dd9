//! `fs`: one operation on a path, by `wasi:filesystem` directly.

use serde_json::{Value, json};
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::types::Outcome;
use crate::{outcome, timestamps};

pub(crate) const DESCRIPTION: &str = "Does {op} at {path} under the preopened folder {dir}, by \
    default the workspace. Operations: read and read_stream {bytes}, open {flags}, \
    open_truncate_readonly, write {text or bytes}, set_size {bytes}, stat, lstat, \
    set_times and handle_set_times {seconds, nanoseconds}, list, readlink, symlink {target}, link \
    and rename {to, to_dir}, unlink, rmdir, mkdir, preopens.";

/// How much is read when not told, in bytes.
const READ_BYTES: u64 = 64 * 1024;

/// How much is written in one host call, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// What an operation found: text, and details where there are some.
struct Found {
    text: String,
    details: Option<Value>,
}

impl Found {
    fn ok() -> Self {
        Self::text("ok")
    }

    fn text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            details: None,
        }
    }

    fn detailed(text: &str, details: Value) -> Self {
        Self {
            text: text.to_owned(),
            details: Some(details),
        }
    }
}

/// The folders that the host opened for this plugin, by name.
struct Folders(Vec<(Descriptor, String)>);

impl Folders {
    fn named(&self, name: &str) -> Option<&Descriptor> {
        self.0
            .iter()
            .find(|(_, known)| known == name)
            .map(|(folder, _)| folder)
    }

    /// The folder that `key` names; without the key the workspace, else the first there is.
    fn chosen(&self, arguments: &Arguments, key: &str) -> Option<&Descriptor> {
        match arguments.optional_text(key) {
            Some(name) => self.named(name),
            None => self
                .named(".")
                .or_else(|| self.0.first().map(|(folder, _)| folder)),
        }
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(_, name)| name.as_str()).collect()
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let folders = Folders(get_directories());
    let operation = arguments.text("op", "");
    if operation == "preopens" {
        return outcome::detailed(&folders.names().join("\n"), &json!(folders.names()));
    }
    let Some(folder) = folders.chosen(arguments, "dir") else {
        return outcome::reported("no-such-preopen");
    };
    let found = match operation {
        "link" | "rename" => match folders.chosen(arguments, "to_dir") {
            Some(to) => between(operation, folder, to, arguments),
            None => return outcome::reported("no-such-preopen"),
        },
        _ => match within(operation, folder, arguments) {
            Some(found) => found,
            None => return outcome::failed("UNKNOWN_OPERATION", "fs has no such operation"),
        },
    };
    match found {
        Ok(Found {
            text,
            details: Some(details),
        }) => outcome::detailed(&text, &details),
        Ok(Found {
            text,
            details: None,
        }) => outcome::reported(&text),
        Err(code) => outcome::reported(code.name()),
    }
}

/// The operations on one folder; none if there is none of that name.
fn within(
    operation: &str,
    folder: &Descriptor,
    arguments: &Arguments,
) -> Option<Result<Found, ErrorCode>> {
    let path = arguments.text("path", "");
    let done = |result: Result<(), ErrorCode>| result.map(|()| Found::ok());
    Some(match operation {
        "read" => read(folder, path, arguments),
        "read_stream" => read_stream(folder, path, arguments),
        "open" => done(open_with(folder, path, arguments).map(drop)),
        "open_truncate_readonly" => done(open_truncating(folder, path)),
        "write" => done(write(folder, path, arguments)),
        "set_size" => done(set_size(folder, path, arguments)),
        "stat" => folder
            .stat_at(PathFlags::SYMLINK_FOLLOW, path)
            .map(|stat| status(&stat)),
        "lstat" => folder
            .stat_at(PathFlags::empty(), path)
            .map(|stat| status(&stat)),
        "set_times" => done(timestamps::set_at(folder, path, arguments)),
        "handle_set_times" => done(timestamps::set(folder, path, arguments)),
        "list" => list(folder, path),
        "readlink" => folder.readlink_at(path).map(|target| Found::text(&target)),
        "symlink" => done(folder.symlink_at(arguments.text("target", ""), path)),
        "unlink" => done(folder.unlink_file_at(path)),
        "rmdir" => done(folder.remove_directory_at(path)),
        "mkdir" => done(folder.create_directory_at(path)),
        _ => return None,
    })
}

/// The operations from one folder to another.
fn between(
    operation: &str,
    folder: &Descriptor,
    to_folder: &Descriptor,
    arguments: &Arguments,
) -> Result<Found, ErrorCode> {
    let (path, to) = (arguments.text("path", ""), arguments.text("to", ""));
    if operation == "link" {
        folder.link_at(PathFlags::empty(), path, to_folder, to)?;
    } else {
        folder.rename_at(path, to_folder, to)?;
    }
    Ok(Found::ok())
}

/// Opens an existing file for reading.
pub(crate) fn open_to_read(folder: &Descriptor, path: &str) -> Result<Descriptor, ErrorCode> {
    folder.open_at(
        PathFlags::SYMLINK_FOLLOW,
        path,
        OpenFlags::empty(),
        DescriptorFlags::READ,
    )
}

fn read(folder: &Descriptor, path: &str, arguments: &Arguments) -> Result<Found, ErrorCode> {
    let file = open_to_read(folder, path)?;
    let (bytes, _end) = file.read(arguments.number("bytes", READ_BYTES), 0)?;
    Ok(Found::text(&String::from_utf8_lossy(&bytes)))
}

/// Reads by a stream, as the standard libraries do.
fn read_stream(folder: &Descriptor, path: &str, arguments: &Arguments) -> Result<Found, ErrorCode> {
    let file = open_to_read(folder, path)?;
    let stream = file.read_via_stream(0)?;
    let mut left = arguments.number("bytes", READ_BYTES);
    let mut bytes = Vec::new();
    while left > 0 {
        match stream.blocking_read(left) {
            Ok(piece) => {
                left = left.saturating_sub(u64::try_from(piece.len()).unwrap_or(left));
                bytes.extend(piece);
            }
            Err(_end_or_fault) => break,
        }
    }
    Ok(Found::text(&String::from_utf8_lossy(&bytes)))
}

/// Opens with the flags of `open-at` that are named: `create`, `directory`, `exclusive`, `truncate`
/// and the access `read`, `write`, `mutate-directory`.
fn open_with(
    folder: &Descriptor,
    path: &str,
    arguments: &Arguments,
) -> Result<Descriptor, ErrorCode> {
    let mut open = OpenFlags::empty();
    let mut access = DescriptorFlags::empty();
    for flag in arguments.list("flags") {
        match flag {
            "create" => open |= OpenFlags::CREATE,
            "directory" => open |= OpenFlags::DIRECTORY,
            "exclusive" => open |= OpenFlags::EXCLUSIVE,
            "truncate" => open |= OpenFlags::TRUNCATE,
            "read" => access |= DescriptorFlags::READ,
            "write" => access |= DescriptorFlags::WRITE,
            "mutate-directory" => access |= DescriptorFlags::MUTATE_DIRECTORY,
            _ => return Err(ErrorCode::Invalid),
        }
    }
    folder.open_at(PathFlags::SYMLINK_FOLLOW, path, open, access)
}

/// Opens to read and truncates on the way: what a read-only folder must refuse.
fn open_truncating(folder: &Descriptor, path: &str) -> Result<(), ErrorCode> {
    folder
        .open_at(
            PathFlags::SYMLINK_FOLLOW,
            path,
            OpenFlags::TRUNCATE,
            DescriptorFlags::READ,
        )
        .map(drop)
}

/// Makes or empties a file and writes `text`, or as many bytes as told, to it.
fn write(folder: &Descriptor, path: &str, arguments: &Arguments) -> Result<(), ErrorCode> {
    let file = folder.open_at(
        PathFlags::SYMLINK_FOLLOW,
        path,
        OpenFlags::CREATE | OpenFlags::TRUNCATE,
        DescriptorFlags::WRITE,
    )?;
    let filler = "x".repeat(arguments.size("bytes", 0));
    let default = if filler.is_empty() { "probe" } else { &filler };
    let mut offset = 0;
    for piece in arguments
        .text("text", default)
        .as_bytes()
        .chunks(PIECE_BYTES)
    {
        offset += file.write(piece, offset)?;
    }
    Ok(())
}

/// Sets the size of a file that was opened to be read.
fn set_size(folder: &Descriptor, path: &str, arguments: &Arguments) -> Result<(), ErrorCode> {
    open_to_read(folder, path)?.set_size(arguments.number("bytes", 0))
}

/// The names in a folder, sorted, one a line.
fn list(folder: &Descriptor, path: &str) -> Result<Found, ErrorCode> {
    let opened = folder.open_at(
        PathFlags::SYMLINK_FOLLOW,
        if path.is_empty() { "." } else { path },
        OpenFlags::DIRECTORY,
        DescriptorFlags::READ,
    )?;
    let entries = opened.read_directory()?;
    let mut names = Vec::new();
    while let Some(entry) = entries.read_directory_entry()? {
        names.push(entry.name);
    }
    names.sort();
    Ok(Found::detailed(&names.join("\n"), json!(names)))
}

fn status(stat: &DescriptorStat) -> Found {
    let details = json!({
        "type": kind(stat.type_),
        "links": stat.link_count,
        "sizeBytes": stat.size,
        "accessed": timestamps::json(stat.data_access_timestamp),
        "modified": timestamps::json(stat.data_modification_timestamp),
        "changed": timestamps::json(stat.status_change_timestamp),
    });
    Found::detailed("ok", details)
}

fn kind(kind: DescriptorType) -> &'static str {
    match kind {
        DescriptorType::Unknown => "unknown",
        DescriptorType::BlockDevice => "block-device",
        DescriptorType::CharacterDevice => "character-device",
        DescriptorType::Directory => "directory",
        DescriptorType::Fifo => "fifo",
        DescriptorType::SymbolicLink => "symbolic-link",
        DescriptorType::RegularFile => "regular-file",
        DescriptorType::Socket => "socket",
    }
}
