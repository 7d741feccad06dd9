//! `uniq`: writes one of each run of equal lines.

use crate::console::{Console, End};
use crate::input::{self, Refusal};
use crate::lines::{Lines, broken};
use crate::name;
use crate::shape::{Arguments, Presence, Shape, flag, one_path};

pub(crate) const SHAPE: Shape = one_path(
    "uniq [-c] [-i] -- path",
    &[
        flag("-c", Presence::Optional),
        flag("-i", Presence::Optional),
    ],
);

/// Whether letters of both cases are one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Kept,
    Ignored,
}

/// Whether each line is preceded by how often it came.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    Shown,
    Hidden,
}

pub(crate) fn run(arguments: &Arguments, console: &mut Console) -> Result<(), End> {
    let path = arguments.first();
    let input = match input::open(path) {
        Ok(input) => input,
        Err(Refusal::Folder) => {
            let shown = name::quoted(path.as_encoded_bytes());
            console.complain(1, format_args!("error reading {shown}"));
            return Ok(());
        }
        Err(refusal) => {
            let shown = name::in_message(path.as_encoded_bytes());
            console.complain(1, format_args!("{shown}: {}", refusal.reason()));
            return Ok(());
        }
    };
    let case = if arguments.has("-i") {
        Case::Ignored
    } else {
        Case::Kept
    };
    let counts = if arguments.has("-c") {
        Counts::Shown
    } else {
        Counts::Hidden
    };
    let mut lines = Lines::new(input.file);
    let mut run = Run::default();
    loop {
        match lines.next()? {
            Ok(Some(line)) => run.take(line, case, counts, console)?,
            Ok(None) => return run.write(counts, console),
            Err(error) => {
                run.write(counts, console)?;
                broken(path, &error, console);
                return Ok(());
            }
        }
    }
}

/// Equal lines in a row: the first of them, and how many there are.
#[derive(Default)]
struct Run {
    line: Vec<u8>,
    length: u64,
}

impl Run {
    fn take(
        &mut self,
        line: &[u8],
        case: Case,
        counts: Counts,
        console: &mut Console,
    ) -> Result<(), End> {
        let equal = match case {
            Case::Kept => self.line == line,
            Case::Ignored => self.line.eq_ignore_ascii_case(line),
        };
        if self.length > 0 && equal {
            self.length += 1;
            return Ok(());
        }
        self.write(counts, console)?;
        self.line.clear();
        self.line.try_reserve(line.len())?;
        self.line.extend_from_slice(line);
        self.length = 1;
        Ok(())
    }

    fn write(&self, counts: Counts, console: &mut Console) -> Result<(), End> {
        if self.length == 0 {
            return Ok(());
        }
        if counts == Counts::Shown {
            console.write(format!("{:7} ", self.length).as_bytes())?;
        }
        console.write(&self.line)?;
        console.write(b"\n")
    }
}
