//! Absolute and home paths: POSIX, drive, UNC, `file:`, `~`, `$HOME`. The path of a URL is none.

use super::credential::is_quote;
use super::scan::{Finding, Kind, Scan, is_in, is_word_letter};

/// First folders of Unix systems: enough to know a path by, even one of a single name.
const ROOTS: &str = "\
    app bin boot builds cygdrive dev etc github home lib lib32 lib64 lost+found media mnt nix \
    opt private proc root run sbin snap srv sys sysroot tmp usr var volumes workdir workspace";

/// First folders that are ordinary words too: they count where more follows.
const DEEP_ROOTS: &str = "applications code data library repo src system users work";

const WINDOWS_ROOTS: &str = "documents program programdata temp users windows winnt";

/// Variables that hold somebody's folder, or one of the system.
const HOMES: &str = "\
    home userprofile appdata localappdata homepath homedrive tmpdir temp programdata \
    programfiles systemroot systemdrive windir pwd oldpwd xdg_config_home xdg_cache_home \
    xdg_data_home xdg_state_home xdg_runtime_dir";

/// Words before a single `/name` that make it a path rather than one of two choices.
const BEFORE_PATHS: &str = "\
    access accessing at cat cd create creating dir directory exec file find folder from in \
    inside into load loading ls mkdir mount mounted open opened opening path remove removing \
    rm root stat to under within workspace";

/// Adds every absolute or home path in the text.
pub(crate) fn find(scan: &Scan, found: &mut Vec<Finding>) {
    let mut at = 0;
    let mut query_end = 0;
    while at < scan.len() {
        if scan.has(at, "://") && !is_drive(scan, at.saturating_sub(1)) {
            match url(scan, at) {
                Url::Local(finding) => {
                    at = finding.end.max(at + 1);
                    found.push(finding);
                }
                Url::Remote { query, end } => {
                    at = query;
                    query_end = end;
                }
            }
            continue;
        }
        let place = if at < query_end {
            Place::Query
        } else {
            Place::Text
        };
        match starting_at(scan, at, place) {
            Some(finding) => {
                at = finding.end.max(at + 1);
                found.push(finding);
            }
            None => at += 1,
        }
    }
}

/// Where a slash stands: values in a URL's query are often paths of the same site.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    Query,
}

enum Url {
    /// It names a file of this machine.
    Local(Finding),
    /// Its own path is to be skipped up to its query.
    Remote { query: usize, end: usize },
}

/// Judges a URL by what stands around its `://`.
fn url(scan: &Scan, colon: usize) -> Url {
    let start = scan.skip_back(colon, |letter| {
        letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.')
    });
    let scheme = scan.word(start, colon);
    let host = colon + 3;
    let is_local = scheme.ends_with("file") || scan.at(host).is_some_and(is_separator);
    if is_local && scan.at(host).is_some_and(|first| !ends_word(first)) {
        return Url::Local(path(scan, start, host));
    }
    let end = scan.skip(host, |letter| {
        !ends_word(letter) && !matches!(letter, '(' | '[' | '{' | ',' | ';' | '|')
    });
    let end = end.max(host);
    let query = scan
        .skip(host, |letter| !matches!(letter, '?' | '#'))
        .min(end);
    Url::Remote { query, end }
}

fn is_separator(letter: char) -> bool {
    matches!(letter, '/' | '\\')
}

/// White space, quotes and closing brackets: where a path or URL is over.
fn ends_word(letter: char) -> bool {
    letter.is_whitespace()
        || letter.is_control()
        || is_quote(letter)
        || matches!(letter, ')' | ']' | '}' | '<' | '>')
}

