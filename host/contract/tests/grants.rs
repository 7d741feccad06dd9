//! Grants only narrow (SPEC S1, L2), and limits stay in their table (SPEC S5).

#![expect(clippy::expect_used, reason = "a helper of tests says what it expects")]

use proptest::prelude::*;
use tidegate_contract::grant::parse_allow;
use tidegate_contract::limits::{LIMITS, parse_limit};
use tidegate_contract::{
    Grant, GrantError, LimitError, Limits, Names, NetworkGrant, NetworkRule, Root, Roots,
};

fn grant(texts: &[&str]) -> Grant {
    let mut grant = Grant::default();
    for text in texts {
        parse_allow(text, &mut grant).expect("a grant");
    }
    grant
}

fn root(path: &str) -> Root {
    Root::parse(path).expect("a folder")
}

#[test]
fn s1_nothing_is_granted_by_default() {
    let grant = Grant::default();
    for names in [&grant.tools, &grant.mcp, &grant.execute, &grant.env] {
        assert!(names.is_empty() && !names.allows("x") && !names.allows("*"));
    }
    assert!(grant.read.is_empty() && grant.write.is_empty() && !grant.stdout);
    assert!(grant.network.is_empty());
}

#[test]
fn l2_every_kind_of_allow_is_read() {
    let grant = grant(&[
        "tool=grep",
        "tool=ls",
        "read",
        "write=out/",
        "execute=*",
        "network=HTTPS://Example.com:443",
        "mcp=files",
        "env=LANG",
        "stdout",
    ]);
    let wire = serde_json::to_string(&grant).expect("JSON");
    let expected = r#"{"tools":["grep","ls"],"mcp":["files"],"read":["."],"write":["out"],"network":["https://example.com"],"execute":"*","env":["LANG"],"stdout":true}"#;
    assert_eq!(wire, expected);
}

/// The tables: a row of JSON a line.
const NAMES: &str = include_str!("../../../tests/tables/names.jsonl");
const PATHS: &str = include_str!("../../../tests/tables/paths.jsonl");

fn rows(table: &str) -> Vec<serde_json::Value> {
    let row = |line| serde_json::from_str(line).expect("a row");
    table.lines().map(row).collect()
}

#[test]
fn l2_every_allow_of_the_table_grants_or_says_what_is_wrong_and_adds_nothing() {
    let rows = rows(NAMES);
    let rows = rows.iter().filter(|row| row["kind"] == "allow");
    for row in rows.clone() {
        let mut grant = Grant::default();
        let read = parse_allow(row["text"].as_str().expect("a text"), &mut grant);
        assert_eq!(Some(read.is_ok()), row["ok"].as_bool(), "{row}: {read:?}");
        match read {
            Ok(()) => assert_ne!(grant, Grant::default(), "{row}"),
            Err(error) => {
                assert_eq!(grant, Grant::default(), "{row}");
                let told = error.to_string();
                assert!(
                    !told.ends_with('.') && !told.contains(char::is_control),
                    "{told}"
                );
            }
        }
    }
    assert!(rows.count() >= 60);
    let error = parse_allow("colour=red", &mut Grant::default()).expect_err("no kind");
    assert!(error.to_string().contains("read[=DIR]"), "{error}");
}

#[test]
fn s1_fs01_every_path_of_the_table_is_granted_in_one_spelling_or_refused() {
    let rows = rows(PATHS);
    assert!(rows.len() >= 80, "only {} rows", rows.len());
    for row in rows {
        let path = row["path"].as_str().expect("a path");
        let root = Root::parse(path);
        let spelled = root.as_ref().ok().map(Root::as_str);
        assert_eq!(spelled, row["root"].as_str(), "{row}: {root:?}");
        let again = spelled.map(Root::parse);
        assert!(again.is_none_or(|again| again == root), "{row}");
    }
}

