//! The name of a step within its run, with the lanes of the fanouts it ran in.

use std::fmt;

use crate::error::WorkerError;

/// The longest name of a step, so that `<step>[<lane>].md` is a file name anywhere.
const NAME_BYTES: usize = 64;

/// The most fanouts that a step may stand in.
pub const LANES: usize = 4;

/// A step of a run: `plan`, or `review[2][0]` for the first lane of a fanout that stands in the third
/// lane of another, so that each lane's output has a name of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepKey {
    name: String,
    lanes: Vec<u32>,
}

impl StepKey {
    /// Checks a step's name: 1 to 64 of letters, digits, `_`, `-` and `.`, not a dot at either end;
    /// and its lanes, outermost first: at most 4.
    ///
    /// # Errors
    ///
    /// `InvalidRequest` for another.
    pub fn new(name: &str, lanes: &[u32]) -> Result<Self, WorkerError> {
        let invalid = |reason: &str| WorkerError::InvalidRequest {
            reason: reason.to_owned(),
        };
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let fits = (1..=NAME_BYTES).contains(&name.len()) && name.bytes().all(is_letter);
        if !fits || name.starts_with('.') || name.ends_with('.') {
            return Err(invalid(
                "a step's name is 1 to 64 of letters, digits, `_`, `-` and `.`",
            ));
        }
        if lanes.len() > LANES {
            return Err(invalid("a step stands in at most 4 fanouts"));
        }
        Ok(Self {
            name: name.to_owned(),
            lanes: lanes.to_vec(),
        })
    }

    /// Reads the form that [`Display`](fmt::Display) writes.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn parse(text: &str) -> Result<Self, WorkerError> {
        let (name, brackets) = match text.find('[') {
            None => (text, ""),
            Some(at) => text.split_at(at),
        };
        match lanes_of(brackets) {
            Some(lanes) => Self::new(name, &lanes),
            // A bracket is in no step's name.
            None => Self::new(text, &[]),
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

/// The numbers of `[2][0]`; `None` for what is not written so.
fn lanes_of(brackets: &str) -> Option<Vec<u32>> {
    let mut lanes = Vec::new();
    let mut rest = brackets;
    while !rest.is_empty() {
        let (digits, after) = rest.strip_prefix('[')?.split_once(']')?;
        let lane: u32 = digits.parse().ok()?;
        // One lane, one spelling: no sign, no leading zero. No more lanes than any step has.
        if lane.to_string() != digits || lanes.len() == LANES {
            return None;
        }
        lanes.push(lane);
        rest = after;
    }
    Some(lanes)
}

impl fmt::Display for StepKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        for lane in &self.lanes {
            write!(formatter, "[{lane}]")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gap8_each_lane_has_a_name_of_its_own() {
        for text in [
            "plan",
            "review[0]",
            "review[4294967295]",
            "review[2][1]",
            "r[0][1][2][3]",
            "a.b-c_d",
        ] {
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
            "[0]",
            "a[0]b",
            "a[0]b[1]",
            "a[1][",
            "a[1][]",
            "a[1] [2]",
            "a[0][1][2][3][4]",
            "a[-1]",
            "a[4294967296]",
            "é",
            "a b",
            "a\n",
        ] {
            assert_eq!(StepKey::parse(text).unwrap_err().status(), 400, "{text:?}");
        }
    }

    #[test]
    fn gap8_a_step_stands_in_four_fanouts_at_most() {
        for (lanes, fits) in [(3, true), (4, true), (5, false)] {
            assert_eq!(StepKey::new("review", &vec![0; lanes]).is_ok(), fits);
        }
    }
}
