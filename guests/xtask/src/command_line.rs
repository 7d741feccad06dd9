//! What was typed: one command, and for some of them what it works on.

use std::ffi::OsString;

use crate::failure::Failure;

/// What `cargo xtask --help` prints.
pub(crate) const HELP: &str = "\
Builds and checks Tidegate.

Usage: cargo xtask COMMAND [-- ARGUMENTS]

Commands:
  demo      build what is needed and run the first example: start here
  guests    build the guest plugins into guests/dist; --only NAME: one guest or one language
  test      build guests and host, then run all tests, those in the documentation too
  check     formatting, clippy and documentation of host and guests; a warning is an error
  figures   measure, and print each figure beside its goal
  soak      make 200,000 calls, 2,000 of them hostile, and look for what is left behind: a minute
  fuzz      feed one fuzz target, or each in turn, for some seconds; see docs/fuzzing.md

`fuzz` takes the name of a target and --seconds N (60):
  cargo xtask fuzz json --seconds 600

Arguments after `--` go to the tests or to the figures:
  cargo xtask test -- expired_token      the tests that have this in their name
  cargo xtask test -- --nocapture        show what the tests print

Guests compile for wasm32-wasip2. If the active Rust toolchain can't, rustup is asked for that
target. Where it is refused, a private compiler is made once in target/guest-toolchain, from
Debian 12's packages; nothing is installed.
Guests in C, Go, JavaScript and Python need python3 with pip, and npm. Their compilers are downloaded
once into the user's cache folder; where a registry does not answer, its guests are left out.
  TIDEGATE_GUEST_TOOLCHAIN=rustup        don't make a private compiler: fail
  TIDEGATE_GUEST_TOOLCHAIN=fallback      use the private compiler in any case
  CARGO_TARGET_DIR=FOLDER                build there in place of target
";

/// A command with what it needs to know.
#[derive(Debug, PartialEq)]
pub(crate) enum Task {
    Help,
    /// All guests, or those of one name or language.
    Guests(Option<String>),
    Demo,
    Test(Vec<OsString>),
    Check,
    Figures(Vec<OsString>),
    Soak,
    Fuzz(Fuzz),
}

/// What to fuzz, and for how long.
#[derive(Debug, PartialEq)]
pub(crate) struct Fuzz {
    /// One target; all where it is absent.
    pub(crate) target: Option<String>,
    /// Seconds for each target.
    pub(crate) seconds: u32,
}

/// Long enough to find what is shallow, short enough to wait for.
const FUZZ_SECONDS: u32 = 60;

/// Reads the words after `cargo xtask`.
///
/// # Errors
/// [`Failure::Usage`] says which word is wrong and what would be right.
pub(crate) fn read(words: impl Iterator<Item = OsString>) -> Result<Task, Failure> {
    let mut words: Vec<OsString> = words.collect();
    let separator = words.iter().position(|word| word == "--");
    let arguments = separator.map(|at| words.split_off(at).split_off(1));
    let words: Vec<&str> = words
        .iter()
        .map(|word| word.to_str().unwrap_or("?"))
        .collect();
    if words
        .iter()
        .any(|word| matches!(*word, "-h" | "--help" | "help"))
    {
        return Ok(Task::Help);
    }
    let (command, rest) = match words.as_slice() {
        [] => return Err(Failure::Usage("a command is missing".to_owned())),
        [command, rest @ ..] => (*command, rest),
    };
    if let ("fuzz", None) = (command, &arguments) {
        return read_fuzz(rest).map(Task::Fuzz);
    }
    let (only, rest) = match (command, rest) {
        ("guests", ["--only", name, rest @ ..]) => (Some((*name).to_owned()), rest),
        ("guests", ["--only"]) => {
            let problem = "`--only` takes the name of a guest or a language".to_owned();
            return Err(Failure::Usage(problem));
        }
        _ => (None, rest),
    };
    let task = match command {
        "guests" => Task::Guests(only),
        "demo" => Task::Demo,
        "test" => Task::Test(arguments.clone().unwrap_or_default()),
        "check" => Task::Check,
        "figures" => Task::Figures(arguments.clone().unwrap_or_default()),
        "soak" => Task::Soak,
        "fuzz" => {
            let problem = "`fuzz` takes no arguments after `--`".to_owned();
            return Err(Failure::Usage(problem));
        }
        _ => return Err(Failure::Usage(format!("there is no command `{command}`"))),
    };
    match (&task, rest, arguments) {
        (Task::Test(_) | Task::Figures(_), [first, ..], _) => Err(Failure::Usage(format!(
            "`{first}` should stand after `--`: cargo xtask {command} -- {first}"
        ))),
        (_, [first, ..], _) => Err(Failure::Usage(format!(
            "`{command}` takes no argument, and got `{first}`"
        ))),
        (Task::Test(_) | Task::Figures(_), [], _) | (_, [], None) => Ok(task),
        (_, [], Some(_)) => Err(Failure::Usage(format!(
            "`{command}` takes no arguments after `--`"
        ))),
    }
}

