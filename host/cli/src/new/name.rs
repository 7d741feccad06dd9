//! Names of projects, which are names of tools and plugins too.

use anyhow::bail;

use super::Kind;
use crate::builtin::BUILTINS;

/// The longest name: that of a tool.
const MOST: usize = 64;

/// What a project in Rust depends on by this name.
const LIBRARY: &str = "tidegate-plugin";

/// Checks a name.
///
/// # Errors
///
/// What a name is made of; or that the product carries a tool or a plugin of that name, which no other
/// takes the place of.
pub(crate) fn check(name: &str, kind: Kind) -> anyhow::Result<()> {
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if !begins || !name.chars().all(is_part) || name.len() > MOST {
        bail!("a NAME is 1 to {MOST} letters, digits and `-`, a letter first");
    }
    if name == LIBRARY {
        bail!("`{name}` is the library of plugins in Rust; choose another NAME");
    }
    if BUILTINS.iter().any(|carried| carried.name == name) {
        bail!("tidegate carries a plugin `{name}` itself; choose another NAME");
    }
    if kind == Kind::Tool && BUILTINS.iter().any(|carried| carried.tools.contains(&name)) {
        bail!("tidegate carries a tool `{name}` itself; choose another NAME");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p3_names_are_letters_digits_and_hyphens_that_nothing_carried_has() {
        let (longest, longer) = ("x".repeat(64), "x".repeat(65));
        for (name, kind, refusal) in [
            ("word-count", Kind::Tool, None),
            ("X2", Kind::Sink, None),
            (&longest, Kind::Worker, None),
            (&longer, Kind::Worker, Some("1 to 64")),
            ("", Kind::Tool, Some("a letter first")),
            ("2x", Kind::Tool, Some("a letter first")),
            ("-x", Kind::Tool, Some("a letter first")),
            ("a_b", Kind::Tool, Some("a letter first")),
            ("a/b", Kind::Tool, Some("a letter first")),
            ("..", Kind::Tool, Some("a letter first")),
            ("\u{e9}t\u{e9}", Kind::Tool, Some("a letter first")),
            ("grep", Kind::Tool, Some("carries a tool `grep`")),
            ("tidegate-plugin", Kind::Sink, Some("the library")),
            ("grep", Kind::Worker, None),
            ("console", Kind::Sink, Some("carries a plugin `console`")),
        ] {
            match (check(name, kind), refusal) {
                (Ok(()), None) => {}
                (Err(error), Some(part)) => assert!(error.to_string().contains(part), "{error}"),
                (checked, _) => panic!("{name}: {checked:?}"),
            }
        }
    }
}
