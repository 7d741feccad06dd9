//! The rules of public errors (SPEC C7, GAP 14) over a table of texts, and redaction (IO08).

#![expect(clippy::expect_used, reason = "a helper of tests says what it expects")]

use proptest::prelude::*;
use tidegate_contract::failure::{check_message, host_failure, redact};
use tidegate_contract::{Failure, FailureError};

/// The table: a verdict and a message a line.
const TABLE: &str = include_str!("../../../tests/tables/errors.txt");

/// The rows of the table as verdict and message.
fn rows() -> Vec<(&'static str, String)> {
    let is_row = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let row = |line: &'static str| {
        let (verdict, message) = line.split_once(' ').expect("a verdict and a message");
        (verdict, with_characters(message.trim_start()))
    };
    TABLE.lines().filter(is_row).map(row).collect()
}

/// Puts in the characters that are written `\u{…}`.
fn with_characters(text: &str) -> String {
    let mut parts = text.split(r"\u{");
    let mut message = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('}').expect("a closing brace");
        let code = u32::from_str_radix(code, 16).expect("a hexadecimal number");
        message.push(char::from_u32(code).expect("a character"));
        message.push_str(rest);
    }
    message
}

fn verdict(message: &str) -> &'static str {
    match check_message(message) {
        Ok(()) => "ok",
        Err(FailureError::Blank) => "blank",
        Err(FailureError::TooLong) => "long",
        Err(FailureError::ControlCharacter) => "control",
        Err(FailureError::Credential) => "credential",
        Err(FailureError::Path) => "path",
        Err(FailureError::StackFrame) => "frame",
        Err(FailureError::Code) => "code",
    }
}

#[test]
fn c7_gap14_every_message_of_the_table_gets_its_verdict() {
    let rows = rows();
    assert!(rows.len() >= 60, "only {} rows", rows.len());
    let wrong: Vec<String> = rows
        .iter()
        .filter(|(expected, message)| verdict(message) != *expected)
        .map(|(expected, message)| format!("{expected}, not {}: {message:?}", verdict(message)))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} rows:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn c7_harmless_prose_around_a_message_changes_nothing() {
    for (expected, message) in rows() {
        if matches!(expected, "credential" | "path") && message != "Bearer" {
            let inside = format!("it failed ({message}) and more");
            assert_ne!(verdict(&inside), "ok", "{inside:?}");
            let quoted = format!("it failed: \"{message}\".");
            assert_ne!(verdict(&quoted), "ok", "{quoted:?}");
        }
    }
}

#[test]
fn c7_a_redacted_message_passes_and_a_fit_one_is_kept() {
    for (expected, message) in rows() {
        let redacted = redact(&message);
        assert_eq!(verdict(&redacted), "ok", "{message:?} became {redacted:?}");
        if expected == "ok" && !message.contains(char::is_control) {
            assert_eq!(
                redacted,
                message.split_whitespace().collect::<Vec<_>>().join(" ")
            );
        }
    }
}

#[test]
fn c7_length_is_counted_in_characters() {
    assert_eq!(verdict(&"x".repeat(512)), "ok");
    assert_eq!(verdict(&"é".repeat(512)), "ok");
    assert_eq!(verdict(&"\u{1f4a5}".repeat(512)), "ok");
    assert_eq!(verdict(&"x".repeat(513)), "long");
    assert_eq!(verdict(&"é".repeat(513)), "long");
    assert_eq!(verdict(&"x".repeat(10_000_000)), "long");
}

#[test]
fn c7_the_code_is_one_to_64_letters() {
    let check = |code: &str| Failure::new(code, "it failed").map(|_failure| ());
    for code in ["A", "a.b-c_9", &"x".repeat(64)] {
        assert_eq!(check(code), Ok(()), "{code:?}");
    }
    for code in ["", " ", "a b", "a/b", "é", "a\n", &"x".repeat(65)] {
        assert_eq!(check(code), Err(FailureError::Code), "{code:?}");
    }
}

