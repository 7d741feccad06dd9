//! The standard streams of this process, for what speaks a protocol on them.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::io::Errno;

/// Bytes that a pipe takes at once where it takes any (POSIX `PIPE_BUF`, as Linux has it). A socket
/// that may be written to has more room.
const AT_ONCE_BYTES: usize = 4_096;

const NOW: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

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
    if bytes.len() > AT_ONCE_BYTES || !is_ready(output, PollFlags::OUT, Some(&NOW))? {
        return Ok(false);
    }
    output.write_all(bytes)?;
    Ok(true)
}

/// Standard input, without a buffer.
#[derive(Debug)]
pub struct Stdin(OwnedFd);

impl Stdin {
    /// Opens it.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub fn open() -> io::Result<Self> {
        Ok(Self(rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?))
    }
}

impl Stdin {
    /// Reads what is there, once something is, also where who has given the stream has made it one that
    /// does not wait. At its end there are 0 bytes.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match rustix::io::read(&self.0, &mut *buffer) {
                Ok(read) => return Ok(read),
                Err(Errno::AGAIN) => is_ready(&self.0, PollFlags::IN, None)?,
                Err(error) => return Err(error.into()),
            };
        }
    }

    /// The same, where something is there within a time; looks for it without a pause.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub fn read_soon(&self, buffer: &mut [u8], within: Duration) -> io::Result<Option<usize>> {
        let started = Instant::now();
        while !is_ready(&self.0, PollFlags::IN, Some(&NOW))? {
            if started.elapsed() >= within {
                return Ok(None);
            }
        }
        self.read(buffer).map(Some)
    }
}

/// Whether something can be done within a time; the end and errors can always be told.
fn is_ready(stream: &impl AsFd, what: PollFlags, within: Option<&Timespec>) -> io::Result<bool> {
    let mut asked = [PollFd::new(stream, what)];
    rustix::io::retry_on_intr(|| poll(&mut asked, within))?;
    Ok(!asked.iter().all(|stream| stream.revents().is_empty()))
}

/// The path of this program.
///
/// # Errors
///
/// What the system said.
pub fn this_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}
