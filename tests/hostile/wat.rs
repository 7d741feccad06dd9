//! Memories, tables and core instances at their limits, by plugins that no compiler would write
//! (SPEC S5, WA08).

use tidegate::{EngineError, Plugin};
use tidegate_contract::Status;

use super::asking::call_plugin;
use super::module::Module;
use crate::support::Fixture;

const PAGE: u64 = 65_536;

/// How a call ended: `done`, or the code and message of the failure.
pub(super) async fn ending(plugin: &Plugin) -> String {
    let outcome = call_plugin(plugin).await.unwrap();
    match (&outcome.error, &outcome.content) {
        (None, Some(content)) => serde_json::to_value(content)
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned(),
        (Some(failure), _) => {
            assert_eq!(outcome.status, Status::Failed);
            format!("{}: {}", failure.code(), failure.message())
        }
        (None, None) => panic!("{outcome:?}"),
    }
}

/// Loads a component under each limit and calls it twice: whatever happens, it happens again.
async fn check(component: &[u8], limit: &str, rows: &[(u64, &str)]) {
    for (value, expected) in rows {
        let fixture = Fixture::new(&[]).limit(limit, *value);
        let plugin = fixture.plugin("made", component.to_vec()).await;
        for _again in 0..2 {
            let ended = ending(&plugin).await;
            assert!(
                ended.starts_with(expected),
                "{limit} = {value}: {ended}, not {expected}"
            );
        }
    }
}

/// The reason why a component can't be loaded.
async fn load_failure(fixture: &Fixture, component: Vec<u8>) -> String {
    match fixture.try_plugin("made", component).await {
        Err(EngineError::Definitions { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

fn over(limit: &str, value: u64) -> String {
    match limit {
        "memory_bytes" => {
            format!("LIMIT_MEMORY: the call needed more than memory_bytes = {value}")
        }
        "table_elements" => {
            format!("LIMIT_TABLE: the call needed more than table_elements = {value}")
        }
        "core_instances" => {
            format!("LIMIT_INSTANCES: the component needs more than core_instances = {value}")
        }
        _ => panic!("{limit}"),
    }
}

/// Rows around an edge: one less than what is needed is too little.
async fn check_edge(component: &[u8], limit: &str, needed: u64) {
    let refused = over(limit, needed - 1);
    let rows = [
        (needed - 1, refused.as_str()),
        (needed, "done"),
        (needed + 1, "done"),
    ];
    check(component, limit, &rows).await;
}

fn memory(pages: u64) -> Module {
    let memory = format!("(memory (export \"memory\") {pages})");
    Module {
        memory,
        ..Module::default()
    }
}

/// Grows the first memory by one page, and traps where that is refused.
const ONE_PAGE_OR_TRAP: &str = "
    (if (i32.eq (memory.grow (i32.const 1)) (i32.const -1)) (then (unreachable)))";

#[tokio::test]
async fn s5_initial_memory_counts_and_its_edge_is_exact() {
    check_edge(&memory(7).component(), "memory_bytes", 7 * PAGE).await;
}

#[tokio::test]
async fn s5_grown_memory_counts_and_its_edge_is_exact() {
    let module = Module {
        execute: ONE_PAGE_OR_TRAP.repeat(3),
        ..memory(4)
    };
    check_edge(&module.component(), "memory_bytes", 7 * PAGE).await;
}

#[tokio::test]
async fn s5_memories_are_summed_over_modules_and_instances() {
    let memory = "(memory (export \"memory\") 1) (memory i64 2)".to_owned();
    // Two pages more by a growth of the second memory, one in each of two further instances.
    let execute = "
        (if (i64.eq (memory.grow 1 (i64.const 2)) (i64.const -1)) (then (unreachable)))";
    let module = Module {
        memory,
        execute: execute.to_owned(),
        ..Module::default()
    };
    let more = "
        (core module $more (memory 1))
        (core instance (instantiate $more)) (core instance (instantiate $more))";
    check_edge(&module.component_and(more), "memory_bytes", 7 * PAGE).await;
}

#[tokio::test]
async fn wa08_memory_grown_to_256_mib_is_refused_at_the_limit() {
    let grow = |refused: &str| {
        Module::doing(&format!(
            "(loop $more
                (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then {refused}))
                (br_if $more (i32.lt_u (memory.size) (i32.const 4096))))"
        ))
        .component()
    };
    let limit = 16 << 20;
    check(
        &grow("(unreachable)"),
        "memory_bytes",
        &[(limit, &over("memory_bytes", limit))],
    )
    .await;
    // A guest that copes keeps its result; one that then breaks by itself is told of the refusal.
    let copes = "(return (i32.const 640))";
    check(
        &grow(copes),
        "memory_bytes",
        &[(limit, "done"), (PAGE, "done")],
    )
    .await;
}

#[tokio::test]
async fn a_guest_refused_by_its_own_maximum_has_passed_no_limit() {
    let memory = "(memory (export \"memory\") 1 2)".to_owned();
    let module = Module {
        memory,
        execute: ONE_PAGE_OR_TRAP.repeat(2),
        ..Module::default()
    };
    check(
        &module.component(),
        "memory_bytes",
        &[(64 << 20, "TOOL_TRAPPED: ")],
    )
    .await;
}

fn tables(fields: &str, execute: &str) -> Module {
    Module {
        fields: fields.to_owned(),
        execute: execute.to_owned(),
        ..Module::default()
    }
}

/// Grows a table by so much, and traps where that is refused.
fn grow_table(table: u32, by: u32) -> String {
    format!(
        "(if (i32.eq (table.grow {table} (ref.null func) (i32.const {by})) (i32.const -1))
             (then (unreachable)))"
    )
}

#[tokio::test]
async fn s5_tables_are_summed_and_their_edge_is_exact() {
    let initial = tables("(table 100 funcref)", "").component();
    check_edge(&initial, "table_elements", 100).await;
    let grown = tables("(table 10 funcref)", &grow_table(0, 90)).component();
    check_edge(&grown, "table_elements", 100).await;
    let fields = "(table 10 funcref) (table 20 funcref) (table 5 funcref)";
    let more = "(core module $more (table 15 funcref))
        (core instance (instantiate $more)) (core instance (instantiate $more))";
    let several = tables(fields, &grow_table(2, 35)).component_and(more);
    check_edge(&several, "table_elements", 100).await;
}

#[tokio::test]
async fn wa08_a_table_grown_to_ten_million_elements_is_refused_at_the_limit() {
    let grow = |refused: &str| {
        let body = format!(
            "(loop $more
                (if (i32.eq (table.grow 0 (ref.null func) (i32.const 1000)) (i32.const -1))
                    (then {refused}))
                (br_if $more (i32.lt_u (table.size 0) (i32.const 10000000))))"
        );
        tables("(table 1 funcref)", &body).component()
    };
    let rows = [20_000, 1_000, 1].map(|limit| (limit, over("table_elements", limit)));
    for (limit, refused) in &rows {
        check(
            &grow("(unreachable)"),
            "table_elements",
            &[(*limit, refused)],
        )
        .await;
    }
    check(
        &grow("(return (i32.const 640))"),
        "table_elements",
        &[(20_000, "done")],
    )
    .await;
}

