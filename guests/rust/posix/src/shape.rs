//! The fixed shape of a command's arguments: which options there are, and how many operands.
//!
//! Deliberately absent: joined short options, long forms, defaults; what is not in the shape is
//! refused, so that nothing else can be expressed.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::ops::RangeInclusive;

use crate::name;

/// What a command takes.
pub(crate) struct Shape {
    /// The whole shape for a reader.
    pub(crate) usage: &'static str,
    /// The options.
    pub(crate) options: &'static [Opt],
    /// Where the operands stand.
    pub(crate) operands: Operands,
    /// How many there are.
    pub(crate) count: RangeInclusive<usize>,
}

/// One option.
pub(crate) struct Opt {
    /// How it is written; with a value joined by `=` the `=` is part of it.
    pub(crate) name: &'static str,
    /// What follows it.
    pub(crate) value: Value,
    /// Whether the shape has to have it.
    pub(crate) presence: Presence,
}

/// What follows an option.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    None,
    Next,
    Joined,
}

/// Whether an option has to be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Required,
    Optional,
    /// One of those marked so has to be there, and only one.
    OneOf,
}

/// Where the operands stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Behind the options and `--`.
    Last,
    /// One before the options, as in `find`.
    First,
    /// There are none.
    None,
}

/// Why arguments were refused.
#[derive(Debug)]
pub(crate) enum Misuse {
    UnknownOption(String),
    Usage(&'static str),
}

impl fmt::Display for Misuse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownOption(option) => write!(formatter, "unknown option {option}"),
            Self::Usage(usage) => write!(formatter, "the only shape is: {usage}"),
        }
    }
}

/// The arguments of a command after its shape was checked.
#[derive(Debug)]
pub(crate) struct Arguments {
    options: Vec<(&'static str, OsString)>,
    operands: Vec<OsString>,
}

impl Arguments {
    /// Whether an option was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// The value of an option, empty for one without.
    pub(crate) fn value(&self, name: &str) -> Option<&OsStr> {
        let mut options = self.options.iter();
        options
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_os_str())
    }

    /// The first operand.
    pub(crate) fn first(&self) -> &OsStr {
        self.operands.first().map_or(OsStr::new(""), |first| first)
    }

    /// The operands behind the first.
    pub(crate) fn rest(&self) -> &[OsString] {
        self.operands.get(1..).unwrap_or_default()
    }
}

impl Shape {
    /// Checks arguments against the shape.
    pub(crate) fn parse(&self, arguments: Vec<OsString>) -> Result<Arguments, Misuse> {
        let mut arguments = arguments.into_iter();
        let mut options = Vec::new();
        let mut operands = Vec::new();
        if self.operands == Operands::First {
            operands.extend(arguments.next());
        }
        while let Some(argument) = arguments.next() {
            if argument == "--" && self.operands == Operands::Last {
                operands.extend(arguments.by_ref());
                break;
            }
            let (option, joined) = self.option(&argument)?;
            let value = match option.value {
                Value::None => OsString::new(),
                Value::Joined => joined.into(),
                Value::Next => arguments.next().ok_or(Misuse::Usage(self.usage))?,
            };
            options.push((option.name, value));
        }
        let arguments = Arguments { options, operands };
        if self.fits(&arguments) {
            Ok(arguments)
        } else {
            Err(Misuse::Usage(self.usage))
        }
    }

