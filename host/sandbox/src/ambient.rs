//! The one place with the process's own authority: paths, environment, cache folder, processes.
//!
//! Everything else in the host takes a handle from here. A lint (`disallowed-methods` in
//! `clippy.toml`) refuses these calls elsewhere.
#![expect(
    clippy::disallowed_methods,
    reason = "this file is the door through which ambient authority becomes handles"
)]

pub(crate) mod child;
mod output;
pub mod project;
mod stamp;
pub mod streams;
mod written;

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::SystemTime;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _, PermissionsExt as _};
use rustls::pki_types::CertificateDer;

use crate::command::Launcher;
use crate::error::SandboxError;

pub use output::output_of;
pub use stamp::Stamp;
pub use written::write_to;

/// The folder that relative grants mean.
#[derive(Clone, Debug)]
pub struct Workspace {
    dir: Arc<Dir>,
}

impl Workspace {
    /// Opens the workspace by path: the only time its path is used.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Folder`] when it can't be opened as a folder.
    pub fn open(path: &Path) -> Result<Self, SandboxError> {
        let dir = open_folder(path)?;
        Ok(Self { dir: Arc::new(dir) })
    }

    /// Opens a workspace inside an open folder; links can't lead out of that one.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Folder`] when it can't be opened as a folder.
    pub fn open_in(folder: &Dir, path: &Path) -> Result<Self, SandboxError> {
        let dir = folder
            .open_dir(path)
            .map_err(|source| SandboxError::Folder {
                root: path.display().to_string(),
                source,
            })?;
        Ok(Self { dir: Arc::new(dir) })
    }

    /// The open folder.
    #[must_use]
    pub fn dir(&self) -> &Dir {
        &self.dir
    }
}

/// Opens a folder the operator named by an absolute path or relative to the working folder.
///
/// # Errors
///
/// [`SandboxError::Folder`] when it can't be opened as a folder.
pub fn open_folder(path: &Path) -> Result<Dir, SandboxError> {
    Dir::open_ambient_dir(path, ambient_authority()).map_err(|source| SandboxError::Folder {
        root: path.display().to_string(),
        source,
    })
}

/// A regular file that the operator named, with the most that is read of it.
#[derive(Debug)]
pub struct NamedFile {
    file: fs::File,
    path: PathBuf,
    limit_bytes: u64,
}

impl NamedFile {
    /// Opens a file, which is not read yet.
    ///
    /// # Errors
    ///
    /// [`SandboxError::File`] when it can't be opened or is not a regular file.
    pub fn open(path: &Path, limit_bytes: u64) -> Result<Self, SandboxError> {
        let mut options = fs::OpenOptions::new();
        options.read(true).custom_flags(nonblocking());
        Self::checked(options.open(path), path, limit_bytes)
    }

    /// Opens a file inside an open folder; links can't lead out of the folder.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_in(folder: &Dir, path: &Path, limit_bytes: u64) -> Result<Self, SandboxError> {
        let mut options = cap_std::fs::OpenOptions::new();
        cap_std::fs::OpenOptionsExt::custom_flags(options.read(true), nonblocking());
        let opened = folder.open_with(path, &options);
        Self::checked(opened.map(cap_std::fs::File::into_std), path, limit_bytes)
    }

    fn checked(
        opened: io::Result<fs::File>,
        path: &Path,
        limit_bytes: u64,
    ) -> Result<Self, SandboxError> {
        let regular = opened.and_then(|file| {
            if file.metadata()?.is_file() {
                return Ok(file);
            }
            let kind = io::ErrorKind::InvalidInput;
            Err(io::Error::new(kind, "not a regular file"))
        });
        match regular {
            Ok(file) => Ok(Self {
                file,
                path: path.to_owned(),
                limit_bytes,
            }),
            Err(source) => Err(SandboxError::File {
                path: path.display().to_string(),
                source,
            }),
        }
    }

    /// Reads the whole file.
    ///
    /// # Errors
    ///
    /// [`SandboxError::File`] when it can't be read or is larger than the limit.
    pub fn read(self) -> Result<Vec<u8>, SandboxError> {
        let length = self.file.metadata().map_or(0, |metadata| metadata.len());
        let length = length.min(self.limit_bytes).saturating_add(1);
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        self.each_piece(|piece| bytes.extend_from_slice(piece))?;
        Ok(bytes)
    }

    /// Reads the file in pieces, for what need not be held whole.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn each_piece(mut self, mut take: impl FnMut(&[u8])) -> Result<(), SandboxError> {
        let mut piece = vec![0; PIECE_BYTES];
        let mut left = self.limit_bytes;
        loop {
            let read = match self.file.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(read) => piece.get(..read).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.failed(error)),
            };
            let length = u64::try_from(read.len()).unwrap_or(u64::MAX);
            let Some(rest) = left.checked_sub(length) else {
                let reason = format!("larger than {} bytes", self.limit_bytes);
                return Err(self.failed(io::Error::new(io::ErrorKind::FileTooLarge, reason)));
            };
            left = rest;
            take(read);
        }
    }

    fn failed(&self, source: io::Error) -> SandboxError {
        SandboxError::File {
            path: self.path.display().to_string(),
            source,
        }
    }
}