#[test]
fn c7_only_code_message_and_retryable_are_kept() {
    let value = serde_json::json!({
        "code": "FAILED", "message": "it failed", "retryable": true,
        "stack": "at run (/app/x.js:1:2)", "token": "abc",
    });
    let failure = Failure::from_value(&value).expect("a fit error");
    let wire = serde_json::to_string(&failure).expect("JSON");
    assert_eq!(
        wire,
        r#"{"code":"FAILED","message":"it failed","retryable":true}"#
    );
    let plain = Failure::new("FAILED", "it failed").expect("a fit error");
    let wire = serde_json::to_string(&plain).expect("JSON");
    assert_eq!(wire, r#"{"code":"FAILED","message":"it failed"}"#);

    let check = |value: serde_json::Value| Failure::from_value(&value).map(|_failure| ());
    let json = |text: &str| serde_json::from_str(text).expect("JSON");
    assert_eq!(check(json(r#"{"message": "x"}"#)), Err(FailureError::Code));
    assert_eq!(
        check(json(r#"{"code": 1, "message": "x"}"#)),
        Err(FailureError::Code)
    );
    assert_eq!(check(json(r#"{"code": "A"}"#)), Err(FailureError::Blank));
    assert_eq!(
        check(json(r#"{"code": "A", "message": null}"#)),
        Err(FailureError::Blank)
    );
    let retryable = json(r#"{"code": "A", "message": "x", "retryable": "yes"}"#);
    assert_eq!(check(retryable), Err(FailureError::Code));
    assert_eq!(check(json("[]")), Err(FailureError::Code));
}

#[test]
fn c7_the_rule_is_told_and_never_the_text() {
    for (_expected, message) in rows() {
        if let (Err(error), true) = (check_message(&message), message.len() > 12) {
            assert!(!error.to_string().contains(&message));
        }
    }
}

#[test]
fn io08_a_diagnostic_loses_frames_paths_and_credentials() {
    let diagnostic = "open /srv/host/ws/a.txt: ENOENT\n at run (/app/src/t.rs:142:8)\n \
                      postgres://svc:s3cret@db.internal:5432/p\x1b[31m";
    assert_eq!(redact(diagnostic), "open [path]: ENOENT [url]");
}

#[test]
fn io08_every_kind_of_leak_is_replaced() {
    let table = [
        ("", "no details"),
        (" \n\t ", "no details"),
        ("\x1b[0m\u{200b}", "no details"),
        (
            "    at run (app.js:1:2)\n    at main (app.js:3:4)\n",
            "no details",
        ),
        (
            "boom\n    at run (app.js:1:2)\n    at main (app.js:3:4)\n",
            "boom",
        ),
        (
            "\x1b[1;31merror\x1b[0m: \x1b]8;;http://x\x07bad\x1b]8;;\x07",
            "error: bad",
        ),
        // Each sequence ends with a letter that the secret or path begins with.
        ("\x1b[: api_key=k3yk3yk3y", "[secret]"),
        ("\x1bpassword=hunter2", "[secret]"),
        ("\x1b[31 /srv/host failed", "[path] failed"),
        ("a\r\nb\u{2028}c\u{85}d", "a b c d"),
        (
            "cannot read '/srv/My Files/a b.txt' now",
            "cannot read '[path]' now",
        ),
        ("C:\\Program Files\\App\\a.exe crashed", "[path] crashed"),
        ("see ~/.ssh/id_rsa, please", "see [path], please"),
        (
            "login failed: password=hunter2, user=bob",
            "login failed: [secret], user=bob",
        ),
        ("Authorization: Bearer abc.def ghi", "[secret] ghi"),
        ("got {\"token\":\"a b c\"}", "got {[secret]}"),
        (
            "key AKIAIOSFODNN7EXAMPLE is revoked",
            "key [secret] is revoked",
        ),
        ("GET https://u:p@h/x?y=z failed", "GET [url] failed"),
        (
            "thread 'main' panicked at src/main.rs:10:5:\nindex out of bounds",
            "thread 'main' panicked index out of bounds",
        ),
        (
            "Traceback (most recent call last):\n  File \"/app/a.py\", line 3, in run\nKeyError: 'x'",
            "KeyError: 'x'",
        ),
        (
            "boom\n   0: core::panicking::panic\n   1: app::run\n             at ./src/run.rs:3:4",
            "boom",
        ),
    ];
    for (diagnostic, expected) in table {
        assert_eq!(redact(diagnostic), expected, "{diagnostic:?}");
    }
}

#[test]
fn io08_a_long_diagnostic_is_cut_and_half_a_secret_never_shows() {
    assert_eq!(redact(&"é".repeat(100_000)).chars().count(), 512);
    assert_eq!(redact(&"é ".repeat(100_000)).chars().count(), 511);
    for padding in 0..600 {
        let text = format!("{}password=hunter2hunter2hunter2", "x ".repeat(padding));
        assert!(!redact(&text).contains("hunter"), "{padding}");
    }
    for padding in 8100..8200 {
        let text = format!("\u{200b}{}/srv/host/file", " ".repeat(padding));
        assert!(!redact(&text).contains("srv"), "{padding}");
    }
}

#[test]
fn c7_hostile_texts_are_judged_in_bounded_time() {
    let started = std::time::Instant::now();
    for unit in [
        "=",
        ":",
        "a=",
        "token=",
        "://",
        "x://a:b/",
        "/",
        "\\",
        "~",
        "%25",
        "eyJ",
        "eyJ.",
        "sk-",
        "-----begin ",
        "bearer ",
        "basic ",
        "\"",
        "at ",
        "at a.js:",
        "1:",
        "password ",
        "\u{1b}",
        "\u{1b}]",
        "//a",
        "c:\\ ",
    ] {
        let hostile = unit.repeat(1_000_000 / unit.len());
        assert_eq!(verdict(&redact(&hostile)), "ok", "{unit:?}");
        let short: String = hostile.chars().take(512).collect();
        let _either = check_message(&short).is_ok();
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn e_a_text_of_the_host_is_never_refused() {
    let fit = host_failure("HOST_FAULT", "the store is full".to_owned());
    assert_eq!(
        (fit.code(), fit.message()),
        ("HOST_FAULT", "the store is full")
    );
    let unfit = host_failure("HOST_FAULT", "open /var/lib/x: ENOENT".to_owned());
    assert_eq!(unfit.message(), "open [path]: ENOENT");
    let long = host_failure("not a code", "word ".repeat(1000));
    assert_eq!(long.code(), "HOST_FAULT");
    assert_eq!(verdict(long.message()), "ok");
}

/// Pieces that the rules are about, to be put together at random.
fn piece() -> impl Strategy<Value = String> {
    let row = proptest::sample::select(rows()).prop_map(|(_verdict, message)| message);
    let glue = proptest::sample::select(vec![
        " ",
        "\n",
        "=",
        ":",
        "/",
        "\\",
        "\"",
        "'",
        "(",
        ")",
        "[",
        "]",
        "%2F",
        "%",
        "~",
        "@",
        "://",
        "\u{1b}[31m",
        "\u{200b}",
        ",",
        "at ",
        "password",
        "token",
        "Bearer ",
        "sk-",
        "eyJ",
        "file:",
    ]);
    prop_oneof![
        row,
        glue.prop_map(str::to_owned),
        any::<String>(),
        "[ -~]{0,12}"
    ]
}

proptest! {
    #[test]
    fn io08_what_redact_gives_always_passes(text in any::<String>()) {
        prop_assert_eq!(check_message(&redact(&text)), Ok(()));
    }

    #[test]
    fn io08_what_redact_gives_of_hostile_pieces_always_passes(
        pieces in proptest::collection::vec(piece(), 0..12),
    ) {
        let text = pieces.concat();
        let redacted = redact(&text);
        prop_assert_eq!(check_message(&redacted), Ok(()), "{:?}", redacted);
        prop_assert_eq!(redact(&redacted), redacted);
    }

    #[test]
    fn c7_a_host_failure_is_always_fit(message in any::<String>()) {
        let failure = host_failure("HOST_FAULT", message);
        prop_assert_eq!(check_message(failure.message()), Ok(()));
    }
}
