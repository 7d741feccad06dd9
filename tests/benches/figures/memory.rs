//! What a loaded plugin and a used slot keep of the process's own memory.

use std::fs;

use tidegate::{Engine, EngineSettings};

use crate::ours::{Ours, load};
use crate::samples::{kib_at_most, plain};

/// Plugins that are loaded, so that what they share counts little.
const PLUGINS: u8 = 50;

/// Slots that are used at once.
const SLOTS: usize = 64;

/// Memory that is the process's alone and no file's, in KiB: what it made or changed. Compiled code is
/// mapped from the cache, and shared with whoever maps it too.
pub(crate) fn anonymous_kib() -> u64 {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = rollup
        .lines()
        .find(|line| line.starts_with("Anonymous:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Both figures.
pub(crate) fn memory(bytes: &[u8]) {
    a_plugin(bytes);
    a_slot(bytes);
}

fn a_plugin(bytes: &[u8]) {
    let folder = tempfile::TempDir::new().unwrap();
    let threads = tokio::runtime::Runtime::new().unwrap();
    let cache = tidegate_sandbox::ambient::open_cache(folder.path()).unwrap();
    let engine = Engine::new(EngineSettings {
        cache: Some(cache),
        ..EngineSettings::default()
    })
    .unwrap();
    let component = |number: u8| [bytes, &[0, 2, 1, number]].concat();
    let load_all = || -> Vec<_> {
        let numbers = 0..PLUGINS;
        numbers
            .map(|number| threads.block_on(load(&engine, "probe", component(number))))
            .collect()
    };
    // Compiles, and lets the allocator take what it will keep.
    drop(load_all());
    let before = anonymous_kib();
    let plugins = load_all();
    let after = anonymous_kib();
    plain(
        "plugins loaded for the figure below",
        &plugins.len().to_string(),
    );
    let each = after.saturating_sub(before) / u64::from(PLUGINS);
    kib_at_most("a loaded plugin, anonymous memory", each, 120);
}

fn a_slot(bytes: &[u8]) {
    let ours = Ours::new(bytes.to_vec(), r#"{"value":"x"}"#);
    ours.call();
    let before = anonymous_kib();
    // Calls at once take a slot each; what they leave in it stays.
    ours.at_once(SLOTS);
    let after = anonymous_kib();
    let each = after.saturating_sub(before) / u64::try_from(SLOTS).unwrap();
    kib_at_most("a used slot, anonymous memory left", each, 10);
}
