//! The standard streams of this process, for what speaks a protocol on them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

/// Takes standard output away from everything else: what is printed there later goes to standard error,
/// so that it can't stand between messages.
///
/// # Errors
///
/// What the system said.
pub fn take_stdout() -> io::Result<File> {
    let own = rustix::io::fcntl_dupfd_cloexec(io::stdout(), 3)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    Ok(File::from(own))
}

/// Reads standard input, in pieces of at most `piece_bytes`, until its end or until nobody takes them
/// any more. Blocks the thread.
///
/// # Errors
///
/// What the system said.
pub fn read_stdin(piece_bytes: usize, mut take: impl FnMut(Vec<u8>) -> bool) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut piece = vec![0; piece_bytes];
    loop {
        let read = match input.read(&mut piece) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let Some(bytes) = piece.get(..read).filter(|bytes| !bytes.is_empty()) else {
            return Ok(());
        };
        if !take(bytes.to_vec()) {
            return Ok(());
        }
    }
}

/// The path of this program.
///
/// # Errors
///
/// What the system said.
pub fn this_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}
