//! Bytes that are no plugin: each is refused by a typed error, and nothing panics.

use std::fmt::Write as _;

use tidegate::EngineError;

use super::asking::{Numbers, load_on, own_engine};
use super::module::Module;
use crate::support::{Fixture, guest};

/// The kind of an error, in one word.
fn kind(error: &EngineError) -> &'static str {
    match error {
        EngineError::NotAComponent { .. } => "no component",
        EngineError::Imports { .. } => "imports",
        EngineError::NothingExported { .. } => "exports",
        EngineError::Shape { .. } => "shape",
        EngineError::Definitions { .. } => "definitions",
        EngineError::Ask { .. } => "ask",
        EngineError::Setting { .. } | EngineError::Start(_) | EngineError::Threads(_) => "engine",
    }
}

fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// A component that exports an instance of so many functions under the tools' name.
fn shaped(version: &str, functions: &str) -> Vec<u8> {
    wat(&format!(
        r#"(component
            (core module $m (func (export "f")))
            (core instance $i (instantiate $m))
            (func $f (canon lift (core func $i "f")))
            (instance $tools {functions})
            (export "tidegate:plugin/tools@{version}" (instance $tools)))"#
    ))
}

/// Checks that a component is refused as what it is, and that the error names the plugin.
async fn assert_refused(what: &str, bytes: Vec<u8>, expected: &str) {
    let refused = Fixture::new(&[]).try_plugin("made", bytes).await;
    let error = refused.expect_err(what);
    assert_eq!(kind(&error), expected, "{what}: {error:?}");
    assert!(error.to_string().contains("`made`"), "{what}: {error}");
}

#[tokio::test]
async fn bytes_that_are_no_component_are_refused_by_a_typed_error() {
    let probe = guest("probe");
    let preview_1 = wat(r#"(module (import "wasi_snapshot_preview1" "fd_write" (func)))"#);
    for (what, bytes) in [
        ("nothing", Vec::new()),
        ("the magic number", b"\0asm".to_vec()),
        ("text", b"(component)".to_vec()),
        ("a script", b"#!/bin/sh\necho hello\n".to_vec()),
        ("zeros", vec![0; 65_536]),
        (
            "an ELF header",
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec(),
        ),
        ("an empty module", wat("(module)")),
        ("a module of preview 1", preview_1),
        ("half a component", probe[..probe.len() / 2].to_vec()),
        ("all but a byte", probe[..probe.len() - 1].to_vec()),
        ("a byte too many", [probe.as_slice(), b"\0"].concat()),
        ("a component twice", [probe.as_slice(), &probe].concat()),
    ] {
        assert_refused(what, bytes, "no component").await;
    }
    assert!(
        Fixture::new(&[]).try_plugin("probe", probe).await.is_ok(),
        "and the real one is loaded"
    );
}

/// An export of the tools' name with these functions, each of the same wrong shape.
fn functions(names: &[&str]) -> String {
    names.iter().fold(String::new(), |mut text, name| {
        write!(text, r#"(export "{name}" (func $f))"#).unwrap();
        text
    })
}

#[tokio::test]
async fn components_that_are_no_plugins_are_refused_by_a_typed_error() {
    let all = functions(&["definitions", "validate", "execute"]);
    for (what, bytes, expected) in [
        ("nothing in it", wat("(component)"), "exports"),
        ("another version", shaped("0.2.0", &all), "exports"),
        ("a later version", shaped("1.0.0", &all), "exports"),
        (
            "a function too few",
            shaped("0.1.0", &functions(&["definitions"])),
            "shape",
        ),
        ("no function", shaped("0.1.0", ""), "shape"),
    ] {
        assert_refused(what, bytes, expected).await;
    }
    for import in [
        r#""acme:x/y@1.0.0" (instance (export "f" (func)))"#,
        r#""wasi:http/types@0.2.0" (instance (export "f" (func)))"#,
        r#""wasi:cli/stdout@0.2.0" (instance (export "get-stdout" (func)))"#,
        r#""tidegate:plugin/context@0.1.0" (instance (export "secrets" (func (result string))))"#,
        r#""f" (func)"#,
    ] {
        assert_refused(
            import,
            wat(&format!("(component (import {import}))")),
            "imports",
        )
        .await;
    }
}

/// Functions of the right names that take and give something else: no call is needed to see it.
#[tokio::test]
async fn an_interface_of_another_shape_is_refused_as_such() {
    let all = functions(&["definitions", "validate", "execute"]);
    assert_refused("another shape", shaped("0.1.0", &all), "shape").await;
}

#[tokio::test]
async fn every_prefix_of_a_component_is_refused_by_a_typed_error() {
    let (engine, fixture) = (own_engine(1), Fixture::new(&[]));
    let whole = Module::default().component();
    for length in (0..whole.len()).step_by(7) {
        let cut = load_on(&engine, &fixture, "made", whole[..length].to_vec()).await;
        match cut {
            // A cut between two sections leaves a component, as long as only comments are lost.
            Ok(_plugin) => assert!(length > whole.len() / 2, "{length}"),
            Err(error) => {
                let kind = kind(&error);
                assert!(
                    ["no component", "exports"].contains(&kind),
                    "{length}: {error:?}"
                );
            }
        }
    }
    assert!(load_on(&engine, &fixture, "made", whole).await.is_ok());
}

/// One bit in each place in turn. Some are harmless; none may reach a panic of the host.
#[tokio::test]
async fn a_component_with_a_flipped_bit_never_makes_the_host_panic() {
    let (engine, fixture) = (own_engine(1), Fixture::new(&[]).limit("deadline_ms", 1_000));
    let whole = Module::default().component();
    let mut numbers = Numbers::seeded(3);
    let (mut loaded, mut refused) = (0, 0);
    for at in (0..whole.len()).step_by(5) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << numbers.below(8);
        match load_on(&engine, &fixture, "made", bytes).await {
            Ok(_plugin) => loaded += 1,
            Err(error) => {
                refused += 1;
                assert!(
                    !format!("{error:?}").contains("panicked"),
                    "byte {at}: {error:?}"
                );
            }
        }
    }
    assert!(
        loaded > 0 && refused > 0,
        "{loaded} loaded, {refused} refused"
    );
    assert!(load_on(&engine, &fixture, "made", whole).await.is_ok());
}