#[test]
fn s1_a_folder_has_one_spelling() {
    for (path, expected) in [
        (".", "."),
        ("./", "."),
        ("./.", "."),
        ("docs", "docs"),
        ("docs/", "docs"),
        ("./docs/./api", "docs/api"),
        ("/", "/"),
        ("/srv/", "/srv"),
        ("/./srv", "/srv"),
        ("..a", "..a"),
        ("a b", "a b"),
    ] {
        assert_eq!(root(path).as_str(), expected, "{path}");
    }
    for path in [
        "", "..", "a/..", "../a", "a//b", "//", "//a", "a//", "/..", "a\0", "a\nb",
    ] {
        assert!(
            matches!(Root::parse(path), Err(GrantError::Root { .. })),
            "{path:?}"
        );
    }
}

#[test]
fn s1_containment_follows_segments() {
    for (outer, inner, expected) in [
        (".", ".", true),
        (".", "a/b", true),
        (".", "/a", false),
        ("/", "/a/b", true),
        ("/", "a", false),
        ("a", "a", true),
        ("a", "a/b", true),
        ("a", "ab", false),
        ("a", "ab/c", false),
        ("a/b", "a", false),
        ("/a", "/a/b", true),
        ("/a", "a", false),
        ("a", ".", false),
    ] {
        assert_eq!(
            root(outer).contains(&root(inner)),
            expected,
            "{outer} {inner}"
        );
    }
}

#[test]
fn s1_roots_narrow_to_the_deeper_of_each_pair() {
    let roots = |paths: &[&str]| paths.iter().map(|path| root(path)).collect::<Roots>();
    for (ours, theirs, expected) in [
        (vec!["."], vec!["docs", "src"], vec!["docs", "src"]),
        (vec!["docs"], vec!["docs/api", "src"], vec!["docs/api"]),
        (vec!["a", "b"], vec!["b/c", "a"], vec!["a", "b/c"]),
        (vec!["a"], vec!["/a"], vec![]),
        (vec!["a", "a/b"], vec!["a/b"], vec!["a/b"]),
        (vec![], vec!["."], vec![]),
    ] {
        let (ours, theirs) = (roots(&ours), roots(&theirs));
        assert_eq!(ours.narrow(&theirs), roots(&expected));
        assert_eq!(theirs.narrow(&ours), roots(&expected));
    }
}