/// The finding for a path that is told by what stands at `start`; `inside` is behind that.
fn path(scan: &Scan, start: usize, inside: usize) -> Finding {
    let opening = scan.before(start).filter(|quote| is_quote(*quote));
    let closing = opening.and_then(|quote| {
        let end = scan.skip(inside, |letter| letter != quote);
        (end < scan.len()).then_some(end)
    });
    let mut end = scan.skip(inside, |letter| !ends_word(letter));
    // "C:\Program Files\x": the next word goes on with the path when it has a backslash too.
    while scan.at(end) == Some(' ') && scan.slice(start, end).contains(&'\\') {
        let next = scan.skip(end + 1, |letter| !ends_word(letter));
        if !scan.slice(end, next).contains(&'\\') || next == end + 1 {
            break;
        }
        end = next;
    }
    let trimmed = scan.skip_back(end, |letter| {
        matches!(letter, '.' | ',' | ':' | ';' | '!' | '?')
    });
    Finding {
        start,
        end: closing.unwrap_or(trimmed).max(inside),
        kind: Kind::Path,
    }
}

/// The path that starts here.
fn starting_at(scan: &Scan, at: usize, place: Place) -> Option<Finding> {
    let inside = match scan.at(at)? {
        '/' => posix(scan, at, place),
        '\\' => backslash(scan, at),
        '~' => home(scan, at),
        '$' | '%' => variable(scan, at),
        'f' | 'F' => file_scheme(scan, at),
        _ => None,
    };
    let drive = || is_drive(scan, at).then_some(at + 3);
    inside.or_else(drive).map(|inside| path(scan, at, inside))
}

/// A letter, a colon and a separator.
fn is_drive(scan: &Scan, at: usize) -> bool {
    let is_letter = scan
        .at(at)
        .is_some_and(|letter| letter.is_ascii_alphabetic());
    let is_start = scan
        .before(at)
        .is_none_or(|before| !is_word_letter(before) && !matches!(before, '_' | '-' | '+' | '.'));
    is_letter
        && is_start
        && scan.at(at + 1) == Some(':')
        && scan.at(at + 2).is_some_and(is_separator)
}

/// `file:` before anything but white space or prose.
fn file_scheme(scan: &Scan, at: usize) -> Option<usize> {
    let rest = at + "file:".len();
    let is_start = scan.before(at).is_none_or(|before| !is_word_letter(before));
    let leads_out = scan
        .at(rest)
        .is_some_and(|next| is_separator(next) || next == '~');
    let is_drive = scan.at(rest).is_some_and(|next| next.is_ascii_alphabetic())
        && matches!(scan.at(rest + 1), Some(':' | '|'));
    (scan.has(at, "file:") && is_start && (leads_out || is_drive)).then_some(rest + 1)
}

/// `~/x`, `~user/x`.
fn home(scan: &Scan, at: usize) -> Option<usize> {
    if !may_start(scan.before(at)) {
        return None;
    }
    let is_name =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    let end = scan.skip(at + 1, is_name);
    let is_user = scan
        .at(at + 1)
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    let is_home = end == at + 1 || is_user;
    (is_home && scan.at(end).is_some_and(is_separator)).then_some(end + 1)
}

/// `$HOME/x`, `${HOME}/x`, `$env:USERPROFILE\x`, `%APPDATA%\x`.
fn variable(scan: &Scan, at: usize) -> Option<usize> {
    let brace = scan.skip(at + 1, |letter| letter == '{');
    let start = if scan.has(brace, "env:") {
        brace + 4
    } else {
        brace
    };
    let name_end = scan.skip(start, |letter| {
        letter.is_ascii_alphanumeric() || letter == '_'
    });
    let end = scan.skip(name_end, |letter| matches!(letter, '}' | '%'));
    let is_closed = scan.at(at) == Some('$') || scan.at(name_end) == Some('%');
    let is_home = is_closed && is_in(HOMES, &scan.word(start, name_end));
    (is_home && scan.at(end).is_some_and(is_separator)).then_some(end + 1)
}

