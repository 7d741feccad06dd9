//! Credentials by their shape: known token prefixes, JWTs, key blocks, bearer and basic values,
//! and user information in URLs. What is assigned to a telling name is in `assignment`.

use super::assignment;
use super::scan::{Finding, Kind, Scan, is_in, is_word_letter};

/// A token that its issuer marks with a prefix.
struct Issued {
    /// The prefix, in lower case.
    prefix: &'static str,
    /// How many of `[A-Za-z0-9_-]` follow at least.
    tail: usize,
    /// Whether one of them must be a digit, since the prefix begins ordinary words as well.
    digit: bool,
}

const fn issued(prefix: &'static str, tail: usize) -> Issued {
    Issued {
        prefix,
        tail,
        digit: false,
    }
}

const fn with_digit(prefix: &'static str, tail: usize) -> Issued {
    Issued {
        prefix,
        tail,
        digit: true,
    }
}

const ISSUED: [Issued; 54] = [
    issued("sk-", 1),
    issued("sk_live_", 1),
    issued("sk_test_", 1),
    issued("rk_live_", 1),
    issued("rk_test_", 1),
    issued("pk_live_", 1),
    issued("whsec_", 8),
    issued("ghp_", 1),
    issued("gho_", 1),
    issued("ghu_", 1),
    issued("ghs_", 1),
    issued("ghr_", 1),
    issued("github_pat_", 1),
    issued("glpat-", 1),
    issued("gldt-", 8),
    issued("glrt-", 8),
    issued("glsa_", 8),
    issued("xoxa-", 1),
    issued("xoxb-", 1),
    issued("xoxc-", 1),
    issued("xoxd-", 1),
    issued("xoxe-", 1),
    issued("xoxe.", 1),
    issued("xoxp-", 1),
    issued("xoxr-", 1),
    issued("xoxs-", 1),
    issued("xapp-", 4),
    issued("akia", 12),
    with_digit("akia", 8),
    with_digit("asia", 12),
    with_digit("aroa", 16),
    with_digit("aida", 16),
    with_digit("abia", 16),
    with_digit("acca", 16),
    issued("aiza", 20),
    with_digit("aiza", 12),
    issued("ya29.", 8),
    with_digit("npm_", 20),
    with_digit("pypi-", 16),
    with_digit("hf_", 16),
    with_digit("gsk_", 16),
    with_digit("r8_", 16),
    with_digit("xai-", 20),
    with_digit("pplx-", 20),
    with_digit("nvapi-", 16),
    with_digit("sg.", 16),
    with_digit("hvs.", 16),
    with_digit("dop_v1_", 8),
    with_digit("shpat_", 8),
    with_digit("dckr_pat_", 4),
    with_digit("lin_api_", 8),
    with_digit("tskey-", 8),
    with_digit("atatt3", 12),
    // The product's own short handles.
    with_digit("wh-", 22),
];

/// What follows the word "bearer" where it is prose.
const AFTER_BEARER: &str = "\
    and auth authentication authorization challenge credential credentials error expected \
    expired for format header headers in invalid is missing must not of or prefix realm \
    rejected required scheme token tokens type value values was";

/// Adds every credential in the text.
pub(crate) fn find(scan: &Scan, found: &mut Vec<Finding>) {
    let mut at = 0;
    while at < scan.len() {
        let hit = starting_at(scan, at);
        if let Some(finding) = hit {
            found.push(finding);
        }
        at = hit
            .map_or(at, |finding| finding.end.saturating_sub(1))
            .max(at)
            + 1;
    }
    assignment::find(scan, found);
}

/// The credential that starts here or, for a URL, whose `//` does.
fn starting_at(scan: &Scan, at: usize) -> Option<Finding> {
    if scan.has(at, "//") {
        return url_with_user(scan, at);
    }
    if scan.has(at, "-----begin ") || scan.has(at, "-----end ") {
        return Some(secret(at, block_end(scan, at)));
    }
    if scan.before(at).is_some_and(is_word_letter) {
        return None;
    }
    let end = token_end(scan, at)
        .or_else(|| jwt_end(scan, at))
        .or_else(|| bearer_end(scan, at))
        .or_else(|| basic_end(scan, at))?;
    Some(secret(at, end))
}

fn secret(start: usize, end: usize) -> Finding {
    let kind = Kind::Secret;
    Finding { start, end, kind }
}

fn is_token_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

fn token_end(scan: &Scan, at: usize) -> Option<usize> {
    let row = ISSUED.iter().find(|row| {
        let start = at + row.prefix.len();
        scan.has(at, row.prefix) && {
            let tail = scan.slice(start, scan.skip(start, is_token_letter));
            let is_region = row.prefix == "sk-" && is_region(tail);
            let has_digit = tail.iter().any(char::is_ascii_digit);
            let starts_well = tail.first().is_some_and(char::is_ascii_alphanumeric);
            tail.len() >= row.tail && starts_well && !is_region && (has_digit || !row.digit)
        }
    })?;
    let is_part = |letter: char| is_token_letter(letter) || matches!(letter, '.' | '/' | '+' | '=');
    Some(scan.skip(at + row.prefix.len(), is_part))
}

/// `sk-SK` is a locale.
fn is_region(tail: &[char]) -> bool {
    tail.len() == 2 && tail.iter().all(char::is_ascii_alphabetic)
}

/// Base64 of `{"`, `{ "` and a brace with a line break, as every JOSE header starts.
const JOSE_STARTS: [&str; 4] = ["eyJ", "eyAi", "ewog", "ew0K"];