/// Bytes of a file read at a time: as much as stays in the processor's cache.
const PIECE_BYTES: usize = 64 * 1024;

/// Reads a file the operator named, up to `limit_bytes`.
///
/// # Errors
///
/// [`SandboxError::File`] when it can't be read, is not a regular file, or is larger.
pub fn read_file(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, SandboxError> {
    NamedFile::open(path, limit_bytes)?.read()
}

/// Opens a file the operator named to append to, making it where it is missing, for this user alone.
///
/// # Errors
///
/// [`SandboxError::File`] when it can't be opened for writing.
pub fn append_to(path: &Path) -> Result<fs::File, SandboxError> {
    let mut options = fs::OpenOptions::new();
    let options = options.append(true).create(true).mode(0o600);
    let opened = options.custom_flags(nonblocking()).open(path);
    opened.map_err(|source| SandboxError::File {
        path: path.display().to_string(),
        source,
    })
}

/// Milliseconds since 1970-01-01 UTC; 0 on a clock that stands before.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

/// Opening a FIFO must not wait for its other end.
fn nonblocking() -> i32 {
    rustix::fs::OFlags::NONBLOCK.bits().cast_signed()
}

/// Whether the process's first argument is this one.
#[must_use]
pub fn first_argument_is(expected: &str) -> bool {
    std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == expected)
}

/// The value of one environment variable, if it is set and UTF-8.
#[must_use]
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Every environment variable whose name and value are UTF-8: what `env=*` grants.
#[must_use]
pub fn whole_environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The certificate authorities that the system trusts; those that can't be read are left out.
pub(crate) fn certificate_authorities() -> Vec<CertificateDer<'static>> {
    rustls_native_certs::load_native_certs().certs
}

/// 128 random bits from the system, as 32 hex digits: an id that nobody has seen before.
#[must_use]
pub fn random_id() -> String {
    use std::hash::{BuildHasher as _, RandomState};

    let mut bytes = [0_u8; 16];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(16) => format!("{:032x}", u128::from_ne_bytes(bytes)),
        // A kernel without the call: the standard library's own seeds are random too.
        _ => format!(
            "{:016x}{:016x}",
            RandomState::new().hash_one(0),
            RandomState::new().hash_one(1)
        ),
    }
}

/// The user's folder for cached data of this program, by the XDG base directory rules.
#[must_use]
pub fn user_cache_folder() -> Option<PathBuf> {
    user_folder("XDG_CACHE_HOME", ".cache")
}

/// The user's folder for configuration of this program, by the XDG base directory rules.
#[must_use]
pub fn user_config_folder() -> Option<PathBuf> {
    user_folder("XDG_CONFIG_HOME", ".config")
}

/// The user's folder for what this program remembers, by the XDG base directory rules.
#[must_use]
pub fn user_state_folder() -> Option<PathBuf> {
    user_folder("XDG_STATE_HOME", ".local/state")
}

/// The absolute path of a file that is there, links resolved: its name in records.
///
/// # Errors
///
/// [`SandboxError::File`] when there is no such file.
pub fn absolute(path: &Path) -> Result<PathBuf, SandboxError> {
    fs::canonicalize(path).map_err(|source| SandboxError::File {
        path: path.display().to_string(),
        source,
    })
}

