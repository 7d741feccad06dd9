//! Basic regular expressions, as GNU's grep reads them, turned into what the engine compiles.
//!
//! Groups are kept on a stack of our own, so that a pattern cannot use up the real one.
//! Deliberately absent: back-references, which no automaton can match.

use regex_syntax::hir::{Hir, Look, Repetition};

use super::bracket;
use super::pattern::{Case, Problem, literal, one_of};
use crate::class::{Set, is_space};

/// The deepest nesting of groups: the engine's compiler goes into each by recursion.
const MAX_DEPTH: usize = 200;

/// The most that an interval can ask for.
const MAX_REPEAT: u32 = 32_767;

/// Turns one line of a pattern into an expression.
pub(crate) fn parse(pattern: &[u8], case: Case) -> Result<Hir, Problem> {
    let mut parser = Parser {
        rest: pattern,
        case,
        group: Group::default(),
        outer: Vec::new(),
        closed: 0,
        has_bare_class: false,
    };
    while let Some((byte, rest)) = parser.rest.split_first() {
        parser.rest = rest;
        parser.byte(*byte)?;
    }
    if !parser.outer.is_empty() {
        return Err(Problem::Invalid("Unmatched ( or \\("));
    }
    if parser.has_bare_class {
        let problem = "character class syntax is [[:space:]], not [:space:]";
        return Err(Problem::Invalid(problem));
    }
    Ok(parser.group.finish())
}

/// One group while it is read.
struct Group {
    alternatives: Vec<Hir>,
    sequence: Vec<Hir>,
    /// Whether only anchors and the like stand before: there `*` is itself.
    at_start: bool,
    /// Whether nothing at all stands before: there `^` is an anchor.
    at_very_start: bool,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            alternatives: Vec::new(),
            sequence: Vec::new(),
            at_start: true,
            at_very_start: true,
        }
    }
}

impl Group {
    /// Takes something that uses up bytes.
    fn push(&mut self, item: Hir) {
        self.sequence.push(item);
        self.at_start = false;
        self.at_very_start = false;
    }

    fn push_look(&mut self, look: Look) {
        self.sequence.push(Hir::look(look));
        self.at_very_start = false;
    }

    /// Ends one alternative and starts the next.
    fn alternative(&mut self) {
        let sequence = std::mem::take(&mut self.sequence);
        self.alternatives.push(Hir::concat(sequence));
        self.at_start = true;
        self.at_very_start = true;
    }

    fn finish(mut self) -> Hir {
        self.alternative();
        Hir::alternation(self.alternatives)
    }
}

struct Parser<'a> {
    rest: &'a [u8],
    case: Case,
    group: Group,
    outer: Vec<Group>,
    /// How many groups were closed.
    closed: u32,
    /// Whether there was a class without its own brackets: an error that GNU tells last.
    has_bare_class: bool,
}

