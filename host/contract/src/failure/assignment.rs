//! Credentials by what they are assigned to: `password=…`, `x-api-key: …`, `"token":"…"`.
//!
//! After `=` any value counts. After `:` prose is common ("token: expired"), so the value is
//! looked at too; so it is where a telling word is just followed by something that looks made up.

use super::credential::is_quote;
use super::scan::{Finding, Kind, Scan, is_in, is_word_letter};

/// How telling a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    /// A password: whatever it is assigned is one.
    Password,
    /// A key, or a compound such as `access_token`.
    Strong,
    /// `token` or `secret` alone, which are also words about errors.
    Plain,
    /// `cookie`, `session`, `auth`, or a number of tokens.
    Soft,
}

const PASSWORDS: &str = "password passwords passwd passphrase passcode pwd userpass";

const KEYS: &str = "\
    apikey apikeys accesskey privatekey secretkey authkey signingkey encryptionkey \
    authorization credential credentials connectionstring";

const SOFT: &str = "\
    auth cookie cookies jwt otp pass pat session sessionid sid sig signature tokens secrets";

/// What makes a `key` a secret one when it stands before it.
const KEY_KINDS: &str = "\
    access account api app auth client deploy encryption master private secret service \
    shared signing ssh subscription";

/// Last words that make a name tell about a secret rather than hold it.
const ABOUT: &str = "\
    age budget bytes count enabled endpoint error expires expiry field format header kind \
    len length limit max ms name policy required seconds size ttl type usage version";

/// Words that begin what is said about a value, not the value.
const PROSE: &str = "\
    a absent all already an and any are at bad blank can cannot changed contains could \
    denied did disabled do does empty error exceeds expected expired failed field for \
    forbidden found from has have if in incorrect invalid is it length malformed may \
    mismatch missing must need needs no none not null of only optional or please refused \
    rejected required requires revoked see set should that the this to too unauthorized \
    undefined unexpected unknown unset unsupported use value was were will with wrong you";

/// Words before `token` or `secret` that make the phrase an error's, not an assignment.
const FAULTS: &str = "\
    after another bad before current duplicate expected first illegal invalid last missing \
    near next no reserved such undefined unexpected unknown unrecognized";

/// Schemes of an `Authorization` header, which stand before the value.
const SCHEMES: &str = "basic bearer digest token apikey negotiate ntlm";

/// Adds every assignment of a credential.
pub(crate) fn find(scan: &Scan, found: &mut Vec<Finding>) {
    let mut at = 0;
    while at < scan.len() {
        let range = match scan.at(at) {
            Some('=') => assigned(scan, at),
            Some(':') => declared(scan, at),
            Some(letter) if letter.is_whitespace() => followed(scan, at),
            _ => None,
        };
        if let Some((start, end)) = range {
            let kind = Kind::Secret;
            found.push(Finding { start, end, kind });
            at = end.max(at);
        }
        at += 1;
    }
}

/// The name before a separator.
struct Key {
    start: usize,
    is_quoted: bool,
    name: Name,
    is_authorization: bool,
    is_cookie: bool,
}

/// Reads the name that ends before `separator`, over white space and a closing quote.
fn key_before(scan: &Scan, separator: usize) -> Option<Key> {
    let is_part = |letter: char| {
        letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.' | '[' | ']')
    };
    let spaced = scan.skip_back(separator, |letter| letter.is_whitespace() || letter == ']');
    let end = scan.skip_back(spaced, is_quote);
    let start = scan.skip_back(end, is_part);
    let start = scan.skip(start, |letter| letter == '[').min(end);
    let mut words = words(scan.slice(start, end));
    let is_alone = words.len() == 1;
    // "api key: …" is two words.
    if is_alone
        && matches!(
            words.first().map(String::as_str),
            Some("key" | "token" | "secret")
        )
    {
        let before = scan.word_before(start);
        if is_in(KEY_KINDS, &before) {
            words.insert(0, before);
        }
    }
    let is_word = |name: &str| words.iter().any(|word| word == name);
    Some(Key {
        start: scan.skip_back(start, is_quote),
        is_quoted: end < spaced,
        name: name_of(&words)?,
        is_authorization: is_word("authorization"),
        is_cookie: is_word("cookie") || is_word("cookies"),
    })
}