    /// The option that an argument is, and the value joined to it.
    fn option<'a>(&self, argument: &'a OsStr) -> Result<(&'static Opt, &'a str), Misuse> {
        let text = argument.to_str().unwrap_or("");
        let found = self.options.iter().find_map(|option| {
            let rest = text.strip_prefix(option.name)?;
            (option.value == Value::Joined || rest.is_empty()).then_some((option, rest))
        });
        let unknown = || {
            let shown = name::shown(argument.as_encoded_bytes()).into_owned();
            if shown.starts_with('-') {
                Misuse::UnknownOption(shown)
            } else {
                Misuse::Usage(self.usage)
            }
        };
        found.ok_or_else(unknown)
    }

    /// Whether the number of operands and of each option is right.
    fn fits(&self, arguments: &Arguments) -> bool {
        let times = |name: &str| {
            let given = arguments.options.iter();
            given.filter(|(known, _)| *known == name).count()
        };
        let mut choices = 0;
        let mut wants_choice = false;
        let each = self.options.iter().all(|option| match option.presence {
            Presence::Required => times(option.name) == 1,
            Presence::Optional => times(option.name) <= 1,
            Presence::OneOf => {
                choices += times(option.name);
                wants_choice = true;
                true
            }
        });
        each && choices == usize::from(wants_choice)
            && self.count.contains(&arguments.operands.len())
    }
}

/// An option without a value.
pub(crate) const fn flag(name: &'static str, presence: Presence) -> Opt {
    Opt {
        name,
        value: Value::None,
        presence,
    }
}

/// An option whose value is the next argument.
pub(crate) const fn valued(name: &'static str, presence: Presence) -> Opt {
    Opt {
        name,
        value: Value::Next,
        presence,
    }
}

/// The shape of a command that takes one path behind `--`.
pub(crate) const fn one_path(usage: &'static str, options: &'static [Opt]) -> Shape {
    Shape {
        usage,
        options,
        operands: Operands::Last,
        count: 1..=1,
    }
}

/// Reads a count written in decimal digits; one too large for the type is the largest.
pub(crate) fn decimal(text: &OsStr) -> Option<u64> {
    let text = text.to_str()?;
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Shape = Shape {
        usage: "sample -n N [-r] -a|-b -- path...",
        options: &[
            valued("-n", Presence::Required),
            flag("-r", Presence::Optional),
            flag("-a", Presence::OneOf),
            flag("-b", Presence::OneOf),
        ],
        operands: Operands::Last,
        count: 1..=2,
    };

    fn check(arguments: &[&str], expected: Result<&str, &str>) {
        let parsed = SAMPLE.parse(arguments.iter().map(OsString::from).collect());
        let got = parsed.map(|arguments| arguments.first().to_owned());
        match (got, expected) {
            (Ok(first), Ok(expected)) => assert_eq!(first, expected),
            (Err(misuse), Err(expected)) => assert!(misuse.to_string().contains(expected)),
            (got, expected) => panic!("{arguments:?}: {got:?}, not {expected:?}"),
        }
    }

    #[test]
    fn only_the_shape_is_taken() {
        check(&["-n", "1", "-a", "--", "x"], Ok("x"));
        check(&["-a", "-r", "-n", "1", "--", "-x", "y"], Ok("-x"));
        check(&["-n", "--", "-b", "--", "--"], Ok("--"));
        check(
            &["-n", "1", "-a", "-z", "--", "x"],
            Err("unknown option -z"),
        );
        check(&["-n", "1", "-ar", "--", "x"], Err("unknown option -ar"));
        check(&["-n", "1", "-a", "--x\ny"], Err("unknown option --x\\ny"));
        check(&["-n", "1", "-a", "x"], Err("sample -n N"));
        check(&["-n", "1", "--", "x"], Err("sample -n N"));
        check(&["-n", "1", "-a", "-b", "--", "x"], Err("sample -n N"));
        check(
            &["-n", "1", "-a", "-r", "-r", "--", "x"],
            Err("sample -n N"),
        );
        check(&["-a", "--", "x"], Err("sample -n N"));
        check(&["-n", "1", "-a", "--"], Err("sample -n N"));
        check(&["-n", "1", "-a", "--", "x", "y", "z"], Err("sample -n N"));
        check(&["-a", "-n"], Err("sample -n N"));
    }

    #[test]
    fn counts_are_plain_digits() {
        let check = |text: &str, expected| assert_eq!(decimal(OsStr::new(text)), expected);
        check("0", Some(0));
        check("1000", Some(1000));
        check("99999999999999999999", Some(u64::MAX));
        for text in ["", "-1", "+1", "1k", " 1", "x"] {
            check(text, None);
        }
    }
}
