//! Names of parts: which are taken at all, which may also name a file, and when two of them would be
//! one file somewhere (SPEC I8).
//!
//! A name is an argument of a call and data first; the file is a courtesy. So what is only unfit for
//! a file keeps its data. Deliberately absent: repairing a name.

use std::fmt;

use unicode_normalization::UnicodeNormalization as _;

use crate::error::WorkerError;

/// The longest name, in bytes: what file systems allow.
const NAME_BYTES: usize = 255;

/// Characters that some file system gives a meaning to: separators, streams, patterns.
const RESERVED: [char; 9] = ['/', '\\', ':', '<', '>', '"', '|', '?', '*'];

/// The name of a part as its worker gave it, byte for byte: 1 to 255 bytes without NUL.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartName(String);

/// What the names of an auditor's artifacts start with.
pub(crate) const AUDIT: &str = "audit:";

impl PartName {
    /// Checks a name. Nothing is trimmed.
    ///
    /// # Errors
    ///
    /// `InvalidPartName` when it is empty, longer than 255 bytes, or holds a NUL.
    pub fn parse(text: &str) -> Result<Self, WorkerError> {
        let reason = if text.is_empty() {
            "it is empty"
        } else if text.len() > NAME_BYTES {
            "it is longer than 255 bytes"
        } else if text.contains('\0') {
            "it holds a NUL"
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(WorkerError::InvalidPartName { reason })
    }

    /// Whether it is of what an auditor says, which no worker may stage.
    #[must_use]
    pub fn is_the_auditors(&self) -> bool {
        self.0.starts_with(AUDIT)
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a name can't be a file's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It is `.` or `..`.
    Dots,
    /// It holds a separator, a control character or another that file systems give a meaning to.
    Character,
    /// It ends with a dot or a space, which some file systems drop.
    Ending,
    /// It is a device's on some system, whatever its extension.
    Device,
    /// Another part, step or lane of the run has a file that would be the same somewhere.
    Taken,
}

impl Unfit {
    /// The word that a store keeps.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Dots => "dots",
            Self::Character => "character",
            Self::Ending => "ending",
            Self::Device => "device",
            Self::Taken => "taken",
        }
    }

    /// The reason of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let all = [
            Self::Dots,
            Self::Character,
            Self::Ending,
            Self::Device,
            Self::Taken,
        ];
        all.into_iter().find(|unfit| unfit.word() == word)
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Dots => "it names a folder",
            Self::Character => "it holds a separator or another character that no file name has",
            Self::Ending => "it ends with a dot or a space",
            Self::Device => "it is the name of a device",
            Self::Taken => "another file of the run has this name, letter case aside",
        })
    }
}

/// Whether a name is a plain file name on every platform, clashes aside.
///
/// # Errors
///
/// Why it is not.
pub fn check_file_name(name: &str) -> Result<(), Unfit> {
    if name.is_empty() || name == "." || name == ".." {
        return Err(Unfit::Dots);
    }
    if name.contains(|c: char| c.is_control() || RESERVED.contains(&c)) {
        return Err(Unfit::Character);
    }
    if name.ends_with(['.', ' ']) {
        return Err(Unfit::Ending);
    }
    let stem = name.split('.').next().unwrap_or_default();
    if is_device(stem.trim_end_matches(' ')) {
        return Err(Unfit::Device);
    }
    Ok(())
}

/// The devices of Windows; the digits may be superscript there.
fn is_device(stem: &str) -> bool {
    let upper = stem.to_uppercase();
    if ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].contains(&upper.as_str()) {
        return true;
    }
    let number = ["COM", "LPT"]
        .iter()
        .find_map(|device| upper.strip_prefix(device));
    number.is_some_and(|number| {
        let mut characters = number.chars();
        let first = characters.next();
        first.is_some_and(|c| c.is_ascii_digit() || "¹²³".contains(c))
            && characters.next().is_none()
    })
}

/// What a name is compared by: two names with one fold would be one file on some file system.
///
/// Decomposed, without letter case, without characters that are not seen. It joins a few names more
/// than any one file system does (`ı` and `i`), and never fewer.
#[must_use]
pub fn fold_name(name: &str) -> String {
    name.nfd()
        .filter(|c| !is_ignorable(*c))
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfd()
        .collect()
}

/// Characters that case-insensitive file systems leave out when they compare.
fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i8_only_an_empty_long_or_nul_holding_name_is_refused_as_data() {
        for name in ["", "a\0b", &"a".repeat(256), &"é".repeat(128)] {
            assert_eq!(PartName::parse(name).unwrap_err().status(), 400, "{name:?}");
        }
        for name in ["plan.md", "../x", " ", &"a".repeat(255), "a/b"] {
            assert_eq!(PartName::parse(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn io01_names_that_lead_elsewhere_are_no_file_names() {
        for name in [
            "../x",
            "a/../../x",
            "/abs",
            "a/b",
            ".",
            "..",
            "",
            "a\0b",
            "ok\r\nX: 1",
        ] {
            assert!(check_file_name(name).is_err(), "{name:?}");
        }
        for name in [
            "a..b",
            ".env",
            "...b",
            "plan.md",
            "naïve.txt",
            "-rf",
            "a b",
            "~",
        ] {
            assert_eq!(check_file_name(name), Ok(()), "{name:?}");
        }
    }

    #[test]
    fn io02_windows_forms_are_no_file_names_on_any_platform() {
        for (name, why) in [
            ("c:x", Unfit::Character),
            ("foo/c:/windows/x", Unfit::Character),
            ("a\\b", Unfit::Character),
            ("README.md:stream", Unfit::Character),
            ("\\\\srv\\share", Unfit::Character),
            ("con", Unfit::Device),
            ("NUL.txt", Unfit::Device),
            ("Aux .tar.gz", Unfit::Device),
            ("com1", Unfit::Device),
            ("LPT³.md", Unfit::Device),
            ("x.", Unfit::Ending),
            ("x ", Unfit::Ending),
            ("...", Unfit::Ending),
        ] {
            assert_eq!(check_file_name(name), Err(why), "{name:?}");
        }
        for name in ["console", "com", "com10", "nul-1", "auxiliary.md"] {
            assert_eq!(check_file_name(name), Ok(()), "{name:?}");
        }
    }

    #[test]
    fn io13_names_that_some_file_system_takes_for_one_fold_alike() {
        for (one, other) in [
            ("caf\u{e9}.md", "cafe\u{301}.md"),
            ("A.txt", "a.txt"),
            ("STRASSE", "straße"),
            ("ΣΑΣ", "σας"),
            ("\u{212b}", "å"),
            ("ﬁle", "FILE"),
            ("a\u{200d}b", "ab"),
            ("\u{1e69}", "\u{73}\u{307}\u{323}"),
        ] {
            assert_eq!(fold_name(one), fold_name(other), "{one:?} {other:?}");
        }
        for (one, other) in [("a.txt", "b.txt"), ("cafe", "café"), ("a", "a.")] {
            assert_ne!(fold_name(one), fold_name(other), "{one:?} {other:?}");
        }
    }
}