fn jwt_end(scan: &Scan, at: usize) -> Option<usize> {
    let starts = |start: &&str| {
        let letters = scan.slice(at, at + start.len()).iter().copied();
        letters.eq(start.chars())
    };
    JOSE_STARTS.into_iter().find(starts)?;
    let header = scan.skip(at, is_token_letter);
    let is_part = |letter: char| is_token_letter(letter) || letter == '.';
    let end = scan.skip(at, is_part);
    let has_payload =
        scan.at(header) == Some('.') && scan.skip(header + 1, is_token_letter) > header + 2;
    let is_long = header - at >= 20;
    ((header - at >= 6 && has_payload) || is_long).then_some(end)
}

/// The end of the line of dashes that closes a block, or of the text.
fn block_end(scan: &Scan, at: usize) -> usize {
    let is_close = |position: &usize| scan.has(*position, "-----end ");
    match (at..scan.len()).find(is_close) {
        Some(close) => {
            let label = scan.skip(close + 5, |letter| letter != '-');
            scan.skip(label, |letter| letter == '-')
        }
        None => scan.len(),
    }
}

fn bearer_end(scan: &Scan, at: usize) -> Option<usize> {
    let end = at + "bearer".len();
    if !scan.has(at, "bearer") || scan.at(end).is_some_and(is_token_letter) {
        return None;
    }
    let is_between =
        |letter: char| letter.is_whitespace() || matches!(letter, ':' | '=' | '"' | '\'' | '`');
    let value = scan.skip(end, is_between);
    if value == scan.len() {
        return Some(scan.len());
    }
    let value_end = scan.skip(value, |letter| !letter.is_whitespace() && !is_quote(letter));
    let letters = scan.skip(value, |letter| letter.is_ascii_alphabetic());
    let word = scan.word(value, letters);
    let is_word = scan
        .at(letters)
        .is_none_or(|next| !is_token_letter(next) && next != '.')
        || letters + 1 == value_end;
    let is_prose = is_word && is_in(AFTER_BEARER, &word);
    let is_value = value > end && scan.at(value).is_some_and(|first| !is_closing(first));
    (is_value && !is_prose).then_some(value_end)
}

/// Punctuation that ends a clause or a bracket, so what follows is not a value.
fn is_closing(letter: char) -> bool {
    matches!(
        letter,
        '.' | ',' | ';' | ')' | ']' | '}' | '!' | '?' | '|' | '/'
    )
}

pub(crate) fn is_quote(letter: char) -> bool {
    matches!(
        letter,
        '"' | '\'' | '`' | '\u{2018}'..='\u{201f}' | '«' | '»'
    )
}

/// `Basic` and base64 that reads as `user:password`.
fn basic_end(scan: &Scan, at: usize) -> Option<usize> {
    let start = scan.skip(at + "basic".len(), char::is_whitespace);
    if !scan.has(at, "basic") || start == at + "basic".len() {
        return None;
    }
    let is_part = |letter: char| is_token_letter(letter) || matches!(letter, '+' | '/' | '=');
    let end = scan.skip(start, is_part);
    let decoded = base64(scan.slice(start, end))?;
    let is_pair =
        decoded.contains(&b':') && decoded.iter().all(|byte| (b' '..=b'~').contains(byte));
    is_pair.then_some(end)
}

/// Decodes base64 of either alphabet, leaving out an unfinished byte.
fn base64(letters: &[char]) -> Option<Vec<u8>> {
    let (mut bits, mut width) = (0_u32, 0_u32);
    let mut decoded = Vec::new();
    for letter in letters.iter().filter(|letter| **letter != '=') {
        let value = match letter {
            'A'..='Z' => u32::from(*letter) - u32::from('A'),
            'a'..='z' => u32::from(*letter) - u32::from('a') + 26,
            '0'..='9' => u32::from(*letter) - u32::from('0') + 52,
            '+' | '-' => 62,
            '/' | '_' => 63,
            _ => return None,
        };
        bits = ((bits << 6) | value) & 0xffff;
        width += 6;
        if width >= 8 {
            width -= 8;
            decoded.push(u8::try_from((bits >> width) & 0xff).ok()?);
        }
    }
    Some(decoded)
}

/// A URL whose authority holds an `@`; `at` is its `//`.
fn url_with_user(scan: &Scan, at: usize) -> Option<Finding> {
    let start = match scan.before(at) {
        Some(':') => scan.skip_back(at - 1, |letter| {
            letter.is_ascii_alphanumeric() || matches!(letter, '+' | '-' | '.')
        }),
        Some('/' | '\\') => return None,
        _ => at,
    };
    let host = at + 2;
    let ends = |letter: char| letter.is_whitespace() || matches!(letter, '"' | '`' | '<' | '>');
    let authority_end = scan.skip(host, |letter| {
        !ends(letter) && !matches!(letter, '/' | '\\' | '?' | '#')
    });
    let authority = scan.slice(host, authority_end);
    let end = scan.skip(host, |letter| !ends(letter));
    let has_user = authority.contains(&'@');
    // A password may hold a bare `/`, `?` or `#`; what stands after the colon is no port then.
    let colon = authority.iter().position(|letter| *letter == ':');
    let port = colon.map(|colon| scan.slice(host + colon + 1, authority_end));
    let is_port = |port: &[char]| port.iter().all(char::is_ascii_digit);
    let is_split = port.is_some_and(|port| !is_port(port) && !authority.starts_with(&['[']))
        && scan.slice(authority_end, end).contains(&'@');
    (has_user || is_split).then_some(Finding {
        start,
        end,
        kind: Kind::Url,
    })
}
