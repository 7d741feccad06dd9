//! `du`: adds up the space that folders take.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::hash::{BuildHasherDefault, DefaultHasher};

use crate::console::{Console, End, say};
use crate::name;
use crate::reason::reason;
use crate::shape::{Arguments, Operands, Opt, Presence, Shape, Value, decimal, flag};
use crate::status::{Follow, Kind, Status};
use crate::system;
use crate::walk::{Step, Walk};

pub(crate) const SHAPE: Shape = Shape {
    usage: "du -k --max-depth=N -- path",
    options: &[
        flag("-k", Presence::Required),
        Opt {
            name: "--max-depth=",
            value: Value::Joined,
            presence: Presence::Required,
        },
    ],
    operands: Operands::Last,
    count: 1..=1,
};

/// The unit of `Status::blocks`, in bytes.
const BLOCK_BYTES: u64 = 512;

pub(crate) fn run(arguments: &Arguments, console: &mut Console) -> Result<(), End> {
    let text = arguments.value("--max-depth=").unwrap_or_default();
    let Some(depth) = decimal(text).and_then(|depth| usize::try_from(depth).ok()) else {
        let shown = name::quoted(text.as_encoded_bytes());
        console.complain(1, format_args!("invalid maximum depth {shown}"));
        say("Try 'du --help' for more information.");
        return Ok(());
    };
    let usage = Usage {
        console,
        depth,
        sums: Vec::new(),
        counted: HashSet::default(),
    };
    usage.add_up(arguments.first())
}

/// The sums of one run.
struct Usage<'a> {
    console: &'a mut Console,
    depth: usize,
    /// The bytes in each folder from the start to where the walk stands.
    sums: Vec<u64>,
    /// The files with several names that were counted. Hashed without a random seed: the host is
    /// asked for nothing, and whoever can choose inode numbers can do worse.
    counted: HashSet<(u64, u64), BuildHasherDefault<DefaultHasher>>,
}

impl Usage<'_> {
    fn add_up(mut self, start: &OsStr) -> Result<(), End> {
        let mut walk = Walk::new(start);
        self.visit(&mut walk)?;
        while let Some(step) = walk.step()? {
            match step {
                Step::Entry(_) => self.visit(&mut walk)?,
                Step::Left => self.leave(&walk)?,
            }
        }
        Ok(())
    }

    /// Counts what the walk stands at, and enters it if it is a folder.
    fn visit(&mut self, walk: &mut Walk) -> Result<(), End> {
        let status = match system::status(walk.path(), Follow::No) {
            Ok(status) => status,
            Err(error) => {
                self.complain(walk, "cannot access", &reason(&error));
                return Ok(());
            }
        };
        if self.is_counted(&status)? {
            return Ok(());
        }
        let bytes = status.blocks.saturating_mul(BLOCK_BYTES);
        if status.kind() != Kind::Folder {
            if walk.depth() == 0 {
                return self.print(bytes, walk);
            }
            self.add(bytes);
            return Ok(());
        }
        self.sums.try_reserve(1)?;
        self.sums.push(bytes);
        match walk.enter(Some(status.identity()))? {
            Ok(None) => Ok(()),
            Ok(Some(missing)) => {
                self.complain(walk, "cannot read directory", &missing);
                Ok(())
            }
            Err(error) => {
                self.complain(walk, "cannot read directory", &reason(&error));
                self.leave(walk)
            }
        }
    }

    /// Whether a file was counted under another name.
    fn is_counted(&mut self, status: &Status) -> Result<bool, End> {
        if status.kind() == Kind::Folder || status.links < 2 {
            return Ok(false);
        }
        self.counted.try_reserve(1)?;
        Ok(!self.counted.insert(status.identity()))
    }

    fn leave(&mut self, walk: &Walk) -> Result<(), End> {
        let bytes = self.sums.pop().unwrap_or(0);
        self.add(bytes);
        if walk.depth() <= self.depth {
            self.print(bytes, walk)?;
        }
        Ok(())
    }

    fn add(&mut self, bytes: u64) {
        if let Some(sum) = self.sums.last_mut() {
            *sum = sum.saturating_add(bytes);
        }
    }

    fn print(&mut self, bytes: u64, walk: &Walk) -> Result<(), End> {
        let shown = name::shown(walk.name());
        self.console
            .line(format_args!("{}\t{shown}", bytes.div_ceil(1024)))
    }

    fn complain(&mut self, walk: &Walk, what: &str, reason: &str) {
        let shown = name::quoted(walk.name());
        self.console
            .complain(1, format_args!("{what} {shown}: {reason}"));
    }
}
