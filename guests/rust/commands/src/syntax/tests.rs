//! What the small languages take and refuse.

use super::*;

#[test]
fn r1_lists_of_fields_are_read_as_cut_reads_them() {
    let digits = "9".repeat(18);
    for good in [
        "1",
        "2-",
        "1,3-5",
        "10",
        "3-3",
        "1,1",
        "01",
        digits.as_str(),
    ] {
        assert_eq!(field_list(good).as_deref(), Ok(good));
    }
    for (bad, part) in [
        ("", "a list"),
        ("-3", "a list"),
        ("-", "a list"),
        ("1,", "a list"),
        (",1", "a list"),
        ("1--2", "a list"),
        ("1-2-3", "a list"),
        ("1 2", "a list"),
        ("+1", "a list"),
        ("١", "a list"),
        ("a", "a list"),
        ("1\n", "a list"),
        ("0", "from 1"),
        ("0-2", "from 1"),
        ("5-3", "before it starts"),
        ("1234567890123456789", "18 digits"),
        ("99999999999999999999999", "18 digits"),
    ] {
        let reason = field_list(bad).expect_err(bad);
        assert!(reason.contains(part), "{bad}: {reason}");
    }
    let longest = format!("{}1", "1,".repeat(511));
    assert!(field_list(&format!("{longest}2")).is_ok());
    assert!(field_list(&format!("{longest}23")).is_err());
}

#[test]
fn r1_a_delimiter_is_one_character() {
    for good in [":", " ", "\t", "-", "§", "𝄞", "\u{1b}"] {
        assert_eq!(delimiter(good).as_deref(), Ok(good));
    }
    for bad in ["", "::", "e\u{301}", "\n", "\r", "\0"] {
        assert!(delimiter(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn r1_a_pattern_is_any_text_without_nul_up_to_4096_characters() {
    for good in [
        "-e",
        "--file=x",
        "-f/etc/hostname",
        "(",
        "a\nb",
        "\r",
        " ",
        "/",
        "..",
    ] {
        assert_eq!(pattern(good).as_deref(), Ok(good));
    }
    for bad in ["", "\0", "a\0"] {
        assert!(pattern(bad).is_err(), "{bad:?}");
    }
    assert!(pattern(&"é".repeat(4_096)).is_ok());
    assert!(pattern(&"é".repeat(4_097)).is_err());
}

#[test]
fn r1_a_name_is_a_glob_without_a_slash() {
    for good in ["*.rs", "[!a]?", "-delete", "a\\*", "!", ".*", "..", "a:b"] {
        assert_eq!(name_glob(good).as_deref(), Ok(good));
    }
    for bad in ["", "a/b", "/", "a\nb", "a\rb", "a\0"] {
        assert!(name_glob(bad).is_err(), "{bad:?}");
    }
    assert!(name_glob(&"a".repeat(1_024)).is_ok());
    assert!(name_glob(&"a".repeat(1_025)).is_err());
}
