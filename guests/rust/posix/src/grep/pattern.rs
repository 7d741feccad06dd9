//! A compiled pattern: what matches in lines, as GNU's grep has it in the C locale.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use regex_automata::Input;
use regex_automata::meta::{BuildError, Cache, Config, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_syntax::hir::{Class, ClassBytes, ClassBytesRange, Hir, HirKind};

use super::needle::Needle;
use super::syntax;
use crate::class::Set;

/// The largest automaton that a pattern may become, in bytes.
const AUTOMATON_BYTES: usize = 4 * 1024 * 1024;

/// How much the search may remember of an automaton, in bytes.
const CACHE_BYTES: usize = 4 * 1024 * 1024;

/// How a pattern is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    Basic,
    Fixed,
}

/// Whether letters of both cases are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Kept,
    Ignored,
}

/// Why a pattern was refused, in GNU's words where GNU refuses it too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    Invalid(&'static str),
    BackReference,
    TooLarge,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(problem) => formatter.write_str(problem),
            Self::BackReference => formatter.write_str("back-references are not supported"),
            Self::TooLarge => formatter.write_str("pattern too large"),
        }
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) enum Pattern {
    /// One text and nothing else.
    Text(Needle),
    /// Everything else, with what the search remembers.
    Automaton(Box<(Regex, Cache)>),
}

impl Pattern {
    /// Compiles a pattern; its lines are alternatives. Each of them may have a problem.
    pub(crate) fn new(pattern: &[u8], syntax: Syntax, case: Case) -> Result<Self, Vec<Problem>> {
        let mut seen = BTreeSet::new();
        let mut alternatives = Vec::new();
        let mut problems = Vec::new();
        for line in pattern.split(|byte| *byte == b'\n') {
            if !seen.insert(line) {
                continue;
            }
            match syntax {
                Syntax::Basic => match syntax::parse(line, case) {
                    Ok(alternative) => alternatives.push(alternative),
                    Err(problem) => problems.push(problem),
                },
                Syntax::Fixed => alternatives.push(fixed(line, case)),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let whole = Hir::alternation(alternatives);
        if let HirKind::Literal(text) = whole.kind()
            && let Some(needle) = Needle::new(&text.0)
        {
            return Ok(Self::Text(needle));
        }
        Self::automaton(&whole).map_err(|problem| vec![problem])
    }

    fn automaton(pattern: &Hir) -> Result<Self, Problem> {
        let config = Config::new()
            .utf8_empty(false)
            .nfa_size_limit(Some(AUTOMATON_BYTES))
            .hybrid_cache_capacity(CACHE_BYTES)
            .which_captures(WhichCaptures::Implicit);
        let built = Regex::builder().configure(config).build_from_hir(pattern);
        let regex = built.map_err(|error: BuildError| match error.size_limit() {
            Some(_) => Problem::TooLarge,
            None => Problem::Invalid("Invalid regular expression"),
        })?;
        let cache = regex.create_cache();
        Ok(Self::Automaton(Box::new((regex, cache))))
    }

    /// Where the first match at or behind a place is known to end; it may go on in its line.
    pub(crate) fn search(&mut self, text: &[u8], at: usize) -> Option<usize> {
        match self {
            Self::Text(needle) => {
                let found = needle.find(text.get(at..)?)?;
                Some(at + found + needle.len())
            }
            Self::Automaton(automaton) => {
                let (regex, cache) = &mut **automaton;
                let input = Input::new(text).range(at..).earliest(true);
                let found = regex.search_half_with(cache, &input)?;
                Some(found.offset())
            }
        }
    }

    /// The first match in a line.
    pub(crate) fn find(&self, line: &[u8]) -> Option<Range<usize>> {
        match self {
            Self::Text(needle) => {
                let start = needle.find(line)?;
                Some(start..start + needle.len())
            }
            Self::Automaton(automaton) => Some(automaton.0.find(line)?.range()),
        }
    }
}

fn fixed(text: &[u8], case: Case) -> Hir {
    Hir::concat(text.iter().map(|byte| literal(*byte, case)).collect())
}

/// One byte; a letter in both cases where the case is ignored.
pub(crate) fn literal(byte: u8, case: Case) -> Hir {
    if case == Case::Kept || !byte.is_ascii_alphabetic() {
        return Hir::literal([byte]);
    }
    Hir::class(Class::Bytes(ClassBytes::new([
        ClassBytesRange::new(byte.to_ascii_uppercase(), byte.to_ascii_uppercase()),
        ClassBytesRange::new(byte.to_ascii_lowercase(), byte.to_ascii_lowercase()),
    ])))
}

/// One byte of a set. The newline is never in it: a match stays in its line.
pub(crate) fn one_of(set: &Set) -> Hir {
    let bytes = (0..=u8::MAX).filter(|byte| *byte != b'\n' && set.contains(*byte));
    let ranges = bytes.map(|byte| ClassBytesRange::new(byte, byte));
    Hir::class(Class::Bytes(ClassBytes::new(ranges)))
}
