//! One record at the end of the file: opened, looked at, written once, put on the disk.

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};
use wasip2::io::streams::OutputStream;

use crate::place;

/// Why a record is not known to be on the disk. The texts are fit for anyone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing of it was written.
    Before(&'static str),
    /// Some of it may have been written.
    After(&'static str),
}

/// Appends one record, which is on the disk when this succeeds.
pub(crate) fn append(path: &str, object: &str) -> Result<(), Fault> {
    let file = open(path)?;
    let record = record(object, end_of(&file)?);
    let stream = file
        .append_via_stream()
        .map_err(|code| Fault::Before(why_not_opened(code)))?;
    write(&stream, record.as_bytes())?;
    drop(stream);
    file.sync()
        .map_err(|_code| Fault::After("the message was written and may not be on the disk"))
}

/// What the file ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// A whole line, or the file is empty.
    WholeLine,
    /// A line without its newline, or the end can't be read.
    MaybeTorn,
}

/// The bytes of a record. A torn line gets its newline in the same write, so that no other writer
/// comes in between; where the end can't be read that may give a blank line.
fn record(object: &str, end: End) -> String {
    match end {
        End::WholeLine => format!("{object}\n"),
        End::MaybeTorn => format!("\n{object}\n"),
    }
}

/// Opens the file, and makes it where it is missing; to read its end too, where that is granted.
fn open(path: &str) -> Result<Descriptor, Fault> {
    let folders = get_directories();
    let names: Vec<&str> = folders.iter().map(|(_, name)| name.as_str()).collect();
    let (folder, rest) = place::within(&names, path)
        .and_then(|(index, rest)| Some((&folders.get(index)?.0, rest)))
        .ok_or(Fault::Before("no folder that holds the file is granted"))?;
    let open_for = |access| {
        let follow = PathFlags::SYMLINK_FOLLOW;
        folder.open_at(follow, rest, OpenFlags::CREATE, access)
    };
    let to_write = DescriptorFlags::WRITE;
    // Asking for more than a folder allows would be recorded as a denial.
    let readable = folder
        .get_flags()
        .is_ok_and(|flags| flags.contains(DescriptorFlags::READ));
    let opened = if readable {
        match open_for(to_write | DescriptorFlags::READ) {
            // The file itself may be there to be written alone.
            Err(ErrorCode::Access) => open_for(to_write),
            opened => opened,
        }
    } else {
        open_for(to_write)
    };
    opened.map_err(|code| Fault::Before(why_not_opened(code)))
}

/// Looks at the end of the file.
fn end_of(file: &Descriptor) -> Result<End, Fault> {
    let Ok(status) = file.stat() else {
        return Ok(End::MaybeTorn);
    };
    if status.type_ != DescriptorType::RegularFile {
        return Err(Fault::Before("the path is no regular file"));
    }
    let Some(last) = status.size.checked_sub(1) else {
        return Ok(End::WholeLine);
    };
    Ok(match file.read(1, last) {
        Ok((byte, _end)) if byte == b"\n" => End::WholeLine,
        Ok(_) | Err(_) => End::MaybeTorn,
    })
}

/// Writes the record in one piece, or not at all.
fn write(stream: &OutputStream, record: &[u8]) -> Result<(), Fault> {
    let unknown = |_error| Fault::After("a write failed, and some of the message may be written");
    let permitted = loop {
        match stream.check_write() {
            Ok(0) => stream.subscribe().block(),
            Ok(permitted) => break permitted,
            Err(_closed) => return Err(Fault::Before("the file takes no writes")),
        }
    };
    if u64::try_from(record.len()).is_ok_and(|length| length > permitted) {
        return Err(Fault::Before("the message is longer than one write takes"));
    }
    stream.write(record).map_err(unknown)?;
    stream.blocking_flush().map_err(unknown)
}

fn why_not_opened(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::Access | ErrorCode::NotPermitted | ErrorCode::ReadOnly => {
            "the file may not be written"
        }
        ErrorCode::NoEntry | ErrorCode::NotDirectory => "the folder of the file is not there",
        ErrorCode::IsDirectory => "the path is a folder",
        ErrorCode::Unsupported => "the path is no regular file",
        _ => "the file could not be opened",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d2_a_record_is_one_line_and_ends_a_torn_one_first() {
        assert_eq!(record("{}", End::WholeLine), "{}\n");
        assert_eq!(record("{}", End::MaybeTorn), "\n{}\n");
    }
}