#[test]
fn s3_an_origin_is_exact_and_has_one_spelling() {
    for (text, expected) in [
        ("https://Example.COM", "https://example.com"),
        ("https://example.com:443", "https://example.com"),
        ("http://example.com:80", "http://example.com"),
        ("http://example.com:443", "http://example.com:443"),
        ("https://a-b.example:8443", "https://a-b.example:8443"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("http://[0:0::1]", "http://[::1]"),
        ("tcp://10.0.0.5:5432", "tcp://10.0.0.5:5432"),
        ("udp://[::1]:53", "udp://[::1]:53"),
    ] {
        let grant = grant(&[&format!("network={text}")]);
        let origins: Vec<&str> = grant.network.iter().map(NetworkRule::origin).collect();
        assert_eq!(origins, [expected], "{text}");
    }
}

#[test]
fn s3_what_is_no_exact_origin_is_refused() {
    for text in [
        "https://",
        "https://a/",
        "https://a?b",
        "https://a#b",
        "https://u@a",
        "https://u:p@a",
        "https://a:",
        "https://a:x",
        "https://a:0",
        "https://a:65536",
        "https://a:+1",
        "//a",
        "https:a",
        "https://*",
        "https://*.a",
        "https://a b",
        "https://ä.example",
        "https://a..b",
        "https://.a",
        "https://a.",
        "ftp://a",
        "tcp://a:1",
        "tcp://10.0.0.5",
        "https://a,b",
        "https://a,10.0.0.0/8",
        "https://a,",
        "https://-a",
        "http://127.1",
        "http://0x7f.0.0.1",
        "http://2130706433",
        "http://127.0.0.01",
        "http://[::1",
        "http://::1",
        "http://[fe80::1%1]",
        "https://a\\b",
        "1http://a",
        "https://a,b",
        "https://a\u{2024}b",
    ] {
        let result = parse_allow(&format!("network={text}"), &mut Grant::default());
        assert!(
            matches!(result, Err(GrantError::Origin { .. })),
            "{text}: {result:?}"
        );
    }
}

#[test]
fn s5_every_limit_obeys_its_edges() {
    for spec in LIMITS {
        let mut limits = Limits::default();
        assert_eq!(limits.get(spec.name), Some(spec.default), "{}", spec.name);
        for value in [spec.minimum, spec.maximum, spec.default] {
            assert_eq!(limits.set(spec.name, value), Ok(()), "{}", spec.name);
            assert_eq!(limits.get(spec.name), Some(value), "{}", spec.name);
        }
        let below = spec.minimum.checked_sub(1);
        for value in below.into_iter().chain([spec.maximum + 1, u64::MAX]) {
            let refused = limits.set(spec.name, value);
            assert!(
                matches!(refused, Err(LimitError::OutOfRange { .. })),
                "{}",
                spec.name
            );
            assert_eq!(limits, Limits::default(), "{}", spec.name);
        }
    }
}

#[test]
fn s5_the_table_is_the_one_of_the_guide() {
    let rows: Vec<(&str, u64, u64)> = LIMITS
        .iter()
        .map(|spec| (spec.name, spec.default, spec.maximum))
        .collect();
    let expected = [
        ("deadline_ms", 30_000, 3_600_000),
        ("cpu_ms", 10_000, 3_600_000),
        ("memory_bytes", 67_108_864, 1_073_741_824),
        ("table_elements", 20_000, 1_000_000),
        ("core_instances", 32, 128),
        ("handles", 4096, 65_536),
        ("host_allocation_bytes", 8_388_608, 67_108_864),
        ("arguments_bytes", 1_048_576, 16_777_216),
        ("result_bytes", 1_048_576, 16_777_216),
        ("artifact_bytes", 67_108_864, 1_073_741_824),
        ("stdout_bytes", 65_536, 1_048_576),
        ("stderr_bytes", 8192, 65_536),
        ("http_requests", 16, 1000),
        ("http_response_bytes", 4_194_304, 67_108_864),
        ("http_header_bytes", 65_536, 262_144),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn s5_a_limit_is_set_by_text_or_refused_with_a_hint() {
    let mut limits = Limits::default();
    assert_eq!(parse_limit("deadline_ms=5000", &mut limits), Ok(()));
    assert_eq!(limits.deadline_ms, 5000);
    let text = |assignment: &str| {
        let error = parse_limit(assignment, &mut Limits::default()).expect_err(assignment);
        error.to_string()
    };
    assert_eq!(
        text("deadline-ms=1"),
        "unknown limit `deadline-ms`; did you mean `deadline_ms`?"
    );
    assert_eq!(text("colour=1"), "unknown limit `colour`");
    assert_eq!(text("cpu_ms=0"), "cpu_ms must be from 1 to 3600000, not 0");
    assert_eq!(
        text("cpu_ms"),
        "a limit is written NAME=VALUE, for example deadline_ms=5000"
    );
    for value in [
        "",
        "x",
        "-1",
        "+1",
        "1.5",
        "1e3",
        " 1",
        "99999999999999999999",
    ] {
        let expected = "cpu_ms must be a whole number from 1 to 3600000";
        assert_eq!(text(&format!("cpu_ms={value}")), expected);
    }
}

fn names() -> impl Strategy<Value = Names> {
    let some = proptest::collection::btree_set("[a-d]", 0..4).prop_map(Names::These);
    prop_oneof![Just(Names::All), some]
}

fn roots() -> impl Strategy<Value = Roots> {
    let path = prop_oneof![
        Just(".".to_owned()),
        "/?[ab](/[ab]){0,3}",
        Just("/".to_owned())
    ];
    let root = path.prop_map(|path| root(&path));
    proptest::collection::vec(root, 0..5).prop_map(|roots| roots.into_iter().collect())
}

fn rule() -> impl Strategy<Value = NetworkRule> {
    let some = |one: &'static str| proptest::option::of(proptest::collection::vec(one, 1..4));
    let addresses = proptest::collection::vec("10\\.0\\.0\\.[1-3]", 0..3);
    (
        "https://[ab]",
        some("GET|PUT|POST"),
        some("/([ab]/?){0,3}"),
        addresses,
    )
        .prop_map(|(origin, methods, paths, addresses)| {
            let mut rule = NetworkRule::new(&origin).expect("a rule");
            for address in addresses {
                rule = rule.with_address(&address).expect("a rule");
            }
            if let Some(methods) = methods {
                rule = rule.with_methods(&methods).expect("a rule");
            }
            match paths {
                Some(paths) => rule.with_paths(&paths).expect("a rule"),
                None => rule,
            }
        })
}

fn rules() -> impl Strategy<Value = NetworkGrant> {
    proptest::collection::vec(rule(), 0..4).prop_map(|rules| rules.into_iter().collect())
}

fn any_grant() -> impl Strategy<Value = Grant> {
    let all = (
        names(),
        names(),
        roots(),
        roots(),
        rules(),
        names(),
        names(),
        any::<bool>(),
    );
    all.prop_map(
        |(tools, mcp, read, write, network, execute, env, stdout)| Grant {
            tools,
            mcp,
            read,
            write,
            network,
            execute,
            env,
            stdout,
        },
    )
}

/// Whether everything that `inner` allows, `outer` allows too.
fn is_within(inner: &Grant, outer: &Grant) -> bool {
    let names = |inner: &Names, outer: &Names| {
        ["a", "b", "c", "d", "other"]
            .iter()
            .all(|name| !inner.allows(name) || outer.allows(name))
    };
    let roots = |inner: &Roots, outer: &Roots| inner.iter().all(|root| outer.allows(root));
    let rules =
        |inner: &NetworkGrant, outer: &NetworkGrant| inner.iter().all(|rule| outer.covers(rule));
    names(&inner.tools, &outer.tools)
        && names(&inner.mcp, &outer.mcp)
        && rules(&inner.network, &outer.network)
        && names(&inner.execute, &outer.execute)
        && names(&inner.env, &outer.env)
        && roots(&inner.read, &outer.read)
        && roots(&inner.write, &outer.write)
        && (!inner.stdout || outer.stdout)
}

proptest! {
    #[test]
    fn s1_narrowing_never_allows_more(a in any_grant(), b in any_grant(), probe in "/?[ab](/[ab]){0,4}") {
        let narrow = a.narrow(&b);
        prop_assert!(is_within(&narrow, &a) && is_within(&narrow, &b));
        let probe = root(&probe);
        let both = a.read.allows(&probe) && b.read.allows(&probe);
        prop_assert_eq!(narrow.read.allows(&probe), both);
    }

    #[test]
    fn s1_narrowing_is_idempotent_and_the_same_both_ways(a in any_grant(), b in any_grant()) {
        let narrow = a.narrow(&b);
        prop_assert_eq!(&a.narrow(&a), &a);
        prop_assert_eq!(&narrow.narrow(&b), &narrow);
        prop_assert_eq!(&narrow.narrow(&a), &narrow);
        prop_assert_eq!(b.narrow(&a), narrow);
    }

    #[test]
    fn s3_a_narrowed_network_permits_what_both_do(a in rules(), b in rules(), method in "GET|PUT|POST", path in "/([ab]/?){0,4}") {
        let narrow = a.narrow(&b);
        let permits = |grant: &NetworkGrant| grant.of("https://a").any(|rule| rule.permits(&method, &path));
        prop_assert_eq!(permits(&narrow), permits(&a) && permits(&b));
    }

    #[test]
    fn s1_narrowing_by_nothing_leaves_nothing(a in any_grant()) {
        prop_assert_eq!(a.narrow(&Grant::default()), Grant::default());
    }

    #[test]
    fn l2_any_text_is_an_answer(text in any::<String>()) {
        let mut grant = Grant::default();
        let is_refused = parse_allow(&text, &mut grant).is_err();
        prop_assert!(!is_refused || grant == Grant::default());
    }
}