/// Writes a file of an open folder whole or not at all, readable by this user alone.
///
/// # Errors
///
/// [`SandboxError::File`] when it can't be written.
pub fn write_private(folder: &Dir, name: &str, bytes: &[u8]) -> Result<(), SandboxError> {
    let write = || {
        let new = format!(".{name}.{}", random_id());
        let mut options = cap_std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = folder.open_with(&new, &options)?;
        file.write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| folder.rename(&new, folder, name))
            .inspect_err(|_kept_for_the_caller| {
                // A leftover is harmless: nothing reads it.
                drop(folder.remove_file(&new));
            })
    };
    write().map_err(|source| SandboxError::File {
        path: name.to_owned(),
        source,
    })
}

fn user_folder(variable: &str, in_home: &str) -> Option<PathBuf> {
    let base = environment(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(environment("HOME")?).join(in_home)))?;
    base.is_absolute().then(|| base.join("tidegate"))
}

/// Opens the cache folder, making it where it is missing, for this user alone.
///
/// What is loaded from it is native code, so a folder that others could have written is refused.
///
/// # Errors
///
/// [`SandboxError::Cache`] when it can't be made, belongs to another user, or others may write it.
pub fn open_cache(path: &Path) -> Result<Dir, SandboxError> {
    let refused = |reason: String| SandboxError::Cache {
        path: path.display().to_string(),
        reason,
    };
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path);
    made.map_err(|error| refused(error.to_string()))?;
    let dir = open_folder(path).map_err(|error| refused(error.to_string()))?;
    let metadata = dir.dir_metadata();
    let metadata = metadata.map_err(|error| refused(error.to_string()))?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused("it belongs to another user".to_owned()));
    }
    let mode = metadata.permissions().mode();
    if mode & 0o022 != 0 {
        let reason = "others can write in it; remove it, and it is made again".to_owned();
        return Err(refused(reason));
    }
    if mode & 0o055 != 0 {
        let only_ours = cap_std::fs::Permissions::from_mode(0o700);
        let closed = dir.set_permissions(".", only_ours);
        closed.map_err(|error| refused(error.to_string()))?;
    }
    Ok(dir)
}

/// Raises the soft limit of open files to the hard one: each running call may hold some.
pub fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if setrlimit(Resource::Nofile, raised).is_err() {
        // Fewer calls can hold files at once then; each still has its own bound.
    }
}

/// Opens a file for reading without ever waiting for its other end; the handle can be executed too.
///
/// # Errors
///
/// What the system said.
pub fn open_for_reading(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).custom_flags(nonblocking()).open(path)
}

/// A handle that names a file or a folder and can neither be read nor written.
///
/// # Errors
///
/// What the system said.
#[cfg(target_os = "linux")]
pub fn name_file(path: &Path) -> io::Result<OwnedFd> {
    let mut options = fs::OpenOptions::new();
    let flags = rustix::fs::OFlags::PATH.bits().cast_signed();
    let opened = options.read(true).custom_flags(flags).open(path);
    opened.map(OwnedFd::from)
}

/// Starts the launcher of native commands in a process group of its own, with nothing of this
/// process but `orders` as its standard input, and its output piped.
///
/// Without a hook between fork and exec the standard library spawns, so that a process with many
/// threads and much memory is never copied.
///
/// # Errors
///
/// What the system said.
pub fn start_launcher(launcher: &Launcher, orders: OwnedFd) -> io::Result<Child> {
    Command::new(&launcher.program)
        .args(&launcher.arguments)
        .env_clear()
        .process_group(0)
        .stdin(orders)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// Becomes another program, which sees these arguments, the first being its name, and this
/// environment. Returns only where that is not possible.
pub fn become_program(
    program: &Path,
    arguments: &[String],
    environment: &[(String, String)],
) -> io::Error {
    let (name, rest) = match arguments.split_first() {
        Some((name, rest)) => (name.as_str(), rest),
        None => ("", arguments),
    };
    let mut command = Command::new(program);
    command.arg0(name).args(rest).env_clear();
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command.exec()
}
