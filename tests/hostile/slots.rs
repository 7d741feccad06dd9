//! The engine's slots under plugins that need much of one, or look for what the last call left
//! (SPEC S6, X2).

use super::asking::{call_plugin, load_on, own_engine, timed};
use super::module::Module;
use super::wat::ending;
use crate::support::Fixture;

/// SPEC X2: a running call holds all that it may need. Four slots are four calls, however many
/// memories and tables their plugin has.
#[tokio::test]
async fn x2_many_memories_and_tables_in_one_plugin_take_no_slot_from_another_call() {
    let fields = format!(
        "{} {}",
        "(memory 0)".repeat(7),
        "(table 0 funcref)".repeat(8)
    );
    let spin = "(loop $on (br_if $on (i32.const 1)))";
    let greedy = Module {
        fields,
        execute: spin.to_owned(),
        ..Module::default()
    }
    .component();
    let engine = own_engine(4);
    let fixture = Fixture::new(&[]).limit("deadline_ms", 400);
    let greedy = load_on(&engine, &fixture, "greedy", greedy).await.unwrap();
    let modest = load_on(&engine, &fixture, "modest", Module::default().component())
        .await
        .unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for plugin in [&greedy, &greedy, &greedy, &modest] {
        let plugin = plugin.clone();
        calls.spawn(async move { call_plugin(&plugin).await });
    }
    for ended in calls.join_all().await {
        let code = match &ended {
            Ok(outcome) => outcome
                .error
                .as_ref()
                .map_or("done", |failure| failure.code()),
            Err(error) => error.code(),
        };
        assert!(["done", "LIMIT_DEADLINE"].contains(&code), "{ended:?}");
    }
}

/// SPEC S6: on one slot, each call gets the memory, tables and globals that the last one had.
#[tokio::test]
async fn s6_nothing_of_a_call_is_left_in_the_slot_it_had() {
    let memory = "(memory (export \"memory\") 40)".to_owned();
    let fields = "(table $t 100 funcref) (global $g (mut i32) (i32.const 0)) (elem declare func $f)
        (func $f)";
    // Anything but zeros from the second page on, a filled table or a changed global traps.
    let execute = "
        (if (global.get $g) (then (unreachable)))
        (if (i32.eqz (ref.is_null (table.get $t (i32.const 99)))) (then (unreachable)))
        (local.set $n (i32.const 65536))
        (loop $next
            (if (i64.ne (i64.load (local.get $n)) (i64.const 0)) (then (unreachable)))
            (local.set $n (i32.add (local.get $n) (i32.const 8)))
            (br_if $next (i32.lt_u (local.get $n) (i32.const 2621440))))
        (memory.fill (i32.const 65536) (i32.const 170) (i32.const 2555904))
        (table.fill $t (i32.const 0) (ref.func $f) (i32.const 100))
        (global.set $g (i32.const 1))";
    let module = Module {
        memory,
        fields: fields.to_owned(),
        ..Module::doing(execute)
    };
    let engine = own_engine(1);
    let fixture = Fixture::new(&[]);
    // It would notice a single byte.
    let fields = format!("{fields} (data (i32.const 2000000) \"x\")");
    let marked = Module {
        fields,
        ..module.clone()
    };
    let marked = load_on(&engine, &fixture, "marked", marked.component())
        .await
        .unwrap();
    assert!(ending(&marked).await.starts_with("TOOL_TRAPPED"));
    let one = load_on(&engine, &fixture, "one", module.component())
        .await
        .unwrap();
    // Another plugin of the same shape: what one tenant's leaves is not for the other's either.
    let other = load_on(
        &engine,
        &fixture,
        "two",
        module.component_and("(core module)"),
    )
    .await
    .unwrap();
    for plugin in [&one, &one, &other, &one, &other, &other] {
        assert_eq!(ending(plugin).await, "done");
    }
}

/// A plugin may need more of the pool than one slot has. It runs alone then, and is not kept waiting
/// for slots that are not there.
#[tokio::test]
async fn x2_a_plugin_with_more_memories_than_a_slot_runs_on_the_smallest_engine() {
    let engine = own_engine(1);
    let fixture = Fixture::new(&[]).limit("deadline_ms", 2_000);
    let more = "(core module $more (memory 0)) (core instance (instantiate $more))";
    for memories in [1, 2, 3, 8, 16] {
        let fields = "(memory 0)".repeat(7.min(memories - 1));
        let module = Module {
            fields,
            ..Module::default()
        };
        let beside = "(core instance (instantiate $more))".repeat(memories.saturating_sub(9));
        let component = match memories {
            9.. => module.component_and(&format!("{more}{beside}")),
            _ => module.component(),
        };
        let plugin = load_on(&engine, &fixture, "made", component).await.unwrap();
        for _again in 0..2 {
            assert_eq!(
                timed(ending(&plugin)).await.0,
                "done",
                "{memories} memories"
            );
        }
    }
}