fn read_fuzz(mut words: &[&str]) -> Result<Fuzz, Failure> {
    let mut fuzz = Fuzz {
        target: None,
        seconds: FUZZ_SECONDS,
    };
    while let [word, rest @ ..] = words {
        words = rest;
        let value = match word.split_once('=') {
            Some(("--seconds", value)) => Some(value),
            None if *word == "--seconds" => {
                let (value, rest) = words.split_first().unwrap_or((&"", &[]));
                words = rest;
                Some(*value)
            }
            _ => None,
        };
        match value.map(str::parse) {
            Some(Ok(seconds)) if seconds > 0 => fuzz.seconds = seconds,
            Some(_) => {
                let problem = "`--seconds` takes a whole number from 1".to_owned();
                return Err(Failure::Usage(problem));
            }
            None if word.starts_with('-') || fuzz.target.is_some() => {
                let problem = format!("`fuzz` takes one target and --seconds, and got `{word}`");
                return Err(Failure::Usage(problem));
            }
            None => fuzz.target = Some((*word).to_owned()),
        }
    }
    Ok(fuzz)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(typed: &str, expected: Result<Task, &str>) {
        let read = read(typed.split_whitespace().map(OsString::from));
        match (read, expected) {
            (Ok(task), Ok(expected)) => assert_eq!(task, expected, "{typed}"),
            (Err(failure), Err(part)) => {
                assert!(failure.with_causes().contains(part), "{typed}: {failure}");
            }
            (read, expected) => panic!("{typed}: {read:?} and not {expected:?}"),
        }
    }

    #[test]
    fn each_command_is_read_with_its_arguments() {
        let arguments = |words: &[&str]| words.iter().map(OsString::from).collect();
        check("guests", Ok(Task::Guests(None)));
        check(
            "guests --only digest",
            Ok(Task::Guests(Some("digest".to_owned()))),
        );
        check("demo", Ok(Task::Demo));
        check("check", Ok(Task::Check));
        check("test", Ok(Task::Test(vec![])));
        check("test --", Ok(Task::Test(vec![])));
        check(
            "test -- --exact a -- b",
            Ok(Task::Test(arguments(&["--exact", "a", "--", "b"]))),
        );
        check("test -- --help", Ok(Task::Test(arguments(&["--help"]))));
        check("figures -- warm", Ok(Task::Figures(arguments(&["warm"]))));
        let fuzz = |target: Option<&str>, seconds| {
            let target = target.map(str::to_owned);
            Ok(Task::Fuzz(Fuzz { target, seconds }))
        };
        check("fuzz", fuzz(None, 60));
        check("fuzz json", fuzz(Some("json"), 60));
        check("fuzz json --seconds 5", fuzz(Some("json"), 5));
        check("fuzz --seconds=5 json", fuzz(Some("json"), 5));
        for help in ["help", "--help", "-h", "test --help", "help test"] {
            check(help, Ok(Task::Help));
        }
    }

    #[test]
    fn a_wrong_word_is_named() {
        check("", Err("a command is missing"));
        check("-- demo", Err("a command is missing"));
        check("tests", Err("there is no command `tests`"));
        check("test name", Err("cargo xtask test -- name"));
        check(
            "check name",
            Err("`check` takes no argument, and got `name`"),
        );
        check("guests --only", Err("the name of a guest or a language"));
        check(
            "guests --only a b",
            Err("`guests` takes no argument, and got `b`"),
        );
        check("guests digest", Err("and got `digest`"));
        check("fuzz json calls", Err("got `calls`"));
        check("fuzz --fast", Err("got `--fast`"));
        check("fuzz --seconds", Err("a whole number from 1"));
        check("fuzz --seconds 0", Err("a whole number from 1"));
        check("fuzz -- json", Err("`fuzz` takes no arguments after `--`"));
        check("demo -- name", Err("`demo` takes no arguments after `--`"));
    }
}
