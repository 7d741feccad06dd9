//! What may be shown to anyone: the judge of messages and the redaction of diagnostics.
//!
//! Held: neither panics; a redacted text is always accepted, and redacting it again changes
//! nothing; an accepted message is one short line; a secret, a path or a stack frame that stands
//! between any two texts is refused, and is gone once redacted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_contract::Failure;
use tidegate_contract::failure::{MESSAGE_CHARACTERS, check_message, host_failure, redact};

/// What is planted between two texts, and the part of it that nobody may see afterwards.
const PLANTS: [(&str, &str); 16] = [
    ("password=hunter2x9", "hunter2x9"),
    ("api_key=k3yk3yk3y", "k3yk3yk3y"),
    ("\"access_token\": \"t0kt0kt0k\"", "t0kt0kt0k"),
    ("Authorization: Bearer abc.d3f-ghi", "d3f"),
    (
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "0123456789abcdefghij",
    ),
    ("sk-proj-s3cs3cs3c", "s3cs3cs3c"),
    ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"),
    (
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "eyJzdWIiOiIxIn0",
    ),
    ("postgres://svc:s3cr3t@db.internal:5432/p", "s3cr3t"),
    ("/srv/hostpart/ws/a.txt", "hostpart"),
    ("path=/etc/passwdpart", "passwdpart"),
    ("file:///etc/shadowpart", "shadowpart"),
    ("~/.ssh/id_rsapart", "id_rsapart"),
    ("C:\\Users\\alicepart\\x", "alicepart"),
    ("\\\\host\\sharepart\\a.txt", "sharepart"),
    ("at run (/app/src/framepart.js:142:8)", "framepart"),
];

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    judged(&text);
    let Some((&choice, rest)) = bytes.split_first() else {
        return;
    };
    let (plant, secret) = PLANTS[usize::from(choice) % PLANTS.len()];
    let rest = String::from_utf8_lossy(rest);
    // Between the two halves of the text, so that both a start and an end can interfere.
    let middle = rest.floor_char_boundary(rest.len() / 2);
    let (before, after) = rest.split_at(middle);
    planted(before, plant, secret, after);
});

fn judged(text: &str) {
    let redacted = redact(text);
    assert_eq!(
        check_message(&redacted),
        Ok(()),
        "{text:?} gave {redacted:?}"
    );
    assert_eq!(redact(&redacted), redacted, "{text:?}");
    assert_eq!(
        check_message(host_failure("HOST_FAULT", text.to_owned()).message()),
        Ok(())
    );
    if let Ok(failure) = Failure::new("FAILED", text) {
        let message = failure.message();
        assert_eq!(message, text, "an accepted message is kept as it is");
        assert!(message.chars().count() <= MESSAGE_CHARACTERS);
        assert!(!message.trim().is_empty());
        let ends_line = |letter: char| matches!(letter, '\u{2028}' | '\u{2029}');
        assert!(
            !message
                .chars()
                .any(|letter| letter.is_control() || ends_line(letter))
        );
    }
}

fn planted(before: &str, plant: &str, secret: &str, after: &str) {
    if before.contains(secret) || after.contains(secret) {
        return;
    }
    let text = format!("{before} {plant} {after}");
    assert!(check_message(&text).is_err(), "accepted: {text:?}");
    let redacted = redact(&text);
    assert!(!redacted.contains(secret), "{text:?} gave {redacted:?}");
}
