//! What a rule of the network permits (SPEC S3).

use tidegate_contract::NetworkRule;

#[test]
fn s3_a_rule_permits_its_methods_and_whole_segments_of_its_paths() {
    let texts = |texts: &[&str]| {
        texts
            .iter()
            .map(|&text| text.to_owned())
            .collect::<Vec<_>>()
    };
    let rule = NetworkRule::new("https://a.example").expect("an origin");
    assert!(rule.permits("DELETE", "/anything%2f.."));
    let rule = rule
        .with_methods(&texts(&["GET"]))
        .and_then(|rule| rule.with_paths(&texts(&["/api", "/v1/"])))
        .expect("a rule");
    for (method, path, expected) in [
        ("GET", "/api", true),
        ("GET", "/api/", true),
        ("GET", "/api/x", true),
        ("GET", "/v1/", true),
        ("GET", "/v1/x", true),
        ("GET", "/v1", false),
        ("GET", "/apis", false),
        ("GET", "/", false),
        ("GET", "/API", false),
        ("POST", "/api", false),
        ("get", "/api", false),
        ("GET", "/api/..%2fsecret", false),
        ("GET", "/api/%2e%2e/secret", false),
        ("GET", "/api/%5Csecret", false),
        ("GET", "/api/%252e%252e/secret", false),
        ("GET", "/api/..;/secret", false),
        ("GET", "/api/.;a=b/secret", false),
        ("GET", "/api/x;a=b", true),
    ] {
        assert_eq!(rule.permits(method, path), expected, "{method} {path}");
    }
}

#[test]
fn s3_a_rule_with_a_method_or_path_that_is_none_is_refused() {
    let rule = || NetworkRule::new("https://a.example").expect("an origin");
    for method in ["", "GET ", "G\r\n", "é", "(GET)", &"A".repeat(33)] {
        assert!(
            rule().with_methods(&[method.to_owned()]).is_err(),
            "{method:?}"
        );
    }
    for path in [
        "", "api", "/a/../b", "/./a", "/a?b", "/a#b", "/a b", "/a\\b", "/%61", "/é",
    ] {
        assert!(rule().with_paths(&[path.to_owned()]).is_err(), "{path:?}");
    }
    let socket = || NetworkRule::new("tcp://10.0.0.5:1").expect("an address");
    assert!(socket().with_methods(&["GET".to_owned()]).is_err());
    assert!(socket().with_paths(&["/a".to_owned()]).is_err());
}