/// `\\host\share`, `\\?\…`, `\\.\…` and `\Users\…`.
fn backslash(scan: &Scan, at: usize) -> Option<usize> {
    if scan.before(at) == Some('\\') {
        return None;
    }
    let start = scan.skip(at, |letter| letter == '\\');
    let is_name = |letter: char| {
        letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_' | '$' | '?' | '@')
    };
    let end = scan.skip(start, is_name);
    let goes_on = scan.at(end) == Some('\\') || start - at > 1 && scan.at(end) == Some('/');
    let name = scan.word(start, end);
    let is_unc = start - at > 1 && (name.len() > 1 || matches!(name.as_str(), "?" | "."));
    let is_rooted = is_in(WINDOWS_ROOTS, &name) && may_start(scan.before(at));
    (goes_on && (is_unc || is_rooted)).then_some(end)
}

/// Whether a path may start after this character: not in a word, a number, a relative path.
fn may_start(before: Option<char>) -> bool {
    before.is_none_or(|before| {
        !is_word_letter(before)
            && !matches!(before, '_' | '-' | '.' | '/' | '\\' | '#' | '~' | '*' | '+')
    })
}

/// How surely a slash after this character begins a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    /// The start of the text, `=`, `:`, a quote, an opening bracket.
    Sure,
    /// White space and other punctuation.
    Likely,
    /// After `}`, `@` and the like: only for the folders every system has.
    Doubtful,
    /// Inside a word or a relative path.
    Never,
}

fn opening(before: Option<char>) -> Opening {
    match before {
        None | Some('=' | ':' | '(' | '[') => Opening::Sure,
        Some(quote) if is_quote(quote) => Opening::Sure,
        Some(space) if space.is_whitespace() || space.is_control() => Opening::Likely,
        Some(',' | ';' | '|' | '<' | '>' | '{' | '&' | '!') => Opening::Likely,
        before if !may_start(before) => Opening::Never,
        Some(other) if !other.is_ascii() && !other.is_alphanumeric() => Opening::Sure,
        Some(_) => Opening::Doubtful,
    }
}

/// A slash that begins an absolute path.
fn posix(scan: &Scan, at: usize, place: Place) -> Option<usize> {
    let before = scan.before(at);
    let mut opening = opening(before);
    if opening == Opening::Never && is_compiler_flag(scan, at) {
        opening = Opening::Doubtful;
    }
    if place == Place::Query {
        opening = if opening == Opening::Never {
            opening
        } else {
            Opening::Doubtful
        };
    }
    let start = scan.skip(at, |letter| letter == '/');
    let end = scan.skip(start, is_segment);
    if start == end || opening == Opening::Never {
        return None;
    }
    let name = scan.word(start, end);
    let is_tag = before == Some('<') && scan.at(end) == Some('>');
    let goes_on = scan.at(end) == Some('/') && scan.at(end + 1).is_some_and(is_segment);
    let has_letter = name.contains(char::is_alphabetic)
        || scan.at(end + 1).is_some_and(char::is_alphabetic) && goes_on;
    let is_root = is_in(ROOTS, &name);
    let is_deep_root = is_root || is_in(DEEP_ROOTS, &name);
    let has_extension = name.trim_end_matches('.').contains('.') && has_letter;
    let counts = match opening {
        Opening::Sure => has_letter,
        Opening::Likely if goes_on => has_letter,
        Opening::Likely => {
            let is_led = before.is_some_and(char::is_whitespace)
                && is_in(BEFORE_PATHS, &scan.word_before(at));
            !is_tag && (is_root || has_extension || is_led && has_letter)
        }
        Opening::Doubtful => is_deep_root && goes_on,
        Opening::Never => false,
    };
    counts.then_some(end)
}

/// `-I/usr/include`: one letter after a dash, and then a path.
fn is_compiler_flag(scan: &Scan, at: usize) -> bool {
    let (start, _end) = scan.run(at);
    scan.at(start) == Some('-') && at == start + 2
}

/// What the name of a folder is made of, as far as telling a path goes.
fn is_segment(letter: char) -> bool {
    letter.is_alphanumeric()
        || matches!(letter, '_' | '-' | '.' | '~' | '@' | '+' | '$' | '%')
        || (!letter.is_ascii() && !ends_word(letter) && !letter.is_whitespace())
}
