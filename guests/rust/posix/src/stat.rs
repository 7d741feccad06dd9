//! `stat`: shows the status of a file, in GNU's layout without the names of users and groups.

mod moment;

use std::ffi::OsStr;
use std::path::Path;

use crate::console::{Console, End};
use crate::link;
use crate::name;
use crate::reason::reason;
use crate::shape::{Arguments, Shape, one_path};
use crate::status::{Follow, Kind, Status};
use crate::system;

pub(crate) const SHAPE: Shape = one_path("stat -- path", &[]);

pub(crate) fn run(arguments: &Arguments, console: &mut Console) -> Result<(), End> {
    let path = arguments.first();
    match system::status(Path::new(path), Follow::No) {
        Ok(status) => console.write(layout(path, &status).as_bytes()),
        Err(error) => {
            let shown = name::quoted(path.as_encoded_bytes());
            console.complain(1, format_args!("cannot statx {shown}: {}", reason(&error)));
            Ok(())
        }
    }
}

fn layout(path: &OsStr, status: &Status) -> String {
    let shown = name::shown(path.as_encoded_bytes());
    let target = match status.kind() {
        Kind::Link => format!(" -> {}", link::target(path)),
        Kind::File | Kind::Folder | Kind::Other => String::new(),
    };
    let (major, minor) = device(status.device);
    format!(
        "  File: {shown}{target}\n  \
         Size: {:<10}\tBlocks: {:<10} IO Block: {:<6} {}\n\
         Device: {major},{minor}\tInode: {:<11} Links: {}\n\
         Access: ({:04o}/{})  Uid: ({:5})   Gid: ({:5})\n\
         Access: {}\nModify: {}\nChange: {}\n Birth: -\n",
        status.size,
        status.blocks,
        status.block_size,
        type_name(status),
        status.inode,
        status.links,
        status.mode & 0o7777,
        mode_letters(status),
        status.uid,
        status.gid,
        moment::utc(status.accessed),
        moment::utc(status.modified),
        moment::utc(status.changed),
    )
}

/// The major and minor number of a device, as Linux packs them.
fn device(device: u64) -> (u64, u64) {
    let major = ((device >> 32) & 0xffff_f000) | ((device >> 8) & 0xfff);
    let minor = ((device >> 12) & 0xffff_ff00) | (device & 0xff);
    (major, minor)
}

fn type_name(status: &Status) -> &'static str {
    match status.type_bits() {
        0o100_000 if status.size == 0 => "regular empty file",
        0o100_000 => "regular file",
        0o040_000 => "directory",
        0o120_000 => "symbolic link",
        0o010_000 => "fifo",
        0o140_000 => "socket",
        0o060_000 => "block special file",
        0o020_000 => "character special file",
        _ => "weird file",
    }
}

/// The mode in letters, such as `-rw-r--r--`.
fn mode_letters(status: &Status) -> String {
    let kind = match status.type_bits() {
        0o100_000 => '-',
        0o040_000 => 'd',
        0o120_000 => 'l',
        0o010_000 => 'p',
        0o140_000 => 's',
        0o060_000 => 'b',
        0o020_000 => 'c',
        _ => '?',
    };
    let has = |bit: u32| status.mode & bit != 0;
    let mut letters = String::from(kind);
    let classes = [
        (0o100, 0o4000, 's', 'S'),
        (0o010, 0o2000, 's', 'S'),
        (0o001, 0o1000, 't', 'T'),
    ];
    for (execute, special, both, alone) in classes {
        letters.push(if has(execute << 2) { 'r' } else { '-' });
        letters.push(if has(execute << 1) { 'w' } else { '-' });
        letters.push(match (has(execute), has(special)) {
            (true, true) => both,
            (false, true) => alone,
            (true, false) => 'x',
            (false, false) => '-',
        });
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_gnu_s_without_names() {
        let status = Status {
            mode: 0o100_644,
            uid: 1000,
            gid: 100,
            device: 0xfe00,
            inode: 10_109_569,
            links: 1,
            size: 7,
            blocks: 8,
            block_size: 4096,
            ..Status::default()
        };
        let expected = "  File: f\n  \
            Size: 7         \tBlocks: 8          IO Block: 4096   regular file\n\
            Device: 254,0\tInode: 10109569    Links: 1\n\
            Access: (0644/-rw-r--r--)  Uid: ( 1000)   Gid: (  100)\n\
            Access: 1970-01-01 00:00:00.000000000 +0000\n\
            Modify: 1970-01-01 00:00:00.000000000 +0000\n\
            Change: 1970-01-01 00:00:00.000000000 +0000\n \
            Birth: -\n";
        assert_eq!(layout(OsStr::new("f"), &status), expected);
    }

    #[test]
    fn modes_are_shown_in_letters() {
        let check = |mode, expected| {
            let status = Status {
                mode,
                ..Status::default()
            };
            assert_eq!(mode_letters(&status), expected);
        };
        check(0o100_000, "----------");
        check(0o041_777, "drwxrwxrwt");
        check(0o104_755, "-rwsr-xr-x");
        check(0o102_644, "-rw-r-Sr--");
        check(0o041_666, "drw-rw-rwT");
        check(0o010_600, "prw-------");
        check(0o120_777, "lrwxrwxrwx");
    }
}