/// So many core instances beside the plugin's own one.
fn instances(extra: usize) -> Vec<u8> {
    let more = format!(
        "(core module $more) {}",
        "(core instance (instantiate $more))".repeat(extra)
    );
    Module::default().component_and(&more)
}

#[tokio::test]
async fn s5_core_instances_end_at_the_first_one_over_the_limit() {
    // The smallest limit there is: a plugin of one module needs no more.
    check(&instances(0), "core_instances", &[(1, "done"), (2, "done")]).await;
    check_edge(&instances(9), "core_instances", 10).await;
    check_edge(&instances(31), "core_instances", 32).await;
    // Above the default the plugin is not even loaded.
    let fixture = Fixture::new(&[]).limit("core_instances", 127);
    let refused = load_failure(&fixture, instances(127)).await;
    assert_eq!(refused, over("core_instances", 127));
    check(&instances(127), "core_instances", &[(128, "done")]).await;
}

/// Definitions are read under limits that are the defaults at least.
#[tokio::test]
async fn s5_a_plugin_over_the_defaults_is_not_loaded_and_the_limit_is_named() {
    for (component, limit, value) in [
        (memory(1_025).component(), "memory_bytes", 1_024 * PAGE),
        (
            tables("(table 20001 funcref)", "").component(),
            "table_elements",
            20_000,
        ),
        (instances(32), "core_instances", 32),
        (
            Module {
                definitions: ONE_PAGE_OR_TRAP.to_owned(),
                ..memory(1_024)
            }
            .component(),
            "memory_bytes",
            1_024 * PAGE,
        ),
    ] {
        let reason = load_failure(&Fixture::new(&[]), component).await;
        assert_eq!(reason, over(limit, value));
    }
    for component in [
        memory(1_024).component(),
        tables("(table 20000 funcref)", "").component(),
        instances(31),
    ] {
        let plugin = Fixture::new(&[]).plugin("made", component).await;
        assert_eq!(ending(&plugin).await, "done");
    }
}

/// What no slot of the engine has room for is refused at load, by a typed error and no panic.
#[tokio::test]
async fn a_plugin_larger_than_any_slot_is_not_loaded() {
    let many = |field: &str, count| tables(&field.repeat(count), "").component();
    for (what, component) in [
        ("17,000 pages", memory(17_000).component()),
        ("65,536 pages", memory(65_536).component()),
        (
            "a table of a million and one",
            tables("(table 1000001 funcref)", "").component(),
        ),
        (
            "a table of 2^32 - 1",
            tables("(table 4294967295 funcref)", "").component(),
        ),
        ("nine memories", many("(memory 0)", 8)),
        ("nine tables", many("(table 0 funcref)", 9)),
        ("129 instances", instances(128)),
    ] {
        let mut fixture = Fixture::new(&[]);
        fixture.limits = tidegate_contract::Limits::MAXIMUM;
        match fixture.try_plugin("made", component).await {
            Err(EngineError::NotAComponent { .. }) => {}
            Err(EngineError::Definitions { reason, .. }) => {
                assert!(reason.starts_with("LIMIT_"), "{what}: {reason}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
}
