//! Reading YAML files strictly: duplicate keys, unknown keys and wrong types are errors with file,
//! line and column.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use serde::de::DeserializeOwned;
use tidegate_sandbox::ambient;

/// Largest config or flow file.
const FILE_BYTES: u64 = 1024 * 1024;

/// Most nodes in one file; anchors can't multiply past it.
const NODES: usize = 20_000;

/// Reads one document.
///
/// # Errors
///
/// The file, the place and what is wrong there.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let bytes = ambient::read_file(path, FILE_BYTES)?;
    let text =
        String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", path.display()))?;
    parse(&text, &path.display().to_string())
}

/// Reads one document from text; `name` stands for the file in errors.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, name: &str) -> anyhow::Result<T> {
    let budget = serde_saphyr::budget! {
        max_nodes: NODES,
        max_events: NODES * 4,
        max_aliases: 100,
        max_anchors: 100,
    };
    let options = serde_saphyr::options! { budget: budget };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let place = error.location().map_or_else(String::new, |location| {
            format!(":{}:{}", location.line(), location.column())
        });
        anyhow!("{name}{place}: {}", reason(error.without_snippet()))
    })
}

/// The library's words without the place, which stands in front, and without its own options.
fn reason(error: &serde_saphyr::Error) -> String {
    if let serde_saphyr::Error::DuplicateMappingKey { key, .. } = error {
        let key = key.as_deref().unwrap_or("?");
        return format!("the key `{key}` stands twice in one mapping");
    }
    let words = error.to_string();
    let place = words.rfind(" at line ").filter(|&at| {
        words.get(at..).is_some_and(|place| {
            place
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || " ,".contains(c))
        })
    });
    place
        .and_then(|at| words.get(..at))
        .unwrap_or(&words)
        .to_owned()
}
