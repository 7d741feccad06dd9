//! What the operator says about native commands: data; nothing is opened here.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

use crate::command::Launcher;
use crate::command::native;

/// One command that the operator offers: a name and the program that it means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NativeCommand {
    /// What plugins and grants call it: not empty, no `/`.
    pub name: String,
    /// The program: an absolute path, opened once.
    pub path: PathBuf,
    /// What the program's bytes must be; `None` takes what is there at load.
    pub digest: Option<Digest>,
    /// What the command may read and execute besides itself: programs that it starts, its own data,
    /// libraries that are not in the system's folders. Absolute paths, at most 64, opened once; of
    /// what is replaced by an update, name the folder.
    pub also: Vec<PathBuf>,
}

/// A SHA-256 digest, written as 64 hexadecimal digits, with or without `sha256:` before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest([u8; 32]);

/// A text that is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a digest is 64 hexadecimal digits")]
pub struct DigestError;

impl Digest {
    /// A digest from its bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text).as_bytes();
        let (pairs, []) = digits.as_chunks::<2>() else {
            return Err(DigestError);
        };
        let bytes: Option<Vec<u8>> = pairs
            .iter()
            .map(|[high, low]| Some(nibble(*high)? << 4 | nibble(*low)?))
            .collect();
        let bytes = bytes.ok_or(DigestError)?;
        bytes
            .try_into()
            .map(Self)
            .map_err(|_wrong_length| DigestError)
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// One protection that only the kernel can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Landlock (Linux 5.13): only what is granted can be read, nothing can be written.
    Landlock,
    /// Seccomp filters: no network, no leaving of the process group, no reach into the system.
    Seccomp,
}

impl Layer {
    /// Every layer.
    pub const ALL: [Self; 2] = [Self::Landlock, Self::Seccomp];

    /// The layers that this kernel lacks.
    #[must_use]
    pub fn missing_here() -> Vec<Self> {
        let mut layers = Self::ALL.to_vec();
        layers.retain(|layer| !native::has(*layer));
        layers
    }

    /// The word used in the config file and in messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Resource limits of a command's processes. A limit that the host itself is under can only be
/// lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// CPU time of each process. Default: 10.
    pub cpu_seconds: u64,
    /// Address space of each process. Default: 1 GiB, since programs reserve far more than they use.
    pub address_space_bytes: u64,
    /// Descriptors that each process may have open. Default: 64.
    pub open_files: u64,
    /// Processes and threads that may be added to those of the whole machine at the start of a run.
    /// Default: 64. The kernel counts by user and never stops the superuser.
    pub processes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cpu_seconds: 10,
            address_space_bytes: 1 << 30,
            open_files: 64,
            processes: 64,
        }
    }
}

/// How native commands are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The program that confines itself and becomes the command. Default: this program.
    pub launcher: Launcher,
    /// What each process of a command may use.
    pub limits: Limits,
    /// What the kernel lacks. Default: [`Layer::missing_here`].
    pub missing: Vec<Layer>,
    /// What may be missing. Default: nothing, so that a weaker kernel runs no commands.
    pub allow_missing: Vec<Layer>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            launcher: Launcher::this_program(),
            limits: Limits::default(),
            missing: Layer::missing_here(),
            allow_missing: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_64_hexadecimal_digits() {
        let digits = "00ff".repeat(16);
        let digest: Digest = digits.parse().unwrap();
        assert_eq!(digest.to_string(), digits);
        assert_eq!(format!("sha256:{digits}").parse(), Ok(digest));
        assert_eq!(digits.to_uppercase().parse(), Ok(digest));
        let short = |length| digits.get(..length).unwrap();
        let (long, other) = (format!("{digits}00"), "g".repeat(64));
        for wrong in ["", "00", short(63), short(62), &long, &other] {
            assert_eq!(wrong.parse::<Digest>(), Err(DigestError), "{wrong}");
        }
    }
}
