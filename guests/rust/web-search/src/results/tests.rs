//! Results that are kept, left out and cut.

use super::*;

fn hit(title: &str, url: &str, snippet: &str) -> Hit {
    Hit {
        title: title.to_owned(),
        url: url.to_owned(),
        snippet: snippet.to_owned(),
    }
}

fn urls(results: &Results) -> Vec<&str> {
    results.list.iter().map(|page| page.url.as_str()).collect()
}

#[test]
fn w1_only_web_urls_without_user_info_are_kept() {
    for (given, kept) in [
        (
            "https://a.example/x?y=z#part",
            Some("https://a.example/x?y=z#part"),
        ),
        (" HTTP://A.Example ", Some("http://a.example/")),
        (
            "https://a/\u{fc}#\u{fc}\"",
            Some("https://a/%C3%BC#%C3%BC%22"),
        ),
        ("https://a/a b", Some("https://a/a%20b")),
        ("https://user@a/", None),
        ("https://user:password@a/", None),
        ("https://evil.example\\@a/", None),
        ("javascript:alert(1)", None),
        ("file:///etc/passwd", None),
        ("ftp://a/", None),
        ("//a/", None),
        ("https://a/\nx", None),
        ("https://a/\0", None),
        ("https://\u{e4}.example/", None),
        ("", None),
    ] {
        let results = Results::of(vec![hit("t", given, "")], 5);
        assert_eq!(urls(&results).first().copied(), kept, "{given}");
        assert!(!results.truncated);
    }
    let long = format!("https://a/{}", "x".repeat(5_000));
    assert!(Results::of(vec![hit("t", &long, "")], 5).list.is_empty());
}

#[test]
fn w1_texts_are_one_line_and_bounded_in_characters() {
    let longest = hit(&"\u{e9}".repeat(256), "https://a/", &"\u{e9}".repeat(2_048));
    assert!(!Results::of(vec![longest], 5).truncated);
    for (title, snippet) in [(257, 0), (1, 2_049)] {
        let hit = hit(
            &"\u{e9}".repeat(title),
            "https://a/",
            &"\u{e9}".repeat(snippet),
        );
        let results = Results::of(vec![hit], 5);
        assert!(results.truncated);
        assert!(results.list[0].title.chars().count() <= 256);
        assert!(results.list[0].snippet.chars().count() <= 2_048);
    }
    let results = Results::of(vec![hit(" a\n b ", "https://a/", "c\t\r\n\u{a0}d")], 5);
    assert_eq!(results.list[0].title, "a b");
    assert_eq!(results.list[0].snippet, "c d");
}

#[test]
fn w1_a_page_without_a_title_shows_its_url() {
    for title in ["", " \u{0}\u{1b} "] {
        let results = Results::of(vec![hit(title, "https://a/", "")], 5);
        assert_eq!(results.list[0].title, "https://a/");
    }
}

#[test]
fn w1_truncated_says_that_there_were_more_usable_results() {
    let good = |number: usize| hit("t", &format!("https://a/{number}"), "");
    let bad = || hit("t", "ftp://a/", "");
    for (hits, limit, kept, truncated) in [
        (vec![good(0), good(1)], 2, 2, false),
        (vec![good(0), good(1), good(2)], 2, 2, true),
        (vec![good(0), bad(), good(1), bad()], 2, 2, false),
        (vec![bad(), good(0), bad(), good(1)], 1, 1, true),
        (vec![bad()], 1, 0, false),
        (vec![], 1, 0, false),
    ] {
        let results = Results::of(hits, limit);
        assert_eq!((results.list.len(), results.truncated), (kept, truncated));
    }
}
