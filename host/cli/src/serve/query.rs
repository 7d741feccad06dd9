//! The query of a request, read strictly: known keys, each at most once, nothing guessed.
//!
//! Deliberately absent: any text of the query in an error. It may hold what belongs in a header.

use http::Uri;

use super::refused::Refused;

/// The values of these keys.
///
/// # Errors
///
/// 400 for another key, one that stands twice, or bytes that are no percent-encoded UTF-8.
pub(super) fn read<const N: usize>(
    uri: &Uri,
    keys: [&'static str; N],
) -> Result<[Option<String>; N], Refused> {
    let mut values = [const { None }; N];
    let pairs = uri.query().unwrap_or_default().split('&');
    for pair in pairs.filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (key, value) = (decode(key)?, decode(value)?);
        let at = keys.iter().position(|known| **known == key);
        let (known, place) = at
            .and_then(|at| keys.get(at).zip(values.get_mut(at)))
            .ok_or_else(|| unknown(&keys))?;
        if place.replace(value).is_some() {
            return Err(Refused::invalid(format!("`{known}` stands twice")));
        }
    }
    Ok(values)
}

/// That there is no query.
///
/// # Errors
///
/// 400 for any key.
pub(super) fn none(uri: &Uri) -> Result<(), Refused> {
    let [] = read(uri, [])?;
    Ok(())
}

fn unknown(keys: &[&'static str]) -> Refused {
    match keys {
        [] => Refused::invalid("this route takes no query"),
        keys => Refused::invalid(format!("the query may hold {} alone", keys.join(", "))),
    }
}

/// A key or value as forms encode it: `%XX` is a byte, `+` a space.
fn decode(text: &str) -> Result<String, Refused> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => hex_byte(rest.next(), rest.next()).ok_or_else(not_encoded)?,
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_not_text| not_encoded())
}

fn hex_byte(high: Option<u8>, low: Option<u8>) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let value = digit(high?)?.checked_mul(16)?.checked_add(digit(low?)?)?;
    u8::try_from(value).ok()
}

fn not_encoded() -> Refused {
    Refused::invalid("the query is not percent-encoded UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(query: &str) -> Result<Option<String>, Refused> {
        let uri: Uri = format!("/x{query}").parse().unwrap();
        read(&uri, ["name", "ok"]).map(|[name, _ok]| name)
    }

    #[test]
    fn i3_a_query_is_read_as_forms_write_it() {
        for (query, expected) in [
            ("", None),
            ("?", None),
            ("?ok=true", None),
            ("?name=plan.md", Some("plan.md")),
            ("?name=", Some("")),
            ("?name", Some("")),
            ("?name=a+b%20c", Some("a b c")),
            ("?name=a%2Fb%2B", Some("a/b+")),
            ("?name=caf%C3%A9", Some("caf\u{e9}")),
            ("?name=a=b&ok=1", Some("a=b")),
            ("?n%61me=a", Some("a")),
        ] {
            assert_eq!(name(query).unwrap().as_deref(), expected, "{query}");
        }
    }

    #[test]
    fn io06_another_key_is_refused_and_nothing_of_it_is_repeated() {
        for query in [
            "?token=cap_TEST123",
            "?cap_TEST123",
            "?name=a&name=cap_TEST123",
            "?name=%zzcap_TEST123",
            "?name=%C3&token=cap_TEST123",
            "?name=%C3cap_TEST123",
            "?name=%4",
            "?Name=cap_TEST123",
        ] {
            let refused = format!("{:?}", name(query).unwrap_err());
            assert!(refused.contains("400"), "{query}: {refused}");
            assert!(!refused.contains("cap_TEST123"), "{query}: {refused}");
        }
    }
}