/// The words of a name in lower case: `x-api-key`, `apiKey` and `API_KEY` all hold `api`, `key`.
fn words(name: &[char]) -> Vec<String> {
    let mut words = vec![String::new()];
    for (index, letter) in name.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| name.get(before));
        let after = name.get(index + 1);
        let is_upper = letter.is_ascii_uppercase();
        let starts = is_upper
            && (before.is_some_and(char::is_ascii_lowercase)
                || (before.is_some_and(char::is_ascii_uppercase)
                    && after.is_some_and(char::is_ascii_lowercase)));
        if starts || !letter.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        if let (Some(word), true) = (words.last_mut(), letter.is_ascii_alphanumeric()) {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// How telling a name of these words is.
fn name_of(words: &[String]) -> Option<Name> {
    let last = words
        .last()
        .map(|word| word.trim_end_matches(|digit: char| digit.is_ascii_digit()))?;
    if is_in(ABOUT, last) {
        return None;
    }
    let has = |list: &str| words.iter().any(|word| is_in(list, word));
    let ends = |tail: &[&str]| tail.iter().any(|tail| last.ends_with(tail));
    if has(PASSWORDS) || ends(&["password", "passwd", "passphrase"]) {
        return Some(Name::Password);
    }
    let is_key = words.iter().zip(words.iter().skip(1)).any(|(kind, key)| {
        is_in(KEY_KINDS, kind) && matches!(key.as_str(), "key" | "keys" | "token" | "secret")
    });
    if is_key || has(KEYS) || ends(&["apikey", "secretkey"]) {
        return Some(Name::Strong);
    }
    if has("token secret") || ends(&["token", "secret"]) {
        let is_alone = words.len() == 1 && matches!(last, "token" | "secret");
        return Some(if is_alone { Name::Plain } else { Name::Strong });
    }
    has(SOFT).then_some(Name::Soft)
}

/// What stands after a separator.
struct Value {
    start: usize,
    end: usize,
    is_quoted: bool,
    text: String,
}

/// Reads a value over white space and an opening quote or bracket. A quoted one goes up to the
/// closing quote.
fn value_after(scan: &Scan, from: usize) -> Value {
    let spaced = scan.skip(from, |letter| letter.is_whitespace() || letter == '>');
    let start = scan.skip(spaced, |letter| {
        is_quote(letter) || matches!(letter, '{' | '(' | '<')
    });
    let quote = scan
        .slice(spaced, start)
        .iter()
        .copied()
        .rfind(|letter| is_quote(*letter));
    let end = match quote {
        Some(quote) => scan.skip(start, |letter| letter != quote),
        None => scan.skip(start, |letter| {
            !letter.is_whitespace()
                && !is_quote(letter)
                && !matches!(letter, ',' | ';' | '&' | ')' | '}' | '>')
        }),
    };
    Value {
        start,
        end,
        is_quoted: quote.is_some(),
        text: scan.word(start, end),
    }
}

impl Value {
    fn is_number(&self) -> bool {
        let text = self.text.trim_end_matches(['.', ',', ']']);
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// Whether it is what this module puts in place of one.
    fn is_replaced(&self) -> bool {
        ["[secret]", "[path]", "[url]"]
            .iter()
            .any(|mark| self.text.starts_with(mark))
    }

    fn is_prose(&self) -> bool {
        let word = self.text.trim_end_matches(['.', ':', '!', '?', ']']);
        !self.is_quoted && is_in(PROSE, word)
    }

    fn is_alphabetic(&self) -> bool {
        let word = self.text.trim_end_matches(['.', ':', '!', '?', ']']);
        word.bytes()
            .all(|byte| byte.is_ascii_alphabetic() || byte == b'\'')
    }

    /// Whether it looks made up: letters and digits in one word, or very long.
    fn is_made_up(&self) -> bool {
        let has = |wanted: fn(&u8) -> bool| self.text.as_bytes().iter().any(wanted);
        let is_mixed = has(u8::is_ascii_alphabetic) && has(u8::is_ascii_digit);
        let is_one_word = !self.text.contains(char::is_whitespace);
        is_one_word && (is_mixed && self.text.len() >= 6 || self.text.len() >= 24)
    }
}

/// `name=value`: any value counts, and none at all.
fn assigned(scan: &Scan, separator: usize) -> Option<(usize, usize)> {
    if matches!(scan.before(separator), Some('!' | '<' | '>' | '=')) {
        return None;
    }
    if let Some(range) = query_key(scan, separator) {
        return Some(range);
    }
    let key = key_before(scan, separator)?;
    let value = value_after(scan, separator + 1);
    let is_harmless = value.is_replaced()
        || key.name == Name::Soft
            && (value.is_number() || value.is_prose() || value.text.is_empty());
    (!is_harmless).then(|| (key.start, end_of(scan, &key, &value)))
}

/// `?key=value` in a URL: alone, a key is a credential where its value looks made up and is long.
fn query_key(scan: &Scan, separator: usize) -> Option<(usize, usize)> {
    let start = separator.checked_sub("key".len())?;
    let is_alone = matches!(scan.before(start), Some('?' | '&'));
    let value = value_after(scan, separator + 1);
    let counts = is_alone && scan.has(start, "key") && value.text.len() >= 16;
    (counts && value.is_made_up()).then_some((start, value.end))
}

/// `name: value`.
fn declared(scan: &Scan, separator: usize) -> Option<(usize, usize)> {
    let is_double = scan.at(separator + 1) == Some(':') || scan.before(separator) == Some(':');
    if is_double || scan.has(separator, "://") {
        return None;
    }
    let key = key_before(scan, separator)?;
    if is_file_name(scan, key.start) {
        return None;
    }
    let value = value_after(scan, separator + 1);
    let has_letters = value.text.contains(is_value_letter);
    let is_literal = matches!(value.text.as_str(), "null" | "true" | "false");
    if !has_letters || value.is_replaced() || value.is_prose() || !value.is_quoted && is_literal {
        return None;
    }
    let is_sentence = value.is_alphabetic() && !value.is_quoted && goes_on(scan, value.end);
    let is_scheme = key.is_authorization && is_in(SCHEMES, &value.text);
    let counts = match key.name {
        Name::Password => true,
        Name::Strong => is_scheme || !is_sentence,
        Name::Plain if key.is_quoted => value.is_quoted || !is_sentence && !value.is_number(),
        Name::Plain => {
            let is_fault = is_in(FAULTS, &scan.word_before(key.start));
            let is_short = value.is_alphabetic() || value.is_number() || is_fault;
            value.is_made_up() || !is_sentence && !is_fault && (!is_short || !value.is_number())
        }
        Name::Soft => value.is_made_up() || key.is_cookie && value.text.contains('='),
    };
    counts.then(|| (key.start, end_of(scan, &key, &value)))
}

/// What shows that a value is there at all: punctuation alone is none, but stars or an
/// ellipsis stand for one.
fn is_value_letter(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '*' | '…')
}

/// Whether a name ends a path, as in "/etc/passwd: permission denied". A JSON pointer is none.
fn is_file_name(scan: &Scan, start: usize) -> bool {
    let (run, _end) = scan.run(start);
    matches!(scan.before(start), Some('/' | '\\')) && scan.at(run) != Some('#')
}

/// Whether another word follows, as in a sentence.
fn goes_on(scan: &Scan, end: usize) -> bool {
    let next = scan.skip(end, char::is_whitespace);
    next > end && scan.at(next).is_some_and(char::is_alphabetic)
}

/// Where the finding ends: after the value and its quote, for headers after what belongs to it.
fn end_of(scan: &Scan, key: &Key, value: &Value) -> usize {
    if key.is_cookie {
        return scan.len();
    }
    let mut end = value.end;
    if key.is_authorization && is_in(SCHEMES, &value.text) {
        let next = scan.skip(end, char::is_whitespace);
        end = scan.skip(next, |letter| !letter.is_whitespace());
    }
    if value.is_quoted && scan.at(end).is_some_and(is_quote) {
        end += 1;
    }
    end.max(value.start)
}

/// A telling word, white space, and something that looks made up: `password hunter2`,
/// `--token abc123`. `space` is the white space after the word.
fn followed(scan: &Scan, space: usize) -> Option<(usize, usize)> {
    let start = scan.skip_back(space, |letter| {
        letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
    });
    if start == space || scan.before(start).is_some_and(is_word_letter) || is_file_name(scan, start)
    {
        return None;
    }
    let word = scan.word(start, space);
    let mut name = name_of(&words(scan.slice(start, space)));
    if word == "key" && is_in(KEY_KINDS, &scan.word_before(start)) {
        name = Some(Name::Strong);
    }
    let name = name.filter(|name| *name != Name::Soft)?;
    let mut value = value_after(scan, space);
    if matches!(value.text.as_str(), "is" | "was" | "value" | "of" | "-") {
        value = value_after(scan, value.end);
    }
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let digits = value.text.bytes().filter(u8::is_ascii_digit).count();
    let is_long = value.text.len() >= 16 && digits >= 3 && value.text.bytes().all(is_token);
    let counts = match name {
        Name::Password => value.is_made_up(),
        _ if word.starts_with("--") => value.is_made_up(),
        _ => is_long && value.is_made_up(),
    };
    counts.then_some((start, value.end))
}