impl Parser<'_> {
    fn byte(&mut self, byte: u8) -> Result<(), Problem> {
        match byte {
            b'\\' => return self.escape(),
            b'*' if !self.group.at_start => self.repeat(0, None),
            b'.' => self.group.push(one_of(&Set::of(|_| true))),
            b'[' => {
                let bracket = bracket::parse(self.rest, self.case)?;
                self.rest = bracket.rest;
                self.has_bare_class |= bracket.is_bare_class;
                self.group.push(one_of(&bracket.set));
            }
            b'^' if self.group.at_very_start => self.group.push_look(Look::StartLF),
            b'$' if self.is_before_end() => self.group.push_look(Look::EndLF),
            byte => self.group.push(literal(byte, self.case)),
        }
        Ok(())
    }

    fn escape(&mut self) -> Result<(), Problem> {
        let Some((byte, rest)) = self.rest.split_first() else {
            return Err(Problem::Invalid("Trailing backslash"));
        };
        self.rest = rest;
        match byte {
            b'(' => return self.open(),
            b')' => return self.close(),
            b'{' if !self.group.at_start => return self.interval(),
            b'1'..=b'9' => return Err(self.back_reference(*byte)),
            b'|' => self.group.alternative(),
            b'+' if !self.group.at_start => self.repeat(1, None),
            b'?' if !self.group.at_start => self.repeat(0, Some(1)),
            b'<' => self.group.push_look(Look::WordStartAscii),
            b'>' => self.group.push_look(Look::WordEndAscii),
            b'b' => self.group.push_look(Look::WordAscii),
            b'B' => self.group.push_look(Look::WordAsciiNegate),
            b'`' => self.group.push_look(Look::StartLF),
            b'\'' => self.group.push_look(Look::EndLF),
            b'w' => self.group.push(one_of(&Set::of(is_word))),
            b'W' => self.group.push(one_of(&Set::of(|byte| !is_word(byte)))),
            b's' => self.group.push(one_of(&Set::of(is_space))),
            b'S' => self.group.push(one_of(&Set::of(|byte| !is_space(byte)))),
            byte => self.group.push(literal(*byte, self.case)),
        }
        Ok(())
    }

    fn open(&mut self) -> Result<(), Problem> {
        if self.outer.len() >= MAX_DEPTH {
            return Err(Problem::TooLarge);
        }
        self.outer.push(std::mem::take(&mut self.group));
        Ok(())
    }

    fn close(&mut self) -> Result<(), Problem> {
        let outer = self.outer.pop();
        let outer = outer.ok_or(Problem::Invalid("Unmatched ) or \\)"))?;
        let group = std::mem::replace(&mut self.group, outer);
        self.group.push(group.finish());
        self.closed += 1;
        Ok(())
    }

    fn back_reference(&self, digit: u8) -> Problem {
        if u32::from(digit - b'0') > self.closed {
            Problem::Invalid("Invalid back reference")
        } else {
            Problem::BackReference
        }
    }

    /// Whether a `$` stands at the end of the pattern, of a group or of an alternative.
    fn is_before_end(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with(b"\\)") || self.rest.starts_with(b"\\|")
    }

    /// Repeats what stands before.
    fn repeat(&mut self, min: u32, max: Option<u32>) {
        let item = self.group.sequence.pop().unwrap_or_else(Hir::empty);
        self.group.push(Hir::repetition(Repetition {
            min,
            max,
            greedy: true,
            sub: Box::new(item),
        }));
    }

    /// Reads `m\}`, `m,\}`, `,n\}` or `m,n\}`.
    fn interval(&mut self) -> Result<(), Problem> {
        let text = self.rest;
        let min = self.number();
        let (min, max) = if let Some(rest) = self.rest.strip_prefix(b",") {
            self.rest = rest;
            (min.unwrap_or(0), self.number())
        } else {
            let min = min.ok_or_else(|| bad_interval(text))?;
            (min, Some(min))
        };
        let rest = self.rest.strip_prefix(b"\\}");
        self.rest = rest.ok_or_else(|| bad_interval(text))?;
        if max.is_some_and(|max| max < min) {
            return Err(bad_interval(text));
        }
        if max.unwrap_or(min) > MAX_REPEAT {
            return Err(Problem::Invalid("Regular expression too big"));
        }
        self.repeat(min, max);
        Ok(())
    }

    /// Reads digits; a number past every bound is just past it.
    fn number(&mut self) -> Option<u32> {
        let mut number = None;
        while let [digit @ b'0'..=b'9', rest @ ..] = self.rest {
            self.rest = rest;
            let before: u32 = number.unwrap_or(0);
            let next = before * 10 + u32::from(digit - b'0');
            number = Some(next.min(MAX_REPEAT + 1));
        }
        number
    }
}

/// What is wrong with an interval: as GNU does, its two numbers are skipped, whatever they are,
/// to see whether it ends.
fn bad_interval(mut text: &[u8]) -> Problem {
    let mut numbers = 0;
    loop {
        text = match text {
            [b'\\', b'}', ..] => break,
            [b',', rest @ ..] => {
                numbers += 1;
                rest
            }
            [b'\\', _, rest @ ..] | [_, rest @ ..] => rest,
            [] => return Problem::Invalid("Unmatched \\{"),
        };
        if numbers == 2 {
            break;
        }
    }
    Problem::Invalid("Invalid content of \\{\\}")
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
