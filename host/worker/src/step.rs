//! The name of a step within its run, with the lane of a fanout it ran in.

use std::fmt;

use crate::error::WorkerError;

/// The longest name of a step, so that `<step>[<lane>].md` is a file name anywhere.
const NAME_BYTES: usize = 64;

/// A step of a run: `plan`, or `review[2]` for the third lane of a fanout, so that each lane's
/// output has a name of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepKey {
    name: String,
    lane: Option<u32>,
}

impl StepKey {
    /// Checks a step's name: 1 to 64 of letters, digits, `_`, `-` and `.`, not a dot at either end.
    ///
    /// # Errors
    ///
    /// `InvalidRequest` for another.
    pub fn new(name: &str, lane: Option<u32>) -> Result<Self, WorkerError> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let fits = (1..=NAME_BYTES).contains(&name.len()) && name.bytes().all(is_letter);
        if !fits || name.starts_with('.') || name.ends_with('.') {
            return Err(WorkerError::InvalidRequest {
                reason: "a step's name is 1 to 64 of letters, digits, `_`, `-` and `.`".to_owned(),
            });
        }
        Ok(Self {
            name: name.to_owned(),
            lane,
        })
    }

    /// Reads the form that [`Display`](fmt::Display) writes.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn parse(text: &str) -> Result<Self, WorkerError> {
        let lane_of = |digits: &str| {
            let number: u32 = digits.parse().ok()?;
            // One lane, one spelling: no sign, no leading zero.
            (number.to_string() == digits).then_some(number)
        };
        match text.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
            None => Self::new(text, None),
            Some((name, digits)) => match lane_of(digits) {
                Some(lane) => Self::new(name, Some(lane)),
                // A bracket is in no step's name.
                None => Self::new(text, None),
            },
        }
    }

    /// The name that all lanes share.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file that the step's final body is projected to.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{self}.md")
    }
}

impl fmt::Display for StepKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        match self.lane {
            Some(lane) => write!(formatter, "[{lane}]"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gap8_each_lane_has_a_name_of_its_own() {
        for text in ["plan", "review[0]", "review[4294967295]", "a.b-c_d"] {
            assert_eq!(StepKey::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            ".",
            "..",
            ".x",
            "a/b",
            "a[",
            "a[]",
            "a[01]",
            "a[+1]",
            "a[1][2]",
            "a[-1]",
            "a[4294967296]",
            "é",
            "a b",
            "a\n",
        ] {
            assert_eq!(StepKey::parse(text).unwrap_err().status(), 400, "{text:?}");
        }
    }
}
