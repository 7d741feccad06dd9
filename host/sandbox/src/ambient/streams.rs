//! The standard streams of this process, for what speaks a protocol on them.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;

/// Bytes that a pipe takes at once where it takes any (POSIX `PIPE_BUF`, as Linux has it). A socket
/// that may be written to has more room.
const AT_ONCE_BYTES: usize = 4_096;

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

/// Whether [`write_at_once`] can tell that nothing waits: of a pipe or a socket.
#[must_use]
pub fn tells_room(output: &File) -> bool {
    let kind = rustix::fs::fstat(output).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::Socket))
}

/// Writes everything where that takes no waiting, and otherwise nothing. Says whether it did.
///
/// # Errors
///
/// What the system said.
pub fn write_at_once(mut output: &File, bytes: &[u8]) -> io::Result<bool> {
    if bytes.len() > AT_ONCE_BYTES || !is_ready(output, PollFlags::OUT)? {
        return Ok(false);
    }
    output.write_all(bytes)?;
    Ok(true)
}

/// Standard input, for [`read_at_once`].
///
/// # Errors
///
/// What the system said.
pub fn stdin() -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?)
}

/// Reads what is there, or the end; `None` where it would have to wait. The stream stays one that waits:
/// others may read from it too.
///
/// # Errors
///
/// What the system said.
pub fn read_at_once(input: &OwnedFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    if !is_ready(input, PollFlags::IN)? {
        return Ok(None);
    }
    Ok(Some(rustix::io::retry_on_intr(|| {
        rustix::io::read(input, &mut *buffer)
    })?))
}

/// Whether something can be done now; the end and errors can always be told.
fn is_ready(stream: &impl AsFd, what: PollFlags) -> io::Result<bool> {
    let now = Timespec::default();
    let mut asked = [PollFd::new(stream, what)];
    rustix::io::retry_on_intr(|| poll(&mut asked, Some(&now)))?;
    Ok(!asked.iter().all(|stream| stream.revents().is_empty()))
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
